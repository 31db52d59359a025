/* Kernels that hold their points in the shared memory of a cluster of blocks: fft_image, for f16
 * images of 256 x 256 points, and fft_long, for sixteen lines of 4096 points at a time, one of the
 * two passes of a longer line. */
#ifndef STN_STRATEGIES_FFT_FFT_CLUSTER_KERNELS_H
#define STN_STRATEGIES_FFT_FFT_CLUSTER_KERNELS_H
#include "plan/plan.h"
#include "strategies/fft/fft_passes.h"

#define FFT_CLUSTER_LINE 4096

struct stn_kernel;

/* If fft_image can run the transform, makes its single pass; otherwise false, without changes. */
bool fft_cluster_image(const stn_fft *fft, const stn_machine *machine, fft_passes *passes);
/* Whether fft_long can run this pass of a transform. */
bool fft_cluster_long(const stn_fft *fft, const stn_machine *machine, const fft_pass *pass);

/* For passes of both kernels. */
size_t fft_cluster_shared(const fft_pass *pass); /* bytes per block */
void fft_cluster_params(const fft_pass *pass, stn_text *params);
/* Estimated seconds of one launch. */
double fft_cluster_seconds(const fft_pass *pass, const stn_machine *machine);
stn_status fft_image_launch(const struct stn_kernel *kernel, const fft_pass *pass, const void *from, void *to,
                            void *stream, stn_error *error);
stn_status fft_long_launch(const struct stn_kernel *kernel, const fft_pass *pass, const void *from, void *to,
                           void *stream, stn_error *error);
#endif
