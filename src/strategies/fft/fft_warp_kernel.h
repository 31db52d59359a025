/* The kernel fft_warp, on tensor cores: contiguous f16 lines of 256, 512 or 1024 points. */
#ifndef STN_STRATEGIES_FFT_FFT_WARP_KERNEL_H
#define STN_STRATEGIES_FFT_FFT_WARP_KERNEL_H
#include "plan/plan.h"
#include "strategies/fft/fft_passes.h"

struct stn_kernel;

/* Whether the kernel can run this pass of a transform. */
bool fft_warp_fits(const stn_fft *fft, const stn_machine *machine, const fft_pass *pass);
size_t fft_warp_shared(const fft_pass *pass); /* bytes per block */
void fft_warp_params(const fft_pass *pass, stn_text *params);
/* Estimated seconds of one launch. */
double fft_warp_seconds(const fft_pass *pass, const stn_machine *machine);
/* The twiddles that the kernel reads: w^i, i < length, as float pairs. */
void fft_warp_twiddles(const fft_pass *pass, float *to);
stn_status fft_warp_launch(const struct stn_kernel *kernel, const fft_pass *pass, const stn_machine *machine,
                           const void *from, void *to, const void *twiddles, void *stream, stn_error *error);
#endif
