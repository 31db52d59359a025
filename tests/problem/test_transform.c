/* Canonicalisation of transforms: defaults, invalid layouts, descriptions. */
#include <math.h>
#include <stddef.h>

#include "../expect.h"
#include "problem/transform.h"
#include "refusal.h"

static stn_transform plane(void) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 2;
    t.extent[0] = 6, t.extent[1] = 10;
    t.batch = 3;
    t.dtype = STN_F32;
    return t;
}

static stn_fft made(const stn_transform *t) {
    stn_fft fft;
    OK(stn_fft_make(t, &fft, &error));
    return fft;
}

static void lies(const stn_fft_side *side, int64_t n2, int64_t stride1, int64_t between) {
    cr_expect_eq(side->n[2], n2);
    cr_expect_eq(side->stride[2], 1);
    cr_expect_eq(side->stride[1], stride1);
    cr_expect_eq(side->batch_stride, between);
}

Test(transform, dense_layouts) {
    stn_transform t = plane();
    stn_fft fft = made(&t);
    lies(&fft.in, 10, 10, 60);
    lies(&fft.out, 10, 10, 60);
    cr_expect(!fft.inverse && fft.scale == 1 && fft.n[0] == 1 && fft.alignment == 16);
    t.kind = STN_R2C;
    fft = made(&t);
    lies(&fft.in, 10, 10, 60);
    lies(&fft.out, 6, 6, 36);
    cr_expect_eq(stn_fft_element(&fft, &fft.in), 4u);
    cr_expect_eq(stn_fft_element(&fft, &fft.out), 8u);
    t.in_place = 1;
    fft = made(&t);
    lies(&fft.in, 10, 12, 72);
    lies(&fft.out, 6, 6, 36);
    t.kind = STN_C2R;
    fft = made(&t);
    cr_expect(fft.inverse);
    lies(&fft.in, 6, 6, 36);
    lies(&fft.out, 10, 12, 72);
    /* default strides of rows, with a larger batch stride */
    t.in_batch_stride = 40, t.out_batch_stride = 80;
    fft = made(&t);
    lies(&fft.in, 6, 6, 40);
    lies(&fft.out, 10, 12, 80);
}

Test(transform, cosines) {
    stn_transform t = plane();
    t.kind = STN_DCT2, t.in_place = t.orthogonal = 1;
    stn_fft fft = made(&t);
    lies(&fft.in, 10, 10, 60);
    lies(&fft.out, 10, 10, 60);
    cr_expect(!fft.inverse && fft.orthogonal && fft.in.real && fft.out.real);
    t.struct_size = offsetof(stn_transform, orthogonal); /* as compiled before it had the member */
    cr_expect(!made(&t).orthogonal);
    stn_text text = STN_TEXT_EMPTY;
    stn_fft_print(&fft, &text);
    cr_expect_str_eq(text.data, "2D 6 x 10 dct2 orthogonal in batches of 3, f32, in place");
    stn_text_clear(&text);
    t = plane(), t.orthogonal = 1; /* means nothing for other kinds */
    cr_expect(!made(&t).orthogonal);
}

Test(transform, a_line_in_place_is_padded) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 1, t.extent[0] = 7, t.batch = 4, t.kind = STN_R2C, t.in_place = 1;
    stn_fft fft = made(&t);
    cr_expect_eq(fft.in.batch_stride, 8);
    cr_expect_eq(fft.out.batch_stride, 4);
}

Test(transform, directions_and_their_scales) {
    stn_transform t = plane();
    t.forward_scale = 0.5, t.inverse_scale = 0.25;
    cr_expect_eq(made(&t).scale, 0.5);
    t.direction = STN_INVERSE;
    cr_expect_eq(made(&t).scale, 0.25);
    t.kind = STN_R2C;
    cr_expect(made(&t).scale == 0.5 && !made(&t).inverse);
    t.kind = STN_C2R;
    t.direction = STN_FORWARD;
    cr_expect(made(&t).scale == 0.25 && made(&t).inverse);
}

Test(transform, sizes) {
    stn_transform t = plane();
    stn_fft fft = made(&t);
    cr_expect_eq(stn_fft_count(&fft, &fft.in), 180);
    cr_expect_eq(stn_fft_bytes(&fft), 2 * 180 * 8.0);
    cr_expect_float_eq(stn_fft_flops(&fft), 5 * 180 * log2(60), 1e-9);
    t.in_stride[0] = 20, t.in_stride[1] = 2, t.in_batch_stride = 200;
    fft = made(&t);
    cr_expect_eq(stn_fft_span(&fft, &fft.in), 400 + 100 + 18 + 1);
    cr_expect_eq(stn_fft_span(&fft, &fft.out), 180);
}

static void refused(const stn_transform *t, const char *first, const char *second) {
    expect_refusal(stn_transform_validate(t, &error), &error, first, second);
}

static stn_transform line_of_one(void) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 1, t.extent[0] = 1;
    return t;
}

Test(transform, refusals) {
    stn_transform t = plane();
    refused(NULL, "transform is NULL", "pass");
    t.rank = 0, refused(&t, "rank is 0", "1 to 3");
    t.rank = 4, refused(&t, "rank is 4", "1 to 3");
    t = plane(), t.kind = (stn_transform_kind)11, refused(&t, "kind 11", "STN_C2C");
    t = plane(), t.direction = (stn_direction)2, refused(&t, "direction 2", "STN_FORWARD");
    t = plane(), t.dtype = (stn_dtype)5, refused(&t, "dtype 5", "STN_F64");
    t = plane(), t.f16_sums = 1, refused(&t, "f16_sums", "f32");
    t = plane(), t.forward_scale = NAN, refused(&t, "forward_scale", "finite");
    t = plane(), t.alignment = 4, refused(&t, "alignment is 4", "from 8");
    /* also where only one side is complex */
    t = plane(), t.kind = STN_R2C, t.alignment = 4, refused(&t, "alignment is 4", "from 8");
    t = plane(), t.kind = STN_C2R, t.alignment = 4, refused(&t, "alignment is 4", "from 8");
    t = plane(), t.alignment = 24, refused(&t, "alignment is 24", "power of two");
    t = line_of_one(), t.kind = STN_DCT1, refused(&t, "extent[0] is 1", "two points");
    t = plane(), t.extent[1] = 0, refused(&t, "extent[1] is 0", "at least one point");
    t = plane(), t.extent[0] = SIZE_MAX / 4, refused(&t, "bytes of complex f32", "63 bits");
    t = plane(), t.batch = SIZE_MAX, refused(&t, "bytes of complex f32", "63 bits");
    t = plane(), t.in_stride[0] = 10, refused(&t, "in_stride[1] is 0", "dense");
    t = plane(), t.out_stride[0] = 9, t.out_stride[1] = 1, refused(&t, "out_stride[0] is 9", "overlap");
    t = plane(), t.in_batch_stride = 59, refused(&t, "in_batch_stride is 59", "overlap");
    t = plane(), t.in_place = 1, t.in_batch_stride = 61, refused(&t, "in place", "make them equal");
    t = plane(), t.in_place = 1, t.kind = STN_R2C, t.in_stride[0] = 13, t.in_stride[1] = 1;
    refused(&t, "in place", "twice the complex one");
    t.struct_size = sizeof t + 8, refused(&t, "stn_transform.struct_size", "new");
}

Test(transform, words) {
    stn_transform t = plane();
    stn_text text = STN_TEXT_EMPTY;
    stn_fft fft = made(&t);
    stn_fft_print(&fft, &text);
    cr_expect_str_eq(text.data, "2D 6 x 10 c2c forward in batches of 3, f32");
    stn_text_clear(&text);
    t.dtype = STN_F16, t.kind = STN_C2R, t.in_place = t.f16_sums = 1, t.inverse_scale = 0.5, t.batch = 0;
    fft = made(&t);
    stn_fft_print(&fft, &text);
    cr_expect_str_eq(text.data, "2D 6 x 10 c2r, f16 with f16 sums, scaled by 0.5, strided, in place");
    stn_text_clear(&text);
    stn_fft_json(&fft, &text);
    cr_expect_str_eq(text.data,
                     "{\"transform\":\"c2r\",\"direction\":\"inverse\",\"rank\":2,\"extent\":[6,10],\"batch\":1,"
                     "\"in_stride\":[6,1],\"out_stride\":[12,1],\"in_batch_stride\":36,\"out_batch_stride\":72,"
                     "\"dtype\":\"f16\",\"f16_sums\":true,\"scale\":0.5,\"in_place\":true}");
    stn_text_clear(&text);
}
