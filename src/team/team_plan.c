/* A plan of a team (domain decomposition along the slowest axis). In a run of T steps, exchanges of
 * halos alternate with runs of f steps of every member's part.
 *
 *     the grid's rows:  | part 0 | part 1 | .. |
 *     halos:            f times the reach of the taps, at sides between parts
 *
 *     for each of T / f launches:
 *         exchange halos
 *         every member computes f steps of its part and halos
 *
 * After f steps the halos are wrong, but the part's own rows are correct, because a step propagates
 * values no further than its taps reach. So the outer ends of halos may have any boundary
 * condition, and members' plans are ordinary plans. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/text.h"
#include "base/versioned_struct.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "team/team_fft.h"
#include "team/team_spectral.h"

/* ALIGNMENT: bytes. DESCRIBED: the largest team for which the parts of other processes are
 * described. */
enum { ALIGNMENT = 256, DESCRIBED = 16 };
/* Seconds of the host's calls for an exchange with one GPU, as measured by stentor-team, and for a
 * launch. */
#define EXCHANGE_CALLS 7e-6
#define LAUNCH_CALL 3e-6

/* ---- parts ----------------------------------------------------------------------------------- */

static int64_t reach_of(const stn_problem *problem) {
    const stn_tap *taps = stn_stencil_taps(problem->stencil);
    int64_t reach = 0;
    for (size_t i = 0; i < stn_stencil_tap_count(problem->stencil); i++)
        reach = stn_max(reach, taps[i].offset[0] < 0 ? -taps[i].offset[0] : taps[i].offset[0]);
    return reach;
}

/* Divides the rows into parts that differ by one row at most, with halos of `depth` rows. */
static void cut(stn_team_plan *plan, int64_t depth) {
    const bool wraps = plan->wraps;
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

static int64_t depth_of(const team_part *part) { return stn_max(part->halo[0], part->halo[1]); }

/* The problem of a member's part with its halos. */
static stn_problem problem_of(const stn_team_plan *plan, const stn_problem *problem, int m, uint64_t steps) {
    const team_part *part = &plan->part[m];
    stn_problem own = *problem;
    own.extent[0] = (size_t)team_rows(part);
    own.steps = steps;
    own.in_place = 0;
    own.alignment = ALIGNMENT;
    const double runs = ceil((double)plan->steps / (double)plan->steps_per_exchange);
    own.tolerance = problem->tolerance / stn_error_of_runs(runs);
    for (int side = 0; side < 2; side++)
        if (part->neighbour[side] >= 0) own.boundary[0][side] = (stn_boundary){STN_NEAREST, 0};
    return own;
}

/* Makes the plan of member m's part, in the context of member `where`. */
static stn_status plan_part(const stn_team_plan *plan, int where, const stn_problem *problem, int m, uint64_t steps,
                            const stn_plan_options *options, stn_plan **made, stn_error *error) {
    stn_context *const context = plan->team->member[where].context;
    *made = NULL;
    if (plan->kind) return plan->kind->plan_part(plan, context, m, steps, options, made, error);
    const stn_problem own = problem_of(plan, problem, m, steps);
    return stn_plan_create(context, &own, options, made, error);
}

/* ---- how many steps between two exchanges ---------------------------------------------------- */

typedef struct search {
    stn_team_plan *plan;
    const stn_problem *problem;
    stn_plan_options options;
    uint64_t most, best; /* steps per exchange: limit due to halos; fastest so far */
    double fastest;
    uint64_t fused; /* steps of a launch of the first plan that was tried */
} search;

/* Estimates the plan of a part, and sets s->fused if it is 0. The seconds are INFINITY if no
 * strategy applies. */
static stn_estimate estimate_part(search *s) {
    const stn_team_plan *plan = s->plan;
    stn_plan *made;
    if (plan_part(plan, plan->team->own, s->problem, plan->members / 2, plan->steps_per_exchange, &s->options, &made,
                  NULL) != STN_OK)
        return (stn_estimate){.seconds = INFINITY};
    stn_estimate estimate = made->estimate;
    estimate.seconds = stn_plan_predicted_seconds(made);
    if (!s->fused) s->fused = (uint64_t)ceil((double)plan->steps_per_exchange / fmax(1, estimate.launches));
    stn_plan_destroy(made);
    return estimate;
}

/* The number of neighbours of the member for which predictions are made. */
static int sides_of(const stn_team_plan *plan) {
    const team_part *part = &plan->part[plan->members / 2];
    return (part->neighbour[0] >= 0) + (part->neighbour[1] >= 0);
}

/* Predicted seconds of an exchange. */
static double exchange_seconds(const search *s) {
    const stn_team_plan *plan = s->plan;
    const double halo = (double)((int64_t)plan->steps_per_exchange * plan->reach * plan->row_bytes * plan->batch);
    return plan->members > 1 ? team_exchange_seconds(plan->team, sides_of(plan) * halo) : 0;
}

/* Seconds that one thread takes to enqueue, on each of this process's GPUs, an exchange and
 * `launches` launches. */
static double enqueuing_seconds(const search *s, double launches) {
    return s->plan->team->gpus * (EXCHANGE_CALLS + LAUNCH_CALL * launches);
}

/* Sets the plan's steps per exchange and its parts, and returns the predicted seconds of the whole
 * run; a last interval of fewer steps counts in proportion. */
static double predict_run(search *s, uint64_t steps) {
    stn_team_plan *plan = s->plan;
    plan->steps_per_exchange = steps;
    cut(plan, (int64_t)steps * plan->reach);
    const double runs = (double)plan->steps / (double)steps;
    const stn_estimate part = estimate_part(s);
    return fmax(runs * part.seconds + ceil(runs) * exchange_seconds(s), runs * enqueuing_seconds(s, part.launches));
}

/* Predicts the run with this number of steps between exchanges, and keeps the number if it is the
 * fastest so far; returns whether it is. */
static bool try_steps(search *s, uint64_t steps) {
    if (!steps || steps > s->most || steps == s->best) return false;
    const double seconds = predict_run(s, steps);
    if (!(seconds < s->fastest)) return false;
    s->fastest = seconds, s->best = steps;
    return true;
}

/* The multiple of `fused` that is nearest to `steps`; `steps` itself if it is less than 2 `fused`,
 * or if `fused` is 0 because no strategy supports the problem. */
static uint64_t rounded_to(uint64_t steps, uint64_t fused) {
    return !fused || steps < 2 * fused ? steps : (steps + fused / 2) / fused * fused;
}

/* Tries numbers of steps between two exchanges and keeps the fastest:
 * 1. the largest number that the halos allow, which also shows how many steps a launch of the
 *    members' strategy takes;
 * 2. the steps of a launch times powers of two, from the largest down, until three in a row bring
 *    no improvement;
 * 3. 4/8, 5/8 ... 14/8 of the fastest so far, rounded to multiples of the steps of a launch,
 *    because any other number leaves a shorter, less efficient launch before each exchange. */
static void choose_steps_per_exchange(stn_team_plan *plan, const stn_problem *problem,
                                      const stn_plan_options *options) {
    const int64_t reach = plan->reach;
    search s = {plan, problem, *options, plan->steps, 0, INFINITY, 0};
    s.options.estimate_only = 1;
    if (plan->members > 1 && reach > 0 && s.most > (uint64_t)(plan->rows / plan->members / reach))
        s.most = (uint64_t)(plan->rows / plan->members / reach);
    if (plan->most) s.most = (uint64_t)stn_min((int64_t)s.most, (int64_t)plan->most);
    if (plan->team->steps_per_exchange)
        s.most = (uint64_t)stn_min((int64_t)s.most, (int64_t)plan->team->steps_per_exchange);
    (void)try_steps(&s, s.most);
    const bool is_free = plan->members > 1 && !plan->team->steps_per_exchange;
    uint64_t multiple = stn_max(1, (int64_t)s.fused);
    while (multiple <= s.most / 2) multiple *= 2;
    for (int worse = 0; is_free && multiple && worse < 3; multiple /= 2)
        worse = try_steps(&s, multiple) ? 0 : worse + 1;
    const uint64_t coarse = s.best;
    for (uint64_t eighths = 4; is_free && coarse < plan->steps && eighths <= 14; eighths++)
        (void)try_steps(&s, rounded_to(coarse * eighths / 8, s.fused));
    plan->steps_per_exchange = s.best ? s.best : 1, plan->predicted = s.fastest;
    cut(plan, (int64_t)plan->steps_per_exchange * reach);
}

/* ---- making ---------------------------------------------------------------------------------- */

static stn_status check_problem(const stn_problem *problem, stn_error *error) {
    STN_TRY(stn_problem_validate(problem, error));
    bool strides = problem->in_batch_stride || problem->out_batch_stride;
    for (int axis = 0; axis < STN_MAX_RANK; axis++)
        strides = strides || problem->in_stride[axis] || problem->out_stride[axis];
    if (strides)
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "a team's grids are packed, and the problem has strides: leave them 0 and give packed parts");
    if (problem->in_element || problem->out_element || problem->normalized ||
        (problem->divisor != 0 && problem->divisor != 1))
        return stn_fail(
            error, STN_ERROR_UNSUPPORTED,
            "a team's grids hold numbers of the dtype: leave in_element, out_element, divisor and normalized 0");
    if (problem->every && problem->every != (problem->steps ? problem->steps : 1))
        return stn_fail(
            error, STN_ERROR_UNSUPPORTED,
            "a team keeps no snapshots of a stencil's run: leave `every` 0, and make a shorter run for each");
    return STN_OK;
}

static stn_status make_part(stn_team_plan *plan, const stn_problem *problem, const stn_plan_options *options, int m,
                            stn_error *error) {
    team_part *part = &plan->part[m];
    stn_context *const context = plan->team->member[m].context;
    const uint64_t rest = plan->steps % plan->steps_per_exchange;
    for (int i = 0; i < (plan->spectral ? 0 : rest ? 2 : 1); i++) {
        const uint64_t steps = i ? rest : plan->steps_per_exchange;
        STN_TRY(plan_part(plan, m, problem, m, steps, options, &part->plan[i], error));
    }
    const size_t bytes = (size_t)(plan->batch * team_rows(part) * plan->row_bytes);
    for (int i = 0; i < 2; i++) STN_TRY(stn_memory_alloc(context, bytes, &part->grid[i], error));
    if (plan->kind) return plan->kind->make_part(plan, m, error);
    return plan->has_source ? stn_memory_alloc(context, bytes, &part->source, error) : STN_OK;
}

/* Allocates memory for halos to and from other processes if the rows of a message are not
 * contiguous in host memory. coming[side] receives this part's halo at `side`. leaving[side] holds
 * rows of this part, which are sent to the neighbour at the opposite side (!side). */
static stn_status allocate_halo_messages(stn_team_plan *plan, stn_error *error) {
    team_part *part = &plan->part[plan->team->own];
    if (!plan->team->ranks || plan->team->ranks->nccl || plan->team->own >= plan->members ||
        (plan->team->on_host && plan->batch == 1))
        return STN_OK;
    const int64_t depth = depth_of(part);
    const size_t bytes = (size_t)(plan->batch * depth * plan->row_bytes);
    for (int side = 0; side < 2; side++) {
        if (part->neighbour[side] >= 0 && depth && !(part->coming[side] = malloc(bytes)))
            return stn_fail_memory(error, "a halo", bytes);
        if (part->neighbour[!side] >= 0 && depth && !(part->leaving[side] = malloc(bytes)))
            return stn_fail_memory(error, "a halo", bytes);
    }
    return STN_OK;
}

static void fill_plan(const stn_problem *problem, stn_team_plan *plan) {
    plan->rank = stn_stencil_rank(problem->stencil);
    plan->rows = (int64_t)problem->extent[0], plan->reach = reach_of(problem);
    plan->wraps = problem->boundary[0][0].kind == STN_WRAP;
    plan->batch = problem->batch ? (int64_t)problem->batch : 1;
    plan->steps = problem->steps ? problem->steps : 1;
    plan->has_source = problem->has_source != 0, plan->in_place = problem->in_place != 0;
    plan->row_bytes = (int64_t)stn_dtype_size(problem->dtype);
    for (int axis = 1; axis < plan->rank; axis++) plan->row_bytes *= (int64_t)problem->extent[axis];
}

static stn_status read_given(const stn_problem *given, const stn_plan_options *given_options, stn_problem *problem,
                             stn_plan_options *options, stn_error *error) {
    STN_TRY(stn_read_versioned_struct(&stn_layout_problem, given, problem, error));
    STN_TRY(stn_read_versioned_struct(&stn_layout_plan_options, given_options, options, error));
    problem->struct_size = sizeof *problem, options->struct_size = sizeof *options;
    STN_TRY(check_problem(problem, error));
    problem->every = 0;
    return STN_OK;
}

stn_status team_plan_begin(stn_team *team, stn_team_plan **plan, stn_error *error) {
    stn_team_plan *made = calloc(1, sizeof *made);
    team_part *part = calloc((size_t)team->count, sizeof *part);
    if (!made || !part) {
        free(made), free(part);
        return stn_fail_memory(error, "a team's plan", sizeof *made + (size_t)team->count * sizeof *part);
    }
    made->part = part, made->team = team, made->members = 1;
    *plan = made;
    return STN_OK;
}

/* Each member that gets rows has at least as many as a step reaches. */
void team_plan_divide(stn_team_plan *plan) {
    plan->members = (int)stn_max(1, stn_min(plan->team->count, plan->rows / stn_max(plan->reach, 1)));
    plan->steps_per_exchange = 1;
    cut(plan, plan->reach);
}

static stn_status begin_plan(stn_team *team, const stn_problem *problem, stn_team_plan **plan, stn_error *error) {
    STN_TRY(team_plan_begin(team, plan, error));
    fill_plan(problem, *plan);
    team_plan_divide(*plan);
    return STN_OK;
}

stn_status team_predict(stn_team *team, const stn_problem *given, const stn_plan_options *given_options,
                        stn_team_plan **plan, stn_error *error) {
    stn_problem problem;
    stn_plan_options options;
    *plan = NULL;
    STN_TRY(read_given(given, given_options, &problem, &options, error));
    STN_TRY(begin_plan(team, &problem, plan, error));
    choose_steps_per_exchange(*plan, &problem, &options);
    return STN_OK;
}

/* What rank 0 decides for all ranks. */
typedef struct agreed_choice {
    uint64_t steps_per_exchange;
    double predicted;
    bool transforms;
} agreed_choice;

/* Predicts whether transforms of the divided grid compute all steps faster than exchanges of halos.
 * If so, the plan's predicted seconds become those of the transforms. */
static bool transforms_gain(stn_team_plan *plan, const stn_problem *problem, const stn_plan_options *given) {
    struct team_spectral *spectral;
    stn_plan_options options = *given;
    options.estimate_only = 1;
    if (!team_spectral_serves(plan->team, problem, given) ||
        team_spectral_make(plan, problem, &options, &spectral, NULL) != STN_OK)
        return false;
    const double seconds = team_spectral_seconds(spectral);
    const bool gain = seconds < plan->predicted || plan->team->transforms;
    if (gain) plan->predicted = seconds;
    team_spectral_destroy(plan, spectral);
    return gain;
}

static stn_status make_parts(stn_team_plan *plan, const stn_problem *problem, const stn_plan_options *options,
                             bool transforms, stn_error *error) {
    /* A team in one process exchanges halos instead if, for example, cuFFT cannot be used. */
    const stn_status made = transforms ? team_spectral_make(plan, problem, options, &plan->spectral, error) : STN_OK;
    if (plan->team->ranks) STN_TRY(made);
    if (plan->spectral) {
        plan->members = team_spectral_members(plan->spectral);
        plan->steps_per_exchange = plan->steps;
        cut(plan, 0);
    }
    for (int m = 0; m < plan->members; m++)
        if (team_is_here(plan->team, m)) STN_TRY(make_part(plan, problem, options, m, error));
    return allocate_halo_messages(plan, error);
}

stn_status team_plan_finish(stn_team *team, stn_team_plan *made, const stn_problem *problem,
                            const stn_plan_options *options, stn_status status, uint64_t hash, const char *words,
                            stn_team_plan **plan, stn_error *error) {
    agreed_choice decided = {1, 0, false};
    if (status == STN_OK && made) {
        if (team->own == 0) choose_steps_per_exchange(made, problem, options);
        const bool gain = team->own == 0 && !made->kind && transforms_gain(made, problem, options);
        decided = (agreed_choice){made->steps_per_exchange, made->predicted, gain};
    }
    status = team_agree(team, status, hash, words, &decided, sizeof decided, error);
    if (status == STN_OK && made) {
        made->steps_per_exchange = decided.steps_per_exchange, made->predicted = decided.predicted;
        cut(made, (int64_t)made->steps_per_exchange * made->reach);
        status = make_parts(made, problem, options, decided.transforms, error);
        status = team_agree(team, status, hash, words, NULL, 0, error);
    }
    if (status == STN_OK)
        *plan = made;
    else
        stn_team_plan_destroy(made);
    return status;
}

stn_status stn_team_plan_create(stn_team *team, const stn_problem *given, const stn_plan_options *given_options,
                                stn_team_plan **plan, stn_error *error) {
    stn_problem problem;
    stn_plan_options options;
    stn_error spare = {0}; /* for the other processes if the caller passes no error */
    if (!error) error = &spare;
    if (!team || !given || !plan)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_plan_create needs a team, a problem and a place");
    *plan = NULL;
    stn_team_plan *made = NULL;
    char words[256] = "";
    uint64_t hash = 0;
    stn_status status = read_given(given, given_options, &problem, &options, error);
    if (status == STN_OK) status = begin_plan(team, &problem, &made, error);
    if (status == STN_OK && team->ranks) hash = team_digest(&problem, &options, words, sizeof words);
    return team_plan_finish(team, made, &problem, &options, status, hash, words, plan, error);
}

void stn_team_plan_destroy(stn_team_plan *plan) {
    if (!plan) return;
    if (plan->fft) {
        team_fft_destroy(plan);
        return;
    }
    for (int m = 0; m < plan->members; m++) {
        team_part *part = &plan->part[m];
        stn_context *const context = plan->team->member[m].context;
        for (int i = 0; i < 2; i++) {
            stn_plan_destroy(part->plan[i]);
            stn_memory_free(context, part->grid[i]);
            free(part->coming[i]), free(part->leaving[i]);
        }
        stn_memory_free(context, part->source);
    }
    if (plan->kind) plan->kind->destroy(plan);
    team_spectral_destroy(plan, plan->spectral);
    free(plan->watch);
    free(plan->part);
    free(plan);
}

stn_status stn_team_plan_local(const stn_team_plan *plan, int member, size_t *first, size_t *rows, stn_error *error) {
    if (!plan || !first || !rows || member < 0 || member >= plan->team->count)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "stn_team_plan_local needs a plan, a member of its team and places for the answer");
    if (plan->fft) return team_fft_local(plan, member, first, rows);
    const bool has = member < plan->members;
    *first = has ? (size_t)plan->part[member].first : (size_t)plan->rows;
    *rows = has ? (size_t)plan->part[member].rows : 0;
    return STN_OK;
}

static stn_status set_weights(stn_team_plan *plan, size_t count, const double *weights, stn_error *error) {
    if (plan->spectral) return team_spectral_set_weights(plan, count, weights, error);
    for (int m = 0; m < plan->members; m++)
        for (int i = 0; i < 2; i++)
            if (plan->part[m].plan[i]) STN_TRY(stn_plan_set_weights(plan->part[m].plan[i], count, weights, error));
    return STN_OK;
}

stn_status stn_team_plan_set_weights(stn_team_plan *plan, size_t count, const double *weights, stn_error *error) {
    stn_error spare = {0};
    if (!error) error = &spare;
    if (!plan || plan->fft)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_plan_set_weights needs a plan of a stencil");
    uint64_t hash = count;
    for (size_t i = 0; weights && i < count; i++) {
        uint64_t bits;
        memcpy(&bits, &weights[i], sizeof bits);
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15u;
    }
    STN_TRY(team_agree(plan->team, STN_OK, hash, "other weights", NULL, 0, error));
    return team_agree(plan->team, set_weights(plan, count, weights, error), 0, "weights", NULL, 0, error);
}

/* ---- description ----------------------------------------------------------------------------- */

static const char *strategy_of(const stn_team_plan *plan, int m) {
    if (plan->spectral) return "spectral";
    return plan->fft ? team_fft_strategy(plan, m) : stn_plan_strategy(plan->part[m].plan[0]);
}

stn_status stn_team_plan_describe(const stn_team_plan *plan, char **text, stn_error *error) {
    if (!plan || !text)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_team_plan_describe needs a plan and a place");
    *text = NULL;
    stn_text words = STN_TEXT_EMPTY;
    if (plan->fft)
        team_fft_describe(plan, &words);
    else if (plan->spectral)
        stn_text_printf(&words,
                        "team:       %d of %d members, all %" PRIu64
                        " steps by transforms of the divided grid, which "
                        "exchange blocks twice",
                        plan->members, plan->team->count, plan->steps);
    else
        stn_text_printf(
            &words, "team:       %d of %d members, %" PRIu64 " steps, %" PRIu64 " between exchanges of %lld rows",
            plan->members, plan->team->count, plan->steps, plan->steps_per_exchange, (long long)depth_of(plan->part));
    stn_text_printf(&words, "\npredicted:  %.6g s", plan->predicted);
    if (plan->team->ranks && plan->team->ranks->nccl) stn_text_printf(&words, "; exchanges by NCCL");
    if (!plan->team->on_host || plan->team->ranks)
        stn_text_printf(&words, "; the link copies %.4g GB/s", 1e-9 * plan->team->link_bandwidth);
    for (int m = 0; m < plan->members; m++) {
        const bool here = team_is_here(plan->team, m);
        if (!here && plan->members > DESCRIBED) continue;
        size_t first, rows;
        STN_TRY(stn_team_plan_local(plan, m, &first, &rows, error));
        stn_text_printf(&words, "\nmember %2d:  %s, %s %zu to %zu%s%s", m,
                        here ? plan->team->member[m].context->machine.name : "another process",
                        plan->fft && plan->fft->by_batch ? "transforms" : "rows", first, first + rows - 1,
                        here ? ", " : "", here ? strategy_of(plan, m) : "");
    }
    return stn_text_take(&words, text, error);
}
