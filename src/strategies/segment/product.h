/* Tori whose transforms are products on tensor cores (kernel_templates/segment/product.cuh),
 * instead of FFT words: segments of coprime factors, and tiles of planes and solids. */
#ifndef STN_STRATEGIES_SEGMENT_PRODUCT_H
#define STN_STRATEGIES_SEGMENT_PRODUCT_H
#include "base/text.h"
#include "launch/machine.h"
#include "strategies/segment/axis.h"

#define SEGMENT_PRODUCTS 5 /* such segments; a pass's `first` is then -1 .. -SEGMENT_PRODUCTS */
#define SEGMENT_TORI 8     /* and such tiles: by number, from 0 on */

typedef struct segment_factors {
    int n
        [3]; /* of segments coprime; at most 16, but that the first two are up to 64 where the last is 1. Of tiles along y, x, z */
    int warps;
    int gap; /* cells between slices in shared memory */
} segment_factors;

/* How numbers are multiplied. In f64 fragments of 16 x 8 x 8, 16 x 8 x 4 or 8 x 8 x 4; in f16 as
 * three products of tf32, or as halves, in one part each or in two. */
enum { SEGMENT_WIDE = 0, SEGMENT_FLAT = 1, SEGMENT_SMALL = 2, SEGMENT_HALVES = 1, SEGMENT_TWO_HALVES = 2 };

/* NULL: that many points are transformed by FFT words, in segments of 256 * first. */
const segment_factors *segment_factors_of(int first);
const segment_factors *segment_torus_factors(int number);
int segment_points(int first);
/* Of a block. */
size_t segment_product_shared(const segment_factors *f, stn_dtype dtype);
size_t segment_torus_shared(const segment_factors *f, stn_dtype dtype, bool even);
/* Of a pair of segments or tiles: products of fragments, as operations, and how many such products
 * one of numbers takes. `even`: PRODUCT_EVEN. */
double segment_product_flops(const segment_factors *f, bool even);
int segment_product_parts(stn_dtype dtype, int fragment);
stn_unit segment_product_unit(stn_dtype dtype, int fragment);
/* What transforms there and back round by, relative, and what of it is the same in every launch:
 * matrices, where they are rounded too. */
double segment_product_rounding(const stn_task *task, int fragment);
double segment_product_alike(stn_dtype dtype, int fragment);
void segment_product_words(stn_dtype dtype, int fragment, stn_text *text);
/* Parameters of kernels. */
void segment_product_params(stn_text *params, const segment_factors *f, stn_dtype dtype, int fragment, bool even);
/* Numbers of the table of matrices, of the symbol's. */
size_t segment_operands_size(const segment_factors *f, bool even);
size_t segment_places_size(const segment_factors *f, bool real);
/* The matrices in the order in which product.cuh reads them, behind them `gain`. */
void segment_operands_make(const segment_factors *f, bool even, double gain, double *operands);
/* The symbol likewise: of pairs by frequency, [k3][k1][k2], over `gain`. */
void segment_places_lay(const segment_factors *f, const double *powers, bool real, double gain, double *symbol);
/* By what f16's symbols are divided: a power of two no less than the largest |number| of `count`
 * pairs; 1 for other types. */
double segment_gain_of(const double *powers, size_t count, stn_dtype dtype);
/* Both tables of a segment. Errors: out of memory. */
stn_status segment_product_make(const segment_axis *axis, const segment_factors *f, uint64_t steps, stn_dtype dtype,
                                double *operands, double *symbol, stn_error *error);
#endif
