/* The params.cuh of a direct kernel, and its shape as text. */
#ifndef STN_STRATEGIES_DIRECT_DIRECT_PARAMS_H
#define STN_STRATEGIES_DIRECT_DIRECT_PARAMS_H
#include "strategies/direct/direct_shape.h"

void direct_params(const stn_task *task, const direct_shape *shape, stn_text *params);
/* The text that tells this shape from others: "plane, 8 steps a launch, 4 points a lane, ...". */
void direct_name(const direct_shape *shape, stn_text *text);
void direct_describe(const direct_shape *shape, stn_format format, stn_text *text);
#endif
