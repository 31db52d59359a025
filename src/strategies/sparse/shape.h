/* How sparse's kernels are shaped for a task: steps fused, the window of a row of taps, what a block holds; what that costs; their
 * params.cuh. */
#ifndef STN_STRATEGIES_SPARSE_SHAPE_H
#define STN_STRATEGIES_SPARSE_SHAPE_H
#include "plan/strategy.h"
#include "strategies/sparse/encode.h"
#include "strategies/sparse/rows.h"

#define SPARSE_TALL 64         /* rows of a block's tile */
#define SPARSE_WALK_ROWS 8     /* of a warp, in whole lines of memory */
#define SPARSE_WARPS 8         /* of a block, at most */
#define SPARSE_MOST_SHORT 3    /* stages of sparse_fit_short */
#define SPARSE_MOST_BESIDE 127 /* steps of a launch of lines whose columns lie beside each other */

/* Fits a stn_candidate. */
typedef struct sparse_shape {
    int fused;    /* most steps that one launch does; launches share the task's steps evenly */
    int launches; /* of `fused` or `fused` - 1 steps */
    int parts;    /* of a weight, of 11 bits each */
    int vector;   /* elements of one access along x: 16 bytes, or 1 where rows are not aligned */
    int terms;    /* of sparse_chain, separable ones, or in 3D of sparse_brick; 0: sparse_tile, in 1D sparse_line */
    int halves;   /* of the window (encode.h); in 1D even */
    int halves_y; /* chain: of the window of rows, even */
    int lead;     /* points from the window's first to its first output */
    int warps, blocks;
    int stages;  /* in shared memory; 0: sparse_straight, which has none */
    int abreast; /* sparse_tile, sparse_line: products' columns lie side by side, and stores are whole lines of memory */
    int whole;   /* what is read comes in whole lines of memory, 2: in pairs of them; sparse_walk, sparse_line */
    int apart;   /* sparse_line: of a block's tiles, other blocks' lie between them */
    int held;    /* rows of taps in registers at once */
    int walk;    /* of a block: planes in 3D, tiles of 64 rows else */
    int extended;   /* fused launches are right up to the faces: axes wrap, or mirror symmetric taps */
    float rounding; /* what rounding the weights alone errs by, of all launches: accuracy.h */
    float noise;    /* what rounding elements errs by: noise.h */
    int beside; /* sparse_line: columns of a product that lie side by side, 2 or 4; sparse_walk: warps; 0: as ever */
} sparse_shape;
_Static_assert(sizeof(sparse_shape) <= sizeof(stn_candidate), "a shape is a candidate");

/* What tolerance f32 needs where its elements are rounded to tf32. */
#define SPARSE_TF32_TOLERANCE 5e-4
/* Is f32 computed to its own accuracy? Then elements too are taken in two parts of 11 bits. Of planes, and not of terms. */
bool sparse_splits(const stn_task *task);
/* Products that a left factor takes, for all its parts. */
int sparse_products_of_part(const stn_task *task, const sparse_shape *shape);

/* The shape for launches of at most `fused` steps, of a chain of so many `terms` or, where those are 0, of sparse_tile; false if no
 * kernel can take it. tally: may be NULL. */
bool sparse_fit(const stn_task *task, const stn_machine *machine, int fused, int terms, int parts, sparse_shape *shape,
                stn_tally *tally);
/* A line whose columns lie `beside` each other by so many, in whole lines of memory; false if no kernel can take it. */
bool sparse_fit_beside(const stn_task *task, const stn_machine *machine, int fused, int beside, int parts,
                       sparse_shape *shape, stn_tally *tally);
/* The same of blocks half as large, twice as many; false if a multiprocessor does not hold them. */
bool sparse_fit_smaller(const stn_task *task, const stn_machine *machine, sparse_shape *shape);
/* The same with one block more on each multiprocessor; false if it does not hold so many. */
bool sparse_fit_more(const stn_task *task, const stn_machine *machine, sparse_shape *shape);
/* The same reading whole lines of memory; false if no kernel does. */
bool sparse_fit_whole(const stn_task *task, const stn_machine *machine, sparse_shape *shape);
/* Planes that are read so, in tiles of four warps side by side, so many blocks on a multiprocessor, and stages; false if it does not
 * hold them. */
bool sparse_fit_wider(const stn_task *task, const stn_machine *machine, int blocks, int stages, sparse_shape *shape);
/* The same of small blocks, two warps side by side, as many as registers and shared memory hold, each of one tile or, with more stages than
 * one, of several. */
bool sparse_fit_short(const stn_task *task, const stn_machine *machine, int stages, sparse_shape *shape);
/* One that is abreast, without shared memory: of blocks of so many warps, `beside` of them side by side in planes, so many
 * blocks on a multiprocessor, tiles of a block. False if no kernel does. */
bool sparse_fit_straight(const stn_task *task, int warps, int beside, int blocks, int walk, sparse_shape *shape);
/* Of lines, another way for its blocks to share the tiles, so that all that is read at a time is near. False if it is the same. */
bool sparse_fit_apart(const stn_task *task, sparse_shape *shape);
/* Blocks of 8 warps whose registers a multiprocessor holds: elements in two parts take more than half of them, with sums of their own. */
int sparse_most_blocks(const stn_task *task, const sparse_shape *shape);
/* How many tiles a block takes one after the other. */
void sparse_fit_walk(const stn_task *task, const stn_machine *machine, sparse_shape *shape);
/* Is the kernel sparse_straight? */
bool sparse_is_straight(const sparse_shape *shape);
/* Is it one of sparse_fit_short's? */
bool sparse_is_short(const stn_task *task, const sparse_shape *shape);
/* Is the kernel sparse_brick, of 3D terms? */
bool sparse_is_brick(const stn_task *task, const sparse_shape *shape);
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

/* Steps of a walk over one column of tiles, blocks that share them, and tiles of 3D along y, of all along x. */
typedef struct sparse_tiles {
    int64_t steps, walks, y, x;
} sparse_tiles;
sparse_tiles sparse_tiles_of(const stn_task *task, const sparse_shape *shape);

void sparse_params(const stn_task *task, const sparse_shape *shape, stn_text *params);
#endif
