/* How fft_line is shaped for one pass over lines: radices, points a thread, lines a block, places
 * in shared memory; its tables of roots; its params.cuh. */
#ifndef STN_STRATEGIES_FFT_SHAPE_H
#define STN_STRATEGIES_FFT_SHAPE_H
#include "plan/strategy.h"
#include "strategies/fft/passes.h"
#include "strategies/fft/radices.h"

struct stn_kernel;

/* Is there a shape for this pass? width: 1 and -1 for twice and half of the usual lines a block,
 * where lines lie across memory also of the bytes that an access finds side by side; else 0. */
bool fft_shape_for(const fft_pass *pass, stn_dtype dtype, const stn_machine *machine, int width, fft_shape *shape);
size_t fft_shape_shared(const fft_pass *pass, const fft_shape *shape, stn_dtype dtype);
/* Do the points of a line lie all over a large grid? */
bool fft_is_far(const fft_pass *pass, stn_dtype dtype);
/* Part of the copy bandwidth that a large pass reaches. */
double fft_shape_part(const fft_pass *pass, const fft_shape *shape, stn_dtype dtype);
/* Tiles of the first loop (merged: of the first two); blocks of the launch. */
int64_t fft_shape_tiles(const fft_pass *pass, const fft_shape *shape);
int64_t fft_shape_blocks(const fft_pass *pass, const fft_shape *shape);

/* The roots that a pass reads: twiddles of its stages, those between two passes, those of a real
 * transform, one after the other; how many complex numbers each has. `to` may be NULL: only
 * count. */
typedef struct fft_tables {
    size_t twiddles, outer, real;
} fft_tables;
fft_tables fft_shape_tables(const fft_pass *pass, const fft_shape *shape, stn_dtype dtype, void *to);

stn_status fft_shape_launch(const struct stn_kernel *kernel, const fft_pass *pass, const fft_shape *shape,
                            stn_dtype dtype, const void *from, void *to, const void *roots, const fft_tables *tables,
                            void *stream, stn_error *error);
void fft_shape_params(const fft_pass *pass, const fft_shape *shape, stn_dtype dtype, stn_text *params);
#endif
