/* The shape of faces_tile.cu for the margins of f fused steps (faces_tile.cu explains boxes and
 * patches), the cost of a launch, its params.cuh and its arguments. */
#ifndef STN_STRATEGIES_FACES_TILE_FACES_TILE_H
#define STN_STRATEGIES_FACES_TILE_FACES_TILE_H
#include "base/text.h"
#include "strategies/common/launches.h"
#include "strategies/faces/interior.h"

#define FACES_TILE_ARGUMENTS 4096 /* maximum size in bytes */
#define FACES_TILE_PIECES 6       /* maximum: one for each face */
#define FACES_TILE_TAPS 130       /* maximum: taps are unrolled, for faces normal to three axes */

typedef struct faces_tile {
    int fused;
    int rows, points; /* of a thread's patch, along y and x */
    int threads;
    int blocks; /* blocks that must fit on a multiprocessor */
    /* Weights are products of one factor for each axis, and the kernel gets these factors. */
    int separable;
    int mirror; /* weights at opposite x offsets are equal, so their points are added first */
    /* Extents along z, y, x of the box at a face normal to each axis; 0 where there is none. */
    int box[3][3];
    size_t shared; /* bytes of shared memory of a block */
    double seconds;
} faces_tile;

/* A box of points at a face normal to `axis`: low <= index < end. */
typedef struct faces_tile_piece {
    int64_t low[3], end[3];
    int axis, side;
} faces_tile_piece;

/* All pieces, which are disjoint, and whether faces normal to each axis have any. */
typedef struct faces_tile_pieces {
    size_t count;
    faces_tile_piece at[FACES_TILE_PIECES];
    int tiled[3];
} faces_tile_pieces;

/* ---- faces_tile_pieces.c */
faces_tile_pieces faces_tile_cut(const stn_task *task, int fused);

/* ---- faces_tile_shape.c */
/* Points along an axis: of a patch; of the tile at a face normal to axis `normal`. */
int faces_tile_patch(const faces_tile *tile, int axis);
int faces_tile_points(const stn_task *task, const faces_tile *tile, int normal, int axis);
/* Finds the cheapest shape by estimate; false if there is none: too many taps, or no box holds
 * their reach. */
bool faces_tile_choose(const stn_task *task, const stn_machine *machine, int fused, faces_tile *best);
/* Records the properties of the weights that the kernel uses; checks that they still hold. */
void faces_tile_use_weights(const stn_task *task, faces_tile *tile);
bool faces_tile_weights_match(const stn_task *task, const faces_tile *tile);

/* ---- faces_tile.c */
void faces_tile_params(const stn_task *task, const faces_tile *tile, stn_text *params);
/* Writes the kernel's arguments, sets *blocks of the launch, and returns the size in bytes. */
size_t faces_tile_arguments(const stn_task *task, const faces_tile *tile, const stn_fused_launch *launch,
                            unsigned char arguments[FACES_TILE_ARGUMENTS], int64_t *blocks);
#endif
