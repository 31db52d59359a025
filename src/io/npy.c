/* Writing of .npy files. */
#include "io/npy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

stn_dtype stn_npy_dtype(const stn_npy_header *header) {
    if (header->kind == 'f') return header->item == 8 ? STN_F64 : header->item == 4 ? STN_F32 : STN_F16;
    return STN_F64; /* integers are computed in f64, as in NumPy and SciPy */
}

/* Padded so that values start at a multiple of 64 bytes. */
size_t stn_npy_preamble(const stn_array *array, const char *comment, unsigned char *bytes, size_t most) {
    char shape[128] = "", text[384];
    for (int axis = 0; axis < array->rank; axis++) {
        size_t used = strlen(shape);
        snprintf(shape + used, sizeof shape - used, axis && array->rank > 1 ? ", %zu" : "%zu", array->extent[axis]);
    }
    static const char *const types[] = {[STN_F64] = "<f8", [STN_F32] = "<f4", [STN_F16] = "<f2"};
    static const char *const pairs[] = {[STN_F64] = "<c16", [STN_F32] = "<c8", [STN_F16] = "<f2"};
    bool pair_axis = array->is_complex && array->dtype == STN_F16;
    const char *after = pair_axis ? array->rank ? ", 2" : "2," : array->rank == 1 ? "," : "";
    int size = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }%s%.120s",
                        (array->is_complex ? pairs : types)[array->dtype], shape, after, comment ? " # " : "",
                        comment ? comment : "");
    size_t total = (10 + (size_t)size + 1 + 63) / 64 * 64, length = total - 10;
    if (total > most) return 0;
    memcpy(bytes, STN_NPY_MAGIC "\x01\x00", 8);
    bytes[8] = (unsigned char)(length & 255);
    bytes[9] = (unsigned char)(length >> 8);
    memset(bytes + 10, ' ', length);
    memcpy(bytes + 10, text, (size_t)size);
    bytes[total - 1] = '\n';
    return total;
}

stn_status stn_npy_prepare(const char *path, const stn_array *array, stn_output *output, stn_error *error) {
    unsigned char preamble[512];
    size_t item = stn_dtype_size(array->dtype), count = stn_array_numbers(array);
    size_t size = stn_npy_preamble(array, NULL, preamble, sizeof preamble);
    STN_TRY(stn_output_open(path, output, error));
    /* supported machines are little-endian: x86-64, aarch64 */
    if (!size || fwrite(preamble, 1, size, output->file) != size ||
        fwrite(array->data, item, count, output->file) != count) {
        return stn_output_fail(output, errno, error);
    }
    return stn_output_finish(output, error);
}

stn_status stn_npy_write(const char *path, const stn_array *array, stn_error *error) {
    stn_output output;
    STN_TRY(stn_npy_prepare(path, array, &output, error));
    return stn_output_commit(&output, error);
}
