/* Tiles of planes and solids whose weights may be any: tori of product.h that overlap by what a
 * launch's steps reach, each convolved in shared memory (segment_torus.cu); one pass over memory a
 * launch. */
#ifndef STN_STRATEGIES_SEGMENT_TORUS_H
#define STN_STRATEGIES_SEGMENT_TORUS_H
#include "plan/strategy.h"
#include "strategies/segment/product.h"

#define SEGMENT_TORUS_MARK (-1) /* where a segment_shape has launches */

typedef struct segment_torus {
    int mark, launches, fused; /* f steps in the longest of them */
    /* Along z, y, x: of so many points of a tile, `lead` before `useful` outputs; the steps reach
     * so far to both sides together. */
    int lead[3], useful[3], reach[3];
    uint8_t number;   /* segment_torus_factors */
    uint8_t margins;  /* 1: sides are stepped by the faces; 0: every side is folded in */
    uint8_t even;     /* taps are the same mirrored along each axis: PRODUCT_EVEN */
    uint8_t fragment; /* product.h */
    uint8_t shifted;  /* 1: a value that is no 0 is taken away */
    uint8_t shift;    /* the first tile's outputs begin so far before the grid, along x */
    uint8_t unused[2];
} segment_torus;
_Static_assert(sizeof(segment_torus) <= sizeof(stn_candidate), "a tile is a candidate");

/* What lies past the sides along each axis, as convolving sees it: STN_NEAREST means zeros. */
typedef struct segment_sides {
    stn_boundary_kind kind[3][2];
    bool margins, even;
    double past; /* taken away from the grid, so that 0 lies past constant sides */
} segment_sides;

segment_sides segment_sides_of(const stn_task *task);
/* Fills lead, useful and reach of a tile for launches of tile->fused steps; false: they reach too
 * far. reach: along each axis. */
bool segment_torus_fit(const stn_task *task, const segment_sides *sides, const stn_reach reach[3], segment_torus *tile);
/* Of one step: the root of the mean square of offsets about their mean along the axis where that is
 * most, |weights| as chances. Spreads of steps add up as roots: this tells without looking for the
 * reach that it is too far. */
double segment_torus_spread(const stn_task *task);
/* Spreads that steps reach in both directions together at least: f64's reach is some 16 of them,
 * f32's 11. */
#define SEGMENT_SURELY 10.0
void segment_torus_reach(const stn_task *task, uint64_t steps, stn_reach reach[3]);
/* The cheapest shapes, at most `most`; 0: there is none, and *why says so. Asked for more than
 * STN_CANDIDATES, others that are worth measuring follow. tally: may be NULL. */
size_t segment_torus_search(const stn_task *task, const stn_machine *machine, segment_torus *best, size_t most,
                            const char **why, stn_tally *tally);
void segment_torus_cost(const stn_task *task, const stn_machine *machine, const segment_torus *tile,
                        stn_estimate *estimate);
/* Points of a tile along z, y, x; tiles of the grid. */
void segment_torus_points(const segment_torus *tile, int points[3]);
int64_t segment_torus_count(const stn_task *task, const segment_torus *tile, int64_t counts[3]);
/* The blocks that have tiles, so many at once each. */
typedef struct segment_torus_block {
    const char *kernel;
    size_t shared; /* bytes */
    int warps, tiles;
    int resident; /* blocks that are to fit on a multiprocessor */
} segment_torus_block;
segment_torus_block segment_torus_block_of(const stn_task *task, const segment_torus *tile);

/* Numbers of a launch's tables, and both: matrices, symbol. Errors: out of memory. */
size_t segment_torus_operands(const segment_torus *tile);
size_t segment_torus_symbols(const segment_torus *tile, bool real);
bool segment_torus_real(const stn_task *task, const segment_torus *tile); /* may the symbol be kept as real numbers? */
stn_status segment_torus_make(const stn_task *task, const segment_torus *tile, bool real, uint64_t steps,
                              double *operands, double *symbol, stn_error *error);

extern const stn_strategy segment_by_passes, segment_by_tiles; /* segment's two kinds of candidates: forms.c */
#endif
