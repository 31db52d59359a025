/* A run of a linear system, in chunks of steps between the states that are stored or recorded:
 * the state is transformed to frequencies, multiplied by the power of the step's matrix, and
 * transformed back. */
#ifndef STN_STRATEGIES_MODES_PASSES_H
#define STN_STRATEGIES_MODES_PASSES_H
#include "host/fft_by_type.h"
#include "host/pool.h"
#include "strategies/modes/lanes.h"

typedef struct modes_passes {
    modes_linear linear;
    const modes_lanes *lanes;
    modes_roots roots[3];
    /* forward, inverse: of all arrays in place. inverse_one: of one array into another. */
    stn_host_fft *forward, *inverse, *inverse_one;
    int64_t pitch, grid; /* complex numbers of a row; of a grid's spectrum */
    /* Rows of frequencies whose matrices differ, along axes 0 and 1; pieces of a row. */
    int64_t rows[2], row_pieces;
    /* Parts into which the pieces of all rows are divided, each with its own scratch memory. */
    int shares;
    size_t constants, spectra, stage, scratch; /* bytes */
    size_t powers;                             /* bytes of powers kept between states */
    int64_t per_piece;                         /* powers of a piece, each of several frequencies */
    uint64_t steps_per_state;                  /* steps between stored or recorded states */
    size_t shared;                             /* bytes of the transforms, or of all shares */
} modes_passes;

/* Complex numbers of a grid's spectrum, with rows padded for transforms in place. */
static inline int64_t modes_grid(const modes_linear *linear) {
    return linear->axis[0].length * linear->axis[1].length * (linear->axis[2].length / 2 + 1);
}
typedef struct modes_layout {
    bool inverse, in_place;
    bool dense;    /* the real side is a dense grid; else its rows are padded as in place */
    int alignment; /* of the arrays; 0: of one number */
} modes_layout;
/* A transform between `batch` extended grids and their spectra in that layout; scale: of an inverse
 * transform. */
stn_status modes_transform(const modes_linear *linear, stn_dtype dtype, modes_layout layout, int64_t batch,
                           double scale, stn_fft *fft, stn_error *error);
/* Steps from one state that is computed to the next: the greatest common divisor of the steps of
 * stored and of recorded states. */
uint64_t modes_steps_per_state(const stn_system_task *task);
/* Are powers of the matrix, `bytes` bytes at all frequencies, kept from state to state? */
bool modes_keeps_powers(const modes_linear *linear, double bytes);
double modes_spectra_bytes(const modes_linear *linear);
/* *made must be zero. The caller clears it in any case. */
stn_status modes_passes_make(const stn_system_task *task, int threads, modes_passes *made, stn_error *error);
void modes_passes_clear(modes_passes *passes);
size_t modes_passes_workspace(const modes_passes *passes);
void modes_passes_run(const modes_passes *passes, stn_pool *pool, const stn_system_arrays *arrays, void *workspace);
#endif
