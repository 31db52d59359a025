/* Writes a result in the format of its file extension. */
#ifndef STN_IO_RESULT_H
#define STN_IO_RESULT_H
#include "io/file_format.h"
#include "io/npy.h"

/* Can a result of this rank and kind be written there? For use before a long run. */
stn_status stn_result_check(const char *option, const char *path, int rank, bool is_complex, stn_error *error);

/* Writes up to stn_output_commit. bits: of a PNG, 8 or 16; *changed: values out of a PNG's range
 * (grey_png.h), else 0. */
stn_status stn_result_prepare(const char *path, const stn_array *array, int bits, size_t *changed, stn_output *output,
                              stn_error *error);
#endif
