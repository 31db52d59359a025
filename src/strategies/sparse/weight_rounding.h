/* Weights of sparse's kernels as sums of 11-bit parts, and the error of the results. */
#ifndef STN_STRATEGIES_SPARSE_WEIGHT_ROUNDING_H
#define STN_STRATEGIES_SPARSE_WEIGHT_ROUNDING_H
#include <complex.h>

#include "strategies/common/stencil_power.h"
#include "strategies/sparse/sparse_shape.h"

/* The power of two by which weights are divided before rounding. `bounded`: the magnitudes of the
 * divided weights sum to 1 at most, so that intermediate results stay within the grid's range.
 * Otherwise, in f16, which has few small numbers, the largest divided weight is 1 at most; in f32
 * the power is 1. */
double sparse_scale(const stn_task *task, const stn_power *power, bool bounded);
bool sparse_any_weight(const stn_power *power); /* whether any weight is nonzero */
/* Writes a power's weights as the products take them: `parts` times stn_power_count(power) numbers,
 * of which number p * stn_power_count(power) + i is part p of power->weight[i] / scale. With one
 * part, the sum of the weights is preserved, because the error of the sum is the same in every
 * launch and accumulates. */
void sparse_round(const stn_task *task, const stn_power *power, double scale, int parts, float *to);

/* The error of weights `rounded`, times `scale`, after `launches` launches: the largest difference
 * between the powers of the exact and the rounded symbol, over frequencies in octaves and on a
 * grid, relative to the largest power; or, if larger, the relative L2 error for random data of mean
 * 0 or in [0, 1). Infinite if out of memory. */
double sparse_difference(const stn_power *power, const float *rounded, double scale, double launches);
/* The same for the weights that sparse_round gives. */
double sparse_rounding(const stn_task *task, const stn_power *power, bool bounded, int parts, double launches);
/* Steps of sparse_difference. sparse_frequencies: frequencies exp(i angle) along an axis, and the
 * share of the axis that each represents. sparse_symbol: the symbols of exact and rounded weights
 * at one frequency (the weight at index 0 has phase 0), and the share of all frequencies that it
 * represents. */
#define SPARSE_MAX_FREQUENCIES 64
typedef struct sparse_frequencies {
    int count;
    double share[SPARSE_MAX_FREQUENCIES];
    double complex root[SPARSE_MAX_FREQUENCIES];
} sparse_frequencies;
typedef struct sparse_symbol {
    double complex exact, rounded;
    double share;
} sparse_symbol;
void sparse_frequencies_of(const stn_power *power, int axis, sparse_frequencies *frequencies);
/* The symbols at all combinations of the frequencies along z, y and x. rounded: as in
 * sparse_difference, or NULL. The caller frees the result; NULL if out of memory. */
sparse_symbol *sparse_symbols_make(const stn_power *power, const float *rounded, double scale,
                                   const sparse_frequencies along[3]);
/* The error of sparse_difference, from the symbols. */
double sparse_symbols_differ(const sparse_symbol *symbols, size_t count, double launches);
static inline double sparse_square(double complex z) { return creal(z) * creal(z) + cimag(z) * cimag(z); }
static inline size_t sparse_frequencies_count(const sparse_frequencies along[3]) {
    return (size_t)along[0].count * (size_t)along[1].count * (size_t)along[2].count;
}
/* Predicted relative L2 error of all steps between two snapshots, or of a run without them. */
double sparse_error(const sparse_shape *shape);
/* Whether the error of all snapshots is at most this part of the task's error bound. */
bool sparse_is_accurate(const stn_task *task, const sparse_shape *shape, double part);
#endif
