/* Segments whose transforms are products of coprime factors on tensor cores (segment_product.cu), instead of FFT words. */
#ifndef STN_STRATEGIES_SEGMENT_PRODUCT_H
#define STN_STRATEGIES_SEGMENT_PRODUCT_H
#include "strategies/segment/axis.h"

#define SEGMENT_PRODUCTS 5 /* such forms; a pass's `first` is then -1 .. -SEGMENT_PRODUCTS */

typedef struct segment_factors {
    int n[3]; /* coprime, at most 16; the last one may be 1 */
    int warps;
    int gap; /* cells between slices in shared memory */
} segment_factors;

/* NULL: that many points are transformed by FFT words, in segments of 256 * first. */
const segment_factors *segment_factors_of(int first);
int segment_points(int first);
/* Of a block, with numbers of so many bytes. */
size_t segment_product_shared(const segment_factors *f, size_t number);
/* Of a pair of segments: products of tiles, as operations. */
double segment_product_flops(const segment_factors *f);
/* Numbers of the table of operands, of the symbol's. */
size_t segment_operands_size(const segment_factors *f);
size_t segment_places_size(const segment_factors *f, bool real);
/* Both in the order in which segment_product.cu reads them. Errors: out of memory. */
void segment_operands_make(const segment_factors *f, double *operands);
stn_status segment_places_make(const segment_axis *axis, const segment_factors *f, uint64_t steps, double *symbol,
                               stn_error *error);
#endif
