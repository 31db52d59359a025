/* The inner loops of host FFTs, each written once and vectorised by the compiler for each
 * instruction set; see fft_kernels.h. */
#include "host/fft_kernels.h"

#include <stdbool.h>
#include <stddef.h>

#include "host/fft_load_store.h"

typedef struct number {
    stn_fft_number re, im;
} number;

INLINE number add(number a, number b) { return (number){a.re + b.re, a.im + b.im}; }
INLINE number sub(number a, number b) { return (number){a.re - b.re, a.im - b.im}; }
INLINE number minus_i(number a) { return (number){a.im, -a.re}; }
INLINE number mul(number a, stn_fft_number re, stn_fft_number im) {
    return (number){a.re * re - a.im * im, a.re * im + a.im * re};
}

/* ---- stages: `width` = s * lanes contiguous numbers share a twiddle factor */

#define AT(k)                                                                                                          \
    (number) { xr[i + (k)*far], xi[i + (k)*far] }
/* Stores output j of a butterfly, times its twiddle factor except in the last stage. */
#define PUT(j, value)                                                                                                  \
    {                                                                                                                  \
        const number v = (value), t = twiddled && (j) ? mul(v, w[2 * (j)-2], w[2 * (j)-1]) : v;                        \
        yr[i + (j)*width] = t.re, yi[i + (j)*width] = t.im;                                                            \
    }
#define EACH_BUTTERFLY(R, ...)                                                                                         \
    const int64_t far = g->m * width;                                                                                  \
    for (int64_t p = 0; p < g->m; p++) {                                                                               \
        const stn_fft_number *restrict xr = x.re + p * width, *restrict xi = x.im + p * width;                         \
        stn_fft_number *restrict yr = y.re + (R)*p * width, *restrict yi = y.im + (R)*p * width;                       \
        const stn_fft_number *w = g->twiddles + p * 2 * ((R)-1);                                                       \
        (void)w;                                                                                                       \
        INDEPENDENT for (int64_t i = 0; i < width; i++) __VA_ARGS__                                                    \
    }

INLINE void radix_2(const stn_fft_stage *g, stn_planes x, stn_planes y, const int64_t width,
                    const bool twiddled){EACH_BUTTERFLY(2,
                                                        {
                                                            const number a = AT(0), b = AT(1);
                                                            PUT(0, add(a, b));
                                                            PUT(1, sub(a, b));
                                                        })}

INLINE void radix_3(const stn_fft_stage *g, stn_planes x, stn_planes y, const int64_t width, const bool twiddled) {
    const stn_fft_number half = 0.5, root = 0.86602540378443864676;
    EACH_BUTTERFLY(3, {
        const number a = AT(0), b = AT(1), c = AT(2), sum = add(b, c), d = sub(b, c);
        const number mid = {a.re - half * sum.re, a.im - half * sum.im};
        const number side = {root * d.im, -root * d.re};
        PUT(0, add(a, sum));
        PUT(1, add(mid, side));
        PUT(2, sub(mid, side));
    })
}

INLINE void radix_4(const stn_fft_stage *g, stn_planes x, stn_planes y, const int64_t width, const bool twiddled){
    EACH_BUTTERFLY(4,
                   {
                       const number a = AT(0), b = AT(1), c = AT(2), d = AT(3);
                       const number ac = add(a, c), bd = add(b, d), a_c = sub(a, c), b_d = minus_i(sub(b, d));
                       PUT(0, add(ac, bd));
                       PUT(1, add(a_c, b_d));
                       PUT(2, sub(ac, bd));
                       PUT(3, sub(a_c, b_d));
                   })}

INLINE void radix_5(const stn_fft_stage *g, stn_planes x, stn_planes y, const int64_t width, const bool twiddled) {
    const stn_fft_number c1 = 0.30901699437494742410, c2 = -0.80901699437494742410;
    const stn_fft_number s1 = 0.95105651629515357212, s2 = 0.58778525229247312917;
    EACH_BUTTERFLY(5, {
        const number a = AT(0), b = AT(1), c = AT(2), d = AT(3), e = AT(4);
        const number be = add(b, e), cd = add(c, d), b_e = minus_i(sub(b, e)), c_d = minus_i(sub(c, d));
        const number even1 = {a.re + c1 * be.re + c2 * cd.re, a.im + c1 * be.im + c2 * cd.im};
        const number even2 = {a.re + c2 * be.re + c1 * cd.re, a.im + c2 * be.im + c1 * cd.im};
        const number odd1 = {s1 * b_e.re + s2 * c_d.re, s1 * b_e.im + s2 * c_d.im};
        const number odd2 = {s2 * b_e.re - s1 * c_d.re, s2 * b_e.im - s1 * c_d.im};
        PUT(0, add(a, add(be, cd)));
        PUT(1, add(even1, odd1));
        PUT(2, add(even2, odd2));
        PUT(3, sub(even2, odd2));
        PUT(4, sub(even1, odd1));
    })
}

/* Two butterflies of radix 4 and four of radix 2, with eighth roots of unity in between. */
INLINE void radix_8(const stn_fft_stage *g, stn_planes x, stn_planes y, const int64_t width, const bool twiddled) {
    const stn_fft_number h = 0.70710678118654752440;
    EACH_BUTTERFLY(8, {
        const number a0 = AT(0), a4 = AT(4), a2 = AT(2), a6 = AT(6), a1 = AT(1), a5 = AT(5), a3 = AT(3), a7 = AT(7);
        const number b0 = add(a0, a4), b1 = sub(a0, a4), b2 = add(a2, a6), b3 = minus_i(sub(a2, a6));
        const number e0 = add(b0, b2), e2 = sub(b0, b2), e1 = add(b1, b3), e3 = sub(b1, b3);
        const number c0 = add(a1, a5), c1 = sub(a1, a5), c2 = add(a3, a7), c3 = minus_i(sub(a3, a7));
        const number f0 = add(c0, c2), f2 = minus_i(sub(c0, c2)), d1 = add(c1, c3), d3 = sub(c1, c3);
        const number f1 = {h * (d1.re + d1.im), h * (d1.im - d1.re)};
        const number f3 = {h * (d3.im - d3.re), -h * (d3.re + d3.im)};
        PUT(0, add(e0, f0));
        PUT(1, add(e1, f1));
        PUT(2, add(e2, f2));
        PUT(3, add(e3, f3));
        PUT(4, sub(e0, f0));
        PUT(5, sub(e1, f1));
        PUT(6, sub(e2, f2));
        PUT(7, sub(e3, f3));
    })
}

/* Any odd radix r: with a[n] = x[n] + x[r - n] and d[n] = x[n] - x[r - n], outputs j and r - j are
 *     x[0] + sum over n of a[n] cos(2 pi n j / r)  -+  i sum over n of d[n] sin(2 pi n j / r)
 * Inputs n begin at x + n * far, outputs j at y + j * width; w has twiddle factors from output 1
 * on. A butterfly transforms a vector of numbers, since compilers would vectorise the sums. */
#define DEFINE_ODD_BUTTERFLY(name, word, in_memory)                                                                    \
    INLINE void name(stn_planes x, stn_planes y, const stn_fft_number *w, const stn_fft_number *circle, int64_t far,   \
                     int64_t width, int r, const bool real) {                                                          \
        enum { H = STN_FFT_LARGEST_RADIX / 2 + 1 };                                                                    \
        word ar[H], ai[H], dr[H], di[H], sum_re = *(const in_memory *)x.re, sum_im = {0};                              \
        if (!real) sum_im = *(const in_memory *)x.im;                                                                  \
        const word first_re = sum_re, first_im = sum_im;                                                               \
        for (int n = 1; n <= r / 2; n++) {                                                                             \
            const word lr = *(const in_memory *)(x.re + n * far), hr = *(const in_memory *)(x.re + (r - n) * far);     \
            ar[n] = lr + hr, dr[n] = lr - hr;                                                                          \
            sum_re += ar[n];                                                                                           \
            if (real) continue;                                                                                        \
            const word li = *(const in_memory *)(x.im + n * far), hi = *(const in_memory *)(x.im + (r - n) * far);     \
            ai[n] = li + hi, di[n] = li - hi;                                                                          \
            sum_im += ai[n];                                                                                           \
        }                                                                                                              \
        *(in_memory *)y.re = sum_re, *(in_memory *)y.im = sum_im;                                                      \
        for (int j = 1; j <= r / 2; j++) {                                                                             \
            word er = first_re, ei = first_im, odd_re = {0}, odd_im = {0};                                             \
            for (int n = 1, angle = j; n <= r / 2; n++, angle = angle + j < r ? angle + j : angle + j - r) {           \
                const stn_fft_number c = circle[2 * angle], s = -circle[2 * angle + 1];                                \
                er += c * ar[n], odd_re += s * dr[n];                                                                  \
                if (!real) ei += c * ai[n], odd_im += s * di[n];                                                       \
            }                                                                                                          \
            const word low_re = er + odd_im, low_im = ei - odd_re, high_re = er - odd_im, high_im = ei + odd_re;       \
            const stn_fft_number *u = w + 2 * (j - 1), *v = w + 2 * (r - j - 1);                                       \
            *(in_memory *)(y.re + j * width) = low_re * u[0] - low_im * u[1];                                          \
            *(in_memory *)(y.im + j * width) = low_re * u[1] + low_im * u[0];                                          \
            *(in_memory *)(y.re + (r - j) * width) = high_re * v[0] - high_im * v[1];                                  \
            *(in_memory *)(y.im + (r - j) * width) = high_re * v[1] + high_im * v[0];                                  \
        }                                                                                                              \
    }
typedef stn_fft_number wide __attribute__((vector_size(64)));
typedef stn_fft_number wide_unaligned __attribute__((vector_size(64), aligned(sizeof(stn_fft_number))));
DEFINE_ODD_BUTTERFLY(odd_butterfly_wide, wide, wide_unaligned)
DEFINE_ODD_BUTTERFLY(odd_butterfly_vector, vector, unaligned)
DEFINE_ODD_BUTTERFLY(odd_butterfly_number, stn_fft_number, stn_fft_number)

/* The last butterfly may repeat some numbers of the one before it, so that all are vectors. */
#define EACH_ODD_BUTTERFLY(butterfly, lanes)                                                                           \
    for (int64_t p = 0; p < g->m; p++)                                                                                 \
        for (int64_t next = 0; next < width; next += (lanes)) {                                                        \
            const int64_t i = next + (lanes) > width ? width - (lanes) : next, at = p * width + i;                     \
            const int64_t to = g->radix * p * width + i;                                                               \
            butterfly((stn_planes){x.re + at, x.im + at}, (stn_planes){y.re + to, y.im + to},                          \
                      g->twiddles + p * 2 * (g->radix - 1), g->circle, g->m * width, width, g->radix, real);           \
        }

INLINE void radix_odd(const stn_fft_stage *g, stn_planes x, stn_planes y, const int64_t width, const bool real) {
    if (width >= STN_FFT_LANES)
        EACH_ODD_BUTTERFLY(odd_butterfly_wide, STN_FFT_LANES)
    else if (width >= V)
        EACH_ODD_BUTTERFLY(odd_butterfly_vector, V)
    else
        EACH_ODD_BUTTERFLY(odd_butterfly_number, 1)
}

/* Makes the widths of the first stage compile-time constants. */
#define BY_WIDTH(kernel)                                                                                               \
    if (width == STN_FFT_LANES)                                                                                        \
        kernel(g, x, y, STN_FFT_LANES, true);                                                                          \
    else if (width == STN_FFT_LANES / 2)                                                                               \
        kernel(g, x, y, STN_FFT_LANES / 2, true);                                                                      \
    else if (g->m == 1)                                                                                                \
        kernel(g, x, y, width, false);                                                                                 \
    else                                                                                                               \
        kernel(g, x, y, width, true);

INLINE void stage(const stn_fft_stage *g, stn_planes x, stn_planes y, int64_t lanes, const bool real) {
    const int64_t width = g->s * lanes;
    if (g->radix == 8) {
        BY_WIDTH(radix_8)
    } else if (g->radix == 4) {
        BY_WIDTH(radix_4)
    } else if (g->radix == 5) {
        BY_WIDTH(radix_5)
    } else if (g->radix == 3) {
        BY_WIDTH(radix_3)
    } else if (g->radix == 2) {
        BY_WIDTH(radix_2)
    } else {
        radix_odd(g, x, y, width, real);
    }
}

/* ---- points */

/* Explicit vectors if lanes fill them, because compilers do not see that all lanes have the same
 * twiddle factor. */
#define EACH_VECTOR(l) for (int64_t l = 0; lanes % V == 0 && l < lanes; l += V)
#define EACH_OTHER(l) for (int64_t l = 0; lanes % V != 0 && l < lanes; l++)

INLINE void times_of(stn_planes x, stn_planes y, const stn_fft_number *table, int64_t count, const int64_t lanes) {
    for (int64_t k = 0; k < count; k++) {
        const stn_fft_number wr = table[2 * k], wi = table[2 * k + 1];
        EACH_VECTOR(l) {
            const int64_t at = k * lanes + l;
            const vector re = UNALIGNED(x.re + at), im = UNALIGNED(x.im + at);
            UNALIGNED(y.re + at) = re * wr - im * wi;
            UNALIGNED(y.im + at) = re * wi + im * wr;
        }
        EACH_OTHER(l) {
            const number t = mul((number){x.re[k * lanes + l], x.im[k * lanes + l]}, wr, wi);
            y.re[k * lanes + l] = t.re, y.im[k * lanes + l] = t.im;
        }
    }
}

INLINE void twiddle_of(stn_planes x, const stn_fft_number *coarse, stn_planes fine, int64_t count,
                       const int64_t lanes) {
    for (int64_t k = 0; k < count; k++) {
        const stn_fft_number cr = coarse[2 * k], ci = coarse[2 * k + 1];
        EACH_VECTOR(l) {
            const int64_t at = k * lanes + l;
            const vector re = UNALIGNED(x.re + at), im = UNALIGNED(x.im + at);
            const vector fr = UNALIGNED(fine.re + at), fi = UNALIGNED(fine.im + at);
            const vector wr = fr * cr - fi * ci, wi = fr * ci + fi * cr;
            UNALIGNED(x.re + at) = re * wr - im * wi;
            UNALIGNED(x.im + at) = re * wi + im * wr;
        }
        EACH_OTHER(l) {
            const int64_t at = k * lanes + l;
            const number w = mul((number){fine.re[at], fine.im[at]}, cr, ci);
            const number t = mul((number){x.re[at], x.im[at]}, w.re, w.im);
            x.re[at] = t.re, x.im[at] = t.im;
        }
    }
}

INLINE stn_fft_number magnitude_of(stn_fft_number a) {
    return sizeof a == sizeof(float) ? (stn_fft_number)__builtin_fabsf((float)a) : (stn_fft_number)__builtin_fabs(a);
}
INLINE stn_fft_number larger(stn_fft_number a, stn_fft_number b) { return a > b ? a : b; }

/* The largest of four points is found in registers before it is compared with `most`, which the
 * compiler keeps in memory. */
INLINE void largest_by(stn_planes x, int64_t count, stn_fft_number most[STN_FFT_LANES], const int64_t lanes) {
    int64_t k = 0;
    for (; k + 4 <= count; k += 4) EACH_LANE(l) {
            const stn_fft_number *re = x.re + k * lanes + l, *im = x.im + k * lanes + l;
            const stn_fft_number a = larger(magnitude_of(re[0]), larger(magnitude_of(im[0]), 0));
            const stn_fft_number b = larger(magnitude_of(re[lanes]), larger(magnitude_of(im[lanes]), 0));
            const stn_fft_number c = larger(magnitude_of(re[2 * lanes]), larger(magnitude_of(im[2 * lanes]), 0));
            const stn_fft_number d = larger(magnitude_of(re[3 * lanes]), larger(magnitude_of(im[3 * lanes]), 0));
            most[l] = larger(larger(larger(a, b), larger(c, d)), most[l]);
        }
    for (; k < count; k++) EACH_LANE(l) {
            const stn_fft_number re = magnitude_of(x.re[k * lanes + l]), im = magnitude_of(x.im[k * lanes + l]);
            most[l] = larger(re, larger(im, most[l]));
        }
}

INLINE void largest_of(stn_planes x, int64_t count, stn_fft_number *magnitude, const int64_t lanes) {
    stn_fft_number most[STN_FFT_LANES] = {0};
    if (lanes == 1) { /* treats contiguous points as lanes */
        const int64_t rows = count / STN_FFT_LANES, rest = rows * STN_FFT_LANES;
        largest_by(x, rows, most, STN_FFT_LANES);
        largest_by((stn_planes){x.re + rest, x.im + rest}, count - rest, most, 1);
        for (int l = 1; l < STN_FFT_LANES; l++) most[0] = most[l] > most[0] ? most[l] : most[0];
    } else {
        largest_by(x, count, most, lanes);
    }
    for (int64_t l = 0; l < lanes; l++) magnitude[l] = most[l];
}

/* Points k and h - k: A = Z[k], B = Z*[h - k], w = exp(-pi i k / h), Z[h] = Z[0];
 *     to_half     X[k] = (A + B - i w (A - B)) / 2     X[h - k] = (A + B + i w (A - B))* / 2
 *     from_half   Z[k] = A + B + i w* (A - B)          Z[h - k] = (A + B - i w* (A - B))*
 *                 with A = X[k], B = X*[h - k] */
INLINE void halves(stn_planes z, int64_t h, const stn_fft_number *twiddles, const int64_t lanes, const bool to,
                   int64_t from, int64_t until, const bool ends) {
    for (int64_t k = from; k < until; k++) {
        stn_fft_number *lr = z.re + k * lanes, *li = z.im + k * lanes, *hr = z.re + (h - k) * lanes,
                       *hi = z.im + (h - k) * lanes;
        const stn_fft_number wr = twiddles[2 * k], wi = to ? twiddles[2 * k + 1] : -twiddles[2 * k + 1],
                             f = to ? 0.5 : 1;
        const stn_fft_number sign = to ? 1 : -1;
        for (int64_t l = 0; lanes % V == 0 && !ends && l < lanes; l += V) {
            const vector ar = UNALIGNED(lr + l), ai = UNALIGNED(li + l), br = UNALIGNED(hr + l),
                         bi = -UNALIGNED(hi + l);
            const vector dr = ar - br, di = ai - bi, re = sign * wr * dr, im = sign * wi * dr;
            const vector turn_re = im + sign * wr * di, turn_im = sign * wi * di - re;
            UNALIGNED(lr + l) = f * (ar + br + turn_re), UNALIGNED(li + l) = f * (ai + bi + turn_im);
            UNALIGNED(hr + l) = f * (ar + br - turn_re), UNALIGNED(hi + l) = -f * (ai + bi - turn_im);
        }
        for (int64_t l = 0; (lanes % V != 0 || ends) && l < lanes; l++) {
            const number a = {lr[l], ends && !to ? 0 : li[l]};
            const number b = {to && ends ? lr[l] : hr[l], to && ends ? -li[l] : ends ? 0 : -hi[l]};
            const number sum = add(a, b), rotated = minus_i(mul(sub(a, b), sign * wr, sign * wi));
            const number low = add(sum, rotated), high = sub(sum, rotated);
            lr[l] = f * low.re, li[l] = f * low.im;
            if (to || !ends) hr[l] = f * high.re, hi[l] = -f * high.im;
        }
    }
}

/* ---- rows, for cosine and sine transforms */

/* Whole vectors of a row, then its other numbers. */
#define EACH_ROW_VECTOR(l) for (int64_t l = 0; l + V <= lanes; l += V)
#define EACH_ROW_NUMBER(l) INDEPENDENT for (int64_t l = lanes - lanes % V; l < lanes; l++)

INLINE void copy_rows_of(stn_fft_number *to, int64_t to_step, const stn_fft_number *from, int64_t from_step,
                         stn_fft_number factor, int64_t count, const int64_t lanes) {
    INDEPENDENT for (int64_t k = 0; k < count; k++) {
        EACH_ROW_VECTOR(l) UNALIGNED(to + k * to_step + l) = factor * UNALIGNED_CONST(from + k * from_step + l);
        EACH_ROW_NUMBER(l) to[k * to_step + l] = factor * from[k * from_step + l];
    }
}

INLINE void join_rows_of(stn_planes z, int64_t z_step, const stn_fft_number *a, int64_t a_step, stn_fft_number factor,
                         const stn_fft_number *b, int64_t b_step, stn_fft_number b_factor, const stn_fft_number *table,
                         int64_t count, const int64_t lanes) {
    INDEPENDENT for (int64_t k = 0; k < count; k++) {
        const stn_fft_number wr = table[2 * k], wi = table[2 * k + 1];
        stn_fft_number *zr = z.re + k * z_step, *zi = z.im + k * z_step;
        EACH_ROW_VECTOR(l) {
            const vector re = factor * UNALIGNED_CONST(a + k * a_step + l);
            const vector im = b ? b_factor * UNALIGNED_CONST(b + k * b_step + l) : (vector){0};
            UNALIGNED(zr + l) = re * wr - im * wi, UNALIGNED(zi + l) = re * wi + im * wr;
        }
        EACH_ROW_NUMBER(l) {
            const number v = {factor * a[k * a_step + l], b ? b_factor * b[k * b_step + l] : 0}, t = mul(v, wr, wi);
            z.re[k * z_step + l] = t.re, z.im[k * z_step + l] = t.im;
        }
    }
}

INLINE void split_rows_of(stn_planes z, int64_t z_step, stn_fft_number *a, int64_t a_step, stn_fft_number factor,
                          stn_fft_number *b, int64_t b_step, stn_fft_number b_factor, const stn_fft_number *table,
                          int64_t count, const int64_t lanes) {
    INDEPENDENT for (int64_t k = 0; k < count; k++) {
        const stn_fft_number wr = table[2 * k], wi = table[2 * k + 1];
        const stn_fft_number *zr = z.re + k * z_step, *zi = z.im + k * z_step;
        EACH_ROW_VECTOR(l) {
            const vector re = UNALIGNED_CONST(zr + l), im = UNALIGNED_CONST(zi + l);
            UNALIGNED(a + k * a_step + l) = factor * (re * wr - im * wi);
            if (b) UNALIGNED(b + k * b_step + l) = b_factor * (re * wi + im * wr);
        }
        EACH_ROW_NUMBER(l) {
            const number t = mul((number){z.re[k * z_step + l], z.im[k * z_step + l]}, wr, wi);
            a[k * a_step + l] = factor * t.re;
            if (b) b[k * b_step + l] = b_factor * t.im;
        }
    }
}

INLINE void combine_rows_of(stn_fft_number *to, int64_t to_step, stn_planes z, int64_t z_step, stn_fft_number factor,
                            stn_fft_number im_factor, int64_t count, const int64_t lanes) {
    INDEPENDENT for (int64_t k = 0; k < count; k++) {
        const stn_fft_number *zr = z.re + k * z_step, *zi = z.im + k * z_step;
        stn_fft_number *out = to + k * to_step;
        EACH_ROW_VECTOR(l)
        UNALIGNED(out + l) = factor * UNALIGNED_CONST(zr + l) + im_factor * UNALIGNED_CONST(zi + l);
        EACH_ROW_NUMBER(l) out[l] = factor * zr[l] + im_factor * zi[l];
    }
}

/* ---- instruction sets */

#define BY_LANES(kernel, ...)                                                                                          \
    if (lanes == STN_FFT_LANES)                                                                                        \
        kernel(__VA_ARGS__, STN_FFT_LANES);                                                                            \
    else if (lanes == STN_FFT_LANES / 2)                                                                               \
        kernel(__VA_ARGS__, STN_FFT_LANES / 2);                                                                        \
    else if (lanes == 1)                                                                                               \
        kernel(__VA_ARGS__, 1);                                                                                        \
    else                                                                                                               \
        kernel(__VA_ARGS__, lanes);
#define TO_HALF(z, h, twiddles, lanes)                                                                                 \
    halves(z, h, twiddles, lanes, true, 0, 1, true), halves(z, h, twiddles, lanes, true, 1, h / 2 + 1, false)
#define FROM_HALF(z, h, twiddles, lanes)                                                                               \
    halves(z, h, twiddles, lanes, false, 0, 1, true), halves(z, h, twiddles, lanes, false, 1, h / 2 + 1, false)
#define ACROSS(to, from, points, step, factor, lanes) store_across(to, from, points, step, lanes, factor)
#define ALONG(to, from, points, stride, factor, lanes) store_along(to, from, points, stride, lanes, factor)
#define REALS(to, from, points, stride, factor, lanes) store_reals(to, from, points, stride, lanes, factor)

/* Defines one function for an instruction set. The number of lanes is a compile-time constant if
 * vectors are full. */
#define KERNEL(isa, attribute, name, kernel, parameters, ...)                                                          \
    attribute static void name##_##isa parameters { BY_LANES(kernel, __VA_ARGS__) }

#define DEFINE_SET(isa, attribute)                                                                                     \
    attribute static void stage_##isa(const stn_fft_stage *g, stn_planes x, stn_planes y, int64_t lanes) {             \
        stage(g, x, y, lanes, false);                                                                                  \
    }                                                                                                                  \
    attribute static void real_stage_##isa(const stn_fft_stage *g, stn_planes x, stn_planes y, int64_t lanes) {        \
        stage(g, x, y, lanes, true);                                                                                   \
    }                                                                                                                  \
    KERNEL(isa, attribute, times, times_of,                                                                            \
           (stn_planes x, stn_planes y, const stn_fft_number *table, int64_t count, int64_t lanes), x, y, table,       \
           count)                                                                                                      \
    KERNEL(isa, attribute, twiddle, twiddle_of,                                                                        \
           (stn_planes x, const stn_fft_number *coarse, stn_planes fine, int64_t count, int64_t lanes), x, coarse,     \
           fine, count)                                                                                                \
    KERNEL(isa, attribute, largest, largest_of,                                                                        \
           (stn_planes x, int64_t count, stn_fft_number * magnitude, int64_t lanes), x, count, magnitude)              \
    KERNEL(isa, attribute, to_half, TO_HALF, (stn_planes z, int64_t h, const stn_fft_number *twiddles, int64_t lanes), \
           z, h, twiddles)                                                                                             \
    KERNEL(isa, attribute, from_half, FROM_HALF,                                                                       \
           (stn_planes z, int64_t h, const stn_fft_number *twiddles, int64_t lanes), z, h, twiddles)                   \
    KERNEL(isa, attribute, load_across, load_across,                                                                   \
           (stn_planes to, const stn_fft_number *from, int64_t points, int64_t step, int64_t lanes), to, from, points, \
           step)                                                                                                       \
    KERNEL(isa, attribute, load_along, load_along,                                                                     \
           (stn_planes to, const stn_fft_number *from, int64_t points, int64_t stride, int64_t lanes), to, from,       \
           points, stride)                                                                                             \
    KERNEL(isa, attribute, store_across, ACROSS,                                                                       \
           (stn_fft_number * to, stn_planes from, int64_t points, int64_t step, int64_t lanes, stn_fft_number factor), \
           to, from, points, step, factor)                                                                             \
    KERNEL(                                                                                                            \
        isa, attribute, store_along, ALONG,                                                                            \
        (stn_fft_number * to, stn_planes from, int64_t points, int64_t stride, int64_t lanes, stn_fft_number factor),  \
        to, from, points, stride, factor)                                                                              \
    KERNEL(isa, attribute, load_reals, load_reals,                                                                     \
           (stn_planes to, const stn_fft_number *from, int64_t points, int64_t stride, int64_t lanes), to, from,       \
           points, stride)                                                                                             \
    KERNEL(                                                                                                            \
        isa, attribute, store_reals, REALS,                                                                            \
        (stn_fft_number * to, stn_planes from, int64_t points, int64_t stride, int64_t lanes, stn_fft_number factor),  \
        to, from, points, stride, factor)                                                                              \
    KERNEL(isa, attribute, copy_rows, copy_rows_of,                                                                    \
           (stn_fft_number * to, int64_t to_step, const stn_fft_number *from, int64_t from_step,                       \
            stn_fft_number factor, int64_t count, int64_t lanes),                                                      \
           to, to_step, from, from_step, factor, count)                                                                \
    KERNEL(isa, attribute, join_rows, join_rows_of,                                                                    \
           (stn_planes z, int64_t z_step, const stn_fft_number *a, int64_t a_step, stn_fft_number factor,              \
            const stn_fft_number *b, int64_t b_step, stn_fft_number b_factor, const stn_fft_number *table,             \
            int64_t count, int64_t lanes),                                                                             \
           z, z_step, a, a_step, factor, b, b_step, b_factor, table, count)                                            \
    KERNEL(                                                                                                            \
        isa, attribute, split_rows, split_rows_of,                                                                     \
        (stn_planes z, int64_t z_step, stn_fft_number * a, int64_t a_step, stn_fft_number factor, stn_fft_number * b,  \
         int64_t b_step, stn_fft_number b_factor, const stn_fft_number *table, int64_t count, int64_t lanes),          \
        z, z_step, a, a_step, factor, b, b_step, b_factor, table, count)                                               \
    KERNEL(isa, attribute, combine_rows, combine_rows_of,                                                              \
           (stn_fft_number * to, int64_t to_step, stn_planes z, int64_t z_step, stn_fft_number factor,                 \
            stn_fft_number im_factor, int64_t count, int64_t lanes),                                                   \
           to, to_step, z, z_step, factor, im_factor, count)                                                           \
    static const stn_fft_kernels kernels_##isa = {                                                                     \
        .copy_rows = copy_rows_##isa,                                                                                  \
        .join_rows = join_rows_##isa,                                                                                  \
        .split_rows = split_rows_##isa,                                                                                \
        .combine_rows = combine_rows_##isa,                                                                            \
        .real_stage = real_stage_##isa,                                                                                \
        .load_reals = load_reals_##isa,                                                                                \
        .store_reals = store_reals_##isa,                                                                              \
        .stage = stage_##isa,                                                                                          \
        .times = times_##isa,                                                                                          \
        .twiddle = twiddle_##isa,                                                                                      \
        .largest = largest_##isa,                                                                                      \
        .to_half = to_half_##isa,                                                                                      \
        .from_half = from_half_##isa,                                                                                  \
        .load_across = load_across_##isa,                                                                              \
        .load_along = load_along_##isa,                                                                                \
        .store_across = store_across_##isa,                                                                            \
        .store_along = store_along_##isa,                                                                              \
    };

DEFINE_SET(portable, )
#if defined(__x86_64__)
DEFINE_SET(avx2, __attribute__((target("avx2"))))
DEFINE_SET(avx512, __attribute__((target("avx512f,avx512bw,avx512vl"))))
#endif

const stn_fft_kernels *stn_fft_kernels_at(int index) {
    if (index == 0) return &kernels_portable;
#if defined(__x86_64__)
    if (index == 1 && __builtin_cpu_supports("avx2")) return &kernels_avx2;
    if (index == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return &kernels_avx512;
#endif
    return NULL;
}

const stn_fft_kernels *stn_fft_kernels_best(void) {
    const stn_fft_kernels *best = &kernels_portable, *next;
    for (int i = 1; (next = stn_fft_kernels_at(i)); i++) best = next;
    return best;
}
