/* Grey PNG files as 2D arrays of 8- or 16-bit integers. */
#ifndef STN_IO_GREY_PNG_H
#define STN_IO_GREY_PNG_H
#include <stdbool.h>

#include "io/npy.h"

#define STN_PNG_MAX_BYTES ((size_t)1 << 30) /* largest file that is read */
#define STN_PNG_MAX_SIDE 1000000            /* most pixels along an axis */

bool stn_png_is(const void *bytes, size_t size);

/* Decodes a PNG file in memory; any bytes are safe. The header says u1 or big-endian u2; pixels of
 * 1, 2 and 4 bits are widened to 8, as viewers show them. *pixels is freed with free(); pixels
 * NULL: only the header is read. Errors: STN_ERROR_FORMAT for a damaged file, for colour or
 * transparency. */
stn_status stn_png_decode(const char *name, const unsigned char *bytes, size_t size, stn_npy_header *header,
                          unsigned char **pixels, stn_error *error);

/* Writes a real 2D array with 8 or 16 bits a pixel, up to stn_output_commit. Values are rounded to
 * integers. *changed counts values out of range, which become the nearest limit (NaN: 0). */
stn_status stn_png_prepare(const char *path, const stn_array *array, int bits, size_t *changed, stn_output *output,
                           stn_error *error);
#endif
