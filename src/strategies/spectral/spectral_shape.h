/* Layout of a task in `spectral`: the periodic domain in place of the grid, the spectrum in the
 * workspace, the passes over it. */
#ifndef STN_STRATEGIES_SPECTRAL_SPECTRAL_SHAPE_H
#define STN_STRATEGIES_SPECTRAL_SPECTRAL_SHAPE_H
#include "base/arith.h"
#include "plan/strategy.h"
#include "strategies/common/extension.h"
#include "strategies/common/shared_fft.h"
#include "strategies/common/stencil_symbol.h"

/* How columns with a source but no points are computed: by transforms as all others, or by a
 * recursion (decayed_modes.c) with 16 or 8 points per thread, with one or several rows of columns
 * per block. */
enum { SPECTRAL_DECAYED_BY_FFT, SPECTRAL_DECAYED_BY_16, SPECTRAL_DECAYED_BY_8, SPECTRAL_DECAYED_BY_ROWS };

/* A candidate's values. Lengths are ints, because a candidate's values are. */
typedef struct spectral_choice {
    /* Length of the periodic line along each axis, and its points before the grid. */
    int length[3], before[3];
    uint8_t exact; /* Bit k: the line of axis k is a whole period. */
    /* 2D, one step: parts of a column, side by side in a block, each a line of length[1]; 0: whole
     * columns. */
    uint8_t parts;
    int16_t decayed_solver; /* SPECTRAL_DECAYED_*. */
    /* Retained frequencies along each axis: those whose factor does not round to 0 after all steps,
     * |k| < kept[k]. On the last axis, and if there is a source, all frequencies are retained. */
    int kept[3];
    /* The same for the contribution of the grid's points alone, without a source. */
    int with_points[3];
    int row_lines, column_lines;
    /* slab: in 3D, the frequencies along x that are processed together, in units of 128 bytes; 0:
     * all. */
    uint8_t group, slab;
    /* Tiles: chunks of columns for this number of waves of blocks; 0: chosen by estimate. */
    int16_t waves;
    /* Threads for which a multiprocessor has registers, and least number of blocks per
     * multiprocessor if shared memory permits; 0: default. */
    int16_t row_threads, row_blocks, column_threads, column_blocks;
    /* 2D tiles: output points of a line of axis 1 and of axis 2; 0: the axis is one line. */
    int step[2];
} spectral_choice;

enum { SPECTRAL_MEMORY_LINE = 128 }; /* Bytes that are read together. */

/* 3D slabs: lines along y, which may be longer than the grid, exist for a few neighbouring
 * frequencies along x at a time. Frequencies of rows are stored in the output's rows, as many as
 * fit, until these are written; the others in the workspace. */
typedef struct spectral_slabs {
    int line; /* Elements of a memory line. */
    /* Frequencies of a row stored in the output, and output elements before them. */
    int held, skip;
    bool uneven; /* One element is skipped if a row begins at an odd element. */
    /* Strides of rows and planes of the other frequencies, in complex numbers. */
    int64_t pitch, plane;
    int64_t across; /* Frequencies along y. */
    /* Bytes in the workspace: of all other frequencies; of these and the slab that follows them. */
    size_t rest, bytes;
} spectral_slabs;

typedef struct spectral_shape {
    spectral_choice choice;
    stn_extension axis[3];
    int last; /* The axis whose pass applies the symbol: 0 in 3D, else 1. */
    /* FFT plan of each axis; that of axis 2 has half as many complex points as its length. */
    stn_shared_fft line[3];
    /* Strides of rows, planes and grids of the spectrum, in complex numbers. */
    int64_t pitch, plane, grid;
    /* Rows of a plane of the spectrum: the larger of the points and the retained frequencies along
     * y. */
    int64_t rows;
    stn_symbol symbol;
    int64_t columns; /* Lines of the last axis in a grid; with tiles, in one strip. */
    int64_t width;   /* Tiles: frequencies of the spectrum from strip to strip. */
    /* Tiles: strips along x, segments of a column, and chunks of segments. */
    int strips, segments, chunks;
    spectral_slabs slabs;
} spectral_shape;

/* Whether the task is computed in f64. */
static inline bool spectral_wide(const stn_task *task) { return task->dtype == STN_F64; }
/* The threshold of stn_symbol_decay_threshold. source: sums of powers are needed too. */
double spectral_decay_bound_of(const stn_task *task, double largest, bool source);
/* Reach of the taps of all steps along an axis, at any snapshot. */
stn_reach spectral_reach(const stn_task *task, int axis);
/* Upper bound of the weights neglected at either side by lines that hold a whole axis. */
double spectral_tail(const stn_task *task);
/* Chooses extensions and lengths; false: the task is not for this strategy, and the reason. */
bool spectral_choose(const stn_task *task, const stn_machine *machine, spectral_choice *choice, char *reason,
                     size_t reason_size);
/* Chooses the retained frequencies of a choice that has lengths; this takes milliseconds. */
void spectral_choose_kept(const stn_task *task, spectral_choice *choice);
stn_symbol spectral_symbol_form(const stn_task *task, const stn_machine *machine, const int64_t domain[3]);
/* decayed_modes.c: whether there are columns without points, that is, columns whose factors all
 * round to 0 so that only a source contributes, and the recursion serves them. */
bool spectral_has_decayed_modes(const stn_task *task, const spectral_choice *choice, double decay_bound);
/* Once the retained frequencies are chosen: chooses how such columns are computed, and the threads
 * of columns and rows. */
void spectral_choose_decayed_modes(const stn_task *task, const stn_machine *machine, spectral_choice *choice);
/* Whether a block has enough shared memory and threads for the choice. */
bool spectral_decayed_modes_fit(const stn_task *task, const stn_machine *machine, const spectral_choice *choice);
enum { SPECTRAL_MANY = 6 }; /* Blocks of rows per multiprocessor, for tiles. */
/* The choice with more blocks per multiprocessor if that is clearly faster, otherwise unchanged. */
spectral_choice spectral_more_blocks(const stn_task *task, const stn_machine *machine, const spectral_choice *choice);
/* Variants to be timed; returns their number, at most `most`. */
size_t spectral_variants(const stn_task *task, const stn_machine *machine, const spectral_choice *choice,
                         spectral_choice *list, size_t most);
/* ---- spectral_tiles.c ------------------------------------------------------------------------ */

/* Overlapping tiles of a 2D grid (overlap-save), for a reach that is short compared with the axes
 * (spectral_march.cu). whole: a choice without tiles, or NULL. least: least number of tiles along
 * axis 1 and 2. False: tiles, or this number of tiles, do not serve the task. */
bool spectral_choose_tiles(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                           const int least[2], spectral_choice *choice);
/* Smaller tiles to be timed; returns their number. */
size_t spectral_tile_variants(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                              const spectral_choice *tiles, spectral_choice *list, size_t most);
/* Whether the tiles have room for the reach of these weights. */
bool spectral_tiles_serve(const stn_task *task, const spectral_choice *choice);
static inline bool spectral_tiled(const spectral_choice *choice) { return choice->step[0] > 0; }
/* ---- spectral_slabs.c ------------------------------------------------------------------------ */

/* Replaces *choice, which has no slabs, by one with slabs if that pays, and lists variants to be
 * timed. Returns their number. */
size_t spectral_choose_slabs(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                             spectral_choice *choice, spectral_choice *list, size_t most);
/* spectral_boundary_source.c: bytes of the workspace for the source of fixed and constant sides. */
size_t spectral_source_bytes(const stn_task *task, const spectral_shape *shape);
/* ---- column_parts.c: columns of one step of many taps, in at most SPECTRAL_PARTS parts ------- */
#define SPECTRAL_PARTS 8
/* Divides columns into `count` parts, a power of two, or the best number if it is 0. False: the
 * task is not for parts, or with 0 whole columns are as fast. */
bool spectral_choose_parts(const stn_task *task, const stn_machine *machine, const spectral_choice *whole, int count,
                           spectral_choice *choice);
/* Instructions of a column of such a step: forward, inverse and the taps' transform, in parts or
 * whole. */
double spectral_parts_work(const spectral_choice *choice);
/* Whether the parts have room for the reach of these weights. */
bool spectral_parts_serve(const stn_task *task, const spectral_choice *choice);
static inline bool spectral_in_parts(const spectral_choice *choice) { return choice->parts > 0; }
static inline int64_t spectral_parts_step(const stn_task *task, const spectral_choice *choice) {
    return (task->n[1] + choice->parts - 1) / choice->parts; /* Outputs of a part. */
}
/* ---- marching_columns.c: columns of tiles ---------------------------------------------------- */

/* Columns are divided into chunks so that a launch has at least this many waves of blocks. */
enum { SPECTRAL_WAVES = 3 };
/* Bytes of shared memory of a block of columns in addition to its lines. */
size_t spectral_march_carry(const stn_task *task, const spectral_choice *choice, const stn_extension *axis, int lines);
/* Bytes for all segments' factors in addition to `used` bytes, if they fit; else 0. */
size_t spectral_march_factors(const stn_task *task, const stn_machine *machine, const spectral_shape *shape, int lines,
                              size_t used);
/* Chunks of each column, each done by one block, for grids with few columns. */
int spectral_march_chunks(const stn_task *task, const stn_machine *machine, const spectral_shape *shape);
/* The time of these chunks divided by the time that the segments would take if they were evenly
 * distributed over all multiprocessors. */
double spectral_march_imbalance(const stn_task *task, const stn_machine *machine, const spectral_shape *shape);
/* Bytes in the workspace, behind the spectrum, for copies of the rows around the first points of
 * chunks. */
size_t spectral_march_chunk_halos(const stn_task *task, const spectral_shape *shape);

/* ---- spectral_shape.c ------------------------------------------------------------------------ */

/* Derives the shape from the choice; the FFTs of lines only if `lines` is set, except those of
 * tiles' columns. */
void spectral_shape_make(const stn_task *task, const stn_machine *machine, const spectral_choice *choice, bool lines,
                         spectral_shape *shape);
static inline bool spectral_in_slabs(const spectral_choice *choice) { return choice->slab > 0; }
typedef struct spectral_slab {
    int first, count; /* Frequencies along x. */
    /* held: the frequencies are stored in the output. with_points: some columns have points, or the
     * recursion does not serve columns without points. */
    bool held, with_points;
} spectral_slab;
/* Replaces *slab by the next one; {0} precedes the first. Returns false after the last one. */
bool spectral_next_slab(const spectral_shape *shape, bool decayed_solver, spectral_slab *slab);
/* Whether a block has enough shared memory for its columns, once they are laid out. */
bool spectral_columns_fit(const spectral_shape *shape);
/* Bytes of the spectra of all grids; for a stack of snapshots twice that. */
static inline size_t spectral_workspace(const stn_task *task, const spectral_shape *shape) {
    if (spectral_in_slabs(&shape->choice)) return shape->slabs.bytes;
    return (size_t)(shape->grid * task->batch) * (spectral_wide(task) ? 16 : 8) * (task->snapshots > 1 ? 2 : 1);
}
/* Reserves this many bytes of a workspace or table from *end on, and returns their offset. *end
 * becomes the next multiple of 256 behind them. */
static inline size_t spectral_room(size_t *end, size_t bytes) {
    const size_t at = *end;
    *end = (size_t)stn_round_up((int64_t)(at + bytes), 256);
    return at;
}
/* Whether points of a fixed side keep their values. */
static inline bool spectral_frozen(const stn_extension *e, int side) {
    return !e->repeats && e->sign[side] < 0 && e->beyond[side] == 0;
}
/* Whether all sides wrap or mirror without a change of sign, so that there is no source. */
bool spectral_sides_are_even(const stn_task *task);
void spectral_estimate(const stn_task *task, const stn_machine *machine, const spectral_shape *shape,
                       stn_estimate *estimate);
/* A lower bound on the seconds of every shape. */
double spectral_least_seconds(const stn_task *task, const stn_machine *machine);
#endif
