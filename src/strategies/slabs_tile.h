/* How slabs_tile.cu is shaped for the margins of f fused steps: boxes, patches, blocks; what a launch costs; its params.cuh
 * and its arguments. */
#ifndef STN_STRATEGIES_SLABS_TILE_H
#define STN_STRATEGIES_SLABS_TILE_H
#include "base/text.h"
#include "strategies/slabs.h"

#define SLABS_TILE_ARGUMENTS 4096 /* bytes, at most */
#define SLABS_TILE_TAPS 130       /* at most: they are unrolled, for faces normal to three axes */
#define SLABS_TILE_PIECES 12

typedef struct slabs_tile {
    int fused;
    int rims;         /* only what slabs_chain leaves */
    int rows, points; /* of a thread's patch, along y and x */
    int threads;
    int blocks;    /* that must fit on a multiprocessor */
    int buffers;   /* boxes in shared memory: with two a step needs one barrier */
    int separable; /* weights are products of one factor an axis, which are all that the kernel is given; or else: */
    int mirror;    /* weights at opposite offsets along x are equal, so their points are added first */
    int box[3][3]; /* extents along z, y, x of the box at a face normal to each axis; 0 where there is none */
    size_t shared; /* bytes of a block */
    double seconds;
} slabs_tile;

/* A box of points at a face normal to `axis`: low <= index < end. */
typedef struct slabs_tile_piece {
    int64_t low[3], end[3];
    int axis, side;
} slabs_tile_piece;

/* ---- slabs_pieces.c
 * The margins, or of each the rims that a second face reaches; they share no point. Returns how many. */
size_t slabs_tile_pieces(const stn_task *task, int fused, bool rims, slabs_tile_piece pieces[SLABS_TILE_PIECES]);
/* Is there a piece at faces normal to the axis? */
bool slabs_tile_has_pieces(const stn_task *task, int fused, bool rims, int axis);

/* ---- slabs_shape.c */
/* Points along an axis: of a patch; that the block of a tile at a face normal to axis `normal` calls its own. */
int slabs_tile_patch(const slabs_tile *tile, int axis);
int slabs_tile_own(const stn_task *task, const slabs_tile *tile, int normal, int axis);
/* The cheapest shape by estimate; false if there is none: too many taps, or no box holds what they reach. With nothing to do
 * it takes no time. */
bool slabs_tile_choose(const stn_task *task, const stn_machine *machine, int fused, bool rims, slabs_tile *best);
/* Sets what the kernel makes use of in the weights; whether they are still like that. */
void slabs_tile_use_weights(const stn_task *task, slabs_tile *tile);
bool slabs_tile_fits(const stn_task *task, const slabs_tile *tile);

/* ---- slabs_tile.c */
void slabs_tile_params(const stn_task *task, const slabs_tile *tile, stn_text *params);
/* Writes the kernel's arguments; returns how many bytes. `blocks`: of the launch. */
size_t slabs_tile_arguments(const stn_task *task, const slabs_tile *tile, const stn_fused_launch *launch,
                            unsigned char arguments[SLABS_TILE_ARGUMENTS], int64_t *blocks);
#endif
