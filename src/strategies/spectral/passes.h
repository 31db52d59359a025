/* The passes of a spectral plan: their kernels, the tables on the device, and how each is
 * launched. */
#ifndef STN_STRATEGIES_SPECTRAL_PASSES_H
#define STN_STRATEGIES_SPECTRAL_PASSES_H
#include "plan/plan.h"
#include "strategies/spectral/arguments.h"
#include "strategies/spectral/shape.h"

typedef enum spectral_direction { SPECTRAL_FORWARD, SPECTRAL_BACK, SPECTRAL_BOTH } spectral_direction;

typedef struct spectral_pass {
    int axis; /* 2: rows */
    spectral_direction direction;
    struct stn_kernel *kernel;
} spectral_pass;

/* What fixed and constant sides need besides: their source, its rows' and columns' frequencies
 * (source.c). */
typedef struct spectral_source {
    bool has;
    struct stn_kernel *kernel, *transform[3]; /* its values; forward along each axis */
    struct stn_kernel *settle;                /* of columns that have nothing else; or NULL */
    void *tables;                             /* on the device, in bytes from there: */
    size_t place[3], taps;                    /* frequencies of a one beside the faces of each axis; the taps */
    size_t values[2], faces[3]; /* in the workspace: of z and y faces the values, of all their frequencies */
    size_t turned[3];           /* those of y and x faces along z, too: elsewhere if some columns need them as points */
    size_t cell;                /* bytes of a complex number */
    int64_t extent[2];          /* points or frequencies along z and y, whichever are more */
} spectral_source;

typedef struct spectral_state {
    spectral_shape shape;
    spectral_source source;
    spectral_pass pass[5];
    int count, once; /* all; those that a stack of snapshots makes once, then the others for each */
    void *tables;    /* on the device: roots of each axis, half roots, angles, parts, in bytes from there */
    size_t roots[3], half, angles, parts, size;
    double largest, dead; /* the largest |K|; see stn_symbol_dead */
} spectral_state;

/* ---- launch.c */
void spectral_extension_params(const stn_extension *extension, stn_text *params);
/* One launch of a rows or columns kernel with so many blocks. */
stn_status spectral_launch(const stn_plan *plan, const spectral_state *state, int axis, const struct stn_kernel *kernel,
                           int64_t blocks, void *arguments, void *stream, stn_error *error);

/* ---- passes.c: kernels of all passes, in order. */
stn_status spectral_make_passes(stn_plan *plan, spectral_state *state, stn_error *error);
/* The tables of the plan's weights; where there is no device, only what the host needs of them. */
stn_status spectral_make_tables(stn_plan *plan, spectral_state *state, stn_error *error);
stn_status spectral_run_pass(const stn_plan *plan, const spectral_state *state, const spectral_pass *pass,
                             uint64_t snapshot, const stn_execution *run, stn_error *error);
/* Whether columns without points are settled by a kernel of their own. */
bool spectral_is_settled(const spectral_state *state);
/* What columns of a pass take, but for where they lie and how many they are. */
void spectral_columns_of(const stn_plan *plan, const spectral_state *state, const spectral_pass *pass,
                         uint64_t snapshot, spectral_columns_arguments *arguments);
/* ---- slabs.c: all passes but those of rows. */
stn_status spectral_run_slabs(const stn_plan *plan, const spectral_state *state, const stn_execution *run,
                              stn_error *error);
/* ---- walk.c: the columns of tiles. */
stn_status spectral_make_walk(stn_plan *plan, const spectral_shape *shape, struct stn_kernel **kernel,
                              stn_error *error);
stn_status spectral_run_walk(const stn_plan *plan, const spectral_state *state, const struct stn_kernel *kernel,
                             const stn_execution *run, stn_error *error);
/* ---- source.c: its kernels, tables and place in the workspace, which begins there at *bytes and makes it larger; nothing where no side
 * has one. */
stn_status spectral_make_source(stn_plan *plan, spectral_state *state, size_t *bytes, stn_error *error);
/* Its tables, of the plan's weights. */
stn_status spectral_make_source_tables(stn_plan *plan, spectral_state *state, stn_error *error);
/* What the columns that hold the symbol take of it, from a grid of the batch on. */
void spectral_source_arguments_of(const spectral_state *state, const stn_execution *run, int64_t grid,
                                  spectral_columns_arguments *arguments);
stn_status spectral_run_source(const stn_plan *plan, const spectral_state *state, const stn_execution *run,
                               stn_error *error);
/* The kernel of its values. */
stn_status spectral_source_kernel(stn_plan *plan, struct stn_kernel **kernel, stn_error *error);
/* The source of lines, 1D: two complex numbers a grid, beside the low and the high side. */
typedef struct spectral_line_source {
    struct stn_kernel *kernel;
    const void *taps; /* on the device */
    void *values;
    const stn_extension *axis;
} spectral_line_source;
stn_status spectral_source_of_lines(const stn_plan *plan, const spectral_line_source *source, const stn_execution *run,
                                    stn_error *error);
/* ---- settle.c: what columns come to of which nothing but a source is left. */
stn_status spectral_make_settle(stn_plan *plan, spectral_state *state, stn_error *error);
/* Of all grids, or, with a slab, of its columns of one grid, which `spectrum` begins with. */
stn_status spectral_run_settle(const stn_plan *plan, const spectral_state *state, void *spectrum, int64_t grid,
                               const spectral_slab *slab, const stn_execution *run, stn_error *error);
/* The rows of columns, along y, that have points. */
int64_t spectral_live_rows(const spectral_shape *shape);
void spectral_free_source(stn_plan *plan, spectral_state *state);
#endif
