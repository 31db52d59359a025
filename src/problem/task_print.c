/* A task as text and as JSON. */
#include <inttypes.h>

#include "base/number.h"
#include "problem/task.h"

const char *stn_pattern_name(stn_pattern pattern) {
    switch (pattern) {
        case STN_PATTERN_STAR:
            return "star";
        case STN_PATTERN_BOX:
            return "box";
        case STN_PATTERN_GENERAL:
            return "general";
    }
    return "unknown";
}

static bool same_side(const stn_boundary *a, const stn_boundary *b) {
    return a->kind == b->kind && (a->kind != STN_CONSTANT || a->value == b->value);
}

static void print_side(const stn_boundary *side, stn_text *text) {
    stn_text_printf(text, "%s", stn_boundary_name(side->kind));
    if (side->kind != STN_CONSTANT) return;
    char digits[STN_NUMBER_SIZE];
    stn_number_format(side->value, digits);
    stn_text_printf(text, "=%s", digits);
}

/* In the syntax of --boundary: one entry if all sides are the same, else one for each axis,
 * "low:high" where its sides differ. */
static void print_boundaries(const stn_task *task, stn_text *text) {
    int first = 3 - task->rank, last = first;
    for (int axis = first; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            if (!same_side(&task->boundary[axis][side], &task->boundary[first][0])) last = 2;
    for (int axis = first; axis <= last; axis++) {
        const stn_boundary *sides = task->boundary[axis];
        if (axis > first) stn_text_append(text, ",", 1);
        print_side(&sides[0], text);
        if (same_side(&sides[0], &sides[1])) continue;
        stn_text_append(text, ":", 1);
        print_side(&sides[1], text);
    }
}

static bool is_dense(const stn_task *task, const int64_t stride[3], int64_t batch_stride) {
    return stride[2] == 1 && stride[1] == task->n[2] && stride[0] == task->n[1] * task->n[2] &&
           batch_stride == task->n[0] * task->n[1] * task->n[2];
}

void stn_task_print(const stn_task *task, stn_text *text) {
    stn_text_printf(text, "%dD ", task->rank);
    for (int axis = 3 - task->rank; axis < 3; axis++)
        stn_text_printf(text, "%s%" PRId64, axis > 3 - task->rank ? " x " : "", task->n[axis]);
    if (task->batch > 1) stn_text_printf(text, " in batches of %" PRId64, task->batch);
    stn_text_printf(text, ", %s, %s of %zu tap%s, boundary ", stn_dtype_name(task->dtype),
                    stn_pattern_name(task->pattern), task->ntaps, task->ntaps == 1 ? "" : "s");
    print_boundaries(task, text);
    const uint64_t steps = task->steps * task->snapshots;
    stn_text_printf(text, ", %" PRIu64 " step%s", steps, steps == 1 ? "" : "s");
    if (task->snapshots > 1) stn_text_printf(text, ", a snapshot every %" PRIu64, task->steps);
    if (task->source) stn_text_printf(text, ", with a source");
    if (stn_task_converts(task))
        stn_text_printf(text, ", from %s to %s", stn_element_name(stn_task_element(task, false)),
                        stn_element_name(stn_task_element(task, true)));
    if (task->normalized) stn_text_printf(text, ", normalized");
    if (task->local) stn_text_printf(text, ", accurate locally");
    if (task->sum) stn_text_printf(text, ", summed");
    if (!is_dense(task, task->in_stride, task->in_batch_stride) ||
        !is_dense(task, task->out_stride, task->out_batch_stride))
        stn_text_printf(text, ", strided");
    if (task->in_place) stn_text_printf(text, ", in place");
}

static void json_side(stn_text *text, const stn_boundary *side, int reach) {
    stn_text_append(text, "{", 1);
    stn_json_text(text, "kind", stn_boundary_name(side->kind));
    if (side->kind == STN_CONSTANT) stn_json_value(text, "value", side->value);

    stn_json_integer(text, "reach", reach);
    stn_text_append(text, "}", 1);
}

static void json_boundaries(const stn_task *task, stn_text *text) {
    stn_json_open(text, "boundary", "[");
    for (int axis = 3 - task->rank; axis < 3; axis++) {
        stn_json_comma(text);
        stn_text_append(text, "[", 1);
        json_side(text, &task->boundary[axis][0], task->reach[axis][0]);
        stn_json_comma(text);
        json_side(text, &task->boundary[axis][1], task->reach[axis][1]);
        stn_text_append(text, "]", 1);
    }
    stn_text_append(text, "]", 1);
}

void stn_task_json(const stn_task *task, stn_text *text) {
    int first = 3 - task->rank;
    stn_text_append(text, "{", 1);
    stn_json_integer(text, "rank", task->rank);
    stn_json_integers(text, "extent", task->n + first, task->rank);
    stn_json_integer(text, "batch", task->batch);
    stn_json_integers(text, "in_stride", task->in_stride + first, task->rank);
    stn_json_integers(text, "out_stride", task->out_stride + first, task->rank);
    stn_json_integer(text, "in_batch_stride", task->in_batch_stride);
    stn_json_integer(text, "out_batch_stride", task->out_batch_stride);
    json_boundaries(task, text);
    stn_json_text(text, "dtype", stn_dtype_name(task->dtype));
    if (stn_task_converts(task)) {
        stn_json_text(text, "in_element", stn_element_name(stn_task_element(task, false)));
        stn_json_text(text, "out_element", stn_element_name(stn_task_element(task, true)));
        stn_json_value(text, "divisor", task->divisor);
        stn_json_integer(text, "normalized", task->normalized);
    }
    stn_json_key(text, "steps");
    stn_text_printf(text, "%" PRIu64, task->steps * task->snapshots);
    stn_json_key(text, "every");
    stn_text_printf(text, "%" PRIu64, task->steps);
    stn_json_key(text, "source");
    stn_text_printf(text, "%s", task->source ? "true" : "false");
    stn_json_value(text, "tolerance", task->tolerance);
    stn_json_text(text, "accuracy", task->local ? "local" : "global");
    stn_json_key(text, "in_place");
    stn_text_printf(text, "%s", task->in_place ? "true" : "false");
    stn_json_key(text, "taps");
    stn_text_printf(text, "%zu", task->ntaps);
    stn_json_text(text, "pattern", stn_pattern_name(task->pattern));
    stn_text_append(text, "}", 1);
}
