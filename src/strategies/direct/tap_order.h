/* A task's taps as the direct kernels take them: their order, their mirror symmetry, their cost. */
#ifndef STN_STRATEGIES_DIRECT_TAP_ORDER_H
#define STN_STRATEGIES_DIRECT_TAP_ORDER_H
#include "strategies/direct/direct_shape.h"

#define DIRECT_MAX_TAPS 480 /* weights are passed in the 4 KiB of kernel arguments */

/* The task's tap indices in the order in which a one-step kernel takes its weights. */
void direct_tap_order(const stn_task *task, const direct_shape *shape, uint16_t order[DIRECT_MAX_TAPS]);

/* ---- multi-step kernels
 *
 * Arithmetic instructions for each point and step. The additions of mirrored points in rows that a
 * lane receives from its neighbours along y (in 3D) are not counted. */
int direct_time_operations(const stn_task *task, const direct_shape *shape, int mirror);
/* Axes whose mirrored weights are equal now, so that adding the points first saves multiplications
 * (bits DIRECT_MIRROR_*). */
int direct_time_mirror(const stn_task *task, const direct_shape *shape);
/* Whether the weights that shape->mirror assumes equal are equal now. */
bool direct_time_mirror_holds(const stn_task *task, const direct_shape *shape);
/* Writes the weights of every offset within the reach, z slowest, 0 where there is no tap, and
 * returns their number. given: the taps' weights, in tap order. */
size_t direct_time_weights(const stn_task *task, const direct_shape *shape, const double *given, double *weights);
#endif
