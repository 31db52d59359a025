/* Predicted compile times of NVRTC, from a table of templates. */
#ifndef STN_CONTEXT_COMPILE_COST_H
#define STN_CONTEXT_COMPILE_COST_H
#include "stentor.h"

/* Seconds of compiling one kernel on one thread. */
double stn_compile_seconds(const char *template_name, const char *params);
/* Seconds of compiling `count` kernels on `threads` threads, the longest first. seconds: of each
 * kernel alone; the array is sorted. */
double stn_compile_makespan(double *seconds, size_t count, int threads);
/* The number of threads that compile: the context's threads where they are set, or else the
 * processors that this process may use. */
int stn_compile_threads(const stn_context *context);
#endif
