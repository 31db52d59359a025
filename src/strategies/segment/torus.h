/* Dense-DFT tiles: 2D and 3D grids of any weights. Tiles overlap by the reach of a launch's steps;
 * each is convolved in shared memory with DFTs by matrix products (product.h, segment_torus.cu).
 * One pass over memory per launch. */
#ifndef STN_STRATEGIES_SEGMENT_TORUS_H
#define STN_STRATEGIES_SEGMENT_TORUS_H
#include "plan/strategy.h"
#include "strategies/segment/product.h"

#define SEGMENT_TORUS_MARK (-1) /* In place of segment_shape.launches: marks such a candidate. */

typedef struct segment_torus {
    int mark, launches, fused; /* fused: steps of the longest launch. */
    /* Along z, y, x: points of a tile before its outputs, the number of outputs, and the reach of
     * the steps, both sides together. */
    int lead[3], useful[3], reach[3];
    uint8_t number;   /* Index of segment_torus_factors. */
    uint8_t margins;  /* 1: margins are stepped by `faces`; 0: every side is folded in. */
    uint8_t even;     /* Taps are symmetric along each axis: PRODUCT_EVEN. */
    uint8_t fragment; /* See product.h. */
    uint8_t shifted;  /* 1: a nonzero value is subtracted from the grid. */
    uint8_t shift;    /* Points along x by which the first tile's outputs begin before the grid. */
    uint8_t unused[2];
} segment_torus;
_Static_assert(sizeof(segment_torus) <= sizeof(stn_candidate), "a tile is a candidate");

/* The extension past the sides along each axis; STN_NEAREST means zeros. */
typedef struct segment_sides {
    stn_boundary_kind kind[3][2];
    bool margins, even;
    double past; /* Subtracted from the grid, so that constant sides become 0. */
} segment_sides;

segment_sides segment_sides_of(const stn_task *task);
/* Computes lead, useful and reach of a tile for launches of tile->fused steps; false: they reach
 * too far. reach: along each axis. */
bool segment_torus_fit(const stn_task *task, const segment_sides *sides, const stn_reach reach[3], segment_torus *tile);
/* Standard deviation of one step's tap offsets along the axis where it is largest, with |weights|
 * as probabilities. It grows with the square root of the steps, and gives a quick lower bound of
 * the reach. */
double segment_torus_spread(const stn_task *task);
/* Least reach to both sides together, in standard deviations: it is about 16 in f64 and 11 in
 * f32. */
#define SEGMENT_SURELY 10.0
void segment_torus_reach(const stn_task *task, uint64_t steps, stn_reach reach[3]);
/* The cheapest candidates, at most `most`; 0: none, and *why is the reason. If `most` exceeds
 * STN_CANDIDATES, variants to be timed follow. tally: may be NULL. */
size_t segment_torus_search(const stn_task *task, const stn_machine *machine, segment_torus *best, size_t most,
                            const char **why, stn_tally *tally);
void segment_torus_cost(const stn_task *task, const stn_machine *machine, const segment_torus *tile,
                        stn_estimate *estimate);
/* Points of a tile along z, y, x; number of tiles of the grid. */
void segment_torus_points(const segment_torus *tile, int points[3]);
int64_t segment_torus_count(const stn_task *task, const segment_torus *tile, int64_t counts[3]);
/* The kernel, its blocks, and the tiles that a block takes at once. */
typedef struct segment_torus_block {
    const char *kernel;
    size_t shared; /* In bytes. */
    int warps, tiles;
    int resident; /* Minimum blocks per multiprocessor. */
} segment_torus_block;
segment_torus_block segment_torus_block_of(const stn_task *task, const segment_torus *tile);

/* Numbers of values in a launch's tables of matrices and of the symbol, and the tables themselves.
 * Errors: out of memory. */
size_t segment_torus_operands(const segment_torus *tile);
size_t segment_torus_symbols(const segment_torus *tile, bool real);
/* Whether the symbol is real. */
bool segment_torus_real(const stn_task *task, const segment_torus *tile);
stn_status segment_torus_make(const stn_task *task, const segment_torus *tile, bool real, uint64_t steps,
                              double *operands, double *symbol, stn_error *error);

/* The two kinds of candidates of segment: forms.c. */
extern const stn_strategy segment_by_passes, segment_by_tiles;
#endif
