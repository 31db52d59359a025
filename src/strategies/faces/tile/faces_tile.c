/* Parameters and arguments of faces_tile.cu. */
#include "strategies/faces/tile/faces_tile.h"

#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "render/render.h"
#include "strategies/common/rounded_weights.h"

#define SIDES 6

static const char axis_names[3] = {'Z', 'Y', 'X'};

/* Lists the weights in the kernel's order and returns their number. `list` may be NULL; otherwise
 * it holds FACES_TILE_TAPS values. */
static size_t list_weights(const stn_task *task, const faces_tile *tile, double *list) {
    double factors[3][STN_TASK_FACTORS];
    size_t count = 0;
    if (!tile->separable || !stn_task_is_separable(task, factors)) {
        if (list) stn_weights_round(task, list);
        return task->ntaps;
    }
    for (int k = 0; k < 3; k++)
        for (int i = 0; i <= task->reach[k][0] + task->reach[k][1]; i++, count++)
            if (list) list[count] = factors[k][i];
    return count;
}

/* Mirrors the struct of faces_tile.cu. */
typedef struct piece {
    int64_t low[3], end[3];
    int32_t tiles[3], axis, side, first;
} piece;
typedef struct header {
    const void *in;
    void *out;
    int64_t in_stride[3], out_stride[3], in_batch, out_batch, n[3];
    int32_t pieces, blocks;
    piece at[FACES_TILE_PIECES];
} header;
_Static_assert(sizeof(header) + (SIDES + FACES_TILE_TAPS) * sizeof(double) <= FACES_TILE_ARGUMENTS,
               "arguments fit a launch");

void faces_tile_params(const stn_task *task, const faces_tile *tile, stn_text *params) {
    const faces_tile_pieces pieces = faces_tile_cut(task, tile->fused);
    stn_params_begin_for(params, task->dtype);
    stn_params_int(params, "NTAPS", (int64_t)task->ntaps);
    for (int k = 0; k < 3; k++) {
        char name[16];
        int offsets[FACES_TILE_TAPS], box[3];
        for (size_t i = 0; i < task->ntaps; i++) offsets[i] = (int)task->taps[i].offset[k];
        for (int normal = 0; normal < 3; normal++)
            box[normal] = pieces.tiled[normal] ? tile->box[normal][k] : faces_tile_patch(tile, k);
        snprintf(name, sizeof name, "TAP_%c", axis_names[k]);
        stn_params_ints(params, name, offsets, task->ntaps);
        snprintf(name, sizeof name, "BOX_%c", axis_names[k]);
        stn_params_ints(params, name, box, 3);
        snprintf(name, sizeof name, "%c_REACH", axis_names[k]);
        stn_params_int(params, name, stn_task_reach(task, k));
        stn_params_axis(params, k, task->reach[k], task->boundary[k]);
    }
    stn_params_ints(params, "TILED", pieces.tiled, 3);
    stn_params_int(params, "FUSED", tile->fused);
    stn_params_int(params, "ROWS", tile->rows);
    stn_params_int(params, "POINTS", tile->points);
    stn_params_int(params, "THREADS_X", tile->threads);
    stn_params_int(params, "BLOCKS", tile->blocks);
    stn_params_int(params, "MIRROR_X", tile->mirror);
    stn_params_int(params, "SEPARABLE", tile->separable);
    stn_params_int(params, "EXPECTED_HEADER", sizeof(header));
    stn_params_int(params, "NWEIGHTS", (int64_t)list_weights(task, tile, NULL));
}

static void add_piece(const stn_task *task, const faces_tile *tile, const faces_tile_piece *from, header *h) {
    piece *p = &h->at[h->pieces++];
    *p = (piece){.axis = from->axis, .side = from->side, .first = h->blocks};
    int32_t count = 1;
    for (int k = 0; k < 3; k++) {
        p->low[k] = from->low[k], p->end[k] = from->end[k];
        int64_t points = from->end[k] - from->low[k];
        p->tiles[k] =
            k == from->axis ? points > 0 : (int32_t)stn_div_up(points, faces_tile_points(task, tile, from->axis, k));
        count *= p->tiles[k];
    }
    h->blocks += count;
}

size_t faces_tile_arguments(const stn_task *task, const faces_tile *tile, const stn_fused_launch *launch,
                            unsigned char arguments[FACES_TILE_ARGUMENTS], int64_t *blocks) {
    header h = {.in = launch->in, .out = launch->out, .in_batch = launch->from->batch, .out_batch = launch->to->batch};
    for (int k = 0; k < 3; k++)
        h.in_stride[k] = launch->from->stride[k], h.out_stride[k] = launch->to->stride[k], h.n[k] = task->n[k];
    const faces_tile_pieces pieces = faces_tile_cut(task, tile->fused);
    for (size_t i = 0; i < pieces.count; i++) add_piece(task, tile, &pieces.at[i], &h);
    *blocks = h.blocks * task->batch;
    memcpy(arguments, &h, sizeof h);
    size_t size = sizeof h;
    double weights[FACES_TILE_TAPS];
    size_t count = list_weights(task, tile, weights);
    for (size_t i = 0; i < SIDES + count; i++) {
        double value = i < SIDES ? stn_task_constant_value(task, (int)i / 2, (int)i % 2) : weights[i - SIDES];
        size += stn_put_real(task->dtype, value, arguments + size);
    }
    return size;
}
