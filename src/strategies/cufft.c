/* The cufft strategy of transforms: what our own kernels do not serve, by NVIDIA's library. Its scale factors are a kernel
 * of ours after it.
 *
 * A c2r of several axes would ruin its input, and cuFFT 12.0 was seen to fail on it out of place. It is done in place in
 * the workspace: input moved there, transformed, the real numbers moved out and scaled on the way. */
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
    const void *from;
    void *to;
    int64_t n[3], per, count, from_stride[3], from_batch, to_stride[3], to_batch;
    unsigned char factor[8];
} scale_arguments;

typedef struct cufft_state {
    stn_cufft_plan *plan;
    stn_fft fft;       /* what cuFFT does: the plan's transform, or that in place in the workspace */
    stn_kernel *scale; /* NULL: nothing to move and the factor is 1 */
    size_t own;        /* bytes of workspace that are cuFFT's; `fft` in place follows */
    int version;
} cufft_state;

static bool moves(const stn_fft *fft) { return fft->kind == STN_C2R && fft->rank > 1 && !fft->in_place; }

/* The same transform in place, dense. */
static stn_status make_in_place(const stn_fft *fft, stn_fft *made, stn_error *error) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = fft->rank;
    for (int axis = 0; axis < fft->rank; axis++) t.extent[axis] = (size_t)fft->n[3 - fft->rank + axis];
    t.batch = (size_t)fft->batch;
    t.kind = fft->kind;
    t.dtype = fft->dtype;
    t.in_place = 1;
    return stn_fft_make(&t, made, error);
}

static size_t side_bytes(const stn_fft *fft, const stn_fft_side *side) {
    return (size_t)stn_fft_span(fft, side) * stn_fft_element(fft, side);
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static bool applies(const stn_fft *fft, const stn_machine *machine, char *reason, size_t reason_size) {
    if (!machine->is_device || !machine->present) {
        snprintf(reason, reason_size, "cuFFT plans for a GPU that is here only");
        return false;
    }
    return moves(fft) || stn_cufft_takes(fft, reason, reason_size);
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

/* A line of up to about 2^12 numbers is one pass. Parts of the copy bandwidth: one pass 0.81 to 0.87 (f16 on an H200), f16
 * in more passes 0.18 to 0.62; f32 and f64 in more passes assumed. A pass takes 3 us even where it has little to do. */
static void estimate(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *estimate) {
    (void)candidate;
    double passes = 0, slow = 1, moved = 0;
    for (int axis = 0; axis < 3; axis++) {
        if (fft->n[axis] == 1) continue;
        passes += ceil(log2((double)fft->n[axis]) / 12.5);
        slow = fmax(slow, slowdown(fft->n[axis]));
    }
    passes = fmax(1, passes);
    double part = passes == 1 ? 0.82 : fft->dtype == STN_F16 ? 0.38 : 0.55;
    if (moves(fft))
        moved = 2 * stn_fft_bytes(fft);
    else if (fft->scale != 1)
        moved = 2 * (double)stn_fft_count(fft, &fft->out) * (double)stn_fft_element(fft, &fft->out);
    *estimate = (stn_estimate){.unit = fft->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32};
    estimate->bytes = stn_fft_bytes(fft) * passes * slow + moved;
    estimate->flops = stn_fft_flops(fft) * slow;
    estimate->launches = passes + (moves(fft) ? 2 : fft->scale != 1);
    double moving = (estimate->bytes - moved) / (part * machine->copy_bandwidth) + moved / machine->copy_bandwidth;
    double working = estimate->flops / machine->flops[estimate->unit];
    estimate->seconds = fmax(fmax(moving, working), 3e-6 * estimate->launches) +
                        (estimate->launches + 1) * machine->launch_seconds; /* one for the library's own way there */
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

static stn_status get_scale(stn_plan *plan, cufft_state *state, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    stn_params_elements(&params, plan->fft.dtype);
    stn_params_int(&params, "THREADS_X", THREADS);
    STN_TRY(stn_kernel_make(plan->context, "scale", &params, 0, &state->scale, error));
    stn_plan_list_kernel(plan, state->scale);
    return STN_OK;
}

/* cuFFT, or what is missing and why it is needed. */
static stn_status open_cufft(const stn_plan *plan, stn_cufft **cufft, stn_error *error) {
    stn_error why;
    stn_status status = stn_context_cufft(plan->context, cufft, &why);
    if (status == STN_OK) return STN_OK;
    for (size_t i = 0; i < plan->ranked; i++)
        if (plan->ranking[i].strategy == &stn_fft_strategy_fft.run && !plan->ranking[i].applies)
            return stn_fail(error, status, "only cuFFT could run this transform (fft: %s), but there is %s",
                            plan->ranking[i].reason, why.message);
    return stn_fail(error, status, "%s", why.message);
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    cufft_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    stn_cufft *cufft;
    STN_TRY(open_cufft(plan, &cufft, error));
    state->version = stn_cufft_version(cufft);
    state->fft = plan->fft;
    if (moves(&plan->fft)) STN_TRY(make_in_place(&plan->fft, &state->fft, error));
    stn_status status =
        stn_cufft_plan_create(cufft, plan->context->device, &state->fft, &state->plan, &state->own, error);
    if (status == STN_ERROR_DRIVER) status = STN_ERROR_UNSUPPORTED; /* a driver too old for it: ours may do */
    if (status != STN_OK) return status;
    if (moves(&plan->fft) || plan->fft.scale != 1) STN_TRY(get_scale(plan, state, error));
    plan->workspace_size = state->own;
    if (moves(&plan->fft)) {
        size_t in = side_bytes(&state->fft, &state->fft.in), out = side_bytes(&state->fft, &state->fft.out);
        state->own = (size_t)stn_round_up((int64_t)state->own, 256);
        plan->workspace_size = state->own + (in > out ? in : out);
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

/* Moves all elements of a side from one layout to another (or the same) and multiplies them. */
static stn_status move(const stn_plan *plan, const stn_fft_side *from, const void *source, const stn_fft_side *to,
                       void *target, double factor, void *stream, stn_error *error) {
    const cufft_state *state = plan->state;
    const stn_fft *fft = &plan->fft;
    scale_arguments a = {.from = source, .to = target, .per = to->real ? 1 : 2};
    memcpy(a.n, to->n, sizeof a.n);
    memcpy(a.from_stride, from->stride, sizeof a.from_stride);
    memcpy(a.to_stride, to->stride, sizeof a.to_stride);
    a.from_batch = from->batch_stride, a.to_batch = to->batch_stride;
    a.count = stn_fft_count(fft, to) * a.per;
    if (from == to && is_dense(fft, to)) { /* in any order */
        a.n[0] = a.n[1] = 1, a.n[2] = stn_fft_count(fft, to);
        a.from_stride[2] = a.to_stride[2] = 1;
    }
    float single = (float)factor;
    if (fft->dtype == STN_F64)
        memcpy(a.factor, &factor, sizeof factor);
    else
        memcpy(a.factor, &single, sizeof single);
    stn_launch how = {.grid = {1, 1, 1}, .block = {THREADS, 1, 1}, .stream = stream};
    how.grid[0] = (unsigned)stn_min(stn_div_up(a.count, THREADS), MOST_BLOCKS);
    return stn_module_launch(state->scale->module, &how, &a, error);
}

static stn_status execute(stn_plan *plan, const void *in, void *out, void *workspace, void *stream, stn_error *error) {
    cufft_state *state = plan->state;
    const stn_fft *fft = &plan->fft, *inner = &state->fft;
    void *own = state->own ? workspace : NULL;
    if (moves(fft)) {
        void *held = (char *)workspace + state->own;
        STN_TRY(move(plan, &fft->in, in, &inner->in, held, 1, stream, error));
        STN_TRY(stn_cufft_plan_execute(state->plan, held, held, own, stream, error));
        return move(plan, &inner->out, held, &fft->out, out, fft->scale, stream, error);
    }
    STN_TRY(stn_cufft_plan_execute(state->plan, (void *)in, out, own, stream, error));
    return state->scale ? move(plan, &fft->out, out, &fft->out, out, fft->scale, stream, error) : STN_OK;
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const cufft_state *state = plan->state;
    if (format == STN_JSON) {
        stn_json_integer(text, "cufft_version", state->version);
        stn_json_key(text, "in_workspace");
        stn_text_printf(text, "%s", moves(&plan->fft) ? "true" : "false");
    } else
        stn_text_printf(text, "NVIDIA cuFFT %d.%d%s%s", state->version / 1000, state->version % 1000 / 100,
                        moves(&plan->fft) ? ", in place in the workspace" : "",
                        plan->fft.scale != 1 ? ", then scaled" : "");
}

const stn_fft_strategy stn_fft_strategy_cufft = {
    .run = {.name = "cufft", .prepare = prepare, .execute = execute, .describe = describe, .release = release},
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
};
