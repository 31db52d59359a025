/* Reference implementation of systems: steps of one assignment after the other, row by row.
 *
 * For each piece of a row, the instructions of the assignment's program are executed in order. Each
 * computes the piece and as many points around it as its users read, in rows of a scratch memory
 * that fits in a cache. Fields and coefficients are read in place if they have the arithmetic type;
 * otherwise, and past sides, they are first copied into a row.
 *
 * Threads take contiguous shares of the pieces, each with its own scratch memory. */
#include "host/system_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/half.h"
#include "host/system_rows.h"
#include "problem/system_state.h"

#define SHARES 4             /* per thread, so that a delayed thread delays little */
#define SMALL_WORK (1 << 15) /* operations below which waking a thread costs more than it saves */
#define BLOCK 4096           /* bytes that are rotated at once */

struct stn_host_system {
    const stn_system_task *task;
    int threads, shares;                       /* shares: maximum for any assignment */
    size_t scratch;                            /* bytes per share */
    stn_host_rows rows[STN_SYSTEM_MAX_FIELDS]; /* for each equation */
};

/* One assignment in one step, and the arrays that it reads. */
typedef struct pass {
    const stn_host_system *host;
    const stn_host_rows *rows;
    const stn_system_equation *equation;
    stn_host_sources sources;
    char *next, *scratch;
    int64_t pieces, shares; /* number of pieces of all rows of all grids, and of shares */
    int64_t begin[3], end[3];
} pass;

/* ---- making it */

stn_status stn_host_system_create(const stn_system_task *task, int threads, stn_host_system **made, stn_error *error) {
    stn_host_system *host = calloc(1, sizeof *host);
    *made = NULL;
    if (!host) return stn_fail_memory(error, "a system's plan", sizeof *host);
    host->task = task;
    host->threads = threads;
    host->shares = threads > 1 ? SHARES * threads : 1;
    stn_status status = STN_OK;
    for (int e = 0; e < task->system->nequations && status == STN_OK; e++) {
        status = stn_host_rows_make(task, &task->system->equations[e], &host->rows[e], error);
        if (host->rows[e].scratch > host->scratch) host->scratch = host->rows[e].scratch;
    }
    if (status == STN_OK)
        *made = host;
    else
        stn_host_system_destroy(host);
    return status;
}

void stn_host_system_destroy(stn_host_system *host) {
    if (!host) return;
    for (int e = 0; e < STN_SYSTEM_MAX_FIELDS; e++) stn_host_rows_clear(&host->rows[e]);
    free(host);
}

size_t stn_host_system_workspace(const stn_host_system *host) {
    return stn_system_state_bytes(host->task) + (size_t)host->shares * host->scratch;
}

/* ---- an assignment */

/* Copies points [begin, end) of a row unchanged. */
static void copy_unchanged(const pass *p, int64_t row, int64_t begin, int64_t end) {
    const int64_t size = (int64_t)stn_dtype_size(p->host->task->dtype), n = p->host->task->n[2];
    const char *from = p->sources.fields[p->equation->field][1];
    if (end > begin && from != p->next)
        memcpy(p->next + (row * n + begin) * size, from + (row * n + begin) * size, (size_t)((end - begin) * size));
}

static void run_piece(const pass *p, int64_t piece, char *scratch) {
    const stn_system_task *task = p->host->task;
    const int64_t pieces_per_row = stn_div_up(task->n[2], p->rows->points), row = piece / pieces_per_row;
    const int64_t at[3] = {row / task->n[1] % task->n[0], row % task->n[1], piece % pieces_per_row * p->rows->points};
    const int64_t last = stn_min(at[2] + p->rows->points, task->n[2]);
    bool is_free = true;
    for (int axis = 0; axis < 2; axis++) is_free = is_free && at[axis] >= p->begin[axis] && at[axis] < p->end[axis];
    if (!is_free) {
        copy_unchanged(p, row, at[2], last);
        return;
    }
    const int64_t begin = stn_max(at[2], p->begin[2]), end = stn_min(last, p->end[2]);
    if (begin >= end) {
        copy_unchanged(p, row, at[2], last);
        return;
    }
    copy_unchanged(p, row, at[2], begin);
    stn_host_rows_run(p->rows, &p->sources, row / (task->n[0] * task->n[1]), at, begin, end - begin, scratch,
                      p->next + (row * task->n[2] + begin) * (int64_t)stn_dtype_size(task->dtype));
    copy_unchanged(p, row, end, last);
}

static void run_shares(void *user, int64_t first, int64_t last) {
    const pass *p = user;
    for (int64_t share = first; share < last; share++) {
        char *scratch = p->scratch + (size_t)share * p->host->scratch;
        stn_host_rows_begin(p->rows, p->sources.numbers, scratch);
        const int64_t begin = p->pieces * share / p->shares, end = p->pieces * (share + 1) / p->shares;
        for (int64_t piece = begin; piece < end; piece++) run_piece(p, piece, scratch);
    }
}

/* Equation e of the step that computes state `number`. */
static void run_equation(const stn_host_system *host, stn_pool *pool, const stn_system_state *state, int e,
                         int64_t number, char *scratch) {
    const stn_system_task *task = host->task;
    const stn_system *system = task->system;
    pass p = {.host = host, .rows = &host->rows[e], .equation = &system->equations[e], .scratch = scratch};
    p.next = stn_system_state_next(state, p.equation->field, number);
    for (int f = 0; f < system->nfields; f++)
        for (int level = 0; level <= system->fields[f].levels; level++) /* 0: the next state */
            p.sources.fields[f][level] = level ? (const char *)stn_system_state_of(state, f, number - level)
                                               : (const char *)stn_system_state_next(state, f, number);
    for (int i = 0; i < system->ncoefficients; i++) {
        p.sources.coefficients[i] = task->is_number[i] ? NULL : state->arrays->coefficients[i];
        p.sources.numbers[i] = state->arrays->numbers ? state->arrays->numbers[i] : system->coefficients[i].value;
    }
    stn_system_updated_range(task, p.equation, p.begin, p.end);
    p.pieces = task->batch * task->n[0] * task->n[1] * stn_div_up(task->n[2], p.rows->points);
    p.shares = stn_min(host->shares, p.pieces);
    const int64_t work = p.pieces / p.shares * stn_min(p.rows->points, task->n[2]) * p.rows->program.noperands;
    stn_pool_for(pool, p.shares, stn_div_up(SMALL_WORK, stn_max(work, 1)), run_shares, &p);
}

/* ---- sources and receivers */

static double load(stn_dtype dtype, const void *from, int64_t i) {
    if (dtype == STN_F64) return ((const double *)from)[i];
    if (dtype == STN_F32) return (double)((const float *)from)[i];
    return (double)stn_half_to_float(((const uint16_t *)from)[i]);
}

static int64_t place(const stn_system_task *task, int64_t grid, const stn_system_point *point) {
    return ((grid * task->n[0] + point->index[0]) * task->n[1] + point->index[1]) * task->n[2] + point->index[2];
}

static void add_sources(const stn_system_task *task, const stn_system_state *state, int field, int64_t number) {
    void *next = stn_system_state_next(state, field, number);
    for (size_t k = 0; k < task->nsources; k++) {
        const stn_system_point *point = &task->sources[k];
        if ((int)point->field != field) continue;
        const int64_t row = (number - 1) * task->source_channels + (int64_t)point->channel;
        for (int64_t grid = 0; grid < task->batch; grid++) {
            const int64_t at = place(task, grid, point);
            if (task->dtype == STN_F64)
                ((double *)next)[at] += point->weight * ((const double *)state->arrays->amplitudes)[row];
            else {
                const float add = (float)point->weight * ((const float *)state->arrays->amplitudes)[row];
                if (task->dtype == STN_F32)
                    ((float *)next)[at] += add;
                else
                    ((uint16_t *)next)[at] = stn_float_to_half((float)load(STN_F16, next, at) + add);
            }
        }
    }
}

static void record(const stn_system_task *task, const stn_system_state *state, int64_t number) {
    const int64_t row = number / (int64_t)task->record_every - 1, channels = task->receiver_channels;
    for (int64_t grid = 0; grid < task->batch; grid++) {
        const int64_t first = (row * task->batch + grid) * channels;
        double *wide = (double *)state->arrays->records + first;
        float *narrow = (float *)state->arrays->records + first;
        for (int64_t c = 0; c < channels; c++)
            if (task->dtype == STN_F64)
                wide[c] = 0;
            else
                narrow[c] = 0;
        for (size_t k = 0; k < task->nreceivers; k++) {
            const stn_system_point *point = &task->receivers[k];
            const void *from = stn_system_state_of(state, (int)point->field, number);
            const double value = load(task->dtype, from, place(task, grid, point));
            if (task->dtype == STN_F64)
                wide[point->channel] += point->weight * value;
            else
                narrow[point->channel] += (float)point->weight * (float)value;
        }
    }
}

/* ---- a run */

static void rotate(const stn_system_state *state, int field, int by) {
    const int count = stn_system_buffers(state->task, field);
    const size_t bytes = stn_system_level_bytes(state->task);
    char held[STN_SYSTEM_MAX_BUFFERS][BLOCK];
    for (size_t at = 0; at < bytes; at += BLOCK) {
        const size_t size = bytes - at < BLOCK ? bytes - at : BLOCK;
        for (int b = 0; b < count; b++) memcpy(held[b], (char *)state->buffers[field][b] + at, size);
        for (int b = 0; b < count; b++)
            memcpy((char *)state->buffers[field][b] + at, held[(b + count - by) % count], size);
    }
}

/* For a stack of states, copies all levels of state `number` to the outputs. Otherwise copies those
 * levels of the last state, `number`, that are initial states, since the run has not written
 * them. */
static void copy_levels(const stn_system_state *state, int64_t number) {
    const stn_system_task *task = state->task;
    const size_t bytes = stn_system_level_bytes(task);
    for (int f = 0; f < task->system->nfields; f++)
        for (int level = 0; level < task->system->fields[f].levels; level++) {
            char *out = state->arrays->out[task->first[f] + level];
            if (task->stack && out)
                memcpy(out + (size_t)(number / (int64_t)task->steps - 1) * bytes,
                       stn_system_state_of(state, f, number - level), bytes);
            else if (!task->stack && !task->in_place && number <= level)
                memcpy(out, stn_system_state_of(state, f, number - level), bytes);
        }
}

void stn_host_system_run(const stn_host_system *host, stn_pool *pool, const stn_system_arrays *arrays,
                         void *workspace) {
    const stn_system_task *task = host->task;
    const int64_t steps = (int64_t)(task->steps * task->states);
    char *scratch = (char *)workspace + stn_system_state_bytes(task);
    stn_watch *watch = stn_pool_watched(pool);
    stn_system_state state;
    stn_system_state_begin(&state, task, arrays, workspace);
    for (int64_t number = 1; number <= steps && stn_watch_continues(watch); number++) {
        stn_watch_set_done(watch, (uint64_t)number - 1, (uint64_t)steps);
        for (int e = 0; e < task->system->nequations; e++) {
            run_equation(host, pool, &state, e, number, scratch);
            add_sources(task, &state, task->system->equations[e].field, number);
        }
        if (task->nreceivers && number % (int64_t)task->record_every == 0) record(task, &state, number);
        if (task->stack && number % (int64_t)task->steps == 0) copy_levels(&state, number);
    }
    if (!task->stack) copy_levels(&state, steps);
    for (int f = 0; f < task->system->nfields; f++)
        if (stn_system_rotation(task, f)) rotate(&state, f, stn_system_rotation(task, f));
}
