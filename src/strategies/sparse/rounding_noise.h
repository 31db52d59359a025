/* Predicts the error of rounding elements to 11 bits in every launch: random errors, which later
 * launches smooth, and the systematic errors of smooth data. */
#ifndef STN_STRATEGIES_SPARSE_ROUNDING_NOISE_H
#define STN_STRATEGIES_SPARSE_ROUNDING_NOISE_H
#include "strategies/sparse/sparse_shape.h"
#include "strategies/sparse/sparse_terms.h"

/* P(n): the mean over all frequencies of |K|^2n, relative to the largest |K|^2n. It is the factor
 * by which n steps change the square of white noise, relative to the frequency that decays least.
 * The numbers are those of L launches of f fused steps. */
typedef struct sparse_damping {
    double fused, launches;      /* 0: not computed yet */
    double one, half, last, all; /* P(f), P(h f), P((L - 1) f), P(L f); h = ceil(L / 2) */
    double sum_to_half;          /* the sum over 0 < i <= h of P(i f) */
} sparse_damping;

/* The squared error of all launches relative to that of one launch, on the task's points. */
typedef struct sparse_few_points {
    double fused, launches, growth_factor;
} sparse_few_points;

/* The spectrum |K|^2 of one step over all frequencies, relative to the largest; each has a share of
 * all frequencies, and the shares sum to 1. */
typedef struct sparse_spectrum {
    size_t count;
    double *log_square, *share; /* natural logarithm, -inf for 0; owned, with `share` behind it */
    double log_largest;         /* natural logarithm of the largest |K| */
    sparse_damping left;        /* cache of the last request */
    sparse_few_points few;      /* cache of the last request, for the task of the spectrum */
} sparse_spectrum;
/* False if out of memory; the spectrum is then empty. */
bool sparse_spectrum_make(const stn_task *task, sparse_spectrum *spectrum);
void sparse_spectrum_clear(sparse_spectrum *spectrum);
/* Valid until the next call with other arguments. */
const sparse_damping *sparse_spectrum_damping(sparse_spectrum *spectrum, double fused, double launches);

/* Predicted relative L2 error of a shape's launches, without that of rounded weights. `terms`: of a
 * chain, otherwise NULL. */
double sparse_noise(const stn_task *task, sparse_spectrum *spectrum, const sparse_shape *shape,
                    const sparse_terms *terms);
#endif
