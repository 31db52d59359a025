/* The shape of fft_line for one pass: points per thread, lines per block, layout in shared memory;
 * its tables of twiddles; its params.cuh. */
#ifndef STN_STRATEGIES_FFT_FFT_LINE_KERNEL_H
#define STN_STRATEGIES_FFT_FFT_LINE_KERNEL_H
#include "plan/strategy.h"
#include "strategies/fft/fft_passes.h"
#include "strategies/fft/fft_radices.h"

struct stn_kernel;

/* Finds a shape for this pass; false if there is none. width: 0 for the usual number of lines per
 * block, 1 for twice as many, -1 for half as many. If lines are strided, the contiguous bytes of an
 * access change with the number of lines. */
bool fft_line_shape_for(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine, int width,
                        fft_line_shape *shape);
size_t fft_line_shared(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype);
/* Whether the points of a line are spread over a large grid. */
bool fft_is_spread(const fft_pass *pass, stn_dtype dtype);
double fft_line_seconds(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype, const stn_machine *machine);
/* Blocks of the launch: the tiles of the first loop (if merged, of the first two loops) times the
 * lengths of the other loops. */
int64_t fft_line_blocks(const fft_pass *pass, const fft_line_shape *shape);

/* The twiddle factors that a pass reads, one table after the other: those between its stages, those
 * between this pass and the next, and those of a real transform. Sizes are in complex numbers. If
 * `to` is NULL, fft_line_tables only returns the sizes. */
typedef struct fft_tables {
    size_t stages, outer, real;
} fft_tables;
fft_tables fft_line_tables(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype, void *to);

stn_status fft_line_launch(const struct stn_kernel *kernel, const fft_pass *pass, const fft_line_shape *shape,
                           stn_dtype dtype, const void *from, void *to, const void *twiddles, const fft_tables *tables,
                           void *stream, stn_error *error);
void fft_line_params(const fft_pass *pass, const fft_line_shape *shape, stn_dtype dtype, stn_text *params);
#endif
