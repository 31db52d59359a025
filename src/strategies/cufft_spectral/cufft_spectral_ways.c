/* The cuFFT transforms of a stencil task; see cufft_spectral_ways.h. */
#include "strategies/cufft_spectral/cufft_spectral_ways.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "launch/cufft_library.h"

static stn_transform transform_of(const stn_task *task, stn_dtype dtype, stn_transform_kind kind) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = task->rank;
    for (int axis = 0; axis < t.rank; axis++) t.extent[axis] = (size_t)task->n[3 - t.rank + axis];
    t.batch = (size_t)task->batch;
    t.kind = kind;
    t.direction = kind == STN_R2C ? STN_FORWARD : STN_INVERSE;
    t.dtype = dtype;
    return t;
}

static stn_status make_forward(const stn_task *task, const cufft_spectral_shape *s, stn_fft *made) {
    stn_transform t = transform_of(task, s->inner, STN_R2C);
    t.in_place = s->way == CUFFT_SPECTRAL_STAGED;
    if (!t.in_place) {
        for (int axis = 0; axis < t.rank; axis++) t.in_stride[axis] = (ptrdiff_t)task->in_stride[3 - t.rank + axis];
        t.in_batch_stride = (ptrdiff_t)task->in_batch_stride;
    }
    return stn_fft_make(&t, made, NULL);
}

static stn_status make_back(const stn_task *task, const cufft_spectral_shape *s, stn_fft *made) {
    stn_transform t = transform_of(task, s->inner, STN_C2R);
    t.in_place = 1;
    return stn_fft_make(&t, made, NULL);
}

/* The inverse along all axes but the last, of one grid's spectrum in place. */
static stn_status make_slow_axes(const stn_task *task, const cufft_spectral_shape *s, stn_fft *made) {
    stn_transform t = STN_TRANSFORM_INIT;
    const ptrdiff_t dense[2] = {(ptrdiff_t)(task->n[1] * s->half), (ptrdiff_t)s->half};
    t.rank = 0;
    for (int axis = 0; axis < 2; axis++) {
        if (task->n[axis] == 1) continue;
        t.extent[t.rank] = (size_t)task->n[axis];
        t.in_stride[t.rank] = t.out_stride[t.rank] = dense[axis];
        t.rank++;
    }
    t.batch = (size_t)s->half;
    t.in_batch_stride = t.out_batch_stride = 1;
    t.kind = STN_C2C, t.direction = STN_INVERSE, t.dtype = s->inner, t.in_place = 1;
    return stn_fft_make(&t, made, NULL);
}

/* The inverse of rows, which are equally spaced in the output. */
static stn_status make_rows(const stn_task *task, const cufft_spectral_shape *s, stn_fft *made) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 1;
    t.extent[0] = (size_t)task->n[2];
    t.batch = (size_t)(s->lines * task->batch);
    t.out_stride[0] = (ptrdiff_t)task->out_stride[2];
    t.out_batch_stride = (ptrdiff_t)(task->n[1] > 1   ? task->out_stride[1]
                                     : task->n[0] > 1 ? task->out_stride[0]
                                                      : task->out_batch_stride);
    t.kind = STN_C2R, t.direction = STN_INVERSE, t.dtype = s->inner;
    return stn_fft_make(&t, made, NULL);
}

static stn_fft_side side_of(const stn_task *task, bool of_output) {
    stn_fft_side side = {.real = true, .batch_stride = of_output ? task->out_batch_stride : task->in_batch_stride};
    memcpy(side.n, task->n, sizeof side.n);
    memcpy(side.stride, of_output ? task->out_stride : task->in_stride, sizeof side.stride);
    return side;
}

/* cuFFT accesses pairs of real numbers. */
static bool is_aligned(const stn_task *task) { return task->alignment >= 2 * (int)stn_dtype_size(task->dtype); }

static const char *why_not_direct(const stn_task *task, const cufft_spectral_shape *s) {
    if (task->dtype == STN_F16) return "f16 is transformed as f32";
    if (!is_aligned(task)) return "cuFFT requires grids that are aligned to pairs of numbers";
    if (s->way == CUFFT_SPECTRAL_AFTER) return s->deep ? NULL : "a single axis needs only one inverse transform";
    if (s->deep && task->batch > 1) return "columns of several grids have no common stride";
    if (task->n[0] > 1 && task->n[1] > 1 && task->out_stride[0] != task->n[1] * task->out_stride[1])
        return "the output rows have no common stride";
    return NULL;
}

static stn_status make_transforms(const stn_task *task, cufft_spectral_shape *s) {
    STN_TRY(make_forward(task, s, &s->forward));
    if (s->way != CUFFT_SPECTRAL_DIRECT) return make_back(task, s, &s->back[s->backs++]);
    if (s->deep) STN_TRY(make_slow_axes(task, s, &s->back[s->backs++]));
    return make_rows(task, s, &s->back[s->backs++]);
}

bool cufft_spectral_make(const stn_task *task, cufft_spectral_way way, cufft_spectral_shape *s, char *reason,
                         size_t size) {
    *s = (cufft_spectral_shape){.way = way, .inner = task->dtype == STN_F64 ? STN_F64 : STN_F32};
    s->half = task->n[2] / 2 + 1, s->lines = task->n[0] * task->n[1], s->deep = s->lines > 1;
    s->in = side_of(task, false), s->out = side_of(task, true);
    const char *why = way == CUFFT_SPECTRAL_STAGED ? NULL : why_not_direct(task, s);
    if (!why && make_transforms(task, s) != STN_OK) why = "its spectrum has more bytes than 63 bits can count";
    if (why) {
        snprintf(reason, size, "%s", why);
        return false;
    }
    if (!stn_cufft_takes(&s->forward, reason, size)) return false;
    for (int i = 0; i < s->backs; i++)
        if (!stn_cufft_takes(&s->back[i], reason, size)) return false;
    return true;
}

size_t cufft_spectral_bytes(const stn_task *task, const cufft_spectral_shape *s) {
    return (size_t)(task->batch * s->lines * s->half) * 2 * stn_dtype_size(s->inner);
}
