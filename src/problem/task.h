/* A task: a validated problem, lifted to three axes, with nothing left to default. It is what
 * strategies see.
 *
 * Lifting puts missing slow axes in front with extent 1: a 1D problem has n = {1, 1, nx}, a 2D one
 * {1, ny, nx}; offsets likewise. So axis 2 is always the fastest, and a loop over three axes serves
 * every rank. */
#ifndef STN_PROBLEM_TASK_H
#define STN_PROBLEM_TASK_H
#include <stdbool.h>

#include "base/text.h"
#include "stentor.h"

typedef enum stn_pattern { STN_PATTERN_STAR, STN_PATTERN_BOX, STN_PATTERN_GENERAL } stn_pattern;

typedef struct stn_task {
    int rank;
    int64_t n[3];
    int64_t in_stride[3], out_stride[3]; /* elements, positive; an axis of extent 1 has what a dense layout gives it */
    int64_t batch, in_batch_stride, out_batch_stride; /* likewise */
    stn_boundary boundary[3][2];
    stn_dtype dtype;
    uint64_t steps;          /* at least 1: of the run, or of each part of it that ends in a snapshot */
    uint64_t snapshots;      /* states that are kept, one after each `steps` steps; 1: the last one alone */
    int64_t snapshot_stride; /* elements of the output from one snapshot to the next */
    bool source;             /* a constant source is added at each step; it lies as the problem's input does: */
    int64_t source_stride[3], source_batch_stride;
    bool
        sum; /* what a source adds in all steps: 1 + S + .. + S^(steps-1) of the input, past sides that are 0, is added to the output
                 but where that is frozen; for strategies that say `sums`. No problem asks for it */
    double tolerance;
    bool local;              /* STN_ACCURACY_LOCAL: only strategies that take step by step */
    struct stn_found *found; /* borrowed: what searches found, context/search_cache.h; NULL: nothing is kept */
    bool in_place;
    int alignment; /* bytes, a power of two, at least the dtype's size */
    size_t ntaps;
    stn_tap *taps;       /* owned; lifted offsets, sorted */
    int reach[3][2];     /* how far taps reach towards the low and the high side of each axis, both >= 0 */
    stn_pattern pattern; /* star: at most one offset is non-zero in each tap; box: every offset in the reach is a tap */
} stn_task;

/* Validates and lifts. The task owns its taps: stn_task_clear. */
stn_status stn_task_make(const stn_problem *problem, stn_task *task, stn_error *error);
/* New weights, one for each tap in order; untouched on failure. Errors: wrong count, NULL, not
 * finite or past the range of the dtype's arithmetic. */
stn_status stn_task_set_weights(stn_task *task, size_t count, const double *weights, stn_error *error);
/* A task of its own with the same content. */
stn_status stn_task_copy(const stn_task *task, stn_task *copy, stn_error *error);
void stn_task_clear(stn_task *task);

int64_t stn_task_points(const stn_task *task); /* batch * n0 * n1 * n2 */

/* Elements from the first to one past the last that a grid layout touches, all batches. */
int64_t stn_task_span(const stn_task *task, bool of_output);

/* The index that axis `axis` of extent n sees for index i, |past the edge| <= n: folded by the
 * side's rule, again if the fold lands past the other side. Returns -1 past a constant low side or
 * fixed low side, -2 for a high one. This is the definition that host and kernels share
 * (device/index.cuh is its twin). */
int64_t stn_fold(int64_t i, int64_t n, const stn_boundary sides[2]);

/* The larger of the two reaches along an axis. */
int stn_task_reach(const stn_task *task, int axis);
/* Do taps reach further past a side than an axis has points, so that an index may be folded more
 * than once? */
bool stn_task_folds_again(const stn_task *task);
/* Are the weights the same mirrored along this axis? */
bool stn_task_mirrored(const stn_task *task, int axis);
/* Where taps are the same mirrored along an axis and the boundary mirrors too, any number of steps
 * sees the grid's mirror image past the face. Then no point needs faces. */
bool stn_task_extended(const stn_task *task);
/* Are the taps a whole box, and its weights products of one factor an axis, to rounding?
 * factors[axis][i] is of offset i - reach[axis][0]; along z and x it is 1 at offset 0. */
#define STN_TASK_FACTORS 65 /* of an axis, at most */
bool stn_task_separable(const stn_task *task, double factors[3][STN_TASK_FACTORS]);

/* The value past a constant side, as a point of the dtype would hold it: the grid goes on there as
 * if it were stored. */
double stn_task_outside(const stn_task *task, int axis, int side);

/* True if point (i0, i1, i2) keeps its initial value: a tap would reach past a fixed side. */
bool stn_task_frozen(const stn_task *task, const int64_t index[3]);

const char *stn_pattern_name(stn_pattern pattern);
const char *stn_boundary_name(stn_boundary_kind kind);
/* The task in one line without a newline, such as "2D 344 x 403, f64, star of 5 taps, boundary
 * reflect, 500 steps", and as one JSON object. Extents, strides and boundaries there have the
 * problem's rank, not three axes. */
void stn_task_print(const stn_task *task, stn_text *text);
void stn_task_json(const stn_task *task, stn_text *text);
#endif
