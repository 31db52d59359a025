/* One line: mixed radices in Stockham's self-sorting order, from buffer to buffer; Bluestein's convolution where a
 * prime factor is large.
 *
 * A stage of radix r splits the transforms of length l = r m that are interleaved with stride s (N = l s) into r times
 * as many of length m, interleaved with stride r s; with w_N = exp(-2 pi i / N):
 *
 *     y[q + s (r p + j)] = w_N^(s p j) * sum over k < r of  x[q + s (p + m k)] * w_r^(j k),   p < m, q < s, j < r
 */
#include "host/fft_line.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"

#define MOST_STAGES 64
#define LARGEST_RADIX 61 /* larger prime factors go to Bluestein */

struct stn_fft_line {
    int64_t n;
    int stages;             /* 0 for Bluestein, and for n = 1 */
    int radix[MOST_STAGES]; /* their product is n */
    stn_complex *roots;     /* w_n^k for k < n */
    /* Bluestein: X[k] = c[k] * sum over j of (x[j] c[j]) conj(c[k - j]), c[k] = exp(-pi i k^2 / n): a convolution, by
     * transforms of a power of two. */
    stn_fft_line *inner;
    stn_complex *chirp;  /* c[k], k < n */
    stn_complex *kernel; /* the transform of conj(c) over its length */
};

static inline stn_complex add(stn_complex a, stn_complex b) { return (stn_complex){a.re + b.re, a.im + b.im}; }
static inline stn_complex sub(stn_complex a, stn_complex b) { return (stn_complex){a.re - b.re, a.im - b.im}; }
static inline stn_complex mul(stn_complex a, stn_complex b) {
    return (stn_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* exp(-2 pi i k / n) for k < count, each the rounding of a product of two that are exact to long double. */
static stn_complex *make_roots(int64_t count, int64_t n) {
    enum { STEP = 256 };
    const long double turn = 6.283185307179586476925286766559005768L;
    long double fine_re[STEP], fine_im[STEP], re = 1, im = 0;
    stn_complex *roots = malloc((size_t)count * sizeof *roots);
    if (!roots) return NULL;
    for (int k = 0; k < STEP; k++) {
        fine_re[k] = cosl(turn * k / (long double)n);
        fine_im[k] = -sinl(turn * k / (long double)n);
    }
    for (int64_t k = 0; k < count; k++) {
        int64_t f = k % STEP;
        if (!f) {
            re = cosl(turn * (long double)k / (long double)n);
            im = -sinl(turn * (long double)k / (long double)n);
        }
        roots[k].re = (double)(re * fine_re[f] - im * fine_im[f]);
        roots[k].im = (double)(re * fine_im[f] + im * fine_re[f]);
    }
    return roots;
}

/* Fours first, then the primes; false when one is too large. */
static bool factorize(stn_fft_line *line) {
    int64_t rest = line->n;
    for (; rest % 4 == 0; rest /= 4) line->radix[line->stages++] = 4;
    for (int r = 2; r <= LARGEST_RADIX; r++)
        for (; rest % r == 0; rest /= r) line->radix[line->stages++] = r;
    if (rest != 1) line->stages = 0;
    return rest == 1;
}

static bool make_chirp(stn_fft_line *line) {
    int64_t n = line->n, length = line->inner->n;
    stn_complex *half_turns = make_roots(2 * n, 2 * n);
    stn_complex *buffer = calloc((size_t)length, sizeof *buffer), *other = malloc((size_t)length * sizeof *other);
    line->chirp = malloc((size_t)n * sizeof *line->chirp);
    bool made = half_turns && buffer && other && line->chirp;
    if (made) {
        for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {
            line->chirp[k] = half_turns[square]; /* k^2 mod 2n */
            buffer[k] = buffer[k ? length - k : 0] = (stn_complex){line->chirp[k].re, -line->chirp[k].im};
        }
        line->kernel = stn_fft_line_run(line->inner, buffer, other);
        if (line->kernel == buffer)
            buffer = NULL;
        else
            other = NULL;
    }
    free(half_turns);
    free(buffer);
    free(other);
    return made;
}

stn_status stn_fft_line_create(int64_t n, stn_fft_line **made, stn_error *error) {
    *made = NULL;
    stn_fft_line *line = calloc(1, sizeof *line);
    if (!line) return stn_fail_memory(error, "a transform", sizeof *line);
    line->n = n;
    bool good;
    if (factorize(line))
        good = (line->roots = make_roots(n, n)) != NULL;
    else {
        int64_t length = 1;
        while (length < 2 * n - 1) length *= 2;
        good = stn_fft_line_create(length, &line->inner, error) == STN_OK && make_chirp(line);
    }
    if (!good) {
        stn_fft_line_destroy(line);
        return stn_fail_memory(error, "the tables of a transform", (size_t)n * sizeof(stn_complex));
    }
    *made = line;
    return STN_OK;
}

void stn_fft_line_destroy(stn_fft_line *line) {
    if (!line) return;
    stn_fft_line_destroy(line->inner);
    free(line->roots);
    free(line->chirp);
    free(line->kernel);
    free(line);
}

int64_t stn_fft_line_room(const stn_fft_line *line) { return line->inner ? line->inner->n : line->n; }

/* ---- running ----------------------------------------------------------------------------------------------------- */

static void radix_2(const stn_complex *x, stn_complex *y, int64_t m, int64_t s, const stn_complex *roots) {
    for (int64_t p = 0; p < m; p++)
        for (int64_t q = 0; q < s; q++) {
            stn_complex a = x[q + s * p], b = x[q + s * (p + m)];
            y[q + s * 2 * p] = add(a, b);
            y[q + s * (2 * p + 1)] = mul(roots[s * p], sub(a, b));
        }
}

static void radix_4(const stn_complex *x, stn_complex *y, int64_t m, int64_t s, const stn_complex *roots) {
    for (int64_t p = 0; p < m; p++) {
        stn_complex w1 = roots[s * p], w2 = roots[2 * s * p], w3 = roots[3 * s * p];
        for (int64_t q = 0; q < s; q++) {
            const stn_complex *from = x + q + s * p;
            stn_complex *to = y + q + s * 4 * p;
            stn_complex a = from[0], b = from[s * m], c = from[2 * s * m], d = from[3 * s * m];
            stn_complex ac = add(a, c), bd = add(b, d), a_c = sub(a, c), b_d = sub(b, d);
            stn_complex turned = {b_d.im, -b_d.re}; /* -i (b - d) */
            to[0] = add(ac, bd);
            to[s] = mul(w1, add(a_c, turned));
            to[2 * s] = mul(w2, sub(ac, bd));
            to[3 * s] = mul(w3, sub(a_c, turned));
        }
    }
}

static void radix_any(const stn_complex *x, stn_complex *y, int r, int64_t m, int64_t s, const stn_complex *roots) {
    stn_complex in[LARGEST_RADIX], w[LARGEST_RADIX];
    for (int k = 0; k < r; k++) w[k] = roots[k * s * m]; /* w_r^k */
    for (int64_t p = 0; p < m; p++)
        for (int64_t q = 0; q < s; q++) {
            for (int k = 0; k < r; k++) in[k] = x[q + s * (p + m * k)];
            for (int j = 0; j < r; j++) {
                stn_complex sum = in[0];
                for (int k = 1, turn = j; k < r; k++, turn += j) {
                    if (turn >= r) turn -= r;
                    sum = add(sum, mul(in[k], w[turn]));
                }
                y[q + s * (r * p + j)] = mul(roots[s * p * j], sum);
            }
        }
}

static stn_complex *run_stages(const stn_fft_line *line, stn_complex *x, stn_complex *other) {
    int64_t s = 1;
    for (int i = 0; i < line->stages; i++) {
        int r = line->radix[i];
        int64_t m = line->n / s / r;
        if (r == 4)
            radix_4(x, other, m, s, line->roots);
        else if (r == 2)
            radix_2(x, other, m, s, line->roots);
        else
            radix_any(x, other, r, m, s, line->roots);
        stn_complex *written = other;
        other = x;
        x = written;
        s *= r;
    }
    return x;
}

static stn_complex *run_bluestein(const stn_fft_line *line, stn_complex *x, stn_complex *other) {
    int64_t n = line->n, length = line->inner->n;
    for (int64_t k = 0; k < length; k++) other[k] = k < n ? mul(x[k], line->chirp[k]) : (stn_complex){0, 0};
    stn_complex *spectrum = run_stages(line->inner, other, x), *free_one = spectrum == x ? other : x;
    for (int64_t k = 0; k < length; k++) { /* the product, exchanged for the way back */
        stn_complex product = mul(spectrum[k], line->kernel[k]);
        spectrum[k] = (stn_complex){product.im, product.re};
    }
    stn_complex *result = run_stages(line->inner, spectrum, free_one);
    for (int64_t k = 0; k < n; k++) {
        stn_complex sum = {result[k].im / (double)length, result[k].re / (double)length};
        result[k] = mul(sum, line->chirp[k]);
    }
    return result;
}

stn_complex *stn_fft_line_run(const stn_fft_line *line, stn_complex *x, stn_complex *other) {
    return line->inner ? run_bluestein(line, x, other) : run_stages(line, x, other);
}
