/* Validation and canonicalisation of a system's problem (stn_system_problem to stn_system_task),
 * and its description as text and JSON. */
#include "problem/system_task.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/half.h"
#include "base/versioned_struct.h"
#include "problem/stencil.h"
#include "problem/task.h"

/* ---- validation ------------------------------------------------------------------------------ */

static stn_status canonical_grid(const stn_system_problem *g, stn_system_task *task, stn_error *error) {
    const stn_system *system = g->system;
    const int rank = task->rank = g->rank ? g->rank : system->rank;
    if (rank < 1 || rank > STN_MAX_RANK)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the rank is %d: this system runs on grids of any rank from %d on, so say which, up to %d",
                        rank, system->least_rank, STN_MAX_RANK);
    if ((system->rank && rank != system->rank) || rank < system->least_rank)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the rank is %d, and the system's stencils need %s%d", rank,
                        system->rank ? "" : "at least ", system->rank ? system->rank : system->least_rank);
    int64_t bytes = 8;
    task->batch = (int64_t)(g->batch ? g->batch : 1);
    bool over = task->batch < 0 || stn_mul_overflows(bytes, task->batch, &bytes);
    for (int axis = 0; axis < 3; axis++) task->n[axis] = 1;
    for (int own = 0; own < rank; own++) {
        if (!g->extent[own])
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "extent[%d] is 0: every axis needs at least one point",
                            own);
        if (g->extent[own] > INT32_MAX)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "extent[%d] is %zu: an axis has at most %d points", own,
                            g->extent[own], INT32_MAX);
        task->n[3 - rank + own] = (int64_t)g->extent[own];
        over = over || stn_mul_overflows(bytes, (int64_t)g->extent[own], &bytes);
    }
    if (over || stn_mul_overflows(bytes, STN_SYSTEM_MAX_ARRAYS + STN_SYSTEM_MAX_FIELDS, &bytes))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the fields have more bytes than 63 bits can count: lower the extents or the batch");
    return STN_OK;
}

static stn_status check_reach(const stn_system_task *task, stn_error *error) {
    for (int e = 0; e < task->system->nequations; e++)
        for (int axis = 0; axis < 3; axis++)
            for (int side = 0; side < 2; side++) {
                const stn_system_equation *q = &task->system->equations[e];
                if (q->reach[axis][side] < task->n[axis]) continue;
                return stn_fail(
                    error, STN_ERROR_INVALID_ARGUMENT,
                    "line %d, column %d: %s.next reads %d point%s past its own along axis %d, which has %" PRId64
                    ": use a grid of %d points or more there, or narrower stencils",
                    q->line, q->column, task->system->fields[q->field].name, q->reach[axis][side],
                    q->reach[axis][side] > 1 ? "s" : "", axis - (3 - task->rank), task->n[axis],
                    q->reach[axis][side] + 1);
            }
    return STN_OK;
}

static stn_status canonical_steps(const stn_system_problem *g, stn_system_task *task, stn_error *error) {
    const uint64_t steps = g->steps ? g->steps : 1;
    if (steps > INT64_MAX / 2)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "steps is %" PRIu64 ": give less than 2^62", steps);
    if (g->every && steps % g->every)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "every is %" PRIu64 ", which does not divide the %" PRIu64 " steps", g->every, steps);
    if (g->every && g->in_place)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "every asks for a stack of states, which does not fit in place: give outputs of their own");
    task->stack = g->every != 0;
    task->steps = g->every ? g->every : steps;
    task->states = steps / task->steps;
    task->record_every = g->record_every ? g->record_every : 1;
    if (steps % task->record_every)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "record_every is %" PRIu64 ", which does not divide the %" PRIu64 " steps", task->record_every,
                        steps);
    return STN_OK;
}

static stn_status canonical_options(const stn_system_problem *g, stn_system_task *task, stn_error *error) {
    const int size = (int)stn_dtype_size(g->dtype), alignment = g->alignment ? g->alignment : 16;
    if (!size)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the dtype %d is unknown: use STN_F64, STN_F32 or STN_F16",
                        (int)g->dtype);
    if (alignment < size || alignment > 4096 || (alignment & (alignment - 1)))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the alignment is %d bytes: it must be a power of two from %d (one %s) to 4096", alignment,
                        size, stn_dtype_name(g->dtype));
    if (!(g->tolerance >= 0 && isfinite(g->tolerance)))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the problem's tolerance is %g: it must be finite and not below 0", g->tolerance);
    if (g->accuracy != STN_ACCURACY_GLOBAL && g->accuracy != STN_ACCURACY_LOCAL)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the accuracy %d is unknown: use STN_ACCURACY_GLOBAL or STN_ACCURACY_LOCAL", g->accuracy);
    task->tolerance = g->tolerance;
    task->local = g->accuracy == STN_ACCURACY_LOCAL;
    task->dtype = g->dtype;
    task->alignment = alignment;
    task->in_place = g->in_place != 0;
    for (int i = 0; i < g->system->ncoefficients; i++)
        task->is_number[i] = g->is_number ? g->is_number[i] != 0 : g->system->coefficients[i].has_value;
    return STN_OK;
}

static stn_status canonical_points(const stn_system_task *task, const char *what, size_t count,
                                   const stn_system_point *given, stn_system_point **canonical, int64_t *channels,
                                   stn_error *error) {
    if (!count) return STN_OK;
    if (!given)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s_count is %zu but %ss is NULL: give the list", what,
                        count, what);
    stn_system_point *points = *canonical = calloc(count, sizeof *points);
    if (!points) return stn_fail_memory(error, "a list of points", count * sizeof *points);
    for (size_t i = 0; i < count; i++) {
        if (given[i].field >= (size_t)task->system->nfields)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s %zu names field %zu, and the system has %d", what, i,
                            given[i].field, task->system->nfields);
        if (given[i].channel > INT32_MAX || !isfinite(given[i].weight))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "%s %zu has the channel %zu and the weight %g: channels count from 0, weights are finite",
                            what, i, given[i].channel, given[i].weight);
        points[i] = (stn_system_point){given[i].channel, given[i].field, {0}, given[i].weight};
        for (int own = 0; own < task->rank; own++) {
            const int axis = 3 - task->rank + own;
            points[i].index[axis] = given[i].index[own];
            if (given[i].index[own] < 0 || given[i].index[own] >= task->n[axis])
                return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                                "%s %zu is at %" PRId64 " along axis %d, which has the points 0 to %" PRId64, what, i,
                                given[i].index[own], own, task->n[axis] - 1);
        }
        *channels = stn_max(*channels, (int64_t)given[i].channel + 1);
    }
    return STN_OK;
}

/* ---- buffers --------------------------------------------------------------------------------- */

/* Finds the fields that need a spare buffer. The next state may overwrite the oldest level only if
 * no later equation reads that level, and the field's own equation reads it only at the same point,
 * not in a stencil. */
static void find_spares(stn_system_task *task, bool *mentioned, bool *spread) {
    const stn_system *system = task->system;
    for (int f = 0; f < system->nfields; f++) {
        int own = 0;
        while (system->equations[own].field != f) own++;
        task->spare[f] = 0;
        for (int e = own; e < system->nequations; e++) {
            const int root = system->equations[e].root;
            memset(mentioned, 0, (size_t)root + 1);
            memset(spread, 0, (size_t)root + 1);
            mentioned[root] = true;
            for (int i = root; i >= 0; i--) {
                const stn_system_node *node = &system->nodes[i];
                if (!mentioned[i]) continue;
                const bool under = spread[i] || node->op == STN_SYSTEM_STENCIL;
                for (int k = 0; k < stn_system_ops[node->op].operands; k++) {
                    mentioned[node->operand[k]] = true;
                    spread[node->operand[k]] = spread[node->operand[k]] || under;
                }
                const bool oldest =
                    node->op == STN_SYSTEM_FIELD && node->index == f && node->level == system->fields[f].levels - 1;
                if (oldest && (e > own || spread[i])) task->spare[f] = 1;
            }
        }
    }
}

static stn_status allocate_buffers(stn_system_task *task, stn_error *error) {
    const size_t nodes = (size_t)task->system->nnodes;
    bool *flags = malloc(2 * nodes);
    if (!flags) return stn_fail_memory(error, "a system", 2 * nodes);
    find_spares(task, flags, flags + nodes);
    free(flags);
    for (int f = 0; f < task->system->nfields; f++) {
        task->first[f] = task->arrays;
        task->arrays += task->system->fields[f].levels;
    }
    return STN_OK;
}

/* ---- making a task --------------------------------------------------------------------------- */

static stn_status canonicalise(const stn_system_problem *g, stn_system_task *task, stn_error *error) {
    STN_TRY(canonical_options(g, task, error));
    STN_TRY(canonical_grid(g, task, error));
    STN_TRY(canonical_steps(g, task, error));
    STN_TRY(stn_system_copy(g->system, &task->system, error));
    STN_TRY(check_reach(task, error));
    STN_TRY(
        canonical_points(task, "source", g->source_count, g->sources, &task->sources, &task->source_channels, error));
    STN_TRY(canonical_points(task, "receiver", g->receiver_count, g->receivers, &task->receivers,
                             &task->receiver_channels, error));
    task->nsources = g->source_count, task->nreceivers = g->receiver_count;
    return allocate_buffers(task, error);
}

stn_status stn_system_task_make(const stn_system_problem *given, stn_system_task *task, stn_error *error) {
    stn_system_problem g;
    memset(task, 0, sizeof *task);
    if (!given) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the problem is NULL: pass a stn_system_problem");
    STN_TRY(stn_read_versioned_struct(&stn_layout_system_problem, given, &g, error));
    if (!g.system)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the problem has no system: pass one of stn_system_parse");
    const stn_status status = canonicalise(&g, task, error);
    if (status != STN_OK) stn_system_task_clear(task);
    return status;
}

stn_status stn_system_problem_validate(const stn_system_problem *problem, stn_error *error) {
    stn_system_task task;
    STN_TRY(stn_system_task_make(problem, &task, error));
    stn_system_task_clear(&task);
    return STN_OK;
}

static stn_status copy_points(size_t count, const stn_system_point *from, stn_system_point **to, stn_error *error) {
    *to = count ? malloc(count * sizeof **to) : NULL;
    if (count && !*to) return stn_fail_memory(error, "a list of points", count * sizeof **to);
    if (count) memcpy(*to, from, count * sizeof **to);
    return STN_OK;
}

stn_status stn_system_task_copy(const stn_system_task *task, uint64_t steps, stn_system_task *copy, stn_error *error) {
    *copy = *task;
    copy->system = NULL, copy->sources = copy->receivers = NULL;
    copy->steps = steps;
    stn_status status = stn_system_copy(task->system, &copy->system, error);
    if (status == STN_OK) status = copy_points(task->nsources, task->sources, &copy->sources, error);
    if (status == STN_OK) status = copy_points(task->nreceivers, task->receivers, &copy->receivers, error);
    if (status != STN_OK) stn_system_task_clear(copy);
    return status;
}

void stn_system_task_clear(stn_system_task *task) {
    stn_system_destroy(task->system);
    free(task->sources);
    free(task->receivers);
    task->system = NULL, task->sources = task->receivers = NULL;
}

int64_t stn_system_task_points(const stn_system_task *task) { return task->n[0] * task->n[1] * task->n[2]; }
int64_t stn_system_task_numbers(const stn_system_task *task) { return task->batch * stn_system_task_points(task); }

void stn_system_updated_range(const stn_system_task *task, const stn_system_equation *equation, int64_t begin[3],
                              int64_t end[3]) {
    const stn_system_variable *v = &task->system->fields[equation->field];
    for (int axis = 0; axis < 3; axis++) {
        begin[axis] = v->side[axis][0].kind == STN_FIXED ? equation->reach[axis][0] : 0;
        end[axis] = task->n[axis] - (v->side[axis][1].kind == STN_FIXED ? equation->reach[axis][1] : 0);
        if (end[axis] < begin[axis]) begin[axis] = end[axis] = 0;
    }
}

double stn_system_round_to_dtype(stn_dtype dtype, double value) {
    if (dtype == STN_F64) return value;
    return dtype == STN_F32 ? (double)(float)value : (double)stn_half_to_float(stn_float_to_half((float)value));
}

/* ---- description ----------------------------------------------------------------------------- */

void stn_system_task_print(const stn_system_task *task, stn_text *text) {
    const stn_system *system = task->system;
    stn_text_printf(text, "%dD ", task->rank);
    for (int axis = 3 - task->rank; axis < 3; axis++)
        stn_text_printf(text, "%s%" PRId64, axis > 3 - task->rank ? " x " : "", task->n[axis]);
    stn_text_printf(text, ", %s, fields", stn_dtype_name(task->dtype));
    for (int f = 0; f < system->nfields; f++) {
        stn_text_printf(text, "%s %s", f ? "," : "", system->fields[f].name);
        if (system->fields[f].levels > 1) stn_text_printf(text, "(%d)", system->fields[f].levels);
    }
    if (task->batch > 1) stn_text_printf(text, ", batch %" PRId64, task->batch);
    stn_text_printf(text, ", %" PRIu64 " steps", task->steps * task->states);
    if (task->stack) stn_text_printf(text, ", every %" PRIu64 " kept", task->steps);
    if (task->nsources) stn_text_printf(text, ", %zu source points", task->nsources);
    if (task->nreceivers) stn_text_printf(text, ", %zu receiver points", task->nreceivers);
    if (task->in_place) stn_text_printf(text, ", in place");
    if (task->local) stn_text_printf(text, ", accurate locally");
}

void stn_system_task_json(const stn_system_task *task, stn_text *text) {
    char *source = NULL;
    stn_text_append(text, "{", 1);
    stn_json_integer(text, "rank", task->rank);
    stn_json_integers(text, "extent", task->n + 3 - task->rank, task->rank);
    stn_json_integer(text, "batch", task->batch);
    stn_json_text(text, "dtype", stn_dtype_name(task->dtype));
    stn_json_integer(text, "steps", (int64_t)(task->steps * task->states));
    stn_json_integer(text, "every", task->stack ? (int64_t)task->steps : 0);
    stn_json_integer(text, "in_place", task->in_place);
    stn_json_integer(text, "source_points", (int64_t)task->nsources);
    stn_json_integer(text, "receiver_points", (int64_t)task->nreceivers);
    stn_json_value(text, "tolerance", task->tolerance);
    stn_json_text(text, "accuracy", task->local ? "local" : "global");
    stn_json_key(text, "system");
    text->failed |= stn_system_print(task->system, &source, NULL) != STN_OK;
    stn_json_string(text, source);
    stn_text_free(source);
    stn_text_append(text, "}", 1);
}
