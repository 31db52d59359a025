/* See passes.h.
 *
 *     levels -> differences, extended past mirrors -> transform
 *            -> matrix power -> inverse -> levels
 *
 * Each state of a stack is computed from the one before it; its inverse transforms write to
 * `stage`, so that the spectra are kept. Arrays are [number of the state][batch][extended extent]
 * in float64, with rows padded for transforms in place. */
#include "strategies/modes/passes.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/half.h"
#include "strategies/modes/symmetry.h"

enum {
    SHARES = 4, /* parts into which the pieces are divided, for each thread */
    PIECE = 128 /* the most frequencies of a row in one piece */
};
#define ALIGNED 256
#define MAX_KEPT 5.0 /* bytes of powers that are kept, as a multiple of those of the spectra */

static size_t rounded(size_t bytes) { return (size_t)stn_round_up((int64_t)bytes, ALIGNED); }

/* ---- making it ------------------------------------------------------------------------------ */

stn_status modes_transform(const modes_linear *l, stn_dtype dtype, modes_layout layout, int64_t batch, double scale,
                           stn_fft *fft, stn_error *error) {
    const int rank = l->task->rank;
    const int64_t pitch = l->axis[2].length / 2 + 1, grid = modes_grid(l);
    const bool inverse = layout.inverse;
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = rank, t.batch = (size_t)batch, t.dtype = dtype, t.in_place = layout.in_place;
    t.kind = inverse ? STN_C2R : STN_R2C;
    t.inverse_scale = scale;
    t.alignment = (size_t)layout.alignment;
    ptrdiff_t complex_stride = 1, real_stride = 1;
    for (int own = rank - 1; own >= 0; own--) {
        const int64_t length = l->axis[3 - rank + own].length;
        const bool last = own == rank - 1;
        t.extent[own] = (size_t)length;
        (inverse ? t.in_stride : t.out_stride)[own] = complex_stride;
        (inverse ? t.out_stride : t.in_stride)[own] = real_stride;
        complex_stride *= last ? pitch : length;
        real_stride *= last && !layout.dense ? 2 * pitch : length;
    }
    t.in_batch_stride = inverse ? grid : layout.dense ? real_stride : 2 * grid;
    t.out_batch_stride = !inverse ? grid : layout.dense ? real_stride : 2 * grid;
    return stn_fft_make(&t, fft, error);
}

static stn_status make_transform(const modes_passes *p, bool inverse, bool in_place, int64_t batch, int threads,
                                 stn_host_fft **made, stn_error *error) {
    stn_fft fft;
    double scale = 1;
    for (int axis = 0; axis < 3; axis++) scale /= (double)p->linear.axis[axis].length;
    STN_TRY(modes_transform(&p->linear, STN_F64, (modes_layout){.inverse = inverse, .in_place = in_place}, batch, scale,
                            &fft, error));
    return stn_host_fft_create(&fft, threads, made, error);
}

static stn_status make_transforms(modes_passes *p, int threads, stn_error *error) {
    const stn_system_task *task = p->linear.task;
    STN_TRY(make_transform(p, false, true, task->batch * p->linear.width, threads, &p->forward, error));
    if (!task->stack)
        STN_TRY(make_transform(p, true, true, task->batch * p->linear.width, threads, &p->inverse, error));
    if (!task->stack && !task->nreceivers) return STN_OK;
    return make_transform(p, true, false, task->batch, threads, &p->inverse_one, error);
}

static void lay_out(modes_passes *p, int threads) {
    const stn_system_task *task = p->linear.task;
    const int64_t half = p->pitch;
    size_t transforms = stn_host_fft_workspace(p->forward), terms;
    int levels = 0;
    for (int f = 0; f < task->system->nfields; f++) levels = (int)stn_max(levels, task->system->fields[f].levels);
    for (int i = 0; i < 2; i++)
        p->rows[i] = p->linear.even[i] ? p->linear.axis[i].length / 2 + 1 : p->linear.axis[i].length;
    p->row_pieces = stn_div_up(half, PIECE);
    p->shares = (int)stn_min(threads > 1 ? SHARES * threads : 1, p->rows[0] * p->rows[1] * p->row_pieces);
    terms =
        (size_t)(p->linear.reach[0] + p->linear.reach[1] + 2 + p->linear.nterms + p->lanes->lanes) * sizeof(modes_pair);
    p->constants = rounded((size_t)task->system->nnodes * sizeof(double));
    p->spectra = rounded((size_t)(task->batch * p->linear.width * p->grid) * 2 * sizeof(double));
    p->stage = p->inverse_one ? rounded((size_t)(task->batch * levels * p->grid) * 2 * sizeof(double)) : 0;
    p->per_piece = stn_div_up(stn_div_up(half, p->row_pieces), p->lanes->lanes);
    p->powers = (size_t)(p->rows[0] * p->rows[1] * p->row_pieces * p->per_piece) * p->lanes->power_bytes(&p->linear);
    p->powers = modes_keeps_powers(&p->linear, (double)p->powers) ? rounded(p->powers) : 0;
    p->scratch = rounded(p->lanes->scratch(&p->linear)) + rounded(terms);
    for (int i = 0; i < 2; i++) {
        stn_host_fft *back = i ? p->inverse : p->inverse_one;
        if (back && stn_host_fft_workspace(back) > transforms) transforms = stn_host_fft_workspace(back);
    }
    p->shared = (size_t)stn_max((int64_t)rounded(transforms), (int64_t)(p->scratch * (size_t)p->shares));
}

uint64_t modes_steps_per_state(const stn_system_task *task) {
    uint64_t a = task->steps, b = task->nreceivers ? task->record_every : a;
    while (b) {
        const uint64_t rest = a % b;
        a = b, b = rest;
    }
    return a;
}

double modes_spectra_bytes(const modes_linear *l) {
    double numbers = (double)l->width * (double)l->task->batch;
    for (int axis = 0; axis < 3; axis++) numbers *= (double)l->axis[axis].length;
    return numbers * sizeof(double);
}

bool modes_keeps_powers(const modes_linear *l, double bytes) {
    const stn_system_task *task = l->task;
    const uint64_t steps = modes_steps_per_state(task);
    return steps > 0 && task->steps * task->states / steps > 1 && bytes <= MAX_KEPT * modes_spectra_bytes(l);
}

stn_status modes_passes_make(const stn_system_task *task, int threads, modes_passes *p, stn_error *error) {
    char reason[160];
    p->lanes = modes_lanes_best();
    p->steps_per_state = modes_steps_per_state(task);
    if (!modes_analyse(task, &p->linear, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "%s", reason);
    for (int axis = 0; axis < 3; axis++) STN_TRY(modes_roots_make(p->linear.axis[axis].length, &p->roots[axis], error));
    p->pitch = p->linear.axis[2].length / 2 + 1;
    p->grid = modes_grid(&p->linear);
    STN_TRY(make_transforms(p, threads, error));
    lay_out(p, threads);
    return STN_OK;
}

void modes_passes_clear(modes_passes *p) {
    stn_host_fft_destroy(p->forward);
    stn_host_fft_destroy(p->inverse);
    stn_host_fft_destroy(p->inverse_one);
    for (int axis = 0; axis < 3; axis++) modes_roots_clear(&p->roots[axis]);
    modes_linear_clear(&p->linear);
}

size_t modes_passes_workspace(const modes_passes *p) {
    return p->constants + p->spectra + p->stage + p->powers + p->shared;
}

/* ---- a run ---------------------------------------------------------------------------------- */

typedef struct pass {
    const modes_passes *p;
    const stn_system_arrays *arrays;
    double *constants, *spectra, *stage;
    char *powers, *shared;
    bool again; /* the powers of the previous state are used again */
    int64_t pieces, shares;
    int field;      /* the field that is stored; -1: all */
    uint64_t state; /* the state of a stack that is stored next */
} pass;

static void read_row(stn_dtype dtype, const void *from, int64_t at, int64_t n, int sign, double *to) {
    const double by = sign;
    if (dtype == STN_F64)
        for (int64_t i = 0; i < n; i++) to[i] = by * ((const double *)from)[at + i];
    else if (dtype == STN_F32)
        for (int64_t i = 0; i < n; i++) to[i] = by * (double)((const float *)from)[at + i];
    else
        for (int64_t i = 0; i < n; i++) to[i] = by * (double)stn_half_to_float(((const uint16_t *)from)[at + i]);
}

static void write_row(stn_dtype dtype, void *to, int64_t at, int64_t n, const double *from) {
    if (dtype == STN_F64)
        memcpy((double *)to + at, from, (size_t)n * sizeof *from);
    else if (dtype == STN_F32)
        for (int64_t i = 0; i < n; i++) ((float *)to)[at + i] = (float)from[i];
    else
        for (int64_t i = 0; i < n; i++) ((uint16_t *)to)[at + i] = stn_float_to_half((float)from[i]);
}

/* Row `row` of number `first` of the state, in grid `grid` of the batch. */
static double *row_at(const modes_passes *p, double *numbers, int64_t first, int64_t grid, int64_t row) {
    return numbers + 2 * ((first * p->linear.task->batch + grid) * p->grid + row * p->pitch);
}

/* Reads rows of the extended grids, and replaces the levels of each field by their differences,
 * which lose fewer digits (linear.h). */
static void load_rows(void *user, int64_t begin, int64_t end) {
    const pass *r = user;
    const modes_passes *p = r->p;
    const stn_system_task *task = p->linear.task;
    const modes_axis *axis = p->linear.axis;
    const int64_t plane = axis[0].length * axis[1].length, level_stride = 2 * task->batch * p->grid, n = axis[2].n;
    for (int64_t i = begin; i < end; i++)
        for (int f = 0; f < task->system->nfields; f++) {
            int signs[3];
            const int64_t z = modes_image(&axis[0], f, i % plane / axis[1].length, &signs[0]);
            const int64_t y = modes_image(&axis[1], f, i % axis[1].length, &signs[1]);
            const int64_t from = ((i / plane * axis[0].n + z) * axis[1].n + y) * n;
            const int levels = task->system->fields[f].levels;
            double *to = row_at(p, r->spectra, p->linear.first[f], i / plane, i % plane);
            for (int l = 0; l < levels; l++)
                read_row(task->dtype, r->arrays->in[task->first[f] + l], from, n, signs[0] * signs[1],
                         to + l * level_stride);
            for (int j = 1; j < levels; j++)
                for (int l = levels - 1; l >= j; l--)
                    for (int64_t x = 0; x < n; x++)
                        to[l * level_stride + x] = to[(l - 1) * level_stride + x] - to[l * level_stride + x];
            for (int64_t x = n; x < axis[2].length; x++) {
                const int64_t seen = modes_image(&axis[2], f, x, &signs[2]);
                for (int l = 0; l < levels; l++) to[l * level_stride + x] = signs[2] * to[l * level_stride + seen];
            }
        }
}

/* Replaces differences by levels in rows of the grids, and writes these. */
static void store_rows(void *user, int64_t begin, int64_t end) {
    const pass *r = user;
    const modes_passes *p = r->p;
    const stn_system_task *task = p->linear.task;
    const modes_axis *axis = p->linear.axis;
    const int64_t plane = axis[0].n * axis[1].n, level_stride = 2 * task->batch * p->grid, n = axis[2].n;
    const int64_t before = (int64_t)r->state * stn_system_task_numbers(task);
    for (int64_t i = begin; i < end; i++)
        for (int f = r->field < 0 ? 0 : r->field; f < (r->field < 0 ? task->system->nfields : r->field + 1); f++) {
            const int64_t row = i % plane / axis[1].n * axis[1].length + i % axis[1].n;
            const int levels = task->system->fields[f].levels;
            double *from = r->field < 0 ? row_at(p, r->spectra, p->linear.first[f], i / plane, row)
                                        : row_at(p, r->stage, 0, i / plane, row);
            void *const *out = r->arrays->out + task->first[f];
            int last = levels - 1;
            while (last > 0 && !out[last]) last--;
            for (int j = last; j >= 1; j--)
                for (int l = j; l <= last; l++)
                    for (int64_t x = 0; x < n; x++)
                        from[l * level_stride + x] = from[(l - 1) * level_stride + x] - from[l * level_stride + x];
            for (int l = 0; l <= last; l++)
                if (out[l]) write_row(task->dtype, out[l], before + i * n, n, from + l * level_stride);
        }
}

/* Lists the rows of frequencies that have the same matrix as row (z, y). */
static void find_rows(const modes_passes *p, int64_t z, int64_t y, modes_target *t) {
    const modes_axis *axis = p->linear.axis;
    const int64_t other_z = p->linear.even[0] ? (axis[0].length - z) % axis[0].length : z;
    const int64_t other_y = p->linear.even[1] ? (axis[1].length - y) % axis[1].length : y;
    t->rows = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            if ((i && other_z == z) || (j && other_y == y)) continue;
            t->row[t->rows++] = ((i ? other_z : z) * axis[1].length + (j ? other_y : y)) * p->pitch;
        }
}

/* Rows of scratch memory behind that of the lanes. */
typedef struct row_scratch {
    modes_pair *powers[2], *terms, *z;
} row_scratch;

static row_scratch begin_row(const modes_passes *p, const int64_t at[2], char *scratch) {
    const modes_linear *l = &p->linear;
    row_scratch s;
    s.powers[0] = (modes_pair *)(scratch + rounded(p->lanes->scratch(l)));
    s.powers[1] = s.powers[0] + l->reach[0] + 1;
    s.terms = s.powers[1] + l->reach[1] + 1, s.z = s.terms + l->nterms;
    for (int axis = 0; axis < 2; axis++)
        modes_powers(modes_root(&p->roots[axis], at[axis]), l->reach[axis], s.powers[axis]);
    modes_terms(l, (const modes_pair *[2]){s.powers[0], s.powers[1]}, s.terms);
    return s;
}

/* Applies the power at some frequencies of a row, and of the rows that mirror it. */
static void run_piece(const pass *r, int64_t piece, char *scratch) {
    const modes_passes *p = r->p;
    const modes_linear *l = &p->linear;
    const int64_t row = piece / p->row_pieces, part = piece % p->row_pieces,
                  at[2] = {row / p->rows[1], row % p->rows[1]};
    const int64_t last = p->pitch * (part + 1) / p->row_pieces;
    const int lanes = p->lanes->lanes;
    const size_t bytes = p->powers ? p->lanes->power_bytes(l) : 0;
    char *kept = r->powers + (size_t)(piece * p->per_piece) * bytes;
    modes_target t = {.from = r->spectra, .grids = l->task->batch, .grid = p->grid};
    row_scratch s = {.z = NULL};
    find_rows(p, at[0], at[1], &t);
    if (!r->again) s = begin_row(p, at, scratch);
    for (t.first = p->pitch * part / p->row_pieces; t.first < last; t.first += lanes, kept += bytes) {
        const bool affine = l->affine && !row && !t.first;
        t.count = (int)stn_min(lanes, last - t.first);
        t.ones = affine ? (double)(l->axis[0].length * l->axis[1].length) * (double)l->axis[2].length : 0;
        for (int k = 0; k < lanes && !r->again; k++) s.z[k] = modes_root(&p->roots[2], stn_min(t.first + k, last - 1));
        if (r->again)
            p->lanes->restore(l, affine, kept, scratch);
        else {
            p->lanes->fill(l, r->constants, s.terms, s.z, affine, scratch);
            p->lanes->raise(l, p->steps_per_state, l->task->dtype != STN_F64, affine, scratch);
            if (bytes) p->lanes->save(l, affine, scratch, kept);
        }
        p->lanes->apply(l, &t, affine, scratch);
    }
}

static void run_shares(void *user, int64_t first, int64_t last) {
    const pass *r = user;
    for (int64_t share = first; share < last; share++) {
        const int64_t begin = r->pieces * share / r->shares, end = r->pieces * (share + 1) / r->shares;
        for (int64_t piece = begin; piece < end; piece++)
            run_piece(r, piece, r->shared + (size_t)share * r->p->scratch);
    }
}

/* ---- records -------------------------------------------------------------------------------- */

static double stored(stn_dtype dtype, double value) {
    if (dtype == STN_F64) return value;
    return (double)(dtype == STN_F32 ? (float)value : stn_half_to_float(stn_float_to_half((float)value)));
}

/* Adds the values of a field's present level, which is in `stage`, to the records of its
 * receivers. */
static void record_field(const pass *r, int field, int64_t row) {
    const modes_passes *p = r->p;
    const stn_system_task *task = p->linear.task;
    for (int64_t grid = 0; grid < task->batch; grid++)
        for (size_t k = 0; k < task->nreceivers; k++) {
            const stn_system_point *point = &task->receivers[k];
            if ((int)point->field != field) continue;
            const int64_t from = point->index[0] * p->linear.axis[1].length + point->index[1];
            const int64_t to = (row * task->batch + grid) * task->receiver_channels + (int64_t)point->channel;
            const double value = stored(task->dtype, row_at(p, r->stage, 0, grid, from)[point->index[2]]);
            if (task->dtype == STN_F64)
                ((double *)r->arrays->records)[to] += point->weight * value;
            else
                ((float *)r->arrays->records)[to] += (float)point->weight * (float)value;
        }
}

static void record(const pass *r, stn_pool *pool, uint64_t steps) {
    const modes_passes *p = r->p;
    const stn_system_task *task = p->linear.task;
    const int64_t row = (int64_t)(steps / task->record_every) - 1, size = 2 * task->batch * p->grid;
    const size_t numbers = (size_t)(task->batch * task->receiver_channels);
    const size_t bytes = numbers * (task->dtype == STN_F64 ? sizeof(double) : sizeof(float));
    memset((char *)r->arrays->records + (size_t)row * bytes, 0, bytes);
    for (int f = 0; f < task->system->nfields; f++) {
        bool looked_at = false;
        for (size_t k = 0; k < task->nreceivers; k++) looked_at = looked_at || (int)task->receivers[k].field == f;
        if (!looked_at) continue;
        stn_host_fft_run(p->inverse_one, pool, r->spectra + p->linear.first[f] * size, r->stage, r->shared);
        record_field(r, f, row);
    }
}

/* ---- states --------------------------------------------------------------------------------- */

static void store_state(pass *r, stn_pool *pool) {
    const modes_passes *p = r->p;
    const stn_system_task *task = p->linear.task;
    const int64_t rows = task->batch * p->linear.axis[0].n * p->linear.axis[1].n;
    const int64_t size = 2 * task->batch * p->grid, rows_each = stn_div_up(4096, p->linear.axis[2].n);
    r->field = -1;
    if (!task->stack) {
        stn_host_fft_run(p->inverse, pool, r->spectra, r->spectra, r->shared);
        stn_pool_for(pool, rows, rows_each, store_rows, r);
        return;
    }
    for (int f = 0; f < task->system->nfields; f++) {
        int last = -1;
        for (int l = 0; l < task->system->fields[f].levels; l++)
            if (r->arrays->out[task->first[f] + l]) last = l;
        r->field = f;
        for (int l = 0; l <= last; l++)
            stn_host_fft_run(p->inverse_one, pool, r->spectra + (p->linear.first[f] + l) * size, r->stage + l * size,
                             r->shared);
        if (last >= 0) stn_pool_for(pool, rows, rows_each, store_rows, r);
    }
}

void modes_passes_run(const modes_passes *p, stn_pool *pool, const stn_system_arrays *arrays, void *workspace) {
    const stn_system_task *task = p->linear.task;
    const modes_axis *axis = p->linear.axis;
    stn_watch *watch = stn_pool_watched(pool);
    char *at = workspace;
    pass r = {.p = p, .arrays = arrays, .constants = (double *)at};
    r.spectra = (double *)(at + p->constants);
    r.stage = (double *)(at + p->constants + p->spectra);
    r.powers = at + p->constants + p->spectra + p->stage;
    r.shared = r.powers + p->powers;
    r.pieces = p->rows[0] * p->rows[1] * p->row_pieces, r.shares = p->shares;
    modes_constants(&p->linear, arrays->numbers, r.constants);
    stn_pool_for(pool, task->batch * axis[0].length * axis[1].length, stn_div_up(4096, axis[2].length), load_rows, &r);
    stn_host_fft_run(p->forward, pool, r.spectra, r.spectra, r.shared);
    const uint64_t steps = task->steps * task->states, chunks = steps / p->steps_per_state;
    for (uint64_t done = 0; done < steps && stn_watch_continues(watch);) {
        const uint64_t number = done / p->steps_per_state;
        stn_watch_set_done(watch, 3 * number + 1, 3 * chunks + 1);
        stn_pool_for(pool, r.shares, 1, run_shares, &r);
        r.again = p->powers > 0;
        stn_watch_set_done(watch, 3 * number + 2, 3 * chunks + 1);
        done += p->steps_per_state;
        if (task->nreceivers && done % task->record_every == 0) record(&r, pool, done);
        if (done % task->steps) continue;
        store_state(&r, pool);
        r.state++;
    }
}
