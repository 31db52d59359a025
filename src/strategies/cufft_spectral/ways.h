/* What cuFFT is asked to do for a stencil: a real transform of each grid and its inverse, in one of
 * three ways. */
#ifndef STN_STRATEGIES_CUFFT_SPECTRAL_WAYS_H
#define STN_STRATEGIES_CUFFT_SPECTRAL_WAYS_H
#include "plan/strategy.h"

/* A candidate's value. Between the transforms the half spectra always lie dense at the same place
 * of the workspace.
 *
 *     DIRECT   r2c from the input there; back all axes but the last as c2c there, then c2r of rows into the output: cuFFT 12.0 was
 *              seen to fail on a c2r of several axes out of place
 *     AFTER    r2c from the input there; c2r in place there; moved to the output
 *     STAGED   the input moved there, r2c and c2r in place, moved to the output: for every layout, and f16 as
 * f32 */
typedef enum cufft_spectral_way {
    CUFFT_SPECTRAL_DIRECT,
    CUFFT_SPECTRAL_AFTER,
    CUFFT_SPECTRAL_STAGED,
    CUFFT_SPECTRAL_WAYS
} cufft_spectral_way;

enum { CUFFT_SPECTRAL_TRANSFORMS = 3 };

typedef struct cufft_spectral_shape {
    cufft_spectral_way way;
    stn_dtype inner; /* that is computed in */
    int64_t half;    /* frequencies of a row */
    int64_t lines;   /* rows of a grid's spectrum */
    bool deep;       /* of several axes, as cuFFT counts them */
    stn_fft forward, back[2];
    int backs;            /* transforms back, one after the other */
    stn_fft_side in, out; /* the caller's grids */
} cufft_spectral_shape;

/* False: the task cannot be run so; the reason is one phrase. */
bool cufft_spectral_make(const stn_task *task, cufft_spectral_way way, cufft_spectral_shape *shape, char *reason,
                         size_t reason_size);
/* Bytes of all half spectra. */
size_t cufft_spectral_bytes(const stn_task *task, const cufft_spectral_shape *shape);
#endif
