/* One step of a stencil of very many taps along the last two axes, or along one axis, by transforms
 * of parts of rows or columns. `exact`: the outputs have the bits of stencil_step.h; they may have
 * any type but f64, and the taps reach along both axes. Not `exact`: the outputs have a
 * floating-point type, and their errors are relative to the largest values nearby. */
#ifndef STN_HOST_ROW_SPECTRA_H
#define STN_HOST_ROW_SPECTRA_H
#include "host/pool.h"
#include "problem/task.h"

struct stn_step;
typedef struct stn_row_spectra stn_row_spectra; /* immutable tables for a task's weights */

/* The time of a point, as a multiple of the time that stencil_step.h takes for a tap; infinity if
 * the task is not supported, or would not be faster. */
double stn_row_spectra_cost(const stn_task *task, bool exact);
/* *made is NULL where the cost is infinite. The tables do not refer to the task. */
stn_status stn_row_spectra_create(const stn_task *task, bool exact, stn_row_spectra **made, stn_error *error);
void stn_row_spectra_destroy(stn_row_spectra *spectra); /* NULL has no effect */
/* Computes all points of a step of `grids` grids of the task. */
void stn_row_spectra_run(const stn_row_spectra *spectra, const struct stn_step *step, stn_pool *pool, int64_t grids);
#endif
