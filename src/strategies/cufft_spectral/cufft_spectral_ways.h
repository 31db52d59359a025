/* The cuFFT transforms of a stencil task: a real transform of each grid and its inverse, in one of
 * three ways. */
#ifndef STN_STRATEGIES_CUFFT_SPECTRAL_CUFFT_SPECTRAL_WAYS_H
#define STN_STRATEGIES_CUFFT_SPECTRAL_CUFFT_SPECTRAL_WAYS_H
#include "plan/strategy.h"

/* Value of a candidate. Between the transforms the half spectra are dense, at a fixed place in the
 * workspace.
 *
 *     DIRECT   r2c from the input; inverse c2c of all axes but the last in place, then c2r of rows
 *              to the output (cuFFT 12.0 was seen to fail on an out-of-place c2r of several axes)
 *     AFTER    r2c from the input; c2r in place; copied to the output
 *     STAGED   the input copied, r2c and c2r in place, copied to the output: for every layout, and
 *              for f16 as f32 */
typedef enum cufft_spectral_way {
    CUFFT_SPECTRAL_DIRECT,
    CUFFT_SPECTRAL_AFTER,
    CUFFT_SPECTRAL_STAGED,
    CUFFT_SPECTRAL_WAYS
} cufft_spectral_way;

typedef struct cufft_spectral_shape {
    cufft_spectral_way way;
    stn_dtype inner; /* arithmetic type */
    int64_t half;    /* frequencies per row */
    int64_t lines;   /* rows per spectrum */
    bool deep;       /* several axes */
    stn_fft forward, back[2];
    int backs;            /* number of inverse transforms, run one after the other */
    stn_fft_side in, out; /* the caller's grids */
} cufft_spectral_shape;

/* False if the task cannot be run so; then `reason` is one phrase. */
bool cufft_spectral_make(const stn_task *task, cufft_spectral_way way, cufft_spectral_shape *shape, char *reason,
                         size_t reason_size);
/* Bytes of all half spectra. */
size_t cufft_spectral_bytes(const stn_task *task, const cufft_spectral_shape *shape);
#endif
