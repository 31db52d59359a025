/* Rounding error accumulated over many launches. On a grid of many points each launch's errors are
 * random and later launches smooth them. On few points they do not: if two points converge to the
 * same value, half of a launch's squared errors remains, and equal points have equal rounding
 * errors, which averaging does not reduce. */
#ifndef STN_STRATEGIES_COMMON_ROUNDING_ON_FEW_POINTS_H
#define STN_STRATEGIES_COMMON_ROUNDING_ON_FEW_POINTS_H
#include "problem/task.h"

/* The number of points that steps mix: the product of the extents of the axes along which nonzero
 * weights reach; 1 if there are none. */
double stn_mixed_points(const stn_task *task);
/* The squared error that accumulates from rounding to 11 bits in `launches` launches, relative to
 * the squared error of one launch. `many`: the result for a grid of many points, a lower bound. */
double stn_rounding_accumulated(const stn_task *task, double launches, double many);
#endif
