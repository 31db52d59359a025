/* The shape of a direct kernel: which kernel, points a thread, threads a block, and how its axes
 * map to the task's. */
#ifndef STN_STRATEGIES_DIRECT_DIRECT_SHAPE_H
#define STN_STRATEGIES_DIRECT_DIRECT_SHAPE_H
#include "plan/strategy.h"

typedef enum direct_kernel {
    DIRECT_LINE,
    DIRECT_TILE,
    DIRECT_GATHER,
    /* The DIRECT_TIME_* kernels make several steps in one launch: temporal_blocking.h. */
    DIRECT_TIME_LINE,
    DIRECT_TIME_TILE,
    DIRECT_ANY /* one step; the problem is data: the generic kernel */
} direct_kernel;
enum { DIRECT_MIRROR_X = 1, DIRECT_MIRROR_Z = 2 };

/* Kernel axes are z, y, x = 0, 1, 2. Must fit into a stn_candidate. */
typedef struct direct_shape {
    int kernel;      /* direct_kernel */
    int vector;      /* points along x in one access */
    int rows;        /* rows along y of a thread (direct_line: runs of `vector` points) */
    int chunk;       /* planes along z of a thread */
    int threads[3];  /* threads of a block along z, y, x */
    int blocks;      /* blocks that must fit on a multiprocessor */
    int unroll;      /* planes unrolled in the marching loop */
    int column_loop; /* COLUMN_LOOP of direct_tile.cu */
    int rank;        /* rank in the list of shapes for the problem, best first */
    int fused;       /* steps a launch */
    int points;      /* direct_time_*: points of a lane along x */
    int mirror;      /* direct_time_*: DIRECT_MIRROR_* bits */
    int operations;  /* direct_time_*: arithmetic instructions a point and step */
    int skewed;      /* DIRECT_TILE: 1 if direct_skew computes it, on rows of any length */
} direct_shape;

/* The task's axis behind kernel axis 0 (z), 1 (y) or 2 (x). In 2D direct_tile marches along the
 * task's axis 1, and its y is the axis of extent 1. */
int direct_axis(const stn_task *task, const direct_shape *shape, int kernel_axis);
/* The larger of the reaches towards the two sides of a kernel axis. */
int direct_reach(const stn_task *task, const direct_shape *shape, int kernel_axis);
/* Whether taps reach past fixed sides only. */
bool direct_all_sides_fixed(const stn_task *task);
/* The widest access, in elements, that every row of every grid allows; any_length: the kernel
 * accesses a last, partial run of a row point by point, as kernels in 1D do. */
int direct_widest_vector(const stn_task *task, bool any_length);
/* The only shape of DIRECT_ANY. */
direct_shape direct_any_shape(void);
/* Whether the kernel reads its taps from a table in device memory. */
bool direct_has_table(const direct_shape *shape);
const char *direct_kernel_name(const direct_shape *shape);
#endif
