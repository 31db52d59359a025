/* Loads groups of lines into planes and stores them, for every type and layout: by the vectorised
 * loops of fft_kernels.c if numbers have the arithmetic type and are evenly spaced, otherwise by
 * element. */
#include "host/fft_group.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/half.h"

/* Addresses of a group of lines: point k of line l has its real part at number first[l] + k * step
 * and its imaginary part imag_offset numbers further on (0: none). */
typedef struct addresses {
    int64_t first[STN_FFT_LANES], step, imag_offset, points;
} addresses;

/* The first elements of `count` lines from `line` on. Indices are counted up, to avoid
 * divisions. */
static void first_elements(const stn_fft_side *side, int axis, int64_t line, int64_t count, int64_t *at) {
    int64_t index[3];
    bool only_batch = true;
    for (int a = 0; a < 3; a++) only_batch = only_batch && (a == axis || side->n[a] == 1);
    if (only_batch) {
        for (int64_t l = 0; l < count; l++) at[l] = (line + l) * side->batch_stride;
        return;
    }
    at[0] = 0;
    for (int a = 2; a >= 0; a--) {
        index[a] = a == axis ? side->n[a] - 1 : line % side->n[a];
        if (a == axis) continue;
        at[0] += index[a] * side->stride[a];
        line /= side->n[a];
    }
    at[0] += line * side->batch_stride;
    for (int64_t l = 1; l < count; l++) {
        int a = 2;
        at[l] = at[l - 1];
        for (; a >= 0 && index[a] == side->n[a] - 1; a--) {
            if (a == axis) continue;
            at[l] -= index[a] * side->stride[a];
            index[a] = 0;
        }
        if (a >= 0) index[a]++;
        at[l] += a >= 0 ? side->stride[a] : side->batch_stride;
    }
}

/* Lanes past the last line repeat it: they are read but not written. */
static addresses addresses_of(const stn_fft_view *view, const stn_fft_group *g, int64_t lanes) {
    const stn_fft_side *side = &view->side;
    int64_t stride = side->stride[g->axis];
    addresses p = {.points = side->n[g->axis]};
    if (!side->real)
        p.step = 2 * stride, p.imag_offset = 1;
    else if (g->halved)
        p.step = 2 * stride, p.imag_offset = stride, p.points /= 2;
    else
        p.step = stride;
    first_elements(side, g->axis, g->line, g->count, p.first);
    for (int64_t l = 0; l < lanes; l++)
        p.first[l] = l < g->count ? p.first[l] * (side->real ? 1 : 2) : p.first[g->count - 1];
    return p;
}

/* The stride between lines, if it is constant; otherwise 0. */
static int64_t line_stride(const addresses *p, int64_t lanes) {
    int64_t d = lanes > 1 ? p->first[1] - p->first[0] : 2;
    for (int64_t l = 2; l < lanes; l++)
        if (p->first[l] - p->first[l - 1] != d) return 0;
    return d;
}

/* Whether lines of adjacent points follow each other without large gaps, which would be prefetched
 * too. */
static bool are_close(const addresses *p, int64_t stride) {
    return p->step <= 2 && stride > 0 && stride <= 2 * p->points * p->step;
}

/* ---- element by element */

static inline stn_fft_number from_number(stn_fft_number v) { return v; }
static inline stn_fft_number to_number(stn_fft_number v) { return v; }
#ifdef STN_FFT_F32
static inline float from_half(uint16_t v) { return stn_half_to_float(v); }
static inline uint16_t to_half(float v) { return stn_float_to_half(v); }
#endif

#define TILE 16 /* points of a line that are moved before those of the next line */
#define DEFINE_TYPE(name, type)                                                                                        \
    static void load_##name(stn_planes x, const void *base, const addresses *p, int64_t lanes) {                       \
        for (int64_t tile = 0; tile < p->points; tile += TILE)                                                         \
            for (int64_t l = 0; l < lanes; l++) {                                                                      \
                const type *from = (const type *)base + p->first[l];                                                   \
                for (int64_t k = tile; k < tile + TILE && k < p->points; k++) {                                        \
                    x.re[k * lanes + l] = from_##name(from[k * p->step]);                                              \
                    x.im[k * lanes + l] = p->imag_offset ? from_##name(from[k * p->step + p->imag_offset]) : 0;        \
                }                                                                                                      \
            }                                                                                                          \
    }                                                                                                                  \
    static void store_##name(void *base, stn_planes x, const addresses *p, int64_t lanes, int64_t count,               \
                             stn_fft_number factor) {                                                                  \
        for (int64_t tile = 0; tile < p->points; tile += TILE)                                                         \
            for (int64_t l = 0; l < count; l++) {                                                                      \
                type *to = (type *)base + p->first[l];                                                                 \
                for (int64_t k = tile; k < tile + TILE && k < p->points; k++) {                                        \
                    to[k * p->step] = to_##name(factor * x.re[k * lanes + l]);                                         \
                    if (p->imag_offset) to[k * p->step + p->imag_offset] = to_##name(factor * x.im[k * lanes + l]);    \
                }                                                                                                      \
            }                                                                                                          \
    }
DEFINE_TYPE(number, stn_fft_number)
#ifdef STN_FFT_F32
DEFINE_TYPE(half, uint16_t)
#endif

/* ---- real numbers, by rows of adjacent lines */

/* Rows that are moved before those of the next lines, so that they stay in cache. */
#define ROWS_TILE 64

/* The number of lines from l on, below `lines`, that are adjacent to each other. */
static int64_t adjacent(const addresses *p, int64_t l, int64_t lines) {
    int64_t run = 1;
    while (l + run < lines && p->first[l + run] == p->first[l] + run) run++;
    return run;
}

static void load_rows(const stn_fft_kernels *kernels, stn_planes x, const stn_fft_number *base, const addresses *p,
                      int64_t lanes) {
    if (!p->imag_offset) memset(x.im, 0, (size_t)(p->points * lanes) * sizeof *x.im);
    for (int64_t k = 0; k < p->points; k += ROWS_TILE)
        for (int64_t l = 0, run; l < lanes; l += run) {
            const int64_t rows = stn_min(ROWS_TILE, p->points - k), at = k * lanes + l;
            const stn_fft_number *from = base + p->first[l] + k * p->step;
            run = adjacent(p, l, lanes);
            kernels->copy_rows(x.re + at, lanes, from, p->step, 1, rows, run);
            if (p->imag_offset) kernels->copy_rows(x.im + at, lanes, from + p->imag_offset, p->step, 1, rows, run);
        }
}

static void store_rows(const stn_fft_kernels *kernels, stn_fft_number *base, stn_planes x, const addresses *p,
                       int64_t lanes, int64_t count, stn_fft_number factor) {
    for (int64_t k = 0; k < p->points; k += ROWS_TILE)
        for (int64_t l = 0, run; l < count; l += run) {
            const int64_t rows = stn_min(ROWS_TILE, p->points - k), at = k * lanes + l;
            stn_fft_number *to = base + p->first[l] + k * p->step;
            run = adjacent(p, l, count);
            kernels->copy_rows(to, p->step, x.re + at, lanes, factor, rows, run);
            if (p->imag_offset) kernels->copy_rows(to + p->imag_offset, p->step, x.im + at, lanes, factor, rows, run);
        }
}

/* ---- groups */

void stn_fft_group_load(const stn_fft_view *view, const stn_fft_group *g, const stn_fft_kernels *kernels, stn_planes x,
                        int64_t lanes) {
    addresses p = addresses_of(view, g, lanes);
#ifdef STN_FFT_F32
    if (view->dtype == STN_F16) {
        load_half(x, view->base, &p, lanes);
        return;
    }
#endif
    int64_t stride = line_stride(&p, lanes);
    const stn_fft_number *from = (const stn_fft_number *)view->base + p.first[0];
    if (g->prefetches && are_close(&p, stride))
        for (int64_t i = stride * lanes; i < 2 * stride * lanes; i += 64 / (int64_t)sizeof *from)
            __builtin_prefetch(from + i);
    if (p.imag_offset == 1 && stride == 2)
        kernels->load_across(x, from, p.points, p.step / 2, lanes);
    else if (p.imag_offset == 1 && p.step == 2 && stride > 0 && stride % 2 == 0)
        kernels->load_along(x, from, p.points, stride / 2, lanes);
    else if (!p.imag_offset && p.step == 1 && stride > 0)
        kernels->load_reals(x, from, p.points, stride, lanes);
    else if (view->side.real)
        load_rows(kernels, x, view->base, &p, lanes);
    else
        load_number(x, view->base, &p, lanes);
}

void stn_fft_group_store(const stn_fft_view *view, const stn_fft_group *g, const stn_fft_kernels *kernels, stn_planes x,
                         int64_t lanes, stn_fft_number factor) {
    addresses p = addresses_of(view, g, lanes);
#ifdef STN_FFT_F32
    if (view->dtype == STN_F16) {
        store_half(view->base, x, &p, lanes, g->count, factor);
        return;
    }
#endif
    int64_t stride = g->count == lanes ? line_stride(&p, lanes) : 0;
    stn_fft_number *to = (stn_fft_number *)view->base + p.first[0];
    if (g->prefetches && are_close(&p, stride))
        for (int64_t i = stride * lanes; i < 2 * stride * lanes; i += 64 / (int64_t)sizeof *to)
            __builtin_prefetch(to + i, 1);
    if (p.imag_offset == 1 && stride == 2)
        kernels->store_across(to, x, p.points, p.step / 2, lanes, factor);
    else if (p.imag_offset == 1 && p.step == 2 && stride > 0 && stride % 2 == 0)
        kernels->store_along(to, x, p.points, stride / 2, lanes, factor);
    else if (!p.imag_offset && p.step == 1 && stride > 0)
        kernels->store_reals(to, x, p.points, stride, lanes, factor);
    else if (view->side.real)
        store_rows(kernels, view->base, x, &p, lanes, g->count, factor);
    else
        store_number(view->base, x, &p, lanes, g->count, factor);
}

/* ---- overflow */

#ifdef STN_FFT_F32
#define LARGEST_NUMBER FLT_MAX
#else
#define LARGEST_NUMBER DBL_MAX
#endif

bool stn_fft_group_scale_down(const stn_fft_kernels *kernels, stn_planes x, int64_t points, int64_t n, int64_t lanes,
                              stn_fft_number restoring[STN_FFT_LANES]) {
    stn_fft_number magnitude[STN_FFT_LANES];
    const stn_fft_number most = LARGEST_NUMBER / (4 * (stn_fft_number)n);
    bool scaled_down = false;
    kernels->largest(x, points, magnitude, lanes);
    for (int64_t l = 0; l < lanes; l++) {
        const bool large = magnitude[l] > most && magnitude[l] <= LARGEST_NUMBER; /* not infinity */
        restoring[l] = large ? (stn_fft_number)ldexp(1, ilogb((double)n) + 3) : 1;
        scaled_down = scaled_down || large;
    }
    if (!scaled_down) return false;
    stn_fft_number down[STN_FFT_LANES];
    for (int64_t l = 0; l < lanes; l++) down[l] = 1 / restoring[l];
    stn_fft_group_scale_up(x, points, lanes, down, 1);
    return true;
}

void stn_fft_group_scale_up(stn_planes x, int64_t points, int64_t lanes, const stn_fft_number restoring[STN_FFT_LANES],
                            stn_fft_number factor) {
    for (int64_t k = 0; k < points; k++)
        for (int64_t l = 0; l < lanes; l++) {
            x.re[k * lanes + l] *= restoring[l] * factor;
            x.im[k * lanes + l] *= restoring[l] * factor;
        }
}
