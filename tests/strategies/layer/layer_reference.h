/* Fourier layers by the defining sums of stentor.h, frequency by frequency and point by point; for
 * small layers. */
#ifndef STN_TESTS_LAYER_REFERENCE_H
#define STN_TESTS_LAYER_REFERENCE_H
#include "stentor.h"

/* Arrays of an execution in f64; those that a pass does not use are NULL. */
typedef struct layer_numbers {
    double *in, *weights, *bias, *skip, *gradient;
    double *out, *bias_gradient, *skip_gradient;
} layer_numbers;

/* Fills the arrays that the pass writes. modes, batch and all extents up to the rank must be
 * given. */
void layer_reference(const stn_spectral_conv *layer, const layer_numbers *numbers);
#endif
