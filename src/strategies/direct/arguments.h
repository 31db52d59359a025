/* Arguments of the direct kernels as they declare them; values (constants, then weights) follow in
 * the kernel's arithmetic type. */
#ifndef STN_STRATEGIES_DIRECT_ARGUMENTS_H
#define STN_STRATEGIES_DIRECT_ARGUMENTS_H
#include "strategies/common/turns.h"
#include "strategies/direct/shape.h"

#define DIRECT_HEADER_MOST 176

/* Bytes before the values. */
size_t direct_header_size(const direct_shape *shape);
/* Writes them, and returns how many bytes, for a launch of *blocks blocks. table: of taps, for
 * those that have one. */
size_t direct_arguments(const stn_task *task, const direct_shape *shape, const stn_fused_launch *l, void *table,
                        void *arguments, int64_t *blocks);
#endif
