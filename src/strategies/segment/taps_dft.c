/* The Fourier transform of taps. See taps_dft.h. */
#include "strategies/segment/taps_dft.h"

/* Numbers at offsets -low .. high of a line become their transform at frequencies 0 .. n - 1, or
 * 0 .. n / 2 if `half`. Neighbours of a line are `step` numbers apart.
 *
 * The offsets d and -d are summed together: a(d) exp(i t) + a(-d) exp(-i t) is
 * (a(d) + a(-d)) cos t + i (a(d) - a(-d)) sin t, and the opposite frequency has the same two sums
 * with the other sign between them. */
static void transform_line(const cplx *root, int n, bool half, const int reach[2], size_t step, const cplx *from,
                           cplx *to) {
    cplx even[STN_MAX_RADIUS + 1], odd[STN_MAX_RADIUS + 1];
    const int low = reach[0], high = reach[1], most = low > high ? low : high;
    const cplx zero = {0, 0}, centre = from[(size_t)low * step];
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
    cplx *const root = roots_of(n), *to = from && root ? calloc(slower * length * faster, sizeof *to) : NULL;
    for (size_t i = 0; to && i < slower; i++)
        for (size_t j = 0; j < faster; j++)
            transform_line(root, n, half, task->reach[axis], faster, from + i * width * faster + j,
                           to + i * length * faster + j);
    free(root), free(from);
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
