/* What rounding to elements of 11 bits in every launch makes of a run: by chance, smoothed by the
 * launches after it, and of smooth data alike. */
#ifndef STN_STRATEGIES_SPARSE_NOISE_H
#define STN_STRATEGIES_SPARSE_NOISE_H
#include "strategies/sparse/shape.h"
#include "strategies/sparse/terms.h"

/* What L launches of f fused steps leave of white noise, its square, beside what they leave of the
 * frequency that they leave most of: P(n) after n steps. */
typedef struct sparse_left {
    double fused, launches;      /* 0: of none yet */
    double one, half, last, all; /* P(f), P(h f), P((L - 1) f), P(L f); h = ceil(L / 2) */
    double to_half;              /* the sum over 0 < i <= h of P(i f) */
} sparse_left;

/* How much larger than one launch's errors, squared, those of so many are on the task's points. */
typedef struct sparse_few {
    double fused, launches, grown;
} sparse_few;

/* |K|^2 of one step over all frequencies, beside the largest; each stands for a share of them, and the shares add up to
 * 1. */
typedef struct sparse_spectrum {
    size_t count;
    double *log_square, *share; /* natural, -inf of 0; owned; share follows it */
    double log_largest;         /* of |K|, natural */
    sparse_left left;           /* what was asked for last */
    sparse_few few;             /* likewise, of the task that it was made of */
} sparse_spectrum;
/* False where memory is short; then it is empty. */
bool sparse_spectrum_make(const stn_task *task, sparse_spectrum *spectrum);
void sparse_spectrum_clear(sparse_spectrum *spectrum);
/* Of the spectrum until it is asked for others: shapes of as many launches follow each other. */
const sparse_left *sparse_spectrum_left(sparse_spectrum *spectrum, double fused, double launches);

/* Predicted error of a shape's launches but for what their weights' rounding does, relative L2.
 * `terms`: of a chain, else NULL. */
double sparse_noise(const stn_task *task, sparse_spectrum *spectrum, const sparse_shape *shape,
                    const sparse_terms *terms);
#endif
