/* Shared formulas of the strategies' cost models. */
#include "strategies/common/overlap_cost.h"

#include <math.h>

#include "strategies/common/grid_layout.h"

#define NORM 6
/* Cycles of a multiprocessor for each point that is loaded and stored as a single element. */
static const double narrow_cycles[] = {[STN_F64] = 2.3, [STN_F32] = 1.4, [STN_F16] = 1.4};

double stn_cost_overlapped(double one, double other) {
    const double longer = fmax(one, other), shorter = fmin(one, other);
    return longer > 0 ? longer * pow(1 + pow(shorter / longer, NORM), 1.0 / NORM) : 0;
}

double stn_cost_scalar_access(const stn_task *task, const stn_machine *machine) {
    return stn_task_vector(task) > 1 ? 0 : stn_cost_elements(task->dtype, (double)stn_task_points(task), machine);
}

double stn_cost_elements(stn_dtype dtype, double count, const stn_machine *machine) {
    return narrow_cycles[dtype] * count / (machine->multiprocessors * machine->clock);
}
