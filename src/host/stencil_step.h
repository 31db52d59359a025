/* One time step over a box of points: the formula, written out row by row. */
#ifndef STN_HOST_STENCIL_STEP_H
#define STN_HOST_STENCIL_STEP_H
#include "host/stencil_kernels.h"
#include "host/watch.h"
#include "problem/task.h"

/* Layout of a batch of grids; strides are in elements. */
typedef struct stn_layout {
    char *base;
    int64_t stride[3], batch_stride;
    stn_element element;
    int64_t size; /* bytes of an element */
} stn_layout;

#define STN_MAX_LINES 1024 /* maximum number of lines of one sum */

typedef struct stn_step {
    const stn_task *task;
    const stn_kernels *kernels;
    stn_layout from, to; /* must not overlap */
    stn_layout source;   /* is added in each step; its base is NULL if there is none */
    stn_watch *watch;    /* is called between rows; NULL: none */
    int64_t live[3][2];  /* points outside [live[a][0], live[a][1]) of any axis are frozen */
    int pairing;         /* stn_step_pairing */
    double divisor;      /* sums are divided by it; 1: no division */
    /* Lines are of doubles (STN_ELEMENT_F64), of floats or of bytes (STN_ELEMENT_U8); sums are
     * rounded or truncated to that type. */
    stn_element line;
    uint8_t constants[UINT8_MAX + 1]; /* stn_terms.constants for lines of bytes */
    /* The number of lines of one sum; 0 if there are more than STN_MAX_LINES. */
    size_t lines;
    uint16_t order[STN_MAX_LINES]; /* the tap of each line, in the order of the sum */
    double weights[STN_MAX_LINES]; /* one for each term of stn_terms */
    stn_terms terms;               /* without lines and weights */
    uint64_t cache_rows;           /* size of a tile's hash table of rows: a power of two */
    int64_t line_size;             /* bytes per number of a line */
    int64_t block_points;          /* points of a row that are computed at once */
    /* Results of stn_fold along axis 2: ghost[0][k] for the index -1 - k, ghost[1][k] for n + k. */
    int64_t ghost[2][STN_MAX_HOST_RADIUS];
} stn_step;

typedef struct stn_box {
    int64_t begin[3], end[3]; /* not empty */
} stn_box;

/* 1 if taps at opposite offsets have equal weights, -1 if they have opposite weights and there is
 * no middle tap, otherwise 0. Such taps are summed in pairs. */
int stn_step_pairing(const stn_task *task);

/* The tap of a term of stn_terms: the middle tap comes first, then pairs from the outermost on;
 * without pairs, all taps in order. The other tap of a pair mirrors it. */
size_t stn_step_tap_of_term(const stn_task *task, int pairing, size_t term);

/* The value past a side of an axis, rounded to the type of the grid; fold: -1 or -2, as stn_fold
 * returns it. */
double stn_step_constant(const stn_task *task, int axis, int64_t fold);

/* Fills in everything but the layouts. The task is borrowed. */
void stn_step_begin(stn_step *step, const stn_task *task);

/* Computes the points of one box of grid `batch`. Disjoint boxes may be computed concurrently. */
void stn_step_box(const stn_step *step, int64_t batch, const stn_box *box);

/* Copies the points of one box unchanged. */
void stn_step_copy(const stn_step *step, int64_t batch, const stn_box *box);
#endif
