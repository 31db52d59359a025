/* Grey PNG files as arrays of whole numbers: 8 or 16 bits a pixel, two axes. */
#ifndef STN_IO_GREY_PNG_H
#define STN_IO_GREY_PNG_H
#include <stdbool.h>

#include "io/npy.h"

#define STN_PNG_BYTES_MOST ((size_t)1 << 30) /* of a file */
#define STN_PNG_SIDE_MOST 1000000            /* pixels, of a file that is read */

bool stn_png_is(const void *bytes, size_t size);

/* Decodes a file in memory. Any bytes are safe. The header says u1 or big-endian u2, as the pixels
 * are; 1, 2 and 4 bits are widened to 8 as viewers show them. *pixels is freed with free(); pixels
 * NULL: the header alone. Errors: STN_ERROR_FORMAT for a damaged file, and for colour or
 * transparency. */
stn_status stn_png_decode(const char *name, const unsigned char *bytes, size_t size, stn_npy_header *header,
                          unsigned char **pixels, stn_error *error);

/* Writes a real array of two axes up to the commit, of 8 or 16 bits. Values are rounded to whole
 * numbers; *changed counts those past the range (NaN too), which become its nearest end (NaN:
 * 0). */
stn_status stn_png_prepare(const char *path, const stn_array *array, int bits, size_t *changed, stn_output *output,
                           stn_error *error);
#endif
