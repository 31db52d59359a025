/* The shape of a direct kernel: which kernel, how many points a thread, how many threads a block;
 * its axes in the task. */
#ifndef STN_STRATEGIES_DIRECT_SHAPE_H
#define STN_STRATEGIES_DIRECT_SHAPE_H
#include "plan/strategy.h"

typedef enum direct_kernel {
    DIRECT_LINE,
    DIRECT_TILE,
    DIRECT_GATHER,
    DIRECT_TIME_LINE, /* these make several steps in one launch: time.h */
    DIRECT_TIME_TILE,
    DIRECT_ANY /* one step, all of the problem is data: the generic kernel */
} direct_kernel;
enum { DIRECT_MIRROR_X = 1, DIRECT_MIRROR_Z = 2 };

/* Kernel axes are z, y, x = 0, 1, 2. Fits a stn_candidate. */
typedef struct direct_shape {
    int kernel;      /* direct_kernel */
    int vector;      /* points along x in one access */
    int rows;        /* rows along y a thread computes (direct_line: runs of `vector` points) */
    int chunk;       /* planes along z a thread computes */
    int threads[3];  /* of a block, along z, y, x */
    int blocks;      /* that must fit on a multiprocessor */
    int unroll;      /* planes in one turn of the walk */
    int column_walk; /* blocks at an edge along x alone have a walk of their own */
    int place;       /* in the list of shapes for the problem, best first */
    int fused;       /* steps in one launch */
    int points;      /* direct_time_*: points along x that a lane holds */
    int mirror;      /* direct_time_*: DIRECT_MIRROR_* bits */
    int operations;  /* direct_time_*: arithmetic instructions a point and step */
    int shifted;     /* rows begin anywhere within 16 bytes: accesses are aligned, and shifted in registers */
} direct_shape;
_Static_assert(sizeof(direct_shape) <= sizeof(stn_candidate), "a shape is a candidate");

/* The task's axis behind kernel axis 0 (z), 1 (y) or 2 (x). In 2D direct_tile walks along the
 * task's axis 1, and its y is the axis of extent 1. */
int direct_axis(const stn_task *task, const direct_shape *shape, int kernel_axis);
/* The larger of the reaches towards the two sides of a kernel axis. */
int direct_reach(const stn_task *task, const direct_shape *shape, int kernel_axis);
/* The widest access, in elements, that every row of every grid allows. */
int direct_widest_vector(const stn_task *task);
/* The one shape of DIRECT_ANY. */
direct_shape direct_any_shape(void);
/* Does its kernel read taps from a table in memory? */
bool direct_has_table(const direct_shape *shape);
const char *direct_kernel_name(const direct_shape *shape);
#endif
