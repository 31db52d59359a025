/* Tiles of planes and solids whose weights may be any: tori of product.h that overlap by what a launch's steps reach, each convolved in shared
 * memory (segment_tile.cu); one pass over memory a launch. */
#ifndef STN_STRATEGIES_SEGMENT_TILE_H
#define STN_STRATEGIES_SEGMENT_TILE_H
#include "plan/strategy.h"
#include "strategies/segment/product.h"

#define SEGMENT_TILE_MARK (-1) /* where a segment_shape has launches */

typedef struct segment_tile {
    int mark, launches, fused; /* f steps in the longest of them */
    /* Along z, y, x: of so many points of a tile, `lead` before `useful` outputs; the steps reach so far to both sides together. */
    int lead[3], useful[3], reach[3];
    uint8_t number;   /* segment_tile_of */
    uint8_t margins;  /* 1: sides are stepped by the faces; 0: every side is folded in */
    uint8_t even;     /* taps are the same mirrored along each axis: PRODUCT_EVEN */
    uint8_t fragment; /* product.h */
    uint8_t shifted;  /* 1: a value that is no 0 is taken away */
    uint8_t unused[3];
} segment_tile;
_Static_assert(sizeof(segment_tile) <= sizeof(stn_candidate), "a tile is a candidate");

/* What lies past the sides along each axis, as convolving sees it: STN_NEAREST means zeros. */
typedef struct segment_sides {
    stn_boundary_kind kind[3][2];
    bool margins, even;
    double past; /* taken away from the grid, so that 0 lies past constant sides */
} segment_sides;

segment_sides segment_sides_of(const stn_task *task);
/* Fills lead, useful and reach of a tile for launches of tile->fused steps; false: they reach too far. reach: along each axis. */
bool segment_tile_fit(const stn_task *task, const segment_sides *sides, const stn_reach reach[3], segment_tile *tile);
void segment_tile_reach(const stn_task *task, uint64_t steps, stn_reach reach[3]);
/* The cheapest shapes, at most `most`; 0: there is none, and *why says so. Asked for more than STN_CANDIDATES, others that are worth measuring follow. tally: may be NULL. */
size_t segment_tile_search(const stn_task *task, const stn_machine *machine, segment_tile *best, size_t most,
                           const char **why, stn_tally *tally);
void segment_tile_cost(const stn_task *task, const stn_machine *machine, const segment_tile *tile,
                       stn_estimate *estimate);
/* Points of a tile along z, y, x; tiles of the grid; blocks that are to fit on a multiprocessor. */
void segment_tile_points(const segment_tile *tile, int points[3]);
int64_t segment_tile_count(const stn_task *task, const segment_tile *tile, int64_t counts[3]);
int segment_tile_blocks(const stn_task *task, const segment_tile *tile);

/* Numbers of a launch's tables, and both: matrices, symbol. Errors: out of memory. */
size_t segment_tile_operands(const segment_tile *tile);
size_t segment_tile_symbols(const stn_task *task, const segment_tile *tile);
bool segment_tile_real(const stn_task *task, const segment_tile *tile); /* is the symbol? */
stn_status segment_tile_make(const stn_task *task, const segment_tile *tile, uint64_t steps, double *operands,
                             double *symbol, stn_error *error);

extern const stn_strategy segment_by_passes, segment_by_tiles; /* segment's two kinds of candidates: forms.c */
#endif
