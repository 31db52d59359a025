/* Canonicalisation of Fourier layers: defaults, errors, descriptions. */
#include <math.h>
#include <stdint.h>

#include "../expect.h"
#include "problem/fourier_layer.h"
#include "refusal.h"

static stn_spectral_conv plane(void) {
    stn_spectral_conv c = STN_SPECTRAL_CONV_INIT;
    c.rank = 2;
    c.extent[0] = 9, c.extent[1] = 10;
    c.in_channels = 3, c.out_channels = 5;
    c.dtype = STN_F32;
    return c;
}

static stn_layer made(const stn_spectral_conv *c) {
    stn_layer layer;
    OK(stn_layer_make(c, &layer, &error));
    return layer;
}

Test(layer, defaults) {
    stn_spectral_conv c = plane();
    stn_layer l = made(&c);
    cr_expect(l.n[0] == 1 && l.n[1] == 9 && l.n[2] == 10 && l.batch == 1 && l.real && l.alignment == 16);
    cr_expect(l.modes[0] == 1 && l.modes[1] == 9 && l.modes[2] == 6, "all frequencies");
    cr_expect(l.lowest[0] == 0 && l.lowest[1] == -4 && l.lowest[2] == 0);
    c.complex_data = 1;
    l = made(&c);
    cr_expect(l.modes[2] == 10 && l.lowest[2] == -5 && !l.real);
    c.mode_choice = STN_MODES_LOW;
    l = made(&c);
    cr_expect(l.lowest[1] == 0 && l.lowest[2] == 0);
}

Test(layer, places_of_modes) {
    stn_spectral_conv c = plane();
    c.modes[0] = 4, c.modes[1] = 2;
    stn_layer l = made(&c);
    static const int64_t places[] = {7, 8, 0, 1};
    for (int j = 0; j < 4; j++) cr_expect_eq(stn_layer_mode_index(&l, 1, j), places[j]);
    cr_expect_eq(stn_layer_mode_index(&l, 2, 1), 1);
    cr_expect_eq(stn_layer_modes(&l), 8);
    cr_expect_eq(stn_layer_spectrum(&l), 54);
}

Test(layer, what_an_execution_brings) {
    stn_spectral_conv c = plane();
    int64_t numbers[STN_OPERANDS];
    c.batch = 2, c.modes[0] = c.modes[1] = 2, c.has_bias = c.has_skip = 1;
    stn_layer l = made(&c);
    stn_layer_operands(&l, numbers);
    cr_expect(stn_layer_in_numbers(&l) == 540 && stn_layer_out_numbers(&l) == 900);
    cr_expect(numbers[STN_OPERAND_WEIGHTS] == 120 && numbers[STN_OPERAND_BIAS] == 5 && numbers[STN_OPERAND_SKIP] == 15);
    cr_expect(!numbers[STN_OPERAND_GRADIENT] && !numbers[STN_OPERAND_BIAS_GRADIENT]);
    c.pass = STN_PASS_BACKWARD_X;
    l = made(&c);
    stn_layer_operands(&l, numbers);
    cr_expect(stn_layer_in_numbers(&l) == 900 && stn_layer_out_numbers(&l) == 540 && !numbers[STN_OPERAND_BIAS]);
    c.pass = STN_PASS_BACKWARD_WEIGHTS, c.shared_weights = 1;
    l = made(&c);
    stn_layer_operands(&l, numbers);
    cr_expect(stn_layer_in_numbers(&l) == 540 && stn_layer_out_numbers(&l) == 30 && !numbers[STN_OPERAND_WEIGHTS]);
    cr_expect(numbers[STN_OPERAND_GRADIENT] == 900 && numbers[STN_OPERAND_BIAS_GRADIENT] == 5 &&
              numbers[STN_OPERAND_SKIP_GRADIENT] == 15);
}

static void refused(const stn_spectral_conv *c, const char *first, const char *second) {
    expect_refusal(stn_spectral_conv_validate(c, &error), &error, first, second);
}

Test(layer, refusals) {
    stn_spectral_conv c = plane();
    refused(NULL, "NULL", "stn_spectral_conv");
    c.rank = 0, refused(&c, "rank is 0", "1 to 3");
    c = plane(), c.extent[1] = 0, refused(&c, "extent[1] is 0", "one point");
    c = plane(), c.extent[0] = (size_t)1 << 40, refused(&c, "extent[0]", "at most");
    c = plane(), c.in_channels = 0, refused(&c, "in_channels is 0", "at least one");
    c = plane(), c.batch = (size_t)1 << 30, c.in_channels = (size_t)1 << 24, c.out_channels = 1;
    refused(&c, "63 bits", "lower");
    c.in_channels = 1, c.out_channels = (size_t)1 << 24;
    refused(&c, "63 bits", "lower");
    c = plane(), c.out_channels = 0, refused(&c, "out_channels is 0", "at least one");
    c = plane(), c.modes[0] = 10, refused(&c, "modes[0] is 10", "9 frequencies");
    c = plane(), c.modes[1] = 7, refused(&c, "modes[1] is 7", "real points have 6");
    c.complex_data = 1, made(&c);
    c = plane(), c.mode_choice = (stn_mode_choice)7, refused(&c, "mode_choice 7", "STN_MODES_LOW");
    c = plane(), c.activation = (stn_activation)9, refused(&c, "activation 9", "STN_ACTIVATION_RELU");
    c = plane(), c.pass = (stn_layer_pass)3, refused(&c, "pass 3", "STN_PASS_BACKWARD_X");
    c.pass = STN_PASS_BACKWARD_X, c.activation = STN_ACTIVATION_GELU, refused(&c, "backward", "STN_ACTIVATION_NONE");
    c = plane(), c.dtype = (stn_dtype)5, refused(&c, "dtype 5", "STN_F32");
    c = plane(), c.tolerance = -1, refused(&c, "tolerance is -1", "0 or more");
    c.tolerance = NAN, refused(&c, "tolerance", "0 or more");
    c = plane(), c.alignment = 4, refused(&c, "alignment is 4", "power of two from 8");
    c = plane(), c.batch = SIZE_MAX, refused(&c, "63 bits", "lower");
    c = plane(), c.in_channels = (size_t)1 << 40, c.out_channels = (size_t)1 << 40, refused(&c, "63 bits", "lower");
    c = plane(), c.struct_size = sizeof c + 8, refused(&c, "stn_spectral_conv", "struct_size");
}

static void prints(const stn_spectral_conv *c, const char *expected) {
    stn_layer l = made(c);
    stn_text text = STN_TEXT_EMPTY;
    stn_layer_print(&l, &text);
    cr_assert(text.data && !text.failed);
    cr_expect_str_eq(text.data, expected);
    stn_text_clear(&text);
    stn_layer_json(&l, &text);
    cr_expect(text.data && text.data[0] == '{' && text.data[text.size - 1] == '}');
    cr_expect(text.data && strstr(text.data, "\"modes\":["));
    stn_text_clear(&text);
}

Test(layer, words) {
    stn_spectral_conv c = plane();
    c.modes[0] = 4, c.modes[1] = 3, c.batch = 8;
    prints(&c, "2D 9 x 10, 4 x 3 modes, 3 to 5 channels in batches of 8, real f32, weights for each mode, forward");
    c.complex_data = c.shared_weights = c.has_bias = c.has_skip = 1, c.activation = STN_ACTIVATION_GELU;
    c.dtype = STN_F16, c.batch = 0;
    prints(&c, "2D 9 x 10, 4 x 3 modes, 3 to 5 channels, complex f16, weights shared, skip, bias, gelu, forward");
}
