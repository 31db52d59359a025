/* See fft_job.h: parsing of the options of `stentor fft`, and permutation of the array's axes. */
#include "cli/fft_job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/option_values.h"
#include "io/input.h"

/* ---- the transform */

/* Shape and number type of the input file, or of the random array. */
typedef struct input_shape {
    int rank;
    size_t extent[STN_ARRAY_RANK];
    stn_dtype dtype;
    bool is_complex;
} input_shape;

static stn_status inspect_input(const fft_settings *settings, fft_job *job, input_shape *c, stn_error *error) {
    if (!settings->in == !settings->size)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s: give either --in FILE or --size NxN",
                        settings->in ? "--in and --size exclude each other" : "no array is given");
    if (settings->shape && settings->size)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--shape describes a raw file given by --in, and --size a random array: leave one out");
    if (settings->pairs && settings->size)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--pairs describes a file given by --in, and --size a random array: leave one out");
    if (settings->size) {
        c->dtype = STN_F32;
        c->is_complex = !settings->real || settings->inverse;
        return cli_parse_size("--size", settings->size, c->extent, &c->rank, error);
    }
    stn_npy_header header;
    job->is_raw = settings->shape != NULL;
    if (job->is_raw) STN_TRY(cli_parse_raw(settings->shape, settings->dtype, true, &job->raw, error));
    STN_TRY(stn_input_header(settings->in, job->is_raw ? &job->raw : NULL, true, &header, error));
    c->rank = header.rank;
    memcpy(c->extent, header.extent, sizeof c->extent);
    c->dtype = stn_npy_dtype(&header);
    c->is_complex = header.per == 2;
    if (!settings->pairs) return STN_OK;
    if (c->is_complex || c->rank < 1 || c->extent[c->rank - 1] != 2)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "--pairs needs real numbers with a last axis of 2, real and imaginary part: '%s' has another shape "
            "or type",
            settings->in);
    c->rank--;
    c->is_complex = true;
    return STN_OK;
}

/* Parses "0,-1" into chosen[]; NULL: all axes. */
static stn_status parse_axes(const char *text, int rank, int chosen[STN_MAX_RANK], int *count, stn_error *error) {
    *count = 0;
    if (rank < 1)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the array is one number and has no axes, so there is no transform to do");
    if (!text) {
        if (rank > STN_MAX_RANK)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the array has %d axes and 1 to %d can be transformed: name them with --axes", rank,
                            STN_MAX_RANK);
        for (; *count < rank; ++*count) chosen[*count] = *count;
        return STN_OK;
    }
    for (const char *at = text;;) {
        uint64_t axis = 0;
        char part[16];
        size_t length = strcspn(at, ",");
        bool negative = *at == '-';
        snprintf(part, sizeof part, "%.*s", (int)(length < 15 ? length : 15), at);
        bool number = length < 15 && cli_parse_count(part + negative, &axis) && (!negative || axis > 0);
        if (!number || axis > (uint64_t)rank || (!negative && axis == (uint64_t)rank))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "--axes %s: '%s' is no axis of an array of %d: give 0 to %d, or -1 for the last", text,
                            part, rank, rank - 1);
        int which = negative ? rank - (int)axis : (int)axis;
        for (int i = 0; i < *count; i++)
            if (chosen[i] == which)
                return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--axes %s names axis %d twice", text, which);
        if (*count == STN_MAX_RANK)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--axes %s: up to %d axes can be transformed", text,
                            STN_MAX_RANK);
        chosen[(*count)++] = which;
        if (!at[length]) return STN_OK;
        at += length + 1;
    }
}

/* NumPy's three normalisations, and none. */
static stn_status set_scale(const char *norm, double points, stn_transform *t, stn_error *error) {
    if (!norm || !strcmp(norm, "backward"))
        t->inverse_scale = 1 / points;
    else if (!strcmp(norm, "forward"))
        t->forward_scale = 1 / points;
    else if (!strcmp(norm, "ortho"))
        t->forward_scale = t->inverse_scale = 1 / sqrt(points);
    else if (strcmp(norm, "none") != 0)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--norm %s: give backward, ortho, forward or none", norm);
    return STN_OK;
}

static stn_status set_kind(const fft_settings *settings, const input_shape *c, stn_transform *t, stn_error *error) {
    t->kind = !settings->real ? STN_C2C : settings->inverse ? STN_C2R : STN_R2C;
    t->direction = settings->inverse ? STN_INVERSE : STN_FORWARD;
    if (settings->points && t->kind != STN_C2R)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--points is for --real --inverse only");
    if (t->kind == STN_R2C && c->is_complex)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--real transforms real numbers but '%s' holds complex ones: leave --real out, or add "
                        "--inverse for the way back",
                        settings->in);
    if (t->kind == STN_C2R && !c->is_complex)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--real --inverse reads a half spectrum but '%s' holds real numbers%s", settings->in,
                        c->extent[c->rank > 0 ? c->rank - 1 : 0] == 2 ? ": are they --pairs?" : "");
    return STN_OK;
}

/* For a real transform: sets the points of its last axis (C2R), and that axis's extent in the
 * output. */
static stn_status set_half_spectrum(const fft_settings *settings, int last, fft_job *job, stn_error *error) {
    stn_transform *t = &job->transform;
    size_t *extent = &t->extent[t->rank - 1];
    if (t->kind == STN_R2C) job->out_extent[last] = *extent / 2 + 1;
    if (t->kind != STN_C2R) return STN_OK;
    const size_t given = *extent;
    if (!given)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "axis %d of the array has 0 elements, so there is no spectrum to transform", last);
    if (given == 1 && !settings->points)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "axis %d of the half spectrum has one element, so its real side has one point: confirm it by --points 1, "
            "or name the axis that was halved as the last one of --axes",
            last);
    *extent = settings->points ? settings->points : 2 * (given - 1);
    char even[32] = "";
    if (given > 1) snprintf(even, sizeof even, "%zu or ", 2 * (given - 1));
    if (*extent / 2 + 1 != given)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--points %zu have %zu numbers in their half spectrum but axis %d has %zu: give %s%zu", *extent,
                        *extent / 2 + 1, last, given, even, 2 * given - 1);
    job->out_extent[last] = *extent;
    return STN_OK;
}

stn_status fft_job_make(const fft_settings *settings, fft_job *job, stn_error *error) {
    input_shape c = {0};
    int chosen[STN_MAX_RANK] = {0};
    memset(job, 0, sizeof *job);
    stn_transform *t = &job->transform;
    *t = (stn_transform)STN_TRANSFORM_INIT;
    STN_TRY(inspect_input(settings, job, &c, error));
    t->dtype = c.dtype;
    if (settings->dtype && !job->is_raw) STN_TRY(cli_parse_dtype(settings->dtype, &t->dtype, error));
    STN_TRY(parse_axes(settings->axes, c.rank, chosen, &t->rank, error));
    STN_TRY(set_kind(settings, &c, t, error));
    t->f16_sums = settings->f16_sums;
    job->rank = c.rank;
    job->in_complex = t->kind != STN_R2C;
    job->out_complex = t->kind != STN_C2R;
    memcpy(job->in_extent, c.extent, sizeof c.extent);
    memcpy(job->out_extent, c.extent, sizeof c.extent);
    int used = 0;
    t->batch = 1;
    for (int axis = 0; axis < c.rank; axis++) {
        bool transformed = false;
        for (int i = 0; i < t->rank; i++) transformed = transformed || chosen[i] == axis;
        if (transformed) continue;
        job->order[used++] = axis;
        if (!c.extent[axis])
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "axis %d of the array has no elements, so there is no transform to do", axis);
        /* stn_transform_validate refuses so large a batch. */
        if (__builtin_mul_overflow(t->batch, c.extent[axis], &t->batch)) t->batch = SIZE_MAX;
    }
    double points = 1;
    for (int i = 0; i < t->rank; i++) {
        job->order[used++] = chosen[i];
        t->extent[i] = c.extent[chosen[i]];
    }
    STN_TRY(set_half_spectrum(settings, chosen[t->rank - 1], job, error));
    for (int i = 0; i < t->rank; i++) points *= (double)t->extent[i];
    STN_TRY(set_scale(settings->norm, points, t, error));
    return stn_transform_validate(t, error);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Permutes axes: axis i of `to` is axis order[i] of `from`. */
static void permute(const stn_array *from, const int *order, stn_array *to) {
    size_t stride[STN_ARRAY_RANK], index[STN_ARRAY_RANK] = {0}, next = 1;
    size_t element = stn_dtype_size(from->dtype) * (from->is_complex ? 2 : 1), at = 0;
    for (int axis = from->rank - 1; axis >= 0; axis--) {
        stride[axis] = next;
        next *= from->extent[axis];
    }
    for (size_t i = 0; i < from->count; i++) {
        memcpy((char *)to->data + i * element, (const char *)from->data + at * element, element);
        /* Advances the index in `to`, and `at`, the position in `from`. */
        for (int axis = to->rank - 1; axis >= 0; axis--) {
            at += stride[order[axis]];
            if (++index[axis] < to->extent[axis]) break;
            at -= stride[order[axis]] * to->extent[axis];
            index[axis] = 0;
        }
    }
}

static stn_status make_array(bool is_complex, int rank, const size_t *extent, stn_dtype dtype, stn_array *array,
                             stn_error *error) {
    return is_complex ? stn_array_make_complex(rank, extent, dtype, array, error)
                      : stn_array_make(rank, extent, dtype, array, error);
}

static stn_status reorder(const int *order, stn_array *array, stn_error *error) {
    bool same = true;
    size_t extent[STN_ARRAY_RANK];
    stn_array moved;
    for (int axis = 0; axis < array->rank; axis++) {
        same = same && order[axis] == axis;
        extent[axis] = array->extent[order[axis]];
    }
    if (same) return STN_OK;
    STN_TRY(make_array(array->is_complex, array->rank, extent, array->dtype, &moved, error));
    permute(array, order, &moved);
    moved.rounded = array->rounded;
    stn_array_clear(array);
    *array = moved;
    return STN_OK;
}

stn_status fft_job_to_complex(stn_array *array, stn_error *error) {
    stn_array made;
    STN_TRY(stn_array_make_complex(array->rank, array->extent, array->dtype, &made, error));
    for (size_t i = 0; i < array->count; i++) stn_array_set(&made, 2 * i, stn_array_get(array, i));
    made.rounded = array->rounded;
    stn_array_clear(array);
    *array = made;
    return STN_OK;
}

static stn_status read_input(const fft_settings *settings, const fft_job *job, stn_array *array, stn_error *error) {
    STN_TRY(stn_input_read(settings->in, job->is_raw ? &job->raw : NULL, true, &job->transform.dtype, array, error));
    if (settings->pairs && !array->is_complex && array->rank == job->rank + 1 && array->extent[job->rank] == 2) {
        array->rank--;
        array->count /= 2;
        array->is_complex = true;
        array->extent[array->rank] = 0;
    }
    bool same = array->rank == job->rank;
    for (int axis = 0; axis < job->rank && same; axis++) same = array->extent[axis] == job->in_extent[axis];
    if (!same || (array->is_complex && !job->in_complex))
        return stn_fail(error, STN_ERROR_IO, "'%s' changed while it was read: is another program writing it?",
                        settings->in);
    return job->in_complex && !array->is_complex ? fft_job_to_complex(array, error) : STN_OK;
}

stn_status fft_job_input(const fft_settings *settings, const fft_job *job, stn_array *array, stn_error *error) {
    stn_status status = STN_OK;
    memset(array, 0, sizeof *array);
    if (settings->in)
        status = read_input(settings, job, array, error);
    else {
        status = make_array(job->in_complex, job->rank, job->in_extent, job->transform.dtype, array, error);
        for (size_t i = 0; status == STN_OK && i < stn_array_numbers(array); i++)
            stn_array_set(array, i, cli_random_unit(settings->random, i));
    }
    if (status == STN_OK) status = reorder(job->order, array, error);
    if (status != STN_OK) stn_array_clear(array);
    return status;
}

stn_status fft_job_output(const fft_job *job, stn_array *array, stn_error *error) {
    size_t extent[STN_ARRAY_RANK];
    for (int axis = 0; axis < job->rank; axis++) extent[axis] = job->out_extent[job->order[axis]];
    return make_array(job->out_complex, job->rank, extent, job->transform.dtype, array, error);
}

stn_status fft_job_restore_axes(const fft_job *job, stn_array *array, stn_error *error) {
    int back[STN_ARRAY_RANK] = {0};
    for (int axis = 0; axis < job->rank; axis++) back[job->order[axis]] = axis;
    return reorder(back, array, error);
}
