/* The cufft strategy of transforms: what our own kernels do not serve, by NVIDIA's library. Its scale factors are a kernel
 * of ours after it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"

enum { THREADS = 256, MOST_BLOCKS = 1 << 20 };

/* As scale.cu declares it, in the larger of the two arithmetic types. */
typedef struct scale_arguments {
    void *data;
    int64_t n[3], stride[3], batch_stride, per, count;
    unsigned char factor[8];
} scale_arguments;

typedef struct cufft_state {
    stn_cufft_plan *plan;
    stn_kernel *scale; /* NULL: the factor is 1 */
    size_t own;        /* bytes of workspace that are cuFFT's; the input's copy follows */
    int version;
} cufft_state;

/* cuFFT's c2r of several axes ruins its input, which the caller keeps unless it is in place. */
static bool copies_input(const stn_fft *fft) { return fft->kind == STN_C2R && fft->rank > 1 && !fft->in_place; }
static size_t input_bytes(const stn_fft *fft) {
    return (size_t)stn_fft_span(fft, &fft->in) * stn_fft_element(fft, &fft->in);
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static bool applies(const stn_fft *fft, const stn_machine *machine, char *reason, size_t reason_size) {
    if (!machine->is_device || !machine->present) {
        snprintf(reason, reason_size, "cuFFT plans for a GPU that is here only");
        return false;
    }
    return stn_cufft_takes(fft, reason, reason_size);
}

static size_t candidates(const stn_fft *fft, const stn_machine *machine, stn_candidate *list, size_t most) {
    (void)fft;
    (void)machine;
    if (!most) return 0;
    list[0] = (stn_candidate){{0}};
    return 1;
}

/* The work that a factor of n other than 2, 3, 5 and 7 adds: beyond 127 a convolution of more than twice the length. */
static double slowdown(int64_t n) {
    static const int small[] = {2, 3, 5, 7};
    for (int i = 0; i < 4; i++)
        while (n % small[i] == 0) n /= small[i];
    if (n == 1) return 1;
    for (int64_t p = 11; p <= 127; p += 2)
        while (n % p == 0) n /= p;
    return n == 1 ? 1.5 : 5;
}

/* Measured on an H200: a line of up to about 2^12 numbers is one pass at 85% of copy; f16 beyond one pass runs at less
 * than half of that. */
static void estimate(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *estimate) {
    (void)candidate;
    double passes = 0, slow = 1;
    for (int axis = 0; axis < 3; axis++) {
        if (fft->n[axis] == 1) continue;
        passes += ceil(log2((double)fft->n[axis]) / 12.5);
        slow = fmax(slow, slowdown(fft->n[axis]));
    }
    passes = fmax(1, passes);
    *estimate = (stn_estimate){.unit = fft->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32};
    estimate->bytes = stn_fft_bytes(fft) * passes * slow / 0.85;
    if (fft->dtype == STN_F16 && passes > 1) estimate->bytes *= 2.2;
    if (copies_input(fft)) estimate->bytes += 2 * (double)input_bytes(fft);
    if (fft->scale != 1)
        estimate->bytes += 2 * (double)stn_fft_count(fft, &fft->out) * (double)stn_fft_element(fft, &fft->out);
    estimate->flops = stn_fft_flops(fft) * slow;
    estimate->launches = passes + copies_input(fft) + (fft->scale != 1);
    estimate->seconds = stn_estimate_seconds(estimate, machine);
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

static stn_status get_scale(stn_plan *plan, cufft_state *state, stn_error *error) {
    static const char *const stores[] = {[STN_F64] = "double", [STN_F32] = "float", [STN_F16] = "half_t"};
    stn_text params = STN_TEXT_EMPTY;
    char *text;
    stn_params_begin(&params);
    stn_params_type(&params, "STORE", stores[plan->fft.dtype]);
    stn_params_type(&params, "REAL", plan->fft.dtype == STN_F64 ? "double" : "float");
    stn_params_int(&params, "THREADS_X", THREADS);
    STN_TRY(stn_text_take(&params, &text, error));
    stn_status status = stn_kernel_get(plan->context, "scale", text, &state->scale, error);
    stn_text_free(text);
    if (status == STN_OK) plan->kernels[plan->nkernels++] = state->scale;
    return status;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    cufft_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    stn_cufft *cufft;
    STN_TRY(stn_context_cufft(plan->context, &cufft, error));
    state->version = stn_cufft_version(cufft);
    STN_TRY(stn_cufft_plan_create(cufft, plan->context->device, &plan->fft, &state->plan, &state->own, error));
    if (plan->fft.scale != 1) STN_TRY(get_scale(plan, state, error));
    plan->workspace_size = state->own;
    if (copies_input(&plan->fft)) {
        state->own = (size_t)stn_round_up((int64_t)state->own, 256);
        plan->workspace_size = state->own + input_bytes(&plan->fft);
    }
    return STN_OK;
}

static void release(stn_plan *plan) {
    cufft_state *state = plan->state;
    if (!state) return;
    stn_cufft_plan_destroy(state->plan);
    free(state);
    plan->state = NULL;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static bool is_dense(const stn_fft *fft, const stn_fft_side *side) {
    return stn_fft_span(fft, side) == stn_fft_count(fft, side);
}

static stn_status scale(const stn_plan *plan, void *data, void *stream, stn_error *error) {
    const cufft_state *state = plan->state;
    const stn_fft *fft = &plan->fft;
    const stn_fft_side *side = &fft->out;
    scale_arguments a = {.data = data, .per = side->real ? 1 : 2, .batch_stride = side->batch_stride};
    memcpy(a.n, side->n, sizeof a.n);
    memcpy(a.stride, side->stride, sizeof a.stride);
    a.count = stn_fft_count(fft, side) * a.per;
    if (is_dense(fft, side)) {
        a.n[0] = a.n[1] = 1, a.n[2] = stn_fft_count(fft, side);
        a.stride[2] = 1;
    }
    float single = (float)fft->scale;
    if (fft->dtype == STN_F64)
        memcpy(a.factor, &fft->scale, sizeof fft->scale);
    else
        memcpy(a.factor, &single, sizeof single);
    stn_launch how = {.grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .stream = stream};
    how.grid[0] = (unsigned)stn_min(stn_div_up(a.count, THREADS), MOST_BLOCKS);
    return stn_module_launch(state->scale->module, &how, &a, error);
}

static stn_status execute(stn_plan *plan, const void *in, void *out, void *workspace, void *stream, stn_error *error) {
    cufft_state *state = plan->state;
    void *from = (void *)in;
    if (copies_input(&plan->fft)) {
        from = (char *)workspace + state->own;
        STN_TRY(stn_device_copy(plan->context->device, from, in, input_bytes(&plan->fft), stream, error));
    }
    STN_TRY(stn_cufft_plan_execute(state->plan, from, out, workspace, stream, error));
    return state->scale ? scale(plan, out, stream, error) : STN_OK;
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const cufft_state *state = plan->state;
    if (format == STN_JSON) {
        stn_json_integer(text, "cufft_version", state->version);
        stn_json_key(text, "copies_input");
        stn_text_printf(text, "%s", copies_input(&plan->fft) ? "true" : "false");
    } else
        stn_text_printf(text, "NVIDIA cuFFT %d.%d%s%s", state->version / 1000, state->version % 1000 / 100,
                        copies_input(&plan->fft) ? ", from a copy of the input" : "",
                        state->scale ? ", then scaled" : "");
}

const stn_fft_strategy stn_fft_strategy_cufft = {
    .run = {.name = "cufft", .prepare = prepare, .execute = execute, .describe = describe, .release = release},
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
};
