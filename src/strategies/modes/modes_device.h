/* Strategy modes on a GPU. */
#ifndef STN_STRATEGIES_MODES_MODES_DEVICE_H
#define STN_STRATEGIES_MODES_MODES_DEVICE_H
#include "plan/plan.h"
#include "strategies/modes/linear.h"

/* Whether a system that is analysed can be served; else `reason` is one phrase. */
bool modes_device_fits(const modes_linear *linear, const stn_machine *machine, char *reason, size_t size);
size_t modes_device_candidates(const modes_linear *linear, const stn_machine *machine, stn_candidate *list,
                               size_t most);
void modes_device_estimate(const modes_linear *linear, const stn_machine *machine, const stn_candidate *candidate,
                           stn_estimate *result);
const modes_linear *modes_device_linear(const stn_plan *plan);
/* The strategy's functions of these names. */
stn_status modes_device_prepare(stn_plan *plan, stn_error *error);
stn_status modes_device_execute(stn_plan *plan, const stn_execution *run, stn_error *error);
/* Adds to the description what the host's plans do not have. */
void modes_device_describe(const stn_plan *plan, stn_format format, stn_text *text);
void modes_device_release(stn_plan *plan);
#endif
