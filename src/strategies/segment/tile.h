/* Planes, whatever their weights, in one pass over memory: overlapping tiles, each a torus in the
 * shared memory of one block or of a cluster's (segment_tile.cu). */
#ifndef STN_STRATEGIES_SEGMENT_TILE_H
#define STN_STRATEGIES_SEGMENT_TILE_H
#include "context/kernel.h"
#include "strategies/common/fused.h"
#include "strategies/segment/shape.h"

/* Of launches of one length: tables in bytes from their beginning, whole 256. */
typedef struct segment_tile_sweep {
    uint64_t fused;
    bool real; /* the symbol is: taps are the same about their middle */
    size_t row_roots, column_roots, turns, symbol, end;
} segment_tile_sweep;

typedef struct segment_tile {
    stn_kernel *kernel;
    size_t shared;
} segment_tile;

/* The cheapest shapes of tiles, at most `most`, with what they cost. */
typedef struct segment_tiles_found {
    segment_shape *best;
    double *costs;
    size_t found, most;
} segment_tiles_found;

/* Adds shapes of tiles to lists of the cheapest: those in one block to [0], those of clusters to
 * [1]. False, with *why: tiles do not serve the task; *why stays where they do and none is
 * found. */
bool segment_tile_search(const stn_task *task, const stn_machine *machine, segment_tiles_found lists[2],
                         const char **why, stn_tally *tally);
void segment_tile_cost(const stn_task *task, const stn_machine *machine, const segment_shape *shape, stn_estimate *e);
/* The same where it is known how many seconds of each launch the margins take: looking for that
 * takes milliseconds. */
void segment_tile_cost_beside(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                              double faces, stn_estimate *e);
double segment_tile_faces(const stn_task *task, const stn_machine *machine, const segment_shape *shape);
/* Of a launch without them, and its operations. */
double segment_tile_seconds(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                            double *flops);
double segment_tile_count(const stn_task *task, const segment_shape *shape); /* tiles of all grids */
/* Points of a tile along y (0) and x (1), the blocks that have it, and bytes of each. */
int segment_tile_points(const segment_shape *shape, int which);
int segment_tile_shares(const segment_shape *shape);
size_t segment_tile_shared(stn_dtype dtype, const segment_shape *shape);
bool segment_tile_holds_plane(const stn_task *task, const segment_shape *shape); /* all of it, and nothing else */
int segment_tile_registers(stn_dtype dtype, const segment_shape *shape);         /* of a thread, at most */
int segment_tile_blocks(const stn_task *task, const stn_machine *machine, const segment_shape *shape);
/* A shape for the task's weights anew; false: they reach too far, or do not suit the sides. */
bool segment_tile_again(const stn_task *task, segment_shape *shape);
/* The radices of its columns: the first one, then that of the foot. */
void segment_tile_radices(const segment_shape *shape, int radices[2]);
/* What lies past an axis's sides: STN_WRAP or mirrored sides; where it is not exact, margins are
 * stepped. */
segment_axis segment_tile_axis(const stn_task *task, int which);

/* Errors: those of stn_kernel_make. */
stn_status segment_tile_get(stn_plan *plan, const segment_shape *shape, bool real, segment_tile *tile,
                            stn_error *error);
/* uneven: the kernel is one for uneven weights, which serves even ones too. */
void segment_tile_place(const stn_task *task, const segment_shape *shape, uint64_t fused, bool uneven, size_t at,
                        segment_tile_sweep *sweep);
/* Fills host memory of all tables. Errors: out of memory. */
stn_status segment_tile_fill(const stn_task *task, const segment_shape *shape, const segment_tile_sweep *sweep,
                             unsigned char *tables, stn_error *error);
stn_status segment_tile_launch(const stn_plan *plan, const segment_shape *shape, const segment_tile *tile,
                               const segment_tile_sweep *sweep, const void *tables, const stn_fused_launch *l,
                               stn_error *error);
#endif
