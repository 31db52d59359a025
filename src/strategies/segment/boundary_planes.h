/* Layout of the boundary planes of a grid that segment_source.cu writes: across each axis, for each
 * grid, a plane of the low side and one of the high side. The rows of a plane are numbered along
 * the slower of the other two axes. */
#ifndef STN_STRATEGIES_SEGMENT_BOUNDARY_PLANES_H
#define STN_STRATEGIES_SEGMENT_BOUNDARY_PLANES_H
#include "strategies/segment/axis.h"

typedef struct segment_planes {
    int64_t rows[3], pitch[3]; /* Of a plane across axis 0, 1, 2; 0: there is none. */
    /* Offset of each axis's planes, and total, in elements, for one grid. */
    int64_t first[3], all;
} segment_planes;

/* One axis for each along which the taps reach, in any order. */
segment_planes segment_planes_of(const stn_task *task, const segment_axis *axes, int count);
/* Whether this side is a fixed or a constant one. */
bool segment_side_is_odd(const segment_axis *a, int side);
/* The axes along which a plane's rows, and its columns, are numbered. */
static inline int segment_rows_of(int across) { return across == 0 ? 1 : 0; }
static inline int segment_columns_of(int across) { return across == 2 ? 1 : 2; }
#endif
