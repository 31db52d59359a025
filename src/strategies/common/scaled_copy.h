/* Copies one side of a transform to another layout and type, times a factor (kernel fft/scale.cu),
 * for libraries without scale factors that support few layouts and types and overwrite their input.
 */
#ifndef STN_STRATEGIES_COMMON_SCALED_COPY_H
#define STN_STRATEGIES_COMMON_SCALED_COPY_H
#include "plan/plan.h"

/* Makes the kernel for a pair of types and adds it to the plan's list. */
stn_status stn_scaled_copy_make(stn_plan *plan, stn_dtype from, stn_dtype to, struct stn_kernel **kernel,
                                stn_error *error);

/* Grids of one side: their layout and element type. */
typedef struct stn_scaled_copy_end {
    const stn_fft_side *side;
    void *data; /* the source is only read */
} stn_scaled_copy_end;
/* Copies `batch` grids. `from` and `to` may be the same. type: of the elements of `from`. */
stn_status stn_scaled_copy_run(const struct stn_kernel *kernel, stn_dtype type, const stn_scaled_copy_end *from,
                               const stn_scaled_copy_end *to, int64_t batch, double factor, void *stream,
                               stn_error *error);
#endif
