/* Plans of systems for teams: the reach of a step along the divided axis, and each member's part as
 * a system of its own, in which sides between parts are ordinary sides (as in team_plan.c).
 *
 * A halo for f steps is f times the reach of a step. If an assignment reads the .next of another
 * one, their reaches add up.
 *
 * If fields wrap along the divided axis, the first and the last member are neighbours, and the halo
 * at an end of the grid holds rows of the other end. A coefficient that does not wrap has two
 * values in such a halo row: the one given by its own boundary rule, which stencils in the
 * outermost rows of the grid read, and the one at the row itself, which computing the halo row
 * would need. Members store the first and exchange halos after every step, so that a computed value
 * of a halo row is never read. */
#include "team/team_system.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/versioned_struct.h"
#include "plan/error_bound.h"
#include "plan/plan.h"

/* ---- reach ----------------------------------------------------------------------------------- */

/* The indices along the divided axis, relative to the assigned point, at which a node is needed. */
typedef struct range {
    int64_t low, high;
    bool needed;
} range;

static void widen_range(range *to, int64_t low, int64_t high) {
    to->low = to->needed ? stn_min(to->low, low) : low;
    to->high = to->needed ? stn_max(to->high, high) : high;
    to->needed = true;
}

static range range_of_taps(const stn_system_stencil *stencil, int axis) {
    range of = {.needed = false};
    for (size_t k = 0; k < stencil->ntaps; k++)
        widen_range(&of, stencil->taps[k].offset[axis], stencil->taps[k].offset[axis]);
    return of;
}

/* The reach of an assignment, including that of assignments whose .next it reads. reach: of earlier
 * assignments, by field. */
static int64_t reach_of_equation(team_system *system, const stn_system_equation *equation, range *ranges,
                                 const int64_t *reach) {
    const stn_system *text = system->task.system;
    int64_t most = 0;
    memset(ranges, 0, ((size_t)equation->root + 1) * sizeof *ranges);
    ranges[equation->root].needed = true;
    for (int i = equation->root; i >= 0; i--) {
        const stn_system_node *node = &text->nodes[i];
        const range r = ranges[i];
        if (!r.needed) continue;
        const bool moves = r.low || r.high;
        const bool is_next = node->op == STN_SYSTEM_FIELD && node->level == STN_SYSTEM_NEXT;
        range taps = {0};
        if (node->op == STN_SYSTEM_STENCIL) taps = range_of_taps(&text->stencils[node->index], system->axis);
        for (int k = 0; k < stn_system_ops[node->op].operands; k++)
            widen_range(&ranges[node->operand[k]], r.low + taps.low, r.high + taps.high);
        if (node->op == STN_SYSTEM_COEFFICIENT && moves) system->coefficient_spreads[node->index] = true;
        if (node->op == STN_SYSTEM_FIELD && moves) system->spreads[node->index] = true;
        if (is_next && moves) system->chains = true;
        if (node->op == STN_SYSTEM_FIELD || node->op == STN_SYSTEM_COEFFICIENT)
            most = stn_max(most, stn_max(-r.low, r.high) + (is_next ? reach[node->index] : 0));
    }
    return most;
}

static stn_status find_reach(stn_team_plan *plan, stn_error *error) {
    const stn_system *text = plan->system->task.system;
    int64_t reach[STN_SYSTEM_MAX_FIELDS] = {0};
    range *ranges = calloc((size_t)text->nnodes, sizeof *ranges);
    if (!ranges) return stn_fail_memory(error, "a system's reach", (size_t)text->nnodes * sizeof *ranges);
    for (int e = 0; e < text->nequations; e++) {
        reach[text->equations[e].field] = reach_of_equation(plan->system, &text->equations[e], ranges, reach);
        plan->reach = stn_max(plan->reach, reach[text->equations[e].field]);
    }
    free(ranges);
    return STN_OK;
}

/* ---- whether the axis can be divided --------------------------------------------------------- */

/* Whether the axis ends at the sides of a field: assignments read past sides that do not wrap, or
 * fixed sides keep points. */
static bool ends(const team_system *system, int field) {
    const stn_system *text = system->task.system;
    const stn_system_side *side = text->fields[field].side[system->axis];
    int e = 0;
    while (text->equations[e].field != field) e++;
    const int *reach = text->equations[e].reach[system->axis];
    for (int s = 0; s < 2; s++)
        if (side[s].kind != STN_WRAP && (system->spreads[field] || (side[s].kind == STN_FIXED && reach[s])))
            return true;
    return false;
}

/* Whether a variable may have other values at corners in a team than on one device. Past sides of
 * two axes it is folded along axis 0 first: a constant side of axis 0 gives its constant at once,
 * and an odd side of axis 0 also changes the sign of a constant of the other axis. A halo row holds
 * values that were folded along axis 0 already, and is then folded along the other axes alone. */
static bool has_other_corners(const team_system *system, const stn_system_variable *variable) {
    bool constant[2] = {false}, odd[2] = {false}; /* along the divided axis, and along others */
    for (int axis = system->axis; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            constant[axis > system->axis] |= variable->side[axis][side].kind == STN_CONSTANT;
            odd[axis > system->axis] |= variable->side[axis][side].odd;
        }
    return (constant[0] && (constant[1] || odd[1])) || (odd[0] && constant[1]);
}

static stn_status check_sides(const stn_team_plan *plan, stn_error *error) {
    const team_system *system = plan->system;
    const stn_system *text = system->task.system;
    const char *wrapping = NULL, *ending = NULL;
    for (int f = 0; f < text->nfields; f++) {
        if (system->spreads[f] && text->fields[f].side[system->axis][0].kind == STN_WRAP)
            wrapping = text->fields[f].name;
        if (ends(system, f)) ending = text->fields[f].name;
    }
    if (wrapping && ending)
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "a team divides axis 0, along which the field %s wraps and the field %s does not: let both "
                        "wrap or neither, or use one device",
                        wrapping, ending);
    for (int c = 0; c < text->ncoefficients; c++) {
        if (!system->coefficient_spreads[c] || system->task.is_number[c]) continue;
        const bool wraps = text->coefficients[c].side[system->axis][0].kind == STN_WRAP;
        if (wraps && !wrapping)
            return stn_fail(error, STN_ERROR_UNSUPPORTED,
                            "a team divides axis 0, along which the coefficient %s wraps and no field does: give it "
                            "another boundary, or use one device",
                            text->coefficients[c].name);
        if (!wraps && wrapping && (system->chains || has_other_corners(system, &text->coefficients[c])))
            return stn_fail(error, STN_ERROR_UNSUPPORTED,
                            "a team divides axis 0, along which the field %s wraps and the coefficient %s, which "
                            "stencils read past the side, does not: write \"boundary %s = wrap\", or use one device",
                            wrapping, text->coefficients[c].name, text->coefficients[c].name);
    }
    return STN_OK;
}

/* ---- points ---------------------------------------------------------------------------------- */

/* Finds the points of `list` in the rows [begin, end) of a part, counted from its own first row. If
 * the axis wraps, a point may be there several times. made: the points found, numbers: their
 * indices in `list`; both may be NULL. Returns their number. */
static size_t points_in(const stn_team_plan *plan, const team_part *part, int64_t begin, int64_t end,
                        const stn_system_point *list, size_t count, stn_system_point *made, size_t *numbers) {
    const int axis = plan->system->axis;
    size_t found = 0;
    for (size_t k = 0; k < count; k++)
        for (int turn = -1; turn <= 1; turn++) {
            const int64_t local = list[k].index[axis] - part->first + turn * plan->rows;
            if (local < begin || local >= end) continue;
            if (made) {
                made[found] = list[k], numbers[found] = k;
                made[found].index[axis] = local + part->halo[0];
            }
            found++;
        }
    return found;
}

static stn_status find_points(const stn_team_plan *plan, int m, bool adds, stn_system_point **made, size_t **numbers,
                              size_t *count, stn_error *error) {
    const team_part *part = &plan->part[m];
    const stn_system_task *task = &plan->system->task;
    const stn_system_point *list = adds ? task->sources : task->receivers;
    const size_t all = adds ? task->nsources : task->nreceivers;
    const int64_t begin = adds ? -part->halo[0] : 0, end = part->rows + (adds ? part->halo[1] : 0);
    *count = points_in(plan, part, begin, end, list, all, NULL, NULL);
    *made = calloc(*count + 1, sizeof **made), *numbers = calloc(*count + 1, sizeof **numbers);
    if (!*made || !*numbers) return stn_fail_memory(error, "a list of points", *count * sizeof **made);
    (void)points_in(plan, part, begin, end, list, all, *made, *numbers);
    return STN_OK;
}

/* Renumbers the channels of sources without gaps. */
static stn_status number_channels(team_system_part *part, stn_error *error) {
    part->channels = calloc(part->nsources + 1, sizeof *part->channels);
    if (!part->channels) return stn_fail_memory(error, "a list of channels", part->nsources * sizeof *part->channels);
    for (size_t k = 0; k < part->nsources; k++) {
        size_t c = 0;
        while (c < part->nchannels && part->channels[c] != part->sources[k].channel) c++;
        if (c == part->nchannels) part->channels[part->nchannels++] = part->sources[k].channel;
        part->sources[k].channel = c;
    }
    return STN_OK;
}

static void clear_points(team_system_part *part) {
    free(part->sources), free(part->receivers), free(part->channels), free(part->record_of);
    part->sources = part->receivers = NULL, part->channels = part->record_of = NULL;
    part->nsources = part->nreceivers = part->nchannels = 0;
}

/* The points of a part. Receivers have a channel each, since those of one channel may lie in
 * several parts: the members record values, and the sums are made afterwards. */
static stn_status place_points(const stn_team_plan *plan, int m, team_system_part *part, stn_error *error) {
    size_t *numbers = NULL;
    clear_points(part);
    stn_status status = find_points(plan, m, true, &part->sources, &numbers, &part->nsources, error);
    free(numbers);
    if (status == STN_OK)
        status = find_points(plan, m, false, &part->receivers, &part->record_of, &part->nreceivers, error);
    if (status == STN_OK) status = number_channels(part, error);
    for (size_t k = 0; k < part->nreceivers && status == STN_OK; k++)
        part->receivers[k].channel = k, part->receivers[k].weight = 1;
    return status;
}

stn_status team_system_place(const stn_team_plan *plan, int m, stn_error *error) {
    return place_points(plan, m, &plan->system->part[m], error);
}

/* ---- a member's plan ------------------------------------------------------------------------- */

/* Sides between parts, and sides that nothing reads, become "nearest". */
static void set_sides(stn_system_side sides[2], const team_part *part, bool spreads) {
    for (int side = 0; side < 2; side++)
        if (part->neighbour[side] >= 0 || (!spreads && sides[side].kind == STN_WRAP))
            sides[side] = (stn_system_side){STN_NEAREST, false, 0};
}

static stn_status system_of_part(const stn_team_plan *plan, int m, stn_system **made, stn_error *error) {
    const team_system *system = plan->system;
    STN_TRY(stn_system_copy(system->task.system, made, error));
    for (int f = 0; f < (*made)->nfields && plan->members > 1; f++)
        set_sides((*made)->fields[f].side[system->axis], &plan->part[m], system->spreads[f]);
    for (int c = 0; c < (*made)->ncoefficients && plan->members > 1; c++)
        set_sides((*made)->coefficients[c].side[system->axis], &plan->part[m], system->coefficient_spreads[c]);
    return STN_OK;
}

/* The largest power of two, up to TEAM_SYSTEM_ALIGNMENT, that divides the arrays' distances. */
static int alignment_of(const stn_team_plan *plan, const team_part *part) {
    const int64_t bits =
        TEAM_SYSTEM_ALIGNMENT | team_system_level_bytes(plan, part) | team_system_coefficient_bytes(plan, part);
    return (int)(bits & -bits);
}

static uint64_t common_divisor(uint64_t a, uint64_t b) { return b ? common_divisor(b, a % b) : a; }

/* Steps between two records of the members: a common divisor of the task's record_every and of the
 * steps of all launches, since a launch may begin between two records of the task. */
static uint64_t record_every_of(const stn_team_plan *plan) {
    const uint64_t every = common_divisor(plan->system->task.record_every, plan->steps_per_exchange);
    return common_divisor(every, plan->steps % plan->steps_per_exchange);
}

/* Moves the indices of points from canonical axes to those of the caller, whose first axis is 0. */
static void make_own_axes(stn_system_point *points, size_t count, int axis) {
    for (size_t k = 0; k < count; k++)
        memmove(points[k].index, points[k].index + axis, (size_t)(STN_MAX_RANK - axis) * sizeof *points[k].index);
}

/* Transforms of a part would spread the halos' wrong rows, so parts are computed step by step. */
static stn_status make_plan(const stn_team_plan *plan, stn_context *context, int m, uint64_t steps,
                            const stn_plan_options *options, const stn_system *text, team_system_part *points,
                            stn_plan **made, stn_error *error) {
    const team_system *system = plan->system;
    const stn_system_task *task = &system->task;
    const team_part *part = &plan->part[m];
    int is_number[STN_SYSTEM_MAX_COEFFICIENTS];
    stn_system_problem own = STN_SYSTEM_PROBLEM_INIT;
    for (int c = 0; c < STN_SYSTEM_MAX_COEFFICIENTS; c++) is_number[c] = task->is_number[c];
    own.system = text, own.rank = task->rank;
    for (int axis = 0; axis < task->rank; axis++) own.extent[axis] = (size_t)task->n[3 - task->rank + axis];
    own.extent[0] = (size_t)(part->halo[0] + part->rows + part->halo[1]);
    own.batch = (size_t)task->batch, own.dtype = task->dtype, own.steps = steps;
    own.alignment = alignment_of(plan, part);
    own.is_number = is_number;
    make_own_axes(points->sources, points->nsources, system->axis);
    make_own_axes(points->receivers, points->nreceivers, system->axis);
    own.source_count = points->nsources, own.sources = points->sources;
    own.receiver_count = points->nreceivers, own.receivers = points->receivers;
    own.record_every = record_every_of(plan);
    own.tolerance = task->tolerance /
                    stn_error_of_runs((double)(stn_div_up((int64_t)plan->steps, (int64_t)plan->steps_per_exchange) *
                                               (int64_t)task->states));
    own.accuracy = plan->members > 1 || task->local ? STN_ACCURACY_LOCAL : STN_ACCURACY_GLOBAL;
    return stn_plan_create_system(context, &own, options, made, error);
}

static stn_status plan_part(const stn_team_plan *plan, stn_context *context, int m, uint64_t steps,
                            const stn_plan_options *options, stn_plan **made, stn_error *error) {
    stn_system *text = NULL;
    team_system_part points = {0};
    stn_status status = system_of_part(plan, m, &text, error);
    if (status == STN_OK) status = place_points(plan, m, &points, error);
    if (status == STN_OK) status = make_plan(plan, context, m, steps, options, text, &points, made, error);
    clear_points(&points);
    stn_system_destroy(text);
    return status;
}

static stn_status allocate(stn_context *context, int64_t bytes, void **memory, stn_error *error) {
    return bytes ? stn_memory_alloc(context, (size_t)bytes, memory, error) : STN_OK;
}

static stn_status make_part(stn_team_plan *plan, int m, stn_error *error) {
    team_system *system = plan->system;
    const stn_system_task *task = &system->task;
    stn_context *const context = plan->team->member[m].context;
    team_system_part *part = &system->part[m];
    int64_t arrays = 0;
    for (int c = 0; c < task->system->ncoefficients; c++) arrays += !task->is_number[c];
    system->record_every = record_every_of(plan);
    STN_TRY(team_system_place(plan, m, error));
    STN_TRY(
        allocate(context, arrays * team_system_coefficient_bytes(plan, &plan->part[m]), &plan->part[m].source, error));
    const int64_t launches = (int64_t)(team_system_launches(plan) * task->states);
    STN_TRY(allocate(context, launches * (int64_t)team_system_amplitude_bytes(plan, part), &part->amplitudes, error));
    return allocate(context, launches * (int64_t)team_system_record_bytes(plan, part), &part->records, error);
}

/* ---- a launch -------------------------------------------------------------------------------- */

static stn_status run_part(const stn_team_plan *plan, int m, stn_plan *own, const stn_lane *lane, stn_error *error) {
    const team_system *system = plan->system;
    const stn_system_task *task = &system->task;
    const team_part *part = &plan->part[m];
    const team_system_part *points = &system->part[m];
    const size_t level = (size_t)team_system_level_bytes(plan, part);
    const size_t coefficient = (size_t)team_system_coefficient_bytes(plan, part);
    const void *in[STN_SYSTEM_MAX_ARRAYS], *coefficients[STN_SYSTEM_MAX_COEFFICIENTS] = {NULL};
    void *out[STN_SYSTEM_MAX_ARRAYS];
    stn_system_arrays arrays = STN_SYSTEM_ARRAYS_INIT;
    stn_execution run = STN_EXECUTION_INIT;
    for (int i = 0; i < task->arrays; i++) {
        in[i] = (const char *)part->grid[plan->at] + (size_t)i * level;
        out[i] = (char *)part->grid[!plan->at] + (size_t)i * level;
    }
    for (int c = 0, at = 0; c < task->system->ncoefficients; c++)
        if (!task->is_number[c]) coefficients[c] = (const char *)part->source + (size_t)at++ * coefficient;
    arrays.in = in, arrays.out = out, arrays.coefficients = coefficients, arrays.numbers = system->numbers;
    if (points->nsources)
        arrays.amplitudes =
            (const char *)points->amplitudes + system->launch * team_system_amplitude_bytes(plan, points);
    if (points->nreceivers)
        arrays.records = (char *)points->records + system->launch * team_system_record_bytes(plan, points);
    team_watch_member(plan, m, &run);
    run.system = &arrays;
    run.stream = lane ? stn_lane_stream(lane) : NULL;
    return stn_plan_run(own, &run, error);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void destroy(stn_team_plan *plan) {
    team_system *system = plan->system;
    for (int m = 0; m < plan->members && system->part; m++) {
        clear_points(&system->part[m]);
        stn_memory_free(plan->team->member[m].context, system->part[m].amplitudes);
        stn_memory_free(plan->team->member[m].context, system->part[m].records);
    }
    stn_system_task_clear(&system->task);
    free(system->part);
    free(system);
}

static const team_kind system_kind = {plan_part, make_part, run_part, destroy};

static stn_status begin(stn_team *team, const stn_system_problem *given, stn_team_plan **plan, stn_error *error) {
    STN_TRY(team_plan_begin(team, plan, error));
    stn_team_plan *made = *plan;
    team_system *system = made->system = calloc(1, sizeof *system);
    if (!system) return stn_fail_memory(error, "a team's plan", sizeof *system);
    made->kind = &system_kind;
    STN_TRY(stn_system_task_make(given, &system->task, error));
    const stn_system_task *task = &system->task;
    system->axis = 3 - task->rank;
    system->part = calloc((size_t)team->count, sizeof *system->part);
    if (!system->part) return stn_fail_memory(error, "a team's plan", (size_t)team->count * sizeof *system->part);
    made->rank = task->rank, made->in_place = task->in_place, made->steps = task->steps;
    made->batch = task->arrays * task->batch;
    made->rows = task->n[system->axis];
    made->row_bytes = stn_system_task_points(task) / made->rows * (int64_t)stn_dtype_size(task->dtype);
    STN_TRY(find_reach(made, error));
    for (int f = 0; f < task->system->nfields; f++)
        if (system->spreads[f] && task->system->fields[f].side[system->axis][0].kind == STN_WRAP) made->wraps = true;
    team_plan_divide(made);
    if (made->members > 1) STN_TRY(check_sides(made, error));
    for (int c = 0; c < task->system->ncoefficients; c++)
        if (!task->is_number[c] && team_system_is_folded(made, c)) made->most = 1;
    return STN_OK;
}

stn_status stn_team_plan_create_system(stn_team *team, const stn_system_problem *given,
                                       const stn_plan_options *given_options, stn_team_plan **plan, stn_error *error) {
    stn_plan_options options;
    stn_error spare = {0}; /* for the other processes if the caller passes no error */
    if (!error) error = &spare;
    if (!team || !given || !plan)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_team_plan_create_system needs a team, a problem and a place");
    *plan = NULL;
    stn_team_plan *made = NULL;
    char words[256] = "";
    uint64_t hash = 0;
    stn_status status = stn_read_versioned_struct(&stn_layout_plan_options, given_options, &options, error);
    options.struct_size = sizeof options;
    if (status == STN_OK) status = begin(team, given, &made, error);
    if (status == STN_OK && team->ranks) hash = team_digest_system(&made->system->task, &options, words, sizeof words);
    return team_plan_finish(team, made, NULL, &options, status, hash, words, plan, error);
}
