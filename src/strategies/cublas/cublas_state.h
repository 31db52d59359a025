/* State of a plan of the cublas strategy, and its execution. */
#ifndef STN_STRATEGIES_CUBLAS_CUBLAS_STATE_H
#define STN_STRATEGIES_CUBLAS_CUBLAS_STATE_H
#include "launch/cufft_library.h"
#include "strategies/cublas/cublas_kernels.h"
#include "strategies/cublas/cublas_shape.h"

enum {
    GATHER_IN,
    GATHER_GRADIENT,
    GATHER_WEIGHTS,
    GATHER_SKIP,
    SCATTER,
    SCATTER_WEIGHTS,
    PAD,
    FINISH,
    WIDEN,
    NARROW,
    SUMS,
    KERNELS
};
enum { FORWARD, BACK, TRANSFORMS }; /* BACK: in the pass to the weights, transforms the gradient */

typedef struct cublas_state {
    cublas_shape shape;
    cublas_axes axes, whole; /* of spectra, of weights */
    stn_cublas *cublas;      /* owned by the context */
    stn_cufft_plan *transform[TRANSFORMS];
    stn_kernel *kernel[KERNELS]; /* NULL if not needed */
    size_t at[CUBLAS_PARTS];     /* offsets in the workspace, in bytes */
    int cufft_version;
} cublas_state;

stn_status cublas_execute(stn_plan *plan, const stn_execution *run, stn_error *error);
#endif
