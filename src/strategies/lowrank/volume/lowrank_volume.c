/* lowrank in 3D. A launch of f steps is one march of lowrank_volume with the core of the fused
 * taps; where f does not divide T, launches of two lengths share it, each with its own kernel. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/cheapest.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"
#include "strategies/common/ping_pong.h"
#include "strategies/faces/margins.h"
#include "strategies/lowrank/lowrank.h"
#include "strategies/lowrank/lowrank_types.h"
#include "strategies/lowrank/volume/volume_shape.h"

/* ---- the kernel's parameters, weights and arguments */

#define HEADER_WORDS 15 /* 8-byte words before the weights */
/* Bytes of the packed weights; the first value is a scale. */
#define VALUE_BYTES ((LOWRANK_CORE_VALUES + 1) * (int)sizeof(double))
/* The arguments of one launch, as the kernel declares them. */
typedef struct launch_arguments {
    int64_t words[HEADER_WORDS];
    unsigned char values[VALUE_BYTES];
} launch_arguments;

static void put_params(const stn_task *task, const stn_power *taps, const lowrank_core *core,
                       const lowrank_volume_shape *b, stn_text *params) {
    int used[LOWRANK_CORE_SIDE * LOWRANK_CORE_SIDE];
    stn_params_begin_for(params, task->dtype);
    stn_params_int(params, "DATA_PARTS", lowrank_data_parts(b->passes));
    stn_params_int(params, "BAND_PARTS", lowrank_band_parts(b->passes));
    for (int axis = 0; axis < 3; axis++) {
        const int reach[2] = {taps->low[axis], taps->size[axis] - 1 - taps->low[axis]};
        stn_params_axis(params, axis, reach, task->boundary[axis]);
    }
    stn_params_int(params, "X_FACTORS", core->x_factors);
    stn_params_int(params, "SUMS", core->sums);
    stn_params_int(params, "CORE_TERMS", core->terms);
    stn_params_int(params, "IDENTITY", core->identity);
    stn_params_int(params, "VECTOR", b->vector);
    stn_params_int(params, "TILES", b->tiles);
    stn_params_int(params, "WARPS_X", b->warps_x);
    stn_params_int(params, "WARPS_Y", b->warps_y);
    stn_params_int(params, "STAGES", b->stages);
    stn_params_int(params, "RING", b->ring);
    stn_params_int(params, "HELD", b->held);
    stn_params_int(params, "BLOCKS", b->blocks);
    stn_params_int(params, "EXPECTED_HEADER", HEADER_WORDS * sizeof(int64_t));
    stn_params_ints(params, "TERM_X", core->x_factor, (size_t)core->terms);
    stn_params_ints(params, "TERM_SUM", core->sum, (size_t)core->terms);
    stn_params_ints(params, "TERM_LOW", core->low, (size_t)core->terms);
    stn_params_ints(params, "TERM_HIGH", core->high, (size_t)core->terms);
    for (int k = 0; k < core->sums; k++)
        for (int z = 0; z < taps->size[0]; z++) used[k * taps->size[0] + z] = core->c[k][z] != 0;
    stn_params_ints(params, "SUM_USED", used, (size_t)(core->sums * taps->size[0]));
}

/* f16: rows of T stay within the data's range if the absolute weights of each x factor sum to 1. */
static void make_bounded(lowrank_core *core) {
    for (int l = core->identity; l < core->x_factors; l++) {
        double sum = 0;
        for (int x = 0; x < LOWRANK_CORE_SIDE; x++) sum += fabs(core->u[l][x]);
        if (!(sum > 0) || !isfinite(sum)) continue;
        for (int x = 0; x < LOWRANK_CORE_SIDE; x++) core->u[l][x] /= sum;
        for (int r = 0; r < core->terms; r++)
            for (int y = 0; y < LOWRANK_CORE_SIDE && core->x_factor[r] == l; y++) core->v[r][y] *= sum;
    }
}

/* f32: rounds the weights of products to the parts into which the kernel splits them, and other
 * weights to 24 bits. Tensor cores truncate sums, which lose half a unit in the last place on
 * average; with three products, weights are scaled up to compensate. */
#define CUT_OFF 4.2e-8
static void round_vectors(const stn_power *taps, int passes, lowrank_core *core) {
    int bits = 11 * lowrank_band_parts(passes);
    double more = passes == 3 ? 1 + CUT_OFF : 1;
    for (int k = 0; k < core->sums; k++) lowrank_round(24, 1, core->c[k], taps->size[0], false);
    for (int l = core->identity; l < core->x_factors; l++) lowrank_round(bits, more, core->u[l], taps->size[2], false);
    for (int r = 0; r < core->terms; r++)
        if (lowrank_core_single(core, r))
            lowrank_round(24, 1, core->v[r], taps->size[1], false);
        else
            lowrank_round(bits, more, core->v[r], taps->size[1], false);
}

/* Packs the vectors as the kernel declares them. */
static void put_values(const stn_task *task, const stn_power *taps, const lowrank_core *core, int passes,
                       unsigned char values[VALUE_BYTES]) {
    double numbers[LOWRANK_CORE_VALUES] = {0}, *to = numbers;
    lowrank_core bounded = *core;
    if (task->dtype == STN_F16) make_bounded(&bounded);
    if (task->dtype == STN_F32) round_vectors(taps, passes, &bounded);
    for (int k = 0; k < core->sums; k++)
        for (int z = 0; z < taps->size[0]; z++) *to++ = bounded.c[k][z];
    for (int l = core->identity; l < core->x_factors; l++)
        for (int x = 0; x < taps->size[2]; x++) *to++ = bounded.u[l][x];
    if (core->x_factors == core->identity) to += taps->size[2];
    int first = (int)(to - numbers);
    for (int r = 0; r < core->terms; r++)
        for (int y = 0; y < taps->size[1]; y++) *to++ = bounded.v[r][y];
    memset(values, 0, VALUE_BYTES);
    lowrank_pack(task->dtype, true, numbers, (int)(to - numbers), first, values);
}

/* Fills the header words and returns the number of blocks. */
static int64_t put_words(const stn_task *task, const lowrank_volume_shape *b, const stn_fused_launch *l,
                         int64_t words[HEADER_WORDS]) {
    const struct {
        const void *in;
        void *out;
        int64_t n[3], in_z, in_y, out_z, out_y, in_batch, out_batch, chunk;
    } head = {l->in,
              l->out,
              {task->n[0], task->n[1], task->n[2]},
              l->from->stride[0],
              l->from->stride[1],
              l->to->stride[0],
              l->to->stride[1],
              l->from->batch,
              l->to->batch,
              b->chunk};
    _Static_assert(sizeof head + 3 * sizeof *words == HEADER_WORDS * sizeof *words, "as the kernel declares it");
    memcpy(words, &head, sizeof head);
    lowrank_volume_tiles(task, b, words + HEADER_WORDS - 3);
    return words[12] * words[13] * words[14] * task->batch;
}

/* ---- the state */

typedef struct volume_operator {
    lowrank_volume_shape shape;
    int terms, x_factors, sums;
    double residual;
    unsigned char values[VALUE_BYTES];
    stn_kernel *kernel;
} volume_operator;

typedef struct volume_state {
    int launches, extended;
    int form; /* block form that the candidate requests */
    int noperators;
    volume_operator operators[2]; /* by length of a launch (common/launches.h) */
    stn_faces *faces;             /* NULL where all axes wrap */
    stn_layouts at;
} volume_state;

/* ---- candidates */

STN_CANDIDATE_READER(lowrank_volume_shape, volume_shape_of)

#define MAX_CANDIDATES 4
/* More steps are not tried after this many consecutive f that have no core or cannot be cheaper. */
#define MAX_FAILURES 2

/* Candidates so far, cheapest first, and their problem. */
typedef struct search {
    const stn_task *task;
    const stn_machine *machine;
    stn_candidate *list;
    size_t count, most; /* at most MAX_CANDIDATES */
    double seconds[MAX_CANDIDATES];
    lowrank_volume_shape last; /* of the last f with a core; more steps take no fewer products */
    bool too_many_terms;       /* see lowrank_volume_fit; more steps need no fewer terms */
} search;

/* Whether f steps could be among the best with the last shape's products and without faces, which
 * is a good guess, and within the time limit, by a lower bound that holds for every shape. */
typedef enum outlook { CAN_WIN, TOO_SLOW, OVER_LIMIT } outlook;
static outlook outlook_of(const search *s, int fused) {
    lowrank_volume_shape bare = s->last;
    stn_estimate e;
    if (!bare.fused) return CAN_WIN;
    bare.fused = fused;
    bare.extended = 1;
    lowrank_volume_cost(s->task, s->machine, &bare, &e);
    if (s->count == s->most && !(e.seconds < s->seconds[s->count - 1])) return TOO_SLOW;
    const double least = lowrank_volume_least_seconds(s->task, s->machine, fused);
    return stn_exceeds_time_limit(s->machine, least) ? OVER_LIMIT : CAN_WIN;
}

static void insert_candidate(search *s, const lowrank_volume_shape *shape) {
    stn_estimate own;
    lowrank_volume_cost(s->task, s->machine, shape, &own);
    stn_candidate *place = stn_cheapest_insert(s->list, s->seconds, sizeof *place, &s->count, s->most, own.seconds);
    if (!place) return;
    memset(place, 0, sizeof *place);
    memcpy(place->values, shape, sizeof *shape);
}

static bool too_long(const stn_task *task, int fused) {
    for (int axis = 0; axis < 3; axis++)
        if (fused * (task->reach[axis][0] + task->reach[axis][1]) + 1 > LOWRANK_CORE_SIDE) return true;
    return false;
}

static bool fuse(const stn_task *task, stn_power *taps, int fused) {
    while (taps->fused < fused)
        if (stn_power_fuse(task, taps, NULL) != STN_OK) return false;
    return true;
}

/* Finds candidates with at most `most_fused` steps a launch; stops when `enough` are found. */
static size_t find_volume_shapes(const stn_task *task, const stn_machine *machine, int most_fused, stn_candidate *list,
                                 size_t most, size_t enough) {
    search s = {.task = task, .machine = machine, .list = list, .most = stn_min(most, MAX_CANDIDATES)};
    stn_power taps;
    lowrank_core core;
    int failures = 0;
    if (stn_power_make(task, &taps, NULL) != STN_OK) return 0;
    for (int fused = 1; (uint64_t)fused <= task->steps && fused <= most_fused && s.count < enough; fused++) {
        int64_t low[3], high[3];
        if (too_long(task, fused) || !stn_faces_interior(task, fused, low, high)) break;
        bool fewer = fused == 1 || (task->steps + (uint64_t)fused - 1) / (uint64_t)fused <
                                       (task->steps + (uint64_t)fused - 2) / (uint64_t)(fused - 1);
        if (!fewer) continue;
        const outlook outlook = outlook_of(&s, fused);
        if (outlook == OVER_LIMIT) continue; /* more steps may be within it */
        if (outlook == CAN_WIN && !fuse(task, &taps, fused)) break;
        if (outlook == CAN_WIN && lowrank_volume_fit(task, machine, &taps, 0, &s.too_many_terms, &core, &s.last)) {
            insert_candidate(&s, &s.last);
            failures = 0;
        } else if (++failures == MAX_FAILURES)
            break;
        /* One tap: f steps are no more work than one. */
        if (taps.size[0] * taps.size[1] * taps.size[2] == 1) break;
    }
    stn_power_clear(&taps);
    return s.count;
}

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    stn_candidate any;
    if (find_volume_shapes(task, machine, LOWRANK_CORE_SIDE, &any, 1, 1) > 0) return true;
    snprintf(reason, reason_size, "%s", lowrank_none);
    return false;
}

/* Lists other block forms for the candidate's steps, for measuring; returns their number. */
static size_t find_variants(const stn_task *task, const stn_machine *machine, const stn_candidate *of,
                            stn_candidate *list, size_t most) {
    stn_power taps;
    lowrank_core core;
    lowrank_volume_shape usual = volume_shape_of(of), shape;
    size_t count = 0;
    if (stn_power_make(task, &taps, NULL) != STN_OK) return 0;
    while (taps.fused < usual.fused && stn_power_fuse(task, &taps, NULL) == STN_OK) continue;
    for (int form = 1; form <= lowrank_volume_forms() && taps.fused == usual.fused && count < most; form++) {
        bool too_many_terms = false;
        if (!lowrank_volume_fit(task, machine, &taps, form, &too_many_terms, &core, &shape)) continue;
        shape.form = 0;
        /* Candidates are compared by their stored values. */
        /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
        if (!memcmp(&shape, &usual, sizeof shape)) continue;
        shape.form = form;
        list[count++] = stn_candidate_of(&shape, sizeof shape);
    }
    stn_power_clear(&taps);
    return count;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    size_t best = find_volume_shapes(task, machine, LOWRANK_CORE_SIDE, list, most, SIZE_MAX), count = best;
    for (size_t i = 0; i < best && i < 2 && most > STN_CANDIDATES; i++)
        count += find_variants(task, machine, &list[i], list + count, most - count);
    return count;
}

/* Systematic f32 error of one launch with weights scaled for truncation (round_vectors), on an
 * H200. */
#define SYSTEMATIC_ERROR 1.5e-8
static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    lowrank_volume_shape shape = volume_shape_of(candidate);
    lowrank_volume_cost(task, machine, &shape, result);
    stn_ping_pong_add_copy(task, machine, result->launches, result);
    result->error = lowrank_error(task, shape.passes, shape.launches, shape.growth, SYSTEMATIC_ERROR);
}

/* ---- building */

static stn_status fail_terms(int fused, stn_error *error) {
    return stn_fail(error, STN_ERROR_UNSUPPORTED,
                    "%d fused steps of these weights need more terms than the kernel takes: make a new plan with "
                    "strategy auto",
                    fused);
}

static stn_status get_kernel(stn_plan *plan, const stn_power *taps, const lowrank_core *core, volume_operator *to,
                             stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    put_params(&plan->task, taps, core, &to->shape, &params);
    return stn_kernel_make(plan->kernels, "lowrank_volume", &params, (size_t)to->shape.shared, &to->kernel, error);
}

/* Makes the operator of `fused` steps from taps of at most as many. */
static stn_status make_operator(stn_plan *plan, stn_power *taps, int fused, int form, volume_operator *to,
                                stn_error *error) {
    const stn_task *task = &plan->task;
    lowrank_core core;
    bool too_many_terms = false;
    while (taps->fused < fused) STN_TRY(stn_power_fuse(&plan->task, taps, error));
    if (!(form && lowrank_volume_fit(task, &plan->machine, taps, form, &too_many_terms, &core, &to->shape)) &&
        !lowrank_volume_fit(task, &plan->machine, taps, 0, &too_many_terms, &core, &to->shape))
        return fail_terms(fused, error);
    to->terms = core.terms, to->x_factors = core.x_factors, to->sums = core.sums, to->residual = core.residual;
    put_values(task, taps, &core, to->shape.passes, to->values);
    return get_kernel(plan, taps, &core, to, error);
}

/* Makes kernels and weights of state->launches launches; the faces stay as they are. */
static stn_status make_operators(stn_plan *plan, volume_state *state, stn_error *error) {
    stn_power taps;
    STN_TRY(stn_power_make(&plan->task, &taps, error));
    state->noperators = stn_fused_lengths(&plan->task, state->launches);
    stn_status status = STN_OK;
    /* The shorter operator first. */
    for (int i = state->noperators; i-- > 0 && status == STN_OK;)
        status = make_operator(plan, &taps, stn_fused_steps(&plan->task, state->launches, i), state->form,
                               &state->operators[i], error);
    stn_power_clear(&taps);
    state->extended = stn_task_has_extension(&plan->task);
    return status;
}

static size_t workspace_of(const volume_state *state) {
    return stn_grid_bytes(&state->at) + stn_faces_workspace(state->faces);
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    volume_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    state->launches = volume_shape_of(&plan->candidate).launches;
    state->form = volume_shape_of(&plan->candidate).form;
    /* New weights may need more launches. */
    state->at = stn_task_layouts(&plan->task, plan->task.steps);
    STN_TRY(make_operators(plan, state, error));
    STN_TRY(stn_faces_create(plan, state->launches, &state->faces, error));
    plan->workspace_size = workspace_of(state);
    return STN_OK;
}

/* Uses fewer steps a launch, for weights whose core amplifies errors too much. */
static stn_status rebuild(stn_plan *plan, volume_state *next, stn_error *error) {
    stn_candidate best;
    if (!find_volume_shapes(&plan->task, &plan->machine, next->operators[0].shape.fused, &best, 1, SIZE_MAX))
        return fail_terms(1, error);
    next->faces = NULL;
    next->launches = volume_shape_of(&best).launches;
    stn_status status = make_operators(plan, next, error);
    if (status == STN_OK) status = stn_faces_create(plan, next->launches, &next->faces, error);
    if (status == STN_OK && workspace_of(next) > plan->workspace_size)
        status = fail_terms(next->operators[0].shape.fused, error);
    if (status == STN_OK) return STN_OK;
    stn_faces_destroy(next->faces);
    return status;
}

/* Weights with as many vectors of the same reach give the same parameters, so the kernels exist
 * already. */
static stn_status set_weights(stn_plan *plan, stn_error *error) {
    volume_state *state = plan->state, *next = malloc(sizeof *next);
    if (!next) return stn_fail_memory(error, "new weights", sizeof *next);
    stn_error full = {0};
    *next = *state;
    stn_status status = make_operators(plan, next, &full);
    if (status == STN_ERROR_UNSUPPORTED) {
        *next = *state;
        status = rebuild(plan, next, &full);
        if (status == STN_OK) stn_faces_destroy(state->faces);
    } else if (status == STN_OK)
        status = stn_faces_set_weights(plan, next->faces, &full);
    if (status == STN_OK)
        *state = *next;
    else if (error)
        *error = full;
    free(next);
    return status;
}

static void release(stn_plan *plan) { stn_faces_destroy(((volume_state *)plan->state)->faces); }

/* ---- running */

static stn_status launch_volume(const stn_plan *plan, const volume_operator *op, const stn_fused_launch *l,
                                stn_error *error) {
    launch_arguments arguments;
    int64_t blocks = put_words(&plan->task, &op->shape, l, arguments.words);
    memcpy(arguments.values, op->values, sizeof arguments.values);
    return stn_kernel_launch(op->kernel, blocks, 32 * op->shape.warps_x * op->shape.warps_y, (size_t)op->shape.shared,
                             &arguments, l->stream, error);
}

static stn_status run_launch(const stn_plan *plan, uint64_t i, const stn_fused_launch *l, stn_error *error) {
    const volume_state *state = plan->state;
    const int length = stn_fused_length(&plan->task, state->launches, i);
    STN_TRY(launch_volume(plan, &state->operators[length], l, error));
    return stn_faces_run(plan, state->extended ? NULL : state->faces, length, l, error);
}

static uint64_t launches(const stn_plan *plan) { return (uint64_t)((const volume_state *)plan->state)->launches; }

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *at, stn_error *error) {
    const volume_state *state = plan->state;
    return stn_ping_pong_run(plan, &state->at, launches(plan), part, at, run_launch, error);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const volume_state *state = plan->state;
    const volume_operator *first = &state->operators[0];
    const lowrank_volume_shape *b = &first->shape;
    if (format == STN_TEXT) {
        stn_text_printf(text, "kernel lowrank_volume, %d launches of %d fused steps", state->launches, b->fused);
        if (state->noperators == 2) stn_text_printf(text, " or %d", state->operators[1].shape.fused);
        stn_text_printf(text,
                        ", planes of %d terms (%d vectors along x, %d along z, residual %.2g), %d %s products a tile, "
                        "%d x %d warps a block",
                        first->terms, first->x_factors, first->sums, first->residual, b->products / b->tiles,
                        lowrank_arithmetic(plan->task.dtype, b->passes), b->warps_y, b->warps_x);
        return;
    }
    stn_json_text(text, "kernel", "lowrank_volume");
    stn_json_text(text, "arithmetic", lowrank_arithmetic(plan->task.dtype, b->passes));
    stn_json_value(text, "fused_steps", b->fused);
    stn_json_value(text, "launches", state->launches);
    stn_json_value(text, "terms", first->terms);
    stn_json_value(text, "x_factors", first->x_factors);
    stn_json_value(text, "sums", first->sums);
    stn_json_value(text, "residual", first->residual);
    stn_json_value(text, "warps", b->warps_x * b->warps_y);
    stn_json_value(text, "stages", b->stages);
    stn_json_value(text, "chunk", b->chunk);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    lowrank_volume_shape b = volume_shape_of(candidate);
    stn_text_printf(text, "%d steps a launch, %d %s products a tile, %d x %d warps of %d, %d block%s, planes by %d%s",
                    b.fused, b.products / b.tiles, lowrank_arithmetic(task->dtype, b.passes), b.warps_y, b.warps_x,
                    b.tiles, b.blocks, b.blocks == 1 ? "" : "s", b.chunk, b.ring ? ", single weights apart" : "");
}

STN_FUSED_SHORTEN(lowrank_volume_shape, volume_shape_of)

const stn_strategy lowrank_volume = {
    .name = "lowrank",
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .prepare = prepare,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
    .shorten = shorten,
    .launches = launches,
    .execute_part = execute_part,
};
