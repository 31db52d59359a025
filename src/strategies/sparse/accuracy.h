/* Weights of sparse's kernels, in parts of 11 bits, and how far off their results are. */
#ifndef STN_STRATEGIES_SPARSE_ACCURACY_H
#define STN_STRATEGIES_SPARSE_ACCURACY_H
#include <complex.h>

#include "strategies/common/powers.h"
#include "strategies/sparse/shape.h"

/* The power of two that weights are divided by before they are rounded: of f16, which holds few
 * small numbers. `bounded`: their sizes sum up to 1 at most then, so that what they make of a grid
 * is no larger than it; else the largest is below 1. */
double sparse_scale(const stn_task *task, const stn_power *power, bool bounded);
/* A power's weights as products take them, `parts` times sparse_weights(power) numbers: to[p *
 * weights + i] is part p of power->weight[i] / scale. One part of them sums up to what the weights
 * do: what is left of a sum errs alike in every launch, which adds up. */
size_t sparse_weights(const stn_power *power);
bool sparse_any_weight(const stn_power *power); /* but 0 */
void sparse_round(const stn_task *task, const stn_power *power, double scale, int parts, float *to);

/* What weights `rounded`, times `scale`, err by after so many launches: the largest difference of
 * the symbol's powers, over frequencies from 0 on in octaves and on a grid of them, beside the
 * largest such power; or, where that is more, what they make of random numbers around 0, relative
 * L2. Infinite where memory is short. */
double sparse_difference(const stn_power *power, const float *rounded, double scale, double launches);
/* The same of weights as sparse_round has them. */
double sparse_rounding(const stn_task *task, const stn_power *power, bool bounded, int parts, double launches);
/* That by hand: frequencies along an axis, exp(i angle), and what part of the axis each stands for;
 * the symbol of weights at a frequency, of which the index 0 has the phase 0, and its part of all
 * frequencies; what it errs by. */
#define SPARSE_MOST_FREQUENCIES 64
typedef struct sparse_frequencies {
    int count;
    double share[SPARSE_MOST_FREQUENCIES];
    double complex turn[SPARSE_MOST_FREQUENCIES];
} sparse_frequencies;
typedef struct sparse_symbol {
    double complex exact, rounded;
    double share;
} sparse_symbol;
void sparse_frequencies_of(const stn_power *power, int axis, sparse_frequencies *frequencies);
/* At all frequencies along z, of these along y, of these along x; rounded: as sparse_difference has
 * it, or NULL. The caller frees them; NULL where memory is short. */
sparse_symbol *sparse_symbols_make(const stn_power *power, const float *rounded, double scale,
                                   const sparse_frequencies along[3]);
double sparse_symbols_differ(const sparse_symbol *symbols, size_t count, double launches);
static inline double sparse_square(double complex z) { return creal(z) * creal(z) + cimag(z) * cimag(z); }
static inline size_t sparse_frequencies_count(const sparse_frequencies along[3]) {
    return (size_t)along[0].count * (size_t)along[1].count * (size_t)along[2].count;
}
/* Predicted error of all steps, relative L2. */
double sparse_error(const sparse_shape *shape);
#endif
