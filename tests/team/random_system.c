/* See random_system.h. */
#include "random_system.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(random_system *r, const char *format, ...) {
    va_list arguments;
    const size_t used = strlen(r->text);
    va_start(arguments, format);
    vsnprintf(r->text + used, sizeof r->text - used, format, arguments);
    va_end(arguments);
}

/* ---- the text -------------------------------------------------------------------------------- */

typedef struct plot {
    dice *d;
    int rank, fields, coefficients, stencils;
    int levels[3];
    int assigned; /* fields 0 to assigned - 1 have their .next */
} plot;

static void say_rule(random_system *r, dice *d, bool wraps, bool is_field) {
    static const char *const rules[] = {"reflect",     "mirror",     "nearest", "constant=0.5",
                                        "odd-reflect", "odd-mirror", "fixed"};
    if (wraps) {
        say(r, "wrap");
        return;
    }
    const int low = dice_int(d, 0, is_field ? 6 : 5), high = dice_int(d, 0, is_field ? 6 : 5);
    say(r, "%s:%s", rules[low], rules[high]);
}

/* Along axis 0 all wrap, or none, but for one system of ten. */
static void say_boundary(random_system *r, const plot *p, const char *name, bool wraps, bool is_field) {
    say(r, "boundary %s = ", name);
    for (int axis = 0; axis < p->rank; axis++) {
        const bool own = axis ? dice_int(p->d, 0, 1) : dice_int(p->d, 0, 9) ? wraps : !wraps;
        say(r, axis ? ", " : "");
        say_rule(r, p->d, own, is_field);
    }
    say(r, "\n");
}

/* Taps along one axis, more often the divided one, or of all axes. */
static void say_stencil(random_system *r, const plot *p, int i) {
    static const char letters[] = {'x', 'y', 'z'};
    dice *d = p->d;
    const int axis = dice_int(d, 0, 1) ? p->rank - 1 : dice_int(d, 0, p->rank - 1);
    if (!dice_int(d, 0, 3)) {
        say(r, "stencil s%d = laplace-%dd\n", i, p->rank);
        return;
    }
    const int low = dice_int(d, -2, 1), high = dice_int(d, low, 2);
    say(r, "stencil s%d = taps %c [", i, letters[axis]);
    for (int o = low; o <= high; o++) say(r, o > low ? ", %d" : "%d", o);
    say(r, "] (");
    for (int o = low; o <= high; o++) say(r, o > low ? " %.3f" : "%.3f", 0.4 * dice_real(d));
    say(r, ")\n");
}

static void say_expression(random_system *r, const plot *p, int depth) {
    dice *d = p->d;
    const int kind = depth ? dice_int(d, 0, 8) : dice_int(d, 0, 1);
    if (kind <= 1 && (kind || !p->coefficients)) {
        const int f = dice_int(d, 0, p->fields - 1), level = dice_int(d, 0, p->levels[f] - 1);
        if (f < p->assigned && dice_int(d, 0, 1))
            say(r, "u%d.next", f);
        else
            say(r, level > 1 ? "u%d.prev%d" : level ? "u%d.prev" : "u%d", f, level);
    } else if (kind == 0)
        say(r, "c%d", dice_int(d, 0, p->coefficients - 1));
    else if (kind <= 5) {
        say(r, "s%d(", dice_int(d, 0, p->stencils - 1));
        say_expression(r, p, depth - 1);
        say(r, ")");
    } else if (kind == 8) {
        say(r, "where(");
        say_expression(r, p, 0);
        say(r, " > 0.1, ");
        say_expression(r, p, depth - 1);
        say(r, ", ");
        say_expression(r, p, 0);
        say(r, ")");
    } else {
        say(r, "(");
        say_expression(r, p, depth - 1);
        say(r, kind == 6 ? " * " : " - ");
        say_expression(r, p, depth - 1);
        say(r, ")");
    }
}

static void say_system(random_system *r, plot *p) {
    dice *d = p->d;
    const bool wraps = dice_int(d, 0, 2) == 0;
    char name[16];
    for (int f = 0; f < p->fields; f++) say(r, "field u%d(%d)\n", f, p->levels[f]);
    for (int c = 0; c < p->coefficients; c++) say(r, "coefficient c%d\n", c);
    for (int i = 0; i < p->stencils; i++) say_stencil(r, p, i);
    for (int f = 0; f < p->fields; f++) snprintf(name, sizeof name, "u%d", f), say_boundary(r, p, name, wraps, true);
    for (int c = 0; c < p->coefficients; c++)
        if (dice_int(d, 0, 2)) snprintf(name, sizeof name, "c%d", c), say_boundary(r, p, name, wraps, false);
    for (; p->assigned < p->fields; p->assigned++) {
        say(r, "u%d.next = 0.5*u%d + 0.4*tanh(", p->assigned, p->assigned);
        say_expression(r, p, 2);
        say(r, " + ");
        say_expression(r, p, 3);
        say(r, ")\n");
    }
}

/* ---- the problem ----------------------------------------------------------------------------- */

static void draw_points(const random_system *r, dice *d, stn_system_point *points, size_t count, size_t *channels) {
    const int fields = (int)stn_system_field_count(r->system);
    *channels = 0;
    for (size_t k = 0; k < count; k++) {
        points[k] =
            (stn_system_point){(size_t)dice_int(d, 0, 3), (size_t)dice_int(d, 0, fields - 1), {0}, dice_real(d)};
        for (int axis = 0; axis < r->problem.rank; axis++)
            points[k].index[axis] = dice_int(d, 0, (int)r->problem.extent[axis] - 1);
        if (points[k].channel + 1 > *channels) *channels = points[k].channel + 1;
    }
}

static void draw_problem(random_system *r, const plot *p) {
    stn_system_problem *problem = &r->problem;
    dice *d = p->d;
    *problem = (stn_system_problem)STN_SYSTEM_PROBLEM_INIT;
    problem->system = r->system, problem->rank = p->rank;
    for (int axis = 0; axis < p->rank; axis++) problem->extent[axis] = (size_t)dice_int(d, 3, axis ? 9 : 45);
    if (dice_int(d, 0, 3) == 0) problem->extent[0] = (size_t)dice_int(d, 1, 12);
    problem->batch = (size_t)dice_int(d, 1, 2), problem->dtype = (stn_dtype)dice_int(d, STN_F64, STN_F16);
    const uint64_t record_every = (uint64_t)dice_int(d, 1, 3), every = record_every * (uint64_t)dice_int(d, 1, 4);
    r->states = dice_int(d, 0, 2) ? 1 : (size_t)dice_int(d, 1, 3);
    problem->steps = every * r->states, problem->every = dice_int(d, 0, 2) ? 0 : every;
    if (!problem->every) r->states = 1;
    problem->record_every = record_every;
    problem->accuracy = STN_ACCURACY_LOCAL;
    problem->is_number = r->is_number;
    problem->sources = r->sources, problem->receivers = r->receivers;
    problem->source_count = (size_t)dice_int(d, 0, SYSTEM_POINTS);
    problem->receiver_count = (size_t)dice_int(d, 0, SYSTEM_POINTS);
    draw_points(r, d, r->sources, problem->source_count, &r->source_channels);
    draw_points(r, d, r->receivers, problem->receiver_count, &r->receiver_channels);
    for (int c = 0; c < p->coefficients; c++) r->is_number[c] = !dice_int(d, 0, 3), r->numbers[c] = dice_real(d);
    r->coefficients = p->coefficients;
    for (int f = 0; f < p->fields; f++) r->arrays += p->levels[f];
    r->row = stn_dtype_size(problem->dtype);
    for (int axis = 1; axis < p->rank; axis++) r->row *= problem->extent[axis];
}

void random_system_draw(uint64_t seed, uint64_t index, random_system *r) {
    dice d = {seed * 1000003 + index};
    stn_error error;
    for (bool valid = false; !valid;) {
        plot p = {&d, dice_int(&d, 1, 3), dice_int(&d, 1, 3), dice_int(&d, 0, 2), 3, {0}, 0};
        memset(r, 0, sizeof *r);
        for (int f = 0; f < p.fields; f++) p.levels[f] = dice_int(&d, 1, 3);
        say_system(r, &p);
        if (stn_system_parse(r->text, &r->system, &error) != STN_OK) {
            printf("# %s: %s\n", error.message, r->text);
            continue;
        }
        draw_problem(r, &p);
        valid = stn_system_problem_validate(&r->problem, NULL) == STN_OK;
        if (!valid) random_system_clear(r);
    }
}

void random_system_clear(random_system *r) {
    stn_system_destroy(r->system);
    r->system = NULL;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t batch_of(const random_system *r) { return r->problem.batch; }
static size_t point_size(const random_system *r) { return r->problem.dtype == STN_F64 ? 8 : 4; }
static size_t amplitude_bytes(const random_system *r) { return r->problem.steps * r->source_channels * point_size(r); }
static size_t record_bytes(const random_system *r) {
    return r->problem.steps / r->problem.record_every * batch_of(r) * r->receiver_channels * point_size(r);
}
static bool is_kept(const random_system *r, int i) { return !r->problem.every || i % 2 == 0; }

static void list(const random_system *r, system_memory *m) {
    m->arrays = (stn_system_arrays)STN_SYSTEM_ARRAYS_INIT;
    m->arrays.in = (const void *const *)m->in, m->arrays.out = m->out;
    m->arrays.coefficients = (const void *const *)m->coefficients, m->arrays.numbers = r->numbers;
    m->arrays.amplitudes = m->amplitudes, m->arrays.records = m->records;
}

void system_memory_make(const random_system *r, size_t rows, system_memory *m) {
    const size_t level = batch_of(r) * rows * r->row;
    memset(m, 0, sizeof *m);
    m->rows = rows;
    for (int i = 0; i < r->arrays; i++) {
        m->in[i] = calloc(1, level + 1);
        if (is_kept(r, i)) m->out[i] = calloc(r->states, level + 1);
    }
    for (int c = 0; c < r->coefficients; c++)
        if (!r->is_number[c]) m->coefficients[c] = calloc(1, rows * r->row + 1);
    if (r->problem.source_count) m->amplitudes = calloc(1, amplitude_bytes(r));
    if (r->problem.receiver_count) m->records = calloc(1, record_bytes(r));
    list(r, m);
}

void system_memory_clear(const random_system *r, system_memory *m) {
    (void)r;
    for (int i = 0; i < SYSTEM_ARRAYS; i++) free(m->in[i]), free(m->out[i]), free(m->coefficients[i]);
    free(m->amplitudes), free(m->records);
}

void system_memory_fill(const random_system *r, uint64_t seed, system_memory *m) {
    dice d = {seed};
    const stn_dtype dtype = r->problem.dtype, wide = dtype == STN_F64 ? STN_F64 : STN_F32;
    const int64_t grid = (int64_t)(m->rows * r->row / stn_dtype_size(dtype));
    for (int i = 0; i < r->arrays; i++)
        for (int64_t k = 0; k < grid * (int64_t)batch_of(r); k++) set_element(dtype, m->in[i], k, dice_real(&d));
    for (int c = 0; c < r->coefficients; c++)
        for (int64_t k = 0; k < grid && m->coefficients[c]; k++)
            set_element(dtype, m->coefficients[c], k, dice_real(&d));
    for (size_t k = 0; k < amplitude_bytes(r) / point_size(r); k++)
        set_element(wide, m->amplitudes, (int64_t)k, dice_real(&d));
}

/* Copies rows of `grids` grids between memory of the whole grid and of a part. */
static void take(const random_system *r, size_t grids, const void *whole, size_t first, void *part, size_t rows) {
    for (size_t g = 0; g < grids; g++)
        memcpy((char *)part + g * rows * r->row, (const char *)whole + (g * r->problem.extent[0] + first) * r->row,
               rows * r->row);
}

void system_memory_take(const random_system *r, const system_memory *whole, size_t first, system_memory *part) {
    for (int i = 0; i < r->arrays; i++) take(r, batch_of(r), whole->in[i], first, part->in[i], part->rows);
    for (int c = 0; c < r->coefficients; c++)
        if (!r->is_number[c]) take(r, 1, whole->coefficients[c], first, part->coefficients[c], part->rows);
    if (part->amplitudes) memcpy(part->amplitudes, whole->amplitudes, amplitude_bytes(r));
}

bool system_memory_same(const random_system *r, const system_memory *whole, size_t first, const system_memory *part) {
    const size_t level = r->states * batch_of(r) * part->rows * r->row;
    char *want = malloc(level + 1);
    bool same = true;
    for (int i = 0; i < r->arrays && same; i++) {
        if (!is_kept(r, i)) continue;
        take(r, r->states * batch_of(r), whole->out[i], first, want, part->rows);
        same = !memcmp(want, part->out[i], level);
    }
    free(want);
    return same;
}

static stn_status put(stn_context *context, const void *from, size_t bytes, void **to, stn_error *error) {
    if (!from) return STN_OK;
    const stn_status status = stn_memory_alloc(context, bytes + 1, to, error);
    return status == STN_OK && bytes ? stn_memory_upload(context, *to, from, bytes, error) : status;
}

stn_status system_memory_place(const random_system *r, stn_context *context, const system_memory *host,
                               system_memory *there, stn_error *error) {
    const size_t level = batch_of(r) * host->rows * r->row;
    stn_status status = STN_OK;
    memset(there, 0, sizeof *there);
    there->rows = host->rows;
    for (int i = 0; i < r->arrays && status == STN_OK; i++) {
        status = put(context, host->in[i], level, &there->in[i], error);
        if (status == STN_OK) status = put(context, host->out[i], r->states * level, &there->out[i], error);
    }
    for (int c = 0; c < r->coefficients && status == STN_OK; c++)
        status = put(context, host->coefficients[c], host->rows * r->row, &there->coefficients[c], error);
    if (status == STN_OK) status = put(context, host->amplitudes, amplitude_bytes(r), &there->amplitudes, error);
    if (status == STN_OK) status = put(context, host->records, record_bytes(r), &there->records, error);
    list(r, there);
    return status;
}

stn_status system_memory_fetch(const random_system *r, stn_context *context, system_memory *there, system_memory *host,
                               stn_error *error) {
    const size_t level = r->states * batch_of(r) * host->rows * r->row;
    stn_status status = STN_OK;
    for (int i = 0; i < r->arrays && status == STN_OK && level; i++)
        if (there->out[i]) status = stn_memory_download(context, host->out[i], there->out[i], level, error);
    if (there->records && status == STN_OK)
        status = stn_memory_download(context, host->records, there->records, record_bytes(r), error);
    for (int i = 0; i < SYSTEM_ARRAYS; i++) {
        stn_memory_free(context, there->in[i]), stn_memory_free(context, there->out[i]);
        stn_memory_free(context, there->coefficients[i]);
    }
    stn_memory_free(context, there->amplitudes), stn_memory_free(context, there->records);
    return status;
}

bool system_records_same(const random_system *r, const system_memory *a, const system_memory *b, bool to_the_bit) {
    if (!a->records || to_the_bit) return !a->records || !memcmp(a->records, b->records, record_bytes(r));
    const stn_dtype wide = r->problem.dtype == STN_F64 ? STN_F64 : STN_F32;
    bool same = true;
    for (int64_t i = 0; i < (int64_t)(record_bytes(r) / point_size(r)); i++) {
        const double one = element(wide, a->records, i), other = element(wide, b->records, i);
        same = same && fabs(one - other) <= 16 * (wide == STN_F64 ? 0x1p-53 : 0x1p-24) * (1 + fabs(one));
    }
    return same;
}

stn_status random_system_run(const random_system *r, stn_context *context, const char *strategy, system_memory *host,
                             stn_error *error) {
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_execution run = STN_EXECUTION_INIT;
    system_memory there;
    options.strategy = strategy;
    stn_status status = stn_plan_create_system(context, &r->problem, &options, &plan, error);
    if (status != STN_OK) return status;
    status = system_memory_place(r, context, host, &there, error);
    run.system = &there.arrays;
    if (status == STN_OK) status = stn_plan_run(plan, &run, error);
    if (status == STN_OK) status = stn_synchronize(context, NULL, error);
    const stn_status fetched = system_memory_fetch(r, context, &there, host, status == STN_OK ? error : NULL);
    stn_plan_destroy(plan);
    return status == STN_OK ? fetched : status;
}
