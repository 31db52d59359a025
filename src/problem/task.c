/* Properties of a task: copy, reach, symmetry and separability of its weights. */
#include "problem/task.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/half.h"

stn_status stn_task_copy(const stn_task *task, stn_task *copy, stn_error *error) {
    size_t size = task->ntaps * sizeof *task->taps;
    stn_tap *taps = malloc(size ? size : 1);
    if (!taps) return stn_fail_memory(error, "the taps of a task", size);
    memcpy(taps, task->taps, size);
    *copy = *task;
    copy->taps = taps;
    return STN_OK;
}

void stn_task_clear(stn_task *task) {
    free(task->taps);
    memset(task, 0, sizeof *task);
}

double stn_task_constant_value(const stn_task *task, int axis, int side) {
    double value = task->boundary[axis][side].value;
    return task->dtype == STN_F16 ? stn_half_to_float(stn_float_to_half((float)value)) : value;
}

stn_element stn_element_of(stn_dtype dtype) {
    /* by stn_dtype */
    static const stn_element elements[] = {STN_ELEMENT_F64, STN_ELEMENT_F32, STN_ELEMENT_F16};
    return elements[dtype];
}

bool stn_element_is_whole(stn_element element) { return element >= STN_ELEMENT_I8; }

bool stn_task_converts(const stn_task *task) {
    return task->in_element || task->out_element || task->divisor != 1 || task->normalized;
}

stn_element stn_task_element(const stn_task *task, bool of_output) {
    const stn_element given = of_output ? task->out_element : task->in_element;
    return given ? given : stn_element_of(task->dtype);
}

int stn_task_reach(const stn_task *task, int axis) {
    const int *reach = task->reach[axis];
    return reach[0] > reach[1] ? reach[0] : reach[1];
}

bool stn_task_needs_host(const stn_task *task) {
    for (int axis = 0; axis < 3; axis++)
        if (stn_task_reach(task, axis) > stn_min(task->n[axis], STN_MAX_RADIUS)) return true;
    return false;
}

static int compare_offsets(const void *a, const void *b) {
    const stn_tap *x = a, *y = b;
    for (int axis = 0; axis < 3; axis++)
        if (x->offset[axis] != y->offset[axis]) return x->offset[axis] < y->offset[axis] ? -1 : 1;
    return 0;
}

/* Do the sorted taps fill the whole box of their reach? stride: of each axis, in taps. */
static bool is_whole_box(const stn_task *task, size_t size[3], size_t stride[3]) {
    size_t taps = 1;
    for (int k = 2; k >= 0; k--) {
        stride[k] = taps;
        taps *= size[k] = (size_t)(task->reach[k][0] + task->reach[k][1] + 1);
    }
    return task->ntaps == taps;
}

/* Whether the taps of a whole box are symmetric along an axis. */
static bool is_box_mirrored(const stn_task *task, int axis, size_t size, size_t stride) {
    if (task->reach[axis][0] != task->reach[axis][1]) return false;
    for (size_t begin = 0; begin < task->ntaps; begin += size * stride)
        for (size_t i = 0; i < size / 2; i++) {
            const stn_tap *low = task->taps + begin + i * stride, *high = task->taps + begin + (size - 1 - i) * stride;
            for (size_t k = 0; k < stride; k++)
                if (low[k].weight != high[k].weight) return false;
        }
    return true;
}

bool stn_task_is_symmetric(const stn_task *task, int axis) {
    size_t size[3], stride[3];
    if (is_whole_box(task, size, stride)) return is_box_mirrored(task, axis, size[axis], stride[axis]);
    for (size_t k = 0; k < task->ntaps; k++) {
        stn_tap opposite = task->taps[k];
        opposite.offset[axis] = -opposite.offset[axis];
        const stn_tap *found = bsearch(&opposite, task->taps, task->ntaps, sizeof opposite, compare_offsets);
        if (!found || found->weight != task->taps[k].weight) return false;
    }
    return true;
}

bool stn_task_has_extension(const stn_task *task) {
    for (int axis = 0; axis < 3; axis++) {
        if (!task->reach[axis][0] && !task->reach[axis][1]) continue;
        bool mirrors = true;
        for (int side = 0; side < 2; side++) {
            stn_boundary_kind kind = task->boundary[axis][side].kind;
            mirrors = mirrors && (kind == STN_REFLECT || kind == STN_MIRROR);
        }
        if (task->boundary[axis][0].kind != STN_WRAP && !(mirrors && stn_task_is_symmetric(task, axis))) return false;
    }
    return true;
}

/* The factors of z and x are ratios of weights to the pivot, and must not overflow in float32. */
#define MIN_PIVOT 1e-6

bool stn_task_is_separable(const stn_task *task, double factors[3][STN_TASK_FACTORS]) {
    const int(*reach)[2] = task->reach;
    size_t size[3], stride[3];
    if (!is_whole_box(task, size, stride)) return false;
    for (int k = 0; k < 3; k++)
        if (size[k] > STN_TASK_FACTORS) return false;
    const size_t taps = task->ntaps;
    const stn_tap *line = task->taps + (size_t)reach[0][0] * stride[0] + (size_t)reach[2][0],
                  *pivot = line; /* along y */
    double most = 0;
    for (size_t j = 0; j < size[1]; j++) {
        factors[1][j] = line[j * stride[1]].weight;
        if (fabs(factors[1][j]) > fabs(pivot->weight)) pivot = line + j * stride[1];
    }
    for (size_t t = 0; t < taps; t++) most = fmax(most, fabs(task->taps[t].weight));
    if (!(fabs(pivot->weight) > MIN_PIVOT * most)) return false;
    for (int k = 0; k < 3; k += 2) {
        const stn_tap *first = pivot - (size_t)reach[k][0] * stride[k];
        for (size_t i = 0; i < size[k]; i++) factors[k][i] = first[i * stride[k]].weight / pivot->weight;
    }
    for (size_t t = 0; t < taps; t++) {
        double product = factors[0][t / stride[0]] * factors[1][t / stride[1] % size[1]] * factors[2][t % size[2]];
        if (!(fabs(product - task->taps[t].weight) <= 8 * DBL_EPSILON * most)) return false;
    }
    return true;
}

void stn_task_key(const stn_task *task, stn_text *key) {
    const int64_t numbers[] = {task->rank,
                               task->dtype,
                               task->in_element,
                               task->out_element,
                               task->normalized,
                               task->batch,
                               task->in_batch_stride,
                               task->out_batch_stride,
                               (int64_t)task->steps,
                               (int64_t)task->snapshots,
                               task->snapshot_stride,
                               task->source,
                               task->source_batch_stride,
                               task->sum,
                               task->local,
                               task->in_place,
                               task->alignment};
    double values[8] = {task->tolerance, task->divisor};
    stn_text_append(key, (const char *)numbers, sizeof numbers);
    for (int side = 0; side < 6; side++) {
        const stn_boundary *b = &task->boundary[side / 2][side % 2];
        stn_text_append(key, (const char *)&b->kind, sizeof b->kind);
        values[2 + side] = b->value;
    }
    stn_text_append(key, (const char *)values, sizeof values);
    stn_text_append(key, (const char *)task->n, sizeof task->n);
    stn_text_append(key, (const char *)task->in_stride, sizeof task->in_stride);
    stn_text_append(key, (const char *)task->out_stride, sizeof task->out_stride);
    stn_text_append(key, (const char *)task->source_stride, sizeof task->source_stride);
    stn_text_append(key, (const char *)task->taps, task->ntaps * sizeof *task->taps);
}
