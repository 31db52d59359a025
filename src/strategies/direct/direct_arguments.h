/* Arguments of the direct kernels, laid out as the kernels declare them: a header, then the
 * boundary values and the weights in the kernel's arithmetic type. */
#ifndef STN_STRATEGIES_DIRECT_DIRECT_ARGUMENTS_H
#define STN_STRATEGIES_DIRECT_DIRECT_ARGUMENTS_H
#include "strategies/common/launch_loop.h"
#include "strategies/direct/direct_shape.h"

#define DIRECT_HEADER_MOST 176

/* Size of the header in bytes. */
size_t direct_header_size(const direct_shape *shape);
/* Writes the arguments of one launch and returns their size in bytes; sets *blocks to the number of
 * thread blocks. table: device table of taps, for kernels that read one. */
size_t direct_arguments(const stn_task *task, const direct_shape *shape, const stn_fused_launch *l, void *table,
                        void *arguments, int64_t *blocks);
#endif
