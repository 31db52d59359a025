/* The passes of a run over memory, each shared out over the pool by groups of lines. */
#ifndef STN_STRATEGIES_HOST_SPECTRAL_PASSES_H
#define STN_STRATEGIES_HOST_SPECTRAL_PASSES_H
#include "host/pool.h"
#include "plan/plan.h"
#include "strategies/host_spectral/shape.h"

/* A wave of grids and where all that belongs to it lies. */
typedef struct wave {
    const stn_task *task;
    const shape *s;
    const stn_fft_words *words;
    const char *in, *source; /* first grid's first point; source NULL: the problem has none */
    char *out;
    int64_t grids;
    double *spectrum[2]; /* of the grids, of the source */
    double *added;       /* what each step adds, dense: [grid][z][y][x] */
    double *held;        /* of a stack: all frequencies of groups of columns; else NULL */
    int64_t kept;        /* frequencies along x that are written: later snapshots have fewer */
    uint64_t steps;      /* from in to out: of a stack's snapshot, those before it too */
    double *planes;      /* of all threads */
} wave;

/* source.c: fills `added` for row number `row` of all grids' rows. */
void source_fill_row(const wave *w, int64_t row);
/* symbol.c: x times K^T at all frequencies of a group of lines, plus b times the sum's symbol (b:
 * NULL planes where there is none); count: frequencies; line: the first of the group. Where
 * s->wide, sums holds A and B of common/symbol.h at all frequencies: the transforms, back and
 * forward, of what symbol_coefficients puts there. */
void symbol_apply(const shape *s, uint64_t steps, stn_planes x, stn_planes b, const stn_planes sums[2], int64_t line,
                  int64_t count, int64_t lanes);
void symbol_coefficients(const shape *s, int which, int64_t line, stn_planes to, int64_t lanes);

/* passes.c: the passes, each of one group of lines, with the planes of the thread that does it. Of
 * rows (added, forward, back, and lines, all at once), of the axis in the middle, and of the last
 * one: hold, and last, where the symbol is. */
typedef void pass_work(const wave *w, int64_t group, double *planes);
pass_work pass_added, pass_rows_forward, pass_rows_back, pass_lines, pass_middle_forward, pass_middle_back, pass_hold,
    pass_last;
int64_t row_groups(const wave *w);
int64_t column_groups(const wave *w, int axis);
/* A wave whose output is snapshot number i. */
wave at_snapshot(const wave *w, uint64_t i);

/* run.c: one run of the task's steps, or of those of all its snapshots. */
void passes_run(const stn_task *task, const shape *s, stn_pool *pool, const stn_execution *run);
/* Bytes of workspace. */
size_t passes_workspace(const stn_task *task, const shape *s, int threads);
#endif
