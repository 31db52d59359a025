/* Cosine and sine transforms of types I to IV, with w_n = exp(-2 pi i / n):
 *
 *     II        a real FFT X of the even points, followed by the odd points in reverse order
 *               (Makhoul 1980): w_4n^k X[k] has results k and n - k as real and imaginary parts
 *     III       its inverse
 *     IV        even n: a complex FFT of n/2 points; odd n: a real FFT of n points in an order that
 *               exists since 8 and n are then coprime (Chan and Ho 1990)
 *     I         a real FFT of the symmetric (sine: antisymmetric) extension of the line
 *
 * Other sine transforms are computed as cosine transforms. Type II: the signs of the points
 * alternate, and the results are in reverse order. Types III and IV: the points are in reverse
 * order, and the signs of the results alternate. */
#include "host/fft_cosine.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"

#define ROOT_2 ((stn_fft_number)1.41421356237309504880)
#define HALF_ROOT_2 ((stn_fft_number)0.70710678118654752440)

static const int type_of[] = {[STN_DCT1] = 1, [STN_DST1] = 1, [STN_DCT2] = 2, [STN_DST2] = 2,
                              [STN_DCT3] = 3, [STN_DST3] = 3, [STN_DCT4] = 4, [STN_DST4] = 4};

/* ---- tables */

static bool is_sine(stn_transform_kind kind) {
    return kind == STN_DST1 || kind == STN_DST2 || kind == STN_DST3 || kind == STN_DST4;
}

stn_fft stn_fft_cosine_inner(const stn_fft *fft, int64_t n) {
    const int type = type_of[fft->kind];
    stn_fft inner = *fft;
    inner.kind = type == 3 ? STN_C2R : type == 4 && n % 2 == 0 ? STN_C2C : STN_R2C;
    inner.inverse = type == 3;
    const int64_t length = type == 1               ? (is_sine(fft->kind) ? 2 * (n + 1) : 2 * (n - 1))
                           : inner.kind == STN_C2C ? n / 2
                                                   : n;
    inner.in.real = inner.kind == STN_R2C, inner.out.real = inner.kind == STN_C2R;
    inner.n[2] = length;
    inner.in.n[2] = inner.kind == STN_C2R ? length / 2 + 1 : length;
    inner.out.n[2] = inner.kind == STN_R2C ? length / 2 + 1 : length;
    inner.in.stride[2] = inner.out.stride[2] = 1;
    return inner;
}

static void add_piece(stn_fft_cosine *c, int64_t first, int64_t end, int64_t at, int64_t step, stn_fft_number factor) {
    if (first < end) c->piece[c->pieces++] = (stn_fft_piece){first, end - first, at, step, factor};
}

/* Type IV of odd n: number m is point p = n/2 + 4m of the line's extension, whose periods of 4n
 * points are the line, minus the reversed line, minus the line, and the reversed line. */
static void add_odd_pieces(stn_fft_cosine *c) {
    const int64_t n = c->n;
    for (int64_t part = 0, first = 0; part < 5; part++) {
        const int64_t end = stn_min(stn_div_up((part + 1) * n - n / 2, 4), n), p = n / 2 + 4 * first - part * n;
        const bool reversed = (part % 2 != 0) != c->sine;
        add_piece(c, first, end, reversed ? n - 1 - p : p, reversed ? -4 : 4, part == 1 || part == 2 ? -1 : 1);
        first = stn_max(first, end);
    }
}

static void make_pieces(stn_fft_cosine *c) {
    const int64_t n = c->n, evens = (n + 1) / 2;
    const stn_fft_number ends = c->orthogonal ? ROOT_2 : 1;
    if (c->type == 1 && c->sine) {
        add_piece(c, 0, 1, 0, 1, 0);
        add_piece(c, 1, n + 1, 0, 1, 1);
        add_piece(c, n + 1, n + 2, 0, 1, 0);
        add_piece(c, n + 2, c->length, n - 1, -1, -1);
    } else if (c->type == 1) {
        add_piece(c, 0, 1, 0, 1, ends);
        add_piece(c, 1, n - 1, 1, 1, 1);
        add_piece(c, n - 1, n, n - 1, 1, ends);
        add_piece(c, n, c->length, n - 2, -1, 1);
    } else if (c->type == 4) {
        if (!c->is_complex) add_odd_pieces(c);
    } else {
        add_piece(c, 0, evens, 0, 2, 1);
        add_piece(c, evens, n, 2 * (n - 1 - evens) + 1, -2, c->sine ? -1 : 1);
    }
}

static bool make_twiddles(stn_fft_cosine *c) {
    const int64_t n = c->n;
    if (!c->is_complex && c->length % 2 == 0 && !(c->half_turns = stn_fft_twiddles(c->length / 4 + 1, c->length)))
        return false;
    if (c->type == 1 || (c->type == 4 && !c->is_complex)) return true;
    c->twiddles = c->is_complex ? stn_fft_twiddles_from(0.125, n / 2, 2 * n) : stn_fft_twiddles(n / 2 + 1, 4 * n);
    if (!c->twiddles) return false;
    for (int64_t k = 0; c->type == 3 && k <= n / 2; k++) c->twiddles[2 * k + 1] *= -1;
    return true;
}

stn_status stn_fft_cosine_create(const stn_fft *fft, int64_t n, bool with_line, stn_fft_cosine **made,
                                 stn_error *error) {
    *made = NULL;
    stn_fft_cosine *c = calloc(1, sizeof *c);
    if (!c) return stn_fail_memory(error, "a transform", sizeof *c);
    const stn_fft inner = stn_fft_cosine_inner(fft, n);
    c->type = type_of[fft->kind], c->sine = is_sine(fft->kind), c->orthogonal = fft->orthogonal, c->n = n;
    c->is_complex = inner.kind == STN_C2C, c->length = inner.n[2];
    c->before = inner.in.n[2];
    c->after = c->type == 1 || (c->type == 4 && !c->is_complex) ? n : inner.out.n[2];
    make_pieces(c);
    stn_status status = STN_OK;
    if (!make_twiddles(c))
        status = stn_fail_memory(error, "the tables of a transform", (size_t)n * sizeof *c->twiddles);
    if (status == STN_OK && with_line)
        status = stn_fft_line_create(c->half_turns ? c->length / 2 : c->length, &c->line, error);
    if (status != STN_OK) return stn_fft_cosine_destroy(c), status;
    *made = c;
    return STN_OK;
}

void stn_fft_cosine_destroy(stn_fft_cosine *c) {
    if (!c) return;
    stn_fft_line_destroy(c->line);
    free(c->twiddles);
    free(c->half_turns);
    free(c);
}

int64_t stn_fft_cosine_capacity(const stn_fft_cosine *c) {
    return stn_max(stn_max(stn_fft_line_capacity(c->line), c->n), c->half_turns ? c->length / 2 + 1 : c->length);
}

/* ---- steps before and after the inner transform */

/* Copies numbers begin, ..., end - 1 of the inner transform from points of the line, or to them. */
static void copy_pieces(const stn_fft_cosine *c, const stn_fft_kernels *kernels, stn_fft_number *line, int64_t step,
                        const stn_fft_inner *inner, int64_t begin, int64_t end, int64_t lanes) {
    const int parts = inner->paired ? 2 : 1;
    for (int i = 0; i < c->pieces; i++) {
        const stn_fft_piece *p = &c->piece[i];
        const int64_t first = stn_max(begin, p->first), last = stn_min(end, p->first + p->count);
        for (int64_t m = first; m < stn_min(last, first + parts); m++) {
            stn_fft_number *number = (m % parts ? inner->z.im : inner->z.re) + m / parts * inner->step;
            stn_fft_number *point = line + (p->at + (m - p->first) * p->step) * step;
            const int64_t count = stn_div_up(last - m, parts), point_step = parts * p->step * step;
            if (c->type == 3)
                kernels->copy_rows(point, point_step, number, inner->step, p->factor, count, lanes);
            else if (p->factor != 0)
                kernels->copy_rows(number, inner->step, point, point_step, p->factor, count, lanes);
            else
                memset(number, 0, (size_t)lanes * sizeof *number);
        }
    }
}

void stn_fft_cosine_before(const stn_fft_cosine *c, const stn_fft_kernels *kernels, const stn_fft_number *line,
                           int64_t step, const stn_fft_inner *inner, int64_t begin, int64_t end, int64_t lanes) {
    const int64_t n = c->n, z = inner->step;
    const stn_planes to = {inner->z.re + begin * z, inner->z.im + begin * z};
    if (c->is_complex) {
        const stn_fft_number *even = line + 2 * begin * step, *odd = line + (n - 1 - 2 * begin) * step;
        kernels->join_rows(to, z, c->sine ? odd : even, (c->sine ? -2 : 2) * step, 1, c->sine ? even : odd,
                           (c->sine ? 2 : -2) * step, 1, c->twiddles + 2 * begin, end - begin, lanes);
        return;
    }
    if (c->type != 3) {
        copy_pieces(c, kernels, (stn_fft_number *)line, step, inner, begin, end, lanes);
        return;
    }
    const stn_fft_number *start = c->sine ? line + (n - 1) * step : line;
    const int64_t along = c->sine ? -step : step, k = stn_max(begin, 1);
    if (begin == 0) kernels->join_rows(to, z, start, 0, c->orthogonal ? ROOT_2 : 1, NULL, 0, 0, c->twiddles, 1, lanes);
    if (k < end)
        kernels->join_rows((stn_planes){inner->z.re + k * z, inner->z.im + k * z}, z, start + k * along, along, 1,
                           start + (n - k) * along, -along, -1, c->twiddles + 2 * k, end - k, lanes);
}

/* Results of type II from points begin, ..., end - 1 of the spectrum. Points 0 and n/2 have one
 * result each. */
static void after_second(const stn_fft_cosine *c, const stn_fft_kernels *kernels, const stn_fft_inner *inner,
                         stn_fft_number *line, int64_t step, int64_t begin, int64_t end, int64_t lanes) {
    const int64_t n = c->n, z = inner->step, middle = (n + 1) / 2;
    stn_fft_number *start = c->sine ? line + (n - 1) * step : line;
    const int64_t along = c->sine ? -step : step, k = stn_max(begin, 1), pairs = stn_min(end, middle) - k;
    if (begin == 0)
        kernels->split_rows(inner->z, z, start, 0, c->orthogonal ? ROOT_2 : 2, NULL, 0, 0, c->twiddles, 1, lanes);
    if (pairs > 0)
        kernels->split_rows((stn_planes){inner->z.re + k * z, inner->z.im + k * z}, z, start + k * along, along, 2,
                            start + (n - k) * along, -along, -2, c->twiddles + 2 * k, pairs, lanes);
    if (n % 2 == 0 && end == middle + 1)
        kernels->split_rows((stn_planes){inner->z.re + middle * z, inner->z.im + middle * z}, z, start + middle * along,
                            0, 2, NULL, 0, 0, c->twiddles + 2 * middle, 1, lanes);
}

/* Points o = begin, ..., end - 1 of type IV of odd n: sqrt(2) (s[o + 1] Re X[k] +- s[o] Im X[k]),
 * with k = k0 + o * k_step and signs s[o] of period 4: + + - -. */
static void combine(const stn_fft_cosine *c, const stn_fft_kernels *kernels, const stn_fft_inner *inner,
                    stn_fft_number *line, int64_t step, int64_t begin, int64_t end, int64_t k0, int64_t k_step,
                    bool minus, int64_t lanes) {
    const int64_t z = inner->step;
    for (int64_t o = begin; o < stn_min(begin + 4, end); o++) {
        const stn_fft_number scale = c->sine && o % 2 ? -ROOT_2 : ROOT_2, im_scale = minus ? -scale : scale;
        const stn_planes from = {inner->z.re + (k0 + o * k_step) * z, inner->z.im + (k0 + o * k_step) * z};
        kernels->combine_rows(line + o * step, 4 * step, from, 4 * k_step * z, (o + 1) & 2 ? -scale : scale,
                              o & 2 ? -im_scale : im_scale, stn_div_up(end - o, 4), lanes);
    }
}

static void after_odd_fourth(const stn_fft_cosine *c, const stn_fft_kernels *kernels, const stn_fft_inner *inner,
                             stn_fft_number *line, int64_t step, int64_t begin, int64_t end, int64_t lanes) {
    const int64_t n = c->n, half = n / 2;
    const struct {
        int64_t end, k0, k_step;
    } part[] = {{(half + 1) / 2, 1, 2}, {half, 2 * half, -2}, {half + half / 2 + 1, -2 * half, 2}, {n, 2 * n - 1, -2}};
    for (int i = 0; i < 4; i++) {
        const int64_t first = stn_max(begin, i ? part[i - 1].end : 0), last = stn_min(end, part[i].end);
        combine(c, kernels, inner, line, step, first, last, part[i].k0, part[i].k_step, i % 2, lanes);
    }
}

/* Results of type I, of which the first and the last may have another factor. */
static void after_first(const stn_fft_cosine *c, const stn_fft_kernels *kernels, const stn_fft_inner *inner,
                        stn_fft_number *line, int64_t step, int64_t begin, int64_t end, int64_t lanes) {
    const int64_t z = inner->step;
    const stn_fft_number *from = c->sine ? inner->z.im + z : inner->z.re;
    kernels->copy_rows(line + begin * step, step, from + begin * z, z, c->sine ? -1 : 1, end - begin, lanes);
    if (c->sine || !c->orthogonal) return;
    for (int64_t k = 0; k < c->n; k += c->n - 1)
        if (k >= begin && k < end) kernels->copy_rows(line + k * step, 0, from + k * z, 0, HALF_ROOT_2, 1, lanes);
}

void stn_fft_cosine_after(const stn_fft_cosine *c, const stn_fft_kernels *kernels, const stn_fft_inner *inner,
                          stn_fft_number *line, int64_t step, int64_t begin, int64_t end, int64_t lanes) {
    if (c->is_complex) {
        const stn_planes from = {inner->z.re + begin * inner->step, inner->z.im + begin * inner->step};
        kernels->split_rows(from, inner->step, line + 2 * begin * step, 2 * step, 2,
                            line + (c->n - 1 - 2 * begin) * step, -2 * step, c->sine ? 2 : -2, c->twiddles + 2 * begin,
                            end - begin, lanes);
    } else if (c->type == 1) {
        after_first(c, kernels, inner, line, step, begin, end, lanes);
    } else if (c->type == 2) {
        after_second(c, kernels, inner, line, step, begin, end, lanes);
    } else if (c->type == 3) {
        copy_pieces(c, kernels, line, step, inner, begin, end, lanes);
    } else {
        after_odd_fourth(c, kernels, inner, line, step, begin, end, lanes);
    }
}

/* ---- the transform of lines in planes */

static stn_planes swapped(stn_planes a) { return (stn_planes){a.im, a.re}; }

/* Fills in the second half of a spectrum, in which points k and n - k are conjugates. */
static void complete(stn_planes x, int64_t n, int64_t lanes) {
    for (int64_t k = n / 2 + 1; k < n; k++)
        for (int64_t l = 0; l < lanes; l++) {
            x.re[k * lanes + l] = x.re[(n - k) * lanes + l];
            x.im[k * lanes + l] = -x.im[(n - k) * lanes + l];
        }
}

stn_planes stn_fft_cosine_run(const stn_fft_cosine *c, const stn_fft_kernels *kernels, stn_planes x, stn_planes other,
                              int64_t lanes) {
    const int64_t length = c->length, h = length / 2;
    const bool paired = c->half_turns, inverse = c->type == 3, real = !paired && !inverse && !c->is_complex;
    stn_fft_inner inner = {.z = other, .step = lanes, .paired = paired};
    if (real) memset(other.im, 0, (size_t)(length * lanes) * sizeof *other.im);
    stn_fft_cosine_before(c, kernels, x.re, lanes, &inner, 0, c->before, lanes);
    stn_planes from = other, to = x;
    if (inverse && paired) kernels->from_half(from, h, c->half_turns, lanes);
    if (inverse && !paired) complete(from, length, lanes);
    if (inverse) from = swapped(from), to = swapped(to);
    inner.z = (real ? stn_fft_line_run_real : stn_fft_line_run)(c->line, kernels, from, to, lanes);
    if (inverse) inner.z = swapped(inner.z);
    if (!inverse && paired) kernels->to_half(inner.z, h, c->half_turns, lanes);
    const stn_planes result = inner.z.re == x.re ? other : x;
    stn_fft_cosine_after(c, kernels, &inner, result.re, lanes, 0, c->after, lanes);
    return result;
}
