/* How long NVRTC takes for a kernel, before it is asked: an estimate by template, read off a
 * table. */
#ifndef STN_CONTEXT_COMPILE_COST_H
#define STN_CONTEXT_COMPILE_COST_H
#include "stentor.h"

/* Seconds on one thread. */
double stn_compile_guess(const char *template_name, const char *params);
/* Of several, which take so many seconds each, on so many threads, the longest begun first; sorts
 * them so. */
double stn_compile_together(double *seconds, size_t count, int threads);
/* Kernels that may be compiled at once: the context's threads, or else the processors that this
 * process may use. */
int stn_compile_threads(const stn_context *context);
#endif
