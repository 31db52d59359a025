/* The passes of a run over memory. Each is distributed over the thread pool by groups of lines. */
#ifndef STN_STRATEGIES_HOST_SPECTRAL_HOST_SPECTRAL_PASSES_H
#define STN_STRATEGIES_HOST_SPECTRAL_HOST_SPECTRAL_PASSES_H
#include "host/pool.h"
#include "plan/plan.h"
#include "strategies/host_spectral/host_spectral_shape.h"

/* A batch of grids that run together, and the addresses of their data. */
typedef struct grid_batch {
    const stn_task *task;
    const shape *s;
    const stn_fft_kernels *words;
    /* The first point of the first grid. source is NULL if the problem has none. */
    const char *in, *source;
    char *out;
    int64_t grids;
    double *spectrum[2]; /* Of the grids, and of the added terms. */
    double *added;       /* The terms added at each step, dense: [grid][z][y][x]. */
    /* Snapshots: the stored frequencies of all groups of columns; else NULL. */
    double *stored;
    int64_t kept; /* Retained frequencies along x; later snapshots have fewer. */
    /* Steps from `in` to `out`; of a snapshot, counted from the run's beginning. */
    uint64_t steps;
    double *planes; /* Scratch planes of all threads. */
} grid_batch;

/* host_spectral_source.c: fills `added` for row number `row`, counted over all grids. */
void host_spectral_source_fill_row(const grid_batch *w, int64_t row);
/* host_spectral_symbol.c: multiplies x by K^T at `count` frequencies of a group of lines, and adds
 * b times the symbol of the sum 1 + K + .. + K^(T-1) (planes NULL: no such term). line: the first
 * line of the group. If s->wide, sums holds A and B of common/stencil_symbol.h at all frequencies,
 * which are the inverse and forward transforms of the coefficients that
 * host_spectral_symbol_coefficients writes. */
void host_spectral_symbol_apply(const shape *s, uint64_t steps, stn_planes x, stn_planes b, const stn_planes sums[2],
                                int64_t line, int64_t count, int64_t lanes);
void host_spectral_symbol_coefficients(const shape *s, int which, int64_t line, stn_planes to, int64_t lanes);

/* host_spectral_passes.c: each function runs one group of lines with the calling thread's scratch
 * planes. ..lines computes whole 1D lines; ..middle_* transform along y of a 3D grid;
 * ..store_spectrum stores the frequencies of the last axis; ..last transforms along the last axis
 * and applies the symbol. */
typedef void pass_work(const grid_batch *w, int64_t group, double *planes);
pass_work host_spectral_pass_added, host_spectral_pass_rows_forward, host_spectral_pass_rows_back,
    host_spectral_pass_lines, host_spectral_pass_middle_forward, host_spectral_pass_middle_back,
    host_spectral_pass_store_spectrum, host_spectral_pass_last;
int64_t host_spectral_row_groups(const grid_batch *w);
int64_t host_spectral_column_groups(const grid_batch *w, int axis);
/* The same batch with snapshot i as its output. */
grid_batch host_spectral_batch_at_snapshot(const grid_batch *w, uint64_t i);

/* Runs all steps of the task, or of all its snapshots. */
void host_spectral_passes_run(const stn_task *task, const shape *s, stn_pool *pool, const stn_execution *run);
/* Size of the workspace, in bytes. */
size_t host_spectral_passes_workspace(const stn_task *task, const shape *s, int threads);
#endif
