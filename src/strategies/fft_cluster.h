/* The kernel fft_image: f16 images of 256 x 256 points, each held by a cluster of blocks between one read and one write. */
#ifndef STN_STRATEGIES_FFT_CLUSTER_H
#define STN_STRATEGIES_FFT_CLUSTER_H
#include "plan/plan.h"
#include "strategies/fft_passes.h"

struct stn_kernel;

/* Makes one pass over images of a transform's passes; false, and nothing changed, where it cannot. */
bool fft_cluster_image(const stn_fft *fft, const stn_machine *machine, fft_passes *passes);
void fft_cluster_params(stn_text *params);
/* Seconds of one launch. */
double fft_cluster_seconds(const fft_pass *pass, const stn_machine *machine);
/* The roots it reads, as float pairs; `to` may be NULL. Returns how many. */
size_t fft_cluster_roots(const fft_pass *pass, float *to);
stn_status fft_cluster_launch(const struct stn_kernel *kernel, const fft_pass *pass, const void *from, void *to,
                              const void *roots, void *stream, stn_error *error);
#endif
