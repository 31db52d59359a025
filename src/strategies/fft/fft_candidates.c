/* Candidates of the fft strategy, and the kernel that each pass of a candidate uses; see
 * fft_candidates.h. */
#include "strategies/fft/fft_candidates.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "plan/plan.h"
#include "strategies/fft/fft_cluster_kernels.h"
#include "strategies/fft/fft_real_kernel.h"
#include "strategies/fft/fft_shared_kernel.h"
#include "strategies/fft/fft_warp_kernel.h"

enum { SHORT_COLUMN = 2048 }; /* points; with ONLY_ROWS, longer columns take two passes */

/* Whether fft_line is estimated to run a pass faster than fft_shared can. */
static bool line_is_faster(const stn_fft *fft, const stn_machine *machine, const fft_state *state, int i) {
    const fft_pass *pass = &state->passes.pass[i];
    fft_line_shape shape;
    bool across = fft_fast_in(pass) || fft_fast_out(pass);
    return pass->length <= fft_longest(fft->dtype, across) &&
           fft_line_shape_for(pass, fft->dtype, machine, 0, &shape) && fft_line_blocks(pass, &shape) <= INT32_MAX &&
           fft_line_seconds(pass, &shape, fft->dtype, machine) <
               fft_shared_seconds(pass, &state->shared_shape[i], fft->dtype, machine);
}

/* Finds the passes of a cosine or sine transform by fft_cosine. Clusters of blocks share columns if
 * the candidate asks for it. */
static bool find_cosine_shapes(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate,
                               fft_state *state, char *reason, size_t size) {
    const int way = candidate->values[IN_SHARED_MEMORY];
    const bool plain = !candidate->values[IN_CLUSTERS] && !candidate->values[ON_TENSOR_CORES] &&
                       !candidate->values[PADDED] && !candidate->values[WIDTH];
    snprintf(reason, size, "cosine transforms are done in shared memory");
    if (!plain || (way != ALL_LINES && way != CLUSTER_COLUMNS)) return false;
    if (!fft_cosine_passes_of(fft, &state->passes, reason, size)) return false;
    for (int i = 0; i < state->passes.count; i++) {
        const fft_pass *pass = &state->passes.pass[i];
        state->by[i] = BY_COSINE;
        if (!fft_cosine_shape_for(pass, fft->dtype, machine, way == CLUSTER_COLUMNS, &state->shared_shape[i]) ||
            fft_shared_blocks(pass, &state->shared_shape[i]) > INT32_MAX) {
            snprintf(reason, size, "it has no kernel for cosine transforms of such lines of %" PRId64 " %s",
                     pass->length * (pass->rows ? 2 : 1), stn_dtype_name(fft->dtype));
            return false;
        }
    }
    return true;
}

bool fft_find_shapes(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate, fft_state *state,
                     char *reason, size_t size) {
    if (stn_fft_is_real_to_real(fft)) return find_cosine_shapes(fft, machine, candidate, state, reason, size);
    bool clusters = candidate->values[IN_CLUSTERS];
    if (clusters && fft_cluster_image(fft, machine, &state->passes)) {
        state->by[0] = BY_IMAGE;
        return true;
    }
    fft_lengths lengths = {.first = clusters ? FFT_CLUSTER_LINE : 0, .padded = candidate->values[PADDED] != 0};
    if (candidate->values[IN_SHARED_MEMORY])
        lengths.longest = lengths.longest_column = fft_shared_longest(fft->dtype, machine);
    if (candidate->values[IN_SHARED_MEMORY] == ONLY_ROWS)
        lengths.longest_column = stn_min(lengths.longest_column, SHORT_COLUMN);
    bool shared = candidate->values[IN_SHARED_MEMORY] == CLUSTER_COLUMNS;
    if (shared) lengths.longest_column = fft_shared_longest_in_cluster(fft->dtype, machine);
    if (!fft_passes_of(fft, &lengths, &state->passes, reason, size)) return false;
    for (int i = 0; i < state->passes.count; i++) {
        const fft_pass *pass = &state->passes.pass[i];
        bool warp = candidate->values[ON_TENSOR_CORES] && !pass->only_real && fft_warp_fits(fft, machine, pass);
        state->by[i] = pass->only_real ? BY_REAL : warp ? BY_WARP : BY_LINE;
        if (clusters && fft_cluster_long(fft, machine, pass)) {
            state->by[i] = BY_LONG;
            continue;
        }
        if (shared && fft_shared_shape_in_cluster(pass, fft->dtype, machine, &state->shared_shape[i])) {
            state->by[i] = BY_SHARED_MEMORY;
            continue;
        }
        if (candidate->values[IN_SHARED_MEMORY] &&
            fft_shared_shape_for(pass, fft->dtype, machine, &state->shared_shape[i]) &&
            fft_shared_blocks(pass, &state->shared_shape[i]) <= INT32_MAX &&
            !(candidate->values[FASTER_OF_BOTH] && line_is_faster(fft, machine, state, i))) {
            state->by[i] = BY_SHARED_MEMORY;
            continue;
        }
        if (!pass->only_real &&
            !fft_line_shape_for(pass, fft->dtype, machine, candidate->values[WIDTH], &state->shape[i])) {
            snprintf(reason, size, "it has no kernel for lines of %" PRId64 " points", pass->length);
            return false;
        }
        if ((pass->only_real ? fft_real_blocks(pass) : fft_line_blocks(pass, &state->shape[i])) > INT32_MAX) {
            snprintf(reason, size, "it would need more than 2^31 blocks of threads");
            return false;
        }
    }
    return true;
}

typedef struct trial {
    const stn_fft *fft;
    const stn_candidate *candidate;
    fft_state state;
} trial;

/* Whether any pass uses the kernels that the candidate asks for; fft_line runs all other passes. */
static bool is_served(const trial *f) {
    const int *values = f->candidate->values;
    bool any = !values[ON_TENSOR_CORES] && !values[IN_CLUSTERS] && !values[IN_SHARED_MEMORY];
    for (int i = 0; i < f->state.passes.count; i++)
        any = any || f->state.by[i] == BY_WARP || fft_by_shared_memory(&f->state, i) || fft_by_cluster(&f->state, i);
    return any;
}

/* Whether changing one value of the candidate changes the passes or, if `kernels`, their
 * kernels. */
static bool changes_passes(const trial *f, const stn_machine *machine, int value, int to, bool kernels) {
    fft_state other;
    char reason[160];
    stn_candidate changed = *f->candidate;
    changed.values[value] = to;
    if (!fft_find_shapes(f->fft, machine, &changed, &other, reason, sizeof reason)) return true;
    if (!kernels) return other.passes.count != f->state.passes.count;
    return memcmp(other.by, f->state.by, sizeof *other.by * (size_t)f->state.passes.count) != 0;
}

/* Whether no other candidate of the list makes the same passes by the same kernels. */
static bool is_distinct(const trial *f, const stn_machine *machine) {
    const int *values = f->candidate->values;
    if (values[IN_SHARED_MEMORY] == CLUSTER_COLUMNS) {
        bool any = false;
        for (int i = 0; i < f->state.passes.count; i++)
            any = any || (fft_by_shared_memory(&f->state, i) && f->state.shared_shape[i].shares > 1);
        return any;
    }
    /* Does fft_line replace fft_shared in some pass? */
    if (values[FASTER_OF_BOTH] && !changes_passes(f, machine, FASTER_OF_BOTH, 0, true)) return false;
    if (values[IN_SHARED_MEMORY] != ONLY_ROWS) return true;
    /* Is there a column that ONLY_ROWS splits? */
    trial plain = *f;
    stn_candidate all = *f->candidate;
    all.values[FASTER_OF_BOTH] = 0;
    plain.candidate = &all;
    return changes_passes(&plain, machine, IN_SHARED_MEMORY, ALL_LINES, false);
}

static bool is_valid(const stn_fft *fft, const stn_machine *machine, const stn_candidate *candidate) {
    trial f = {.fft = fft, .candidate = candidate};
    char reason[160];
    return fft_find_shapes(fft, machine, candidate, &f.state, reason, sizeof reason) && is_served(&f) &&
           is_distinct(&f, machine);
}

/* ---- candidates */

/* The candidates among which plans choose. */
static const stn_candidate default_candidates[] = {
    {{[IN_CLUSTERS] = 1}},
    {{[ON_TENSOR_CORES] = 1}},
    {{[IN_SHARED_MEMORY] = ALL_LINES}},
    {{0}},
    {{[IN_SHARED_MEMORY] = ONLY_ROWS}},
    {{[PADDED] = 1}},
    {{[IN_SHARED_MEMORY] = ALL_LINES, [PADDED] = 1}},
    {{[IN_SHARED_MEMORY] = ONLY_ROWS, [PADDED] = 1}},
    {{[IN_SHARED_MEMORY] = ALL_LINES, [FASTER_OF_BOTH] = 1}},
    {{[IN_SHARED_MEMORY] = ONLY_ROWS, [FASTER_OF_BOTH] = 1}},
    {{[IN_SHARED_MEMORY] = ALL_LINES, [PADDED] = 1, [FASTER_OF_BOTH] = 1}},
    {{[IN_SHARED_MEMORY] = ONLY_ROWS, [PADDED] = 1, [FASTER_OF_BOTH] = 1}},
    {{[IN_SHARED_MEMORY] = CLUSTER_COLUMNS, [FASTER_OF_BOTH] = 1}},
    {{[IN_SHARED_MEMORY] = CLUSTER_COLUMNS, [PADDED] = 1, [FASTER_OF_BOTH] = 1}}};

bool fft_applies(const stn_fft *fft, const stn_machine *machine, char *reason, size_t reason_size) {
    if (!stn_has_gpu(machine, reason, reason_size)) return false;
    fft_state state;
    for (size_t i = 0; i < sizeof default_candidates / sizeof *default_candidates; i++)
        if (is_valid(fft, machine, &default_candidates[i])) return true;
    const stn_candidate plain = {{[IN_SHARED_MEMORY] = stn_fft_is_real_to_real(fft) ? ALL_LINES : 0}};
    return fft_find_shapes(fft, machine, &plain, &state, reason, reason_size);
}

/* Whether two candidates give a pass of fft_line different numbers of lines per block. */
static bool lines_differ(const stn_fft *fft, const stn_machine *machine, const stn_candidate *a,
                         const stn_candidate *b) {
    fft_state x, y;
    char reason[160];
    if (!fft_find_shapes(fft, machine, a, &x, reason, sizeof reason) ||
        !fft_find_shapes(fft, machine, b, &y, reason, sizeof reason))
        return false;
    for (int i = 0; i < x.passes.count; i++)
        if (x.by[i] == BY_LINE && x.shape[i].lines != y.shape[i].lines) return true;
    return false;
}

size_t fft_candidates(const stn_fft *fft, const stn_machine *machine, stn_candidate *list, size_t most) {
    size_t count = 0;
    for (size_t i = 0; i < sizeof default_candidates / sizeof *default_candidates && count < most; i++)
        if (is_valid(fft, machine, &default_candidates[i])) list[count++] = default_candidates[i];
    if (most <= STN_CANDIDATES) return count;
    size_t chosen = count; /* for tuning: these also with longer and with shorter accesses */
    for (size_t i = 0; i < chosen; i++)
        for (int width = -1; width <= 1 && count < most; width += 2) {
            list[count] = list[i];
            list[count].values[WIDTH] = width;
            count += lines_differ(fft, machine, &list[i], &list[count]) && is_valid(fft, machine, &list[count]);
        }
    return count;
}
