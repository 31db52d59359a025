/* Weights of sparse's kernels, in parts of 11 bits, and how far off their results are. */
#ifndef STN_STRATEGIES_SPARSE_ACCURACY_H
#define STN_STRATEGIES_SPARSE_ACCURACY_H
#include <complex.h>

#include "strategies/common/powers.h"
#include "strategies/sparse/shape.h"

/* The power of two that weights are divided by before they are rounded: of f16, which holds few small numbers. `bounded`: their
 * sizes sum up to 1 at most then, so that what they make of a grid is no larger than it; else the largest is below 1. */
double sparse_scale(const stn_task *task, const stn_power *power, bool bounded);
/* A power's weights as products take them, `parts` times sparse_weights(power) numbers: to[p * weights + i] is part p of
 * power->weight[i] / scale. One part of them sums up to what the weights do: what is left of a sum errs alike in every launch,
 * which adds up. */
size_t sparse_weights(const stn_power *power);
bool sparse_any_weight(const stn_power *power); /* but 0 */
void sparse_round(const stn_task *task, const stn_power *power, double scale, int parts, float *to);

/* What weights `rounded`, times `scale`, err by after so many launches: the largest difference of the symbol's powers, over
 * frequencies from 0 on in octaves and on a grid of them, beside the largest such power; or, where that is more, what they make of random
 * numbers around 0, relative L2. Infinite where memory is short. */
double sparse_difference(const stn_power *power, const float *rounded, double scale, double launches);
/* The same of weights as sparse_round has them. */
double sparse_rounding(const stn_task *task, const stn_power *power, bool bounded, int parts, double launches);
/* That by hand: frequencies along an axis of a power, and what part of the axis each stands for; a symbol there, of which the index 0 has the
 * phase 0, and its part of all frequencies; what it errs by. */
#define SPARSE_OCTAVES 11 /* pi, pi / 2, .. and 0 */
#define SPARSE_EVEN 8     /* beside them, evenly over half a circle */
#define SPARSE_MOST_ANGLES (1 + 2 * (SPARSE_OCTAVES + SPARSE_EVEN))
typedef struct sparse_symbol {
    double complex exact, rounded;
    double share;
} sparse_symbol;
int sparse_angles(const stn_power *power, int axis, double angle[SPARSE_MOST_ANGLES], double share[SPARSE_MOST_ANGLES]);
double sparse_symbols_differ(const sparse_symbol *symbols, size_t count, double launches);
/* Predicted error of all steps, relative L2. */
double sparse_error(const sparse_shape *shape);
#endif
