/* Fused taps as a sum of separable terms: the mathematics of the lowrank strategy, on the host and
 * above the data's precision. */
#ifndef STN_STRATEGIES_LOWRANK_FLAT_TERMS_H
#define STN_STRATEGIES_LOWRANK_FLAT_TERMS_H
#include "strategies/common/powers.h"

/* Ways to split taps W into terms u v^T. */
typedef enum lowrank_split {
    LOWRANK_SVD,     /* any taps: the fewest terms, each as wide as W */
    LOWRANK_STAR,    /* powers of a star A + B, A along y and B along x: C(f, k) A^k B^(f - k), so wide as that is */
    LOWRANK_PYRAMID, /* taps even in both axes: terms that get narrower by a row or more each, the last one a single tap */
    LOWRANK_SPLITS
} lowrank_split;
const char *lowrank_split_name(lowrank_split split);

/* weight[y][x] = sum over terms q of  u[q][y] v[q][x]. */
typedef struct lowrank_terms {
    int count, rows, columns, low[2]; /* no terms: taps cannot be split in this way */
    double *u, *v;                    /* owned; count rows of `rows` and of `columns` numbers */
    double residual;                  /* what the terms, as they are rounded to double, leave: relative, Frobenius */
} lowrank_terms;

/* The fewest terms of this kind whose residual is at most `tolerance` (relative, Frobenius), but no
 * less than rounding. SVD: at least one term, of zeros if all weights are; the others: none where
 * they do not apply, or lose digits. `task` gives the star's axes, and may be NULL for the others.
 * Errors: out of memory. */
stn_status lowrank_terms_make(const stn_task *task, const stn_power *taps, lowrank_split split, double tolerance,
                              lowrank_terms *terms, stn_error *error);
void lowrank_terms_clear(lowrank_terms *terms);
/* Sizes of all products of the terms' weights over those of the taps: what rounding is multiplied
 * by. */
double lowrank_terms_growth(const lowrank_terms *terms, const stn_power *taps);
/* What rounding the first of a term's two products is multiplied by, on the way to the answer, for
 * random data from 0 to 1: the root of squares of U X, as V passes it on, over those of the answer.
 * Terms that cancel each other make it large. */
double lowrank_terms_inner(const lowrank_terms *terms, const stn_power *taps);
/* How far term q reaches along axis 0 (y) or 1 (x) towards the low and the high side: past that it
 * is 0. */
void lowrank_terms_reach(const lowrank_terms *terms, int q, int axis, int reach[2]);

/* The splits themselves: terms into u and v, which have room for as many as W has rows or columns,
 * or one more than there are fused steps. `dropped`: the norm that may be left out. */
#define LOWRANK_ROUNDING 0x1p-54L /* of a double, relative */
stn_status lowrank_split_svd(const stn_power *taps, double dropped, lowrank_terms *terms, stn_error *error);
stn_status lowrank_split_pyramid(const stn_power *taps, lowrank_terms *terms, stn_error *error);
stn_status lowrank_split_star(const stn_task *task, int fused, lowrank_terms *terms, stn_error *error);
/* One quarter of taps that are even in both axes, the centre included: weight[y * (columns / 2 + 1)
 * + x]. False where they are not. */
bool lowrank_take_quarter(const stn_power *taps, long double *weight);

/* Are the terms of LOWRANK_SVD more than `most`? Much less work than to split: false may be wrong
 * by a few terms, true is right. `even`: the taps are symmetric in both axes. */
bool lowrank_svd_exceeds(const stn_power *taps, bool even, double tolerance, int most);
#endif
