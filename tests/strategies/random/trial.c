/* See trial.h. */
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "base/arith.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "problem/stencil.h"
#include "problem/task.h"
#include "strategies/direct/direct_shape.h"

#define ONLINE_RUNS 12
#define TAIL 64 /* elements past a grid that are checked on a GPU */

/* A grid on both sides: `offset` elements, the grid's span, a tail. */
typedef struct grid {
    size_t element, before, span, bytes;
    unsigned char *host, *sent; /* sent: the uploaded bytes */
    void *device;
} grid;

static bool grid_make(const random_bench *bench, const stn_task *task, bool output, int offset, grid *g,
                      stn_error *error) {
    g->element = stn_dtype_size(task->dtype);
    g->before = (size_t)offset * g->element;
    const int64_t others = output ? (int64_t)(task->snapshots - 1) * task->snapshot_stride : 0;
    g->span = (size_t)(others + stn_task_span(task, output)) * g->element;
    g->bytes = g->before + g->span + (bench->large ? TAIL * g->element : 0);
    g->host = malloc(g->bytes), g->sent = malloc(g->bytes);
    if (!g->host || !g->sent) return false;
    for (size_t i = 0; i < g->bytes / g->element; i++) set_element(task->dtype, g->host, (int64_t)i, NAN);
    return stn_memory_alloc(bench->context, g->bytes, &g->device, error) == STN_OK;
}

static bool grid_send(const random_bench *bench, grid *g, stn_error *error) {
    memcpy(g->sent, g->host, g->bytes);
    return stn_memory_upload(bench->context, g->device, g->host, g->bytes, error) == STN_OK;
}

static void grid_clear(const random_bench *bench, grid *g) {
    stn_memory_free(bench->context, g->device);
    free(g->host), free(g->sent);
}

/* True if the memory before and after the points is still NaN. */
static bool is_clean(stn_dtype dtype, const grid *g) {
    for (size_t i = 0; i < g->bytes; i += g->element) {
        bool inside = i >= g->before && i < g->before + g->span;
        if (!inside && !isnan(element(dtype, g->host, (int64_t)(i / g->element)))) return false;
    }
    return true;
}

/* Makes an ONLINE plan, which tries candidates during executions. */
static stn_status make_online(const random_bench *bench, const stn_problem *p, stn_plan **plan, comparison *c) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.mode = STN_MODE_ONLINE;
    options.executions = 1000;
    snprintf(c->parameters, sizeof c->parameters, "online");
    return stn_plan_create(bench->context, p, &options, plan, &c->error);
}

/* Makes a plan for this problem's weights, or for others and then sets these, which must
 * succeed. */
static stn_status make_plan(const random_bench *bench, const random_problem *r, const char *strategy, int pick,
                            stn_plan **plan, const char **wrong, comparison *c) {
    stn_problem p = r->problem;
    random_problem others = *r;
    double weights[RANDOM_TAPS];
    dice d = {r->data};
    if (r->new_weights) random_taps_reweigh(&d, r, weights);
    for (size_t i = 0; i < r->ntaps && r->new_weights; i++) others.taps[i].weight = weights[i];
    stn_stencil *first = random_problem_stencil(&others), *last = random_problem_stencil(r);
    p.stencil = first;
    stn_status status = !strcmp(strategy, RANDOM_ONLINE) ? make_online(bench, &p, plan, c)
                                                         : compare_plan(bench->context, &p, strategy, pick, plan, c);
    /* The other weights have fewer candidates. */
    if (status == STN_ERROR_INVALID_ARGUMENT && pick >= 0 && r->new_weights) {
        stn_plan_destroy(*plan);
        status = compare_plan(bench->context, &p, strategy, -1, plan, c);
    }
    *wrong = NULL;
    if (status == STN_OK && r->new_weights) {
        for (size_t i = 0; i < r->ntaps; i++) weights[i] = stn_stencil_taps(last)[i].weight;
        if (stn_plan_set_weights(*plan, r->ntaps, weights, &c->error) != STN_OK) *wrong = "new weights are refused";
        c->predicted = (*plan)->estimate.error;
    }
    stn_stencil_destroy(first);
    stn_stencil_destroy(last);
    return status;
}

typedef struct grids {
    grid in, out, source;
} grids;

/* The host's result (compare_answer_source), freed by the caller. */
static void *answer(const stn_task *run, stn_pool *pool, bool fused, const grids *g, stn_dtype *type) {
    return compare_answer_source(run, pool, fused, g->in.sent + g->in.before,
                                 run->source ? g->source.sent + g->source.before : NULL, type);
}

/* f16: the result may be a hundredth of earlier states; then states stored in f16 between steps
 * have a large error relative to the result, and its bound is meaningless. Returns four times the
 * error of the host's own f16 steps if these exceed the bound of single steps. */
static double error_of_f16_steps(const stn_task *run, stn_pool *pool, const grids *g, stn_dtype type,
                                 const void *expected) {
    stn_dtype own;
    comparison c = {0};
    void *stepped = answer(run, pool, false, g, &own);
    if (!stepped) return 0;
    compare_measure(run, stepped, type, expected, &c);
    free(stepped);
    return c.relative_l2 > compare_bar(run, false) ? 4 * c.relative_l2 : 0;
}

/* f16: a result that is rounded less often than once per step differs from the host's f16 steps by
 * the error of these, which may exceed their bound if the grid becomes constant and all steps have
 * equal errors. Then the result must be within the bound of the f64 result. */
static void compare_with_exact(const stn_task *run, stn_pool *pool, const grids *g, const void *got, comparison *c) {
    stn_dtype type;
    comparison other = *c;
    void *exact = answer(run, pool, true, g, &type);
    if (!exact) return;
    compare_measure(run, got, type, exact, &other);
    other.bar = fmax(other.bar, 2 * other.rounding);
    if (compare_good(&other)) *c = other;
    free(exact);
}

STN_CANDIDATE_READER(direct_shape, shape_of)

/* The host's result of a run of `direct` if values are rounded to the dtype at the end of each
 * launch only. Freed by the caller; NULL: out of memory. */
static void *answer_of_launches(const stn_plan *plan, stn_pool *pool, uint64_t steps, const grids *g) {
    const int64_t fused = shape_of(&plan->candidate).fused, section = (int64_t)plan->task.steps;
    stn_task launch = plan->task;
    launch.snapshots = 1;
    void *state = NULL;
    const void *from = g->in.sent + g->in.before;
    for (uint64_t done = 0; done < steps; done += launch.steps) {
        /* A snapshot ends a launch. */
        launch.steps = (uint64_t)stn_min(fused, section - (int64_t)done % section);
        stn_dtype type;
        double *exact = compare_answer(&launch, pool, true, from, &type);
        const int64_t span = stn_task_span(&launch, true);
        if (!state) state = calloc((size_t)span, stn_dtype_size(launch.dtype));
        for (int64_t i = 0; exact && state && i < span; i++) set_element(launch.dtype, state, i, exact[i]);
        free(exact);
        from = state;
        memcpy(launch.in_stride, launch.out_stride, sizeof launch.in_stride);
        launch.in_batch_stride = launch.out_batch_stride;
    }
    return state;
}

/* f16: a launch of several steps rounds only its last step. If a step changes values by less than
 * half a unit, rounding removes the change, so that after many steps the host's f16 steps and
 * launches of several steps differ by far more than the bound, and both from the f64 result. Then
 * the result must be within the bound of the host's steps that are rounded once per launch. */
static void compare_with_launches(const stn_plan *plan, const stn_task *run, stn_pool *pool, const grids *g,
                                  const void *got, comparison *c) {
    comparison other = *c;
    if (strcmp(plan->strategy->name, "direct") != 0 || plan->online || shape_of(&plan->candidate).fused == 1) return;
    void *expected = answer_of_launches(plan, pool, run->steps, g);
    if (!expected) return;
    compare_measure(run, got, run->dtype, expected, &other);
    if (compare_good(&other)) *c = other;
    free(expected);
}

/* If taps nearly cancel on a grid of few points, or all modes decay, the result may be far below
 * the rounding errors of earlier states, and a bound relative to the result is meaningless. Returns
 * max |K|^steps times the largest input over the largest result, if that is above 4 and the taps of
 * all steps reach beyond the grid, or above 100 in a `wild` problem; otherwise 1. Infinite if the
 * values leave the type's range. */
static double decay_factor(const stn_task *run, bool wild, const grids *g, stn_dtype type, const void *expected) {
    double sizes = 0, in = 0, out = 0, past = run->dtype == STN_F64 ? 1e300 : run->dtype == STN_F32 ? 1e38 : 6e4;
    bool folds = false;
    for (size_t i = 0; i < run->ntaps; i++) sizes += fabs(run->taps[i].weight);
    for (int axis = 0; axis < 3; axis++)
        folds = folds || (double)stn_task_reach(run, axis) * (double)run->steps > (double)run->n[axis];
    const double most = fmin(sizes, stn_taps_max_symbol(run->ntaps, run->taps));
    const unsigned char *points = g->in.sent + g->in.before;
    for (int64_t i = stn_task_span(run, false); i-- > 0;)
        in = fmax(in, fabs(element(run->dtype, points, i))); /* ignores NaN between points */
    for (int64_t i = stn_task_span(run, true); i-- > 0;) out = fmax(out, fabs(element(type, expected, i)));
    const double largest = pow(most, (double)run->steps) * in, above = largest / out;
    const double least = run->dtype == STN_F64 ? 1e-290 : run->dtype == STN_F32 ? 1e-35 : 0;
    if (!(fmax(largest, out) < past)) return INFINITY;
    /* `largest` may underflow to 0 in double too. */
    if (most > 0 && in > 0 && fmax(largest, out) < least) return INFINITY;
    return above > (folds ? 4 : wild ? 100 : INFINITY) ? above : 1;
}

/* Checks the state `got` after `steps` steps. */
static const char *check_state(const stn_plan *plan, stn_pool *pool, bool fused, bool wild, uint64_t steps,
                               const grids *g, const void *got, comparison *c) {
    stn_dtype type;
    const stn_task *task = &plan->task;
    stn_task run = *task;
    run.steps = steps, run.snapshots = 1;
    void *expected = answer(&run, pool, fused, g, &type);
    if (!expected) return "memory";
    compare_measure(&run, got, type, expected, c);
    c->bar = compare_bar(&run, fused);
    c->bar = fmax(c->bar * decay_factor(&run, wild, g, type, expected), wild ? 1.5 * c->predicted : 0);
    /* A strategy that is named runs also where all of its candidates are predicted to exceed the
     * bound; the plan says so (tests/plan/test_error_bound.c), and the prediction must hold. */
    if (c->predicted > stn_error_bound(&run)) c->bar = fmax(c->bar, c->predicted);
    if (plan->estimate.stepping || plan->online)
        c->bar = fmax(c->bar, stn_error_bound(&run)); /* new weights: of part of the grid or all */
    if (task->dtype == STN_F16) c->bar = fmax(c->bar, 2 * c->rounding);
    if (task->dtype == STN_F16 && !compare_good(c))
        c->bar = fmax(c->bar, error_of_f16_steps(&run, pool, g, type, expected));
    if (task->dtype == STN_F16 && !fused && !compare_good(c)) compare_with_exact(&run, pool, g, got, c);
    if (task->dtype == STN_F16 && !fused && !compare_good(c)) compare_with_launches(plan, &run, pool, g, got, c);
    /* All points may be infinite or NaN. */
    if (isinf(c->bar)) c->relative_l2 = c->point = 0, c->all_written = true;
    free(expected);
    return NULL;
}

/* True if the memory between snapshots is still NaN. */
static bool gaps_are_clean(const stn_task *task, const grid *g) {
    const int64_t span = stn_task_span(task, true), first = (int64_t)(g->before / g->element);
    for (uint64_t k = 0; k + 1 < task->snapshots; k++)
        for (int64_t i = span; i < task->snapshot_stride; i++)
            if (!isnan(element(task->dtype, g->host, first + (int64_t)k * task->snapshot_stride + i))) return false;
    return true;
}

/* Checks all states; plan->task has the current weights. */
static const char *check_states(const stn_plan *plan, stn_pool *pool, bool fused, bool wild, const grids *g,
                                comparison *c) {
    const stn_task *task = &plan->task;
    const bool kept = task->in_place || !memcmp(g->in.host, g->in.sent, g->in.bytes);
    const grid *to = task->in_place ? &g->in : &g->out;
    for (uint64_t k = 1; k <= task->snapshots; k++) {
        const size_t at = to->before + (size_t)(k - 1) * (size_t)task->snapshot_stride * to->element;
        const char *wrong = check_state(plan, pool, fused, wild, k * task->steps, g, to->host + at, c);
        if (wrong) return wrong;
        if (!compare_good(c)) break;
    }
    if (!kept) return "the input has changed";
    if (task->source && memcmp(g->source.host, g->source.sent, g->source.bytes)) return "the source has changed";
    if (!gaps_are_clean(task, to)) return "something was written between snapshots";
    if (!is_clean(task->dtype, to)) return "something was written beside the grid";
    return compare_good(c)  ? NULL
           : c->all_written ? "it is not the host's answer"
                            : "points unwritten, or padding written";
}

/* Multiplies the points by the amplitude; NaN stays. */
static void amplify(const random_problem *r, const stn_task *task, const grid *g) {
    for (size_t i = 0; r->amplitude > 0 && i < g->bytes / g->element; i++)
        set_element(task->dtype, g->host, (int64_t)i, r->amplitude * element(task->dtype, g->host, (int64_t)i));
}

/* Small compared with the data, so that its sum over many steps is small too. */
static double draw_source(dice *d) { return dice_real(d) / 64; }

static bool grids_make(const random_bench *bench, const random_problem *r, const stn_task *task, grids *g,
                       stn_error *error) {
    dice d = {r->data};
    if (!grid_make(bench, task, false, r->offset, &g->in, error)) return false;
    compare_fill(task, r->positive ? dice_positive : dice_real, &d, g->in.host + g->in.before);
    amplify(r, task, &g->in);
    if (!grid_send(bench, &g->in, error)) return false;
    if (task->source) {
        if (!grid_make(bench, task, false, r->offset, &g->source, error)) return false;
        compare_fill(task, draw_source, &d, g->source.host + g->source.before);
        amplify(r, task, &g->source);
        if (!grid_send(bench, &g->source, error)) return false;
    }
    return task->in_place ||
           (grid_make(bench, task, true, r->offset, &g->out, error) && grid_send(bench, &g->out, error));
}

static bool grid_fetch(const random_bench *bench, grid *g, stn_error *error) {
    return !g->device || stn_memory_download(bench->context, g->host, g->device, g->bytes, error) == STN_OK;
}

/* A workspace full of NaN; NULL after an error. */
static void *dirty_workspace(const random_bench *bench, const stn_plan *plan, stn_error *error) {
    const size_t bytes = stn_plan_workspace_size(plan);
    void *device = NULL, *host = malloc(bytes + 1);
    if (host && stn_memory_alloc(bench->context, bytes + 1, &device, error) == STN_OK) {
        memset(host, 0xff, bytes + 1);
        stn_memory_upload(bench->context, device, host, bytes, error);
    }
    free(host);
    return device;
}

/* One checked execution of a new or used plan. */
static const char *run(const random_bench *bench, const random_problem *r, stn_plan *plan, bool fused, comparison *c) {
    grids g = {0};
    void *workspace = NULL;
    const stn_task *task = &plan->task;
    const char *wrong = "a call failed";
    bool good = grids_make(bench, r, task, &g, &c->error);
    const grid *to = task->in_place ? &g.in : &g.out;
    stn_execution e = STN_EXECUTION_INIT;
    if (good) {
        e.in = (char *)g.in.device + g.in.before;
        e.out = (char *)to->device + to->before;
        if (task->source) e.source = (char *)g.source.device + g.source.before;
    }
    if (good && r->workspace) good = (workspace = dirty_workspace(bench, plan, &c->error)) != NULL;
    e.workspace = workspace;
    good = good && stn_plan_run(plan, &e, &c->error) == STN_OK &&
           stn_synchronize(bench->context, NULL, &c->error) == STN_OK && grid_fetch(bench, &g.in, &c->error) &&
           grid_fetch(bench, &g.out, &c->error) && grid_fetch(bench, &g.source, &c->error);
    if (good) wrong = check_states(plan, bench->pool, fused, r->amplitude > 0, &g, c);
    stn_memory_free(bench->context, workspace);
    grid_clear(bench, &g.in);
    grid_clear(bench, &g.out);
    grid_clear(bench, &g.source);
    return wrong;
}

void random_trial(const random_bench *bench, const random_problem *r, const char *strategy, int pick,
                  random_outcome *outcome) {
    random_problem own = *r;
    const int times = !strcmp(strategy, RANDOM_ONLINE) ? ONLINE_RUNS : r->times ? r->times : 1;
    stn_plan *plan = NULL;
    const char *wrong;
    memset(outcome, 0, sizeof *outcome);
    stn_status status = make_plan(bench, r, strategy, pick, &plan, &wrong, &outcome->c);
    /* The smaller problem has no such candidate. */
    const bool none = status == STN_ERROR_INVALID_ARGUMENT && pick >= 0;
    if (status == STN_ERROR_UNSUPPORTED || none)
        outcome->verdict = RANDOM_REFUSED;
    else {
        outcome->what = status == STN_OK ? wrong : "no plan was made";
        /* New weights may have changed the strategy. */
        const char *own_name = status == STN_OK ? plan->strategy->name : "";
        /* These compute single steps in the data's type. */
        const bool fused = strcmp(own_name, "direct") != 0 && strcmp(own_name, "host") != 0;
        for (int i = 0; status == STN_OK && !outcome->what && i < times; i++, own.data++)
            outcome->what = run(bench, &own, plan, fused, &outcome->c);
        outcome->verdict = outcome->what ? RANDOM_WRONG : RANDOM_RIGHT;
    }
    stn_plan_destroy(plan);
}

/* A plan with a ranking only, not built; NULL: none. */
static stn_plan *rank(const random_bench *bench, const random_problem *r, const char *strategy) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    stn_problem p = r->problem;
    stn_stencil *stencil = random_problem_stencil(r);
    options.strategy = strategy;
    options.estimate_only = 1;
    p.stencil = stencil;
    stn_plan_create(bench->context, &p, &options, &plan, NULL);
    stn_stencil_destroy(stencil);
    return plan;
}

/* False for a strategy whose library is missing or does not work on this device: it refuses all
 * problems, which is not a failure. */
static bool is_here(const random_bench *bench, const char *strategy) {
    static int works = -1; /* -1: unknown; each process has its own context */
    if (strcmp(strategy, "cufft-spectral") != 0) return true;
    if (works < 0) {
        stn_transform t = STN_TRANSFORM_INIT;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        stn_plan *plan = NULL;
        t.rank = 1, t.extent[0] = 8, options.strategy = "cufft";
        works = stn_plan_create_fft(bench->context, &t, &options, &plan, NULL) == STN_OK;
        stn_plan_destroy(plan);
    }
    return works;
}

static bool has_name(char names[][32], size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], name)) return true;
    return false;
}

size_t random_strategies(const random_bench *bench, const random_problem *r, char names[][32], size_t most) {
    stn_plan *plan = rank(bench, r, NULL);
    size_t count = 0;
    for (size_t i = 0; plan && i < plan->ranked; i++) {
        const stn_ranked *row = &plan->ranking[i];
        const bool known = !row->applies || has_name(names, count, row->strategy->name);
        if (!known && is_here(bench, row->strategy->name) && count < most)
            snprintf(names[count++], 32, "%s", row->strategy->name);
    }
    stn_plan_destroy(plan);
    if (r->online && count < most) snprintf(names[count++], 32, "%s", RANDOM_ONLINE);
    const bool chunks = !has_name(names, count, "chunked") && random_candidates(bench, r, "chunked", false) > 0;
    /* It is ranked only if it is the fastest. */
    if (chunks && count < most) snprintf(names[count++], 32, "chunked");
    return count;
}

int random_candidates(const random_bench *bench, const random_problem *r, const char *strategy, bool all) {
    stn_plan *plan = rank(bench, r, strategy);
    int count = 0;
    if (plan && all) stn_plan_rank(plan, strategy, STN_PLAN_RANKING);
    for (size_t i = 0; plan && i < plan->ranked; i++) count += plan->ranking[i].applies;
    stn_plan_destroy(plan);
    return count;
}

int random_pick(const random_bench *bench, const random_problem *r, const char *strategy, dice *d) {
    if (!strcmp(strategy, "auto")) return -1;
    const int kind = dice_int(d, 0, 9), count = kind < 4 ? 0 : random_candidates(bench, r, strategy, kind == 9);
    return count ? dice_int(d, 0, count - 1) + (kind == 9 ? COMPARE_MEASURED : 0) : -1;
}

int random_pick_words(const random_bench *bench, const random_problem *r, const char *strategy, const char *words,
                      dice *d) {
    stn_plan *plan = rank(bench, r, strategy);
    int pick = -1, count = 0;
    if (plan) stn_plan_rank(plan, strategy, STN_PLAN_RANKING);
    for (size_t i = 0; plan && i < plan->ranked; i++)
        if (plan->ranking[i].applies && suite_place_has_words(plan, i, words) && dice_int(d, 0, count++) == 0)
            pick = COMPARE_MEASURED + (int)i;
    stn_plan_destroy(plan);
    return pick;
}
