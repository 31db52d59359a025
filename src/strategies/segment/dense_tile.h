/* Dense-DFT tiles: 2D and 3D grids of any weights. Tiles overlap by the reach of a launch's steps;
 * each is convolved in shared memory with DFTs by matrix products (dense_dft.h,
 * segment_dense_tile.cu). One pass over memory per launch. */
#ifndef STN_STRATEGIES_SEGMENT_DENSE_TILE_H
#define STN_STRATEGIES_SEGMENT_DENSE_TILE_H
#include "plan/strategy.h"
#include "strategies/segment/dense_dft.h"

/* In place of segment_shape.launches: marks such a candidate. */
#define SEGMENT_DENSE_TILE_MARK (-1)

typedef struct segment_dense_tile {
    int mark, launches, fused; /* fused: steps of the longest launch. */
    /* Along z, y, x: points of a tile before its outputs, the number of outputs, and the reach of
     * the steps, both sides together. */
    int lead[3], useful[3], reach[3];
    uint8_t number;   /* Index of segment_dense_tile_factors. */
    uint8_t margins;  /* 1: strategies/faces computes the margins; 0: every side is an extension. */
    uint8_t even;     /* Taps are symmetric along each axis: DFT_REAL. */
    uint8_t fragment; /* See dense_dft.h. */
    uint8_t shifted;  /* 1: a nonzero value is subtracted from the grid. */
    uint8_t shift;    /* Points along x by which the first tile's outputs begin before the grid. */
    uint8_t unused[2];
} segment_dense_tile;

/* The extension past the sides along each axis; STN_NEAREST means zeros. */
typedef struct segment_sides {
    stn_boundary_kind kind[3][2];
    bool margins, even;
    double past; /* Subtracted from the grid, so that constant sides become 0. */
} segment_sides;

segment_sides segment_sides_of(const stn_task *task);
/* Computes lead, useful and reach of a tile for launches of tile->fused steps; false: they reach
 * too far. reach: along each axis. */
bool segment_dense_tile_fit(const stn_task *task, const segment_sides *sides, const stn_reach reach[3],
                            segment_dense_tile *tile);
/* Standard deviation of one step's tap offsets along the axis where it is largest, with |weights|
 * as probabilities. It grows with the square root of the steps, and gives a quick lower bound of
 * the reach. */
double segment_dense_tile_spread(const stn_task *task);
/* Least reach to both sides together, in standard deviations: it is about 16 in f64 and 11 in
 * f32. */
#define SEGMENT_MIN_REACH 10.0
void segment_dense_tile_reach(const stn_task *task, uint64_t steps, stn_reach reach[3]);
/* The cheapest candidates, at most `most`; 0: none, and *why is the reason. If `most` exceeds
 * STN_CANDIDATES, variants to be timed follow. */
size_t segment_dense_tile_search(const stn_task *task, const stn_machine *machine, segment_dense_tile *best,
                                 size_t most, const char **why);
void segment_dense_tile_cost(const stn_task *task, const stn_machine *machine, const segment_dense_tile *tile,
                             stn_estimate *estimate);
/* Points of a tile along z, y, x; number of tiles of the grid. */
void segment_dense_tile_points(const segment_dense_tile *tile, int points[3]);
int64_t segment_dense_tile_count(const stn_task *task, const segment_dense_tile *tile, int64_t counts[3]);
/* The kernel, its blocks, and the tiles that a block takes at once. */
typedef struct segment_dense_tile_block {
    const char *kernel;
    size_t shared; /* In bytes. */
    int warps, tiles;
    int resident; /* Minimum blocks per multiprocessor. */
} segment_dense_tile_block;
segment_dense_tile_block segment_dense_tile_block_of(const stn_task *task, const segment_dense_tile *tile);

/* The two kinds of candidates of segment: segment_strategy.c. */
extern const stn_strategy segment_overlap_save, segment_dense_tiles;
#endif
