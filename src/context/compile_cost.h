/* Predicted compile times of NVRTC, from a table of templates. */
#ifndef STN_CONTEXT_COMPILE_COST_H
#define STN_CONTEXT_COMPILE_COST_H
#include "stentor.h"

/* Seconds of compiling one kernel on one thread. */
double stn_compile_seconds(const char *template_name, const char *params);
/* The number of threads that compile: the context's threads where they are set, or else the
 * processors that this process may use. */
int stn_compile_threads(const stn_context *context);
#endif
