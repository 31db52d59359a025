/* The passes of a run over memory. Each is distributed over the thread pool by groups of lines. */
#ifndef STN_STRATEGIES_HOST_SPECTRAL_PASSES_H
#define STN_STRATEGIES_HOST_SPECTRAL_PASSES_H
#include "host/pool.h"
#include "plan/plan.h"
#include "strategies/host_spectral/shape.h"

/* A batch of grids that run together, and the addresses of their data. */
typedef struct wave {
    const stn_task *task;
    const shape *s;
    const stn_fft_words *words;
    /* The first point of the first grid. source is NULL if the problem has none. */
    const char *in, *source;
    char *out;
    int64_t grids;
    double *spectrum[2]; /* Of the grids, and of the added terms. */
    double *added;       /* The terms added at each step, dense: [grid][z][y][x]. */
    /* Snapshots: the stored frequencies of all groups of columns; else NULL. */
    double *held;
    int64_t kept; /* Retained frequencies along x; later snapshots have fewer. */
    /* Steps from `in` to `out`; for a snapshot this includes those of earlier snapshots. */
    uint64_t steps;
    double *planes; /* Scratch planes of all threads. */
} wave;

/* source.c: fills `added` for row number `row`, counted over all grids. */
void source_fill_row(const wave *w, int64_t row);
/* symbol.c: multiplies x by K^T at `count` frequencies of a group of lines, and adds b times the
 * symbol of the sum 1 + K + .. + K^(T-1) (planes NULL: no such term). line: the first line of the
 * group. If s->wide, sums holds A and B of common/symbol.h at all frequencies, which are the
 * inverse and forward transforms of the coefficients that symbol_coefficients writes. */
void symbol_apply(const shape *s, uint64_t steps, stn_planes x, stn_planes b, const stn_planes sums[2], int64_t line,
                  int64_t count, int64_t lanes);
void symbol_coefficients(const shape *s, int which, int64_t line, stn_planes to, int64_t lanes);

/* passes.c: each function runs one group of lines with the calling thread's scratch planes.
 * pass_lines is a whole 1D problem; pass_middle_* transform y of a 3D grid; pass_hold stores the
 * frequencies of the last axis; pass_last transforms the last axis and applies the symbol. */
typedef void pass_work(const wave *w, int64_t group, double *planes);
pass_work pass_added, pass_rows_forward, pass_rows_back, pass_lines, pass_middle_forward, pass_middle_back, pass_hold,
    pass_last;
int64_t row_groups(const wave *w);
int64_t column_groups(const wave *w, int axis);
/* The same batch with snapshot i as its output. */
wave at_snapshot(const wave *w, uint64_t i);

/* run.c: runs all steps of the task, or of all its snapshots. */
void passes_run(const stn_task *task, const shape *s, stn_pool *pool, const stn_execution *run);
/* Size of the workspace, in bytes. */
size_t passes_workspace(const stn_task *task, const shape *s, int threads);
#endif
