/* Execution of divided transforms, in chunks; see team_fft.h. */
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "plan/plan.h"
#include "team/team_fft.h"

static const team_fft_range all = {0, INT64_MAX / 2};

static team_fft_range chunk(int64_t index, int64_t each) { return (team_fft_range){index * each, each}; }

/* ---- stages ---------------------------------------------------------------------------------- */

static stn_status run_plan(const stn_team_plan *plan, int m, stn_plan *own, const void *in, void *out,
                           stn_error *error) {
    const stn_lane *lane = plan->team->member[m].lane;
    stn_execution run = STN_EXECUTION_INIT;
    if (plan->team->ranks && !plan->team->ranks->nccl)
        run.progress = team_poll_ranks, run.progress_user = plan->team->ranks;
    run.in = in, run.out = out, run.stream = lane ? stn_lane_stream(lane) : NULL;
    return stn_plan_run(own, &run, error);
}

/* The plan of a chunk of a stage; NULL: the member has fewer chunks. */
static stn_plan *plan_of(const team_stage *stage, int64_t index) {
    const int64_t left = stage->count - index * stage->each;
    return left <= 0 ? NULL : stage->plan[left < stage->each];
}

/* Transforms the local axes of a chunk of rows. */
static stn_status run_local(const stn_team_plan *plan, const team_fft_grids *grids, int64_t index, stn_error *error) {
    const team_fft *fft = plan->fft;
    for (int m = 0; m < plan->members; m++) {
        const team_stage *stage = &fft->part[m].local;
        if (!team_is_here(plan->team, m) || !plan_of(stage, index)) continue;
        const int64_t row = index * stage->each;
        const unsigned char *const in = fft->local_first || fft->by_batch ? grids[m].in : grids[m].spectrum;
        unsigned char *const out = fft->local_first && !fft->by_batch ? grids[m].spectrum : grids[m].out;
        const int64_t in_row = fft->in_row, out_row = fft->out_row;
        STN_TRY(run_plan(plan, m, plan_of(stage, index), in + row * in_row, out + row * out_row, error));
    }
    return STN_OK;
}

/* Transforms axis 0 of a chunk of columns. */
static stn_status run_across(const stn_team_plan *plan, int64_t index, stn_error *error) {
    const team_fft *fft = plan->fft;
    for (int m = 0; m < plan->members; m++) {
        const team_fft_part *part = &fft->part[m];
        stn_plan *const own = plan_of(&part->across, index);
        if (!team_is_here(plan->team, m) || !own) continue;
        const int64_t grid = fft->rows * part->columns * fft->inner * fft->element;
        for (int64_t one = 0; one < plan->batch; one++) {
            unsigned char *const at =
                (unsigned char *)part->transposed + one * grid + index * part->across.each * fft->inner * fft->element;
            STN_TRY(run_plan(plan, m, own, at, at, error));
        }
    }
    return STN_OK;
}

static bool has_copies(const stn_team_plan *plan) { return !plan->team->on_host && !plan->team->ranks; }

static stn_status mark_copies(const stn_team_plan *plan, stn_error *error) {
    for (int m = 0; m < plan->members && has_copies(plan); m++)
        STN_TRY(stn_lane_mark(plan->team->member[m].copy_lane, error));
    return STN_OK;
}

/* Later work on the main lanes waits for the copies before the marks of the lanes of copies. */
static stn_status await_marks(const stn_team_plan *plan, stn_error *error) {
    for (int m = 0; m < plan->members && has_copies(plan); m++)
        STN_TRY(stn_lane_await(plan->team->member[m].lane, plan->team->member[m].copy_lane, error));
    return STN_OK;
}

static stn_status await_copies(const stn_team_plan *plan, stn_error *error) {
    STN_TRY(mark_copies(plan, error));
    return await_marks(plan, error);
}

/* Exchanges rows for columns (unless this is done already), transforms the columns, and exchanges
 * them for rows: one chunk of columns after another, each exchanged while the previous one is
 * transformed. */
static stn_status columns_stage(const stn_team_plan *plan, const team_fft_grids *grids, bool receives,
                                stn_error *error) {
    const team_fft *fft = plan->fft;
    const int64_t chunks = stn_div_up(fft->part[0].columns, fft->column_chunk);
    if (receives) STN_TRY(team_fft_exchange(plan, grids, false, all, chunk(0, fft->column_chunk), error));
    STN_TRY(await_copies(plan, error));
    for (int64_t i = 0; i < chunks; i++) {
        const bool more = receives && i + 1 < chunks;
        if (more) STN_TRY(team_fft_exchange(plan, grids, false, all, chunk(i + 1, fft->column_chunk), error));
        if (more) STN_TRY(mark_copies(plan, error));
        STN_TRY(run_across(plan, i, error));
        STN_TRY(team_mark(plan, error));
        if (more) STN_TRY(await_marks(plan, error));
        STN_TRY(team_fft_exchange(plan, grids, true, all, chunk(i, fft->column_chunk), error));
    }
    return await_copies(plan, error);
}

static stn_status rows_stage(const stn_team_plan *plan, const team_fft_grids *grids, bool sends, stn_error *error) {
    const team_fft *fft = plan->fft;
    const int64_t chunks = stn_div_up(fft->part[0].rows, fft->row_chunk);
    for (int64_t i = 0; i < chunks; i++) {
        STN_TRY(run_local(plan, grids, i, error));
        if (!sends) continue;
        STN_TRY(team_mark(plan, error));
        STN_TRY(team_fft_exchange(plan, grids, false, chunk(i, fft->row_chunk), all, error));
    }
    return STN_OK;
}

stn_status team_fft_forth(const stn_team_plan *plan, const team_fft_grids *grids, stn_error *error) {
    const team_fft *fft = plan->fft;
    STN_TRY(rows_stage(plan, grids, true, error));
    STN_TRY(await_copies(plan, error));
    for (int64_t i = 0; i < stn_div_up(fft->part[0].columns, fft->column_chunk); i++)
        STN_TRY(run_across(plan, i, error));
    return STN_OK;
}

stn_status team_fft_back(const stn_team_plan *plan, const team_fft_grids *grids, stn_error *error) {
    STN_TRY(columns_stage(plan, grids, false, error));
    return rows_stage(plan, grids, false, error);
}

static stn_status transform(const stn_team_plan *plan, const team_fft_grids *grids, stn_error *error) {
    const team_fft *fft = plan->fft;
    STN_TRY(team_mark(plan, error)); /* copies wait for the inputs */
    if (fft->by_batch) return run_local(plan, grids, 0, error);
    if (fft->local_first) STN_TRY(rows_stage(plan, grids, true, error));
    STN_TRY(columns_stage(plan, grids, !fft->local_first, error));
    return fft->local_first ? STN_OK : rows_stage(plan, grids, false, error);
}

/* ---- the caller's arrays --------------------------------------------------------------------- */

/* The caller's pointers: one to an array in host memory (in a team of processes, this process's
 * part), or one to each member's part. */
typedef struct arrays {
    bool whole;
    const void *const *in;
    void *const *out;
} arrays;

static int pointer_of(const stn_team_plan *plan, const arrays *caller, int m) {
    return caller->whole || plan->team->ranks ? 0 : m;
}

/* Copies a member's rows from the caller's input to `to`, or from `from` to the caller's output. */
static stn_status move_rows(const stn_team_plan *plan, const arrays *caller, int m, void *to, const void *from,
                            stn_error *error) {
    const team_fft *fft = plan->fft;
    const team_fft_part *part = &fft->part[m];
    const team_member *member = &plan->team->member[m];
    const int64_t row = to ? fft->in_row : fft->out_row, bytes = part->rows * row;
    for (int64_t one = 0; one < plan->batch; one++) {
        const int64_t own = one * bytes;
        const int64_t theirs = caller->whole && !plan->team->ranks ? (one * fft->rows + part->first) * row : own;
        const int at = pointer_of(plan, caller, m);
        /* check_arrays: both lists are there. NOLINTBEGIN(clang-analyzer-core.NullDereference) */
        void *const target = to ? (char *)to + own : (char *)caller->out[at] + theirs;
        const void *const source = to ? (const char *)caller->in[at] + theirs : (const char *)from + own;
        /* NOLINTEND(clang-analyzer-core.NullDereference) */
        if (!member->lane)
            memcpy(target, source, (size_t)bytes);
        else if (!caller->whole)
            STN_TRY(stn_device_copy(member->context->device, target, source, (size_t)bytes,
                                    stn_lane_stream(member->lane), error));
        else
            STN_TRY(to ? stn_memory_upload(member->context, target, source, (size_t)bytes, error)
                       : stn_memory_download(member->context, target, source, (size_t)bytes, error));
    }
    return STN_OK;
}

/* Sets the pointers of a member's stages. If `staged`, its input and output are grids of the plan.
 * This is needed for whole arrays, which must be divided, and in a team of processes, whose outputs
 * are written only after all have computed theirs. */
static stn_status choose_grids(const stn_team_plan *plan, const arrays *caller, bool staged, int m,
                               team_fft_grids *grids, stn_error *error) {
    const team_fft *fft = plan->fft;
    const bool result_in_second = fft->local_first || fft->by_batch;
    void *second = NULL;
    if (staged)
        STN_TRY(team_fft_grid(plan, m, 0, &grids->in, error));
    else
        grids->in = (void *)caller->in[m], grids->out = caller->out[m];
    if (fft->by_batch ? staged && !fft->in_place : !fft->local_in_place && (staged || !fft->local_first))
        STN_TRY(team_fft_grid(plan, m, 1, &second, error));
    if (staged) grids->out = second && result_in_second ? second : grids->in;
    grids->spectrum = second ? second : grids->out;
    return STN_OK;
}

static stn_status run_all(stn_team_plan *plan, const arrays *caller, team_fft_grids *grids, stn_error *error) {
    const bool staged = caller->whole || plan->team->ranks;
    stn_status status = STN_OK;
    for (int m = 0; m < plan->members && status == STN_OK; m++) {
        if (!team_is_here(plan->team, m)) continue;
        status = choose_grids(plan, caller, staged, m, &grids[m], error);
        if (status == STN_OK && staged) status = move_rows(plan, caller, m, grids[m].in, NULL, error);
    }
    if (status == STN_OK) status = transform(plan, grids, error);
    if (status == STN_OK && staged) status = team_wait(plan, error);
    if (plan->team->ranks && status != STN_OK) return team_ranks_fail(plan->team->ranks, status, error);
    STN_TRY(status);
    STN_TRY(team_agree(plan->team, STN_OK, 0, "the end of a transform", NULL, 0, error));
    for (int m = 0; m < plan->members && staged; m++)
        if (team_is_here(plan->team, m)) STN_TRY(move_rows(plan, caller, m, NULL, grids[m].out, error));
    return STN_OK;
}

static stn_status run_and_wait(stn_team_plan *plan, const arrays *caller, stn_error *error) {
    team_fft_grids *grids = calloc((size_t)plan->members, sizeof *grids);
    stn_status status = grids ? STN_OK : stn_fail_memory(error, "pointers", (size_t)plan->members * sizeof *grids);
    if (grids)
        status = run_all(plan, caller, grids, error);
    else if (plan->team->ranks)
        status = team_ranks_fail(plan->team->ranks, status, error);
    free(grids);
    const stn_status waited = team_wait(plan, status == STN_OK ? error : NULL);
    return status == STN_OK ? waited : status;
}

static stn_status check_arrays(const stn_team_plan *plan, const arrays *caller, stn_error *error) {
    if (!caller->in || !caller->out)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "a team's transform keeps no result between executions: give the input and the output");
    for (int m = 0; m < plan->members; m++) {
        const int at = pointer_of(plan, caller, m);
        if (!team_is_here(plan->team, m)) continue;
        if (!caller->in[at] || !caller->out[at])
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "member %d of the team has rows, but no pointer to them",
                            m);
        if ((caller->in[at] == caller->out[at]) != plan->fft->in_place)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the transform %s in place, but the input and the output of member %d are %s: set "
                            "in_place, or give other arrays",
                            plan->fft->in_place ? "is" : "is not", m,
                            plan->fft->in_place ? "not the same" : "the same");
    }
    return STN_OK;
}

stn_status team_fft_execute(stn_team_plan *plan, const void *const *in, void *const *out, stn_error *error) {
    const arrays caller = {.in = in, .out = out};
    STN_TRY(team_agree(plan->team, check_arrays(plan, &caller, error), 0, "a transform", NULL, 0, error));
    return run_and_wait(plan, &caller, error);
}

stn_status team_fft_execute_host(stn_team_plan *plan, const void *in, void *out, stn_error *error) {
    const arrays caller = {.whole = true, .in = in ? &in : NULL, .out = out ? &out : NULL};
    STN_TRY(team_agree(plan->team, check_arrays(plan, &caller, error), 0, "a transform", NULL, 0, error));
    return run_and_wait(plan, &caller, error);
}
