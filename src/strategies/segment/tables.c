/* See tables.h. */
#include "strategies/segment/tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"

typedef struct cplx {
    long double re, im;
} cplx;

static cplx product(cplx a, cplx b) { return (cplx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

static cplx power(cplx base, uint64_t exponent) {
    cplx result = {1, 0};
    for (; exponent; exponent >>= 1, base = product(base, base))
        if (exponent & 1) result = product(result, base);
    return result;
}

/* exp(2 pi i k / n), k = 0 .. n - 1; NULL: no memory. */
static cplx *roots_of(int64_t n) {
    cplx *root = malloc((size_t)n * sizeof *root);
    const long double turn = 2 * acosl(-1.0L);
    for (int64_t k = 0; root && k < n; k++) {
        long double angle = turn * (long double)(2 * k <= n ? k : k - n) / (long double)n;
        root[k] = (cplx){cosl(angle), sinl(angle)};
    }
    return root;
}

/* ---- the symbol ---------------------------------------------------------------------------------------------------- */

int segment_roots_size(stn_dtype dtype) { return dtype == STN_F64 ? 256 : 2048; }

size_t segment_symbol_size(int first, bool real) { return (size_t)(first / 2 + 1) * 256 * (real ? 1 : 2); }

/* Of symmetric taps exactly real: cosines alone. */
static cplx symbol_at(const segment_axis *a, const cplx *root, int64_t length, int64_t k) {
    cplx sum = {a->symmetric ? a->weight[a->low] : 0, 0};
    for (int i = a->symmetric ? a->low + 1 : 0; i < a->count; i++) {
        const cplx r = root[((k * (i - a->low)) % length + length) % length];
        sum.re += a->weight[i] * r.re * (a->symmetric ? 2 : 1);
        sum.im += a->symmetric ? 0 : a->weight[i] * r.im;
    }
    return sum;
}

stn_status segment_symbol_make(const segment_axis *a, int first, uint64_t steps, int count, double *roots,
                               double *symbol, stn_error *error) {
    const int64_t length = 256 * (int64_t)first;
    cplx *root = roots_of(length);
    if (!root) return stn_fail_memory(error, "roots of one", (size_t)length * sizeof *root);
    for (int k = 0; k < count; k++) {
        roots[2 * k] = (double)root[k % length].re;
        roots[2 * k + 1] = -(double)root[k % length].im;
    }
    for (int p = 0; p <= first / 2; p++)
        for (int r = 0; r < 16; r++)
            for (int q = 0; q < 16; q++) {
                const int64_t k = p + first * (int64_t)(q + 16 * r);
                const cplx value = power(symbol_at(a, root, length, k), steps);
                *symbol++ = (double)(value.re / (long double)length);
                if (!a->symmetric) *symbol++ = (double)(value.im / (long double)length);
            }
    free(root);
    return STN_OK;
}

/* ---- the profile of a side's value --------------------------------------------------------------------------------- */

/* (1 - K^T) / (1 - K) at the frequency with cosine 1 - 2 s of taps a, c, a. */
static long double geometric(const segment_axis *a, uint64_t steps, long double s) {
    const long double beside = a->weight[0], middle = a->weight[1], rest = 1 - middle - 2 * beside + 4 * beside * s;
    if (rest == 0) return (long double)steps;
    if (fabsl(rest) < 0.5L) return -expm1l((long double)steps * log1pl(-rest)) / rest;
    return (1 - powl(1 - rest, (long double)steps)) / rest;
}

/* green[d]: what steps make of a source of 1 at each step, d points from it, on a circle of `size` points. */
static stn_status fill_green(const segment_axis *a, uint64_t steps, int64_t size, int64_t most, long double *green,
                             stn_error *error) {
    cplx *root = roots_of(size);
    long double *sum = malloc((size_t)(size / 2 + 1) * sizeof *sum);
    stn_status status = root && sum ? STN_OK : stn_fail_memory(error, "roots of one", (size_t)size * sizeof *root);
    const long double half_turn = acosl(-1.0L);
    for (int64_t k = 0; status == STN_OK && 2 * k <= size; k++) {
        long double s = sinl(half_turn * (long double)k / (long double)size);
        sum[k] = geometric(a, steps, s * s) * (k == 0 || 2 * k == size ? 1 : 2) / (long double)size;
    }
    for (int64_t d = 0; status == STN_OK && d <= most; d++) {
        green[d] = 0;
        for (int64_t k = 0, at = 0; 2 * k <= size; k++, at = at + d >= size ? at + d - size : at + d)
            green[d] += sum[k] * root[at].re;
    }
    free(sum);
    free(root);
    return status;
}

/* A value of 1 past the low side is a source at the point that sees it, with all its images on the circle of the extension's period. */
static stn_status fill_side(const segment_axis *a, uint64_t steps, int width, double *profile, stn_error *error) {
    const int64_t period = segment_period(a), source = a->side[0] == STN_FIXED;
    long double *green = calloc((size_t)period / 2 + 1, sizeof *green);
    if (!green) return stn_fail_memory(error, "a side's profile", (size_t)period * sizeof *green);
    stn_status status = fill_green(a, steps, period, period / 2, green, error);
    for (int64_t i = 0; i < width; i++) profile[i] = 0;
    for (int64_t at = 0; status == STN_OK && at < period; at++) {
        int sign;
        if (segment_fold(a, at, &sign) != source) continue;
        for (int64_t i = source; i < width; i++) {
            int64_t d = i > at ? i - at : at - i;
            profile[i] += (double)(sign * a->weight[0] * green[stn_min(d, period - d)]);
        }
    }
    if (source) profile[0] = 1;
    free(green);
    return status;
}

/* Far from the other side it does not matter what that is: then the line may end sooner. */
stn_status segment_profile_make(const segment_axis *axis, uint64_t steps, int width, double *profile,
                                stn_error *error) {
    for (int side = 0; side < 2; side++) {
        segment_axis a = *axis;
        memset(profile + (size_t)side * (size_t)width, 0, (size_t)width * sizeof *profile);
        if (side) a.side[0] = axis->side[1], a.side[1] = axis->side[0];
        if (a.side[0] != STN_CONSTANT && a.side[0] != STN_FIXED) continue;
        a.n = stn_min(a.n, 2 * (int64_t)width + 4);
        STN_TRY(fill_side(&a, steps, width, profile + (size_t)side * (size_t)width, error));
    }
    return STN_OK;
}
