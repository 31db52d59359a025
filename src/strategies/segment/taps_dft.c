/* The Fourier transform of taps. See taps_dft.h. */
#include "strategies/segment/taps_dft.h"

/* Numbers at offsets -low .. high of a line become their transform at frequencies 0 .. n - 1, or
 * 0 .. n / 2 if `half`. Neighbours of a line are `step` numbers apart.
 *
 * The offsets d and -d are summed together: a(d) exp(i t) + a(-d) exp(-i t) is
 * (a(d) + a(-d)) cos t + i (a(d) - a(-d)) sin t, and the opposite frequency has the same two sums
 * with the other sign between them. sums: space for 2 numbers for each offset d, and for 0. */
static void transform_line(const cplx *root, int n, bool half, const int reach[2], size_t step, const cplx *from,
                           cplx *sums, cplx *to) {
    const int low = reach[0], high = reach[1], most = low > high ? low : high;
    const cplx zero = {0, 0}, centre = from[(size_t)low * step];
    cplx *const even = sums, *const odd = sums + most + 1;
    for (int d = 1; d <= most; d++) {
        const cplx a = d <= high ? from[(size_t)(low + d) * step] : zero,
                   b = d <= low ? from[(size_t)(low - d) * step] : zero;
        even[d] = (cplx){a.re + b.re, a.im + b.im};
        odd[d] = (cplx){b.im - a.im, a.re - b.re};
    }
    for (int k = 0; 2 * k <= n; k++) {
        cplx cosines = centre, sines = zero;
        for (int d = 1, at = k % n; d <= most; d++, at = at + k >= n ? at + k - n : at + k) {
            const cplx r = root[at];
            cosines.re += even[d].re * r.re, cosines.im += even[d].im * r.re;
            sines.re += odd[d].re * r.im, sines.im += odd[d].im * r.im;
        }
        to[(size_t)k * step] = (cplx){cosines.re + sines.re, cosines.im + sines.im};
        if (!half && k) to[(size_t)(n - k) * step] = (cplx){cosines.re - sines.re, cosines.im - sines.im};
    }
}

/* Transforms along one axis of an array whose other axes have `slower` and `faster` numbers. */
static cplx *transform_axis(const stn_task *task, int axis, int n, size_t slower, size_t faster, cplx *from) {
    const bool half = axis == 2;
    const size_t width = (size_t)(task->reach[axis][0] + task->reach[axis][1] + 1),
                 length = (size_t)(half ? n / 2 + 1 : n);
    cplx sums[2 * (STN_MAX_RADIUS + 1)];
    cplx *const root = roots_of(n), *to = from && root ? calloc(slower * length * faster, sizeof *to) : NULL;
    for (size_t i = 0; to && i < slower; i++)
        for (size_t j = 0; j < faster; j++)
            transform_line(root, n, half, task->reach[axis], faster, from + i * width * faster + j, sums,
                           to + i * length * faster + j);
    free(root), free(from);
    return to;
}

/* Space and roots of unity for interpolation between `period` and `length` frequencies. */
typedef struct interpolation {
    int period, length;
    cplx *period_root, *length_root;
    cplx *line, *sums, *result; /* Of one line: numbers in, transform_line's space, numbers out. */
} interpolation;

static void interpolate_line(const interpolation *s, size_t step, const cplx *from, cplx *to) {
    const int half = s->period / 2, odd_half = (s->period - 1) / 2, period = s->period;
    for (int k = -odd_half; k <= half; k++) s->line[odd_half + k] = from[(size_t)((period - k) % period) * step];
    transform_line(s->period_root, period, false, (int[2]){odd_half, half}, 1, s->line, s->sums, s->result);
    for (int d = -half; d <= half; d++) {
        const cplx tap = s->result[(d + period) % period];
        const long double part = (2 * abs(d) == period ? 0.5L : 1) / period;
        s->line[half + d] = (cplx){tap.re * part, tap.im * part};
    }
    transform_line(s->length_root, s->length, false, (int[2]){half, half}, 1, s->line, s->sums, s->result);
    for (int k = 0; k < s->length; k++) to[(size_t)k * step] = s->result[k];
}

cplx *segment_interpolate(int period, int length, size_t slower, size_t faster, cplx *from) {
    const size_t most = (size_t)(period > length ? period : length), line = (size_t)period + 1;
    cplx *const space = calloc(2 * line + 2 + most, sizeof *space),
                *to = from ? calloc(slower * (size_t)length * faster, sizeof *to) : NULL;
    const interpolation s = {period, length,       roots_of(period),    roots_of(length),
                             space,  space + line, space + 2 * line + 2};
    const bool good = space && to && s.period_root && s.length_root;
    for (size_t i = 0; i < slower && good; i++)
        for (size_t j = 0; j < faster; j++)
            interpolate_line(&s, faster, from + i * (size_t)period * faster + j, to + i * (size_t)length * faster + j);
    if (!good) free(to), to = NULL;
    free(space), free(s.period_root), free(s.length_root), free(from);
    return to;
}

cplx *segment_taps_dft(const stn_task *task, const int n[3]) {
    size_t width[3];
    for (int axis = 0; axis < 3; axis++) width[axis] = (size_t)(task->reach[axis][0] + task->reach[axis][1] + 1);
    cplx *box = calloc(width[0] * width[1] * width[2], sizeof *box);
    for (size_t i = 0; box && i < task->ntaps; i++) {
        size_t at = 0;
        for (int axis = 0; axis < 3; axis++)
            at = at * width[axis] + (size_t)(task->taps[i].offset[axis] + task->reach[axis][0]);
        box[at].re += task->taps[i].weight;
    }
    const size_t half = (size_t)(n[2] / 2 + 1);
    box = transform_axis(task, 2, n[2], width[0] * width[1], 1, box);
    box = transform_axis(task, 1, n[1], width[0], half, box);
    return transform_axis(task, 0, n[0], 1, (size_t)n[1] * half, box);
}
