/* How long NVRTC takes for a kernel, before it is asked: an estimate by template, read off a table. */
#ifndef STN_CONTEXT_COMPILE_COST_H
#define STN_CONTEXT_COMPILE_COST_H
#include <stdbool.h>

#include "stentor.h"

/* Seconds on one thread; hurried: compiled so (compile/compiler.h). */
double stn_compile_guess(const char *template_name, const char *params, bool hurried);
/* Of them, those in which NVRTC's front end has a lock of the whole process: 0.022 to 0.027 CPU seconds of NVRTC 13.0, at the scale of
 * compile_cost.c (bench/results/2026-11-23-regret-3.md). What follows runs on all threads at once. */
#define STN_COMPILE_FRONT 0.04
/* Kernels that may be compiled at once: the context's threads, or else the processors that this process may use. */
int stn_compile_threads(const stn_context *context);
#endif
