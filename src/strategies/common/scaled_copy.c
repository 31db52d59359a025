/* Copies grids between layouts and types, with a scale factor. */
#include "strategies/common/scaled_copy.h"

#include <stddef.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/kernel.h"
#include "render/render.h"

enum { THREADS = 256, TILE = 8 * THREADS, MAX_BLOCKS = 1 << 20 };

/* Mirrors the struct of scale.cu, for the wider of the two arithmetic types. */
typedef struct scale_arguments {
    const void *from;
    void *to;
    int64_t n[3], per, tiles, all, from_stride[3], from_batch, to_stride[3], to_batch;
    unsigned char factor[8];
} scale_arguments;

stn_status stn_scaled_copy_make(stn_plan *plan, stn_dtype from, stn_dtype to, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    /* Indexed by stn_dtype. */
    static const char *const store[] = {"double", "float", "unsigned short"};
    stn_params_begin(&params);
    stn_params_type(&params, "SCALE_FROM", store[from]);
    stn_params_type(&params, "SCALE_TO", store[to]);
    stn_params_type(&params, "REAL", from == STN_F64 ? "double" : "float");
    stn_params_int(&params, "THREADS_X", THREADS);
    stn_params_int(&params, "EXPECTED_HEADER", offsetof(scale_arguments, factor));
    return stn_kernel_make(plan->kernels, "scale", &params, 0, kernel, error);
}

static bool is_dense(const stn_fft_side *side, int64_t batch) {
    int64_t last = (batch - 1) * side->batch_stride;
    for (int axis = 0; axis < 3; axis++) last += (side->n[axis] - 1) * side->stride[axis];
    return last + 1 == batch * side->n[0] * side->n[1] * side->n[2];
}

stn_status stn_scaled_copy_run(const stn_kernel *kernel, stn_dtype type, const stn_scaled_copy_end *from,
                               const stn_scaled_copy_end *to, int64_t batch, double factor, void *stream,
                               stn_error *error) {
    const stn_fft_side *source = from->side, *target = to->side;
    scale_arguments a = {.from = from->data, .to = to->data, .per = target->real ? 1 : 2};
    int64_t rows = batch * target->n[0] * target->n[1];
    memcpy(a.n, target->n, sizeof a.n);
    memcpy(a.from_stride, source->stride, sizeof a.from_stride);
    memcpy(a.to_stride, target->stride, sizeof a.to_stride);
    a.from_batch = source->batch_stride, a.to_batch = target->batch_stride;
    if (source == target && is_dense(target, batch)) { /* elements may be processed in any order */
        a.n[0] = a.n[1] = 1, a.n[2] *= rows, rows = 1;
        a.from_stride[2] = a.to_stride[2] = 1;
    }
    a.tiles = stn_div_up(a.n[2] * a.per, TILE);
    a.all = a.tiles * rows;
    stn_put_real(type, factor, a.factor);
    return stn_kernel_launch(kernel, stn_min(a.all, MAX_BLOCKS), THREADS, 0, &a, stream, error);
}
