/* How `spectral` lays a task out: the torus that stands for the grid, the spectrum in the
 * workspace, the passes over it. */
#ifndef STN_STRATEGIES_SPECTRAL_SHAPE_H
#define STN_STRATEGIES_SPECTRAL_SHAPE_H
#include "plan/strategy.h"
#include "strategies/common/extension.h"
#include "strategies/common/ladder.h"
#include "strategies/common/symbol.h"

/* Columns that have a source and no points: by transforms as the others, or by a kernel of their
 * own (settle.c), with 16 or 8 points a thread, a row of columns a block or several. */
enum { SPECTRAL_SETTLES_NOT, SPECTRAL_SETTLES, SPECTRAL_SETTLES_BY_8, SPECTRAL_SETTLES_ROWS };

/* A candidate's values. Lengths are in halves, low and high, as an int holds them. */
typedef struct spectral_choice {
    int length[3], before[3]; /* of the line along each axis */
    uint8_t exact;            /* bit k: that of axis k is a whole period */
    uint8_t parts;   /* one step, 2D: of a column, side by side in a block, each a line of length[1]; 0: it is one */
    int16_t settles; /* spectral_settling */
    int kept[3]; /* frequencies along each axis that are not 0 to rounding after all steps: below kept[k], and above its
                                 negative along y of 3D; of the last axis all are kept. Where a source acts, at all of them */
    int live[3]; /* the same, of what comes of the grid's points, without a source */
    int row_lines, column_lines;
    uint8_t group, slab; /* slab: 3D, frequencies along x that are done at a time, in lines of 128 bytes; 0: all */
    int16_t waves;       /* waves: of tiles' columns, legs enough for so many blocks in turn; 0: as many as seem best */
    int16_t row_threads, row_blocks, column_threads,
        column_blocks; /* that a multiprocessor has registers for, and blocks
                                 that it holds at least, as far as there is room for them; 0: as usual */
    int step[2]; /* tiles, 2D: of axis 1 and 2, the points of a line that it is there for; 0: the axis is one line */
} spectral_choice;

/* Slabs, 3D: where lines along y are longer than the grid, they are there for some neighbouring
 * frequencies along x at a time. Those of the rows lie in the rows of the output until these are
 * written, as many as there is room for; the others in the workspace. */
typedef struct spectral_slabs {
    int line;             /* numbers of a line of memory */
    int held, skip;       /* frequencies of a row in the output's; elements of it before them */
    bool uneven;          /* one more where a row begins at an odd element */
    int64_t pitch, plane; /* complex numbers of the others from row to row, plane to plane */
    int64_t across;       /* frequencies along y */
    size_t rest, bytes;   /* in the workspace: all the others, and behind them the slab */
} spectral_slabs;

typedef struct spectral_shape {
    spectral_choice choice;
    stn_extension axis[3];
    int last;                   /* the axis whose pass holds the symbol: 0 in 3D, else 1 */
    stn_ladder line[3];         /* of axis 2: half as many complex points as its length */
    int64_t pitch, plane, grid; /* complex numbers of the spectrum from row to row, plane to plane, grid to grid */
    int64_t rows;               /* of a plane of the spectrum: points or kept frequencies along y, whichever are more */
    stn_symbol symbol;
    int64_t columns;            /* lines of the last axis in a grid; in tiles, in one strip */
    int64_t width;              /* tiles: frequencies of the spectrum from strip to strip */
    int strips, segments, legs; /* of all legs of a column the segments */
    spectral_slabs slabs;
} spectral_shape;

bool spectral_wide(const stn_task *task); /* computed in f64 */
/* The task with the steps from its input to its last snapshot: its taps are the other's. */
stn_task spectral_run(const stn_task *task);
/* 1 - |K| from which a factor counts as 0, where the largest |K| is this. */
double spectral_dead(const stn_task *task, double largest);
/* The same of the kernels: where sums of powers are asked for as well, because sides have a source
 * or the task is a sum. */
double spectral_dead_of(const stn_task *task, double largest, bool source);
/* What the taps of all steps reach along an axis, at any of the snapshots. */
stn_reach spectral_reach(const stn_task *task, int axis);
/* What lines that hold a whole axis leave away of the weights at either side, at most. */
double spectral_tail(const stn_task *task);
/* Sides and lengths of a task; false: it is not for this strategy, and why. */
bool spectral_choose(const stn_task *task, const stn_machine *machine, spectral_choice *choice, char *reason,
                     size_t reason_size);
/* Then the frequencies that are kept, which takes some ms. */
void spectral_choose_kept(const stn_task *task, spectral_choice *choice);
stn_symbol spectral_symbol_form(const stn_task *task, const stn_machine *machine, const int64_t torus[3]);
/* settle.c: whether a kernel of its own serves the columns that have no points, and there are
 * such. */
bool spectral_settles(const stn_task *task, const spectral_choice *choice, double dead);
/* Frequencies chosen: how such columns are settled, and with what threads all columns and rows are
 * made then. */
void spectral_choose_settling(const stn_task *task, const stn_machine *machine, spectral_choice *choice);
/* And whether a block has room for it in the choice's own way. */
bool spectral_settles_as(const stn_task *task, const stn_machine *machine, const spectral_choice *choice);
/* The same with more blocks on a multiprocessor, where they are plainly faster; else the same. */
enum { SPECTRAL_MANY = 6 }; /* blocks of rows, in tiles */
spectral_choice spectral_busier(const stn_task *task, const stn_machine *machine, const spectral_choice *choice);
/* Other ways to lay out the same, worth measuring; returns how many, at most `most`. */
size_t spectral_variants(const stn_task *task, const stn_machine *machine, const spectral_choice *choice,
                         spectral_choice *list, size_t most);
/* constraints.c: forms that a plan's task leaves out. */
void spectral_left_out(const stn_plan *plan, stn_tally *tally);
/* ---- tiles.c: where what taps reach is short beside the axes, tori of its own along a row and down the columns (spectral_walk.cu).
 * From a choice without (NULL: there is none), into as many along axis 1 and 2 at least; false: the
 * task is not for tiles, or not for so many. */
bool spectral_choose_tiles(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                           const int least[2], spectral_choice *choice);
/* Smaller ones, worth measuring; returns how many. */
size_t spectral_tile_variants(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                              const spectral_choice *tiles, spectral_choice *list, size_t most);
static inline bool spectral_tiled(const spectral_choice *choice) { return choice->step[0] > 0; }
/* ---- slabs.c: *choice becomes slabs of what is a choice without, where that pays; and what else there is, worth measuring: slabs
 * where they are not chosen, and of other sizes. Returns how many. */
size_t spectral_choose_slabs(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                             spectral_choice *choice, spectral_choice *list, size_t most);
void spectral_slabs_make(const stn_task *task, spectral_shape *shape);
static inline bool spectral_in_slabs(const spectral_choice *choice) { return choice->slab > 0; }
typedef struct spectral_slab {
    int first, count; /* frequencies along x */
    bool held, live;  /* in the output; some have points, or no kernel of its own serves those that have none */
} spectral_slab;
/* The one after this, from {0} on; false: there is none. */
bool spectral_next_slab(const spectral_shape *shape, bool settles, spectral_slab *slab);
/* ---- source.c: bytes of the workspace that fixed and constant sides take besides. */
size_t spectral_source_bytes(const stn_task *task, const spectral_shape *shape);
/* ---- parts.c: columns of one step of many taps in parts, from a choice without. How many there may be at
 * most: */
#define SPECTRAL_PARTS 8
/* Into so many, a power of two, or, 0, into the best number; false: the task is not for them, or,
 * 0, a whole column takes no longer. */
bool spectral_choose_parts(const stn_task *task, const stn_machine *machine, const spectral_choice *whole, int count,
                           spectral_choice *choice);
/* Instructions of a column of such a step, there, back and of its taps: in parts or whole. */
double spectral_parts_work(const spectral_choice *choice);
/* Whether they have room for what these weights reach. */
bool spectral_parts_serve(const stn_task *task, const spectral_choice *choice);
static inline bool spectral_in_parts(const spectral_choice *choice) { return choice->parts > 0; }
static inline int64_t spectral_parts_step(const stn_task *task, const spectral_choice *choice) {
    return (task->n[1] + choice->parts - 1) / choice->parts; /* the points of a part that are right */
}
/* Bytes of shared memory that a block of columns keeps beside its lines. */
size_t spectral_walk_carry(const stn_task *task, const spectral_choice *choice, const stn_extension *axis, int lines);
/* And behind that for all segments' factors, if there is room for them beside so many bytes; else
 * 0. */
size_t spectral_walk_factors(const stn_task *task, const stn_machine *machine, const spectral_shape *shape, int lines,
                             size_t beside);
/* Of each column: so many blocks walk down it, where there are few columns. */
int spectral_walk_legs(const stn_task *task, const stn_machine *machine, const spectral_shape *shape);
/* How many times as long those take as their segments would side by side on all multiprocessors. */
double spectral_walk_crowd(const stn_task *task, const stn_machine *machine, const spectral_shape *shape);
/* Bytes in the workspace, behind the spectrum, for what lies about the first points of legs. */
size_t spectral_walk_aside(const stn_task *task, const spectral_shape *shape);
/* Whether tiles have room for what these weights reach. */
bool spectral_tiles_serve(const stn_task *task, const spectral_choice *choice);

/* ---- shape.c: the rest, from the choice; radices only if `lines`, those of tiles' columns in any
 * case. */
void spectral_shape_make(const stn_task *task, const stn_machine *machine, const spectral_choice *choice, bool lines,
                         spectral_shape *shape);
/* Whether a block has room for its columns, once they are laid out. */
bool spectral_columns_fit(const spectral_shape *shape);
/* Bytes of the spectrum of all grids; of a stack of snapshots, of two of them. */
size_t spectral_workspace(const stn_task *task, const spectral_shape *shape);
/* Whether points of a fixed side are kept. */
static inline bool spectral_frozen(const stn_extension *e, int side) {
    return !e->repeats && e->sign[side] < 0 && e->beyond[side] == 0;
}
/* Do all sides wrap or mirror with the same sign, so that none has a source? */
bool spectral_sides_are_even(const stn_task *task);
void spectral_estimate(const stn_task *task, const stn_machine *machine, const spectral_shape *shape,
                       stn_estimate *estimate);
#endif
