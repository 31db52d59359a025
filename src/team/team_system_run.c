/* Execution of a system's plan for a team: the caller's arrays to and from the members' grids, the
 * steps between kept states, and the records of receivers. */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/half.h"
#include "base/versioned_struct.h"
#include "plan/plan.h"
#include "team/team_system.h"

enum { TAG_RECORDS = 2 }; /* after those of halos, which are the numbers of sides */

/* The caller's arrays: those of each member of this process, or of the whole grid in host memory.
 * If `in` is NULL in all arrays, the run continues from the members' grids; if `out` is NULL in all
 * arrays, the result stays in the members' grids. */
typedef struct caller {
    bool whole;
    int count;
    stn_system_arrays *arrays; /* indexed by arrays_of */
} caller;

static const stn_system_arrays *arrays_of(const stn_team_plan *plan, const caller *given, int m) {
    return &given->arrays[given->whole || plan->team->ranks ? 0 : m];
}

/* ---- the caller's arrays --------------------------------------------------------------------- */

/* Copies a part's own rows of `grids` consecutive grids from the caller's array `given` to the
 * member's memory (if `comes`) or back. `at` is the member's first grid, which corresponds to grid
 * number `first` of `given`. With `whole`, `given` holds whole grids, else this part's rows
 * only. */
static stn_status move_rows(const stn_team_plan *plan, int m, bool whole, bool comes, char *at, int64_t grids,
                            char *given, int64_t first, stn_error *error) {
    const team_part *part = &plan->part[m];
    const int64_t rows = whole ? plan->rows : part->rows, before = whole ? part->first : 0;
    for (int64_t b = 0; b < grids; b++) {
        char *const own = at + team_offset(plan, part, b, 0);
        char *const other = given + ((first + b) * rows + before) * plan->row_bytes;
        STN_TRY(team_copy_rows(&plan->team->member[m], whole, comes, comes ? own : other, comes ? other : own,
                               (size_t)(part->rows * plan->row_bytes), error));
    }
    return STN_OK;
}

/* Exchanges the halos of coefficient number `at`, counted among the coefficients that are arrays,
 * by a copy of the plan with this coefficient as its only grid. */
static stn_status exchange_coefficient(const stn_team_plan *plan, int64_t at, stn_error *error) {
    stn_team_plan view = *plan;
    view.batch = 1;
    view.part = malloc((size_t)plan->members * sizeof *view.part);
    if (!view.part) return stn_fail_memory(error, "an exchange", (size_t)plan->members * sizeof *view.part);
    memcpy(view.part, plan->part, (size_t)plan->members * sizeof *view.part);
    for (int m = 0; m < plan->members; m++)
        if (view.part[m].source)
            view.part[m].source =
                (char *)view.part[m].source + at * team_system_coefficient_bytes(plan, &plan->part[m]);
    const stn_status status = team_exchange(&view, 2, error);
    free(view.part);
    return status;
}

static void negate_or_fill(stn_dtype dtype, void *row, size_t bytes, bool fills, double value) {
    const size_t size = stn_dtype_size(dtype);
    for (size_t i = 0; i < bytes / size; i++)
        if (dtype == STN_F64)
            ((double *)row)[i] = fills ? value : -((double *)row)[i];
        else if (dtype == STN_F32)
            ((float *)row)[i] = fills ? (float)value : -((float *)row)[i];
        else
            ((uint16_t *)row)[i] = fills ? stn_float_to_half((float)value) : (uint16_t)(((uint16_t *)row)[i] ^ 0x8000);
}

/* Fills the halo at an end of the grid by the boundary rule of coefficient c. */
static stn_status fold_end(const stn_team_plan *plan, int m, int side, int c, char *at, stn_error *error) {
    const team_part *part = &plan->part[m];
    const stn_system_task *task = &plan->system->task;
    const stn_system_side *sides = task->system->coefficients[c].side[plan->system->axis];
    stn_context *const context = plan->team->member[m].context;
    const size_t bytes = (size_t)plan->row_bytes;
    void *row = malloc(bytes);
    stn_status status = row ? STN_OK : stn_fail_memory(error, "a halo", bytes);
    for (int64_t i = 0; i < part->halo[side] && status == STN_OK; i++) {
        const int64_t to = side ? part->rows + i : -1 - i;
        double sign = 1, value = 0;
        const int64_t from = stn_system_fold(part->first + to, plan->rows, sides, &sign, &value);
        if (from >= 0)
            status =
                stn_memory_download(context, row, at + team_offset(plan, part, 0, from - part->first), bytes, error);
        if (from < 0 || sign < 0) negate_or_fill(task->dtype, row, bytes, from < 0, value);
        if (status == STN_OK)
            status = stn_memory_upload(context, at + team_offset(plan, part, 0, to), row, bytes, error);
    }
    free(row);
    return status;
}

static stn_status fold_ends(const stn_team_plan *plan, stn_error *error) {
    const stn_system_task *task = &plan->system->task;
    int64_t at = -1;
    for (int c = 0; c < task->system->ncoefficients; c++) {
        at += !task->is_number[c];
        if (task->is_number[c] || !team_system_is_folded(plan, c)) continue;
        STN_TRY(team_wait(plan, error)); /* downloads are not ordered after other streams */
        for (int side = 0; side < 2; side++) {
            const int m = side ? plan->members - 1 : 0;
            char *const source = plan->part[m].source;
            if (team_is_here(plan->team, m))
                STN_TRY(fold_end(plan, m, side, c, source + at * team_system_coefficient_bytes(plan, &plan->part[m]),
                                 error));
        }
    }
    return STN_OK;
}

/* Copies the coefficients to the members, and exchanges their halos, which steps do not change. */
static stn_status load_coefficients(stn_team_plan *plan, const caller *given, stn_error *error) {
    const stn_system_task *task = &plan->system->task;
    int64_t count = 0;
    /* check_fields: arrays are there. NOLINTBEGIN(clang-analyzer-core.NullDereference) */
    for (int c = 0; c < task->system->ncoefficients; c++) {
        if (task->is_number[c]) continue;
        for (int m = 0; m < plan->members; m++)
            if (team_is_here(plan->team, m))
                STN_TRY(move_rows(
                    plan, m, given->whole, true,
                    (char *)plan->part[m].source + count * team_system_coefficient_bytes(plan, &plan->part[m]), 1,
                    (char *)arrays_of(plan, given, m)->coefficients[c], 0, error));
        count++;
    }
    /* NOLINTEND(clang-analyzer-core.NullDereference) */
    STN_TRY(team_mark(plan, error));
    for (int64_t at = 0; at < count; at++) STN_TRY(exchange_coefficient(plan, at, error));
    STN_TRY(fold_ends(plan, error));
    plan->system->has_coefficients = true;
    return STN_OK;
}

/* Copies the amplitudes of the channels of a member's sources, of all steps, to the member. */
static stn_status load_amplitudes(const stn_team_plan *plan, int m, const void *amplitudes, stn_error *error) {
    const team_system *system = plan->system;
    const team_system_part *part = &system->part[m];
    const size_t size = team_system_point_size(system), each = team_system_amplitude_bytes(plan, part);
    const uint64_t launches = team_system_launches(plan) * system->task.states;
    if (!each) return STN_OK;
    const size_t bytes = launches * each;
    char *own = calloc(1, bytes);
    if (!own) return stn_fail_memory(error, "a member's amplitudes", bytes);
    for (uint64_t s = 0, within; s < plan->steps * system->task.states; s++) {
        char *const to = own + team_system_launch_of(plan, s, &within) * each + within * part->nchannels * size;
        const char *const from = (const char *)amplitudes + s * (size_t)system->task.source_channels * size;
        for (size_t c = 0; c < part->nchannels; c++) memcpy(to + c * size, from + part->channels[c] * size, size);
    }
    const stn_status status = stn_memory_upload(plan->team->member[m].context, part->amplitudes, own, bytes, error);
    free(own);
    return status;
}

static stn_status load(stn_team_plan *plan, const caller *given, stn_error *error) {
    const stn_system_task *task = &plan->system->task;
    if (given->arrays[0].in) plan->at = 0;
    plan->failed = STN_OK;
    plan->system->launch = 0, plan->system->numbers = given->arrays[0].numbers;
    for (int m = 0; m < plan->members; m++) {
        const stn_system_arrays *arrays = arrays_of(plan, given, m);
        if (!team_is_here(plan->team, m)) continue;
        for (int i = 0; i < task->arrays && arrays->in; i++)
            STN_TRY(move_rows(plan, m, given->whole, true,
                              (char *)plan->part[m].grid[0] + i * team_system_level_bytes(plan, &plan->part[m]),
                              task->batch, (char *)arrays->in[i], 0, error));
        STN_TRY(load_amplitudes(plan, m, given->arrays[0].amplitudes, error));
    }
    if (given->arrays[0].coefficients || !plan->system->has_coefficients)
        STN_TRY(load_coefficients(plan, given, error));
    return team_mark(plan, error);
}

/* Stores the kept state number `state` in the caller's arrays. */
static stn_status store(const stn_team_plan *plan, const caller *given, int64_t state, stn_error *error) {
    const stn_system_task *task = &plan->system->task;
    for (int m = 0; m < plan->members; m++) {
        const stn_system_arrays *arrays = arrays_of(plan, given, m);
        if (!team_is_here(plan->team, m) || !arrays->out) continue;
        for (int i = 0; i < task->arrays; i++)
            if (arrays->out[i])
                STN_TRY(
                    move_rows(plan, m, given->whole, false,
                              (char *)plan->part[m].grid[plan->at] + i * team_system_level_bytes(plan, &plan->part[m]),
                              task->batch, arrays->out[i], state * task->batch, error));
    }
    return STN_OK;
}

/* ---- records --------------------------------------------------------------------------------- */

static size_t record_bytes(const stn_team_plan *plan, int m) {
    return team_system_launches(plan) * plan->system->task.states *
           team_system_record_bytes(plan, &plan->system->part[m]);
}

/* Adds the members' recorded values in the order of the points, as one device adds them. */
static void add_records(const stn_team_plan *plan, char *const *values, void *records) {
    const team_system *system = plan->system;
    const stn_system_task *task = &system->task;
    const uint64_t steps = plan->steps * task->states, every = system->record_every;
    const size_t channels = (size_t)task->receiver_channels, batch = (size_t)task->batch;
    size_t at[TEAM_MAX_RANKS] = {0}; /* the next receiver of each member */
    memset(records, 0, (size_t)(steps / task->record_every) * batch * channels * team_system_point_size(system));
    for (size_t k = 0; k < task->nreceivers; k++) {
        const stn_system_point *point = &task->receivers[k];
        int m = 0;
        /* Each receiver is on one member. NOLINTBEGIN(clang-analyzer-core.NullDereference) */
        while (at[m] == system->part[m].nreceivers || system->part[m].record_of[at[m]] != k) m++;
        const size_t of_member = system->part[m].nreceivers;
        for (uint64_t s = task->record_every, within; s <= steps; s += task->record_every) {
            const char *row = values[m] + team_system_launch_of(plan, s - 1, &within) *
                                              team_system_record_bytes(plan, &system->part[m]);
            for (size_t b = 0; b < batch; b++) {
                const size_t from = (within / every * batch + b) * of_member + at[m];
                const size_t to = ((s / task->record_every - 1) * batch + b) * channels + point->channel;
                if (task->dtype == STN_F64)
                    ((double *)records)[to] += point->weight * ((const double *)(const void *)row)[from];
                else
                    ((float *)records)[to] += (float)point->weight * ((const float *)(const void *)row)[from];
            }
        }
        /* NOLINTEND(clang-analyzer-core.NullDereference) */
        at[m]++;
    }
}

/* Member 0's process receives the values of all others. */
static stn_status gather(const stn_team_plan *plan, char *const *values, stn_error *error) {
    team_message *messages = calloc((size_t)plan->members, sizeof *messages);
    int count = 0;
    if (!messages) return stn_fail_memory(error, "messages", (size_t)plan->members * sizeof *messages);
    const int own = plan->team->own;
    for (int m = own ? own : 1; m < (own ? stn_min(own + 1, plan->members) : plan->members); m++)
        if (record_bytes(plan, m))
            messages[count++] = (team_message){own ? 0 : m, TAG_RECORDS, own != 0, values[m], record_bytes(plan, m)};
    const stn_status status = team_ranks_transfer(plan->team->ranks, messages, count, error);
    free(messages);
    return status;
}

/* The recorded values of the members, in host memory: values[m] is owned by the caller. */
static stn_status fetch_records(const stn_team_plan *plan, char **values, stn_error *error) {
    STN_TRY(team_wait(plan, error));
    for (int m = 0; m < plan->members; m++) {
        const bool here = team_is_here(plan->team, m);
        if (!here && plan->team->own) continue;
        if (!here && !plan->system->part[m].record_of) STN_TRY(team_system_place(plan, m, error));
        const size_t bytes = record_bytes(plan, m);
        if (!bytes) continue;
        values[m] = malloc(bytes);
        if (!values[m]) return stn_fail_memory(error, "records", bytes);
        if (here)
            STN_TRY(stn_memory_download(plan->team->member[m].context, values[m], plan->system->part[m].records, bytes,
                                        error));
    }
    return plan->team->ranks ? gather(plan, values, error) : STN_OK;
}

/* ---- a run ----------------------------------------------------------------------------------- */

static stn_status run_states(stn_team_plan *plan, const caller *given, char **values, stn_error *error) {
    const stn_system_task *task = &plan->system->task;
    STN_TRY(load(plan, given, error));
    for (uint64_t state = 0; state < task->states; state++) {
        for (uint64_t i = 0; i < team_system_launches(plan); i++, plan->system->launch++) {
            STN_TRY(team_step(plan, i == plan->steps / plan->steps_per_exchange, error));
            STN_TRY(team_record_failure(plan, team_watch_reach(plan, team_steps_of(plan, i), error)));
        }
        if (given->whole || plan->team->ranks) STN_TRY(team_wait(plan, error));
        if (task->stack) STN_TRY(store(plan, given, (int64_t)state, error));
    }
    return task->nreceivers ? fetch_records(plan, values, error) : STN_OK;
}

static stn_status run_all(stn_team_plan *plan, const caller *given, char **values, stn_error *error) {
    const stn_status status = team_watch_cancelled(plan, run_states(plan, given, values, error), error);
    if (plan->team->ranks && status != STN_OK) return team_ranks_fail(plan->team->ranks, status, error);
    STN_TRY(status);
    STN_TRY(team_agree_at_end(plan, plan->steps * plan->system->task.states, error));
    if (!plan->system->task.stack) STN_TRY(store(plan, given, 0, error));
    if (plan->system->task.nreceivers && plan->team->own == 0) add_records(plan, values, given->arrays[0].records);
    return STN_OK;
}

static stn_status run_and_wait(stn_team_plan *plan, const caller *given, stn_error *error) {
    char **values = calloc((size_t)plan->members, sizeof *values);
    stn_status status = values ? STN_OK : stn_fail_memory(error, "records", (size_t)plan->members * sizeof *values);
    status = team_agree(plan->team, status, 0, "memory of records", NULL, 0, error);
    team_watch_begin(plan, plan->steps * plan->system->task.states);
    if (status == STN_OK) status = team_watch_end(plan, run_all(plan, given, values, error), error);
    plan->has_grids = status == STN_OK;
    if (status != STN_OK) plan->system->has_coefficients = false;
    plan->system->numbers = NULL;
    const stn_status waited = team_wait(plan, status == STN_OK ? error : NULL);
    for (int m = 0; values && m < plan->members; m++) free(values[m]);
    free(values);
    return status == STN_OK ? waited : status;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static stn_status check_fields(const stn_team_plan *plan, int m, const stn_system_arrays *arrays, stn_error *error) {
    const stn_system_task *task = &plan->system->task;
    if (!arrays->in && !plan->has_grids)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "a team's run continues from the result of the previous one, and there was none: give the input");
    for (int i = 0; i < task->arrays; i++)
        if ((arrays->in && !arrays->in[i]) || (arrays->out && !arrays->out[i] && !task->stack))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "array %d of %s is NULL for member %d: list the arrays of all levels", i,
                            arrays->in && !arrays->in[i] ? "in" : "out", m);
    for (int c = 0; c < task->system->ncoefficients; c++) {
        const void *first = arrays->coefficients ? arrays->coefficients[c] : NULL;
        const bool kept = !arrays->coefficients && plan->system->has_coefficients;
        if (task->is_number[c] ? first != NULL : !first && !kept)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the coefficient %s is %s in the plan: %s for member %d",
                            task->system->coefficients[c].name, task->is_number[c] ? "a number" : "an array",
                            task->is_number[c] ? "leave its array NULL" : "give its array", m);
        if (task->is_number[c] && !arrays->numbers && !task->system->coefficients[c].has_value)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the coefficient %s has no number: give one in stn_system_arrays.numbers",
                            task->system->coefficients[c].name);
    }
    return STN_OK;
}

static stn_status check_given(const stn_team_plan *plan, const caller *given, stn_error *error) {
    const stn_system_task *task = &plan->system->task;
    const stn_system_arrays *first = &given->arrays[0];
    if (!task->nsources != !first->amplitudes || (plan->team->own == 0 && !task->nreceivers != !first->records))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_system_arrays.amplitudes go with a plan that has sources, and .records with one that has "
                        "receivers: give them then, and only then");
    for (int m = 0; m < plan->members; m++) {
        const stn_system_arrays *arrays = arrays_of(plan, given, m);
        if (!team_is_here(plan->team, m)) continue;
        if (!arrays->in != !first->in || !arrays->out != !first->out || !arrays->coefficients != !first->coefficients)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "member %d has other lists of arrays than member 0: give the same lists for all", m);
        STN_TRY(check_fields(plan, m, arrays, error));
    }
    return STN_OK;
}

/* A hash of the arguments that must be equal in all processes. */
static uint64_t hash_of(const stn_team_plan *plan, const stn_system_arrays *arrays) {
    const stn_system_task *task = &plan->system->task;
    const size_t amplitudes =
        plan->steps * task->states * (size_t)task->source_channels * team_system_point_size(plan->system);
    uint64_t hash = 1 + (arrays->in != NULL) + 2 * (arrays->coefficients != NULL);
    for (int c = 0; arrays->numbers && c < task->system->ncoefficients; c++) {
        uint64_t bits = 0;
        if (task->is_number[c]) memcpy(&bits, &arrays->numbers[c], sizeof bits);
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
    }
    for (size_t i = 0; arrays->amplitudes && i < amplitudes; i++)
        hash = (hash ^ ((const unsigned char *)arrays->amplitudes)[i]) * 0x100000001b3u;
    return hash;
}

static stn_status execute(stn_team_plan *plan, const caller *given, stn_error *error) {
    const stn_status status = check_given(plan, given, error);
    const stn_system_arrays *first = &given->arrays[0];
    STN_TRY(team_agree(plan->team, status, plan->team->ranks && status == STN_OK ? hash_of(plan, first) : 0,
                       first->in ? "an execution from an input" : "an execution that goes on", NULL, 0, error));
    return run_and_wait(plan, given, error);
}

static stn_status check_plan(const stn_team_plan *plan, bool has_arrays, const char *name, stn_error *error) {
    if (!plan || !has_arrays) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s needs a plan and arrays", name);
    if (plan->system) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the plan is of no system: execute it by stn_team_plan_execute");
}

stn_status stn_team_plan_execute_system(stn_team_plan *plan, const stn_system_arrays *const *arrays, stn_error *error) {
    stn_error spare = {0}; /* for the other processes if the caller passes no error */
    if (!error) error = &spare;
    STN_TRY(check_plan(plan, arrays != NULL, "stn_team_plan_execute_system", error));
    const int count = plan->team->ranks ? 1 : plan->members;
    caller given = {.count = count, .arrays = calloc((size_t)count, sizeof *given.arrays)};
    stn_status status = STN_OK;
    if (!given.arrays) status = stn_fail_memory(error, "lists of arrays", (size_t)count * sizeof *given.arrays);
    for (int m = 0; m < count && status == STN_OK; m++)
        status = arrays[m] ? stn_read_versioned_struct(&stn_layout_system_arrays, arrays[m], &given.arrays[m], error)
                           : stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                                      "member %d of the team has rows, but no arrays of them", m);
    if (status != STN_OK)
        status = team_agree(plan->team, status, 0, "an execution", NULL, 0, error);
    else
        status = execute(plan, &given, error);
    free(given.arrays);
    return status;
}

stn_status stn_team_plan_execute_system_host(stn_team_plan *plan, const stn_system_arrays *arrays, stn_error *error) {
    stn_system_arrays read;
    STN_TRY(check_plan(plan, arrays != NULL, "stn_team_plan_execute_system_host", error));
    if (plan->team->ranks)
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "no process of a team holds the whole grid: give its part to stn_team_plan_execute_system");
    STN_TRY(stn_read_versioned_struct(&stn_layout_system_arrays, arrays, &read, error));
    return execute(plan, &(caller){true, 1, &read}, error);
}
