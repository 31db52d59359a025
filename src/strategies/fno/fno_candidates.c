/* Candidates of the fno strategy, and how each pass of a candidate is computed; see
 * fno_candidates.h. */
#include "strategies/fno/fno_candidates.h"

#include <stdio.h>

#include "plan/plan.h"

#define TF32_FROM 5e-4 /* tolerance from which products of f32 may use TF32 */
#define BF16_FROM 5e-3 /* tolerance from which they may use bf16 */

/* f16 is multiplied as TF32 too, which represents it exactly. */
static fno_numbers numbers_of(const stn_layer *layer) {
    const bool exact = layer->dtype == STN_F32 && layer->tolerance < TF32_FROM;
    const bool bf16 = layer->dtype == STN_F32 && layer->tolerance >= BF16_FROM;
    return (fno_numbers){.dtype = layer->dtype, .parts = exact ? 2 : 1, .bf16 = bf16};
}

static bool counts_fit(const fno_stage *stage, const stage_state *state, const stn_machine *machine) {
    int64_t each = 0, blocks;
    if (stage->kind == FNO_SUM) return fno_sum_blocks(&stage->sum) <= INT32_MAX;
    if (stage->kind == FNO_MODE_PRODUCT) {
        const fno_mode_product *m = &stage->mode_product;
        blocks = fno_mode_product_blocks(m, &state->mode_product_shape);
        return blocks <= INT32_MAX && m->modes <= INT32_MAX && m->rows <= INT32_MAX && m->columns <= INT32_MAX;
    }
    const fno_pass *pass = &stage->pass;
    blocks = state->by == BY_DENSE_PRODUCT ? fno_dense_blocks(pass, &state->dense_shape)
             : state->by == BY_DIRECT_SUMS ? fno_few_blocks(pass, &state->few_shape)
                                           : fno_line_blocks(pass, &state->shape, machine, &each);
    return blocks <= INT32_MAX && each <= INT32_MAX && pass->inner <= INT32_MAX && pass->channels <= INT32_MAX &&
           pass->outputs <= INT32_MAX;
}

double fno_stage_pass_cost(const fno_pass *pass, const stage_state *at, fno_numbers numbers, const stn_machine *machine,
                           stn_estimate *sum) {
    if (at->by == BY_DENSE_PRODUCT) return fno_dense_cost(pass, numbers, &at->dense_shape, machine, sum);
    if (at->by == BY_DIRECT_SUMS) return fno_few_cost(pass, numbers, &at->few_shape, machine, sum);
    return fno_pass_cost(pass, numbers, &at->shape, machine, sum);
}

/* Lets fno_few_modes run a pass that already has a kernel, if it can and is estimated to be
 * faster. */
static void prefer_direct_sums(const fno_pass *pass, fno_numbers numbers, const stn_machine *machine, stage_state *at) {
    char reason[160];
    stn_estimate unused = {0};
    if (!fno_few_shape_for(pass, numbers, machine, &at->few_shape, reason, sizeof reason)) return;
    if (fno_few_cost(pass, numbers, &at->few_shape, machine, &unused) <
        fno_stage_pass_cost(pass, at, numbers, machine, &unused))
        at->by = BY_DIRECT_SUMS;
}

/* Chooses the kernel of a pass and its shape: a dense product if `way` asks for one, else an FFT;
 * without butterflies for its length, a dense product; if it is too long for that, direct sums. */
static bool shape_pass(const fno_pass *pass, fno_numbers numbers, int way, const stn_machine *machine, stage_state *at,
                       char *reason, size_t size) {
    const bool product = way == DENSE;
    const fno_form form = !pass->product        ? FNO_BY_GROUPS
                          : way == SPLIT        ? FNO_SPLIT
                          : way == SPLIT_IN_TWO ? FNO_SPLIT_IN_TWO
                                                : FNO_BY_GROUPS;
    at->by = BY_FFT;
    if (!(product && fno_dense_shape_for(pass, numbers, machine, &at->dense_shape, reason, size)) &&
        fno_line_shape_for(pass, numbers, form, machine, &at->shape, reason, size))
        return true;
    at->by = BY_DENSE_PRODUCT;
    if (fno_dense_shape_for(pass, numbers, machine, &at->dense_shape, reason, size)) return true;
    char unused[160];
    at->by = BY_DIRECT_SUMS;
    return fno_few_shape_for(pass, numbers, machine, &at->few_shape, unused, sizeof unused);
}

bool fno_find(const stn_layer *layer, const stn_candidate *candidate, const stn_machine *machine, fno_state *state,
              char *reason, size_t size) {
    state->numbers = numbers_of(layer);
    if (!fno_route_for(layer, (fno_fusion)candidate->values[FUSION], &state->route, reason, size)) return false;
    for (int i = 0; i < state->route.count; i++) {
        const fno_stage *stage = &state->route.stage[i];
        stage_state *at = &state->stage[i];
        if (stage->kind == FNO_MODE_PRODUCT)
            fno_mode_product_shape_for(&stage->mode_product, state->numbers, machine, &at->mode_product_shape);
        if (stage->kind == FNO_PASS &&
            !shape_pass(&stage->pass, state->numbers, candidate->values[WAY], machine, at, reason, size))
            return false;
        if (stage->kind == FNO_PASS && candidate->values[WAY] == FEW_MODES)
            prefer_direct_sums(&stage->pass, state->numbers, machine, at);
        if (!counts_fit(stage, at, machine)) {
            snprintf(reason, size, "a launch would have more than 2^31 blocks or channels");
            return false;
        }
    }
    return true;
}

bool fno_applies(const stn_layer *layer, const stn_machine *machine, char *reason, size_t reason_size) {
    fno_state state;
    if (!machine->is_device || machine->sm < 80) {
        snprintf(reason, reason_size, "its kernels are for GPUs with tensor cores of sm_80 or later");
        return false;
    }
    for (int fusion = FNO_FUSIONS - 1; fusion >= 0; fusion--)
        if (fno_find(layer, &(stn_candidate){{[FUSION] = fusion}}, machine, &state, reason, reason_size)) return true;
    return false; /* with the reason of the last attempt, without fusion */
}

int fno_passes_by(const fno_state *state, int way) {
    int count = 0;
    for (int i = 0; i < state->route.count; i++)
        count += state->route.stage[i].kind == FNO_PASS && (int)state->stage[i].by == way;
    return count;
}

/* Whether a way differs from the default way of the same fusion and may be faster. */
static bool may_be_faster(int way, const fno_state *state, const fno_state *plain) {
    if (way == DENSE) return fno_passes_by(state, BY_DENSE_PRODUCT) > fno_passes_by(plain, BY_DENSE_PRODUCT);
    if (way == FEW_MODES) return fno_passes_by(state, BY_DIRECT_SUMS) > fno_passes_by(plain, BY_DIRECT_SUMS);
    return !fno_passes_by(state, BY_DENSE_PRODUCT);
}

/* Whether shared memory and registers hold the lines and modes of each pass, and the candidate is
 * the default way of its fusion, or differs from it and may be faster. */
static bool is_valid(const stn_layer *layer, const stn_machine *machine, const stn_candidate *candidate) {
    const stn_candidate default_way = {{[FUSION] = candidate->values[FUSION]}};
    const int way = candidate->values[WAY];
    fno_state state, plain;
    char reason[160];
    if (!fno_find(layer, candidate, machine, &state, reason, sizeof reason)) return false;
    return way == DEFAULT_WAY || (fno_find(layer, &default_way, machine, &plain, reason, sizeof reason) &&
                                  may_be_faster(way, &state, &plain));
}

/* Candidates: all fusions in the default way; then the other ways, with full fusion or without
 * fusion. */
size_t fno_candidates(const stn_layer *layer, const stn_machine *machine, stn_candidate *list, size_t most) {
    static const int ways[][2] = {
        {FNO_FUSE_ALL, DEFAULT_WAY},  {FNO_FUSE_BACK, DEFAULT_WAY}, {FNO_FUSE_FORWARD, DEFAULT_WAY},
        {FNO_FUSE_NONE, DEFAULT_WAY}, {FNO_FUSE_ALL, SPLIT},        {FNO_FUSE_ALL, SPLIT_IN_TWO},
        {FNO_FUSE_ALL, FEW_MODES},    {FNO_FUSE_NONE, DENSE},       {FNO_FUSE_NONE, FEW_MODES}};
    size_t count = 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && count < most; i++) {
        const stn_candidate candidate = {{[FUSION] = ways[i][0], [WAY] = ways[i][1]}};
        if (is_valid(layer, machine, &candidate)) list[count++] = candidate;
    }
    return count;
}
