/* The kernels whose points lie in the shared memory of a cluster of blocks between one read and one
 * write: fft_image, f16 images of 256 x 256 points, and fft_long, sixteen lines of 4096 at a time,
 * as one of two passes of a longer line. */
#ifndef STN_STRATEGIES_FFT_CLUSTER_H
#define STN_STRATEGIES_FFT_CLUSTER_H
#include "plan/plan.h"
#include "strategies/fft/passes.h"

#define FFT_CLUSTER_LINE 4096

struct stn_kernel;

/* Makes one pass over images of a transform's passes; false, and nothing changed, where it
 * cannot. */
bool fft_cluster_image(const stn_fft *fft, const stn_machine *machine, fft_passes *passes);
/* Does fft_long serve this pass of a transform? */
bool fft_cluster_long(const stn_fft *fft, const stn_machine *machine, const fft_pass *pass);

/* Of either's passes. */
size_t fft_cluster_shared(const fft_pass *pass); /* bytes of a block */
void fft_cluster_params(const fft_pass *pass, stn_text *params);
/* Seconds of one launch. */
double fft_cluster_seconds(const fft_pass *pass, const stn_machine *machine);
stn_status fft_image_launch(const struct stn_kernel *kernel, const fft_pass *pass, const void *from, void *to,
                            void *stream, stn_error *error);
stn_status fft_long_launch(const struct stn_kernel *kernel, const fft_pass *pass, const void *from, void *to,
                           void *stream, stn_error *error);
#endif
