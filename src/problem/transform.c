/* Validation and canonicalisation of a Fourier transform (stn_transform to stn_fft), its sizes, and
 * its description as text and JSON. */
#include "problem/transform.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/versioned_struct.h"
#include "problem/grid_layout.h"

static stn_status canonical_scalars(const stn_transform *t, stn_fft *fft, stn_error *error) {
    if (t->rank < 1 || t->rank > STN_MAX_RANK)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the transform's rank is %d: 1 to %d axes can be transformed", t->rank, STN_MAX_RANK);
    if (t->kind < STN_C2C || t->kind > STN_DST4)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the transform's kind %d is unknown: use STN_C2C, STN_R2C, STN_C2R, STN_DCT1 to STN_DCT4, "
                        "or STN_DST1 to STN_DST4",
                        (int)t->kind);
    if (t->kind == STN_C2C && t->direction != STN_FORWARD && t->direction != STN_INVERSE)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the transform's direction %d is unknown: use STN_FORWARD or STN_INVERSE", (int)t->direction);
    if (!stn_dtype_size(t->dtype))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the transform's dtype %d is unknown: use STN_F64, STN_F32 or STN_F16", (int)t->dtype);
    if (t->f16_sums && t->dtype != STN_F16)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "f16_sums is set but the transform's dtype is %s: it is for f16 only",
                        stn_dtype_name(t->dtype));
    fft->rank = t->rank;
    fft->kind = t->kind;
    fft->inverse = t->kind == STN_C2R || (t->kind == STN_C2C && t->direction == STN_INVERSE);
    fft->dtype = t->dtype;
    fft->f16_sums = t->f16_sums != 0;
    fft->in_place = t->in_place != 0;
    fft->in.real = t->kind == STN_R2C || t->kind >= STN_DCT2;
    fft->out.real = t->kind >= STN_C2R;
    fft->orthogonal = t->orthogonal != 0 && t->kind >= STN_DCT2;
    fft->scale = fft->inverse ? t->inverse_scale : t->forward_scale;
    if (!isfinite(fft->scale))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the %s_scale is %g: it must be finite, or 0 for 1",
                        fft->inverse ? "inverse" : "forward", fft->scale);
    if (fft->scale == 0) fft->scale = 1;
    return STN_OK;
}

static stn_status canonical_alignment(const stn_transform *t, stn_fft *fft, stn_error *error) {
    int least = 2 * (int)stn_dtype_size(t->dtype);
    int alignment = t->alignment ? t->alignment : 16;
    if (alignment < least || alignment > 4096 || (alignment & (alignment - 1)))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the transform's alignment is %d bytes: it must be a power of two from %d (one complex %s) to "
                        "4096",
                        alignment, least, stn_dtype_name(t->dtype));
    fft->alignment = alignment;
    return STN_OK;
}

static stn_status canonical_extents(const stn_transform *t, stn_fft *fft, stn_error *error) {
    size_t batch = t->batch ? t->batch : 1;
    int64_t total = 2 * (int64_t)stn_dtype_size(fft->dtype);
    bool overflow = batch > INT64_MAX || stn_mul_overflows(total, (int64_t)batch, &total);
    for (int axis = 0; axis < 3; axis++) fft->n[axis] = 1;
    for (int axis = 0; axis < fft->rank; axis++) {
        size_t extent = t->extent[axis];
        if (!extent)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "extent[%d] is 0: every axis needs at least one point",
                            axis);
        if (fft->kind == STN_DCT1 && extent == 1)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "extent[%d] is 1: a cosine transform of type 1 needs at least two points", axis);
        fft->n[3 - fft->rank + axis] = (int64_t)extent;
        /* one more: the half spectrum of one point is as large as two real points */
        overflow = overflow || extent >= INT64_MAX || stn_mul_overflows(total, (int64_t)extent + 1, &total);
    }
    if (overflow)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the transforms have more bytes of complex %s than 63 bits can count: lower the extents or the "
                        "batch",
                        stn_dtype_name(fft->dtype));
    fft->batch = (int64_t)batch;
    memcpy(fft->in.n, fft->n, sizeof fft->in.n);
    memcpy(fft->out.n, fft->n, sizeof fft->out.n);
    if (fft->kind == STN_R2C) fft->out.n[2] = fft->n[2] / 2 + 1;
    if (fft->kind == STN_C2R) fft->in.n[2] = fft->n[2] / 2 + 1;
    return STN_OK;
}

/* Canonical strides of the input or output, by the rules for a grid of the same extents. */
static stn_status canonical_side(stn_fft *fft, bool of_output, const ptrdiff_t *stride, ptrdiff_t batch_stride,
                                 stn_error *error) {
    stn_fft_side *side = of_output ? &fft->out : &fft->in;
    stn_task grid = {.rank = fft->rank, .batch = fft->batch, .dtype = fft->dtype};
    ptrdiff_t padded[STN_MAX_RANK];
    memcpy(grid.n, side->n, sizeof grid.n);
    bool dense = true;
    for (int axis = 0; axis < fft->rank; axis++) dense = dense && stride[axis] == 0;
    /* each real row is padded to the size of its half spectrum */
    if (dense && side->real && fft->in_place && !stn_fft_is_real_to_real(fft)) {
        ptrdiff_t next = 2 * (fft->n[2] / 2 + 1);
        padded[fft->rank - 1] = 1;
        for (int axis = fft->rank - 2; axis >= 0; axis--) {
            padded[axis] = next;
            next *= (ptrdiff_t)fft->n[3 - fft->rank + axis];
        }
        if (!batch_stride) batch_stride = next;
        stride = padded;
    }
    STN_TRY(stn_layout_canonicalise(&grid, of_output, stride, batch_stride, error));
    memcpy(side->stride, of_output ? grid.out_stride : grid.in_stride, sizeof side->stride);
    side->batch_stride = of_output ? grid.out_batch_stride : grid.in_batch_stride;
    int64_t bytes;
    if (stn_mul_overflows(stn_fft_span(fft, side), (int64_t)stn_fft_element(fft, side), &bytes))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the %sput spans more bytes of complex %s than 63 bits can count: lower the extents, strides "
                        "or batch",
                        of_output ? "out" : "in", stn_dtype_name(fft->dtype));
    return STN_OK;
}

/* In place, every row of the output must lie where that row of the input lies. Axes of one element
 * may have any stride. */
static stn_status check_in_place(const stn_fft *fft, stn_error *error) {
    const stn_fft_side *in = &fft->in, *out = &fft->out;
    bool good = fft->batch == 1 || in->batch_stride * (2 - in->real) == out->batch_stride * (2 - out->real);
    for (int axis = 0; axis < 2; axis++)
        good = good && (fft->n[axis] == 1 || in->stride[axis] * (2 - in->real) == out->stride[axis] * (2 - out->real));
    if (fft->kind == STN_C2C || stn_fft_is_real_to_real(fft))
        good = good && (fft->n[2] == 1 || in->stride[2] == out->stride[2]);
    else
        good = good && (in->n[2] == 1 || in->stride[2] == 1) && (out->n[2] == 1 || out->stride[2] == 1);
    if (good) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    fft->kind == STN_C2C || stn_fft_is_real_to_real(fft)
                        ? "the transform is in place but its input and output strides differ: make them equal"
                        : "the transform is in place, so its last axis must have stride 1 on both sides and every "
                          "other real stride must be twice the complex one: leave all strides 0 for that layout");
}

stn_status stn_fft_make(const stn_transform *given, stn_fft *fft, stn_error *error) {
    stn_transform t;
    memset(fft, 0, sizeof *fft);
    if (!given) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the transform is NULL: pass a stn_transform");
    STN_TRY(stn_read_versioned_struct(&stn_layout_transform, given, &t, error));
    STN_TRY(canonical_scalars(&t, fft, error));
    STN_TRY(canonical_alignment(&t, fft, error));
    STN_TRY(canonical_extents(&t, fft, error));
    STN_TRY(canonical_side(fft, false, t.in_stride, t.in_batch_stride, error));
    STN_TRY(canonical_side(fft, true, t.out_stride, t.out_batch_stride, error));
    return fft->in_place ? check_in_place(fft, error) : STN_OK;
}

stn_status stn_transform_validate(const stn_transform *transform, stn_error *error) {
    stn_fft fft;
    return stn_fft_make(transform, &fft, error);
}

/* ---- sizes ----------------------------------------------------------------------------------- */

size_t stn_fft_element(const stn_fft *fft, const stn_fft_side *side) {
    return stn_dtype_size(fft->dtype) * (side->real ? 1 : 2);
}

int64_t stn_fft_span(const stn_fft *fft, const stn_fft_side *side) {
    int64_t last = (fft->batch - 1) * side->batch_stride;
    for (int axis = 0; axis < 3; axis++) last += (side->n[axis] - 1) * side->stride[axis];
    return last + 1;
}

int64_t stn_fft_count(const stn_fft *fft, const stn_fft_side *side) {
    return fft->batch * side->n[0] * side->n[1] * side->n[2];
}

double stn_fft_bytes(const stn_fft *fft) {
    return (double)stn_fft_count(fft, &fft->in) * (double)stn_fft_element(fft, &fft->in) +
           (double)stn_fft_count(fft, &fft->out) * (double)stn_fft_element(fft, &fft->out);
}

double stn_fft_flops(const stn_fft *fft) {
    double n = (double)fft->n[0] * (double)fft->n[1] * (double)fft->n[2];
    return (fft->kind == STN_C2C ? 5 : 2.5) * n * log2(n) * (double)fft->batch;
}

/* ---- description ----------------------------------------------------------------------------- */

const char *stn_transform_kind_name(stn_transform_kind kind) {
    static const char *const names[] = {"c2c",  "r2c",  "c2r",  "dct2", "dct3", "dst2",
                                        "dst3", "dct1", "dst1", "dct4", "dst4"};
    return names[kind];
}

static bool is_dense(const stn_fft_side *side) {
    return side->stride[2] == 1 && side->stride[1] == side->n[2] && side->stride[0] == side->n[1] * side->n[2] &&
           side->batch_stride == side->n[0] * side->n[1] * side->n[2];
}

void stn_fft_print(const stn_fft *fft, stn_text *text) {
    stn_text_printf(text, "%dD ", fft->rank);
    for (int axis = 3 - fft->rank; axis < 3; axis++)
        stn_text_printf(text, "%s%" PRId64, axis > 3 - fft->rank ? " x " : "", fft->n[axis]);
    stn_text_printf(text, " %s", stn_transform_kind_name(fft->kind));
    if (fft->orthogonal) stn_text_printf(text, " orthogonal");
    if (fft->kind == STN_C2C) stn_text_printf(text, " %s", fft->inverse ? "inverse" : "forward");
    if (fft->batch > 1) stn_text_printf(text, " in batches of %" PRId64, fft->batch);
    stn_text_printf(text, ", %s%s", stn_dtype_name(fft->dtype), fft->f16_sums ? " with f16 sums" : "");
    if (fft->scale != 1) stn_text_printf(text, ", scaled by %.6g", fft->scale);
    if (!is_dense(&fft->in) || !is_dense(&fft->out)) stn_text_printf(text, ", strided");
    if (fft->in_place) stn_text_printf(text, ", in place");
}

void stn_fft_json(const stn_fft *fft, stn_text *text) {
    int first = 3 - fft->rank;
    stn_text_append(text, "{", 1);
    stn_json_text(text, "transform", stn_transform_kind_name(fft->kind));
    stn_json_text(text, "direction", fft->inverse ? "inverse" : "forward");
    if (stn_fft_is_real_to_real(fft)) {
        stn_json_key(text, "orthogonal");
        stn_text_printf(text, "%s", fft->orthogonal ? "true" : "false");
    }
    stn_json_integer(text, "rank", fft->rank);
    stn_json_integers(text, "extent", fft->n + first, fft->rank);
    stn_json_integer(text, "batch", fft->batch);
    stn_json_integers(text, "in_stride", fft->in.stride + first, fft->rank);
    stn_json_integers(text, "out_stride", fft->out.stride + first, fft->rank);
    stn_json_integer(text, "in_batch_stride", fft->in.batch_stride);
    stn_json_integer(text, "out_batch_stride", fft->out.batch_stride);
    stn_json_text(text, "dtype", stn_dtype_name(fft->dtype));
    stn_json_key(text, "f16_sums");
    stn_text_printf(text, "%s", fft->f16_sums ? "true" : "false");
    stn_json_value(text, "scale", fft->scale);
    stn_json_key(text, "in_place");
    stn_text_printf(text, "%s", fft->in_place ? "true" : "false");
    stn_text_append(text, "}", 1);
}

void stn_fft_key(const stn_fft *fft, stn_text *key) {
    const int64_t numbers[] = {fft->kind,
                               fft->inverse,
                               fft->rank,
                               fft->dtype,
                               fft->batch,
                               fft->in.real,
                               fft->in.batch_stride,
                               fft->out.real,
                               fft->out.batch_stride,
                               fft->in_place,
                               fft->f16_sums,
                               fft->orthogonal,
                               fft->alignment};
    stn_text_append(key, (const char *)numbers, sizeof numbers);
    stn_text_append(key, (const char *)&fft->scale, sizeof fft->scale);
    stn_text_append(key, (const char *)fft->n, sizeof fft->n);
    for (int out = 0; out < 2; out++) {
        const stn_fft_side *side = out ? &fft->out : &fft->in;
        stn_text_append(key, (const char *)side->n, sizeof side->n);
        stn_text_append(key, (const char *)side->stride, sizeof side->stride);
    }
}
