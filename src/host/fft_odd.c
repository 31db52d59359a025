/* FFT of one long line of an odd number n = n1 n2 of real numbers, in two passes (four-step FFT).
 * With w_N = exp(-2 pi i / N), j = n2 j1 + j2 and k = k1 + n1 k2:
 *
 *     T[k1, j2]      = w_n^(j2 k1) * sum over j1 of x[n2 j1 + j2] * w_n1^(j1 k1)
 *     X[k1 + n1 k2]  = sum over j2 of T[k1, j2] * w_n2^(j2 k2)
 *
 * Columns (fixed j2) are real, so two of them are transformed as one complex line, and only k1 <=
 * n1 / 2 is needed, as X[n - k] is the conjugate of X[k]. The inverse takes the same steps
 * backwards. The workspace holds half of T between the passes. */
#include "host/fft_odd.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "host/fft_group.h"
#include "host/fft_line.h"

#define SHORTEST_LINE 500
/* Points; shorter lines are finished before a second thread has started */
#define SHARED_LINE 40000
#define SHORTEST_OF_BATCH 4000 /* points; several shorter lines fit in a cache, and fill vectors */
#define MIN_SIDE 7
#define PLANE_PADDING 136 /* as in fft_axes.c */

struct stn_fft_odd {
    stn_fft fft;
    const stn_fft_kernels *kernels;
    int64_t side[2];         /* n1, n2 */
    int64_t lines[2];        /* pairs of columns; rows */
    stn_fft_line *line[2];   /* transforms of n1 and n2 points */
    int64_t lanes[2];        /* lines in a group: pairs of columns; rows */
    int tasks;               /* each takes one group after the other */
    int64_t pitch, capacity; /* elements between rows in the workspace; numbers of a task's plane */
    stn_fft_number *coarse;  /* w_n^(j2 k1) of the first column of each group, k1 fastest, pairs */
    stn_fft_number *fine;    /* w_n^(c k1) of column c of a group, c fastest, pairs */
};

typedef struct pass {
    const stn_fft_odd *g;
    int which; /* 0: columns, 1: rows */
    const stn_fft_number *from;
    stn_fft_number *to, *planes, factor;
    stn_watch *watch;
    _Atomic int64_t next; /* next unclaimed group */
} pass;

/* ---- applicability */

/* The largest divisor that is at most sqrt(n). */
static int64_t shorter_side(int64_t n) {
    int64_t side = 1;
    for (int64_t d = 3; d * d <= n; d += 2)
        if (n % d == 0) side = d;
    return side;
}

bool stn_fft_odd_serves(const stn_fft *fft) {
    const int64_t n = fft->n[2];
    if (fft->kind == STN_C2C || n % 2 == 0 || n < (fft->batch > 2 ? SHORTEST_OF_BATCH : SHORTEST_LINE)) return false;
    if (fft->n[0] * fft->n[1] != 1 || fft->dtype != STN_FFT_DTYPE) return false;
    return shorter_side(n) >= MIN_SIDE;
}

/* ---- tables */

static int64_t spectrum_rows(const stn_fft_odd *g) { return g->side[0] / 2 + 1; } /* rows of T */
static int64_t middle_size(const stn_fft_odd *g) { return 2 * spectrum_rows(g) * g->pitch; }

static bool make_twiddles(stn_fft_odd *g) {
    const int64_t columns = 2 * g->lanes[0], groups = stn_div_up(g->lines[0], g->lanes[0]), points = spectrum_rows(g);
    const int64_t n = g->fft.n[2];
    stn_fft_number *all = stn_fft_twiddles(n, n);
    g->coarse = malloc((size_t)(groups * points) * 2 * sizeof *g->coarse);
    g->fine = malloc((size_t)(columns * points) * 2 * sizeof *g->fine);
    const bool made = all && g->coarse && g->fine;
    for (int64_t k = 0; made && k < points; k++) {
        for (int64_t i = 0; i < groups; i++)
            for (int part = 0; part < 2; part++)
                g->coarse[2 * (i * points + k) + part] = all[2 * (i * columns * k % n) + part];
        for (int64_t c = 0; c < columns; c++)
            for (int part = 0; part < 2; part++) g->fine[2 * (k * columns + c) + part] = all[2 * (c * k % n) + part];
    }
    free(all);
    return made;
}

stn_status stn_fft_odd_create(const stn_fft *fft, int threads, int64_t (*lanes)(int64_t capacity, int64_t lines),
                              stn_fft_odd **made, stn_error *error) {
    *made = NULL;
    stn_fft_odd *g = calloc(1, sizeof *g);
    if (!g) return stn_fail_memory(error, "a transform", sizeof *g);
    stn_status status = STN_OK;
    g->fft = *fft;
    g->kernels = stn_fft_kernels_best();
    g->side[0] = shorter_side(fft->n[2]), g->side[1] = fft->n[2] / g->side[0];
    g->lines[0] = g->side[1] / 2 + 1, g->lines[1] = spectrum_rows(g);
    g->pitch = g->side[1] + 64 / (int64_t)sizeof(stn_fft_number);
    g->tasks = fft->n[2] < SHARED_LINE ? 1 : threads;
    for (int i = 0; i < 2 && status == STN_OK; i++) {
        status = stn_fft_line_create(g->side[i], &g->line[i], error);
        const int64_t capacity = status == STN_OK ? stn_fft_line_capacity(g->line[i]) : 0;
        g->lanes[i] = lanes(capacity, g->lines[i]);
        g->capacity = stn_max(g->capacity, capacity * g->lanes[i]);
    }
    g->capacity = stn_round_up(g->capacity, 512) + PLANE_PADDING;
    if (status == STN_OK && !make_twiddles(g))
        status = stn_fail_memory(error, "the tables of a transform", (size_t)fft->n[2] * 2 * sizeof *g->fine);
    if (status != STN_OK) return stn_fft_odd_destroy(g), status;
    *made = g;
    return STN_OK;
}

void stn_fft_odd_destroy(stn_fft_odd *g) {
    if (!g) return;
    stn_fft_line_destroy(g->line[0]);
    stn_fft_line_destroy(g->line[1]);
    free(g->coarse);
    free(g->fine);
    free(g);
}

int64_t stn_fft_odd_workspace(const stn_fft_odd *g) { return middle_size(g) + 4 * g->capacity * g->tasks; }

/* ---- columns */

/* Loads the real numbers of two columns into each lane, as real and imaginary parts. */
static void load_columns(const pass *p, int64_t first, int64_t count, stn_planes x) {
    const stn_fft_odd *g = p->g;
    const int64_t lanes = g->lanes[0], columns = g->side[1], stride = g->fft.in.stride[2];
    for (int64_t k = 0; k < g->side[0]; k++) {
        const stn_fft_number *from = p->from + (k * columns + 2 * first) * stride;
        stn_fft_number *re = x.re + k * lanes, *im = x.im + k * lanes;
        for (int64_t l = 0; l < lanes; l++) {
            re[l] = l < count ? from[2 * l * stride] : 0;
            im[l] = l < count && 2 * (first + l) + 1 < columns ? from[(2 * l + 1) * stride] : 0;
        }
    }
}

static void store_columns(const pass *p, int64_t first, int64_t count, stn_planes x) {
    const stn_fft_odd *g = p->g;
    const int64_t lanes = g->lanes[0], columns = g->side[1], stride = g->fft.out.stride[2];
    for (int64_t k = 0; k < g->side[0]; k++) {
        stn_fft_number *to = p->to + (k * columns + 2 * first) * stride;
        for (int64_t l = 0; l < count; l++) {
            to[2 * l * stride] = p->factor * x.re[k * lanes + l];
            if (2 * (first + l) + 1 < columns) to[(2 * l + 1) * stride] = p->factor * x.im[k * lanes + l];
        }
    }
}

/* Separates Z = A + i B, the transforms of pairs of columns, into the spectra A and B, from Z[k]
 * and Z[n1 - k], and stores them with twiddle factors as rows of T. */
static void split(const pass *p, int64_t group, int64_t count, stn_planes x) {
    const stn_fft_odd *g = p->g;
    const int64_t lanes = g->lanes[0], n = g->side[0], points = spectrum_rows(g);
    const stn_fft_number f = p->factor;
    for (int64_t k = 0; k < points; k++) {
        const int64_t other = k ? n - k : 0;
        const stn_fft_number cr = g->coarse[2 * (group * points + k)], ci = g->coarse[2 * (group * points + k) + 1];
        const stn_fft_number *fine = g->fine + 4 * k * lanes;
        stn_fft_number *to = p->to + 2 * (k * g->pitch + 2 * group * lanes);
        for (int64_t l = 0; l < count; l++) {
            const stn_fft_number zr = f * x.re[k * lanes + l], zi = f * x.im[k * lanes + l];
            const stn_fft_number yr = f * x.re[other * lanes + l], yi = f * x.im[other * lanes + l];
            const stn_fft_number ar = zr + yr, ai = zi - yi, br = zi + yi, bi = yr - zr;
            const stn_fft_number *w = fine + 4 * l;
            const stn_fft_number ur = w[0] * cr - w[1] * ci, ui = w[0] * ci + w[1] * cr;
            const stn_fft_number vr = w[2] * cr - w[3] * ci, vi = w[2] * ci + w[3] * cr;
            to[4 * l] = ar * ur - ai * ui, to[4 * l + 1] = ar * ui + ai * ur;
            to[4 * l + 2] = br * vr - bi * vi, to[4 * l + 3] = br * vi + bi * vr;
        }
    }
}

/* The inverse of split. */
static void join(const pass *p, int64_t group, int64_t count, stn_planes x) {
    const stn_fft_odd *g = p->g;
    const int64_t lanes = g->lanes[0], n = g->side[0], points = spectrum_rows(g);
    for (int64_t k = 0; k < points; k++) {
        const int64_t other = k ? n - k : 0;
        const stn_fft_number cr = g->coarse[2 * (group * points + k)], ci = -g->coarse[2 * (group * points + k) + 1];
        const stn_fft_number *fine = g->fine + 4 * k * lanes;
        const stn_fft_number *from = p->from + 2 * (k * g->pitch + 2 * group * lanes);
        for (int64_t l = 0; l < lanes; l++) {
            const int64_t at = stn_min(l, count - 1);
            const stn_fft_number *w = fine + 4 * at, *t = from + 4 * at;
            const bool both = 2 * (group * lanes + at) + 1 < g->side[1];
            const stn_fft_number ur = w[0] * cr + w[1] * ci, ui = w[0] * ci - w[1] * cr;
            const stn_fft_number vr = w[2] * cr + w[3] * ci, vi = w[2] * ci - w[3] * cr;
            const stn_fft_number ar = t[0] * ur - t[1] * ui, ai = k ? t[0] * ui + t[1] * ur : 0;
            const stn_fft_number br = both ? t[2] * vr - t[3] * vi : 0, bi = both && k ? t[2] * vi + t[3] * vr : 0;
            x.re[k * lanes + l] = ar - bi, x.im[k * lanes + l] = ai + br;
            x.re[other * lanes + l] = ar + bi, x.im[other * lanes + l] = br - ai;
        }
    }
}

/* ---- rows */

/* Loads elements k1 + n1 k2 of the whole spectrum; those in its second half are conjugates. */
static void load_rows(const pass *p, int64_t first, int64_t count, stn_planes x) {
    const stn_fft_odd *g = p->g;
    const int64_t lanes = g->lanes[1], n = g->fft.n[2], stride = 2 * g->fft.in.stride[2];
    for (int64_t k = 0; k < g->side[1]; k++) {
        const bool past = k > g->side[1] / 2;
        const int64_t at = first + g->side[0] * k, step = past ? -stride : stride;
        const stn_fft_number *from = p->from + (past ? n - at : at) * stride;
        for (int64_t l = 0; l < lanes; l++) {
            const stn_fft_number *z = from + stn_min(l, count - 1) * step;
            x.re[k * lanes + l] = z[0], x.im[k * lanes + l] = past ? -z[1] : z[1];
        }
    }
    if (!first) x.im[0] = 0; /* frequency 0 is real */
}

static void store_rows(const pass *p, int64_t first, int64_t count, stn_planes x) {
    const stn_fft_odd *g = p->g;
    const int64_t lanes = g->lanes[1], n = g->fft.n[2], stride = 2 * g->fft.out.stride[2];
    const stn_fft_number f = p->factor;
    for (int64_t k = 0; k < g->side[1]; k++) {
        const bool past = k > g->side[1] / 2;
        const int64_t at = first + g->side[0] * k, step = past ? -stride : stride;
        stn_fft_number *to = p->to + (past ? n - at : at) * stride;
        for (int64_t l = past && !first; l < count; l++) { /* row 0 has both halves */
            to[l * step] = f * x.re[k * lanes + l];
            to[l * step + 1] = past ? -f * x.im[k * lanes + l] : f * x.im[k * lanes + l];
        }
    }
}

/* The rows of T as a view. */
static stn_fft_view rows_of(const stn_fft_odd *g, const stn_fft_number *base) {
    const stn_fft_side side = {
        .real = false, .n = {1, spectrum_rows(g), g->side[1]}, .stride = {0, g->pitch, 1}, .batch_stride = 0};
    return (stn_fft_view){(void *)base, side, STN_FFT_DTYPE};
}

/* ---- the transform */

static stn_planes swapped(stn_planes a) { return (stn_planes){a.im, a.re}; }

static void run_group(const pass *taken, int64_t group, stn_fft_number *planes) {
    const stn_fft_odd *g = taken->g;
    const int64_t lanes = g->lanes[taken->which], points = g->side[taken->which], first = group * lanes;
    const int64_t count = stn_min(lanes, g->lines[taken->which] - first);
    const bool inverse = g->fft.inverse;
    const stn_fft_group at = {.axis = 2, .line = first, .count = count};
    stn_planes x = {planes, planes + g->capacity}, other = {planes + 2 * g->capacity, planes + 3 * g->capacity};
    stn_fft_number restoring[STN_FFT_LANES];
    pass p = {.g = g, .from = taken->from, .to = taken->to, .factor = taken->factor};
    if (!taken->which && inverse) join(&p, group, count, x);
    if (!taken->which && !inverse) load_columns(&p, first, count, x);
    if (taken->which) {
        const stn_fft_view rows = rows_of(g, p.from);
        if (inverse)
            load_rows(&p, first, count, x);
        else
            stn_fft_group_load(&rows, &at, g->kernels, x, lanes);
    }
    const bool scaled_down = stn_fft_group_scale_down(g->kernels, x, points, points, lanes, restoring);
    if (inverse) x = swapped(x), other = swapped(other);
    x = stn_fft_line_run(g->line[taken->which], g->kernels, x, other, lanes);
    if (inverse) x = swapped(x);
    if (scaled_down) {
        stn_fft_group_scale_up(x, points, lanes, restoring, p.factor);
        p.factor = 1;
    }
    if (!taken->which && inverse) store_columns(&p, first, count, x);
    if (!taken->which && !inverse) split(&p, group, count, x);
    if (taken->which) {
        const stn_fft_view rows = rows_of(g, p.to);
        if (inverse)
            stn_fft_group_store(&rows, &at, g->kernels, x, lanes, p.factor);
        else
            store_rows(&p, first, count, x);
    }
}

static void run_tasks(void *user, int64_t begin, int64_t end) {
    pass *p = user;
    const int64_t groups = stn_div_up(p->g->lines[p->which], p->g->lanes[p->which]);
    for (int64_t task = begin; task < end; task++)
        for (int64_t group; (group = atomic_fetch_add(&p->next, 1)) < groups && stn_watch_continues(p->watch);)
            run_group(p, group, p->planes + 4 * p->g->capacity * task);
}

/* The factor 0.5 prevents overflow: forward because Z, made of two columns, may be larger than the
 * results; the inverse likewise halves T. */
void stn_fft_odd_run(const stn_fft_odd *g, stn_pool *pool, const void *in, void *out, stn_fft_number *workspace) {
    const bool inverse = g->fft.inverse;
    const int which = inverse; /* the first pass */
    const double share = stn_fft_share(g->fft.scale, g->side[which]);
    pass first = {.g = g, .which = which, .from = in, .to = workspace, .factor = (stn_fft_number)(0.5 * share)};
    pass last = {.g = g, .which = !which, .from = workspace, .to = out};
    last.factor = (stn_fft_number)(g->fft.scale / share * (inverse ? 2 : 1));
    first.planes = last.planes = workspace + middle_size(g);
    first.watch = last.watch = stn_pool_watched(pool);
    stn_pool_for(pool, g->tasks, 1, run_tasks, &first);
    stn_pool_for(pool, g->tasks, 1, run_tasks, &last);
}
