/* Strategy block: transforms of grids that fit in the shared memory of a block, all axes in one
 * launch, which saves launches and CPU time. See kernel_templates/fft/fft_block.cu. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "render/render.h"
#include "strategies/common/shared_fft.h"
#include "strategies/common/twiddles.h"
#include "strategies/table.h"

enum { PAD = 32, RADICES = 8, LARGEST_RADIX = 16, MAX_THREADS = 512, POINTS_A_THREAD = 8, MIN_POINTS = 512 };

typedef struct block_shape {
    int stages[3], radix[3][RADICES];
    int points, grids; /* points of a grid; grids of a block */
    int threads;
    size_t shared;
} block_shape;

typedef struct block_state {
    block_shape shape;
    stn_kernel *kernel;
    void *twiddles; /* device memory */
} block_state;

/* A candidate's values: the binary logarithm of a thread's points relative to the usual number. */
enum { SHARE };

static bool is_wide(const stn_fft *fft) { return fft->dtype == STN_F64; }
static size_t element_bytes(const stn_fft *fft) { return is_wide(fft) ? 16 : 8; }

/* ---- the shape ------------------------------------------------------------------------------- */

static bool has_butterfly(int radix) { return radix <= 10 || radix == 12 || (radix >= 14 && radix <= 16); }

/* Of the factorisations with the given number of stages, the one with the smallest largest radix,
 * which decides the number of registers. */
static bool radices_of(int64_t n, int stages, int largest, int *radix) {
    if (stages == 0) return n == 1;
    for (*radix = 2; *radix <= largest; (*radix)++)
        if (n % *radix == 0 && has_butterfly(*radix) && radices_of(n / *radix, stages - 1, *radix, radix + 1))
            return true;
    return false;
}

static bool axis_of(int64_t n, int *stages, int *radix) {
    if (!stn_shared_fft_is_smooth(n)) return false;
    for (*stages = 0; *stages <= RADICES; (*stages)++)
        if (radices_of(n, *stages, LARGEST_RADIX, radix)) return true;
    return false;
}

/* Grids of a block: enough for its threads, but few enough that every multiprocessor gets a
 * block. */
static int grids_of(const stn_fft *fft, const stn_machine *machine, int64_t points, size_t available) {
    int64_t grids = 1;
    while (2 * grids * points <= MIN_POINTS && fft->batch / (2 * grids) >= machine->multiprocessors &&
           (size_t)(2 * grids * points) * 33 / 32 * element_bytes(fft) < available)
        grids *= 2;
    return (int)grids;
}

static bool shape_of(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate, block_shape *shape,
                     char *reason, size_t size) {
    const size_t most = machine->shared_per_block / element_bytes(fft);
    int64_t points = 1;
    memset(shape, 0, sizeof *shape);
    for (int axis = 0; axis < 3; axis++) {
        if (stn_mul_overflows(points, fft->n[axis], &points) || (size_t)points > most) {
            snprintf(reason, size, "it has more points than a block's shared memory");
            return false;
        }
        if (!axis_of(fft->n[axis], &shape->stages[axis], shape->radix[axis])) {
            snprintf(reason, size, "%" PRId64 " points are no product of 2, 3, 5 and 7", fft->n[axis]);
            return false;
        }
    }
    shape->points = (int)points;
    shape->grids = grids_of(fft, machine, points, machine->shared_per_block);
    const int elements = shape->points * shape->grids, share = candidate->values[SHARE];
    const int each = share < 0 ? POINTS_A_THREAD >> -share : POINTS_A_THREAD << share;
    shape->threads = (int)stn_max(32, stn_min(MAX_THREADS, stn_round_up(stn_div_up(elements, each), 32)));
    shape->shared = (size_t)(elements + (elements - 1) / PAD) * element_bytes(fft);
    if (shape->shared > machine->shared_per_block || stn_div_up(fft->batch, shape->grids) > INT32_MAX) {
        snprintf(reason, size, "it has more points than a block's shared memory");
        return false;
    }
    return true;
}

static bool applies(const stn_fft *fft, const stn_machine *machine, char *reason, size_t reason_size) {
    if (!stn_has_gpu(machine, reason, reason_size)) return false;
    const stn_candidate usual = {{0}};
    block_shape shape;
    return shape_of(fft, machine, &usual, &shape, reason, reason_size);
}

static size_t candidates(const stn_fft *fft, const stn_machine *machine, stn_candidate *list, size_t most) {
    (void)fft;
    (void)machine;
    size_t count = 0;
    if (most) list[count++] = (stn_candidate){{0}};
    if (most <= STN_CANDIDATES) return count;
    for (int share = -1; share <= 1 && count < most; share += 2) list[count++] = (stn_candidate){{[SHARE] = share}};
    return count;
}

/* ---- the estimate ---------------------------------------------------------------------------- */

/* These times are assumed (rather too long), not measured. A stage waits for shared memory,
 * arithmetic and a barrier; a launch waits for memory twice; `part` is the fraction of the copy
 * bandwidth that many grids reach. */
static const struct {
    double wait, stage; /* seconds of a wait for memory, and of a stage */
    double point;       /* cycles of a multiprocessor for one f32 point of a stage */
    double part;
} rates = {2e-6, 0.3e-6, 0.35, 0.35};

static void estimate(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    block_shape shape;
    char reason[160];
    *result = (stn_estimate){.unit = is_wide(fft) ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32, .seconds = INFINITY};
    if (!shape_of(fft, machine, candidate, &shape, reason, sizeof reason)) return;
    const double blocks = (double)stn_div_up(fft->batch, shape.grids), elements = (double)shape.points * shape.grids;
    /* The 2 further stages are loading and storing. */
    const double stages = shape.stages[0] + shape.stages[1] + shape.stages[2] + 2;
    const size_t available = machine->shared_per_multiprocessor / (shape.shared + 1024);
    const double resident = fmin(8, (double)available);
    const double turns = ceil(blocks / (double)machine->multiprocessors);
    const double point = rates.point * (is_wide(fft) ? 2 : 1) / machine->clock;
    const double waiting = rates.wait + ceil(turns / fmax(1, resident)) * stages * rates.stage;
    const double working = rates.wait + turns * stages * elements * point;
    const double moving = stn_fft_bytes(fft) / (rates.part * machine->copy_bandwidth);
    result->bytes = stn_fft_bytes(fft);
    result->flops = stn_fft_flops(fft);
    result->launches = 1;
    result->seconds = fmax(fmax(waiting, working), moving) + machine->launch_seconds;
}

/* ---- building -------------------------------------------------------------------------------- */

/* The arguments that fft_block.cu declares; the scale, in its arithmetic type, follows them. */
typedef struct block_arguments {
    const void *in;
    void *out;
    const void *twiddles;
    int64_t in_stride[3], out_stride[3], in_grid, out_grid, grids;
} block_arguments;

static void params_of(const stn_fft *fft, const block_shape *shape, stn_text *params) {
    int extent[3], radix[3 * RADICES], radices = 1;
    for (int axis = 0; axis < 3; axis++) radices = (int)stn_max(radices, shape->stages[axis]);
    for (int axis = 0; axis < 3; axis++) {
        extent[axis] = (int)fft->n[axis];
        for (int s = 0; s < radices; s++)
            radix[axis * radices + s] = s < shape->stages[axis] ? shape->radix[axis][s] : 1;
    }
    stn_params_begin_for(params, fft->dtype);
    stn_params_ints(params, "GRID_EXTENT", extent, 3);
    stn_params_int(params, "GRID_RADICES", radices);
    stn_params_ints(params, "GRID_STAGES", shape->stages, 3);
    stn_params_ints(params, "GRID_RADIX", radix, (size_t)(3 * radices));
    stn_params_int(params, "GRIDS", shape->grids);
    stn_params_int(params, "THREADS_X", shape->threads);
    stn_params_int(params, "BLOCKS", 1);
    stn_params_int(params, "FFT_INVERSE", fft->inverse);
    stn_params_int(params, "FFT_SCALE", fft->scale != 1);
    stn_params_int(params, "FFT_LOAD_REAL", fft->kind == STN_C2R);
    stn_params_int(params, "FFT_STORE_REAL", fft->kind == STN_R2C);
    stn_params_int(params, "EXPECTED_HEADER", sizeof(block_arguments));
}

static stn_status upload_twiddles(const stn_plan *plan, block_state *state, stn_error *error) {
    const stn_fft *fft = &plan->fft;
    const size_t size = (size_t)(fft->n[0] + fft->n[1] + fft->n[2]) * element_bytes(fft);
    if (!plan->machine.present) return STN_OK;
    void *twiddles = malloc(size);
    if (!twiddles) return stn_fail_memory(error, "the tables of twiddles", size);
    size_t at = 0;
    for (int axis = 0; axis < 3; axis++)
        for (int64_t j = 0; j < fft->n[axis]; j++) stn_store_twiddle(twiddles, at++, is_wide(fft), j, fft->n[axis]);
    stn_status status = stn_device_replace(plan->context->device, &state->twiddles, 0, twiddles, size, error);
    free(twiddles);
    return status;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    block_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    char reason[160];
    if (!shape_of(&plan->fft, &plan->machine, &plan->candidate, &state->shape, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "strategy block cannot run this transform: %s", reason);
    stn_text params = STN_TEXT_EMPTY;
    params_of(&plan->fft, &state->shape, &params);
    STN_TRY(stn_kernel_make(plan->kernels, "fft_block", &params, state->shape.shared, &state->kernel, error));
    return upload_twiddles(plan, state, error);
}

static void release(stn_plan *plan) {
    block_state *state = plan->state;
    stn_device_free(plan->context->device, state->twiddles);
}

/* ---- running --------------------------------------------------------------------------------- */

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const block_state *state = plan->state;
    const stn_fft *fft = &plan->fft;
    block_arguments a = {.in = run->in, .out = run->out, .twiddles = state->twiddles, .grids = fft->batch};
    memcpy(a.in_stride, fft->in.stride, sizeof a.in_stride);
    memcpy(a.out_stride, fft->out.stride, sizeof a.out_stride);
    a.in_grid = fft->in.batch_stride, a.out_grid = fft->out.batch_stride;
    _Alignas(16) unsigned char arguments[sizeof a + sizeof(double)];
    memcpy(arguments, &a, sizeof a);
    stn_put_real(fft->dtype, fft->scale, arguments + sizeof a);
    return stn_kernel_launch(state->kernel, stn_div_up(fft->batch, state->shape.grids), state->shape.threads,
                             state->shape.shared, arguments, run->stream, error);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const block_shape *shape = &((const block_state *)plan->state)->shape;
    if (format == STN_JSON) {
        stn_json_integer(text, "grids_a_block", shape->grids);
        stn_json_integer(text, "threads", shape->threads);
        return;
    }
    stn_text_printf(text, "one launch, %d grid%s of %d points in a block's shared memory, %d threads", shape->grids,
                    shape->grids == 1 ? "" : "s", shape->points, shape->threads);
}

static void name_candidate(const stn_task *unused, const stn_candidate *candidate, stn_text *text) {
    static const char *const shares[] = {", fewer points a thread", "", ", more points a thread"};
    (void)unused; /* a transform's plan has none */
    stn_text_printf(text, "whole grids in a block's shared memory%s", shares[1 + candidate->values[SHARE]]);
}

const stn_strategy stn_fft_strategy_block = {
    .name = "block",
    .fft.applies = applies,
    .fft.candidates = candidates,
    .fft.estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
};
