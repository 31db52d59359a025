/* The fno strategy of Fourier layers (after TurboFNO, 2025): our own transforms, which compute kept frequencies only, and complex
 * products on tensor cores, in one kernel where one matrix serves all modes, or in as many as are cheaper. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "plan/plan.h"
#include "strategies/fno/dense.h"
#include "strategies/fno/few.h"
#include "strategies/fno/route.h"

enum { FUSION, WAY }; /* a candidate's values */
enum {
    AS_EVER,
    AS_PRODUCTS,
    WHOLE,
    SPLIT,
    TWINS,
    SINGLY
}; /* passes as products with tables of roots where they can be; fno_form's others; each frequency by itself where that is cheaper */

#define TF32_FROM 5e-4 /* the tolerance from which f32 may be multiplied as TF32, */
#define BF16_FROM 5e-3 /* and as bf16 */

typedef struct stage_state {
    enum { BY_LADDER, BY_TABLE, BY_FREQUENCY } by; /* how a pass transforms */
    fno_shape shape;
    fno_dense_shape dense_shape;
    fno_few_shape few_shape;
    fno_modes_shape modes_shape; /* of a product of modes */
    stn_kernel *kernel;
    size_t roots; /* where its roots or its table begin, in bytes */
} stage_state;

typedef struct fno_state {
    fno_route route;
    fno_numbers numbers;
    stage_state stage[FNO_STAGES];
    size_t place[FNO_PLACES]; /* bytes into the workspace */
    void *roots;
} fno_state;

/* f16 is multiplied as TF32 too, which has all of its bits. */
static fno_numbers numbers_of(const stn_layer *layer) {
    const bool exact = layer->dtype == STN_F32 && layer->tolerance < TF32_FROM;
    const bool bf16 = layer->dtype == STN_F32 && layer->tolerance >= BF16_FROM;
    return (fno_numbers){.dtype = layer->dtype, .parts = exact ? 2 : 1, .bf16 = bf16};
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static bool counts_fit(const fno_stage *stage, const stage_state *state, const stn_machine *machine) {
    int64_t each = 0, blocks;
    if (stage->kind == FNO_SUM) return fno_sum_blocks(&stage->sum) <= INT32_MAX;
    if (stage->kind == FNO_MODES) {
        const fno_modes *m = &stage->modes;
        blocks = fno_modes_blocks(m, &state->modes_shape);
        return blocks <= INT32_MAX && m->modes <= INT32_MAX && m->rows <= INT32_MAX && m->columns <= INT32_MAX;
    }
    const fno_pass *pass = &stage->pass;
    blocks = state->by == BY_TABLE       ? fno_dense_blocks(pass, &state->dense_shape)
             : state->by == BY_FREQUENCY ? fno_few_blocks(pass, &state->few_shape)
                                         : fno_shape_blocks(pass, &state->shape, machine, &each);
    return blocks <= INT32_MAX && each <= INT32_MAX && pass->inner <= INT32_MAX && pass->channels <= INT32_MAX &&
           pass->outputs <= INT32_MAX;
}

static double pass_cost(const fno_pass *pass, const stage_state *at, fno_numbers numbers, const stn_machine *machine,
                        stn_estimate *sum) {
    if (at->by == BY_TABLE) return fno_dense_cost(pass, numbers, &at->dense_shape, machine, sum);
    if (at->by == BY_FREQUENCY) return fno_few_cost(pass, numbers, &at->few_shape, machine, sum);
    return fno_pass_cost(pass, numbers, &at->shape, machine, sum);
}

/* A pass that has a way already goes by each frequency instead, if it can and that is cheaper. */
static void shape_singly(const fno_pass *pass, fno_numbers numbers, const stn_machine *machine, stage_state *at) {
    char reason[160];
    stn_estimate unused = {0};
    if (!fno_few_shape_for(pass, numbers, machine, &at->few_shape, reason, sizeof reason)) return;
    if (fno_few_cost(pass, numbers, &at->few_shape, machine, &unused) < pass_cost(pass, at, numbers, machine, &unused))
        at->by = BY_FREQUENCY;
}

/* A pass by transforms; as a product where its length has no butterflies, or where it may be one and that is wanted; by each frequency where
 * it is too long for that. */
static bool shape_pass(const fno_pass *pass, fno_numbers numbers, int way, const stn_machine *machine, stage_state *at,
                       char *reason, size_t size) {
    const bool product = way == AS_PRODUCTS;
    const fno_form form = !pass->product ? FNO_BY_GROUPS
                          : way == WHOLE ? FNO_WHOLE
                          : way == SPLIT ? FNO_SPLIT
                          : way == TWINS ? FNO_TWINS
                                         : FNO_BY_GROUPS;
    at->by = BY_LADDER;
    if (!(product && fno_dense_shape_for(pass, numbers, machine, &at->dense_shape, reason, size)) &&
        fno_shape_for(pass, numbers, form, machine, &at->shape, reason, size))
        return true;
    at->by = BY_TABLE;
    if (fno_dense_shape_for(pass, numbers, machine, &at->dense_shape, reason, size)) return true;
    char unused[160];
    at->by = BY_FREQUENCY;
    return fno_few_shape_for(pass, numbers, machine, &at->few_shape, unused, sizeof unused);
}

/* The route and the shape of each of its launches. */
static bool find(const stn_layer *layer, const stn_candidate *candidate, const stn_machine *machine, fno_state *state,
                 char *reason, size_t size) {
    state->numbers = numbers_of(layer);
    if (!fno_route_for(layer, (fno_fusion)candidate->values[FUSION], &state->route, reason, size)) return false;
    for (int i = 0; i < state->route.count; i++) {
        const fno_stage *stage = &state->route.stage[i];
        stage_state *at = &state->stage[i];
        if (stage->kind == FNO_MODES) fno_modes_shape_for(&stage->modes, state->numbers, machine, &at->modes_shape);
        if (stage->kind == FNO_PASS &&
            !shape_pass(&stage->pass, state->numbers, candidate->values[WAY], machine, at, reason, size))
            return false;
        if (stage->kind == FNO_PASS && candidate->values[WAY] == SINGLY)
            shape_singly(&stage->pass, state->numbers, machine, at);
        if (!counts_fit(stage, at, machine)) {
            snprintf(reason, size, "a launch would have more than 2^31 blocks or channels");
            return false;
        }
    }
    return true;
}

static bool applies(const stn_layer *layer, const stn_machine *machine, char *reason, size_t reason_size) {
    fno_state state;
    if (!machine->is_device || machine->sm < 80) {
        snprintf(reason, reason_size, "its kernels are for GPUs with tensor cores of sm_80 or later");
        return false;
    }
    for (int fusion = FNO_FUSIONS - 1; fusion >= 0; fusion--)
        if (find(layer, &(stn_candidate){{[FUSION] = fusion}}, machine, &state, reason, reason_size)) return true;
    return false; /* for the last reason: nothing fused */
}

static int passes_by(const fno_state *state, int way) {
    int count = 0;
    for (int i = 0; i < state->route.count; i++)
        count += state->route.stage[i].kind == FNO_PASS && (int)state->stage[i].by == way;
    return count;
}
/* Blocks of a multiprocessor in the launch that has the product. */
static int blocks_of_product(const fno_state *state) {
    for (int i = 0; i < state->route.count; i++)
        if (state->route.stage[i].kind == FNO_PASS && state->route.stage[i].pass.product)
            return state->stage[i].shape.line.blocks;
    return 0;
}

/* Whether a way is another one than the plain one of the same fusion, and may be a better one. */
static bool is_worth(int way, const fno_state *state, const fno_state *plain) {
    if (way == WHOLE) return blocks_of_product(state) > blocks_of_product(plain); /* more of them run at once */
    if (way == AS_PRODUCTS) return passes_by(state, BY_TABLE) > passes_by(plain, BY_TABLE);
    if (way == SINGLY) return passes_by(state, BY_FREQUENCY) > passes_by(plain, BY_FREQUENCY);
    return !passes_by(state, BY_TABLE);
}

/* Every fusion, then the other ways of all and of nothing fused. */
static size_t candidates(const stn_layer *layer, const stn_machine *machine, stn_candidate *list, size_t most) {
    static const int ways[][2] = {{FNO_ALL, WHOLE},  {FNO_ALL, SPLIT},         {FNO_ALL, TWINS},
                                  {FNO_ALL, SINGLY}, {FNO_APART, AS_PRODUCTS}, {FNO_APART, SINGLY}};
    size_t count = 0;
    fno_state state, plain;
    char reason[160];
    for (int fusion = FNO_FUSIONS - 1; fusion >= 0 && count < most; fusion--) {
        const stn_candidate one = {{[FUSION] = fusion}};
        if (find(layer, &one, machine, &state, reason, sizeof reason)) list[count++] = one;
    }
    for (size_t i = 0; i < sizeof ways / sizeof *ways && count < most; i++) {
        const stn_candidate of = {{[FUSION] = ways[i][0]}}, one = {{[FUSION] = ways[i][0], [WAY] = ways[i][1]}};
        if (find(layer, &of, machine, &plain, reason, sizeof reason) &&
            find(layer, &one, machine, &state, reason, sizeof reason) && is_worth(ways[i][1], &state, &plain))
            list[count++] = one;
    }
    return count;
}

static double stage_cost(const fno_stage *stage, const stage_state *at, fno_numbers numbers, const stn_machine *machine,
                         stn_estimate *sum) {
    if (stage->kind == FNO_MODES) return fno_modes_cost(&stage->modes, numbers, &at->modes_shape, machine, sum);
    if (stage->kind == FNO_SUM) return fno_sum_cost(&stage->sum, numbers, machine, sum);
    return pass_cost(&stage->pass, at, numbers, machine, sum);
}

static void estimate(const stn_layer *layer, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    fno_state state;
    char reason[160];
    *result = (stn_estimate){.unit = STN_UNIT_FMA_F32, .seconds = INFINITY};
    if (!find(layer, candidate, machine, &state, reason, sizeof reason)) return;
    result->seconds = 0;
    for (int i = 0; i < state.route.count; i++)
        result->seconds += stage_cost(&state.route.stage[i], &state.stage[i], state.numbers, machine, result);
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* Of one stage: its roots or its table; returns how many bytes. to: NULL: only that. */
static size_t make_roots(const fno_state *state, int i, void *to) {
    const stage_state *at = &state->stage[i];
    const fno_stage *stage = &state->route.stage[i];
    if (stage->kind != FNO_PASS) return 0;
    const size_t size = at->by == BY_TABLE       ? fno_dense_table(&stage->pass, state->numbers, &at->dense_shape, to)
                        : at->by == BY_FREQUENCY ? fno_few_roots(&stage->pass, state->numbers, &at->few_shape, to)
                                                 : stn_ladder_roots(&at->shape.line, fno_wide(state->numbers), to);
    return (size_t)stn_round_up((int64_t)size, 16);
}

/* The roots of all passes, computed here and copied to the device. */
static stn_status upload_roots(stn_plan *plan, fno_state *state, stn_error *error) {
    size_t size = 0;
    for (int i = 0; i < state->route.count; i++) {
        state->stage[i].roots = size;
        size += make_roots(state, i, NULL);
    }
    if (!plan->machine.present || !size) return STN_OK;
    unsigned char *roots = calloc(1, size);
    if (!roots) return stn_fail_memory(error, "the tables of roots", size);
    for (int i = 0; i < state->route.count; i++) make_roots(state, i, roots + state->stage[i].roots);
    stn_status status = stn_device_alloc(plan->context->device, size, &state->roots, error);
    if (status == STN_OK) status = stn_device_upload(plan->context->device, state->roots, roots, size, error);
    free(roots);
    return status;
}

static stn_status prepare_stage(stn_context *context, const fno_stage *stage, stage_state *at, fno_numbers numbers,
                                stn_error *error) {
    if (stage->kind == FNO_SUM) return fno_sum_prepare(context, &stage->sum, numbers, &at->kernel, error);
    if (stage->kind == FNO_MODES)
        return fno_modes_prepare(context, &stage->modes, numbers, &at->modes_shape, &at->kernel, error);
    if (at->by == BY_TABLE)
        return fno_dense_prepare(context, &stage->pass, numbers, &at->dense_shape, &at->kernel, error);
    if (at->by == BY_FREQUENCY)
        return fno_few_prepare(context, &stage->pass, numbers, &at->few_shape, &at->kernel, error);
    return fno_pass_prepare(context, &stage->pass, numbers, &at->shape, &at->kernel, error);
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    fno_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    char reason[160];
    if (!find(&plan->layer, &plan->candidate, &plan->machine, state, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "strategy fno cannot run this layer: %s", reason);
    for (int place = FNO_A; place < FNO_PLACES; place++) {
        state->place[place] = plan->workspace_size;
        plan->workspace_size +=
            (size_t)stn_round_up(state->route.cells[place] * (int64_t)fno_cell(state->numbers), 256);
    }
    for (int i = 0; i < state->route.count; i++) {
        STN_TRY(prepare_stage(plan->context, &state->route.stage[i], &state->stage[i], state->numbers, error));
        stn_plan_list_kernel(plan, state->stage[i].kernel);
    }
    return upload_roots(plan, state, error);
}

static void release(stn_plan *plan) {
    fno_state *state = plan->state;
    if (!state) return;
    if (state->roots) stn_device_free(plan->context->device, state->roots);
    free(state);
    plan->state = NULL;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static const void *read_at(const fno_state *state, const stn_execution *run, fno_place place) {
    if (place == FNO_X) return run->in;
    if (place == FNO_GRADIENT) return run->gradient;
    if (place == FNO_WEIGHTS) return run->weights;
    if (place == FNO_SKIP) return run->skip;
    return (const char *)run->workspace + state->place[place];
}
static void *write_at(const fno_state *state, const stn_execution *run, fno_place place) {
    if (place == FNO_Y) return run->out;
    if (place == FNO_BIAS_GRADIENT) return run->bias_gradient;
    if (place == FNO_SKIP_GRADIENT) return run->skip_gradient;
    return (char *)run->workspace + state->place[place];
}

static stn_status launch(const stn_plan *plan, int i, const stn_execution *run, stn_error *error) {
    const fno_state *state = plan->state;
    const fno_stage *stage = &state->route.stage[i];
    const stage_state *at = &state->stage[i];
    const void *from = read_at(state, run, stage->from);
    void *to = write_at(state, run, stage->to), *stream = run->stream;
    if (stage->kind == FNO_SUM) return fno_sum_launch(at->kernel, &stage->sum, state->numbers, from, to, stream, error);
    if (stage->kind == FNO_MODES)
        return fno_modes_launch(at->kernel, &stage->modes, state->numbers, &at->modes_shape, from,
                                read_at(state, run, stage->right), to, stream, error);
    const fno_pointers pointers = {.in = from,
                                   .out = to,
                                   .weights = run->weights,
                                   .bias = run->bias,
                                   .roots = (const char *)state->roots + at->roots};
    if (at->by == BY_TABLE)
        return fno_dense_launch(at->kernel, &stage->pass, state->numbers, &at->dense_shape, &pointers, stream, error);
    if (at->by == BY_FREQUENCY)
        return fno_few_launch(at->kernel, &stage->pass, state->numbers, &at->few_shape, &pointers, stream, error);
    return fno_pass_launch(at->kernel, &stage->pass, state->numbers, &at->shape, &plan->machine, &pointers, stream,
                           error);
}

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const fno_state *state = plan->state;
    for (int i = 0; i < state->route.count; i++) STN_TRY(launch(plan, i, run, error));
    return STN_OK;
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static const char *const fusions[FNO_FUSIONS] = {"nothing fused", "transform and product fused",
                                                 "product and inverse fused", "all fused"};

static void describe_stage(const fno_state *state, int i, stn_text *text) {
    const fno_stage *stage = &state->route.stage[i];
    stn_text_printf(text, "; ");
    if (stage->kind == FNO_SUM) {
        stn_text_printf(text, "a sum");
        return;
    }
    if (stage->kind == FNO_MODES) {
        const fno_modes_shape *shape = &state->stage[i].modes_shape;
        stn_text_printf(text, "products of %d matri%s a block", shape->together, shape->together == 1 ? "x" : "ces");
        return;
    }
    if (state->stage[i].by != BY_LADDER) {
        stn_text_printf(text, "%lld points %s", (long long)stage->pass.n,
                        state->stage[i].by == BY_TABLE ? "as a product" : "to or from each frequency by itself");
        return;
    }
    const fno_shape *shape = &state->stage[i].shape;
    stn_text_printf(text, "%d points by rungs of", shape->line.points);
    for (int s = 0; s < shape->line.stages; s++) stn_text_printf(text, "%s%d", s ? " x " : " ", shape->line.radix[s]);
    stn_text_printf(text, ", %d lines at once%s", shape->line.lines * shape->groups,
                    shape->mixers  ? ", beside the product"
                    : shape->whole ? ", spectra held whole"
                                   : "");
}

static const char *product_words(fno_numbers numbers) {
    return fno_wide(numbers) ? "f64" : numbers.bf16 ? "bf16" : numbers.parts == 2 ? "three of TF32" : "TF32";
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const fno_state *state = plan->state;
    if (!state) return;
    const int fusion = plan->candidate.values[FUSION];
    if (format == STN_JSON) {
        stn_json_integer(text, "fusion", fusion);
        stn_json_integer(text, "dense_passes", passes_by(state, BY_TABLE));
        stn_json_integer(text, "few_passes", passes_by(state, BY_FREQUENCY));
        stn_json_integer(text, "launches", state->route.count);
        stn_json_key(text, "products");
        stn_json_string(text, product_words(state->numbers));
        return;
    }
    stn_text_printf(text, "%s, products in %s", fusions[fusion], product_words(state->numbers));
    for (int i = 0; i < state->route.count; i++) describe_stage(state, i, text);
}

static void name_candidate(const stn_task *unused, const stn_candidate *candidate, stn_text *text) {
    (void)unused; /* a layer's plan has none */
    stn_text_printf(text, "%s%s", fusions[candidate->values[FUSION]],
                    candidate->values[WAY] == AS_PRODUCTS ? ", transforms as products"
                    : candidate->values[WAY] == WHOLE     ? ", spectra held whole"
                    : candidate->values[WAY] == SPLIT     ? ", transforms beside products"
                    : candidate->values[WAY] == TWINS     ? ", transforms beside products in two blocks"
                    : candidate->values[WAY] == SINGLY    ? ", each frequency by itself"
                                                          : "");
}

const stn_layer_strategy stn_layer_strategy_fno = {
    .run = {.name = "fno",
            .prepare = prepare,
            .execute = execute,
            .describe = describe,
            .release = release,
            .name_candidate = name_candidate},
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
};
