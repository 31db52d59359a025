/* One time step over a box of points: the formula, spelled out row by row. */
#ifndef STN_HOST_STEP_H
#define STN_HOST_STEP_H
#include "host/kernels.h"
#include "host/watch.h"
#include "problem/task.h"

/* Where the points of a batch of grids lie; strides count elements of the task's dtype. */
typedef struct stn_layout {
    char *base;
    int64_t stride[3], batch_stride;
} stn_layout;

typedef struct stn_step {
    const stn_task *task;
    const stn_kernels *kernels;
    stn_layout from, to; /* from is only read; they share no memory */
    stn_layout source;   /* what each step adds; its base is NULL where there is none */
    stn_watch *watch;    /* is asked between rows; NULL: none */
    int64_t live[3][2];  /* points outside [live[a][0], live[a][1]) of any axis are frozen */
    int pairing;         /* 1: taps at opposite offsets have one weight; -1: opposite weights; 0: neither */
    stn_number number;   /* the task's dtype, */
    int64_t size;        /* and its bytes */
    bool of_floats; /* lines are read as floats, and sums are rounded to floats where they are made; else as doubles */
    uint64_t remembered;              /* rows that a tile remembers: a power of two */
    int64_t line_size;                /* bytes of a number of a line */
    int64_t piece;                    /* points of a row that are computed at once */
    int64_t ghost[2][STN_MAX_RADIUS]; /* stn_fold along axis 2 of -1, -2, ... and of n, n + 1, ... */
} stn_step;

typedef struct stn_box {
    int64_t begin[3], end[3]; /* not empty */
} stn_box;

/* Fills in all but the layouts. The task is borrowed. */
void stn_step_begin(stn_step *step, const stn_task *task);

/* Computes the points of one box of grid `batch`. Distinct boxes may be computed at the same
 * time. */
void stn_step_box(const stn_step *step, int64_t batch, const stn_box *box);

/* Copies the points of one box, as they are. */
void stn_step_copy(const stn_step *step, int64_t batch, const stn_box *box);
#endif
