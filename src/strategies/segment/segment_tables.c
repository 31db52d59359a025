/* Computes the twiddles, symbols and side profiles of a pass. */
#include "strategies/segment/segment_tables.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "strategies/segment/taps_dft.h"

/* ---- the symbol ------------------------------------------------------------------------------ */

static int powers_of(stn_dtype dtype) { return dtype == STN_F64 ? 1 : 4; }

/* A segment of 256 * first points with first > 16 is computed by teams_of(first) transforms of 4096
 * points, with the radix radix_of(first). */
static int teams_of(int first) { return first > 32 ? 2 : 1; }
static int radix_of(int first) { return first > 16 ? 16 : first; }

size_t segment_twiddles_size(int first, stn_dtype dtype) {
    const int radix = radix_of(first), teams = teams_of(first);
    return (size_t)(2 * powers_of(dtype) * (teams * (256 + radix + 16 * radix + 16) + (teams - 1) * 256));
}

size_t segment_symbol_size(int first, bool real) { return (size_t)(first / 2 + 1) * 256 * (real ? 1 : 2); }

/* K at frequency k. For symmetric taps it is exactly real, a sum of cosines. The root's index is
 * advanced by addition, because a division for each tap would dominate the time. */
static cplx symbol_at(const segment_axis *a, const cplx *root, int64_t length, int64_t k) {
    cplx sum = {a->symmetric ? a->weight[a->low] : 0, 0};
    const int first = a->symmetric ? a->low + 1 : 0;
    const int64_t step = (k % length + length) % length;
    int64_t at = ((step * (first - a->low)) % length + length) % length;
    for (int i = first; i < a->count; i++, at = at + step >= length ? at + step - length : at + step) {
        const cplx r = root[at];
        sum.re += a->weight[i] * r.re * (a->symmetric ? 2 : 1);
        sum.im += a->symmetric ? 0 : a->weight[i] * r.im;
    }
    return sum;
}

/* K^steps at the frequencies 0 .. length - 1, without folding; NULL: out of memory. */
static cplx *unfolded_powers(const segment_axis *a, const cplx *root, int64_t length, uint64_t steps) {
    cplx *powers = root ? malloc((size_t)length * sizeof *powers) : NULL;
    for (int64_t k = 0; powers && 2 * k <= length; k++) {
        powers[k] = power(symbol_at(a, root, length, k), steps);
        if (k && 2 * k < length) powers[length - k] = (cplx){powers[k].re, -powers[k].im};
    }
    return powers;
}

/* K^steps at the frequencies 0 .. length - 1; NULL: out of memory. Folded weights are those of one
 * period, so that K^steps is interpolated from its values at the frequencies of the period. */
static cplx *powers_at_all(const segment_axis *a, const cplx *root, int64_t length, uint64_t steps) {
    if (!a->folded) return unfolded_powers(a, root, length, steps);
    const int period = (int)segment_period(a);
    cplx *own_root = roots_of(period), *powers = unfolded_powers(a, own_root, period, steps);
    free(own_root);
    return segment_interpolate(period, (int)length, 1, 1, powers);
}

/* Writes one entry; the second half of a long entry follows `stride` values later. Returns the next
 * entry's address. */
static double *put_twiddle(const cplx *root, int64_t k, int64_t length, stn_dtype dtype, size_t stride, double *to) {
    for (int i = 0; i < powers_of(dtype); i++, k *= 2) {
        double *const at = to + 2 * (i % 2) + (i < 2 ? 0 : stride);
        at[0] = (double)root[k % length].re, at[1] = -(double)root[k % length].im;
    }
    return to + (powers_of(dtype) == 1 ? 2 : 4);
}

stn_status segment_twiddles_make(int first, stn_dtype dtype, double *twiddles, stn_error *error) {
    const int radix = radix_of(first), teams = teams_of(first);
    const int64_t twice = 2 * 256 * (int64_t)radix;
    const size_t stride = segment_twiddles_size(first, dtype) / 2;
    cplx *root = roots_of(twice);
    if (!root) return stn_fail_memory(error, "roots of one", (size_t)twice * sizeof *root);
    for (int team = 0; team < teams; team++) { /* The second team has p + 1/2 in place of p. */
        for (int column = 0; column < 256; column++)
            twiddles = put_twiddle(root, 2 * column, twice, dtype, stride, twiddles);
        for (int p = 0; p < radix; p++)
            twiddles = put_twiddle(root, 16 * (2 * p + team), twice, dtype, stride, twiddles);
        for (int i = 0; i < 16 * radix; i++)
            twiddles = put_twiddle(root, 2 * (i / 16 + radix * (i % 16)) + team, twice, dtype, stride, twiddles);
        for (int c1 = 0; c1 < 16; c1++) twiddles = put_twiddle(root, 2 * radix * c1, twice, dtype, stride, twiddles);
    }
    for (int column = 0; teams > 1 && column < 256; column++)
        twiddles = put_twiddle(root, column, twice, dtype, stride, twiddles);
    free(root);
    return STN_OK;
}

/* The frequency at index [p][r][q] of a table. */
static int64_t frequency_at(size_t place, int first) {
    const size_t p = place / 256, r = place / 16 % 16, q = place % 16;
    return (int64_t)(p + (size_t)first * (q + 16 * r));
}

stn_status segment_symbol_make(const segment_axis *a, int first, uint64_t steps, double *symbol, stn_error *error) {
    const int64_t length = 256 * (int64_t)first;
    cplx *root = roots_of(length), *powers = powers_at_all(a, root, length, steps);
    stn_status status = powers ? STN_OK : stn_fail_memory(error, "a symbol", 2 * (size_t)length * sizeof *powers);
    for (size_t place = 0; powers && place < segment_symbol_size(first, true); place++) {
        const cplx value = powers[frequency_at(place, first)];
        *symbol++ = (double)(value.re / (long double)length);
        if (!a->symmetric) *symbol++ = (double)(value.im / (long double)length);
    }
    free(root), free(powers);
    return status;
}

stn_status segment_powers_make(const segment_axis *a, int64_t length, uint64_t steps, double *powers,
                               stn_error *error) {
    cplx *root = roots_of(length), *all = powers_at_all(a, root, length, steps);
    stn_status status = all ? STN_OK : stn_fail_memory(error, "a symbol", 2 * (size_t)length * sizeof *all);
    for (int64_t k = 0; all && k < length; k++)
        powers[2 * k] = (double)all[k].re, powers[2 * k + 1] = (double)all[k].im;
    free(root), free(all);
    return status;
}

size_t segment_cosines_size(int first) { return 3 * segment_symbol_size(first, true); }

stn_status segment_cosines_make(const segment_axis *a, int first, uint64_t steps, double *symbol, stn_error *error) {
    const int64_t length = 256 * (int64_t)first;
    const size_t places = segment_symbol_size(first, true);
    cplx *root = roots_of(2 * length), *powers = powers_at_all(a, root, 2 * length, steps);
    stn_status status = powers ? STN_OK : stn_fail_memory(error, "a symbol", 4 * (size_t)length * sizeof *powers);
    for (size_t place = 0; powers && place < places; place++) {
        const int64_t k = frequency_at(place, first);
        const long double own = powers[k].re, other = powers[length - k].re,
                          even = (own + other) / 2 / (long double)length, odd = (own - other) / 2 / (long double)length;
        symbol[place] = (double)even;
        symbol[places + 2 * place] = (double)(odd * root[k].re);
        symbol[places + 2 * place + 1] = (double)(odd * root[k].im);
    }
    free(root), free(powers);
    return status;
}

size_t segment_single_size(int first, bool real) { return (size_t)teams_of(first) * 4096 * (real ? 2 : 4); }

/* a and c of multiply_real_segment at frequency k of a transform of `length` complex points. */
static void put_single(const cplx *root, const cplx *powers, int64_t length, int64_t k, cplx mixed[2]) {
    const cplx low = powers[k], high = powers[k + length];
    const long double half = 0.5L / (long double)length;
    const cplx sum = {(low.re + high.re) * half, (low.im + high.im) * half},
               difference = {(low.re - high.re) * half, (low.im - high.im) * half};
    mixed[0] = (cplx){sum.re - difference.re * root[k].im, sum.im - difference.im * root[k].im};
    mixed[1] = (cplx){difference.re * root[k].re, difference.im * root[k].re};
}

stn_status segment_single_make(const segment_axis *a, int first, uint64_t steps, double *symbol, stn_error *error) {
    const int64_t teams = teams_of(first), length = 4096 * teams;
    cplx *root = roots_of(2 * length), *powers = powers_at_all(a, root, 2 * length, steps);
    stn_status status = powers ? STN_OK : stn_fail_memory(error, "a symbol", 4 * (size_t)length * sizeof *powers);
    for (int64_t i = 0; powers && i < length; i++) {
        cplx mixed[2];
        put_single(root, powers, length, teams * frequency_at((size_t)(i % 4096), 16) + i / 4096, mixed);
        if (a->symmetric) {
            symbol[2 * i] = (double)mixed[0].re, symbol[2 * i + 1] = (double)mixed[1].re;
            continue;
        }
        for (int half = 0; half < 2; half++) {
            double *const at = symbol + 2 * (half * length + i);
            at[0] = (double)mixed[half].re, at[1] = (double)mixed[half].im;
        }
    }
    free(root), free(powers);
    return status;
}

/* ---- the profile of a side's value ----------------------------------------------------------- */

/* 1 - K at the frequency with cosine 1 - 2 s, for taps a, c, a. */
static long double rest_of(const segment_axis *a, long double s) {
    return 1 - a->weight[1] - 2 * a->weight[0] + 4 * a->weight[0] * s;
}

/* The sum 1 + K + .. + K^(T-1) = (1 - K^T) / (1 - K), from 1 - K. */
static long double geometric(uint64_t steps, long double rest) {
    if (rest == 0) return (long double)steps;
    if (fabsl(rest) < 0.5L) return -expm1l((long double)steps * log1pl(-rest)) / rest;
    return (1 - powl(1 - rest, (long double)steps)) / rest;
}

/* green[d]: Green's function; the effect at distance d of a source of 1 at each step, on a periodic
 * line of `size` points. */
static stn_status fill_green(const segment_axis *a, uint64_t steps, int64_t size, int64_t most, long double *green,
                             stn_error *error) {
    cplx *root = roots_of(size);
    long double *sum = malloc((size_t)(size / 2 + 1) * sizeof *sum);
    stn_status status = root && sum ? STN_OK : stn_fail_memory(error, "roots of one", (size_t)size * sizeof *root);
    const long double half_turn = acosl(-1.0L);
    for (int64_t k = 0; status == STN_OK && 2 * k <= size; k++) {
        long double s = sinl(half_turn * (long double)k / (long double)size);
        sum[k] = geometric(steps, rest_of(a, s * s)) * (k == 0 || 2 * k == size ? 1 : 2) / (long double)size;
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

/* A value of 1 past the low side is a source at the next point and at all its images in the period
 * of the extension. */
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

/* The line may be shortened, because the other side has no influence within the profile. */
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

/* ---- the table of a side --------------------------------------------------------------------- */

/* basis[m * width + d]: the contribution of frequency m, at depth d, to a source of 1 next to the
 * low side and at its images in the period of the extension. */
static stn_status fill_basis(const segment_axis *a, int64_t period, int width, double *basis, stn_error *error) {
    cplx *root = roots_of(period);
    if (!root) return stn_fail_memory(error, "roots of one", (size_t)period * sizeof *root);
    const int64_t source = a->side[0] == STN_FIXED;
    for (int64_t at = 0; at < period; at++) {
        int sign;
        if (segment_fold(a, at, &sign) != source) continue;
        for (int64_t m = 0; 2 * m <= period; m++)
            for (int64_t d = source; d < width; d++) {
                const long double part = root[m * ((d - at + period) % period) % period].re / (long double)period;
                basis[m * width + d] += (double)(sign * part * (m == 0 || 2 * m == period ? 1 : 2));
            }
    }
    free(root);
    return STN_OK;
}

/* Computes, for one value of the symbol along the side, the sum over all frequencies across the
 * side, at each depth d < width. */
static void sum_depths(const long double *rests, const double *basis, int64_t period, int width, long double symbol,
                       uint64_t steps, double *sum) {
    memset(sum, 0, (size_t)width * sizeof *sum);
    for (int64_t m = 0; 2 * m <= period; m++) { /* 1 - symbol (1 - rest). */
        const double factor = (double)geometric(steps, 1 - symbol + symbol * rests[m]);
        for (int d = 0; d < width; d++) sum[d] += factor * basis[m * width + d];
    }
}

/* The effect at depths d < width from a side of axis `deep` (0: at the side) of a source of 1 next
 * to the side at each step, if every later step multiplies it by a symbol along the side: for each
 * of `count` values of that symbol. For symmetric taps. Errors: out of memory. */
static stn_status make_depths(const segment_axis *deep, int side, uint64_t steps, int width, const long double *symbol,
                              size_t count, double *sums, stn_error *error) {
    segment_axis a = *deep;
    if (side) a.side[0] = deep->side[1], a.side[1] = deep->side[0];
    a.n = stn_min(a.n, 2 * (int64_t)width + 4); /* Shortened as in segment_profile_make. */
    const int64_t period = segment_period(&a), modes = period / 2 + 1;
    const long double half_turn = acosl(-1.0L);
    double *basis = calloc((size_t)modes * (size_t)width, sizeof *basis);
    long double *rests = calloc((size_t)modes, sizeof *rests);
    stn_status status = basis && rests
                            ? fill_basis(&a, period, width, basis, error)
                            : stn_fail_memory(error, "a side's table", (size_t)modes * (size_t)width * sizeof *basis);
    for (int64_t m = 0; status == STN_OK && m < modes; m++) {
        const long double s = sinl(half_turn * (long double)m / (long double)period);
        rests[m] = rest_of(&a, s * s);
    }
    for (size_t i = 0; status == STN_OK && i < count; i++)
        sum_depths(rests, basis, period, width, symbol[i], steps, sums + i * (size_t)width);
    free(basis), free(rests);
    return status;
}

stn_status segment_face_make(const segment_axis *deep, int side, const segment_axis *along, int first, uint64_t steps,
                             int width, double *table, stn_error *error) {
    const int64_t length = 256 * (int64_t)first;
    const size_t places = segment_symbol_size(first, true), all = places * (size_t)width;
    cplx *root = roots_of(length);
    long double *symbol = calloc(places, sizeof *symbol);
    double *sums = malloc(all * sizeof *sums);
    stn_status status = root && symbol && sums ? STN_OK : stn_fail_memory(error, "a side's table", all * sizeof *sums);
    for (size_t place = 0; status == STN_OK && place < places; place++)
        symbol[place] = symbol_at(along, root, length, frequency_at(place, first)).re;
    if (status == STN_OK) status = make_depths(deep, side, steps, width, symbol, places, sums, error);
    for (size_t i = 0; status == STN_OK && i < all; i++) {
        const size_t place = i / (size_t)width, d = i % (size_t)width;
        table[2 * (d / 2 * places + place) + d % 2] = sums[i] / (double)length;
    }
    free(root), free(symbol), free(sums);
    return status;
}
