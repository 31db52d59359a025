/* Two filters at once: along one of the slower axes, then along the last one. */
#ifndef STN_HOST_SEPARABLE_H
#define STN_HOST_SEPARABLE_H
#include "host/pool.h"
#include "problem/task.h"

#define STN_SEPARABLE_TAPS 129 /* maximum number of taps of either filter */

/* Can the two be run at once? They are one step of the same dense grids, without fixed sides,
 * source or divisor; the taps of the first lie along axis 0 or 1, those of the second along axis
 * 2. */
bool stn_host_separable_applies(const stn_task *first, const stn_task *second);
/* The result of `first` from in, rounded to the output's type, and `second` of that, bit for bit.
 * in and out must not overlap. */
stn_status stn_host_separable(const stn_task *first, const stn_task *second, stn_pool *pool, const void *in, void *out,
                              stn_error *error);
#endif
