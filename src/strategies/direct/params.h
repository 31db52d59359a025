/* The params.cuh of a direct kernel, and its shape in words. */
#ifndef STN_STRATEGIES_DIRECT_PARAMS_H
#define STN_STRATEGIES_DIRECT_PARAMS_H
#include "strategies/direct/shape.h"

void direct_params(const stn_task *task, const direct_shape *shape, stn_text *params);
/* What tells it from other shapes: "plane, 8 steps a launch, 4 points a lane, ...". */
void direct_name(const direct_shape *shape, stn_text *text);
void direct_describe(const direct_shape *shape, stn_format format, stn_text *text);
#endif
