/* Writes params.cuh for the direct kernels, and names and describes their shapes. */
#include "strategies/direct/direct_params.h"

#include "base/arith.h"
#include "render/render.h"
#include "strategies/direct/direct_skew.h"
#include "strategies/direct/tap_order.h"
#include "strategies/direct/temporal_blocking.h"

static void tap_params(const stn_task *task, const direct_shape *shape, stn_text *params) {
    uint16_t order[DIRECT_MAX_TAPS];
    int values[DIRECT_MAX_TAPS];
    direct_tap_order(task, shape, order);
    static const char *const names[3] = {"TAP_Z", "TAP_Y", "TAP_X"};
    stn_params_int(params, "NTAPS", (int64_t)task->ntaps);
    for (int k = 0; k < 3; k++) {
        int axis = direct_axis(task, shape, k);
        for (size_t i = 0; i < task->ntaps; i++) values[i] = (int)task->taps[order[i]].offset[axis];
        stn_params_ints(params, names[k], values, task->ntaps);
    }
}

/* Parameters of the multi-step kernels only. */
static void time_params(const stn_task *task, const direct_shape *shape, stn_text *params) {
    static const char *const names[3] = {"Z_REACH", "Y_REACH", "X_REACH"};
    for (int k = 0; k < 3; k++) stn_params_int(params, names[k], direct_reach(task, shape, k));
    stn_params_int(params, "FUSED", shape->fused);
    stn_params_int(params, "POINTS", shape->points);
    stn_params_int(params, "PREFETCH", DIRECT_TIME_PREFETCH);
    stn_params_int(params, "SPANS", direct_time_spans(task, shape));
    stn_params_int(params, "PARTIAL", task->n[2] % shape->vector != 0);
    stn_params_int(params, "MIRROR_X", (shape->mirror & DIRECT_MIRROR_X) != 0);
    stn_params_int(params, "MIRROR_Z", (shape->mirror & DIRECT_MIRROR_Z) != 0);
}

/* Parameters of direct_skew only. */
static void skew_params(const stn_task *task, const direct_shape *shape, stn_text *params) {
    int skew[2];
    direct_skew(task, shape, skew);
    stn_params_int(params, "SKEW_Z", skew[0]);
    stn_params_int(params, "SKEW_Y", skew[1]);
    stn_params_int(params, "SKEW_ALIGN", direct_skew_alignment(task, shape));
    stn_params_int(params, "SHIFTED", direct_skew_shifts(task, shape->vector));
}

/* Is every block of direct_tile at an edge along x, as where a row has two tiles? */
static bool lacks_interior(const stn_task *task, const direct_shape *shape) {
    const int64_t tile = (int64_t)shape->threads[2] * shape->vector;
    const int64_t before = task->reach[2][0] > 0 ? tile : 0;
    return before + tile + stn_round_up(task->reach[2][1], shape->vector) > task->n[2];
}

void direct_params(const stn_task *task, const direct_shape *shape, stn_text *params) {
    stn_params_begin_for(params, task->dtype);
    stn_params_int(params, "THREADS_X", shape->threads[2]);
    if (shape->kernel == DIRECT_ANY) return; /* one kernel for all problems */
    if (shape->kernel != DIRECT_GATHER) tap_params(task, shape, params);
    for (int k = 0; k < 3; k++) {
        int axis = direct_axis(task, shape, k);
        stn_params_axis(params, k, task->reach[axis], task->boundary[axis]);
    }
    stn_params_int(params, "VECTOR", shape->vector);
    if (shape->skewed) skew_params(task, shape, params);
    stn_params_int(params, "ROWS", shape->rows);
    /* Multi-step kernels take it as an argument. */
    stn_params_int(params, "CHUNK", shape->fused > 1 ? 1 : shape->chunk);
    stn_params_int(params, "THREADS_Y", shape->threads[1]);
    stn_params_int(params, "THREADS_Z", shape->threads[0]);
    stn_params_int(params, "BLOCKS", shape->blocks);
    stn_params_int(params, "UNROLL", shape->unroll);
    stn_params_int(params, "COLUMN_LOOP", shape->column_loop ? 1 + lacks_interior(task, shape) : 0);
    if (shape->fused > 1) time_params(task, shape, params);
}

void direct_name(const direct_shape *shape, stn_text *text) {
    static const char *const names[] = {"line", "tile", "gather", "line", "plane", "any"};
    bool is_block = shape->kernel == DIRECT_TIME_TILE && shape->threads[1] > 1;
    stn_text_printf(text, "%s, ", is_block ? "brick" : shape->skewed ? "skewed tile" : names[shape->kernel]);
    if (direct_has_table(shape))
        stn_text_printf(text, "a point a thread");
    else if (shape->fused == 1)
        stn_text_printf(text, "%d x %d x %d points a thread, %d x %d x %d threads a block", shape->chunk, shape->rows,
                        shape->vector, shape->threads[0], shape->threads[1], shape->threads[2]);
    else {
        stn_text_printf(text, "%d steps a launch, ", shape->fused);
        if (is_block)
            stn_text_printf(text, "%d x %d points a lane, %d x %d lanes", shape->rows, shape->points, shape->threads[1],
                            shape->threads[2]);
        else
            stn_text_printf(text, "%d points a lane", shape->points);
        if (shape->kernel != DIRECT_TIME_LINE) stn_text_printf(text, ", tiles of %d rows", shape->chunk);
    }
    stn_text_printf(text, ", %d block%s", shape->blocks, shape->blocks == 1 ? "" : "s");
}

void direct_describe(const direct_shape *shape, stn_format format, stn_text *text) {
    if (format == STN_TEXT) {
        stn_text_printf(text, "kernel %s: ", direct_kernel_name(shape));
        direct_name(shape, text);
        return;
    }
    stn_json_text(text, "kernel", direct_kernel_name(shape));
    stn_json_value(text, "vector", shape->vector);
    stn_json_value(text, "skewed", shape->skewed);
    stn_json_value(text, "rows", shape->rows);
    stn_json_value(text, "chunk", shape->chunk);
    stn_json_value(text, "threads_z", shape->threads[0]);
    stn_json_value(text, "threads_y", shape->threads[1]);
    stn_json_value(text, "threads_x", shape->threads[2]);
    stn_json_value(text, "blocks", shape->blocks);
    stn_json_value(text, "unroll", shape->unroll);
    stn_json_value(text, "column_walk", shape->column_loop);
    stn_json_value(text, "fused", shape->fused);
    stn_json_value(text, "points", shape->points);
}
