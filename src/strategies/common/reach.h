/* How far the taps of many steps reach: the stencil convolved with itself f times, S^f, dies away
 * long before f * r. */
#ifndef STN_STRATEGIES_COMMON_REACH_H
#define STN_STRATEGIES_COMMON_REACH_H
#include "cache/key.h"
#include "problem/task.h"

/* Towards the low and the high side of an axis: the least distances found beyond which the |taps|
 * of S^f add up to at most `tail` of the sum of all of them. side[] is at most f times the
 * stencil's own reach, and then tail[] is 0. Both sides are apart: upwind taps drift. */
typedef struct stn_reach {
    int64_t side[2];
    double tail[2]; /* what lies beyond, at most, of the whole sum */
} stn_reach;

/* What may lie beyond for a dtype: less than what its arithmetic rounds away. 2^-55 of f64, 2^-26
 * of f32 and f16. */
double stn_reach_tail(stn_dtype dtype);

/* Of `steps` steps of the task along `axis`. In 1D from S^f itself, whatever its signs; in 2D and
 * 3D from the |taps| summed over the other axes, which is exact for taps of one sign and never too
 * short. Cannot fail: at worst it says steps * r. */
stn_reach stn_reach_find(const stn_task *task, int axis, uint64_t steps, double tail);
/* The most of `each`, 2 each, .. count * each steps: taps that drift may look further to one side
 * after some of them. Some of these numbers are looked at, and what lies between them is a little
 * more at most: test_reach.c has taps that drift. */
stn_reach stn_reach_of_all(const stn_task *task, int axis, uint64_t each, uint64_t count, double tail);
/* Whether the taps reach as far along both axes: their sums are the same but for rounding, so that
 * one answer serves both. */
bool stn_reach_alike(const stn_task *task, int a, int b);

/* What was asked and found, the newest last. The key says all that an answer depends on. */
typedef struct stn_reach_answer {
    stn_key key;
    stn_reach reach;
} stn_reach_answer;
enum { STN_REACH_KEPT = 64 };
void stn_reach_learn(struct stn_found *found, const stn_reach_answer *answer);
/* The answer to this key, if it is kept. */
bool stn_reach_recall(struct stn_found *found, stn_reach_answer *asked);
/* The largest |symbol| of the taps, kept likewise. found: NULL: nothing is kept. */
double stn_reach_norm(struct stn_found *found, size_t ntaps, const stn_tap *taps);

/* The same of one line of weights, of offsets -low, -low + 1, ...: of a factor of separable
 * taps. */
stn_reach stn_reach_of_line(struct stn_found *found, const double *weights, int count, int low, uint64_t steps,
                            double tail);
#endif
