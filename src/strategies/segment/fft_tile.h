/* FFT tiles: 2D grids of any weights in one pass over memory. Overlapping tiles are convolved by 2D
 * FFTs in the shared memory of one block or of a cluster (segment_fft_tile.cu). */
#ifndef STN_STRATEGIES_SEGMENT_FFT_TILE_H
#define STN_STRATEGIES_SEGMENT_FFT_TILE_H
#include "context/kernel.h"
#include "strategies/common/launches.h"
#include "strategies/segment/segment_shape.h"

/* For launches of one number of fused steps: byte offsets in the tables, multiples of 256. */
typedef struct segment_fft_tile_layout {
    uint64_t fused;
    bool real; /* The symbol is real: the taps are symmetric about the origin. */
    size_t row_twiddles, column_twiddles, half_angles, symbol, end;
} segment_fft_tile_layout;

typedef struct segment_fft_tile {
    stn_kernel *kernel;
    size_t shared;
} segment_fft_tile;

/* The cheapest shapes of tiles, at most `most`, and the seconds of a run by each, in arrays of the
 * caller. */
typedef struct segment_fft_tiles_found {
    segment_shape *best;
    double *costs;
    size_t found, most;
} segment_fft_tiles_found;

/* Adds tiles to lists of the cheapest: those in one block to lists[0], those of clusters to
 * lists[1]. False, with *why set: tiles do not serve the task. If they do but none is found, *why
 * is left as it was. */
bool segment_fft_tile_search(const stn_task *task, const stn_machine *machine, segment_fft_tiles_found lists[2],
                             const char **why);
/* Estimates a run by tiles of this shape. */
void segment_fft_tile_cost(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                           stn_estimate *e);
/* The error that the estimate predicts. */
double segment_fft_tile_error(const stn_task *task, const segment_shape *shape);
/* Seconds per launch that the margins take. */
double segment_fft_tile_faces(const stn_task *task, const stn_machine *machine, const segment_shape *shape);
/* Sets the number of threads that takes the least time, and returns the seconds of the run with it.
 * Returns INFINITY early if a lower bound on them is at least `most`; otherwise they may still be
 * `most` or more. */
double segment_fft_tile_choose_threads(const stn_task *task, const stn_machine *machine, double faces, double most,
                                       segment_shape *shape);
/* Tiles of all grids. */
double segment_fft_tile_count(const stn_task *task, const segment_shape *shape);
/* Points of a tile along y (0) and x (1), the number of blocks that share it, and the shared memory
 * of each in bytes. */
int segment_fft_tile_points(const segment_shape *shape, int which);
int segment_fft_tile_shares(const segment_shape *shape);
size_t segment_fft_tile_shared(stn_dtype dtype, const segment_shape *shape);
/* A tile holds a whole plane and nothing else. */
bool segment_fft_tile_holds_plane(const stn_task *task, const segment_shape *shape);
/* Most registers per thread, and resident blocks per multiprocessor. */
int segment_fft_tile_registers(stn_dtype dtype, const segment_shape *shape);
int segment_fft_tile_blocks(const stn_task *task, const stn_machine *machine, const segment_shape *shape);
/* Fits the shape to new weights; false: they reach too far, or do not suit the sides. */
bool segment_fft_tile_refit(const stn_task *task, segment_shape *shape);
/* The radices of its columns: the first stage's, then the last stage's. */
void segment_fft_tile_radices(const segment_shape *shape, int radices[2]);
/* The extension of an axis past its sides: STN_WRAP or mirror images. If it is not exact, the
 * margins are stepped. */
segment_axis segment_fft_tile_axis(const stn_task *task, int which);

/* Makes the kernel, which plan->kernels owns. real: the symbol is real. Errors: those of
 * stn_kernel_make. */
stn_status segment_fft_tile_get(stn_plan *plan, const segment_shape *shape, bool real, segment_fft_tile *tile,
                                stn_error *error);
/* Places the tables of launches of `fused` steps from byte `at` on, a multiple of 256. asymmetric:
 * the kernel was made for asymmetric weights; it serves symmetric ones too. */
void segment_fft_tile_lay_out(const stn_task *task, const segment_shape *shape, uint64_t fused, bool asymmetric,
                              size_t at, segment_fft_tile_layout *layout);
/* Writes the tables to host memory; the layout's offsets count from `tables`. Errors: out of
 * memory. */
stn_status segment_fft_tile_fill(const stn_task *task, const segment_shape *shape,
                                 const segment_fft_tile_layout *layout, unsigned char *tables, stn_error *error);
/* Enqueues a launch on l->stream. tables: the same tables in device memory. Errors: those of
 * stn_module_launch. */
stn_status segment_fft_tile_launch(const stn_plan *plan, const segment_shape *shape, const segment_fft_tile *tile,
                                   const segment_fft_tile_layout *layout, const void *tables, const stn_fused_launch *l,
                                   stn_error *error);
#endif
