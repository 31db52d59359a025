/* A task: the canonical form of a stencil problem, as strategies see it: validated, on three axes,
 * with all defaults filled in.
 *
 * Missing slow axes come first, with extent 1: a 1D problem has n = {1, 1, nx}, a 2D problem {1,
 * ny, nx}, and offsets have the same order. So axis 2 is always the fastest, and one loop over
 * three axes works for every rank. */
#ifndef STN_PROBLEM_TASK_H
#define STN_PROBLEM_TASK_H
#include <stdbool.h>

#include "base/text.h"
#include "stentor.h"

typedef enum stn_pattern { STN_PATTERN_STAR, STN_PATTERN_BOX, STN_PATTERN_GENERAL } stn_pattern;

typedef struct stn_task {
    int rank;
    int64_t n[3];
    int64_t in_stride[3], out_stride[3];              /* elements, positive; dense if n is 1 */
    int64_t batch, in_batch_stride, out_batch_stride; /* in elements */
    stn_boundary boundary[3][2];
    stn_dtype dtype;
    /* The number types of the input and of the output; STN_ELEMENT_DTYPE if it is the dtype's. */
    stn_element in_element, out_element;
    unsigned normalized;     /* stn_normalized bits; 0: none */
    double divisor;          /* divides the values of the last step; 1: no division */
    uint64_t steps;          /* at least 1: steps of the run, or between two snapshots */
    uint64_t snapshots;      /* states kept, one after each `steps` steps; 1: only the last */
    int64_t snapshot_stride; /* elements of the output between two snapshots */
    /* A constant source is added at each step; its layout is that of the problem's input. */
    bool source;
    int64_t source_stride[3], source_batch_stride;
    /* The input is a constant source b: its effect over all steps, (1 + S + ... + S^(steps-1)) b,
     * with zeros past the sides, is added to the output except at frozen points. Only strategies
     * with `sums` (plan/strategy.h) support it; no public problem sets it. */
    bool sum;
    double tolerance;
    bool local; /* STN_ACCURACY_LOCAL: only strategies that take single steps */
    /* Borrowed from the context: results of earlier searches (launch/machine.h); NULL: none are
     * kept. */
    struct stn_search_cache *searches;
    bool in_place;
    int alignment; /* bytes, a power of two, at least the dtype's size */
    size_t ntaps;
    stn_tap *taps;   /* owned; canonical offsets, sorted */
    int reach[3][2]; /* reach of the taps towards the low and high side of each axis, both >= 0 */
    /* STAR: at most one offset of each tap is non-zero. BOX: every offset within the reach is a
     * tap. */
    stn_pattern pattern;
} stn_task;

/* Validates and canonicalises. The task owns its taps: stn_task_clear. */
stn_status stn_task_make(const stn_problem *problem, stn_task *task, stn_error *error);
/* Replaces the weights, one for each tap in order; untouched on failure. Errors: wrong count, NULL,
 * not finite, or past the range of the dtype's arithmetic. */
stn_status stn_task_set_weights(stn_task *task, size_t count, const double *weights, stn_error *error);
/* A deep copy. */
stn_status stn_task_copy(const stn_task *task, stn_task *copy, stn_error *error);
void stn_task_clear(stn_task *task);

int64_t stn_task_points(const stn_task *task); /* batch * n0 * n1 * n2 */

/* Elements from the first to one past the last that a grid's layout touches, batches included. */
int64_t stn_task_span(const stn_task *task, bool of_output);
/* Whether input and output have the same strides. */
bool stn_task_same_strides(const stn_task *task);

/* Folds index i to an index inside an axis of n points, by the rule of the side past which it lies,
 * repeatedly if the result lies past the other side. Returns -1 past a constant or fixed low side,
 * -2 past such a high side. kernel_templates/device/boundary.cuh is the same function for
 * kernels. */
int64_t stn_fold(int64_t i, int64_t n, const stn_boundary sides[2]);
/* The same for an axis of a task; fast where nothing is folded. */
static inline int64_t stn_task_fold(const stn_task *task, int axis, int64_t i) {
    return i >= 0 && i < task->n[axis] ? i : stn_fold(i, task->n[axis], task->boundary[axis]);
}
/* The task with all steps from its input to its last snapshot. It shares the taps of the
 * original. */
static inline stn_task stn_task_whole_run(const stn_task *task) {
    stn_task run = *task;
    run.steps *= run.snapshots, run.snapshots = 1;
    return run;
}

/* The points along an axis that no fixed side freezes: *low to *high - 1. */
static inline void stn_task_updated_range(const stn_task *task, int axis, int64_t *low, int64_t *high) {
    const stn_boundary *sides = task->boundary[axis];
    *low = sides[0].kind == STN_FIXED ? task->reach[axis][0] : 0;
    *high = task->n[axis] - (sides[1].kind == STN_FIXED ? task->reach[axis][1] : 0);
}

/* The larger of the two reaches along an axis. */
int stn_task_reach(const stn_task *task, int axis);
/* Do taps reach further than STN_MAX_RADIUS, or further past a side than an axis has points, so
 * that an index is folded repeatedly? Only the host strategy supports such a task. */
bool stn_task_needs_host(const stn_task *task);
/* Are the weights symmetric along this axis? */
bool stn_task_is_symmetric(const stn_task *task, int axis);
/* Does an infinite periodic or mirrored extension of the grid give the same result as the boundary,
 * for any number of steps? Then no point near a side needs special treatment. It does if each axis
 * along which taps reach wraps, or mirrors (`reflect`, `mirror`) with taps that are symmetric along
 * this axis. */
bool stn_task_has_extension(const stn_task *task);
/* Is the stencil a separable box, to rounding: each weight a product of one factor for each axis?
 * factors[axis][i] is of offset i - reach[axis][0]; the factors of axes 0 and 2 are 1 at offset 0,
 * so that those of axis 1 have the scale. */
#define STN_TASK_FACTORS 65 /* the most factors of an axis */
bool stn_task_is_separable(const stn_task *task, double factors[3][STN_TASK_FACTORS]);

/* Does the task read or write another number type than its dtype, divide, or normalize? */
bool stn_task_converts(const stn_task *task);
stn_element stn_element_of(stn_dtype dtype);
/* The number type of the input or of the output. */
stn_element stn_task_element(const stn_task *task, bool of_output);
/* Is it an integer type or bool? */
bool stn_element_is_whole(stn_element element);

/* The value past a constant side; in f16 rounded to f16, as if it were stored in the grid. (f32 and
 * f64 kernels take it as a number of their own type.) */
double stn_task_constant_value(const stn_task *task, int axis, int side);

/* True if this point keeps its initial value because a tap would reach past a fixed side. */
bool stn_task_is_frozen(const stn_task *task, const int64_t index[3]);

const char *stn_pattern_name(stn_pattern pattern);
const char *stn_boundary_name(stn_boundary_kind kind);
/* Parses rules with commas between, each as in stn_boundary_parse: one for all axes, or one for
 * each. */
stn_status stn_boundary_parse_axes(const char *text, int rank, stn_boundary boundary[][2], stn_error *error);
/* Appends the bytes of all members that a result or a cost depends on: a key of searches. */
void stn_task_key(const stn_task *task, stn_text *key);
/* A one-line description, such as "2D 344 x 403, f64, star of 5 taps, boundary reflect, 500 steps",
 * and a JSON object. Extents, strides and boundaries in them have the problem's rank. */
void stn_task_print(const stn_task *task, stn_text *text);
void stn_task_json(const stn_task *task, stn_text *text);
#endif
