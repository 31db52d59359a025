/* See relief.h. Shading is Lambertian: the cosine between the surface's normal and the light. */
#include "io/relief.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "io/image.h"

#define MARGIN 10
#define CAPTION_SCALE 2
#define CAPTION_HIGH (STN_GLYPH_HIGH * CAPTION_SCALE + 8)
#define SMALL_SIDE 240     /* smaller maps are drawn with several pixels per point */
#define TYPICAL_SLOPE 0.75 /* the vertical exaggeration scales the map's RMS slope to this */

typedef struct rgb {
    double r, g, b;
} rgb;

/* Colour by relative height 0..1: valleys green, slopes ochre and brown, peaks pale. */
static const struct {
    double height;
    rgb tint;
} tints[] = {
    {0.00, {84, 130, 96}},   {0.20, {136, 168, 112}}, {0.40, {196, 198, 140}},
    {0.60, {210, 180, 128}}, {0.80, {170, 134, 104}}, {1.00, {240, 236, 230}},
};
static const rgb not_finite = {190, 30, 110};

typedef struct colour_scale { /* the scale of both panels */
    double low, high;         /* heights of the lowest and highest colour */
    double exaggeration;
} colour_scale;

stn_status stn_panel_make(const stn_array *array, int batched, stn_panel *panel, stn_error *error) {
    if (array->rank - !!batched < 2 || !array->count)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a relief needs a grid of two or three axes");
    size_t ny = array->extent[array->rank - 2], nx = array->extent[array->rank - 1], slice = 0;
    if (array->rank - !!batched == 3) slice = array->extent[array->rank - 3] / 2;
    size_t longest = ny > nx ? ny : nx, block = (longest + STN_PANEL_MAX_SIDE - 1) / STN_PANEL_MAX_SIDE;
    size_t height = (ny + block - 1) / block, width = (nx + block - 1) / block;
    float *z = malloc(height * width * sizeof *z);
    if (!z) return stn_fail_memory(error, "a relief", height * width * sizeof *z);
    for (size_t y = 0; y < height; y++)
        for (size_t x = 0; x < width; x++) {
            size_t y_end = (y + 1) * block < ny ? (y + 1) * block : ny;
            size_t x_end = (x + 1) * block < nx ? (x + 1) * block : nx;
            double sum = 0;
            for (size_t i = y * block; i < y_end; i++)
                for (size_t j = x * block; j < x_end; j++) sum += stn_array_get(array, (slice * ny + i) * nx + j);
            z[y * width + x] = (float)(sum / (double)((y_end - y * block) * (x_end - x * block)));
        }
    *panel = (stn_panel){height, width, z};
    return STN_OK;
}

void stn_panel_clear(stn_panel *panel) {
    free(panel->z);
    memset(panel, 0, sizeof *panel);
}

/* Slopes by central differences, one-sided at the edges, per grid point. */
static void slope(const stn_panel *panel, size_t y, size_t x, double *along_y, double *along_x) {
    size_t up = y ? y - 1 : y, down = y + 1 < panel->height ? y + 1 : y;
    size_t left = x ? x - 1 : x, right = x + 1 < panel->width ? x + 1 : x;
    const float *z = panel->z;
    size_t w = panel->width;
    *along_y = down > up ? ((double)z[down * w + x] - (double)z[up * w + x]) / (double)(down - up) : 0;
    *along_x = right > left ? ((double)z[y * w + right] - (double)z[y * w + left]) / (double)(right - left) : 0;
}

static colour_scale colour_scale_of(const stn_panel *panel) {
    colour_scale l = {INFINITY, -INFINITY, 0};
    double squares = 0, counted = 0;
    for (size_t y = 0; y < panel->height; y++)
        for (size_t x = 0; x < panel->width; x++) {
            double z = panel->z[y * panel->width + x], sy, sx;
            if (!isfinite(z)) continue;
            l.low = fmin(l.low, z);
            l.high = fmax(l.high, z);
            slope(panel, y, x, &sy, &sx);
            if (!isfinite(sy * sy + sx * sx)) continue;
            squares += sy * sy + sx * sx;
            counted++;
        }
    if (squares > 0) l.exaggeration = TYPICAL_SLOPE / sqrt(squares / counted);
    return l;
}

static rgb tint_at(double height) {
    size_t last = sizeof tints / sizeof *tints - 1, i = 0;
    height = fmin(fmax(height, 0), 1);
    while (i + 1 < last && height > tints[i + 1].height) i++;
    double part = (height - tints[i].height) / (tints[i + 1].height - tints[i].height);
    const rgb *a = &tints[i].tint, *b = &tints[i + 1].tint;
    return (rgb){a->r + part * (b->r - a->r), a->g + part * (b->g - a->g), a->b + part * (b->b - a->b)};
}

static rgb shade(const stn_panel *panel, size_t y, size_t x, const colour_scale *l) {
    double z = panel->z[y * panel->width + x], sy, sx;
    slope(panel, y, x, &sy, &sx);
    if (!isfinite(z) || !isfinite(sy) || !isfinite(sx)) return not_finite;
    sy *= l->exaggeration;
    sx *= l->exaggeration;
    /* light from the north-west, 45 degrees up; rows run south; flat ground gets 1 */
    double facing = (sx + sy) * 0.5 * sqrt(2.0) + 1;
    double light = fmax(facing, 0) / sqrt(1 + sx * sx + sy * sy);
    double factor = 0.35 + 0.65 * light;
    rgb colour = tint_at(l->high > l->low ? (z - l->low) / (l->high - l->low) : 0.4);
    return (rgb){fmin(colour.r * factor, 255), fmin(colour.g * factor, 255), fmin(colour.b * factor, 255)};
}

static void draw_panel(stn_image *image, size_t left, size_t top, size_t zoom, const stn_panel *panel,
                       const colour_scale *l) {
    for (size_t y = 0; y < panel->height; y++)
        for (size_t x = 0; x < panel->width; x++) {
            rgb colour = shade(panel, y, x, l);
            for (size_t i = 0; i < zoom * zoom; i++) {
                size_t at = (top + y * zoom + i / zoom) * image->width + left + x * zoom + i % zoom;
                image->rgb[at * 3] = (uint8_t)lrint(colour.r);
                image->rgb[at * 3 + 1] = (uint8_t)lrint(colour.g);
                image->rgb[at * 3 + 2] = (uint8_t)lrint(colour.b);
            }
        }
}

stn_status stn_relief_prepare(const char *path, const stn_panel *before, const stn_panel *after,
                              const char *before_caption, const char *after_caption, stn_output *output,
                              stn_error *error) {
    if (before->height != after->height || before->width != after->width)
        return stn_fail(error, STN_ERROR_INTERNAL, "the two reliefs differ in size");
    size_t longest = before->height > before->width ? before->height : before->width;
    size_t zoom = longest < SMALL_SIDE ? SMALL_SIDE / longest : 1;
    size_t height = before->height * zoom, width = before->width * zoom;
    bool stacked = width > 2 * height; /* wide maps are stacked vertically */
    size_t step_x = stacked ? 0 : width + MARGIN, step_y = stacked ? height + CAPTION_HIGH + MARGIN : 0;
    stn_image image;
    STN_TRY(stn_image_make(2 * MARGIN + width + step_x, 2 * MARGIN + CAPTION_HIGH + height + step_y, &image, error));
    colour_scale l = colour_scale_of(before);
    size_t top = MARGIN + CAPTION_HIGH;
    draw_panel(&image, MARGIN, top, zoom, before, &l);
    draw_panel(&image, MARGIN + step_x, top + step_y, zoom, after, &l);
    stn_image_text(&image, MARGIN, MARGIN, CAPTION_SCALE, before_caption);
    stn_image_text(&image, MARGIN + step_x, MARGIN + step_y, CAPTION_SCALE, after_caption);
    stn_status status = stn_image_prepare_png(path, &image, output, error);
    stn_image_clear(&image);
    return status;
}
