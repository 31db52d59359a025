/* How cuFFT and cuBLAS run a Fourier layer: which way, with what in the workspace, and by which
 * products. */
#ifndef STN_CUBLAS_SHAPE_H
#define STN_CUBLAS_SHAPE_H
#include "launch/cublas.h"
#include "plan/plan.h"

/* Parts of the workspace. */
typedef enum cublas_part {
    CUBLAS_X,        /* the input, in f32, where it is f16 */
    CUBLAS_SPECTRUM, /* of the input; then of the output, whose transform of several real axes is done in place */
    CUBLAS_STRAIGHT, /* of the output, where products go from spectrum to spectrum */
    CUBLAS_KEPT_IN,  /* kept modes, [mode][item][channel] */
    CUBLAS_KEPT_OUT,
    CUBLAS_WEIGHTS, /* as the products read them, or their gradient as a product leaves it */
    CUBLAS_SKIP,
    CUBLAS_Y,        /* the output in f32, or y's gradient, where it is f16 */
    CUBLAS_PARTIALS, /* of the gradients of the skip weights and of weights, pieces of long sums */
    CUBLAS_FFT,      /* cuFFT's own */
    CUBLAS_BLAS,
    CUBLAS_PARTS
} cublas_part;

/* A candidate's values. */
enum { CUBLAS_IS_STRAIGHT, CUBLAS_TF32 };
/* Sums over a batch, over modes, over points: cuBLAS adds f32 one term after the other, and after
 * some 2000 terms the result is no longer f32's own precision. So they are made of pieces, and so
 * many partial results are added up in f64 at the end. */
enum { CUBLAS_PIECE = 256, CUBLAS_AT_ONCE = 128 };

typedef struct cublas_shape {
    const stn_layer *layer;
    bool straight; /* products read and write the spectra where they lie: one axis, one matrix of weights */
    bool tf32;
    bool half;                  /* data in f16, everything between in f32 */
    bool padded;                /* the inverse transform is in place, with room at the ends of lines */
    bool own_weights, own_skip; /* products read a copy of these: f16, by modes, or of the conjugates */
    bool finishes;              /* a kernel makes the output of what the transform left */
    bool pieces;                /* the gradient of weights is a sum of partial results */
    stn_dtype inner;
    int64_t points, spectrum, modes, pairs, from, to; /* of a channel; channels */
    int per;
} cublas_shape;

cublas_shape cublas_shape_of(const stn_layer *layer, const stn_candidate *candidate);
bool cublas_can_be_straight(const stn_layer *layer);

/* Bytes of each part but cuFFT's, 0 where it is not used. */
void cublas_part_sizes(const cublas_shape *shape, size_t size[CUBLAS_PARTS]);

/* The transforms: of `channels` of every item, to spectra, and back from them. */
stn_status cublas_transform(const cublas_shape *shape, int64_t channels, bool inverse, stn_fft *fft, stn_error *error);

/* The products; of an operand that is not there the numbers are as if it were. a, b, c of each:
 * map        weights, kept modes (or straight: spectrum, weights), the same of the output
 * sum        kept modes of the gradient, of x, the weights' gradient
 * skip       input, skip weights, output
 * skip_sum   x, gradient, the sum of one item */
stn_gemm cublas_map(const cublas_shape *shape);
stn_gemm cublas_sum(const cublas_shape *shape);
stn_gemm cublas_skip(const cublas_shape *shape);
stn_gemm cublas_skip_sum(const cublas_shape *shape);
/* Partial results of a sum of `items` times `terms`. */
int64_t cublas_partials(int64_t items, int64_t terms);
#endif
