/* The fft strategy: batched transforms after tcFFT. How a transform becomes passes is in passes.c. A pass is a launch of
 * fft_line, which takes any, shaped by shape.c, or of fft_warp, on tensor cores, which takes some (warp.c), or,
 * of real numbers in several passes, of fft_real (real.c), or of fft_image and fft_long, in clusters of blocks
 * (cluster.c). */
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
#include "strategies/fft/cluster.h"
#include "strategies/fft/cost.h"
#include "strategies/fft/ladder.h"
#include "strategies/fft/passes.h"
#include "strategies/fft/real.h"
#include "strategies/fft/shape.h"
#include "strategies/fft/warp.h"

typedef enum pass_kernel { BY_LINE, BY_WARP, BY_REAL, BY_IMAGE, BY_LONG, BY_LADDER } pass_kernel;
static const char *const kernel_names[] = {
    [BY_LINE] = "fft_line",   [BY_WARP] = "fft_warp", [BY_REAL] = "fft_real",
    [BY_IMAGE] = "fft_image", [BY_LONG] = "fft_long", [BY_LADDER] = "fft_ladder"};

typedef struct fft_state {
    fft_passes passes;
    pass_kernel by[FFT_MAX_PASSES];
    fft_shape shape[FFT_MAX_PASSES];   /* of fft_line */
    stn_ladder ladder[FFT_MAX_PASSES]; /* of fft_ladder */
    stn_kernel *kernel[FFT_MAX_PASSES];
    fft_tables tables[FFT_MAX_PASSES];
    size_t first[FFT_MAX_PASSES]; /* of the pass's tables, in complex numbers */
    void *roots;                  /* device memory: the tables of all passes */
} fft_state;

/* A candidate's values: passes that fft_warp can take are its own; images are fft_image's, and long lines are split so that
 * fft_long can take passes of them; longer or shorter accesses; lines that fill shared memory are fft_ladder's, all of
 * them, or not those across memory, whose accesses are short then, or those in clusters of blocks; half spectra lie in longer rows between passes; of those that
 * fft_ladder can take, fft_line takes what it is estimated to be faster at. */
enum { ON_TENSOR_CORES, IN_CLUSTERS, WIDTH, BY_RUNGS, PADDED, BY_EITHER };
enum { ALL_RUNGS = 1, ROW_RUNGS = 2, SHARED_RUNGS = 3 };
enum { SHORT_COLUMN = 2048 }; /* of ROW_RUNGS: longer ones take two passes */

static bool by_cluster(const fft_state *state, int i) { return state->by[i] == BY_IMAGE || state->by[i] == BY_LONG; }

/* Of a pass that fft_ladder can take. */
static bool line_is_faster(const stn_fft *fft, const stn_machine *machine, const fft_state *state, int i) {
    const fft_pass *pass = &state->passes.pass[i];
    fft_shape shape;
    bool across = fft_fast_in(pass) || fft_fast_out(pass);
    return pass->length <= fft_longest(fft->dtype, across) && fft_shape_for(pass, fft->dtype, machine, 0, &shape) &&
           fft_shape_blocks(pass, &shape) <= INT32_MAX &&
           fft_line_seconds(pass, &shape, fft->dtype, machine) <
               fft_ladder_seconds(pass, &state->ladder[i], fft->dtype, machine);
}

/* The passes and their shapes; false, and why, where there are none. */
static bool find_shapes(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate,
                        fft_state *state, char *reason, size_t size) {
    bool clusters = candidate->values[IN_CLUSTERS];
    if (clusters && fft_cluster_image(fft, machine, &state->passes)) {
        state->by[0] = BY_IMAGE;
        return true;
    }
    fft_lengths lengths = {.first = clusters ? FFT_CLUSTER_LINE : 0, .padded = candidate->values[PADDED] != 0};
    if (candidate->values[BY_RUNGS]) lengths.longest = lengths.longest_column = fft_ladder_longest(fft->dtype, machine);
    if (candidate->values[BY_RUNGS] == ROW_RUNGS)
        lengths.longest_column = stn_min(lengths.longest_column, SHORT_COLUMN);
    bool shared = candidate->values[BY_RUNGS] == SHARED_RUNGS;
    if (shared) lengths.longest_column = fft_ladder_longest_shared(fft->dtype, machine);
    if (!fft_passes_of(fft, &lengths, &state->passes, reason, size)) return false;
    for (int i = 0; i < state->passes.count; i++) {
        const fft_pass *pass = &state->passes.pass[i];
        bool warp = candidate->values[ON_TENSOR_CORES] && !pass->only_real && fft_warp_fits(fft, machine, pass);
        state->by[i] = pass->only_real ? BY_REAL : warp ? BY_WARP : BY_LINE;
        if (clusters && fft_cluster_long(fft, machine, pass)) {
            state->by[i] = BY_LONG;
            continue;
        }
        if (shared && fft_ladder_shared_for(pass, fft->dtype, machine, &state->ladder[i])) {
            state->by[i] = BY_LADDER;
            continue;
        }
        if (candidate->values[BY_RUNGS] && fft_ladder_for(pass, fft->dtype, machine, &state->ladder[i]) &&
            fft_ladder_blocks(pass, &state->ladder[i]) <= INT32_MAX &&
            !(candidate->values[BY_EITHER] && line_is_faster(fft, machine, state, i))) {
            state->by[i] = BY_LADDER;
            continue;
        }
        if (!pass->only_real && !fft_shape_for(pass, fft->dtype, machine, candidate->values[WIDTH], &state->shape[i])) {
            snprintf(reason, size, "it has no kernel for lines of %" PRId64 " points", pass->length);
            return false;
        }
        if ((pass->only_real ? fft_real_blocks(pass) : fft_shape_blocks(pass, &state->shape[i])) > INT32_MAX) {
            snprintf(reason, size, "it would need more than 2^31 blocks of threads");
            return false;
        }
    }
    return true;
}

/* Does this candidate run, and by a kernel that others leave alone, if it names one? */
static bool stands(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate) {
    fft_state state;
    char reason[160];
    if (!find_shapes(fft, machine, candidate, &state, reason, sizeof reason)) return false;
    bool any = !candidate->values[ON_TENSOR_CORES] && !candidate->values[IN_CLUSTERS] && !candidate->values[BY_RUNGS];
    for (int i = 0; i < state.passes.count; i++)
        any = any || state.by[i] == BY_WARP || state.by[i] == BY_LADDER || by_cluster(&state, i);
    if (any && candidate->values[BY_RUNGS] == SHARED_RUNGS) {
        any = false;
        for (int i = 0; i < state.passes.count; i++)
            any = any || (state.by[i] == BY_LADDER && state.ladder[i].shares > 1);
        return any;
    }
    fft_state other; /* does fft_line take any? */
    stn_candidate all = *candidate;
    if (any && candidate->values[BY_EITHER]) {
        all.values[BY_EITHER] = 0;
        any = !find_shapes(fft, machine, &all, &other, reason, sizeof reason) ||
              memcmp(other.by, state.by, sizeof *state.by * (size_t)state.passes.count);
    }
    if (!any || candidate->values[BY_RUNGS] != ROW_RUNGS) return any;
    /* are there columns that it splits? */
    all.values[BY_RUNGS] = ALL_RUNGS;
    return !find_shapes(fft, machine, &all, &other, reason, sizeof reason) || other.passes.count != state.passes.count;
}

/* What plans are chosen from. */
static const stn_candidate usual[] = {{{[IN_CLUSTERS] = 1}},
                                      {{[ON_TENSOR_CORES] = 1}},
                                      {{[BY_RUNGS] = ALL_RUNGS}},
                                      {{0}},
                                      {{[BY_RUNGS] = ROW_RUNGS}},
                                      {{[PADDED] = 1}},
                                      {{[BY_RUNGS] = ALL_RUNGS, [PADDED] = 1}},
                                      {{[BY_RUNGS] = ROW_RUNGS, [PADDED] = 1}},
                                      {{[BY_RUNGS] = ALL_RUNGS, [BY_EITHER] = 1}},
                                      {{[BY_RUNGS] = ROW_RUNGS, [BY_EITHER] = 1}},
                                      {{[BY_RUNGS] = ALL_RUNGS, [PADDED] = 1, [BY_EITHER] = 1}},
                                      {{[BY_RUNGS] = ROW_RUNGS, [PADDED] = 1, [BY_EITHER] = 1}},
                                      {{[BY_RUNGS] = SHARED_RUNGS, [BY_EITHER] = 1}},
                                      {{[BY_RUNGS] = SHARED_RUNGS, [PADDED] = 1, [BY_EITHER] = 1}}};

static bool applies(const stn_fft *fft, const stn_machine *machine, char *reason, size_t reason_size) {
    if (!machine->is_device) {
        snprintf(reason, reason_size, "it needs a GPU and this context is for the host");
        return false;
    }
    fft_state state;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (stands(fft, machine, &usual[i])) return true;
    stn_candidate plain = {{0}};
    return find_shapes(fft, machine, &plain, &state, reason, reason_size);
}

/* Does it shape a pass otherwise? */
static bool differs(const stn_fft *fft, const stn_machine *machine, const stn_candidate *a, const stn_candidate *b) {
    fft_state x, y;
    char reason[160];
    if (!find_shapes(fft, machine, a, &x, reason, sizeof reason) ||
        !find_shapes(fft, machine, b, &y, reason, sizeof reason))
        return false;
    for (int i = 0; i < x.passes.count; i++)
        if (x.by[i] == BY_LINE && x.shape[i].lines != y.shape[i].lines) return true;
    return false;
}

static size_t candidates(const stn_fft *fft, const stn_machine *machine, stn_candidate *list, size_t most) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual && count < most; i++)
        if (stands(fft, machine, &usual[i])) list[count++] = usual[i];
    if (most <= STN_CANDIDATES) return count;
    size_t chosen = count; /* for measuring: each with longer and with shorter accesses */
    for (size_t i = 0; i < chosen; i++)
        for (int width = -1; width <= 1 && count < most; width += 2) {
            list[count] = list[i];
            list[count].values[WIDTH] = width;
            count += differs(fft, machine, &list[i], &list[count]) && stands(fft, machine, &list[count]);
        }
    return count;
}

/* ---- the estimate ------------------------------------------------------------------------------------------------ */

static double pass_seconds(const stn_fft *fft, const stn_machine *machine, const fft_state *state, int i) {
    const fft_pass *pass = &state->passes.pass[i];
    if (state->by[i] == BY_LINE) return fft_line_seconds(pass, &state->shape[i], fft->dtype, machine);
    if (state->by[i] == BY_WARP) return fft_warp_seconds(pass, machine);
    if (state->by[i] == BY_LADDER) return fft_ladder_seconds(pass, &state->ladder[i], fft->dtype, machine);
    if (by_cluster(state, i)) return fft_cluster_seconds(pass, machine);
    return fft_real_seconds(pass, fft->dtype, machine);
}

static void estimate(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    fft_state state;
    char reason[160];
    *result = (stn_estimate){.unit = fft->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32, .seconds = INFINITY};
    if (!find_shapes(fft, machine, candidate, &state, reason, sizeof reason)) return;
    result->seconds = 0;
    for (int i = 0; i < state.passes.count; i++) {
        result->bytes += fft_pass_bytes(&state.passes.pass[i], fft->dtype);
        result->seconds += pass_seconds(fft, machine, &state, i);
    }
    result->flops = stn_fft_flops(fft);
    result->launches = state.passes.count;
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

static size_t root_bytes(const stn_plan *plan) { return plan->fft.dtype == STN_F64 ? 16 : 8; }

/* The tables of a pass, as complex numbers. `to` may be NULL: only count. */
static fft_tables tables_of(const stn_plan *plan, const fft_state *state, int i, void *to) {
    const fft_pass *pass = &state->passes.pass[i];
    if (state->by[i] == BY_LINE) return fft_shape_tables(pass, &state->shape[i], plan->fft.dtype, to);
    if (state->by[i] == BY_REAL) return (fft_tables){.twiddles = fft_real_roots(pass, plan->fft.dtype, to)};
    if (by_cluster(state, i)) return (fft_tables){0};
    if (state->by[i] == BY_LADDER)
        return (fft_tables){.twiddles = fft_ladder_roots(pass, &state->ladder[i], plan->fft.dtype, to)};
    if (to) fft_warp_roots(pass, to);
    return (fft_tables){.twiddles = (size_t)pass->length};
}

/* The tables of all passes, computed here and copied to the device. */
static stn_status upload_roots(stn_plan *plan, fft_state *state, stn_error *error) {
    size_t count = 0;
    for (int i = 0; i < state->passes.count; i++) {
        fft_tables t = tables_of(plan, state, i, NULL);
        state->tables[i] = t, state->first[i] = count;
        count += t.twiddles + t.outer + t.real;
    }
    if (!plan->machine.present || !count) return STN_OK;
    size_t size = count * root_bytes(plan);
    unsigned char *roots = malloc(size);
    if (!roots) return stn_fail_memory(error, "the tables of roots", size);
    for (int i = 0; i < state->passes.count; i++) tables_of(plan, state, i, roots + state->first[i] * root_bytes(plan));
    stn_status status = stn_device_alloc(plan->context->device, size, &state->roots, error);
    if (status == STN_OK) status = stn_device_upload(plan->context->device, state->roots, roots, size, error);
    free(roots);
    return status;
}

static stn_status prepare_pass(stn_plan *plan, fft_state *state, int i, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    size_t shared = 0;
    if (state->by[i] == BY_LINE) {
        fft_shape_params(&state->passes.pass[i], &state->shape[i], plan->fft.dtype, &params);
        shared = fft_shape_shared(&state->passes.pass[i], &state->shape[i], plan->fft.dtype);
    } else if (state->by[i] == BY_LADDER) {
        fft_ladder_params(&state->passes.pass[i], &state->ladder[i], plan->fft.dtype, &params);
        shared = fft_ladder_shared(&state->ladder[i], plan->fft.dtype);
    } else if (state->by[i] == BY_WARP)
        fft_warp_params(&state->passes.pass[i], &params), shared = fft_warp_shared(&state->passes.pass[i]);
    else if (by_cluster(state, i))
        fft_cluster_params(&state->passes.pass[i], &params), shared = fft_cluster_shared(&state->passes.pass[i]);
    else
        fft_real_params(&state->passes.pass[i], plan->fft.dtype, &params);
    STN_TRY(stn_kernel_make(plan->context, kernel_names[state->by[i]], &params, shared, &state->kernel[i], error));
    stn_plan_list_kernel(plan, state->kernel[i]);
    return STN_OK;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    fft_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    char reason[160];
    if (!find_shapes(&plan->fft, &plan->machine, &plan->candidate, state, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "strategy fft cannot run this transform: %s", reason);
    plan->workspace_size = (size_t)state->passes.work * 2 * stn_dtype_size(plan->fft.dtype);
    for (int i = 0; i < state->passes.count; i++) STN_TRY(prepare_pass(plan, state, i, error));
    return upload_roots(plan, state, error);
}

static void release(stn_plan *plan) {
    fft_state *state = plan->state;
    if (!state) return;
    if (state->roots) stn_device_free(plan->context->device, state->roots);
    free(state);
    plan->state = NULL;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

static stn_status launch(const stn_plan *plan, int i, const void *from, void *to, void *stream, stn_error *error) {
    const fft_state *state = plan->state;
    const fft_pass *pass = &state->passes.pass[i];
    const unsigned char *twiddle = (const unsigned char *)state->roots + state->first[i] * root_bytes(plan);
    if (state->by[i] == BY_REAL) return fft_real_launch(state->kernel[i], pass, from, to, twiddle, stream, error);
    if (state->by[i] == BY_LADDER)
        return fft_ladder_launch(state->kernel[i], pass, &state->ladder[i], plan->fft.dtype, from, to, twiddle, stream,
                                 error);
    if (state->by[i] == BY_IMAGE) return fft_image_launch(state->kernel[i], pass, from, to, stream, error);
    if (state->by[i] == BY_LONG) return fft_long_launch(state->kernel[i], pass, from, to, stream, error);
    if (state->by[i] == BY_WARP)
        return fft_warp_launch(state->kernel[i], pass, &plan->machine, from, to, twiddle, stream, error);
    return fft_shape_launch(state->kernel[i], pass, &state->shape[i], plan->fft.dtype, from, to, twiddle,
                            &state->tables[i], stream, error);
}

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const void *in = run->in;
    void *out = run->out, *workspace = run->workspace, *stream = run->stream;
    const fft_state *state = plan->state;
    for (int i = 0; i < state->passes.count; i++) {
        const fft_pass *pass = &state->passes.pass[i];
        const void *from = pass->from == FFT_IN ? in : pass->from == FFT_OUT ? out : workspace;
        void *to = pass->to == FFT_WORK ? workspace : out; /* a pass writes to its input only in place, which is out */
        STN_TRY(launch(plan, i, from, to, stream, error));
    }
    return STN_OK;
}

/* "2 passes: 512 points in 16 x 32, 16 lines a block; ..." */
static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const fft_state *state = plan->state;
    if (format == STN_JSON) {
        int64_t lengths[FFT_MAX_PASSES];
        for (int i = 0; i < state->passes.count; i++) lengths[i] = state->passes.pass[i].length;
        stn_json_integers(text, "passes", lengths, state->passes.count);
        return;
    }
    stn_text_printf(text, "%d pass%s:", state->passes.count, state->passes.count == 1 ? "" : "es");
    for (int i = 0; i < state->passes.count; i++) {
        const fft_shape *shape = &state->shape[i];
        const stn_ladder *ladder = &state->ladder[i];
        if (state->by[i] == BY_LADDER) {
            stn_text_printf(text, "%s %d points by rungs of", i ? ";" : "", ladder->points);
            for (int s = 0; s < ladder->stages; s++) stn_text_printf(text, "%s%d", s ? " x " : " ", ladder->radix[s]);
            stn_text_printf(text, ", %d line%s a block", ladder->lines, ladder->lines == 1 ? "" : "s");
            if (ladder->shares > 1) stn_text_printf(text, " of %d that share them", ladder->shares);
            continue;
        }
        if (state->by[i] != BY_LINE) {
            static const char *const words[] = {[BY_WARP] = "points on tensor cores, a warp each",
                                                [BY_REAL] = "pairs of real numbers",
                                                [BY_IMAGE] = "points on tensor cores, a cluster of blocks each",
                                                [BY_LONG] = "points on tensor cores, 16 lines a cluster of blocks"};
            stn_text_printf(text, "%s %" PRId64 " %s", i ? ";" : "", state->passes.pass[i].length, words[state->by[i]]);
            continue;
        }
        stn_text_printf(text, "%s %d points by radix", i ? ";" : "", shape->length);
        for (int s = 0; s < shape->stages; s++) stn_text_printf(text, "%s%d", s ? " x " : " ", shape->radix[s]);
        stn_text_printf(text, ", %d line%s a block", shape->lines, shape->lines == 1 ? "" : "s");
    }
}

static void name_candidate(const stn_task *unused, const stn_candidate *candidate, stn_text *text) {
    static const char *const widths[] = {", shorter accesses", "", ", longer accesses"};
    (void)unused; /* a transform's plan has none */
    stn_text_printf(text, "%s%s%s%s",
                    candidate->values[IN_CLUSTERS]                ? "in clusters of blocks"
                    : candidate->values[ON_TENSOR_CORES]          ? "lines on tensor cores"
                    : candidate->values[BY_RUNGS] == ROW_RUNGS    ? "rows in shared memory"
                    : candidate->values[BY_RUNGS] == SHARED_RUNGS ? "columns in clusters' shared memory, rows"
                    : candidate->values[BY_RUNGS]                 ? "lines in shared memory"
                                                                  : "butterflies",
                    candidate->values[BY_EITHER] ? " or butterflies" : "",
                    candidate->values[PADDED] ? ", padded rows" : "", widths[1 + candidate->values[WIDTH]]);
}

const stn_fft_strategy stn_fft_strategy_fft = {
    .run = {.name = "fft",
            .prepare = prepare,
            .execute = execute,
            .describe = describe,
            .release = release,
            .name_candidate = name_candidate},
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
};
