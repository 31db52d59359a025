/* Fourier layers by the defining sums of stentor.h, frequency by frequency and point by point: for
 * small ones. */
#ifndef STN_TESTS_LAYER_REFERENCE_H
#define STN_TESTS_LAYER_REFERENCE_H
#include "stentor.h"

/* What an execution takes and makes, as numbers in f64; those that a pass does not take are
 * NULL. */
typedef struct layer_numbers {
    double *in, *weights, *bias, *skip, *gradient;
    double *out, *bias_gradient, *skip_gradient;
} layer_numbers;

/* Fills what the pass writes. modes and batch are given (not 0), and so are all extents up to the
 * rank. */
void layer_reference(const stn_spectral_conv *layer, const layer_numbers *numbers);
#endif
