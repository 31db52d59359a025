/* Strategy cufft: transforms by NVIDIA's cuFFT, where our kernels do not support them. Scale
 * factors are applied by a kernel of ours afterwards. There are three ways:
 *
 *     as it is    cuFFT reads the input and writes the output.
 *     staged      A kernel copies the input into the workspace, densely, and in f32 where cuFFT has
 *                 no f16 of that size; cuFFT transforms it in place; a kernel copies the result to
 *                 the output and scales it. For every layout and type.
 *     split       A C2R of several axes as a C2C of all axes but the last, into the workspace, and
 *                 a C2R of the rows. cuFFT's own C2R of several axes destroys its input, and
 *                 version 12.0 fails on some of them out of place. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "strategies/common/scaled_copy.h"
#include "strategies/table.h"

/* The cost of a copying kernel in dense copies: rows need not start at a cache line. */
#define MOVING 1.3

/* A candidate's values: the way, and whether a staged f16 is transformed in f32. */
enum { WAY, WIDENED };
enum { AS_IS, STAGED, SPLIT };

typedef struct cufft_state {
    /* cuFFT's transforms: the plan's own, the one in the workspace, or the two of `split`. */
    stn_fft fft[2];
    stn_cufft_plan *plan[2];
    int plans, version;
    stn_kernel *in, *out; /* copy and scale; NULL: nothing to copy, and the factor is 1 */
    size_t own;           /* bytes of cuFFT's workspace; the staged data follow it */
} cufft_state;

static bool is_half(const stn_fft *fft, const stn_candidate *candidate) {
    return fft->dtype == STN_F16 && !candidate->values[WIDENED];
}

/* ---- cuFFT's transforms ---------------------------------------------------------------------- */

/* Whether an axis besides the last has more than one point. */
static bool has_outer_axes(const stn_fft *fft) { return fft->n[0] > 1 || fft->n[1] > 1; }

/* The same transform in place and dense. */
static stn_status make_staged(const stn_fft *fft, const stn_candidate *candidate, stn_fft *made, stn_error *error) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = fft->rank;
    for (int axis = 0; axis < fft->rank; axis++) t.extent[axis] = (size_t)fft->n[3 - fft->rank + axis];
    t.batch = (size_t)fft->batch;
    t.kind = fft->kind;
    t.direction = fft->inverse ? STN_INVERSE : STN_FORWARD;
    t.dtype = fft->dtype == STN_F16 && !is_half(fft, candidate) ? STN_F32 : fft->dtype;
    t.in_place = 1;
    return stn_fft_make(&t, made, error);
}

/* All axes but the last of a C2R, into the workspace. */
static stn_status make_slow_axes(const stn_fft *fft, stn_fft *made, stn_error *error) {
    stn_transform t = STN_TRANSFORM_INIT;
    ptrdiff_t dense[2] = {(ptrdiff_t)(fft->n[1] * fft->in.n[2]), (ptrdiff_t)fft->in.n[2]};
    t.rank = 0;
    for (int axis = 0; axis < 2; axis++) {
        if (fft->n[axis] == 1) continue;
        t.extent[t.rank] = (size_t)fft->n[axis];
        t.in_stride[t.rank] = (ptrdiff_t)fft->in.stride[axis];
        t.out_stride[t.rank++] = dense[axis];
    }
    t.batch = (size_t)fft->in.n[2];
    t.in_batch_stride = (ptrdiff_t)fft->in.stride[2];
    t.out_batch_stride = 1;
    t.kind = STN_C2C, t.direction = STN_INVERSE, t.dtype = fft->dtype;
    return stn_fft_make(&t, made, error);
}

/* The rows of that C2R, from the workspace to the output. */
static stn_status make_rows(const stn_fft *fft, stn_fft *made, stn_error *error) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 1;
    t.extent[0] = (size_t)fft->n[2];
    t.batch = (size_t)(fft->n[0] * fft->n[1]);
    t.out_stride[0] = (ptrdiff_t)fft->out.stride[2];
    t.out_batch_stride = (ptrdiff_t)(fft->n[1] > 1 ? fft->out.stride[1] : fft->out.stride[0]);
    t.kind = STN_C2R, t.dtype = fft->dtype;
    return stn_fft_make(&t, made, error);
}

/* cuFFT's one or two transforms of a candidate; false where cuFFT cannot run it, and why. */
static bool inner_of(const stn_fft *fft, const stn_candidate *candidate, stn_fft made[2], int *count, char *reason,
                     size_t size) {
    int way = candidate->values[WAY];
    stn_status status = STN_OK;
    *count = way == SPLIT ? 2 : 1;
    made[0] = *fft;
    if (way == AS_IS && fft->kind == STN_C2R && has_outer_axes(fft) && !fft->in_place) {
        snprintf(reason, size, "it would ruin its input");
        return false;
    }
    if (way == STAGED) status = make_staged(fft, candidate, &made[0], NULL);
    if (way == SPLIT) {
        bool even = fft->n[0] == 1 || fft->n[1] == 1 || fft->out.stride[0] == fft->n[1] * fft->out.stride[1];
        snprintf(reason, size, "it is no single c2r of several axes that lie evenly");
        if (fft->kind != STN_C2R || fft->n[2] < 2 || !has_outer_axes(fft) || fft->in_place || fft->batch > 1 || !even)
            return false;
        status = make_slow_axes(fft, &made[0], NULL);
        if (status == STN_OK) status = make_rows(fft, &made[1], NULL);
    }
    if (status != STN_OK) {
        snprintf(reason, size, "a dense copy would have more bytes than 63 bits can count");
        return false;
    }
    for (int i = 0; i < *count; i++)
        if (!stn_cufft_takes(&made[i], reason, size)) return false;
    return true;
}

static size_t side_bytes(const stn_fft *fft, const stn_fft_side *side) {
    return (size_t)stn_fft_span(fft, side) * stn_fft_element(fft, side);
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Candidates are tried in this order until cuFFT's planner accepts one. */
static size_t candidates(const stn_fft *fft, const stn_machine *machine, stn_candidate *list, size_t most) {
    static const stn_candidate all[] = {
        {{[WAY] = AS_IS}}, {{[WAY] = SPLIT}}, {{[WAY] = STAGED}}, {{[WAY] = STAGED, [WIDENED] = 1}}};
    size_t count = 0;
    stn_fft unused[2];
    char reason[160];
    int plans;
    (void)machine;
    for (size_t i = 0; i < sizeof all / sizeof *all && count < most; i++)
        if ((fft->dtype == STN_F16 || !all[i].values[WIDENED]) &&
            inner_of(fft, &all[i], unused, &plans, reason, sizeof reason))
            list[count++] = all[i];
    return count;
}

static bool applies(const stn_fft *fft, const stn_machine *machine, char *reason, size_t reason_size) {
    stn_candidate any;
    if (!machine->is_device || !machine->present) {
        snprintf(reason, reason_size, "cuFFT plans for a GPU that is here only");
        return false;
    }
    if (candidates(fft, machine, &any, 1)) return true;
    snprintf(reason, reason_size, "a dense copy would have more bytes than 63 bits can count");
    return false;
}

/* The relative cost of prime factors other than 2, 3, 5 and 7: beyond 127, cuFFT computes a
 * convolution of more than twice the length (Bluestein). */
static double slowdown(int64_t n) {
    static const int small[] = {2, 3, 5, 7};
    for (int i = 0; i < 4; i++)
        while (n % small[i] == 0) n /= small[i];
    if (n == 1) return 1;
    for (int64_t p = 11; p <= 127; p += 2)
        while (n % p == 0) n /= p;
    return n == 1 ? 1.5 : 5;
}

/* Bytes that our copying kernels move. */
static double moved_bytes(const stn_fft *fft, const stn_candidate *candidate) {
    stn_fft inner;
    if (candidate->values[WAY] != STAGED)
        return fft->scale == 1 ? 0
                               : 2 * (double)stn_fft_count(fft, &fft->out) * (double)stn_fft_element(fft, &fft->out);
    if (make_staged(fft, candidate, &inner, NULL) != STN_OK) return INFINITY;
    return stn_fft_bytes(fft) + stn_fft_bytes(&inner);
}

/* cuFFT's times on an H200, in dense copies of the data. Pairs: f64, f32. */
static const struct {
    struct axis_rate {
        int64_t to;                 /* the longest axis for which this row holds */
        double power[2], others[2]; /* powers of two, other lengths */
    } axis[7];                      /* of a grid */
    /* Factors for R2C and C2R. [0]: powers of two. [1]: other lengths. [2]: other lengths in a C2R
     * of two axes. [3]: powers of two in a C2R of two axes of at least LONG points each. */
    double real[4][2];
    /* Time of each pass over a single line: [if there are one, two or more passes][0: powers of
     * two, 1: other lengths]. */
    double line[3][2];
    double half[2]; /* f16: fraction of the copy bandwidth, with one pass and with more */
} rates = {.axis = {{256, {1.15, 1.22}, {1.45, 1.50}},
                    {512, {1.10, 1.20}, {1.26, 1.38}},
                    {1024, {1.15, 1.40}, {1.93, 1.82}},
                    {2048, {1.50, 1.50}, {2.30, 2.60}},
                    {4096, {1.65, 1.67}, {2.90, 2.80}},
                    {8192, {1.85, 1.62}, {2.95, 2.85}},
                    {INT64_MAX, {2.13, 1.78}, {2.30, 2.30}}},
           .real = {{1.08, 1.06}, {1.27, 1.28}, {1.49, 1.5}, {1.38, 1.06}},
           .line = {{1.2, 2.4}, {2.3, 2.9}, {1.6, 2}},
           .half = {0.82, 0.38}};

enum { LONG = 8192 };

static bool is_power(int64_t n) { return !(n & (n - 1)); }
static double passes_of(int64_t n) { return n > 1 ? ceil(log2((double)n) / 12.5) : 0; }

static double line_copies(int64_t n) {
    double passes = passes_of(n);
    if (passes <= 1 && !is_power(n) && n < 256) return 1.6;
    return passes > 2 ? rates.line[2][!is_power(n)] * passes : rates.line[passes > 1][!is_power(n)];
}

static double copies_of(const stn_fft *fft) {
    bool narrow = fft->dtype != STN_F64, power = true;
    double copies = 0;
    int axes = 0;
    for (int axis = 0; axis < 3; axis++) {
        int64_t n = fft->n[axis];
        const struct axis_rate *rate = rates.axis;
        if (n == 1) continue;
        while (n > rate->to) rate++;
        copies += is_power(n) ? rate->power[narrow] : rate->others[narrow];
        power = power && is_power(n), axes++;
    }
    if (axes < 2) return line_copies(fft->n[0] * fft->n[1] * fft->n[2]);
    if (fft->kind == STN_C2C) return copies;
    const bool plane_back = fft->kind == STN_C2R && axes == 2, is_long = stn_min(fft->n[1], fft->n[2]) >= LONG;
    return copies * rates.real[power ? (plane_back && is_long ? 3 : 0) : plane_back ? 2 : 1][narrow];
}

/* A launch takes at least 3 us. */
static void estimate(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *estimate) {
    double passes = 0, slow = 1, moved = moved_bytes(fft, candidate);
    bool half = is_half(fft, candidate);
    for (int axis = 0; axis < 3; axis++) {
        passes += passes_of(fft->n[axis]);
        slow = fmax(slow, slowdown(fft->n[axis]));
    }
    passes = fmax(1, passes);
    double wider = fft->dtype == STN_F16 && !half ? 2 : 1;
    double copies = half ? passes / rates.half[passes > 1] : copies_of(fft);
    *estimate = (stn_estimate){.unit = fft->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32};
    estimate->bytes = stn_fft_bytes(fft) * wider * passes * slow + moved;
    estimate->flops = stn_fft_flops(fft) * slow;
    estimate->launches = passes + (candidate->values[WAY] == STAGED ? 2 : fft->scale != 1);
    double moving = (stn_fft_bytes(fft) * wider * copies * slow + MOVING * moved) / machine->copy_bandwidth;
    double working = estimate->flops / machine->flops[estimate->unit];
    estimate->seconds = fmax(fmax(moving, working), 3e-6 * estimate->launches) +
                        /* One for the call into the library. */
                        (estimate->launches + 1) * machine->launch_seconds;
}

/* ---- building -------------------------------------------------------------------------------- */

/* Opens cuFFT; the error says why the transform needs it. */
static stn_status open_cufft(const stn_plan *plan, stn_cufft **cufft, stn_error *error) {
    stn_error why;
    stn_status status = stn_context_cufft(plan->context, cufft, &why);
    if (status == STN_OK) return STN_OK;
    for (size_t i = 0; i < plan->ranked; i++)
        if (plan->ranking[i].strategy == &stn_fft_strategy_fft && !plan->ranking[i].applies)
            return stn_fail(error, status, "only cuFFT could run this transform (fft: %s), but there is %s",
                            plan->ranking[i].reason, why.message);
    return stn_fail(error, status, "%s", why.message);
}

/* Makes cuFFT's plans, which share one part of the workspace. */
static stn_status make_plans(stn_plan *plan, const stn_cufft *cufft, cufft_state *state, stn_error *error) {
    for (int i = 0; i < state->plans; i++) {
        size_t own;
        stn_status status =
            stn_cufft_plan_create(cufft, plan->context->device, &state->fft[i], &state->plan[i], &own, error);
        /* The driver is too old for cuFFT: our kernels may run. */
        if (status == STN_ERROR_DRIVER) status = STN_ERROR_UNSUPPORTED;
        if (status != STN_OK) return status;
        if (own > state->own) state->own = own;
    }
    return STN_OK;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    cufft_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    stn_cufft *cufft;
    char reason[160];
    STN_TRY(open_cufft(plan, &cufft, error));
    state->version = stn_cufft_version(cufft);
    if (!inner_of(&plan->fft, &plan->candidate, state->fft, &state->plans, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "strategy cufft cannot run this transform: %s", reason);
    STN_TRY(make_plans(plan, cufft, state, error));
    int way = plan->candidate.values[WAY];
    stn_dtype outer = plan->fft.dtype, inner = state->fft[0].dtype;
    if (way == STAGED) STN_TRY(stn_scaled_copy_make(plan, outer, inner, &state->in, error));
    if (way == STAGED || plan->fft.scale != 1) STN_TRY(stn_scaled_copy_make(plan, inner, outer, &state->out, error));
    plan->workspace_size = state->own;
    if (way == AS_IS) return STN_OK;
    const stn_fft *held = &state->fft[0];
    size_t in = way == STAGED ? side_bytes(held, &held->in) : 0, out = side_bytes(held, &held->out);
    state->own = (size_t)stn_round_up((int64_t)state->own, 256);
    plan->workspace_size = state->own + (in > out ? in : out);
    return STN_OK;
}

static void release(stn_plan *plan) {
    cufft_state *state = plan->state;
    for (int i = 0; i < 2; i++) stn_cufft_plan_destroy(state->plan[i]);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Copies all elements from one layout to another (or the same) and scales them. */
static stn_status move(const stn_plan *plan, const stn_kernel *kernel, const stn_fft_side *from, const void *source,
                       const stn_fft_side *to, void *target, double factor, void *stream, stn_error *error) {
    const stn_scaled_copy_end ends[2] = {{from, (void *)source}, {to, target}};
    return stn_scaled_copy_run(kernel, plan->fft.dtype, &ends[0], &ends[1], plan->fft.batch, factor, stream, error);
}

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const void *in = run->in;
    void *out = run->out, *workspace = run->workspace, *stream = run->stream;
    const cufft_state *state = plan->state;
    const stn_fft *fft = &plan->fft, *inner = &state->fft[0];
    void *own = state->own ? workspace : NULL, *held = (char *)workspace + state->own;
    int way = plan->candidate.values[WAY];
    if (way == STAGED) {
        STN_TRY(move(plan, state->in, &fft->in, in, &inner->in, held, 1, stream, error));
        STN_TRY(stn_cufft_plan_execute(state->plan[0], held, held, own, stream, error));
        return move(plan, state->out, &inner->out, held, &fft->out, out, fft->scale, stream, error);
    }
    STN_TRY(stn_cufft_plan_execute(state->plan[0], (void *)in, way == SPLIT ? held : out, own, stream, error));
    if (way == SPLIT) STN_TRY(stn_cufft_plan_execute(state->plan[1], held, out, own, stream, error));
    return state->out ? move(plan, state->out, &fft->out, out, &fft->out, out, fft->scale, stream, error) : STN_OK;
}

static const char *const way_names[] = {"", ", in place in the workspace", ", the last axis apart"};

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const cufft_state *state = plan->state;
    int way = plan->candidate.values[WAY];
    bool widened = plan->fft.dtype == STN_F16 && plan->candidate.values[WIDENED];
    if (format == STN_JSON) {
        stn_json_integer(text, "cufft_version", state->version);
        stn_json_key(text, "in_workspace");
        stn_text_printf(text, "%s", way == STAGED ? "true" : "false");
        stn_json_key(text, "axes_apart");
        stn_text_printf(text, "%s", way == SPLIT ? "true" : "false");
        stn_json_key(text, "through_f32");
        stn_text_printf(text, "%s", widened ? "true" : "false");
    } else
        stn_text_printf(text, "NVIDIA cuFFT %d.%d%s%s%s", state->version / 1000, state->version % 1000 / 100,
                        way_names[way], widened ? " as f32" : "", plan->fft.scale != 1 ? ", then scaled" : "");
}

static void name_candidate(const stn_task *unused, const stn_candidate *candidate, stn_text *text) {
    static const char *const ways[] = {"as it is", "in place in the workspace", "the last axis apart"};
    (void)unused; /* a transform's plan has none */
    stn_text_printf(text, "%s%s", ways[candidate->values[WAY]], candidate->values[WIDENED] ? ", as f32" : "");
}

const stn_strategy stn_fft_strategy_cufft = {
    .name = "cufft",
    .fft.applies = applies,
    .fft.candidates = candidates,
    .fft.estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
};
