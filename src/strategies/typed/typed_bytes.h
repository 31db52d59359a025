/* Taps along one axis of arrays of uint8, int8, uint16 or int16, on tensor cores: kernels typed_columns and typed_rows. */
#ifndef STN_STRATEGIES_TYPED_TYPED_BYTES_H
#define STN_STRATEGIES_TYPED_TYPED_BYTES_H
#include "context/kernel.h"
#include "plan/plan.h"

/* The kernels of strategy typed, as values[0] of its candidates. */
typedef enum typed_kernel { TYPED_POINT, TYPED_COLUMNS, TYPED_ROWS } typed_kernel;

/* TYPED_POINT where neither of the other two serves the task. */
typed_kernel typed_bytes_kernel(const stn_task *task, const stn_machine *machine);

/* What is compiled in of the weights: their bytes, whether they are integers, whose sums are exact,
 * and whether sums may be negative. */
typedef struct typed_bytes_form {
    int digits;
    bool integers, negative;
} typed_bytes_form;
typed_bytes_form typed_bytes_form_of(const stn_task *task);
void typed_bytes_params(const stn_task *task, stn_text *params);

/* Tables in device memory: fragments of the band matrix, then the host's terms. */
size_t typed_bytes_table_size(const stn_task *task);
void typed_bytes_fill_table(const stn_task *task, typed_kernel kernel, unsigned char *table);
stn_status typed_bytes_launch(const stn_plan *plan, typed_kernel kernel, const stn_kernel *loaded, void *table,
                              const stn_execution *run, stn_error *error);
double typed_bytes_seconds(const stn_task *task, const stn_machine *machine);
#endif
