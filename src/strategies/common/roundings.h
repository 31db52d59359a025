/* What is left of the roundings of many launches. On a grid of many points each launch's errors are
 * by chance, and the launches after it smooth them away. On a few points they do not: of two that
 * come to the same number half of a launch's squares last, and as soon as both are the same, so are
 * their roundings, and no mean lessens them. */
#ifndef STN_STRATEGIES_COMMON_ROUNDINGS_H
#define STN_STRATEGIES_COMMON_ROUNDINGS_H
#include "problem/task.h"

/* Points that steps mix with each other: the extents of the axes along which weights that are not 0
 * reach; 1 where none does. */
double stn_mixed_points(const stn_task *task);
/* The squared error that so many launches leave of rounding to 11 bits, in squares of one launch's;
 * `many`: what they leave of it on a grid of many points, which it is not below. */
double stn_roundings_left(const stn_task *task, double launches, double many);
#endif
