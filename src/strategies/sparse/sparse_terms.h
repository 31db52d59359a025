/* Fused 2D taps as a sum of few separable terms, for sparse_chain, and the error of these terms
 * after rounding. */
#ifndef STN_STRATEGIES_SPARSE_SPARSE_TERMS_H
#define STN_STRATEGIES_SPARSE_SPARSE_TERMS_H
#include "strategies/common/stencil_power.h"

#define SPARSE_MAX_TERMS 4

/* The taps are the sum over q of factor[q][0] along y times factor[q][1] along x, each a power with
 * one row. In f16 the magnitudes of the weights along x sum to 1 at most, so that intermediate
 * results stay within the grid's range. */
typedef struct sparse_terms {
    int count;
    double scale; /* divisor of the weights along y before rounding, a power of two */
    stn_power factor[SPARSE_MAX_TERMS][2];
} sparse_terms;

/* Whether 2D taps are products of a factor along y and one along x. */
bool sparse_separable(const stn_task *task, double factors[3][STN_TASK_FACTORS]);
/* Makes `count` terms of `fused` steps. One term: the taps must be separable, and `taps` may be
 * NULL. More: nearly the best approximation of the power `taps`, whatever its residual; terms
 * beyond the rank of `taps` are zeros. `parts`: parts of a weight when the terms are rounded later.
 * Errors: memory, taps that are not separable. */
stn_status sparse_terms_make(const stn_task *task, const stn_power *taps, int fused, int count, int parts,
                             sparse_terms *terms, stn_error *error);
void sparse_terms_clear(sparse_terms *terms);
/* Rounds axis 0 (y) or 1 (x) of term q for the products: `parts` times as many numbers as the
 * factor has. */
void sparse_terms_round(const stn_task *task, const sparse_terms *terms, int q, int axis, int parts, float *to);
/* The error of the terms after `launches` launches, like sparse_rounding. The error of several
 * terms includes their residual of `taps`; for one term `taps` may be NULL. Infinite if out of
 * memory. */
double sparse_terms_rounding(const stn_task *task, const stn_power *taps, const sparse_terms *terms, int parts,
                             double launches);
/* The same for the first n terms alone, in error[n], for n from `fewest` >= 2 on, with one part.
 * False if out of memory. */
bool sparse_sums_rounding(const stn_task *task, const stn_power *taps, const sparse_terms *terms, int fewest,
                          double launches, double error[SPARSE_MAX_TERMS + 1]);
/* The relative Frobenius residual of the best `count` terms of the taps. */
double sparse_terms_residual(const stn_power *taps, int count);
#endif
