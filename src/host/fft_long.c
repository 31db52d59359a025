/* FFT of one long line in two passes (four-step FFT), with w_N = exp(-2 pi i / N), j = n2 j1 + j2
 * and k = k1 + n1 k2:
 *
 *     X[k1 + n1 k2] = sum over j2 of w_n2^(j2 k2) * w_n^(j2 k1)
 *                     * sum over j1 of x[n2 j1 + j2] * w_n1^(j1 k1)
 *
 * 2n real numbers are transformed as n pairs; a pass of its own converts to or from the half
 * spectrum. */
#include "host/fft_long.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "host/fft_group.h"
#include "host/fft_line.h"

/* Points; shorter lines are finished before a second thread has started */
#define SHORTEST_LINE 8192
#define MIN_SIDE 16
#define PLANE_PADDING 136 /* as in fft_axes.c */
#define PAIRS_PER_TASK 4096

struct stn_fft_long {
    stn_fft fft;
    bool halved;
    const stn_fft_kernels *kernels;
    int64_t n, side[2];      /* n1, n2 */
    stn_fft_line *line[2];   /* transforms of these lengths */
    int64_t lanes[2];        /* lines in a group: columns; rows */
    int tasks;               /* each takes one group after the other */
    int64_t pitch, capacity; /* elements between rows in the workspace; numbers of a task's plane */
    stn_fft_number *coarse;  /* w_n^(j2 k1) of the first column of each group, k1 fastest, pairs */
    /* w_n^(l k1) of column l of a group, l fastest: real parts, then imaginary */
    stn_fft_number *fine;
};

/* ---- applicability */

static bool is_halved(const stn_fft *fft) { return fft->kind != STN_C2C && fft->n[2] % 2 == 0; }

/* The largest divisor that is at most sqrt(n). */
static int64_t shorter_side(int64_t n) {
    int64_t side = 1;
    for (int64_t d = 2; d * d <= n; d++)
        if (n % d == 0) side = d;
    return side;
}

bool stn_fft_long_serves(const stn_fft *fft) {
    const bool halved = is_halved(fft);
    const stn_fft_side *real = fft->in.real ? &fft->in : &fft->out;
    const int64_t n = halved ? fft->n[2] / 2 : fft->n[2];
    if (fft->n[0] * fft->n[1] != 1 || fft->dtype != STN_FFT_DTYPE || n < SHORTEST_LINE) return false;
    if (fft->kind != STN_C2C && !(halved && real->stride[2] == 1)) return false;
    return shorter_side(n) >= MIN_SIDE;
}

/* ---- tables */

static bool make_twiddles(stn_fft_long *g) {
    const int64_t lanes = g->lanes[0], points = g->side[0], groups = stn_div_up(g->side[1], lanes);
    stn_fft_number *all = stn_fft_twiddles(g->n, g->n);
    g->coarse = malloc((size_t)(groups * points) * 2 * sizeof *g->coarse);
    g->fine = malloc((size_t)(lanes * points) * 2 * sizeof *g->fine);
    const bool made = all && g->coarse && g->fine;
    for (int64_t k = 0; made && k < points; k++) {
        for (int64_t i = 0; i < groups; i++) {
            const int64_t power = i * lanes * k % g->n, at = i * points + k;
            g->coarse[2 * at] = all[2 * power], g->coarse[2 * at + 1] = all[2 * power + 1];
        }
        for (int64_t l = 0; l < lanes; l++) {
            g->fine[k * lanes + l] = all[2 * (l * k % g->n)];
            g->fine[(points + k) * lanes + l] = all[2 * (l * k % g->n) + 1];
        }
    }
    free(all);
    return made;
}

stn_status stn_fft_long_create(const stn_fft *fft, int threads, int64_t (*lanes)(int64_t capacity, int64_t lines),
                               stn_fft_long **made, stn_error *error) {
    *made = NULL;
    stn_fft_long *g = calloc(1, sizeof *g);
    if (!g) return stn_fail_memory(error, "a transform", sizeof *g);
    stn_status status = STN_OK;
    g->fft = *fft;
    g->halved = is_halved(fft);
    g->kernels = stn_fft_kernels_best();
    g->n = g->halved ? fft->n[2] / 2 : fft->n[2];
    g->side[0] = shorter_side(g->n), g->side[1] = g->n / g->side[0];
    g->pitch = g->side[1] + 64 / (int64_t)sizeof(stn_fft_number);
    g->tasks = threads;
    for (int i = 0; i < 2 && status == STN_OK; i++) {
        status = stn_fft_line_create(g->side[i], &g->line[i], error);
        const int64_t capacity = status == STN_OK ? stn_fft_line_capacity(g->line[i]) : 0;
        g->lanes[i] = lanes(capacity, g->side[1 - i]);
        g->capacity = stn_max(g->capacity, capacity * g->lanes[i]);
    }
    g->capacity = stn_round_up(g->capacity, 512) + PLANE_PADDING;
    if (status == STN_OK && !make_twiddles(g))
        status = stn_fail_memory(error, "the tables of a transform", (size_t)g->n * 2 * sizeof *g->fine);
    if (status != STN_OK) return stn_fft_long_destroy(g), status;
    *made = g;
    return STN_OK;
}

void stn_fft_long_destroy(stn_fft_long *g) {
    if (!g) return;
    stn_fft_line_destroy(g->line[0]);
    stn_fft_line_destroy(g->line[1]);
    free(g->coarse);
    free(g->fine);
    free(g);
}

/* Numbers in the workspace: the grid between the passes, and the pairs made from a half
 * spectrum. */
static int64_t middle_size(const stn_fft_long *g) { return 2 * g->side[0] * g->pitch; }
static int64_t pairs(const stn_fft_long *g) { return g->halved && g->fft.kind == STN_C2R ? 2 * g->n : 0; }

int64_t stn_fft_long_workspace(const stn_fft_long *g) { return middle_size(g) + pairs(g) + 4 * g->capacity * g->tasks; }

/* ---- columns and rows */

typedef struct pass {
    const stn_fft_long *g;
    int which; /* 0: columns, lines along axis 1; 1: rows, lines along axis 2 */
    stn_fft_view from, to;
    stn_fft_number *planes, factor;
    stn_watch *watch;
    _Atomic int64_t next; /* next unclaimed group */
} pass;

static stn_planes swapped(stn_planes a) { return (stn_planes){a.im, a.re}; }

static void run_group(const pass *p, int64_t group, stn_fft_number *planes) {
    const stn_fft_long *g = p->g;
    const int64_t lanes = g->lanes[p->which], lines = g->side[1 - p->which], points = g->side[p->which];
    const stn_fft_group at = {
        .axis = 1 + p->which, .line = group * lanes, .count = stn_min(lanes, lines - group * lanes)};
    stn_planes x = {planes, planes + g->capacity}, other = {planes + 2 * g->capacity, planes + 3 * g->capacity};
    stn_fft_number restoring[STN_FFT_LANES], factor = p->factor;
    stn_fft_group_load(&p->from, &at, g->kernels, x, lanes);
    const bool scaled_down = stn_fft_group_scale_down(g->kernels, x, points, points, lanes, restoring);
    if (g->fft.inverse) x = swapped(x), other = swapped(other);
    x = stn_fft_line_run(g->line[p->which], g->kernels, x, other, lanes);
    if (!p->which) {
        const stn_planes fine = {g->fine, g->fine + points * lanes};
        g->kernels->twiddle(x, g->coarse + 2 * group * points, fine, points, lanes);
    }
    if (g->fft.inverse) x = swapped(x);
    if (scaled_down) {
        stn_fft_group_scale_up(x, points, lanes, restoring, factor);
        factor = 1;
    }
    stn_fft_group_store(&p->to, &at, g->kernels, x, lanes, factor);
}

static void run_tasks(void *user, int64_t begin, int64_t end) {
    pass *p = user;
    const int64_t groups = stn_div_up(p->g->side[1 - p->which], p->g->lanes[p->which]);
    for (int64_t task = begin; task < end; task++)
        for (int64_t group; (group = atomic_fetch_add(&p->next, 1)) < groups && stn_watch_continues(p->watch);)
            run_group(p, group, p->planes + 4 * p->g->capacity * task);
}

/* A complex line as a grid of n1 rows of n2 elements, with strides along both. */
static stn_fft_view grid_of(const stn_fft_long *g, const void *base, int64_t down, int64_t along) {
    const stn_fft_side side = {
        .real = false, .n = {1, g->side[0], g->side[1]}, .stride = {0, down, along}, .batch_stride = 0};
    return (stn_fft_view){(void *)base, side, STN_FFT_DTYPE};
}

/* ---- half spectra */

typedef struct halving {
    const stn_fft_number *twiddles, *from;
    stn_fft_number *to;
    int64_t n, from_stride, to_stride;
    bool inverse;
} halving;

/* Converts points k and n - k as to_half and from_half of fft_kernels.c do, but scaled against
 * overflow. To a half spectrum: without the factor 1/2, which the transform has applied before.
 * From one: with a factor 1/4, which the transform removes afterwards. `from` may be `to`. */
static void halve_points(void *user, int64_t begin, int64_t end) {
    const halving *h = user;
    const stn_fft_number f = h->inverse ? (stn_fft_number)0.25 : 1, sign = h->inverse ? -1 : 1;
    for (int64_t k = begin; k < end; k++) {
        const int64_t other = k || h->inverse ? h->n - k : 0; /* Z[n] = Z[0] */
        const stn_fft_number *a = h->from + 2 * k * h->from_stride, *b = h->from + 2 * other * h->from_stride;
        const stn_fft_number wr = sign * h->twiddles[2 * k], wi = h->twiddles[2 * k + 1];
        const bool ends = !k && h->inverse; /* imaginary parts are ignored */
        const stn_fft_number ar = f * a[0], ai = ends ? 0 : f * a[1], br = f * b[0], bi = ends ? 0 : -f * b[1];
        const stn_fft_number sr = ar + br, si = ai + bi, dr = ar - br, di = ai - bi;
        const stn_fft_number tr = dr * wi + di * wr, ti = -(dr * wr - di * wi);
        stn_fft_number *low = h->to + 2 * k * h->to_stride, *high = h->to + 2 * (h->n - k) * h->to_stride;
        low[0] = sr + tr, low[1] = si + ti;
        if (h->inverse && !k) continue;
        high[0] = sr - tr, high[1] = -(si - ti);
    }
}

/* ---- the transform */

void stn_fft_long_run(const stn_fft_long *g, stn_pool *pool, const void *in, void *out,
                      const stn_fft_number *half_turns, stn_fft_number *workspace) {
    const stn_fft *fft = &g->fft;
    const int64_t in_stride = fft->in.real ? 1 : fft->in.stride[2], out_stride = fft->out.real ? 1 : fft->out.stride[2];
    stn_fft_number *paired = workspace + middle_size(g);
    const int64_t points = g->n / 2 + 1;
    const bool from_half = g->halved && fft->kind == STN_C2R;
    if (from_half) {
        halving h = {half_turns, in, paired, g->n, in_stride, 1, true};
        stn_pool_for(pool, points, PAIRS_PER_TASK, halve_points, &h);
    }
    const int64_t step = from_half ? 1 : in_stride;
    const stn_fft_view middle = grid_of(g, workspace, g->pitch, 1);
    pass columns = {.g = g, .from = grid_of(g, from_half ? paired : in, g->side[1] * step, step), .to = middle};
    pass rows = {.g = g, .which = 1, .from = middle, .to = grid_of(g, out, out_stride, g->side[0] * out_stride)};
    const double whole = fft->scale * (from_half ? 4 : 1) * (g->halved && !from_half ? 0.5 : 1);
    const double share = stn_fft_share(whole, g->side[0]);
    columns.factor = (stn_fft_number)share, rows.factor = (stn_fft_number)(whole / share);
    columns.planes = rows.planes = paired + pairs(g);
    columns.watch = rows.watch = stn_pool_watched(pool);
    stn_pool_for(pool, g->tasks, 1, run_tasks, &columns);
    stn_pool_for(pool, g->tasks, 1, run_tasks, &rows);
    if (g->halved && !from_half) {
        halving h = {half_turns, out, out, g->n, out_stride, out_stride, false};
        stn_pool_for(pool, points, PAIRS_PER_TASK, halve_points, &h);
    }
}
