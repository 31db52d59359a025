/* Shapes of fft_line, without a GPU: every supported length has a shape that the kernel can run. */
#include <criterion/criterion.h>

#include "strategies/fft/fft_line_kernel.h"

static const stn_machine machine = {.registers_per_multiprocessor = 65536,
                                    .is_device = true,
                                    .sm = 90,
                                    .multiprocessors = 132,
                                    .shared_per_block = 227 * 1024,
                                    .copy_bandwidth = 4e12};

static bool smooth(int64_t n) {
    for (int p = 2; p <= 7; p++)
        while (n % p == 0) n /= p;
    return n == 1;
}

static fft_pass rows(int64_t length) {
    return (fft_pass){.length = length,
                      .in_stride = 1,
                      .out_stride = 1,
                      .scale = 1,
                      .loops = 1,
                      .loop = {{1000, length, length}, {1, 0, 0}, {1, 0, 0}}};
}
static fft_pass columns(int64_t length) {
    return (fft_pass){.length = length,
                      .in_stride = 1000,
                      .out_stride = 1000,
                      .scale = 1,
                      .loops = 1,
                      .loop = {{1000, 1, 1}, {1, 0, 0}, {1, 0, 0}}};
}

static void check(const fft_pass *pass, stn_dtype dtype) {
    fft_line_shape s;
    cr_assert(fft_line_shape_for(pass, dtype, &machine, 0, &s), "%s %ld has no shape", stn_dtype_name(dtype),
              (long)pass->length);
    int64_t product = 1;
    int points = 0;
    for (int i = 0; i < s.stages; i++) {
        int each = (s.length / s.radix[i] + s.line_threads - 1) / s.line_threads;
        product *= s.radix[i];
        points = each * s.radix[i] > points ? each * s.radix[i] : points;
    }
    cr_expect_eq(product, pass->length);
    cr_expect(points <= (s.even             ? 24
                         : dtype == STN_F64 ? 16
                                            : 32),
              "%ld: %d points of a thread", (long)pass->length, points);
    cr_expect(s.threads == s.line_threads * s.lines && s.threads <= 1024, "%ld: %d threads", (long)pass->length,
              s.threads);
    cr_expect(s.blocks >= 1 && s.part > 0 && s.part < 1);
    cr_expect(fft_line_shared(pass, &s, dtype) <= machine.shared_per_block);
    bool one_warp = !fft_fast_in(pass) && !fft_fast_out(pass) && 32 % s.line_threads == 0;
    cr_expect(!one_warp || s.threads % 32 == 0, "%ld: a warp is not whole", (long)pass->length);
    if (s.pad < 1 << 20) /* the kernel assumes additive padding */
        cr_expect(!(pass->length & (pass->length - 1)), "%ld is padded", (long)pass->length);
    cr_expect(fft_line_blocks(pass, &s) * s.lines >= 1000);
}

Test(fft_line_shape, every_supported_length_has_a_shape) {
    for (int d = STN_F64; d <= STN_F16; d++)
        for (int64_t n = 2; n <= fft_longest((stn_dtype)d, false); n++) {
            if (!smooth(n)) continue;
            fft_pass pass = rows(n);
            check(&pass, (stn_dtype)d);
            pass.store_real = true;
            check(&pass, (stn_dtype)d);
            pass = columns(n);
            if (n <= fft_longest((stn_dtype)d, true)) check(&pass, (stn_dtype)d);
        }
}

Test(fft_line_shape, other_lengths_have_no_shape) {
    fft_line_shape s;
    for (int64_t n = 11; n < 2000; n += 11) {
        fft_pass pass = rows(n);
        cr_expect(smooth(n) == fft_line_shape_for(&pass, STN_F32, &machine, 0, &s), "%ld", (long)n);
    }
}

/* Roots are exp(-2 pi i k / n) to the last bit; counting without a target gives the same sizes. */
Test(fft_line_shape, tables) {
    static double to[2 * 65536];
    fft_line_shape s;
    fft_pass pass = columns(256);
    pass.outer = 65536;
    cr_assert(fft_line_shape_for(&pass, STN_F64, &machine, 0, &s));
    fft_tables counted = fft_line_tables(&pass, &s, STN_F64, NULL), t = fft_line_tables(&pass, &s, STN_F64, to);
    cr_expect(t.stages == counted.stages && t.outer == counted.outer && t.real == 0);
    cr_expect_eq(t.stages, 15 * 16); /* 256 = 16 x 16 */
    cr_expect_eq(t.outer, 256 + 256);
    const double *eighth = to + 2 * (t.stages + 256 + 32); /* w_65536^(32 * 256) */
    cr_expect_float_eq(eighth[0], 0.70710678118654752440, 2e-16);
    cr_expect_float_eq(eighth[1], -0.70710678118654752440, 2e-16);
}
