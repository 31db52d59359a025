/* See result.h: output in the format of the file's extension. */
#include "io/result.h"

#include <errno.h>

#include "base/error.h"
#include "io/grey_png.h"

stn_status stn_result_check(const char *option, const char *path, int rank, bool is_complex, stn_error *error) {
    stn_file_format format;
    STN_TRY(stn_file_format_of(option, path, &format, error));
    if (format == STN_FILE_PNG && (rank != 2 || is_complex))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "%s '%s': a PNG holds real numbers on two axes, and the result has %s%d: write .npy", option,
                        path, is_complex ? "complex ones on " : "", rank);
    return stn_output_probe(path, error);
}

stn_status stn_result_prepare(const char *path, const stn_array *array, int bits, size_t *changed, stn_output *output,
                              stn_error *error) {
    stn_file_format format;
    *changed = 0;
    STN_TRY(stn_file_format_of("an output", path, &format, error));
    if (format == STN_FILE_PNG) return stn_png_prepare(path, array, bits, changed, output, error);
    if (format == STN_FILE_NPY) return stn_npy_prepare(path, array, output, error);
    const size_t numbers = stn_array_numbers(array);
    STN_TRY(stn_output_open(path, output, error));
    if (fwrite(array->data, stn_dtype_size(array->dtype), numbers, output->file) !=
        numbers) /* little-endian, as in npy.c */
        return stn_output_fail(output, errno, error);
    return stn_output_finish(output, error);
}
