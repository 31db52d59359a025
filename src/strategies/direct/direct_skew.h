/* Rows whose length is no multiple of 16 bytes, as rows of a skewed grid: direct_skew. */
#ifndef STN_STRATEGIES_DIRECT_DIRECT_SKEW_H
#define STN_STRATEGIES_DIRECT_DIRECT_SKEW_H
#include "strategies/direct/direct_shape.h"

/* Whether the output has other strides than the input, modulo words of `vector` elements. */
bool direct_skew_shifts(const stn_task *task, int vector);
/* Whether direct_skew can compute the task with such words. */
bool direct_skew_serves(const stn_task *task, int vector);
/* The skews that direct_skew.cu draws, in elements: skew[0] is the distance from plane to plane
 * (kernel axis z), skew[1] that from row to row (kernel axis y), less the nearest multiple of
 * shape->vector elements. So each lies between -vector / 2 and vector / 2. */
void direct_skew(const stn_task *task, const direct_shape *shape, int skew[2]);
/* Both pitches of the skewed grid are multiples of this many elements: shape->vector times a power
 * of two, of at most 128 bytes. */
int direct_skew_alignment(const stn_task *task, const direct_shape *shape);
/* The least and the greatest skewed offset of all taps and of 0 along x. So reach[0] <= 0 and
 * reach[1] >= 0. */
void direct_skewed_reach(const stn_task *task, const direct_shape *shape, int64_t reach[2]);

/* Points of a row at both ends, together, of which some may lie in words that direct_skew does not
 * store as a whole: they are computed one by one, as the points near other sides. */
int64_t direct_skew_row_ends(const stn_task *task, int vector);

/* The division of a launch into blocks, which direct_skew.cu draws. A row has tiles_x tiles of
 * words (of shape->vector elements) and `rest` further words; a grid has tiles_z tiles of planes.
 * The other members are numbers of blocks. faces: of a grid, for the points next to its faces
 * normal to z. sides, tiles: of a tile of planes, for the points next to the other sides, and for
 * tiles of words. inner: `tiles` and the blocks for the rests of rows. side_points: points of a
 * plane next to the other sides. run: planes of a tile in which a thread computes such a point: all
 * of them, if whole blocks then have work, or one. */
typedef struct direct_skew_blocks {
    int64_t tiles_x, rest, tiles_z, faces, sides, tiles, inner, side_points, run;
    int64_t all; /* in all grids of the batch */
} direct_skew_blocks;
direct_skew_blocks direct_skew_count(const stn_task *task, const direct_shape *shape);
#endif
