/* What faces_chain.cu multiplies by: see its head for the formula, chain.h for the layout. Powers are taken in long double. */
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "strategies/faces/chain/chain.h"

/* The weights' factors, each scaled to sizes that sum to 1; what that leaves goes to the face's own axis. So does the sign of an
 * axis without reach: the kernel multiplies nothing along it. */
typedef struct factors {
    double weight[3][STN_TASK_FACTORS];
    double scale;
    double sum[3];
} factors;

static void find_factors(const stn_task *task, factors *f) {
    stn_task_separable(task, f->weight);
    f->scale = 1;
    for (int k = 0; k < 3; k++) {
        int count = task->reach[k][0] + task->reach[k][1] + 1;
        double size = 0;
        for (int i = 0; i < count; i++) size += fabs(f->weight[k][i]);
        if (count == 1) size = f->weight[k][0];
        f->sum[k] = 0;
        for (int i = 0; i < count; i++) f->sum[k] += f->weight[k][i] /= size;
        f->scale *= size;
    }
}

/* One face at work. */
typedef struct table {
    const stn_task *task;
    const factors *factors;
    faces_chain_shape shape;
    int fused, axis, side;
    int near, far; /* reaches towards the face and away from it */
    bool fixed;
    double inward[STN_TASK_FACTORS]; /* factors along the axis, from `near` points towards the face on */
    long double *step, *next;        /* rows x depth: the margin after some steps, of the rows before them */
    long double *power;              /* of the factor along an axis of the face */
    double *to;
} table;

static int level_reach(const table *t, int axis, int side, int level) { return level * t->task->reach[axis][side]; }

/* power[i]: of offset i - level * reach. */
static void raise(const table *t, int axis, int level) {
    const int reach = t->task->reach[axis][0] + t->task->reach[axis][1];
    t->power[0] = 1;
    for (int i = 1; i <= level * reach; i++) t->power[i] = 0;
    for (int l = 1; l <= level; l++)
        for (int i = l * reach; i >= 0; i--) {
            long double sum = 0;
            for (int k = 0; k <= reach && k <= i; k++) sum += t->factors->weight[axis][k] * t->power[i - k];
            t->power[i] = sum;
        }
}

/* An element of a right factor, in blocks of 8 x 8: a lane has rows 2t and 2t + 1 of column g. */
static void put(double *blocks, int block, int row, int column, long double value) {
    blocks[64 * block + 2 * (4 * (column % 8) + row % 8 / 2) + row % 2] = (double)value;
}

static void put_band(const table *t) {
    const faces_chain_shape *s = &t->shape;
    const int low = level_reach(t, s->axis_1, 0, t->fused), high = level_reach(t, s->axis_1, 1, t->fused);
    raise(t, s->axis_1, t->fused);
    for (int i = 0; i <= low + high; i++) t->to[s->band_at + 8 + i] = (double)t->power[i];
}

/* Of each column: rows are smoothed by all steps, levels by theirs. */
static void put_taps(const table *t) {
    const faces_chain_shape *s = &t->shape;
    if (s->taps_2 == 1) return;
    for (int column = 0; column < 8; column++) {
        int level = column < s->rows ? t->fused : (column - s->rows) % s->levels + 1;
        int skip = level_reach(t, s->axis_2, 0, t->fused - level);
        raise(t, s->axis_2, level);
        for (int i = 0; i <= level_reach(t, s->axis_2, 0, level) + level_reach(t, s->axis_2, 1, level); i++)
            t->to[s->taps_at + 8 * (skip + i) + column] = (double)t->power[i];
    }
}

static void put_levels(const table *t) {
    const faces_chain_shape *s = &t->shape;
    const int low = level_reach(t, s->axis_1, 0, s->levels);
    for (int level = 1; level <= s->levels; level++) {
        const int skip = low - level_reach(t, s->axis_1, 0, level);
        raise(t, s->axis_1, level);
        for (int frozen = 0; frozen < s->frozen; frozen++) {
            const int column = s->rows + frozen * s->levels + level - 1;
            for (int i = 0; i <= level_reach(t, s->axis_1, 0, level) + level_reach(t, s->axis_1, 1, level); i++) {
                const int row = skip + i;
                put(t->to + s->l_at, (frozen * s->columns + column / 8) * s->hankel + row / 8, row, column,
                    t->power[i]);
            }
        }
    }
}

/* Where row i of the margin has its value from: i itself, where it folds to, or -1: it has none that a row gives. */
static int source(const table *t, int i) {
    if (i >= 0) return i < t->shape.depth ? i : -1;
    switch (t->task->boundary[t->axis][t->side].kind) {
        case STN_NEAREST:
            return 0;
        case STN_REFLECT:
            return -1 - i;
        case STN_MIRROR:
            return -i;
        default:
            return -1;
    }
}

/* Prepends one time step to `step`: its columns, the rows it reads, become those one step earlier. */
static void step_back(table *t) {
    const int depth = t->shape.depth;
    for (int y = 0; y < t->shape.rows; y++) {
        const long double *from = t->step + (size_t)y * (size_t)depth;
        long double *to = t->next + (size_t)y * (size_t)depth;
        for (int i = 0; i < depth; i++) to[i] = 0;
        for (int i = t->fixed ? t->near : 0; i < depth; i++)
            for (int k = -t->near; from[i] != 0 && k <= t->far; k++) {
                const int at = source(t, i + k);
                if (at >= 0) to[at] += from[i] * t->inward[k + t->near];
            }
    }
    long double *before = t->step;
    t->step = t->next, t->next = before;
}

/* What a constant past the face adds, where m steps follow: of the whole margin as the steps along the face left it. */
static void add_constant(const table *t, int m) {
    const faces_chain_shape *s = &t->shape;
    const long double along = (long double)t->factors->sum[s->axis_1] * t->factors->sum[s->axis_2],
                      value = stn_task_outside(t->task, t->axis, t->side) * powl(along, m + 1);
    for (int y = 0; y < s->rows; y++) {
        long double sum = 0;
        for (int i = 0; i < t->near && i < s->depth; i++)
            for (int k = -t->near; i + k < 0; k++)
                sum += t->step[(size_t)y * (size_t)s->depth + (size_t)i] * t->inward[k + t->near];
        t->to[s->value_at + y] += (double)(sum * value);
    }
}

/* F: N of the frozen rows' levels, and 1 where a column is a row. */
static void put_frozen(const table *t, int level) {
    const faces_chain_shape *s = &t->shape;
    for (int frozen = 0; frozen < s->frozen && t->fixed && frozen < t->near; frozen++) {
        const int column = s->rows + frozen * s->levels + level - 1;
        for (int y = 0; y < s->rows; y++)
            put(t->to + s->f_at, column / 8 * s->outs + y / 8, column, y,
                t->step[(size_t)y * (size_t)s->depth + (size_t)frozen]);
    }
}

static void put_normal(table *t) {
    const faces_chain_shape *s = &t->shape;
    const int own = t->fused * t->near; /* the other side may have more rows */
    for (int y = 0; y < s->rows; y++)
        for (int i = 0; i < s->depth; i++) t->step[(size_t)y * (size_t)s->depth + (size_t)i] = y == i && y < own;
    for (int m = 0; m < t->fused; m++) {
        if (m) put_frozen(t, m);
        if (t->task->boundary[t->axis][t->side].kind == STN_CONSTANT) add_constant(t, m);
        step_back(t);
    }
    for (int y = 0; y < s->rows; y++) {
        for (int i = 0; i < s->depth; i++)
            put(t->to + s->m_at, i / 8 * s->outs + y / 8, i, y, t->step[(size_t)y * (size_t)s->depth + (size_t)i]);
        if (s->frozen) put(t->to + s->f_at, y / 8 * s->outs + y / 8, y, y, 1);
    }
}

static void put_face(table *t, int side) {
    const int *reach = t->task->reach[t->axis];
    t->side = side;
    t->near = reach[side], t->far = reach[!side];
    t->fixed = t->task->boundary[t->axis][side].kind == STN_FIXED;
    for (int k = 0; k <= reach[0] + reach[1]; k++)
        t->inward[k] = t->factors->weight[t->axis][side ? reach[0] + reach[1] - k : k] * t->factors->scale;
    put_band(t);
    put_taps(t);
    put_normal(t);
    put_levels(t);
}

static stn_status put_faces(const stn_task *task, int fused, const factors *f, int axis, double *to, stn_error *error) {
    table t = {.task = task, .factors = f, .fused = fused, .axis = axis, .to = to};
    t.shape = faces_chain_extents(task, fused, axis);
    size_t square = (size_t)t.shape.rows * (size_t)t.shape.depth, line = 2 * STN_TASK_FACTORS * (size_t)fused;
    long double *scratch = calloc(2 * square + line, sizeof *scratch);
    if (!scratch) return stn_fail_memory(error, "the faces' matrices", (2 * square + line) * sizeof *scratch);
    t.step = scratch, t.next = scratch + square, t.power = scratch + 2 * square;
    for (int side = 0; side < 2; side++) {
        if (!stn_faces_has_face(task, axis, side)) continue;
        put_face(&t, side);
        t.to += t.shape.size;
    }
    free(scratch);
    return STN_OK;
}

stn_status faces_chain_tables(const stn_task *task, int fused, double **tables, size_t *count, stn_error *error) {
    factors f;
    find_factors(task, &f);
    size_t first[3] = {0};
    *count = 0;
    for (int axis = 0; axis < 3; axis++) {
        first[axis] = *count;
        for (int side = 0; side < 2; side++)
            if (stn_faces_has_face(task, axis, side)) *count += (size_t)faces_chain_extents(task, fused, axis).size;
    }
    *tables = calloc(*count + 1, sizeof **tables);
    if (!*tables) return stn_fail_memory(error, "the faces' matrices", *count * sizeof **tables);
    stn_status status = STN_OK;
    for (int axis = 0; axis < 3 && status == STN_OK; axis++)
        if (faces_chain_has_face(task, axis)) status = put_faces(task, fused, &f, axis, *tables + first[axis], error);
    if (status != STN_OK) {
        free(*tables);
        *tables = NULL;
    }
    return status;
}
