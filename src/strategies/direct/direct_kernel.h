/* The params.cuh of the direct kernels, their arguments, and their shapes as text. */
#ifndef STN_STRATEGIES_DIRECT_DIRECT_KERNEL_H
#define STN_STRATEGIES_DIRECT_DIRECT_KERNEL_H
#include "strategies/common/ping_pong.h"
#include "strategies/direct/direct_shape.h"

void direct_params(const stn_task *task, const direct_shape *shape, stn_text *params);

/* Arguments, laid out as the kernels declare them: a header, then the boundary values and the
 * weights in the kernel's arithmetic type. */
#define DIRECT_MAX_HEADER 176
/* Writes the header of one launch and returns its size in bytes; sets *blocks to the number of
 * thread blocks. table: device table of taps, for kernels that read one. */
size_t direct_arguments(const stn_task *task, const direct_shape *shape, const stn_fused_launch *l, void *table,
                        void *arguments, int64_t *blocks);

/* The text that tells this shape from others: "plane, 8 steps a launch, 4 points a lane, ...". */
void direct_name(const direct_shape *shape, stn_text *text);
void direct_describe(const direct_shape *shape, stn_format format, stn_text *text);
#endif
