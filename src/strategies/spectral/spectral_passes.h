/* The passes of a spectral plan: their kernels, tables on the device, and launches. */
#ifndef STN_STRATEGIES_SPECTRAL_SPECTRAL_PASSES_H
#define STN_STRATEGIES_SPECTRAL_SPECTRAL_PASSES_H
#include "plan/plan.h"
#include "strategies/spectral/spectral_arguments.h"
#include "strategies/spectral/spectral_shape.h"

typedef enum spectral_direction { SPECTRAL_FORWARD, SPECTRAL_BACK, SPECTRAL_BOTH } spectral_direction;

typedef struct spectral_pass {
    int axis; /* 2: rows. */
    spectral_direction direction;
    struct stn_kernel *kernel;
} spectral_pass;

/* Data of fixed and constant sides: the source terms and their frequencies along rows and columns
 * (spectral_boundary_source.c). */
typedef struct spectral_source {
    bool has;
    /* Kernels of the values, and of forward transforms along each axis. */
    struct stn_kernel *kernel, *transform[3];
    /* Kernel of columns that have a source but no points; or NULL. */
    struct stn_kernel *decayed_modes;
    /* Device memory; the next two members are byte offsets in it. */
    void *tables;
    /* Frequencies of a unit value next to each side, by axis; the taps. */
    size_t unit_response[3], taps;
    /* Byte offsets in the workspace: the values of z and y faces, and the frequencies of all
     * faces. */
    size_t values[2], faces[3];
    /* Byte offsets of the frequencies of y and x faces, transformed along z too, which are stored
     * separately if some columns need the faces as points along z. */
    size_t transposed[3];
    size_t cell; /* Bytes of a complex number. */
    /* The larger of the number of points and of frequencies along z and y. */
    int64_t extent[2];
} spectral_source;

typedef struct spectral_state {
    spectral_shape shape;
    spectral_source source;
    spectral_pass pass[5];
    /* Number of passes, and of those that a stack of snapshots runs only once. */
    int count, shared_passes;
    /* On the device, with byte offsets: twiddles of each axis, half twiddles, angles, coefficients
     * of the symbol. */
    void *tables;
    size_t twiddles[3], half, angles, parts, size;
    double largest, decay_bound; /* Largest |K|; see stn_symbol_decay_threshold. */
} spectral_state;

/* Launches a rows or columns kernel with this number of blocks. */
static inline stn_status spectral_launch(const stn_plan *plan, const spectral_state *state, int axis,
                                         const struct stn_kernel *kernel, int64_t blocks, void *arguments, void *stream,
                                         stn_error *error) {
    return stn_shared_fft_launch(&state->shape.line[axis], spectral_wide(&plan->task), kernel, blocks, arguments,
                                 stream, error);
}

/* ---- spectral_passes.c: kernels of all passes, in order -------------------------------------- */
stn_status spectral_make_passes(stn_plan *plan, spectral_state *state, stn_error *error);
/* Makes the tables of the plan's weights; without a device, only those that the host needs. */
stn_status spectral_make_tables(stn_plan *plan, spectral_state *state, stn_error *error);
stn_status spectral_run_pass(const stn_plan *plan, const spectral_state *state, const spectral_pass *pass,
                             uint64_t snapshot, const stn_execution *run, stn_error *error);
/* Whether columns without points are solved by a kernel of their own. */
bool spectral_solves_decayed_modes(const spectral_state *state);
/* Arguments of a columns pass, except addresses and counts. */
void spectral_columns_of(const stn_plan *plan, const spectral_state *state, const spectral_pass *pass,
                         uint64_t snapshot, spectral_columns_arguments *arguments);
/* ---- spectral_slabs.c: all passes but those of rows ------------------------------------------ */
stn_status spectral_run_slabs(const stn_plan *plan, const spectral_state *state, const stn_execution *run,
                              stn_error *error);
/* ---- marching_columns.c: the columns of tiles ------------------------------------------------ */
stn_status spectral_make_march(stn_plan *plan, const spectral_shape *shape, struct stn_kernel **kernel,
                               stn_error *error);
stn_status spectral_run_march(const stn_plan *plan, const spectral_state *state, const struct stn_kernel *kernel,
                              const stn_execution *run, stn_error *error);
/* ---- spectral_boundary_source.c -------------------------------------------------------------- */

/* The source terms of sides. *bytes is the workspace so far, which grows. */
stn_status spectral_make_source(stn_plan *plan, spectral_state *state, size_t *bytes, stn_error *error);
/* The source's tables, for the plan's weights. */
stn_status spectral_make_source_tables(stn_plan *plan, spectral_state *state, stn_error *error);
/* Fills the source arguments of the columns pass that applies the symbol, from grid number `grid`
 * of the batch on. */
void spectral_source_arguments_of(const spectral_state *state, const stn_execution *run, int64_t grid,
                                  spectral_columns_arguments *arguments);
stn_status spectral_run_source(const stn_plan *plan, const spectral_state *state, const stn_execution *run,
                               stn_error *error);
/* The kernel of the source's values. */
stn_status spectral_source_kernel(stn_plan *plan, struct stn_kernel **kernel, stn_error *error);
/* The source of 1D lines: two complex numbers per grid, next to the low and the high side. */
typedef struct spectral_line_source {
    struct stn_kernel *kernel;
    const void *taps; /* On the device. */
    void *values;
    const stn_extension *axis;
} spectral_line_source;
stn_status spectral_source_of_lines(const stn_plan *plan, const spectral_line_source *source, const stn_execution *run,
                                    stn_error *error);
/* ---- decayed_modes.c: columns that have a source but no points ------------------------------- */
stn_status spectral_make_decayed_modes(stn_plan *plan, spectral_state *state, stn_error *error);
/* Solves such columns of all grids, or, with a slab, those of the slab in one grid; `spectrum`
 * begins with that grid. */
stn_status spectral_run_decayed_modes(const stn_plan *plan, const spectral_state *state, void *spectrum, int64_t grid,
                                      const spectral_slab *slab, const stn_execution *run, stn_error *error);
/* Number of rows of columns, along y, that have points. */
int64_t spectral_rows_with_points(const spectral_shape *shape);
void spectral_free_source(stn_plan *plan, spectral_state *state);
#endif
