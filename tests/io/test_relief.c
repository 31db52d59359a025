/* The relief picture: size, light, and the common scale of both panels. */
#include <math.h>
#include <png.h>
#include <stdlib.h>

#include "../expect.h"
#include "files.h"
#include "io/relief.h"

TestSuite(relief, .init = files_enter, .fini = files_leave);

typedef struct picture {
    unsigned width, height;
    unsigned char *rgb;
} picture;

static picture read_png(const char *name) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    cr_assert(png_image_begin_read_from_file(&image, name), "%s", image.message);
    image.format = PNG_FORMAT_RGB;
    unsigned char *rgb = malloc(PNG_IMAGE_SIZE(image));
    cr_assert(png_image_finish_read(&image, NULL, rgb, 0, NULL));
    return (picture){image.width, image.height, rgb};
}

static stn_array ramp(size_t ny, size_t nx, double along_y, double along_x) {
    stn_array a = {0};
    cr_assert_eq(stn_array_make(2, (size_t[]){ny, nx}, STN_F32, &a, NULL), STN_OK);
    for (size_t y = 0; y < ny; y++)
        for (size_t x = 0; x < nx; x++) stn_array_set(&a, y * nx + x, along_y * (double)y + along_x * (double)x);
    return a;
}

static int brightness(const picture *p, size_t y, size_t x) {
    const unsigned char *at = p->rgb + (y * p->width + x) * 3;
    return at[0] + at[1] + at[2];
}

static picture draw(const stn_array *before, const stn_array *after) {
    stn_panel a = {0}, b = {0};
    OK(stn_panel_make(before, 0, &a, &error));
    OK(stn_panel_make(after, 0, &b, &error));
    stn_output output;
    stn_status status = stn_relief_prepare("a.png", &a, &b, "before", "after 7 steps", &output, &error);
    if (status == STN_OK) status = stn_output_commit(&output, &error);
    cr_assert_eq(status, STN_OK, "%s", error.message);
    stn_panel_clear(&a);
    stn_panel_clear(&b);
    cr_assert_eq(files_count(), 1);
    return read_png("a.png");
}

Test(relief, north_west_slopes_are_lit_and_south_east_ones_are_not) {
    stn_array lit = ramp(300, 400, 1, 1), dark = ramp(300, 400, -1, -1);
    picture p = draw(&lit, &dark);
    cr_assert_eq(p.width, 2 * 400 + 30);
    cr_assert_geq(p.height, 300 + 20);
    size_t y = p.height / 2; /* mid-height of both maps: the same tint */
    cr_assert_gt(brightness(&p, y, 10 + 200), brightness(&p, y, 420 + 200) + 100);
    free(p.rgb);
    stn_array_clear(&lit);
    stn_array_clear(&dark);
}

Test(relief, both_halves_share_the_scale_of_the_first) {
    stn_array before = ramp(300, 300, 1, 0), after = ramp(300, 300, 0, 0);
    picture p = draw(&before, &after);
    /* the flat map has the lowest height of the first map everywhere: one colour */
    const unsigned char *at = p.rgb + ((p.height / 2) * p.width + 330) * 3;
    for (size_t x = 1; x < 280; x++) cr_assert_eq(memcmp(at, at + x * 3, 3), 0);
    free(p.rgb);
    stn_array_clear(&before);
    stn_array_clear(&after);
}

/* A hollow near the top left corner of the map appears near the top left corner of the picture, in
 * its lowest tint. */
Test(relief, rows_run_down_and_columns_to_the_right) {
    enum { NY = 300, NX = 400, LEFT = 10, TOP = 10 + 22 };
    stn_array map = ramp(NY, NX, 0, 0);
    for (size_t y = 0; y < NY; y++)
        for (size_t x = 0; x < NX; x++) stn_array_set(&map, y * NX + x, y >= 20 && y < 40 && x >= 50 && x < 90 ? 0 : 1);
    picture p = draw(&map, &map);
    static const size_t places[][2] = {{30, 70}, {NY - 30, 70}, {30, NX - 70}, {NY - 30, NX - 70}};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const unsigned char *at = p.rgb + ((TOP + places[i][0]) * p.width + LEFT + places[i][1]) * 3;
        cr_expect_eq(at[1] > at[0], i == 0, "place %zu is %d %d %d: only the lowest tint is green", i, at[0], at[1],
                     at[2]);
    }
    free(p.rgb);
    stn_array_clear(&map);
}

Test(relief, captions_are_drawn) {
    stn_array flat = ramp(300, 300, 0, 0);
    picture p = draw(&flat, &flat);
    int ink = 0;
    for (size_t y = 0; y < 30; y++)
        for (size_t x = 0; x < 300; x++) ink += brightness(&p, y, x) < 300;
    cr_assert_gt(ink, 100);
    free(p.rgb);
    stn_array_clear(&flat);
}

Test(relief, tiny_large_and_broken_maps_are_drawn) {
    static const size_t sizes[][2] = {{1, 1}, {1, 50}, {50, 1}, {3000, 2}, {2, 3000}, {1500, 1300}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        stn_array a = ramp(sizes[i][0], sizes[i][1], 0.3, 0.1);
        stn_array_set(&a, 0, NAN);
        stn_array_set(&a, a.count - 1, INFINITY);
        picture p = draw(&a, &a);
        cr_assert(p.width <= 2500 && p.height <= 2500, "%u x %u", p.width, p.height);
        free(p.rgb);
        stn_array_clear(&a);
    }
}

Test(relief, one_axis_is_refused_and_of_three_the_middle_slice_is_shown) {
    stn_array a = {0};
    stn_panel panel = {0};
    stn_array_make(1, (size_t[]){9}, STN_F32, &a, NULL);
    cr_assert_eq(stn_panel_make(&a, 0, &panel, NULL), STN_ERROR_INVALID_ARGUMENT);
    stn_array_clear(&a);
    stn_array_make(3, (size_t[]){5, 2, 2}, STN_F32, &a, NULL);
    stn_array_set(&a, 2 * 4, 7);
    cr_assert_eq(stn_panel_make(&a, 0, &panel, NULL), STN_OK);
    cr_assert_eq(panel.z[0], 7);
    stn_panel_clear(&panel);
    /* a batch of five maps: the first one is drawn */
    cr_assert_eq(stn_panel_make(&a, 1, &panel, NULL), STN_OK);
    cr_assert_eq(panel.z[0], 0);
    stn_panel_clear(&panel);
    stn_array_clear(&a);
}
