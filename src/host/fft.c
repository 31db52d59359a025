/* Axis after axis: lines are gathered in float64, transformed, put back. Between axes they stay in float64. */
#include "host/fft.h"

#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/half.h"
#include "host/fft_line.h"

/* Small transforms of a batch go axis by axis together, about so many points at once. */
#define WAVE_POINTS (1 << 20)

struct stn_host_fft {
    stn_fft fft;
    int passes, axes[3];    /* in the order in which they run */
    stn_fft_line *lines[3]; /* by axis; axes of equal extent share one */
    int64_t wave;           /* transforms that run together */
    int64_t room;           /* elements of each of a slot's two buffers */
    int slots;              /* pieces of a pass, each with buffers of its own */
};

/* Where a pass reads or writes: a side of the transform, or the float64 numbers between two passes. */
typedef struct view {
    void *base;
    stn_fft_side side;
    stn_dtype dtype;
} view;

typedef struct pass {
    const stn_host_fft *host;
    int axis;
    view from, to;
    double scale;
    int64_t lines;
    stn_complex *buffers;
} pass;

/* ---- elements ---------------------------------------------------------------------------------------------------- */

static double load_number(const view *v, int64_t at) {
    if (v->dtype == STN_F64) return ((const double *)v->base)[at];
    if (v->dtype == STN_F32) return (double)((const float *)v->base)[at];
    return (double)stn_half_to_float(((const uint16_t *)v->base)[at]);
}

static void store_number(const view *v, int64_t at, double value) {
    if (v->dtype == STN_F64)
        ((double *)v->base)[at] = value;
    else if (v->dtype == STN_F32)
        ((float *)v->base)[at] = (float)value;
    else
        ((uint16_t *)v->base)[at] = stn_float_to_half((float)value);
}

static stn_complex load(const view *v, int64_t at) {
    if (v->side.real) return (stn_complex){load_number(v, at), 0};
    return (stn_complex){load_number(v, 2 * at), load_number(v, 2 * at + 1)};
}

static void store(const view *v, int64_t at, stn_complex value) {
    if (v->side.real)
        store_number(v, at, value.re);
    else {
        store_number(v, 2 * at, value.re);
        store_number(v, 2 * at + 1, value.im);
    }
}

static stn_complex exchanged(stn_complex a) { return (stn_complex){a.im, a.re}; }

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* The first element of line `number` of a pass. */
static int64_t line_start(const view *v, int axis, int64_t number) {
    int64_t at = 0;
    for (int a = 2; a >= 0; a--) {
        if (a == axis) continue;
        at += number % v->side.n[a] * v->side.stride[a];
        number /= v->side.n[a];
    }
    return at + number * v->side.batch_stride;
}

/* The elements that a half spectrum leaves out are the conjugates of those that it has. */
static void gather(const pass *p, int64_t number, stn_complex *x) {
    const view *from = &p->from;
    int64_t n = p->host->fft.n[p->axis], known = from->side.n[p->axis], stride = from->side.stride[p->axis];
    int64_t start = line_start(from, p->axis, number);
    for (int64_t k = 0; k < known; k++) x[k] = load(from, start + k * stride);
    for (int64_t k = known; k < n; k++) x[k] = (stn_complex){x[n - k].re, -x[n - k].im};
    if (p->host->fft.inverse)
        for (int64_t k = 0; k < n; k++) x[k] = exchanged(x[k]);
}

static void scatter(const pass *p, int64_t number, const stn_complex *x) {
    const view *to = &p->to;
    int64_t wanted = to->side.n[p->axis], stride = to->side.stride[p->axis];
    int64_t start = line_start(to, p->axis, number);
    for (int64_t k = 0; k < wanted; k++) {
        stn_complex value = p->host->fft.inverse ? exchanged(x[k]) : x[k];
        store(to, start + k * stride, (stn_complex){value.re * p->scale, value.im * p->scale});
    }
}

static void run_slots(void *user, int64_t begin, int64_t end) {
    const pass *p = user;
    int64_t slots = p->host->slots;
    for (int64_t slot = begin; slot < end; slot++) {
        stn_complex *x = p->buffers + 2 * p->host->room * slot, *other = x + p->host->room;
        for (int64_t line = p->lines * slot / slots; line < p->lines * (slot + 1) / slots; line++) {
            gather(p, line, x);
            scatter(p, line, stn_fft_line_run(p->host->lines[p->axis], x, other));
        }
    }
}

/* ---- passes ------------------------------------------------------------------------------------------------------ */

/* What lies between two passes: the complex side's elements, dense. */
static stn_fft_side between(const stn_fft *fft) {
    const stn_fft_side *complex_side = fft->in.real ? &fft->out : &fft->in;
    stn_fft_side side = {.real = false};
    int64_t next = 1;
    for (int axis = 2; axis >= 0; axis--) {
        side.n[axis] = complex_side->n[axis];
        side.stride[axis] = next;
        next *= side.n[axis];
    }
    side.batch_stride = next;
    return side;
}

static void *moved(const stn_fft *fft, const stn_fft_side *side, const void *base, int64_t transform) {
    return (char *)base + transform * side->batch_stride * (int64_t)stn_fft_element(fft, side);
}

static void run_wave(const stn_host_fft *host, stn_pool *pool, const void *in, void *out, void *workspace,
                     int64_t count) {
    const stn_fft *fft = &host->fft;
    stn_fft_side side = between(fft);
    stn_complex *work = workspace;
    view middle = {work, side, STN_F64}, first = {(void *)in, fft->in, fft->dtype}, last = {out, fft->out, fft->dtype};
    int64_t held = host->passes > 1 ? host->wave * side.batch_stride : 0;
    for (int i = 0; i < host->passes; i++) {
        bool ends = i == host->passes - 1;
        pass p = {.host = host, .axis = host->axes[i], .from = i ? middle : first, .to = ends ? last : middle};
        p.scale = ends ? fft->scale : 1;
        p.buffers = work + held;
        p.lines = count;
        for (int a = 0; a < 3; a++)
            if (a != p.axis) p.lines *= p.from.side.n[a];
        stn_pool_for(pool, host->slots, 1, run_slots, &p);
    }
}

void stn_host_fft_run(const stn_host_fft *host, stn_pool *pool, const void *in, void *out, void *workspace) {
    const stn_fft *fft = &host->fft;
    for (int64_t first = 0; first < fft->batch; first += host->wave)
        run_wave(host, pool, moved(fft, &fft->in, in, first), moved(fft, &fft->out, out, first), workspace,
                 stn_min(host->wave, fft->batch - first));
}

size_t stn_host_fft_workspace(const stn_host_fft *host) {
    int64_t held = host->passes > 1 ? host->wave * between(&host->fft).batch_stride : 0;
    return (size_t)(held + 2 * host->room * host->slots) * sizeof(stn_complex);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* The real side's axis goes first on the way in and last on the way back. */
static void order_axes(stn_host_fft *host) {
    bool ascending = host->fft.kind == STN_C2R;
    for (int i = 0; i < 3; i++) {
        int axis = ascending ? i : 2 - i;
        if (axis == 2 || host->fft.n[axis] > 1) host->axes[host->passes++] = axis;
    }
}

stn_status stn_host_fft_create(const stn_fft *fft, int threads, stn_host_fft **made, stn_error *error) {
    *made = NULL;
    stn_host_fft *host = calloc(1, sizeof *host);
    if (!host) return stn_fail_memory(error, "a transform", sizeof *host);
    host->fft = *fft;
    order_axes(host);
    int64_t points = fft->n[0] * fft->n[1] * fft->n[2];
    host->wave = host->passes == 1 ? fft->batch : stn_min(fft->batch, stn_max(1, WAVE_POINTS / points));
    int64_t lines = host->wave * points;
    for (int axis = 0; axis < 3; axis++) {
        if (axis < 2 && fft->n[axis] == 1) continue;
        for (int before = 0; before < axis; before++)
            if (fft->n[before] == fft->n[axis]) host->lines[axis] = host->lines[before];
        if (!host->lines[axis]) {
            stn_status status = stn_fft_line_create(fft->n[axis], &host->lines[axis], error);
            if (status != STN_OK) {
                stn_host_fft_destroy(host);
                return status;
            }
        }
        host->room = stn_max(host->room, stn_fft_line_room(host->lines[axis]));
        lines = stn_min(lines, host->wave * points / fft->n[axis]);
    }
    host->slots = (int)stn_min(threads, lines);
    *made = host;
    return STN_OK;
}

void stn_host_fft_destroy(stn_host_fft *host) {
    if (!host) return;
    for (int axis = 0; axis < 3; axis++) {
        bool shared = false;
        for (int before = 0; before < axis; before++) shared = shared || host->lines[before] == host->lines[axis];
        if (!shared) stn_fft_line_destroy(host->lines[axis]);
    }
    free(host);
}
