/* The schedule of a fused launch of a system: which rows of which arrays a block holds, and when
 * it computes them, as system_fused.cu reads it. */
#ifndef STN_STRATEGIES_FUSED_SCHEDULE_H
#define STN_STRATEGIES_FUSED_SCHEDULE_H
#include "strategies/common/system_code.h"

#define FUSED_MAX_PASSES 32
#define FUSED_MAX_INPUTS 64
#define FUSED_MAX_NODES (FUSED_MAX_PASSES + FUSED_MAX_INPUTS)

/* The values of a candidate. The members from `chunk` on follow from its schedule; they are kept
 * here so that an estimate needs no schedule. */
typedef struct fused_shape {
    int depth;        /* steps of a launch */
    int x;            /* columns of a tile */
    int rows;         /* of an iteration */
    int vector;       /* adjacent columns of a thread; divides the points of a row if it is not 1 */
    int chunk;        /* rows that a block stores */
    int blocks;       /* resident on a multiprocessor */
    int columns;      /* points of a row that a tile stores */
    int tiles;        /* blocks of a launch */
    int extra;        /* rows that a block computes besides its chunk */
    int moved;        /* per 1000 points of the grid: elements that a launch loads and stores */
    int operations;   /* per point of the grid, of all passes, with recomputed points */
    int instructions; /* of a thread, per 1000 points */
} fused_shape;

/* The arrays that a system's assignments read, and how far: by assignment, array, axis and side. */
typedef struct fused_reads {
    stn_system_reads reads;
    /* -1: the assignment does not read the array. */
    int reach[STN_SYSTEM_MAX_FIELDS][STN_SYSTEM_MAX_READ_ARRAYS][3][2];
    /* By assignment, at a point: operations, values read, and instructions of the program. */
    int operations[STN_SYSTEM_MAX_FIELDS], fetched[STN_SYSTEM_MAX_FIELDS], instructions[STN_SYSTEM_MAX_FIELDS];
    bool freezes[STN_SYSTEM_MAX_FIELDS];
    bool continues[3]; /* tiles continue past the sides of the axis: some array wraps there */
    /* All arrays that are read at an offset along the axis wrap, and no point is frozen. */
    bool whole[3];
} fused_reads;

/* An array in shared memory: an input or the result of a pass. R = fused_shape.rows; rows are
 * counted from the block's first row. */
typedef struct fused_node {
    int lag;  /* iteration i loads or computes the R rows from i * R - lag on */
    int ring; /* rows of its ring in shared memory; 0: none */
    int at;   /* rows of shared memory before the ring */
    /* Only iterations `begin` to `end` + chunk / R - 1 load or compute the node. */
    int begin, end;
    int start; /* index in the ring of the schedule's first iteration, in units of R rows */
    /* Rows and columns that are needed before and after those that the block stores. */
    int rows[2], columns[2];
} fused_node;

typedef struct fused_schedule {
    int ninputs, npasses, noutputs, slots;
    stn_system_array inputs[FUSED_MAX_INPUTS]; /* node i */
    struct {
        int field, level;
    } outputs[FUSED_MAX_PASSES];
    fused_node nodes[FUSED_MAX_NODES]; /* inputs, then passes */
    /* By array of fused_reads; -1: none. */
    int node_of[FUSED_MAX_PASSES][STN_SYSTEM_MAX_READ_ARRAYS];
    int equation[FUSED_MAX_PASSES], out[FUSED_MAX_PASSES], present[FUSED_MAX_PASSES], waits[FUSED_MAX_PASSES];
    int margin[2]; /* columns of a tile that are not stored, by side */
    /* A block's iterations are `begin` to `end` + chunk / rows - 1. */
    int begin, end;
} fused_schedule;

/* STN_ERROR_UNSUPPORTED: the assignments are too long or read too many arrays. */
stn_status fused_reads_make(const stn_system_task *task, fused_reads *reads, stn_error *error);
/* False if the shape has too many passes, or tiles without points of their own. */
bool fused_schedule_make(const stn_system_task *task, const fused_reads *reads, const fused_shape *shape,
                         fused_schedule *schedule);
#endif
