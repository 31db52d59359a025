/* An 8-bit RGB picture in memory. */
#ifndef STN_IO_IMAGE_H
#define STN_IO_IMAGE_H
#include <stdint.h>

#include "io/output.h"
#include "stentor.h"

typedef struct stn_image {
    size_t width, height;
    uint8_t *rgb; /* owned: height rows of width pixels of 3 bytes */
} stn_image;

/* white */
stn_status stn_image_make(size_t width, size_t height, stn_image *image, stn_error *error);
void stn_image_clear(stn_image *image);

/* Draws text with letters STN_GLYPH_WIDE * scale pixels apart; (x, y) is its top left corner. Text
 * outside of the image is clipped. */
#define STN_GLYPH_WIDE 6
#define STN_GLYPH_HIGH 7
void stn_image_text(stn_image *image, size_t x, size_t y, size_t scale, const char *text);

/* Writes a PNG up to stn_output_commit, which makes the file appear. */
stn_status stn_image_prepare_png(const char *path, const stn_image *image, stn_output *output, stn_error *error);
#endif
