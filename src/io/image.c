/* See image.h: an RGB canvas, a 5x7 bitmap font, and PNG output with libpng. */
#include "io/image.h"

#include <errno.h>
#include <png.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* Only the characters of captions; each row is 5 bits, the leftmost pixel in the highest bit. */
static const struct glyph {
    char letter;
    uint8_t rows[STN_GLYPH_HIGH];
} glyphs[] = {
    {'0', {14, 17, 17, 17, 17, 17, 14}}, {'1', {4, 12, 4, 4, 4, 4, 14}},    {'2', {14, 17, 1, 2, 4, 8, 31}},
    {'3', {14, 17, 1, 6, 1, 17, 14}},    {'4', {2, 6, 10, 18, 31, 2, 2}},   {'5', {31, 16, 30, 1, 1, 17, 14}},
    {'6', {14, 16, 16, 30, 17, 17, 14}}, {'7', {31, 1, 2, 2, 4, 4, 4}},     {'8', {14, 17, 17, 14, 17, 17, 14}},
    {'9', {14, 17, 17, 15, 1, 1, 14}},   {'a', {0, 0, 14, 1, 15, 17, 15}},  {'b', {16, 16, 30, 17, 17, 17, 30}},
    {'e', {0, 0, 14, 17, 31, 16, 14}},   {'f', {6, 8, 28, 8, 8, 8, 8}},     {'o', {0, 0, 14, 17, 17, 17, 14}},
    {'p', {0, 0, 30, 17, 30, 16, 16}},   {'r', {0, 0, 22, 25, 16, 16, 16}}, {'s', {0, 0, 15, 16, 14, 1, 30}},
    {'t', {8, 8, 28, 8, 8, 8, 6}},
};

stn_status stn_image_make(size_t width, size_t height, stn_image *image, stn_error *error) {
    size_t bytes;
    if (__builtin_mul_overflow(width, height, &bytes) || __builtin_mul_overflow(bytes, (size_t)3, &bytes))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a picture of %zu x %zu pixels is too large", width, height);
    uint8_t *rgb = malloc(bytes ? bytes : 1);
    if (!rgb) return stn_fail_memory(error, "a picture", bytes);
    memset(rgb, 255, bytes);
    *image = (stn_image){width, height, rgb};
    return STN_OK;
}

void stn_image_clear(stn_image *image) {
    free(image->rgb);
    memset(image, 0, sizeof *image);
}

static void draw_glyph(stn_image *image, size_t x, size_t y, size_t scale, const struct glyph *glyph) {
    for (size_t row = 0; row < STN_GLYPH_HIGH * scale; row++)
        for (size_t column = 0; column < 5 * scale; column++) {
            size_t px = x + column, py = y + row;
            if (px >= image->width || py >= image->height) continue;
            if (glyph->rows[row / scale] >> (4 - column / scale) & 1)
                memset(image->rgb + (py * image->width + px) * 3, 60, 3);
        }
}

void stn_image_text(stn_image *image, size_t x, size_t y, size_t scale, const char *text) {
    for (; *text; text++, x += STN_GLYPH_WIDE * scale)
        for (size_t i = 0; i < sizeof glyphs / sizeof *glyphs; i++)
            if (glyphs[i].letter == *text) draw_glyph(image, x, y, scale, &glyphs[i]);
}

static void on_png_error(png_structp png, png_const_charp message) {
    (void)message; /* only writing can fail here, and errno says more */
    longjmp(png_jmpbuf(png), 1);
}

static void on_png_warning(png_structp png, png_const_charp message) {
    (void)png;
    (void)message;
}

/* Returns false if libpng failed. A function of its own, so that no local variable lives across
 * longjmp. */
static bool encode(png_structp png, png_infop info, FILE *file, const stn_image *image) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_init_io(png, file);
    png_set_IHDR(png, info, (png_uint_32)image->width, (png_uint_32)image->height, 8, PNG_COLOR_TYPE_RGB,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (size_t y = 0; y < image->height; y++) png_write_row(png, image->rgb + y * image->width * 3);
    png_write_end(png, info);
    return true;
}

stn_status stn_image_prepare_png(const char *path, const stn_image *image, stn_output *output, stn_error *error) {
    STN_TRY(stn_output_open(path, output, error));
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_png_error, on_png_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    errno = 0;
    bool done = info && encode(png, info, output->file, image);
    int why = errno ? errno : ENOMEM;
    png_destroy_write_struct(&png, &info);
    if (done) return stn_output_finish(output, error);
    return stn_output_fail(output, why, error);
}
