/* Comparison of Fourier layers by a strategy with their definition, on random numbers. */
#ifndef STN_TESTS_COMPARE_LAYER_H
#define STN_TESTS_COMPARE_LAYER_H
#include "../suite.h"
#include "layer_reference.h"
#include "problem/fourier_layer.h"

/* in, out and the operands of an execution, in this order */
enum { LAYER_IN, LAYER_OUT, LAYER_FIRST_OPERAND, LAYER_POINTERS = LAYER_FIRST_OPERAND + STN_OPERANDS };

typedef struct layer_comparison {
    /* point: largest error of a number, relative to the largest value */
    double relative_l2, point, bar;
    bool served; /* false: the strategy cannot run it; `error` has the reason */
    bool all_written;
    char strategy[32], parameters[256];
    stn_error error;
} layer_comparison;

/* The number of elements behind each pointer; 0 for pointers that the pass does not use. */
void layer_sizes(const stn_spectral_conv *layer, size_t numbers[LAYER_POINTERS]);
bool layer_is_written(int pointer); /* the output, and the gradients of bias and skip weights */

/* Runs a plan on f64 numbers, which are rounded to the layer's dtype. Outputs and workspace are
 * poisoned before. numbers: by pointer; NULL where unused. */
bool layer_run(suite *s, const stn_spectral_conv *layer, const char *strategy, int pick,
               double *numbers[LAYER_POINTERS], layer_comparison *result);

/* Compares the strategy with the defining sums on random numbers, or, for large layers, with the
 * host's f64. pick: index of the strategy's candidate in order of cost; -1: the planner's
 * choice. */
bool layer_compare(suite *s, const stn_spectral_conv *layer, const char *strategy, int pick, uint64_t seed,
                   layer_comparison *result);

void layer_name(const stn_spectral_conv *layer, char *what, size_t size);
void layer_explain(const layer_comparison *c, char *detail, size_t size);
#endif
