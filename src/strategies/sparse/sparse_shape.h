/* The shape of sparse's kernels for a task (fused steps, window of a row of taps, a block's tile),
 * its cost, its params.cuh. */
#ifndef STN_STRATEGIES_SPARSE_SPARSE_SHAPE_H
#define STN_STRATEGIES_SPARSE_SPARSE_SHAPE_H
#include "plan/strategy.h"
#include "strategies/sparse/encode.h"

#define SPARSE_TILE_ROWS 64 /* rows of a block's tile */
#define SPARSE_WARPS 8      /* maximum warps of a block */
#define SPARSE_COLUMNS 8    /* columns of a product's right factor */

#define SPARSE_MAX_PLANES 33
#define SPARSE_MAX_FUSED 63 /* steps of a launch in 2D and 3D */

/* The rows of taps of one launch: plane d has count[d] rows from y offset first[d] - Y_LOW on. A
 * plane may have none. */
typedef struct sparse_rows {
    int planes, all;
    int first[SPARSE_MAX_PLANES], count[SPARSE_MAX_PLANES];
} sparse_rows;
/* False if there are more planes or rows than a kernel takes. The rows depend on offsets alone, so
 * new weights do not change them. */
bool sparse_rows_of(const stn_task *task, int fused, sparse_rows *rows);

/* Must fit into a stn_candidate. */
typedef struct sparse_shape {
    int fused;    /* most steps of one launch; launches share the task's steps evenly */
    int launches; /* launches, each of `fused` or `fused` - 1 steps */
    int parts;    /* 11-bit parts of a weight */
    int vector;   /* elements of one access along x: 16 bytes, or 1 where rows are unaligned */
    int terms;    /* separable terms (sparse_chain); 0: a sum over rows of taps */
    int halves;   /* length of the window in units of 8 words (encode.h) */
    int halves_y; /* chain: length of the window along y, even */
    int lead;     /* points from the window's start to its first output */
    int warps, blocks;
    int stages; /* stages in shared memory */
    /* How many of the eight columns of a product belong to adjacent blocks of 16 outputs: 8, in
     * long lines 2, in narrow tiles 1. */
    int adjacent_columns;
    int adjacent_warps; /* sparse_march: adjacent warps of a block; 0: another kernel */
    int held;           /* rows of taps in registers at the same time */
    int iterations;     /* iterations of a block: planes in 3D, otherwise tiles */
    /* Chain: further blocks of a grid, one for each column of tiles at a side. */
    int side_blocks;
    /* Fused launches are correct up to the faces: axes wrap, or mirror symmetric taps. */
    int extended;
    /* Predicted error of rounding the weights, of all launches: weight_rounding.h. */
    float rounding;
    float noise; /* predicted error of rounding elements: rounding_noise.h */
    /* f32 is computed to its own accuracy: elements are split into two parts of 11 bits too. Only
     * in 2D, and not with separable terms. */
    int split;
} sparse_shape;

/* The tolerance that f32 needs for elements rounded to tf32. */
#define SPARSE_TF32_TOLERANCE 5e-4
/* Whether elements of f32 must be split, so that f32 is computed to its own accuracy. If not, the
 * tolerance permits tf32, and sparse_search splits them only if the errors of tf32 exceed it. */
bool sparse_must_split(const stn_task *task);
/* Products for each left factor: one for each pair of parts of weights and elements that is
 * multiplied. */
int sparse_products_of_factor(const sparse_shape *shape);

/* Makes the shape for launches of at most `fused` steps: a chain of `terms` terms, or with 0
 * terms a sum over rows of taps by sparse_tile or sparse_line; false if no kernel can take it. */
bool sparse_fit(const stn_task *task, const stn_machine *machine, int fused, int terms, int parts, bool split,
                sparse_shape *shape);
/* Changes a shape of sparse_tile to sparse_march with `stages` stages, 1 (f16 only, one tile a
 * block) or more. False if the window is unsuitable or a multiprocessor cannot hold the ring. */
bool sparse_fit_ring(const stn_task *task, const stn_machine *machine, int stages, sparse_shape *shape);
/* Outputs that a warp computes at once. */
int sparse_points(const stn_task *task, const sparse_shape *shape);
/* Planes, or tiles, that a block reads besides its own. */
double sparse_halo_tiles(const stn_task *task, const sparse_shape *shape);
/* Chain: blocks of 16 rows that accumulate at the same time. */
int sparse_accumulating_blocks(const stn_task *task, const sparse_shape *shape);
int sparse_reach(const stn_task *task, const sparse_shape *shape, int axis, int side);
/* The window along x. */
sparse_window sparse_window_of(const stn_task *task, const sparse_shape *shape);
/* Windows of a chain along x: 2 if rows may begin in the middle of a word. The second window serves
 * those rows; its taps are one column further. */
int sparse_windows(const stn_task *task, const sparse_shape *shape);
/* The window of a chain along y. */
sparse_window sparse_window_y_of(const stn_task *task, const sparse_shape *shape);
const char *sparse_kernel_name(const stn_task *task, const sparse_shape *shape);
/* Bytes of dynamic shared memory. */
size_t sparse_shared(const stn_task *task, const sparse_shape *shape);
size_t sparse_table_words(const stn_task *task, const sparse_shape *shape);

/* steps: tiles along the marching axis. march_blocks: blocks that share these tiles. y, x: tiles
 * along y (in 3D) and along x. blocks: of one grid. */
typedef struct sparse_tiles {
    int64_t steps, march_blocks, y, x, blocks;
} sparse_tiles;
sparse_tiles sparse_tiles_of(const stn_task *task, const sparse_shape *shape);

void sparse_params(const stn_task *task, const sparse_shape *shape, stn_text *params);
#endif
