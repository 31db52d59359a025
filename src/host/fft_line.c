/* FFTs of lines: mixed-radix Stockham algorithm between two buffers; Bluestein's algorithm for
 * lengths with a large prime factor. The stages themselves are in fft_kernels.c. */
#include "host/fft_line.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

#define MAX_STAGES 64

struct stn_fft_line {
    int64_t n;
    int stages; /* 0 for Bluestein's algorithm, and for n = 1 */
    stn_fft_stage stage[MAX_STAGES];
    stn_fft_number *twiddles; /* of all stages, in the order in which they are read */
    /* Bluestein: X[k] = c[k] * sum over j of (x[j] c[j]) conj(c[k - j]), c[k] = exp(-pi i k^2 / n):
     * a convolution, computed by FFTs of a length with small factors. */
    stn_fft_line *inner;
    stn_fft_number *chirp;  /* c[k], k < n */
    stn_fft_number *kernel; /* the FFT of conj(c), divided by its length */
};

/* ---- tables */

/* Each root is the product of two twiddles in long double, rounded. */
stn_fft_number *stn_fft_twiddles_from(double first, int64_t count, int64_t n) {
    enum { STEP = 256 };
    const long double turn = 6.283185307179586476925286766559005768L;
    long double fine_re[STEP], fine_im[STEP], re = 1, im = 0;
    stn_fft_number *twiddles = malloc((size_t)count * 2 * sizeof *twiddles);
    if (!twiddles) return NULL;
    for (int k = 0; k < STEP; k++) {
        fine_re[k] = cosl(turn * k / (long double)n);
        fine_im[k] = -sinl(turn * k / (long double)n);
    }
    for (int64_t k = 0; k < count; k++) {
        int64_t f = k % STEP;
        if (!f) {
            re = cosl(turn * ((long double)k + first) / (long double)n);
            im = -sinl(turn * ((long double)k + first) / (long double)n);
        }
        twiddles[2 * k] = (stn_fft_number)(re * fine_re[f] - im * fine_im[f]);
        twiddles[2 * k + 1] = (stn_fft_number)(re * fine_im[f] + im * fine_re[f]);
    }
    return twiddles;
}

stn_fft_number *stn_fft_twiddles(int64_t count, int64_t n) { return stn_fft_twiddles_from(0, count, n); }

double stn_fft_share(double factor, int64_t n) {
    if (!(factor > 0 && factor < 1)) return 1;
    const int above = n > 1 ? ilogb((double)(n - 1)) + 1 : 0; /* 2^above >= n */
    return fmax(ldexp(1, ilogb(factor)), ldexp(1, -above));
}

/* Radices 8 first, then 4, 2 and odd primes; false if a prime factor is too large. */
static bool factorize(stn_fft_line *line) {
    int64_t rest = line->n;
    int twos = 0;
    while (rest % 2 == 0) rest /= 2, twos++;
    int eights = twos / 3 - (twos % 3 == 1 && twos > 1), fours = (twos - 3 * eights) / 2;
    for (int i = 0; i < eights; i++) line->stage[line->stages++].radix = 8;
    for (int i = 0; i < fours; i++) line->stage[line->stages++].radix = 4;
    if (twos == 1) line->stage[line->stages++].radix = 2;
    for (int r = 3; r <= STN_FFT_LARGEST_RADIX; r += 2)
        for (; rest % r == 0; rest /= r) line->stage[line->stages++].radix = r;
    if (rest != 1) line->stages = 0;
    return rest == 1;
}

/* The tables of all stages, one after the other: w_n^(s p j), and the roots of unity of the
 * radix. */
static bool make_stages(stn_fft_line *line) {
    int64_t n = line->n, s = 1, room = 0, at = 0;
    stn_fft_number *all = stn_fft_twiddles(n, n);
    for (int i = 0; i < line->stages; i++) {
        stn_fft_stage *g = &line->stage[i];
        g->s = s, g->m = n / s / g->radix;
        s *= g->radix;
        room += g->m * (g->radix - 1) + g->radix;
    }
    line->twiddles = malloc((size_t)(room + 1) * 2 * sizeof *line->twiddles);
    for (int i = 0; all && line->twiddles && i < line->stages; i++) {
        stn_fft_stage *g = &line->stage[i];
        g->twiddles = line->twiddles + 2 * at;
        for (int64_t p = 0; p < g->m; p++)
            for (int j = 1; j < g->radix; j++, at++)
                line->twiddles[2 * at] = all[2 * g->s * p * j], line->twiddles[2 * at + 1] = all[2 * g->s * p * j + 1];
        g->circle = line->twiddles + 2 * at;
        for (int k = 0; k < g->radix; k++, at++)
            line->twiddles[2 * at] = all[2 * (n / g->radix) * k],
                               line->twiddles[2 * at + 1] = all[2 * (n / g->radix) * k + 1];
    }
    bool made = all && line->twiddles;
    free(all);
    return made;
}

static stn_planes planes_of(stn_fft_number *numbers, int64_t room) { return (stn_planes){numbers, numbers + room}; }

static bool make_chirp(stn_fft_line *line) {
    int64_t n = line->n, length = line->inner->n, room = stn_fft_line_capacity(line->inner);
    stn_fft_number *half_turns = stn_fft_twiddles(2 * n, 2 * n);
    stn_fft_number *numbers = calloc((size_t)room * 4, sizeof *numbers);
    line->chirp = malloc((size_t)n * 2 * sizeof *line->chirp);
    line->kernel = malloc((size_t)length * 2 * sizeof *line->kernel);
    bool made = half_turns && numbers && line->chirp && line->kernel;
    if (made) {
        stn_planes x = planes_of(numbers, room), other = planes_of(numbers + 2 * room, room);
        /* k^2 mod 2n */
        for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++) {
            line->chirp[2 * k] = half_turns[2 * square], line->chirp[2 * k + 1] = half_turns[2 * square + 1];
            int64_t back = k ? length - k : 0;
            x.re[k] = x.re[back] = line->chirp[2 * k];
            x.im[k] = x.im[back] = -line->chirp[2 * k + 1];
        }
        stn_planes result = stn_fft_line_run(line->inner, stn_fft_kernels_best(), x, other, 1);
        for (int64_t k = 0; k < length; k++) {
            line->kernel[2 * k] = result.re[k] / (stn_fft_number)length;
            line->kernel[2 * k + 1] = result.im[k] / (stn_fft_number)length;
        }
    }
    free(half_turns);
    free(numbers);
    return made;
}

/* The smallest 2^a, 3 2^a, 5 2^a, 9 2^a or 15 2^a that suffices for a convolution of n points. */
static int64_t convolution_length(int64_t n) {
    static const int odd[] = {1, 3, 5, 9, 15};
    int64_t best = INT64_MAX;
    for (int i = 0; i < 5; i++) {
        int64_t length = odd[i];
        while (length < 2 * n - 1) length *= 2;
        if (length < best) best = length;
    }
    return best;
}

stn_status stn_fft_line_create(int64_t n, stn_fft_line **made, stn_error *error) {
    *made = NULL;
    stn_fft_line *line = calloc(1, sizeof *line);
    if (!line) return stn_fail_memory(error, "a transform", sizeof *line);
    line->n = n;
    bool good;
    if (factorize(line))
        good = make_stages(line);
    else
        good = stn_fft_line_create(convolution_length(n), &line->inner, error) == STN_OK && make_chirp(line);
    if (!good) {
        stn_fft_line_destroy(line);
        return stn_fail_memory(error, "the tables of a transform", (size_t)n * 2 * sizeof(stn_fft_number));
    }
    *made = line;
    return STN_OK;
}

void stn_fft_line_destroy(stn_fft_line *line) {
    if (!line) return;
    stn_fft_line_destroy(line->inner);
    free(line->twiddles);
    free(line->chirp);
    free(line->kernel);
    free(line);
}

int64_t stn_fft_line_capacity(const stn_fft_line *line) { return (line->inner ? line->inner->n : line->n) + 1; }

/* ---- running */

static stn_planes swapped(stn_planes a) { return (stn_planes){a.im, a.re}; }

static stn_planes run_stages(const stn_fft_line *line, const stn_fft_kernels *kernels, stn_planes x, stn_planes other,
                             int64_t lanes, bool real) {
    for (int i = 0; i < line->stages; i++) {
        (real && !i ? kernels->real_stage : kernels->stage)(&line->stage[i], x, other, lanes);
        stn_planes written = other;
        other = x;
        x = written;
    }
    return x;
}

static stn_planes run_bluestein(const stn_fft_line *line, const stn_fft_kernels *kernels, stn_planes x,
                                stn_planes other, int64_t lanes) {
    int64_t n = line->n, length = line->inner->n;
    kernels->times(x, other, line->chirp, n, lanes);
    for (int64_t i = n * lanes; i < length * lanes; i++) other.re[i] = other.im[i] = 0;
    stn_planes spectrum = run_stages(line->inner, kernels, other, x, lanes, false),
               free_one = spectrum.re == x.re ? other : x;
    kernels->times(spectrum, spectrum, line->kernel, length, lanes);
    stn_planes result = swapped(run_stages(line->inner, kernels, swapped(spectrum), swapped(free_one), lanes, false));
    kernels->times(result, result, line->chirp, n, lanes);
    return result;
}

stn_planes stn_fft_line_run(const stn_fft_line *line, const stn_fft_kernels *kernels, stn_planes x, stn_planes other,
                            int64_t lanes) {
    return line->inner ? run_bluestein(line, kernels, x, other, lanes)
                       : run_stages(line, kernels, x, other, lanes, false);
}

stn_planes stn_fft_line_run_real(const stn_fft_line *line, const stn_fft_kernels *kernels, stn_planes x,
                                 stn_planes other, int64_t lanes) {
    return line->inner ? run_bluestein(line, kernels, x, other, lanes)
                       : run_stages(line, kernels, x, other, lanes, true);
}
