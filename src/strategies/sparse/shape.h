/* How sparse's kernels are shaped for a task: steps fused, the window of a row of taps, what a
 * block holds; what that costs; their params.cuh. */
#ifndef STN_STRATEGIES_SPARSE_SHAPE_H
#define STN_STRATEGIES_SPARSE_SHAPE_H
#include "plan/strategy.h"
#include "strategies/sparse/encode.h"
#include "strategies/sparse/rows.h"

#define SPARSE_TALL 64   /* rows of a block's tile */
#define SPARSE_WARPS 8   /* of a block, at most */
#define SPARSE_COLUMNS 8 /* of a product's right factor */

/* Fits a stn_candidate. */
typedef struct sparse_shape {
    int fused;    /* most steps that one launch does; launches share the task's steps evenly */
    int launches; /* of `fused` or `fused` - 1 steps */
    int parts;    /* of a weight, of 11 bits each */
    int vector;   /* elements of one access along x: 16 bytes, or 1 where rows are not aligned */
    int terms;    /* of sparse_chain, separable ones; 0: a sum over rows of taps */
    int halves;   /* of the window (encode.h) */
    int halves_y; /* chain: of the window of rows, even */
    int lead;     /* points from the window's first to its first output */
    int warps, blocks;
    int stages;     /* in shared memory */
    int beside;     /* of a product's eight columns, how many lie side by side: 8, of long lines 2, of narrow tiles 1 */
    int across;     /* sparse_walk: warps of a block that lie side by side; 0: another kernel */
    int held;       /* rows of taps in registers at once */
    int walk;       /* of a block: planes in 3D, tiles else */
    int extended;   /* fused launches are right up to the faces: axes wrap, or mirror symmetric taps */
    float rounding; /* what rounding the weights alone errs by, of all launches: accuracy.h */
    float noise;    /* what rounding elements errs by: noise.h */
} sparse_shape;
_Static_assert(sizeof(sparse_shape) <= sizeof(stn_candidate), "a shape is a candidate");

/* What tolerance f32 needs where its elements are rounded to tf32. */
#define SPARSE_TF32_TOLERANCE 5e-4
/* Is f32 computed to its own accuracy? Then elements too are taken in two parts of 11 bits. Of
 * planes, and not of terms. */
bool sparse_splits(const stn_task *task);
/* Products that a left factor takes, for all its parts. */
int sparse_products_of_part(const stn_task *task, const sparse_shape *shape);

/* The shape for launches of at most `fused` steps, of a chain of so many `terms` or, where those
 * are 0, of a sum over rows of taps by sparse_tile or sparse_line; false if no kernel can take it.
 * tally: may be NULL. */
bool sparse_fit(const stn_task *task, const stn_machine *machine, int fused, int terms, int parts, sparse_shape *shape,
                stn_tally *tally);
/* The same of sparse_tile's by sparse_walk, of so many stages: 1 (f16 alone, a tile a block) or
 * more. False if it has no words for it, or a multiprocessor does not hold it. */
bool sparse_fit_ring(const stn_task *task, const stn_machine *machine, int stages, sparse_shape *shape);
int sparse_points(const stn_task *task, const sparse_shape *shape); /* of outputs, that a warp makes at once */
int sparse_planes(const stn_task *task, const sparse_shape *shape); /* that the taps look at */
/* What a walk reads beside its own planes, or tiles. */
double sparse_again(const stn_task *task, const sparse_shape *shape);
/* Chain: blocks of 16 rows whose sums are made at once. */
int sparse_waiting_blocks(const stn_task *task, const sparse_shape *shape);
int sparse_reach(const stn_task *task, const sparse_shape *shape, int axis, int side);
sparse_window sparse_window_of(const stn_task *task, const sparse_shape *shape);   /* along x */
sparse_window sparse_window_y_of(const stn_task *task, const sparse_shape *shape); /* chain: along y */
const char *sparse_kernel_name(const stn_task *task, const sparse_shape *shape);
size_t sparse_shared(const stn_task *task, const sparse_shape *shape); /* bytes of dynamic shared memory */
size_t sparse_table_words(const stn_task *task, const sparse_shape *shape);

/* Steps of a walk over one column of tiles, blocks that share them, and tiles of 3D along y, of all
 * along x. */
typedef struct sparse_tiles {
    int64_t steps, walks, y, x;
} sparse_tiles;
sparse_tiles sparse_tiles_of(const stn_task *task, const sparse_shape *shape);

void sparse_params(const stn_task *task, const sparse_shape *shape, stn_text *params);
#endif
