/* A Fourier layer by cuFFT and cuBLAS: variants, layout of the workspace, and matrix products. */
#ifndef STN_STRATEGIES_CUBLAS_CUBLAS_SHAPE_H
#define STN_STRATEGIES_CUBLAS_CUBLAS_SHAPE_H
#include "launch/cublas_library.h"
#include "plan/plan.h"

/* Parts of the workspace. */
typedef enum cublas_part {
    CUBLAS_X,        /* an f16 input, converted to f32 */
    CUBLAS_SPECTRUM, /* of the input, later of the output */
    CUBLAS_STRAIGHT, /* of the output, if products go from spectrum to spectrum */
    CUBLAS_KEPT_IN,  /* retained modes, [mode][item][channel] */
    CUBLAS_KEPT_OUT,
    CUBLAS_WEIGHTS, /* copy of the weights for the products, or their gradient from the products */
    CUBLAS_SKIP,
    CUBLAS_Y,        /* the output, or its gradient, in f32 if it is f16 */
    CUBLAS_PARTIALS, /* partial sums of the gradients of skip weights and weights */
    CUBLAS_FFT,      /* workspace of cuFFT */
    CUBLAS_BLAS,     /* workspace of cuBLAS */
    CUBLAS_PARTS
} cublas_part;

/* Values of a candidate. */
enum { CUBLAS_IS_STRAIGHT, CUBLAS_TF32 };
/* Sums over batch, modes or points: cuBLAS adds f32 terms sequentially and loses f32 precision
 * after about 2000 terms. Sums are therefore split into pieces of CUBLAS_PIECE terms; at most
 * CUBLAS_AT_ONCE partial results are added up in f64 at the end. */
enum { CUBLAS_PIECE = 256, CUBLAS_AT_ONCE = 128 };

typedef struct cublas_shape {
    const stn_layer *layer;
    bool straight; /* products read and write spectra in place: one axis, one matrix of weights */
    bool tf32;
    bool half;   /* data in f16, all intermediate results in f32 */
    bool padded; /* the inverse transform is in place, with padded lines */
    /* products read a copy: converted from f16, by modes, or conjugated */
    bool own_weights, own_skip;
    /* layer_finish makes the output from the inverse transform */
    bool finishes;
    /* the gradient of the weights is a sum of partial results */
    bool pieces;
    stn_dtype inner; /* arithmetic type */
    /* points, spectrum, modes: of a channel. pairs: c_in * c_out. from, to: channels. */
    int64_t points, spectrum, modes, pairs, from, to;
    int per; /* real numbers of a point: 2 if points are complex, else 1 */
} cublas_shape;

cublas_shape cublas_shape_of(const stn_layer *layer, const stn_candidate *candidate);
bool cublas_can_be_straight(const stn_layer *layer);

/* Bytes of each part except cuFFT's; 0 if it is not used. */
void cublas_part_sizes(const cublas_shape *shape, size_t size[CUBLAS_PARTS]);

/* The transform of `channels` channels of every item to spectra, or the inverse. */
stn_status cublas_transform(const cublas_shape *shape, int64_t channels, bool inverse, stn_fft *fft, stn_error *error);

/* The matrix products. Their sizes are also valid for parts that the layer does not have. Operands:
 * map        weights, retained modes (straight: spectrum, weights), the same of the output
 * sum        retained modes of the gradient, of x, gradient of the weights
 * skip       input, skip weights, output
 * skip_sum   x, gradient, the sum of one item */
stn_gemm cublas_map(const cublas_shape *shape);
stn_gemm cublas_sum(const cublas_shape *shape);
stn_gemm cublas_skip(const cublas_shape *shape);
stn_gemm cublas_skip_sum(const cublas_shape *shape);
/* Number of partial results of a sum of `items` times `terms` terms. */
int64_t cublas_partials(int64_t items, int64_t terms);
#endif
