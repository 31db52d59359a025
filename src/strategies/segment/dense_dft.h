/* Convolutions whose Fourier transforms are dense matrix products on tensor cores
 * (kernel_templates/segment/dense_convolution.cuh) instead of FFT stages: segments of coprime
 * factors (prime-factor algorithm), and tiles of 2D and 3D grids. */
#ifndef STN_STRATEGIES_SEGMENT_DENSE_DFT_H
#define STN_STRATEGIES_SEGMENT_DENSE_DFT_H
#include "base/text.h"
#include "launch/machine.h"
#include "strategies/segment/axis.h"

/* Number of such segments; the `first` of a pass is then -1 .. -SEGMENT_PRIME_FACTORS. */
#define SEGMENT_PRIME_FACTORS 5
#define SEGMENT_DENSE_TILES 8 /* Number of such tiles, which are numbered from 0. */

typedef struct segment_factors {
    /* Extents. Segments: coprime factors, at most 16; the first two may be up to 64 if the third is
     * 1. Tiles: along y, x, z. */
    int n[3];
    int warps;
    int gap; /* Padding between slices in shared memory, in elements. */
} segment_factors;

/* Arithmetic of the products. f64: fragments of 16 x 8 x 8 (16 x 8 x 16 where the columns of left
 * factors are permuted), 16 x 8 x 4 or 8 x 8 x 4. f16: three products of tf32, or products of
 * f16 numbers (HALVES), of operands in one part or in two. */
enum { SEGMENT_WIDE = 0, SEGMENT_FLAT = 1, SEGMENT_SMALL = 2, SEGMENT_HALVES = 1, SEGMENT_TWO_HALVES = 2 };

/* The factors of a pass's segments; NULL if these have 256 * first points and are transformed by
 * FFT stages. */
const segment_factors *segment_factors_of(int first);
const segment_factors *segment_dense_tile_factors(int number);
int segment_points(int first);
/* Shared memory of a block, in bytes. `hartley`: matrices are real (DFT_REAL), since the taps are
 * symmetric along each axis. */
size_t segment_dense_shared(const segment_factors *f, stn_dtype dtype);
size_t segment_dense_tile_shared(const segment_factors *f, stn_dtype dtype, bool hartley);
/* Operations of a pair of segments or tiles, counted as whole fragments, and the number of fragment
 * products that one product of values takes. */
double segment_dense_flops(const segment_factors *f, bool hartley);
int segment_dense_parts(stn_dtype dtype, int fragment);
stn_unit segment_dense_unit(stn_dtype dtype, int fragment);
/* Relative rounding error of the forward and inverse transforms, and its part that is the same in
 * every launch, from the rounding of the matrices. */
double segment_dense_rounding(const stn_task *task, int fragment);
double segment_dense_systematic(stn_dtype dtype, int fragment);
void segment_dense_describe(stn_dtype dtype, int fragment, stn_text *text);
/* Writes the kernel parameters. */
void segment_dense_params(stn_text *params, const segment_factors *f, stn_dtype dtype, int fragment, bool hartley);
/* Number of values in the table of matrices, and in the symbol's table. */
size_t segment_dense_matrices_size(const segment_factors *f, bool hartley);
size_t segment_dense_symbol_size(const segment_factors *f, bool real_symbol);
/* Writes the matrices in the order in which dense_convolution.cuh reads them, followed by
 * `gain`. */
void segment_dense_matrices_make(const segment_factors *f, bool hartley, double gain, double *operands);
/* Writes the symbol likewise, from (re, im) pairs by frequency [k3][k1][k2], divided by `gain`. */
void segment_dense_symbol_make(const segment_factors *f, const double *powers, bool real_symbol, double gain,
                               double *symbol);
/* Divisor of f16 symbols: a power of two at least as large as the largest absolute value of `count`
 * pairs; 1 for other types. */
double segment_dense_scale_of(const double *powers, size_t count, stn_dtype dtype);
/* Writes both tables of a segment. Errors: out of memory. */
stn_status segment_dense_make(const segment_axis *axis, const segment_factors *f, uint64_t steps, stn_dtype dtype,
                              double *operands, double *symbol, stn_error *error);
#endif
