/* The passes of host_spectral_passes.h. FFT(x) is a transform along axis x; brackets mark steps of
 * 3D grids only.
 *
 *     rows: FFT(x)  ->  [FFT(y)]  ->  last axis: FFT, times K^T, inverse
 *           ->  [inverse y]  ->  rows: inverse x
 *
 * A stack of snapshots stores the frequencies of the last axis, and repeats the later passes once
 * for each snapshot i, with the factor K^(i T):
 *
 *     rows: FFT(x)  ->  [FFT(y)]  ->  last axis: FFT, stored
 *     stored frequencies times K^(i T), inverse  ->  [inverse y]  ->  rows: inverse x
 *
 * A line is loaded through the images of its periodic extension (common/extension.h); only the
 * grid's own points are stored. Between passes the spectrum is complex float64 in the order
 * [grid][z][y or its frequency][frequency along x]. */
#include "strategies/host_spectral/host_spectral_passes.h"

#include <stdatomic.h>
#include <string.h>

#include "base/arith.h"
#include "strategies/host_spectral/element_access.h"

/* Scratch planes (real and imaginary) number `which` of the calling thread. */
static stn_planes planes_at(const grid_batch *w, double *planes, int which) {
    double *at = planes + 2 * which * w->s->capacity;
    return (stn_planes){at, at + w->s->capacity};
}

/* ---- rows in memory -------------------------------------------------------------------------- */

static void read_row(const stn_task *task, const char *from, double *line) {
    const int64_t n = task->n[2], stride = task->in_stride[2];
    if (task->dtype == STN_F64)
        for (int64_t i = 0; i < n; i++) line[i] = ((const double *)from)[i * stride];
    else
        for (int64_t i = 0; i < n; i++) line[i] = number_at(task->dtype, from, i * stride);
}

/* Element index of the first point of row number `row`, counted over all grids. */
static int64_t row_element(const stn_task *task, int64_t row, const int64_t stride[3], int64_t batch_stride) {
    const int64_t y = row % task->n[1], z = row / task->n[1] % task->n[0], grid = row / (task->n[1] * task->n[0]);
    return grid * batch_stride + z * stride[0] + y * stride[1];
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void forward(const grid_batch *w, int axis, stn_planes *x, stn_planes *other) {
    const stn_planes y = stn_fft_line_run(w->s->line[axis], w->words, *x, *other, w->s->lanes[axis]);
    if (y.re == x->re) return;
    *other = *x, *x = y;
}

/* Inverse transform: a forward transform with real and imaginary parts exchanged. */
static void backward(const grid_batch *w, int axis, stn_planes *x, stn_planes *other) {
    stn_planes a = {x->im, x->re}, b = {other->im, other->re};
    forward(w, axis, &a, &b);
    *x = (stn_planes){a.im, a.re}, *other = (stn_planes){b.im, b.re};
}

/* Fills all points of the periodic line from the grid's points. */
static void extend(const grid_batch *w, int axis, stn_planes *x, stn_planes *other) {
    const stn_extension *e = &w->s->axis[axis];
    const int64_t lanes = w->s->lanes[axis];
    if (e->repeats && e->length == e->n) return;
    for (int64_t p = 0; p < e->length; p++) {
        const int64_t from = w->s->image[axis][p] * lanes, to = p * lanes;
        const double sign = w->s->sign[axis][p];
        for (int64_t l = 0; l < lanes; l++) {
            other->re[to + l] = sign * x->re[from + l];
            other->im[to + l] = sign * x->im[from + l];
        }
    }
    const stn_planes was = *x;
    *x = *other, *other = was;
}

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct rows {
    int64_t first, count; /* Numbered over the rows of all grids. */
    int64_t place;        /* Index of the first row in a spectrum, in complex numbers. */
} rows;

/* The rows that a group may take: those of one plane, or of all grids if each row is a whole
 * problem. */
static int64_t rows_together(const grid_batch *w) { return w->task->rank == 1 ? w->grids : w->task->n[1]; }

static rows rows_of(const grid_batch *w, int64_t group) {
    const int64_t together = rows_together(w), lanes = w->s->lanes[2], groups = stn_div_up(together, lanes);
    const int64_t plane = group / groups, first = group % groups * lanes;
    return (rows){plane * together + first, stn_min(lanes, together - first),
                  plane * w->s->plane + first * w->s->pitch};
}

int64_t host_spectral_row_groups(const grid_batch *w) {
    const int64_t together = rows_together(w), all = w->grids * w->task->n[0] * w->task->n[1];
    return all / together * stn_div_up(together, w->s->lanes[2]);
}

/* Writes one row of doubles, periodically extended, to its lane. Halved rows are packed as pairs:
 * even points are real parts, odd points imaginary parts. */
static void put_row(const grid_batch *w, const double *row, stn_planes x, int64_t lane) {
    const shape *s = w->s;
    const int64_t length = s->axis[2].length, lanes = s->lanes[2], *image = s->image[2];
    const double *sign = s->sign[2];
    if (!s->packed_pairs) {
        for (int64_t p = 0; p < length; p++)
            x.re[p * lanes + lane] = sign[p] * row[image[p]], x.im[p * lanes + lane] = 0;
        return;
    }
    for (int64_t p = 0; p < length / 2; p++) {
        x.re[p * lanes + lane] = sign[2 * p] * row[image[2 * p]];
        x.im[p * lanes + lane] = sign[2 * p + 1] * row[image[2 * p + 1]];
    }
}

/* Half spectra of rows of the grid, or of the added terms (`added`). Lanes past the last row repeat
 * that row. */
static void rows_forward(const grid_batch *w, const rows *r, bool added, stn_planes *x, stn_planes *other) {
    const stn_task *task = w->task;
    const shape *s = w->s;
    const int64_t n = task->n[2], size = (int64_t)stn_dtype_size(task->dtype);
    for (int64_t l = 0; l < s->lanes[2]; l++) {
        const int64_t row = r->first + stn_min(l, r->count - 1);
        double *line = other->re;
        if (added)
            line = w->added + row * n;
        else {
            const char *from = w->in + row_element(task, row, task->in_stride, task->in_batch_stride) * size;
            read_row(task, from, line);
        }
        put_row(w, line, *x, l);
    }
    forward(w, 2, x, other);
    if (s->packed_pairs) w->words->to_half(*x, s->axis[2].length / 2, s->half_twiddles, s->lanes[2]);
}

static void store_rows(const grid_batch *w, const rows *r, stn_planes x, double *spectrum) {
    const shape *s = w->s;
    const int64_t lanes = s->lanes[2];
    double *to = spectrum + 2 * r->place;
    for (int64_t i = (s->axis[2].length / 2 + 1) * lanes; i < s->pitch * lanes; i++) x.re[i] = x.im[i] = 0;
    if (r->count == lanes) {
        w->words->store_along(to, x, s->pitch, s->pitch, lanes, 1);
        return;
    }
    for (int64_t l = 0; l < r->count; l++)
        for (int64_t k = 0; k < s->pitch; k++) {
            to[2 * (l * s->pitch + k)] = x.re[k * lanes + l];
            to[2 * (l * s->pitch + k) + 1] = x.im[k * lanes + l];
        }
}

static void load_rows(const grid_batch *w, const rows *r, stn_planes x) {
    const shape *s = w->s;
    const int64_t lanes = s->lanes[2], kept = w->kept;
    const double *from = w->spectrum[0] + 2 * r->place;
    if (r->count == lanes)
        w->words->load_along(x, from, kept, s->pitch, lanes);
    else
        for (int64_t k = 0; k < kept; k++)
            for (int64_t l = 0; l < lanes; l++) {
                const int64_t at = 2 * (stn_min(l, r->count - 1) * s->pitch + k);
                x.re[k * lanes + l] = from[at], x.im[k * lanes + l] = from[at + 1];
            }
    for (int64_t i = kept * lanes; i < (s->axis[2].length / 2 + 1) * lanes; i++) x.re[i] = x.im[i] = 0;
}

static void copy_points(const stn_task *task, const char *from, char *to, int64_t first, int64_t end) {
    const int64_t size = (int64_t)stn_dtype_size(task->dtype);
    for (int64_t i = first; i < end; i++)
        memcpy(to + i * task->out_stride[2] * size, from + i * task->in_stride[2] * size, (size_t)size);
}

/* Points that fixed boundaries freeze keep their input values; in-place grids already have them. */
static void write_row(const grid_batch *w, int64_t row, const double *line) {
    const stn_task *task = w->task;
    const int64_t(*updated)[2] = w->s->updated, size = (int64_t)stn_dtype_size(task->dtype);
    const int64_t y = row % task->n[1], z = row / task->n[1] % task->n[0];
    const char *from = w->in + row_element(task, row, task->in_stride, task->in_batch_stride) * size;
    char *to = w->out + row_element(task, row, task->out_stride, task->out_batch_stride) * size;
    const bool frozen = y < updated[1][0] || y >= updated[1][1] || z < updated[0][0] || z >= updated[0][1];
    const int64_t low = frozen ? task->n[2] : stn_min(updated[2][0], task->n[2]), high = stn_max(low, updated[2][1]);
    if (task->dtype == STN_F64)
        for (int64_t i = low; i < high; i++) ((double *)to)[i * task->out_stride[2]] = line[i];
    else
        for (int64_t i = low; i < high; i++) number_put(task->dtype, to, i * task->out_stride[2], line[i]);
    if (task->in_place) return;
    copy_points(task, from, to, 0, low);
    copy_points(task, from, to, high, task->n[2]);
}

static void rows_back(const grid_batch *w, const rows *r, stn_planes *x, stn_planes *other) {
    const shape *s = w->s;
    const int64_t lanes = s->lanes[2], length = s->axis[2].length, before = s->axis[2].before;
    double factor = 1;
    for (int axis = 0; axis < 3; axis++) factor /= (double)s->axis[axis].length;
    if (s->packed_pairs)
        w->words->from_half(*x, length / 2, s->half_twiddles, lanes);
    else
        for (int64_t k = length / 2 + 1; k < length; k++)
            for (int64_t l = 0; l < lanes; l++) {
                x->re[k * lanes + l] = x->re[(length - k) * lanes + l];
                x->im[k * lanes + l] = -x->im[(length - k) * lanes + l];
            }
    backward(w, 2, x, other);
    for (int64_t l = 0; l < r->count; l++) {
        double *line = other->re;
        for (int64_t i = 0; i < w->task->n[2]; i++) {
            const int64_t p = before + i;
            const double *plane = s->packed_pairs && p % 2 ? x->im : x->re;
            line[i] = factor * plane[(s->packed_pairs ? p / 2 : p) * lanes + l];
        }
        write_row(w, r->first + l, line);
    }
}

/* ---- passes ---------------------------------------------------------------------------------- */

void host_spectral_pass_added(const grid_batch *w, int64_t row, double *planes) {
    (void)planes;
    host_spectral_source_fill_row(w, row);
}

void host_spectral_pass_rows_forward(const grid_batch *w, int64_t group, double *planes) {
    const rows r = rows_of(w, group);
    for (int which = 0; which <= w->s->source; which++) {
        stn_planes x = planes_at(w, planes, 0), other = planes_at(w, planes, 1);
        rows_forward(w, &r, which, &x, &other);
        store_rows(w, &r, x, w->spectrum[which]);
    }
}

void host_spectral_pass_rows_back(const grid_batch *w, int64_t group, double *planes) {
    const rows r = rows_of(w, group);
    stn_planes x = planes_at(w, planes, 0), other = planes_at(w, planes, 1);
    load_rows(w, &r, x);
    rows_back(w, &r, &x, &other);
}

grid_batch host_spectral_batch_at_snapshot(const grid_batch *w, uint64_t i) {
    grid_batch at = *w;
    at.steps = (i + 1) * w->task->steps;
    at.kept = w->s->kept[stn_min(SHAPE_DOUBLINGS - 1, 63 - __builtin_clzll(i + 1))];
    at.out += (int64_t)i * w->task->snapshot_stride * (int64_t)stn_dtype_size(w->task->dtype);
    return at;
}

/* All transforms of a 1D problem in one pass. */
void host_spectral_pass_lines(const grid_batch *w, int64_t group, double *planes) {
    const rows r = rows_of(w, group);
    stn_planes x = planes_at(w, planes, 0), other = planes_at(w, planes, 1), b = {NULL, NULL};
    rows_forward(w, &r, false, &x, &other);
    if (w->s->source) {
        stn_planes spare = planes_at(w, planes, 3);
        b = planes_at(w, planes, 2);
        rows_forward(w, &r, true, &b, &spare);
    }
    const int64_t count = w->s->axis[2].length / 2 + 1, lanes = w->s->lanes[2];
    const size_t bytes = (size_t)(count * lanes) * sizeof *x.re;
    for (uint64_t i = 0; i < w->task->snapshots; i++) {
        const grid_batch at = host_spectral_batch_at_snapshot(w, i);
        stn_planes own = x, spare = other;
        if (w->task->snapshots > 1) {
            own = planes_at(w, planes, 4), spare = planes_at(w, planes, 5);
            memcpy(own.re, x.re, bytes), memcpy(own.im, x.im, bytes);
        }
        host_spectral_symbol_apply(w->s, at.steps, own, b, NULL, 0, count, lanes);
        rows_back(&at, &r, &own, &spare);
    }
}

/* A group of columns: along y in a plane, or along z at one frequency of y. */
typedef struct columns {
    /* Index of the first point, and stride between points, in complex numbers. */
    int64_t place, step;
    int64_t line; /* Index of the first column's coefficients in the symbol tables. */
} columns;

int64_t host_spectral_column_groups(const grid_batch *w, int axis) { return stn_div_up(w->kept, w->s->lanes[axis]); }

static columns columns_of(const grid_batch *w, int axis, int64_t group) {
    const shape *s = w->s;
    const int64_t groups = host_spectral_column_groups(w, axis), first = group % groups * s->lanes[axis],
                  outer = group / groups;
    if (axis == 1) return (columns){outer * s->plane + first, s->pitch, first};
    const int64_t y = outer % s->axis[1].length, grid = outer / s->axis[1].length;
    return (columns){grid * s->grid + y * s->pitch + first, s->plane, y * s->pitch + first};
}

static void columns_forward(const grid_batch *w, int axis, const columns *c, int which, stn_planes *x,
                            stn_planes *other) {
    const double *from = w->spectrum[which] + 2 * c->place;
    w->words->load_across(*x, from, w->task->n[axis], c->step, w->s->lanes[axis]);
    extend(w, axis, x, other);
    forward(w, axis, x, other);
}

void host_spectral_pass_middle_forward(const grid_batch *w, int64_t group, double *planes) {
    const columns c = columns_of(w, 1, group);
    for (int which = 0; which <= w->s->source; which++) {
        stn_planes x = planes_at(w, planes, 0), other = planes_at(w, planes, 1);
        columns_forward(w, 1, &c, which, &x, &other);
        w->words->store_across(w->spectrum[which] + 2 * c.place, x, w->s->axis[1].length, c.step, w->s->lanes[1], 1);
    }
}

static void store_inside(const grid_batch *w, int axis, const columns *c, stn_planes x) {
    const int64_t skipped = w->s->axis[axis].before * w->s->lanes[axis];
    const stn_planes inside = {x.re + skipped, x.im + skipped};
    w->words->store_across(w->spectrum[0] + 2 * c->place, inside, w->task->n[axis], c->step, w->s->lanes[axis], 1);
}

void host_spectral_pass_middle_back(const grid_batch *w, int64_t group, double *planes) {
    const columns c = columns_of(w, 1, group);
    stn_planes x = planes_at(w, planes, 0), other = planes_at(w, planes, 1);
    w->words->load_across(x, w->spectrum[0] + 2 * c.place, w->s->axis[1].length, c.step, w->s->lanes[1]);
    backward(w, 1, &x, &other);
    store_inside(w, 1, &c, x);
}

/* The stored frequencies of a group of columns, of the grids (which = 0) or of the added terms
 * (1). */
static double *stored_at(const grid_batch *w, int64_t group, int which) {
    const int axis = w->s->last;
    const int64_t groups = host_spectral_column_groups(w, axis), all = stn_div_up(w->s->domain.kept, w->s->lanes[axis]);
    group = group / groups * all + group % groups;
    return w->stored + ((w->s->source ? 2 : 1) * group + which) * host_spectral_shape_stored(w->s);
}

void host_spectral_pass_store_spectrum(const grid_batch *w, int64_t group, double *planes) {
    const int axis = w->s->last;
    const columns c = columns_of(w, axis, group);
    const int64_t numbers = host_spectral_shape_stored(w->s) / 2;
    for (int which = 0; which <= w->s->source; which++) {
        stn_planes x = planes_at(w, planes, 0), other = planes_at(w, planes, 1);
        double *to = stored_at(w, group, which);
        columns_forward(w, axis, &c, which, &x, &other);
        memcpy(to, x.re, (size_t)numbers * sizeof *to), memcpy(to + numbers, x.im, (size_t)numbers * sizeof *to);
    }
}

/* The frequencies of a group of columns: transformed now, or read from the stored ones. */
static void last_forward(const grid_batch *w, const columns *c, int64_t group, int which, stn_planes *x,
                         stn_planes *other) {
    const int64_t numbers = host_spectral_shape_stored(w->s) / 2;
    if (!w->stored) {
        columns_forward(w, w->s->last, c, which, x, other);
        return;
    }
    const double *from = stored_at(w, group, which);
    memcpy(x->re, from, (size_t)numbers * sizeof *from), memcpy(x->im, from + numbers, (size_t)numbers * sizeof *from);
}

void host_spectral_pass_last(const grid_batch *w, int64_t group, double *planes) {
    const int axis = w->s->last;
    const columns c = columns_of(w, axis, group);
    stn_planes x = planes_at(w, planes, 0), other = planes_at(w, planes, 1), b = {NULL, NULL};
    last_forward(w, &c, group, 0, &x, &other);
    if (w->s->source) {
        stn_planes spare = planes_at(w, planes, 3);
        b = planes_at(w, planes, 2);
        last_forward(w, &c, group, 1, &b, &spare);
    }
    stn_planes sums[2] = {planes_at(w, planes, 4), planes_at(w, planes, 5)}, spare = planes_at(w, planes, 6);
    for (int which = 0; which < 2 && w->s->transforms_polynomials; which++) {
        host_spectral_symbol_coefficients(w->s, which, c.line, sums[which], w->s->lanes[axis]);
        (which ? forward : backward)(w, axis, &sums[which], &spare);
    }
    host_spectral_symbol_apply(w->s, w->steps, x, b, sums, c.line, w->s->axis[axis].length, w->s->lanes[axis]);
    backward(w, axis, &x, &other);
    store_inside(w, axis, &c, x);
}

/* ---- a run: for each batch of grids, all passes one after another ---------------------------- */

typedef struct pass {
    const grid_batch *w;
    pass_work *run;
    int64_t groups;
    stn_watch *watch;
    _Atomic int64_t next;
} pass;

/* Each thread takes the next group until none is left: groups need not take the same time. */
static void run_slots(void *user, int64_t begin, int64_t end) {
    pass *p = user;
    for (int64_t slot = begin; slot < end; slot++)
        for (int64_t group; (group = atomic_fetch_add(&p->next, 1)) < p->groups && stn_watch_continues(p->watch);)
            p->run(p->w, group, p->w->planes + slot * host_spectral_shape_planes(p->w->s));
}

static void run_pass(const grid_batch *w, stn_pool *pool, pass_work *run, int64_t groups) {
    pass p = {.w = w, .run = run, .groups = groups, .watch = stn_pool_watched(pool)};
    stn_pool_for(pool, stn_min(stn_pool_threads(pool), groups), 1, run_slots, &p);
}

static int64_t last_groups(const grid_batch *w) {
    const shape *s = w->s;
    return w->grids * (s->last == 0 ? s->axis[1].length : 1) * host_spectral_column_groups(w, s->last);
}

static void run_back(const grid_batch *w, stn_pool *pool) {
    const shape *s = w->s;
    run_pass(w, pool, host_spectral_pass_last, last_groups(w));
    if (s->last == 0)
        run_pass(w, pool, host_spectral_pass_middle_back, w->grids * w->task->n[0] * host_spectral_column_groups(w, 1));
    run_pass(w, pool, host_spectral_pass_rows_back, host_spectral_row_groups(w));
}

static void run_batch(const grid_batch *w, stn_pool *pool) {
    const shape *s = w->s;
    const int64_t planes = w->grids * w->task->n[0];
    if (s->source) run_pass(w, pool, host_spectral_pass_added, planes * w->task->n[1]);
    if (w->task->rank == 1) {
        run_pass(w, pool, host_spectral_pass_lines, host_spectral_row_groups(w));
        return;
    }
    run_pass(w, pool, host_spectral_pass_rows_forward, host_spectral_row_groups(w));
    if (s->last == 0) run_pass(w, pool, host_spectral_pass_middle_forward, planes * host_spectral_column_groups(w, 1));
    if (w->stored) run_pass(w, pool, host_spectral_pass_store_spectrum, last_groups(w));
    for (uint64_t i = 0; i < w->task->snapshots; i++) {
        const grid_batch at = host_spectral_batch_at_snapshot(w, i);
        run_back(&at, pool);
    }
}

void host_spectral_passes_run(const stn_task *task, const shape *s, stn_pool *pool, const stn_execution *run) {
    const int64_t size = (int64_t)stn_dtype_size(task->dtype),
                  spectrum = task->rank == 1 ? 0 : 2 * s->grid * s->batch_grids;
    for (int64_t first = 0; first < task->batch; first += s->batch_grids) {
        double *work = run->workspace;
        grid_batch w = {
            .task = task, .s = s, .words = stn_fft_kernels_best(), .kept = s->domain.kept, .steps = task->steps};
        w.in = (const char *)run->in + first * task->in_batch_stride * size;
        w.out = (char *)run->out + first * task->out_batch_stride * size;
        if (run->source) w.source = (const char *)run->source + first * task->source_batch_stride * size;
        w.grids = stn_min(s->batch_grids, task->batch - first);
        w.spectrum[0] = work, w.spectrum[1] = work + spectrum;
        w.added = work + (s->source ? 2 : 1) * spectrum;
        if (task->snapshots > 1 && task->rank > 1)
            w.stored = work + host_spectral_shape_between(task, s) - host_spectral_shape_all_stored(task, s);
        w.planes = work + host_spectral_shape_between(task, s);
        run_batch(&w, pool);
    }
}

size_t host_spectral_passes_workspace(const stn_task *task, const shape *s, int threads) {
    return (size_t)(host_spectral_shape_between(task, s) + threads * host_spectral_shape_planes(s)) * sizeof(double);
}
