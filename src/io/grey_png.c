/* See grey_png.h: reading and writing of grey PNG files with libpng. */
#include "io/grey_png.h"

#include <errno.h>
#include <math.h>
#include <png.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define CHUNK_BYTES 8000000 /* most bytes of one ancillary chunk */
#define CHUNKS 100          /* most ancillary chunks */
#define DEFLATE_RATIO 1032  /* most bytes that one byte of a deflate stream expands to */

typedef struct source {
    const unsigned char *bytes;
    size_t size, at;
    char message[100]; /* libpng's error message */
} source;

bool stn_png_is(const void *bytes, size_t size) { return size >= 8 && memcmp(bytes, "\x89PNG\r\n\x1a\n", 8) == 0; }

static void on_error(png_structp png, png_const_charp message) {
    source *from = png_get_error_ptr(png);
    if (from) {
        size_t size = strlen(message);
        if (size >= sizeof from->message) size = sizeof from->message - 1;
        memcpy(from->message, message, size);
        from->message[size] = '\0';
    }
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) { (void)png, (void)message; }

static void read_bytes(png_structp png, png_bytep to, png_size_t size) {
    source *from = png_get_io_ptr(png);
    if (from->size - from->at < size) png_error(png, "it is cut off");
    memcpy(to, from->bytes + from->at, size);
    from->at += size;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Converts the PNG header to an array header, or fails if the PNG is not a grey one. */
static stn_status read_header(const char *name, png_structp png, png_infop info, size_t size, stn_npy_header *header,
                              stn_error *error) {
    static const uint16_t one = 1;
    png_uint_32 width = 0, height = 0;
    int bits = 0, colour = 0;
    png_get_IHDR(png, info, &width, &height, &bits, &colour, NULL, NULL, NULL);
    if (colour != PNG_COLOR_TYPE_GRAY)
        return stn_fail(
            error, STN_ERROR_FORMAT,
            "'%s' is a PNG with %s, and a grid has one number a point: take one channel, or make it grey with "
            "python3 -c \"from PIL import Image; Image.open('in.png').convert('L').save('grey.png')\"",
            name, colour == PNG_COLOR_TYPE_GRAY_ALPHA ? "transparency" : "colours");
    *header = (stn_npy_header){.kind = 'u', .item = bits == 16 ? 2 : 1, .per = 1, .rank = 2};
    header->extent[0] = height, header->extent[1] = width;
    header->count = (size_t)height * width;
    header->swap = header->item == 2 && *(const unsigned char *)&one == 1; /* PNG is big-endian */
    /* size of the packed pixels */
    const size_t bytes = header->count / 8 * (size_t)bits;
    if (bytes / DEFLATE_RATIO > size)
        return stn_fail(error, STN_ERROR_FORMAT, "'%s' claims %zu x %zu pixels, more than its %zu bytes can hold", name,
                        header->extent[0], header->extent[1], size);
    return STN_OK;
}

/* Returns false if libpng failed; from->message then holds its message. */
static bool start(png_structp png, png_infop info, source *from) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_set_user_limits(png, STN_PNG_MAX_SIDE, STN_PNG_MAX_SIDE);
    png_set_chunk_cache_max(png, CHUNKS);
    png_set_chunk_malloc_max(png, CHUNK_BYTES);
    png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, 0);
    png_set_crc_action(png, PNG_CRC_ERROR_QUIT, PNG_CRC_WARN_DISCARD);
    png_set_read_fn(png, from, read_bytes);
    png_read_info(png, info);
    return true;
}

static bool read_pixels(png_structp png, png_infop info, unsigned char **rows) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_set_expand_gray_1_2_4_to_8(png);
    png_set_interlace_handling(png);
    png_read_update_info(png, info);
    png_read_image(png, rows);
    png_read_end(png, NULL);
    return true;
}

/* Turns libpng's failure into a status; errno tells out-of-memory from damage. */
static stn_status png_failure(const char *name, const source *from, stn_error *error) {
    if (errno == ENOMEM) return stn_fail_memory(error, "the text of a PNG", from->size);
    return stn_fail(error, STN_ERROR_FORMAT, "'%s' is a damaged PNG (%s): write it again", name, from->message);
}

static stn_status read_all_pixels(const char *name, png_structp png, png_infop info, const source *from,
                                  const stn_npy_header *header, unsigned char **pixels, stn_error *error) {
    const size_t height = header->extent[0], row = header->extent[1] * (size_t)header->item;
    unsigned char *made = calloc(height, row), **rows = calloc(height, sizeof *rows);
    stn_status status = STN_OK;
    if (!made || !rows)
        status = stn_fail_memory(error, "the pixels of a PNG", height * (row + sizeof *rows));
    else {
        for (size_t y = 0; y < height; y++) rows[y] = made + y * row;
        if (read_pixels(png, info, rows))
            *pixels = made, made = NULL;
        else
            status = png_failure(name, from, error);
    }
    free(rows);
    free(made);
    return status;
}

stn_status stn_png_decode(const char *name, const unsigned char *bytes, size_t size, stn_npy_header *header,
                          unsigned char **pixels, stn_error *error) {
    source from = {.bytes = bytes, .size = size};
    png_structp png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &from, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    stn_status status;
    if (pixels) *pixels = NULL;
    errno = 0;
    if (!info)
        status = stn_fail_memory(error, "a PNG reader", 1);
    else if (!start(png, info, &from))
        status = png_failure(name, &from, error);
    else {
        status = read_header(name, png, info, size, header, error);
        if (status == STN_OK && pixels) status = read_all_pixels(name, png, info, &from, header, pixels, error);
    }
    png_destroy_read_struct(&png, &info, NULL);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Converts one row to big-endian pixels; returns the number of values out of range. */
static size_t make_row(const stn_array *array, size_t first, size_t count, int bits, unsigned char *row) {
    const double most = bits == 16 ? 65535 : 255;
    size_t changed = 0;
    for (size_t i = 0; i < count; i++) {
        double value = nearbyint(stn_array_get(array, first + i));
        bool fits = value >= 0 && value <= most;
        unsigned pixel = fits ? (unsigned)value : value > most ? (unsigned)most : 0;
        changed += !fits;
        if (bits == 16) *row++ = (unsigned char)(pixel >> 8);
        *row++ = (unsigned char)pixel;
    }
    return changed;
}

static bool encode(png_structp png, png_infop info, FILE *file, const stn_array *array, int bits, unsigned char *row,
                   size_t *changed) {
    if (setjmp(png_jmpbuf(png))) return false;
    png_init_io(png, file);
    png_set_IHDR(png, info, (png_uint_32)array->extent[1], (png_uint_32)array->extent[0], bits, PNG_COLOR_TYPE_GRAY,
                 PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png, info);
    for (size_t y = 0; y < array->extent[0]; y++) {
        *changed += make_row(array, y * array->extent[1], array->extent[1], bits, row);
        png_write_row(png, row);
    }
    png_write_end(png, info);
    return true;
}

stn_status stn_png_prepare(const char *path, const stn_array *array, int bits, size_t *changed, stn_output *output,
                           stn_error *error) {
    *changed = 0;
    if (array->rank != 2 || array->is_complex || array->extent[0] > STN_PNG_MAX_SIDE ||
        array->extent[1] > STN_PNG_MAX_SIDE || !array->count)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "'%s': a PNG holds one grid of two axes of 1 to %d points: write .npy", path, STN_PNG_MAX_SIDE);
    STN_TRY(stn_output_open(path, output, error));
    unsigned char *row = malloc(array->extent[1] * 2);
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, NULL, on_error, on_warning);
    png_infop info = png ? png_create_info_struct(png) : NULL;
    errno = 0;
    bool done = row && info && encode(png, info, output->file, array, bits, row, changed);
    int why = errno ? errno : ENOMEM;
    png_destroy_write_struct(&png, &info);
    free(row);
    return done ? stn_output_finish(output, error) : stn_output_fail(output, why, error);
}
