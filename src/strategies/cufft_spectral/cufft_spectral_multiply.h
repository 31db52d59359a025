/* Multiplies half spectra by K^T between cuFFT's transforms: the kernel, the symbol's tables on the
 * device, the launch. */
#ifndef STN_STRATEGIES_CUFFT_SPECTRAL_CUFFT_SPECTRAL_MULTIPLY_H
#define STN_STRATEGIES_CUFFT_SPECTRAL_CUFFT_SPECTRAL_MULTIPLY_H
#include "plan/plan.h"
#include "strategies/common/stencil_symbol.h"
#include "strategies/cufft_spectral/cufft_spectral_ways.h"

typedef struct cufft_spectral_multiply {
    stn_symbol symbol;
    struct stn_kernel *kernel;
    /* Device memory: parts, then the cos and sin of the first CHUNK half angles, and of the half
     * angle of each chunk's first frequency, at these offsets in bytes. */
    void *tables;
    size_t angles, chunk_angles, size;
    double largest, decay_threshold; /* the largest |K|; see stn_symbol_decay_threshold */
} cufft_spectral_multiply;

/* The form of a task's symbol along its rows. */
stn_symbol cufft_spectral_symbol(const stn_task *task);
/* The frequencies that are multiplied, a dense array [batch][count[0]][count[1]][count[2]]: a half
 * spectrum, or a part of it along the last two axes. */
typedef struct cufft_spectral_range {
    stn_dtype inner; /* arithmetic type */
    int64_t first[3], count[3];
} cufft_spectral_range;

/* Builds kernel and tables for the task's weights; called again for new weights. *multiply is zero
 * before the first call. */
stn_status cufft_spectral_multiply_make(stn_kernel_set *kernels, const stn_task *task,
                                        const cufft_spectral_range *range, cufft_spectral_multiply *multiply,
                                        stn_error *error);
void cufft_spectral_multiply_clear(stn_context *context, cufft_spectral_multiply *multiply);
stn_status cufft_spectral_multiply_run(const stn_task *task, const cufft_spectral_range *range,
                                       const cufft_spectral_multiply *multiply, void *spectrum, void *stream,
                                       stn_error *error);
#endif
