/* The reach of many steps: the stencil convolved with itself f times, S^f, decays long before f *
 * r. */
#ifndef STN_STRATEGIES_COMMON_REACH_H
#define STN_STRATEGIES_COMMON_REACH_H
#include "problem/task.h"

/* Towards the low and the high side of an axis: the least distances found beyond which the |taps|
 * of S^f sum to at most `tail` of the sum of all. side[] is at most f times the stencil's own
 * reach, and then tail[] is 0. The sides differ for upwind taps, which drift. */
typedef struct stn_reach {
    int64_t side[2];
    double tail[2]; /* upper bound on what lies beyond, relative to the whole sum */
} stn_reach;

/* The tail for a dtype, below its rounding error: 2^-55 for f64, 2^-26 for f32 and f16. */
double stn_reach_tail(stn_dtype dtype);

/* The reach of `steps` steps of the task along `axis`. In 1D from S^f itself, with any signs; in 2D
 * and 3D from the |taps| summed over the other axes, which is exact for taps of one sign and never
 * too short. Cannot fail: at worst it returns steps * r. */
stn_reach stn_reach_find(const stn_task *task, int axis, uint64_t steps, double tail);
/* The largest reach over `each`, 2 * each, .., count * each steps: the reach of taps that drift
 * need not grow with the number of steps. Only some of these numbers are evaluated, with a small
 * margin for those in between (test_reach.c has such taps). */
stn_reach stn_reach_of_all(const stn_task *task, int axis, uint64_t each, uint64_t count, double tail);
/* Whether the taps have the same reach along both axes, because their sums agree to rounding. */
bool stn_reach_similar(const stn_task *task, int a, int b);

/* The reach of one line of weights, of offsets -low, -low + 1, ...: of a factor of separable taps.
 */
stn_reach stn_reach_of_line(struct stn_search_cache *found, const double *weights, int count, int low, uint64_t steps,
                            double tail);
/* The largest |symbol| of taps, which takes as long as a reach and is needed as often; kept in the
 * context's cache. */
double stn_reach_max_symbol(struct stn_search_cache *found, size_t ntaps, const stn_tap *taps);
#endif
