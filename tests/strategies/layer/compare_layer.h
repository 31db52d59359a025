/* A strategy of Fourier layers against the definition, for one layer of random numbers. */
#ifndef STN_TESTS_COMPARE_LAYER_H
#define STN_TESTS_COMPARE_LAYER_H
#include "../suite.h"
#include "problem/layer.h"
#include "reference.h"

/* in, out and the operands of an execution, in this order */
enum { LAYER_IN, LAYER_OUT, LAYER_FIRST_OPERAND, LAYER_POINTERS = LAYER_FIRST_OPERAND + STN_OPERANDS };

typedef struct layer_comparison {
    double relative_l2, point, bar; /* point: the largest error of a number over the largest value */
    bool served;                    /* false: the strategy says that it cannot; error says why */
    bool all_written;
    char strategy[32], parameters[256];
    stn_error error;
} layer_comparison;

/* Numbers behind each pointer, 0 where the pass takes none. modes and batch need not be given. */
void layer_sizes(const stn_spectral_conv *layer, size_t numbers[LAYER_POINTERS]);
bool layer_is_written(int pointer); /* out and the gradients of bias and skip */

/* Runs a plan on numbers in f64, which are rounded to the layer's dtype on the way; what is written
 * is poisoned before, and so is the workspace. numbers: by pointer; NULL where there are none. */
bool layer_run(suite *s, const stn_spectral_conv *layer, const char *strategy, int pick,
               double *numbers[LAYER_POINTERS], layer_comparison *result);

/* Random numbers through the strategy and through the defining sums, or, for layers too large for
 * those, through the host's in f64. pick: which of the strategy's candidates, in the order of their
 * cost; -1: the planner's choice. */
bool layer_compare(suite *s, const stn_spectral_conv *layer, const char *strategy, int pick, uint64_t seed,
                   layer_comparison *result);

void layer_name(const stn_spectral_conv *layer, char *what, size_t size);
void layer_explain(const layer_comparison *c, char *detail, size_t size);
#endif
