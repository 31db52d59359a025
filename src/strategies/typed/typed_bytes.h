/* Taps of arrays of uint8, int8, uint16 or int16, on tensor cores: kernels typed_lines (along one
 * axis) and typed_box (along the last two). */
#ifndef STN_STRATEGIES_TYPED_TYPED_BYTES_H
#define STN_STRATEGIES_TYPED_TYPED_BYTES_H
#include "context/kernel.h"
#include "plan/plan.h"

/* The kernels of strategy typed, as values[0] of its candidates. */
typedef enum typed_kernel { TYPED_POINT, TYPED_LINES, TYPED_BOX } typed_kernel;

/* The kernel for the task; TYPED_POINT if none of the others serves it. */
typed_kernel typed_bytes_kernel(const stn_task *task, const stn_machine *machine);

/* Properties of the weights that are compiled in: their bytes, whether they are integers (sums are
 * then exact), whether sums may be negative, and whether results are the top bytes of sums. */
typedef struct typed_bytes_form {
    int digits;
    bool integers, negative, top;
} typed_bytes_form;
typed_bytes_form typed_bytes_form_of(const stn_task *task);
void typed_bytes_params(const stn_task *task, const stn_machine *machine, typed_kernel kernel, stn_text *params);

/* Bytes of dynamic shared memory. */
size_t typed_bytes_shared(const stn_task *task, const stn_machine *machine, typed_kernel kernel);

/* Tables in device memory: fragments of the band matrix; the doubt, four times; the host's terms;
 * for elements of one byte, and each value, the host's result where all taps read that value. */
size_t typed_bytes_table_size(const stn_task *task, typed_kernel kernel);
void typed_bytes_fill_table(const stn_task *task, typed_kernel kernel, unsigned char *table);

/* Mirrors the struct of bytes.cuh. */
typedef struct typed_bytes_arguments {
    const void *in;
    void *out;
    const void *bands, *terms, *of_value;
    int64_t n[3], in_stride[3], out_stride[3], in_batch, out_batch;
    int32_t tiles_x, tiles_y, singles, terms_all, odd, fraction, doubt;
    uint32_t limit, multiplier, shift, past[2][2];
} typed_bytes_arguments;
/* Sets all but `in` and `out`; returns the number of blocks. `table`: in device memory. */
unsigned typed_bytes_fill_arguments(const stn_task *task, const stn_machine *machine, typed_kernel kernel, void *table,
                                    typed_bytes_arguments *a);
unsigned typed_bytes_threads(typed_kernel kernel);
double typed_bytes_seconds(const stn_task *task, const stn_machine *machine, typed_kernel kernel);
#endif
