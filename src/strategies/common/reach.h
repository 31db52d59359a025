/* The reach of many steps: the stencil convolved with itself f times, S^f, decays long before f *
 * r. */
#ifndef STN_STRATEGIES_COMMON_REACH_H
#define STN_STRATEGIES_COMMON_REACH_H
#include "problem/task.h"

/* side: the least distances found, towards the low and the high side of an axis, beyond which the
 * |taps| of S^f sum to at most `tail` of the sum of all |taps|. A distance is at most f times the
 * stencil's own reach; if it is as long, its tail is 0. Taps that drift (upwind) have different
 * reaches to the two sides. */
typedef struct stn_reach {
    int64_t side[2];
    double tail[2]; /* upper bound on what lies beyond, relative to the whole sum */
} stn_reach;

/* The tail for a dtype, below its rounding error: 2^-55 for f64, 2^-26 for f32 and f16. */
double stn_reach_tail(stn_dtype dtype);

/* The reach of `steps` steps of the task along `axis`. In 1D it is found from S^f itself, with any
 * signs. In 2D and 3D it is found from the |taps| summed over the other axes; it is exact for taps
 * of one sign, and never too short. Cannot fail: at worst it returns steps * r. */
stn_reach stn_reach_find(const stn_task *task, int axis, uint64_t steps, double tail);
/* The largest reach of `each`, 2 * each, .., count * each steps: the reach of taps that drift need
 * not grow with the number of steps (test_reach.c has such taps). It is evaluated for some of these
 * numbers of steps only, with a small margin for the others. */
stn_reach stn_reach_of_all(const stn_task *task, int axis, uint64_t each, uint64_t count, double tail);
/* Whether the taps have the same reach along both axes, because their sums agree to rounding. */
bool stn_reach_similar(const stn_task *task, int a, int b);

/* The reach of one line of weights, of offsets -low, -low + 1, ...: of a factor of separable taps.
 */
stn_reach stn_reach_of_line(struct stn_search_cache *searches, const double *weights, int count, int low,
                            uint64_t steps, double tail);
/* The largest |symbol| of taps. It is kept in the context's cache, because it takes as long as a
 * reach and is needed as often. */
double stn_reach_max_symbol(struct stn_search_cache *searches, size_t ntaps, const stn_tap *taps);
#endif
