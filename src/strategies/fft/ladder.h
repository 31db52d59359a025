/* The kernel fft_ladder: lines that fill a block's shared memory, f64 and f32. */
#ifndef STN_STRATEGIES_FFT_LADDER_H
#define STN_STRATEGIES_FFT_LADDER_H
#include "plan/plan.h"
#include "strategies/common/ladder.h"
#include "strategies/fft/passes.h"

struct stn_kernel;

/* The longest line that it takes; 0: none. */
int64_t fft_ladder_longest(stn_dtype dtype, const stn_machine *machine);
/* The same of columns that a cluster of blocks shares, side by side. */
int64_t fft_ladder_longest_shared(stn_dtype dtype, const stn_machine *machine);
/* Is it worth a try for this pass? Then its shape. */
bool fft_ladder_for(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine, stn_ladder *shape);
/* Columns shared by a cluster's blocks, so that whole lines of the cache lie side by side. */
bool fft_ladder_shared_for(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine, stn_ladder *shape);
int64_t fft_ladder_blocks(const fft_pass *pass, const stn_ladder *shape);
size_t fft_ladder_shared(const stn_ladder *shape, stn_dtype dtype);
/* Complex numbers of its tables; `to` may be NULL: only count. */
size_t fft_ladder_roots(const fft_pass *pass, const stn_ladder *shape, stn_dtype dtype, void *to);
void fft_ladder_params(const fft_pass *pass, const stn_ladder *shape, stn_dtype dtype, stn_text *params);
/* Part of the copy bandwidth that a large pass reaches. */
double fft_ladder_part(const fft_pass *pass, const stn_ladder *shape, stn_dtype dtype);
stn_status fft_ladder_launch(const struct stn_kernel *kernel, const fft_pass *pass, const stn_ladder *shape,
                             stn_dtype dtype, const void *from, void *to, const void *roots, void *stream,
                             stn_error *error);
#endif
