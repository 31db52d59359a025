/* A plan of a team: a run of T steps as exchanges of halos and runs of f steps of each member's
 * part.
 *
 *     the grid's rows:  | part 0 | part 1 | .. |        halos: f times the reach of the taps, at sides between parts
 *
 *     for each of T / f launches:  exchange halos;  every member takes f steps of its part and halos
 *
 * After f steps the halos are wrong, from the outside inwards, and the part's own rows are right:
 * no value goes further than taps carry it. So any side serves there, and members' plans are plans
 * as any other. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/grown.h"
#include "base/text.h"
#include "plan/accuracy.h"
#include "plan/plan.h"
#include "team/team.h"

/* Of an error, the part that adds up from launch to launch. */
#define ALIKE 0.125
enum { ALIGNMENT = 256 };

/* ---- parts
 * --------------------------------------------------------------------------------------------------------- */

static int64_t reach_of(const stn_problem *problem) {
    const stn_tap *taps = stn_stencil_taps(problem->stencil);
    int64_t reach = 0;
    for (size_t i = 0; i < stn_stencil_tap_count(problem->stencil); i++)
        reach = stn_max(reach, taps[i].offset[0] < 0 ? -taps[i].offset[0] : taps[i].offset[0]);
    return reach;
}

/* So many members get rows that each has at least as many as taps reach. */
static int members_of(const stn_team *team, int64_t rows, int64_t reach) {
    return (int)stn_max(1, stn_min(team->count, rows / stn_max(reach, 1)));
}

/* Parts differ by one row at most; halos of `depth` rows. */
static void cut(stn_team_plan *plan, const stn_problem *problem, int64_t depth) {
    const bool wraps = problem->boundary[0][0].kind == STN_WRAP;
    const int64_t each = plan->rows / plan->members, more = plan->rows % plan->members;
    for (int m = 0; m < plan->members; m++) {
        team_part *part = &plan->part[m];
        part->first = m * each + stn_min(m, more);
        part->rows = each + (m < more);
        part->neighbour[0] = m ? m - 1 : wraps ? plan->members - 1 : -1;
        part->neighbour[1] = m + 1 < plan->members ? m + 1 : wraps ? 0 : -1;
        for (int side = 0; side < 2; side++) {
            if (plan->members == 1) part->neighbour[side] = -1;
            part->halo[side] = part->neighbour[side] < 0 ? 0 : depth;
        }
    }
}

/* The problem of a member's part, with its halos, of so many steps. */
static stn_problem problem_of(const stn_team_plan *plan, const stn_problem *problem, int m, uint64_t steps) {
    const team_part *part = &plan->part[m];
    stn_problem own = *problem;
    own.extent[0] = (size_t)(part->halo[0] + part->rows + part->halo[1]);
    own.steps = steps;
    own.in_place = 0;
    own.alignment = ALIGNMENT;
    own.tolerance = problem->tolerance / stn_error_of(ALIKE, 1, ceil((double)plan->steps / (double)plan->between));
    for (int side = 0; side < 2; side++)
        if (part->neighbour[side] >= 0) own.boundary[0][side] = (stn_boundary){STN_NEAREST, 0};
    return own;
}

/* ---- how many steps between two exchanges
 * -------------------------------------------------------------------------- */

typedef struct search {
    stn_team_plan *plan;
    const stn_problem *problem;
    stn_plan_options options;
    int64_t reach;
    uint64_t most, best; /* steps between exchanges: as halos allow, and the fastest so far */
    double fastest;
} search;

/* Predicted seconds of the whole run. The rest, of fewer steps, takes its share of a launch.
 * INFINITY: nothing serves it. */
static double seconds_of(const search *s, uint64_t between) {
    stn_team_plan *plan = s->plan;
    plan->between = between;
    cut(plan, s->problem, (int64_t)between * s->reach);
    const stn_problem part = problem_of(plan, s->problem, plan->members / 2, between);
    stn_plan *whole;
    if (stn_plan_create(plan->team->member[0].context, &part, &s->options, &whole, NULL) != STN_OK) return INFINITY;
    const double runs = (double)plan->steps / (double)between, seconds = stn_plan_predicted_seconds(whole);
    const double halo = (double)((int64_t)between * s->reach * plan->row_bytes * plan->batch);
    stn_plan_destroy(whole);
    return runs * seconds + (plan->members > 1 ? ceil(runs) * team_exchange_seconds(plan->team, 2 * halo) : 0);
}

/* Is it the fastest so far? */
static bool try_between(search *s, uint64_t between) {
    if (!between || between > s->most) return false;
    const double seconds = seconds_of(s, between);
    if (!(seconds < s->fastest)) return false;
    s->fastest = seconds, s->best = between;
    return true;
}

/* As many as halos allow, then powers of two below that until three are slower than one before;
 * then other multiples of the fastest's eighths, for strategies take several steps a launch, and a
 * number that these do not divide leaves a shorter one. */
static void choose_between(stn_team_plan *plan, const stn_problem *problem, const stn_plan_options *options,
                           int64_t reach) {
    search s = {plan, problem, *options, reach, plan->steps, 1, INFINITY};
    s.options.estimate_only = 1;
    if (plan->members > 1 && reach > 0 && s.most > (uint64_t)(plan->rows / plan->members / reach))
        s.most = (uint64_t)(plan->rows / plan->members / reach);
    (void)try_between(&s, s.most);
    uint64_t power = 1;
    while (power <= s.most / 2) power *= 2;
    for (int worse = 0; plan->members > 1 && power && worse < 3; power /= 2)
        worse = try_between(&s, power) ? 0 : worse + 1;
    const uint64_t coarse = s.best;
    for (uint64_t eighths = 5; plan->members > 1 && coarse < plan->steps && eighths <= 14; eighths++)
        if (eighths != 8 && coarse * eighths / 8 != coarse) (void)try_between(&s, coarse * eighths / 8);
    plan->between = s.best, plan->predicted = s.fastest;
    cut(plan, problem, (int64_t)s.best * reach);
}

/* ---- making
 * -------------------------------------------------------------------------------------------------------- */

static stn_status check_problem(const stn_problem *problem, stn_error *error) {
    STN_TRY(stn_problem_validate(problem, error));
    bool strides = problem->in_batch_stride || problem->out_batch_stride;
    for (int axis = 0; axis < STN_MAX_RANK; axis++)
        strides = strides || problem->in_stride[axis] || problem->out_stride[axis];
    if (strides)
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "a team's grids are packed, and the problem has strides: leave them 0 and bring packed parts");
    if (problem->every && problem->every != (problem->steps ? problem->steps : 1))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "a team keeps no snapshots: execute a plan of `every` steps again and again instead");
    return STN_OK;
}

static stn_status make_part(stn_team_plan *plan, const stn_problem *problem, const stn_plan_options *options, int m,
                            stn_error *error) {
    team_part *part = &plan->part[m];
    stn_context *const context = plan->team->member[m].context;
    const uint64_t rest = plan->steps % plan->between;
    const stn_problem own = problem_of(plan, problem, m, plan->between), last = problem_of(plan, problem, m, rest);
    STN_TRY(stn_plan_create(context, &own, options, &part->plan[0], error));
    if (rest) STN_TRY(stn_plan_create(context, &last, options, &part->plan[1], error));
    const size_t bytes = (size_t)(plan->batch * (int64_t)own.extent[0] * plan->row_bytes);
    for (int i = 0; i < 2; i++) STN_TRY(stn_memory_alloc(context, bytes, &part->grid[i], error));
    return plan->has_source ? stn_memory_alloc(context, bytes, &part->source, error) : STN_OK;
}

static void fill_plan(stn_team *team, const stn_problem *problem, stn_team_plan *plan) {
    plan->team = team;
    plan->rank = stn_stencil_rank(problem->stencil);
    plan->rows = (int64_t)problem->extent[0];
    plan->batch = problem->batch ? (int64_t)problem->batch : 1;
    plan->steps = problem->steps ? problem->steps : 1;
    plan->has_source = problem->has_source != 0, plan->in_place = problem->in_place != 0;
    plan->row_bytes = (int64_t)stn_dtype_size(problem->dtype);
    for (int axis = 1; axis < plan->rank; axis++) plan->row_bytes *= (int64_t)problem->extent[axis];
}

stn_status stn_team_plan_create(stn_team *team, const stn_problem *given, const stn_plan_options *given_options,
                                stn_team_plan **plan, stn_error *error) {
    stn_problem problem;
    stn_plan_options options;
    if (!team || !given || !plan)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_plan_create needs a team, a problem and a place");
    *plan = NULL;
    STN_TRY(stn_read_grown(&stn_layout_problem, given, &problem, error));
    STN_TRY(stn_read_grown(&stn_layout_plan_options, given_options, &options, error));
    problem.struct_size = sizeof problem, options.struct_size = sizeof options;
    STN_TRY(check_problem(&problem, error));
    problem.every = 0;
    stn_team_plan *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "a team's plan", sizeof *made);
    const int64_t reach = reach_of(&problem);
    fill_plan(team, &problem, made);
    made->members = members_of(team, made->rows, reach);
    choose_between(made, &problem, &options, reach);
    stn_status status = STN_OK;
    for (int m = 0; m < made->members && status == STN_OK; m++) status = make_part(made, &problem, &options, m, error);
    if (status == STN_OK)
        *plan = made;
    else
        stn_team_plan_destroy(made);
    return status;
}

void stn_team_plan_destroy(stn_team_plan *plan) {
    if (!plan) return;
    for (int m = 0; m < plan->members; m++) {
        team_part *part = &plan->part[m];
        stn_context *const context = plan->team->member[m].context;
        for (int i = 0; i < 2; i++) stn_plan_destroy(part->plan[i]), stn_memory_free(context, part->grid[i]);
        stn_memory_free(context, part->source);
    }
    free(plan);
}

stn_status stn_team_plan_local(const stn_team_plan *plan, int member, size_t *first, size_t *rows, stn_error *error) {
    if (!plan || !first || !rows || member < 0 || member >= plan->team->count)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_team_plan_local needs a plan, a member of its team and places for the answer");
    const bool has = member < plan->members;
    *first = has ? (size_t)plan->part[member].first : (size_t)plan->rows;
    *rows = has ? (size_t)plan->part[member].rows : 0;
    return STN_OK;
}

stn_status stn_team_plan_set_weights(stn_team_plan *plan, size_t count, const double *weights, stn_error *error) {
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_plan_set_weights needs a plan");
    for (int m = 0; m < plan->members; m++)
        for (int i = 0; i < 2; i++)
            if (plan->part[m].plan[i]) STN_TRY(stn_plan_set_weights(plan->part[m].plan[i], count, weights, error));
    return STN_OK;
}

/* ---- running
 * ------------------------------------------------------------------------------------------------------- */

/* Grids of a caller: parts on the members' devices, or whole grids in host memory. `in` NULL: the
 * run goes on from the grids that the last one left; `out` NULL: it leaves its result there. */
typedef struct grids {
    bool whole;
    const void *const *in, *const *source; /* whole: one pointer each */
    void *const *out;
} grids;

/* Bytes of one member's grids: to the device's `to`, from the device's or the caller's `from`. */
static stn_status copy_rows(const team_member *member, bool whole, bool comes, void *to, const void *from, size_t bytes,
                            stn_error *error) {
    if (!member->lane) {
        memcpy(to, from, bytes);
        return STN_OK;
    }
    if (whole)
        return comes ? stn_memory_upload(member->context, to, from, bytes, error)
                     : stn_memory_download(member->context, to, from, bytes, error);
    return stn_device_copy(member->context->device, to, from, bytes, stn_lane_stream(member->lane), error);
}

/* A part's own rows of all grids: from the caller's to `grid`, or (back) from there to the
 * caller's. */
static stn_status move_part(const stn_team_plan *plan, int m, bool whole, const void *given, void *back, void *grid,
                            stn_error *error) {
    const team_part *part = &plan->part[m];
    const team_member *member = &plan->team->member[m];
    const size_t bytes = (size_t)(part->rows * plan->row_bytes);
    for (int64_t b = 0; b < plan->batch; b++) {
        unsigned char *const own = (unsigned char *)grid + team_offset(plan, part, b, 0);
        const int64_t at = whole ? (b * plan->rows + part->first) * plan->row_bytes : b * (int64_t)bytes;
        if (given)
            STN_TRY(copy_rows(member, whole, true, own, (const unsigned char *)given + at, bytes, error));
        else if (back)
            STN_TRY(copy_rows(member, whole, false, (unsigned char *)back + at, own, bytes, error));
    }
    return STN_OK;
}

static stn_status load(stn_team_plan *plan, const grids *caller, stn_error *error) {
    if (caller->in) plan->at = 0;
    for (int m = 0; m < plan->members; m++) {
        const int at = caller->whole ? 0 : m;
        if (caller->in) STN_TRY(move_part(plan, m, caller->whole, caller->in[at], NULL, plan->part[m].grid[0], error));
        if (plan->has_source)
            STN_TRY(move_part(plan, m, caller->whole, caller->source[at], NULL, plan->part[m].source, error));
    }
    STN_TRY(team_mark(plan, error));
    return plan->has_source ? team_exchange(plan, 2, error) : STN_OK;
}

static stn_status step(stn_team_plan *plan, bool is_rest, stn_error *error) {
    const int from = plan->at;
    STN_TRY(team_exchange(plan, from, error));
    for (int m = 0; m < plan->members; m++) {
        const team_part *part = &plan->part[m];
        stn_execution run = STN_EXECUTION_INIT;
        run.in = part->grid[from], run.out = part->grid[!from], run.source = part->source;
        run.stream = plan->team->on_host ? NULL : stn_lane_stream(plan->team->member[m].lane);
        STN_TRY(stn_plan_run(part->plan[is_rest], &run, error));
    }
    plan->at = !from;
    return team_mark(plan, error);
}

static stn_status run_all(stn_team_plan *plan, const grids *caller, stn_error *error) {
    const uint64_t launches = plan->steps / plan->between;
    STN_TRY(load(plan, caller, error));
    for (uint64_t i = 0; i < launches; i++) STN_TRY(step(plan, false, error));
    if (plan->steps % plan->between) STN_TRY(step(plan, true, error));
    if (caller->whole) STN_TRY(team_wait(plan, error)); /* downloads wait for no other stream */
    for (int m = 0; m < plan->members && caller->out; m++)
        STN_TRY(move_part(plan, m, caller->whole, NULL, caller->out[caller->whole ? 0 : m],
                          plan->part[m].grid[plan->at], error));
    return STN_OK;
}

static stn_status run_and_wait(stn_team_plan *plan, const grids *caller, stn_error *error) {
    if (!caller->in && !plan->has_grids)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "a team's run is to go on from the grids of the last one, and there was none: bring the input");
    const stn_status status = run_all(plan, caller, error);
    plan->has_grids = status == STN_OK;
    const stn_status waited = team_wait(plan, status == STN_OK ? error : NULL);
    return status == STN_OK ? waited : status;
}

static stn_status check_source(const stn_team_plan *plan, bool given, stn_error *error) {
    if (plan->has_source == given) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    plan->has_source ? "the plan has a constant source but none is given: bring it in `source`"
                                     : "a source is given but the plan has none: set problem.has_source");
}

stn_status stn_team_plan_execute(stn_team_plan *plan, const void *const *in, void *const *out,
                                 const void *const *source, stn_error *error) {
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_plan_execute needs a plan");
    STN_TRY(check_source(plan, source != NULL, error));
    for (int m = 0; m < plan->members; m++)
        if ((in && !in[m]) || (out && !out[m]) || (source && !source[m]))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "member %d of the team has rows, but no pointer to them",
                            m);
    return run_and_wait(plan, &(grids){.in = in, .out = out, .source = source}, error);
}

stn_status stn_team_plan_execute_host(stn_team_plan *plan, const void *in, void *out, const void *source,
                                      stn_error *error) {
    if (!plan) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_plan_execute_host needs a plan");
    STN_TRY(check_source(plan, source != NULL, error));
    return run_and_wait(plan, &(grids){true, in ? &in : NULL, &source, out ? &out : NULL}, error);
}

/* ---- in words
 * ------------------------------------------------------------------------------------------------------ */

stn_status stn_team_plan_describe(const stn_team_plan *plan, char **text, stn_error *error) {
    if (!plan || !text)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_plan_describe needs a plan and a place");
    *text = NULL;
    stn_text words = STN_TEXT_EMPTY;
    stn_text_printf(&words,
                    "team:       %d of %d members, %" PRIu64 " steps, %" PRIu64 " between exchanges of %lld rows",
                    plan->members, plan->team->count, plan->steps, plan->between, (long long)plan->part[0].halo[1]);
    stn_text_printf(&words, "\npredicted:  %.6g s", plan->predicted);
    if (!plan->team->on_host) stn_text_printf(&words, "; the link copies %.4g GB/s", 1e-9 * plan->team->link_bandwidth);
    for (int m = 0; m < plan->members; m++)
        stn_text_printf(&words, "\nmember %2d:  %s, rows %lld to %lld, %s", m,
                        plan->team->member[m].context->machine.name, (long long)plan->part[m].first,
                        (long long)(plan->part[m].first + plan->part[m].rows - 1),
                        stn_plan_strategy(plan->part[m].plan[0]));
    return stn_text_take(&words, text, error);
}
