/* Strategy aperiodic: many steps at once with sides that no symmetric extension serves: several
 * taps past a fixed or constant side, or taps that are not symmetric. Far from such a side T steps
 * do not depend on it, and transforms of the whole grid by `spectral` or `host-spectral` compute
 * them. Points within reach of T steps' taps from such a side, a band, are recomputed in a box
 * twice as wide (=; 1D):
 *
 *     +------------------------------+
 *     | band |                | band |
 *     |============------============|
 *     +------------------------------+
 *
 * A round makes f of the T steps: transforms compute them as if the grid were periodic, which is
 * correct except in the bands. Each band is computed in a box of which the other half only supplies
 * what the band depends on. The box makes f single steps, or is divided like the grid itself, with
 * fewer steps at once and narrower bands.
 *
 * For diffusion, a band's width grows like the square root of f, so few points are computed by
 * single steps. The candidate contains f for each level. Narrow bands leave a GPU idle, because
 * launches wait for each other: therefore the bands of both sides of an axis share a box, with
 * their outer halves adjacent, and those of different axes run concurrently. All parts are plans
 * made through stn_subplan, so the strategy serves host and GPU. After Z. Ahmad et al., Fast
 * Stencil Computations using Fast Fourier Transforms (arXiv 2105.06676), who treat the aperiodic
 * case. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "plan/error_bound.h"
#include "strategies/aperiodic/band_tree.h"
#include "strategies/table.h"

typedef struct aperiodic_state {
    shape shape;
    cost_table costs;
    tree tree;
} aperiodic_state;

/* A candidate and the cost found with it; computing the cost again would take as long as the
 * search. */
typedef struct choice {
    levels levels;
    float seconds, transform_points, launches, rounds; /* as in the division */
    /* Of a transform pass: bytes and operations for each point, and the error. */
    float bytes, flops, error;
    float step_error; /* error of all steps */
    float workspace;  /* bytes */
    int unit;
} choice;

STN_CANDIDATE_READER(choice, choice_of)

static levels levels_of(const stn_candidate *candidate) { return choice_of(candidate).levels; }

/* ---- choosing */

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    shape s;
    (void)machine;
    if (!aperiodic_shape_sides(task, &s, reason, reason_size)) return false;
    if (aperiodic_shape_has_room(&s)) return true;
    snprintf(reason, reason_size, "the bands at its sides leave nothing between them");
    return false;
}

static bool add(const shape *s, const cost_table *costs, const levels *l, stn_candidate *to) {
    const box whole = aperiodic_shape_whole(s);
    const division d = aperiodic_cost_divide(s, costs, l, &whole, s->task->steps, true);
    if (d.steps == 0) return false;
    choice c = {.levels = *l,
                .seconds = (float)d.seconds,
                .transform_points = (float)d.transform_points,
                .launches = (float)d.launches};
    const uint64_t rounds = d.rounds + (d.rest > 0);
    const double copy = (double)stn_task_points(s->task) * costs->copy_seconds_per_point + costs->copy_start;
    c.seconds += (float)(aperiodic_tree_copies(s->task, rounds) * copy);
    c.rounds = (float)rounds;
    c.bytes = (float)costs->bytes_per_point, c.flops = (float)costs->flops_per_point,
    c.error = (float)costs->transform_error;
    c.step_error = (float)costs->step_error;
    c.workspace = (float)(d.workspace + (double)stn_task_points(s->task) * (double)stn_dtype_size(s->task->dtype) *
                                            aperiodic_tree_grids(s->task, rounds));
    c.unit = (int)costs->unit;
    *to = (stn_candidate){{0}};
    memcpy(to->values, &c, sizeof c);
    return true;
}

/* Adds candidates worth measuring: bands divided wherever possible, in one to three levels; bands
 * that are only stepped; and bands of bands. */
static size_t add_measured(const shape *s, const cost_table *costs, stn_candidate *list, size_t count, size_t most) {
    for (int depth = 1; depth <= SHAPE_LEVELS && count < most; depth++) {
        levels l = {.force_division = 1};
        for (int i = 0; i < depth; i++) {
            const int k = 1 + 2 * i;
            if (k < s->step_counts && s->steps[k] <= INT32_MAX) l.steps[i] = (int)s->steps[k];
        }
        if (l.steps[depth - 1] == 0) break;
        count += add(s, costs, &l, &list[count]);
    }
    for (int k = 1; k < 5 && k < s->step_counts; k++)
        for (int inner = k; inner < k + 4 && inner < s->step_counts; inner++) {
            levels l = {.steps = {(int)stn_min((int64_t)s->steps[k], INT32_MAX)}};
            if (inner > k) l.steps[1] = (int)stn_min((int64_t)s->steps[inner], INT32_MAX);
            if (count < most) count += add(s, costs, &l, &list[count]);
        }
    return count;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    enum { CHOSEN_FROM = 4 };
    char reason[160];
    shape s;
    cost_table costs;
    levels found[CHOSEN_FROM];
    size_t count = 0;
    if (!most || !aperiodic_shape_sides(task, &s, reason, sizeof reason)) return 0;
    aperiodic_shape_guess(&s);
    if (!aperiodic_cost_table(&s, machine, &costs)) return 0;
    const size_t chosen = aperiodic_cost_search(&s, &costs, found, most < CHOSEN_FROM ? most : CHOSEN_FROM);
    for (size_t i = 0; i < chosen; i++) count += add(&s, &costs, &found[i], &list[count]);
    return count && most > STN_CANDIDATES ? add_measured(&s, &costs, list, count, most) : count;
}

/* A run has at least one transform of the whole grid. */
static double least_seconds(const stn_task *task, const stn_machine *machine) {
    char reason[160];
    stn_estimate transformed;
    shape s;
    if (!aperiodic_shape_sides(task, &s, reason, sizeof reason)) return INFINITY;
    aperiodic_shape_guess(&s);
    const stn_task once = aperiodic_transform_task(&s);
    /* `choice` has its seconds as a float. */
    return aperiodic_cheapest_transform(&once, machine, &transformed) ? transformed.seconds * (1 - 1e-6) : INFINITY;
}

/* Bands are stepped, so their error is that of stepping. */
static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    const choice c = choice_of(candidate);
    const double points = (double)stn_task_points(task), transform_points = (double)c.transform_points,
                 rounds = (double)c.rounds;
    (void)machine;
    *result = (stn_estimate){.unit = (stn_unit)c.unit, .stepping = true};
    result->seconds = (double)c.seconds * (c.levels.steps[1] ? APERIODIC_LEVELS_FACTOR : 1);
    const double copies = aperiodic_tree_copies(task, (uint64_t)c.rounds);
    result->bytes = transform_points * (double)c.bytes + 2 * copies * points * (double)stn_dtype_size(task->dtype);
    result->flops = transform_points * (double)c.flops;
    result->launches = (double)c.launches + copies;
    result->halo_waste = transform_points / (points * rounds) - 1;
    result->error = hypot((double)c.error * sqrt(rounds), (double)c.step_error);
    stn_estimate_memory(task, (double)c.workspace, result);
}

/* ---- building */

static stn_status prepare(stn_plan *plan, stn_error *error) {
    char reason[160] = "";
    aperiodic_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    const levels l = levels_of(&plan->candidate);
    aperiodic_shape_sides(&plan->task, &state->shape, reason, sizeof reason);
    aperiodic_shape_depths(&state->shape);
    if (!aperiodic_cost_table(&state->shape, &plan->machine, &state->costs))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "no transform that aperiodic can use serves this grid");
    STN_TRY(aperiodic_tree_make(plan, &state->shape, &state->costs, &l, &state->tree, error));
    plan->workspace_size = aperiodic_tree_workspace(&state->tree);
    return STN_OK;
}

/* Bands are as wide as the old weights required; checks that this suffices for the new ones. */
static bool still_fits(const shape *old, const stn_task *task) {
    shape now;
    char reason[160];
    aperiodic_shape_sides(task, &now, reason, sizeof reason);
    aperiodic_shape_depths(&now);
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            if (now.stepped[axis][side] && !old->stepped[axis][side]) return false;
            for (int k = 0; k < now.step_counts; k++)
                if (now.depth[k][axis][side] > old->depth[k][axis][side]) return false;
        }
    return true;
}

static stn_status set_weights(stn_plan *plan, stn_error *error) {
    aperiodic_state *state = plan->state;
    if (!still_fits(&state->shape, &plan->task))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "aperiodic cannot take these weights: after many steps they reach further from its sides than "
                        "those that the plan was made for");
    return aperiodic_tree_set_weights(&state->tree, &plan->task, error);
}

static void release(stn_plan *plan) {
    aperiodic_state *state = plan->state;
    aperiodic_tree_clear(&state->tree);
}

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const aperiodic_state *state = plan->state;
    return aperiodic_tree_run(&state->tree, plan->context->device, &plan->task, run, error);
}

/* ---- descriptions */

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    const levels l = levels_of(candidate);
    (void)task;
    for (int i = 0; i < SHAPE_LEVELS && l.steps[i]; i++) stn_text_printf(text, i ? ", then %d" : "%d", l.steps[i]);
    stn_text_printf(text, " steps at once%s", l.force_division ? " wherever they fit" : "");
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const aperiodic_state *state = plan->state;
    if (!state || !state->tree.root) return;
    const stage *first = &state->tree.root->stages[0];
    const int64_t width = first->count ? first->edges[0].band.corrected[0].count : 0;
    const levels l = levels_of(&plan->candidate);
    if (format == STN_JSON) {
        stn_json_integer(text, "steps_at_once", l.steps[0]);
        stn_json_integer(text, "band", width);
        stn_json_integer(text, "bands", state->tree.bands);
        stn_json_integer(text, "levels", state->tree.depth);
        stn_json_text(text, "transforms", first->plan->strategy->name);
        return;
    }
    name_candidate(&plan->task, &plan->candidate, text);
    stn_text_printf(text, " by %s; %d band%s in %d level%s, the outer ones %lld points wide",
                    first->plan->strategy->name, state->tree.bands, state->tree.bands == 1 ? "" : "s",
                    state->tree.depth, state->tree.depth == 1 ? "" : "s", (long long)width);
}

const stn_strategy stn_strategy_aperiodic = {
    .name = "aperiodic",
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .least_seconds = least_seconds,
    .prepare = prepare,
    .execute = execute,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
    .sources = true,
};
