/* Taps along one axis of arrays of uint8, on tensor cores: kernels typed_columns and typed_rows. */
#ifndef STN_STRATEGIES_TYPED_TYPED_BYTES_H
#define STN_STRATEGIES_TYPED_TYPED_BYTES_H
#include "context/kernel.h"
#include "plan/plan.h"

/* The kernels of strategy typed, as values[0] of its candidates. */
typedef enum typed_kernel { TYPED_POINT, TYPED_COLUMNS, TYPED_ROWS } typed_kernel;

/* TYPED_POINT where neither of the other two serves the task. */
typed_kernel typed_bytes_kernel(const stn_task *task, const stn_machine *machine);
/* Are the weights integers that f16 holds, so that sums are exact? It is compiled in. */
bool typed_bytes_integers(const stn_task *task);
void typed_bytes_params(const stn_task *task, typed_kernel kernel, stn_text *params);

/* Tables in device memory: fragments of the band matrix, then the host's terms. */
size_t typed_bytes_table_size(const stn_task *task, typed_kernel kernel);
void typed_bytes_fill_table(const stn_task *task, typed_kernel kernel, unsigned char *table);
stn_status typed_bytes_launch(const stn_task *task, typed_kernel kernel, const stn_kernel *loaded, void *table,
                              const stn_execution *run, stn_error *error);
double typed_bytes_seconds(const stn_task *task, const stn_machine *machine);
#endif
