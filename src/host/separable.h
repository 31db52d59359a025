/* Two filters at once: along one of the slower axes, then along the last one. */
#ifndef STN_HOST_SEPARABLE_H
#define STN_HOST_SEPARABLE_H
#include "host/pool.h"
#include "problem/task.h"

#define STN_SEPARABLE_TAPS 129 /* maximum number of taps of either filter */

/* Whether the two can be run at once: they must be one step of the same dense grids, without fixed
 * sides, source or divisor, with the taps of the first along axis 0 or 1 and those of the second
 * along axis 2. */
bool stn_host_separable_applies(const stn_task *first, const stn_task *second);
/* Applies `first` to `in`, rounds the result to the output's type, and applies `second` to it.
 * `out` is bit-identical to the result of two runs. `in` and `out` must not overlap. */
stn_status stn_host_separable(const stn_task *first, const stn_task *second, stn_pool *pool, const void *in, void *out,
                              stn_error *error);
#endif
