/* Writes params.cuh, packed weights and arguments of lowrank_volume. */
#include "strategies/lowrank/volume/volume_arguments.h"

#include <math.h>
#include <string.h>

#include "render/render.h"
#include "strategies/lowrank/lowrank_types.h"

void lowrank_volume_params(const stn_task *task, const stn_power *taps, const lowrank_core *core,
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
    stn_params_int(params, "EXPECTED_HEADER", LOWRANK_VOLUME_HEADER * sizeof(int64_t));
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

/* f32: rounds weights as the kernel splits them, otherwise to 24 bits. Tensor cores truncate sums,
 * losing half a unit in the last place on average; weights are scaled up to compensate. */
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

void lowrank_volume_values(const stn_task *task, const stn_power *taps, const lowrank_core *core, int passes,
                           unsigned char values[LOWRANK_VOLUME_VALUES]) {
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
    memset(values, 0, LOWRANK_VOLUME_VALUES);
    lowrank_pack(task->dtype, true, numbers, (int)(to - numbers), first, values);
}

int64_t lowrank_volume_words(const stn_task *task, const lowrank_volume_shape *b, const stn_fused_launch *l,
                             int64_t words[LOWRANK_VOLUME_HEADER]) {
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
    _Static_assert(sizeof head + 3 * sizeof *words == LOWRANK_VOLUME_HEADER * sizeof *words,
                   "as the kernel declares it");
    memcpy(words, &head, sizeof head);
    lowrank_volume_tiles(task, b, words + LOWRANK_VOLUME_HEADER - 3);
    return words[12] * words[13] * words[14] * task->batch;
}
