/* Fused taps as a sum of separable terms: the mathematics of the lowrank strategy, on the host and
 * in higher precision than the data. */
#ifndef STN_STRATEGIES_LOWRANK_PLANE_SEPARABLE_TERMS_H
#define STN_STRATEGIES_LOWRANK_PLANE_SEPARABLE_TERMS_H
#include "strategies/common/stencil_power.h"

/* Ways to split taps W into terms u v^T. */
typedef enum lowrank_split {
    LOWRANK_SVD, /* any taps: the fewest terms, each as wide as W */
    /* Star A + B, A along y and B along x: terms C(f, k) A^k B^(f - k), C(f, k) being the binomial
     * coefficient. Term k reaches k steps along y and f - k steps along x. */
    LOWRANK_STAR,
    LOWRANK_SPLITS
} lowrank_split;
const char *lowrank_split_name(lowrank_split split);

/* weight[y][x] = sum over terms q of  u[q][y] v[q][x]. */
typedef struct lowrank_terms {
    int count, rows, columns, low[2]; /* no terms: the taps cannot be split in this way */
    /* Owned; `count` vectors of `rows` and of `columns` numbers. */
    double *u, *v;
    double residual; /* of the terms rounded to double: relative Frobenius norm */
} lowrank_terms;

/* Finds the fewest terms of this kind whose relative Frobenius residual is at most `tolerance`, but
 * not below rounding. SVD gives at least one term, of zeros if all weights are zero; a star gives
 * none for other taps, or if digits are lost. `task` supplies the star's axes and may be NULL
 * otherwise. Errors: out of memory. */
stn_status lowrank_terms_make(const stn_task *task, const stn_power *taps, lowrank_split split, double tolerance,
                              lowrank_terms *terms, stn_error *error);
void lowrank_terms_clear(lowrank_terms *terms);
/* The amplification of rounding errors: the sum of the magnitudes of the products of the terms'
 * weights, over the sum of the magnitudes of the taps' weights. */
double lowrank_terms_growth(const lowrank_terms *terms, const stn_power *taps);
/* The amplification of rounding errors in the first of a term's two products, for random data in
 * [0, 1]: the root mean square of U X after V over that of the result. It is large when terms
 * cancel each other. */
double lowrank_terms_inner(const lowrank_terms *terms, const stn_power *taps);
/* The reach of term q along axis 0 (y) or 1 (x) towards the low and the high side; beyond it the
 * term is 0. */
void lowrank_terms_reach(const lowrank_terms *terms, int q, int axis, int reach[2]);

/* The ways to split. They fill u and v, which have room for as many terms as W has rows or columns
 * (SVD), or for fused + 1 terms (star). `dropped`: norm that may be neglected. */
#define LOWRANK_ROUNDING 0x1p-54L /* relative rounding error of a double */
stn_status lowrank_split_svd(const stn_power *taps, double dropped, lowrank_terms *terms, stn_error *error);
stn_status lowrank_split_star(const stn_task *task, int fused, lowrank_terms *terms, stn_error *error);

/* Whether LOWRANK_SVD gives more than `most` terms. Much cheaper than splitting: true is exact,
 * false may be wrong by a few terms. `even`: the taps are symmetric in both axes. */
bool lowrank_svd_exceeds(const stn_power *taps, bool even, double tolerance, int most);
#endif
