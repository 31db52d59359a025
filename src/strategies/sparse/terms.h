/* Fused 2D taps as a sum of a few separable terms, for sparse_chain, and what these err by as its
 * products take them. */
#ifndef STN_STRATEGIES_SPARSE_TERMS_H
#define STN_STRATEGIES_SPARSE_TERMS_H
#include "strategies/common/powers.h"

#define SPARSE_MOST_TERMS 4

/* The taps are the sum over q of factor[q][0] along y times factor[q][1] along x, each a power of
 * one row. In f16 the sizes of the latter's weights sum up to 1 at most, so that what they make of
 * a grid is no larger than it. */
typedef struct sparse_terms {
    int count;
    double scale; /* that weights along y are divided by before they are rounded, a power of two */
    stn_power factor[SPARSE_MOST_TERMS][2];
} sparse_terms;

/* 2D taps that are products of a factor along y and one along x. */
bool sparse_separable(const stn_task *task, double factors[3][STN_TASK_FACTORS]);
/* `count` terms of `fused` steps. One term: of separable taps, and `taps` may be NULL. More: the
 * best or nearly so of the taps' power `taps`, whatever they leave; those that there are not are
 * zeros. `parts`: those of a weight that will be rounded. Errors: memory, taps that are not
 * separable. */
stn_status sparse_terms_make(const stn_task *task, const stn_power *taps, int fused, int count, int parts,
                             sparse_terms *terms, stn_error *error);
void sparse_terms_clear(sparse_terms *terms);
/* Axis 0 (y) or 1 (x) of term q as products take it: `parts` times as many numbers as the factor
 * has. */
void sparse_terms_round(const stn_task *task, const sparse_terms *terms, int q, int axis, int parts, float *to);
/* What the terms err by after so many launches, as sparse_rounding has it; of several, with what
 * they leave of `taps`, which may be NULL for one. Infinite where memory is short. */
double sparse_terms_rounding(const stn_task *task, const stn_power *taps, const sparse_terms *terms, int parts,
                             double launches);
/* The same of the first n terms alone, in error[n], for n from `fewest` on; in one part, and of at
 * least two. False where memory is short. */
bool sparse_sums_rounding(const stn_task *task, const stn_power *taps, const sparse_terms *terms, int fewest,
                          double launches, double error[SPARSE_MOST_TERMS + 1]);
/* What so many terms leave of the taps, relative, Frobenius. */
double sparse_terms_rest(const stn_power *taps, int count);
#endif
