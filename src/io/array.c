/* See array.h: allocation and element access of host arrays. */
#include "io/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/half.h"

void stn_array_clear(stn_array *array) {
    free(array->data);
    memset(array, 0, sizeof *array);
}

double stn_array_get(const stn_array *array, size_t index) {
    switch (array->dtype) {
        case STN_F64:
            return ((const double *)array->data)[index];
        case STN_F32:
            return ((const float *)array->data)[index];
        case STN_F16:
            return stn_half_to_float(((const uint16_t *)array->data)[index]);
    }
    return NAN;
}

void stn_array_set(stn_array *array, size_t index, double value) {
    switch (array->dtype) {
        case STN_F64:
            ((double *)array->data)[index] = value;
            break;
        case STN_F32:
            ((float *)array->data)[index] = (float)value;
            break;
        case STN_F16:
            ((uint16_t *)array->data)[index] = stn_float_to_half((float)value);
            break;
    }
}

size_t stn_array_nonfinite(const stn_array *array) {
    size_t bad = 0;
    for (size_t i = 0; i < stn_array_numbers(array); i++) bad += !isfinite(stn_array_get(array, i));
    return bad;
}

size_t stn_array_numbers(const stn_array *array) { return array->count * (array->is_complex ? 2 : 1); }

static stn_status make(int rank, const size_t *extent, stn_dtype dtype, bool is_complex, stn_array *array,
                       stn_error *error) {
    size_t item = stn_dtype_size(dtype) * (is_complex ? 2 : 1), count = 1, bytes;
    for (int axis = 0; axis < rank; axis++)
        if (__builtin_mul_overflow(count, extent[axis], &count))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the extents multiply to more points than memory can address: use a smaller grid");
    if (__builtin_mul_overflow(count, item, &bytes) || bytes > PTRDIFF_MAX)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the grid has %zu points, more bytes than memory can address: use a smaller grid", count);
    void *data = calloc(bytes ? bytes : 1, 1);
    if (!data) return stn_fail_memory(error, "the grid", bytes);
    *array = (stn_array){.rank = rank, .count = count, .dtype = dtype, .data = data, .is_complex = is_complex};
    for (int axis = 0; axis < rank; axis++) array->extent[axis] = extent[axis];
    return STN_OK;
}

stn_status stn_array_make(int rank, const size_t *extent, stn_dtype dtype, stn_array *array, stn_error *error) {
    return make(rank, extent, dtype, false, array, error);
}

stn_status stn_array_make_complex(int rank, const size_t *extent, stn_dtype dtype, stn_array *array, stn_error *error) {
    return make(rank, extent, dtype, true, array, error);
}
