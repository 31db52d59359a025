/* How faces_tile.cu is shaped for the margins of f fused steps: boxes, patches, blocks; what a
 * launch costs; its params.cuh and its arguments. */
#ifndef STN_STRATEGIES_FACES_TILE_TILE_H
#define STN_STRATEGIES_FACES_TILE_TILE_H
#include "base/text.h"
#include "strategies/common/fused.h"
#include "strategies/faces/interior.h"

#define FACES_TILE_ARGUMENTS 4096 /* bytes, at most */
#define FACES_TILE_PIECES 6       /* at most: one a face */
#define FACES_TILE_TAPS 130       /* at most: they are unrolled, for faces normal to three axes */

typedef struct faces_tile {
    int fused;
    int rows, points; /* of a thread's patch, along y and x */
    int threads;
    int blocks;    /* that must fit on a multiprocessor */
    int separable; /* weights are products of one factor an axis, which are all that the kernel is given; or else: */
    int mirror;    /* weights at opposite offsets along x are equal, so their points are added first */
    int box[3][3]; /* extents along z, y, x of the box at a face normal to each axis; 0 where there is none */
    size_t shared; /* bytes of a block */
    double seconds;
} faces_tile;

/* A box of points at a face normal to `axis`: low <= index < end. */
typedef struct faces_tile_piece {
    int64_t low[3], end[3];
    int axis, side;
} faces_tile_piece;

/* All pieces, which share no point, and whether there are any at faces normal to each axis. */
typedef struct faces_tile_pieces {
    size_t count;
    faces_tile_piece at[FACES_TILE_PIECES];
    int tiled[3];
} faces_tile_pieces;

/* ---- pieces.c */
faces_tile_pieces faces_tile_cut(const stn_task *task, int fused);

/* ---- shape.c */
/* Points along an axis: of a patch; that the block of a tile at a face normal to axis `normal`
 * calls its own. */
int faces_tile_patch(const faces_tile *tile, int axis);
int faces_tile_own(const stn_task *task, const faces_tile *tile, int normal, int axis);
/* The cheapest shape by estimate; false if there is none: too many taps, or no box holds what they
 * reach. */
bool faces_tile_choose(const stn_task *task, const stn_machine *machine, int fused, faces_tile *best);
/* Sets what the kernel makes use of in the weights; whether they are still like that. */
void faces_tile_use_weights(const stn_task *task, faces_tile *tile);
bool faces_tile_fits(const stn_task *task, const faces_tile *tile);

/* ---- tile.c */
void faces_tile_params(const stn_task *task, const faces_tile *tile, stn_text *params);
/* Writes the kernel's arguments; returns how many bytes. `blocks`: of the launch. */
size_t faces_tile_arguments(const stn_task *task, const faces_tile *tile, const stn_fused_launch *launch,
                            unsigned char arguments[FACES_TILE_ARGUMENTS], int64_t *blocks);
#endif
