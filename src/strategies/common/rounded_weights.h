/* Weights in a kernel's arithmetic type. */
#ifndef STN_STRATEGIES_COMMON_ROUNDED_WEIGHTS_H
#define STN_STRATEGIES_COMMON_ROUNDED_WEIGHTS_H
#include "problem/task.h"

/* The taps' weights in a dtype's arithmetic (f64, or float for f32 and f16): each rounded to
 * nearest, and the remainder of their sum added to the centre tap, if any. So constants stay
 * constant where the weights sum to 1, and symmetric weights stay symmetric. `rounded` has
 * task->ntaps elements. */
void stn_weights_round(const stn_task *task, double *rounded);
#endif
