/* The kernels fft_shared and fft_cosine: FFTs, and cosine and sine transforms, of f64 and f32 lines
 * that fill the shared memory of a block or cluster. */
#ifndef STN_STRATEGIES_FFT_FFT_SHARED_KERNEL_H
#define STN_STRATEGIES_FFT_FFT_SHARED_KERNEL_H
#include "plan/plan.h"
#include "strategies/common/shared_fft.h"
#include "strategies/fft/fft_passes.h"

struct stn_kernel;

/* The longest line, in points, that the kernel can run; 0: none. */
int64_t fft_shared_longest(stn_dtype dtype, const stn_machine *machine);
/* The same for tiles of columns that a cluster of blocks shares. */
int64_t fft_shared_longest_in_cluster(stn_dtype dtype, const stn_machine *machine);
/* Whether the kernel is a candidate for this pass; if so, its shape. */
bool fft_shared_shape_for(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine, stn_shared_fft *shape);
/* The same for columns shared by a cluster. A tile has a whole or half a cache line of columns. */
bool fft_shared_shape_in_cluster(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine,
                                 stn_shared_fft *shape);
/* The shape of a pass of fft_cosine. `cluster`: clusters share columns where possible. */
bool fft_cosine_shape_for(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine, bool cluster,
                          stn_shared_fft *shape);
int64_t fft_shared_blocks(const fft_pass *pass, const stn_shared_fft *shape);
size_t fft_shared_bytes(const stn_shared_fft *shape, stn_dtype dtype);
/* Fills the tables, unless `to` is NULL, and returns their size in complex numbers. */
size_t fft_shared_twiddles(const fft_pass *pass, const stn_shared_fft *shape, stn_dtype dtype, void *to);
void fft_shared_params(const fft_pass *pass, const stn_shared_fft *shape, stn_dtype dtype, stn_text *params);
double fft_shared_seconds(const fft_pass *pass, const stn_shared_fft *shape, stn_dtype dtype,
                          const stn_machine *machine);
stn_status fft_shared_launch(const struct stn_kernel *kernel, const fft_pass *pass, const stn_shared_fft *shape,
                             stn_dtype dtype, const void *from, void *to, const void *twiddles, void *stream,
                             stn_error *error);
#endif
