/* Weights as the sums of a kernel take them. */
#ifndef STN_STRATEGIES_COMMON_WEIGHTS_H
#define STN_STRATEGIES_COMMON_WEIGHTS_H
#include "problem/task.h"

/* What the taps' weights become in a dtype's arithmetic (f64, or float for f32 and f16): each
 * rounded to the nearest number, and the remainder of their sum added to the middle tap, if there
 * is one. So constants stay constants where the weights sum to 1, and weights that mirror each
 * other still do. `rounded` has task->ntaps numbers. */
void stn_weights_round(const stn_task *task, double *rounded);
#endif
