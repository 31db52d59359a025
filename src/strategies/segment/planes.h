/* The values beside a grid's fixed and constant sides, as segment_source.cu lays them out: across
 * each axis, of each grid, a plane of the low side and one of the high one. A plane's rows are
 * along the slower of the other two axes. */
#ifndef STN_STRATEGIES_SEGMENT_PLANES_H
#define STN_STRATEGIES_SEGMENT_PLANES_H
#include "strategies/segment/axis.h"

typedef struct segment_planes {
    int64_t rows[3], pitch[3]; /* of a plane across axis 0, 1, 2; 0: there are none */
    int64_t first[3], all;     /* numbers before an axis's planes, and of all, if there is one grid */
} segment_planes;

/* Axes in any order, one for each that taps reach along. */
segment_planes segment_planes_of(const stn_task *task, const segment_axis *axes, int count);
/* Is it a fixed or a constant side? */
bool segment_side_is_odd(const segment_axis *a, int side);
/* The axes of a plane's rows and columns: along these it is many points. */
static inline int segment_rows_of(int across) { return across == 0 ? 1 : 0; }
static inline int segment_columns_of(int across) { return across == 2 ? 1 : 2; }
#endif
