/* Bytes and operations of a run of a system. */
#include "strategies/common/system_cost.h"

/* Arrays read and operations at a point, for one assignment. */
static void add_equation(const stn_system_task *task, const stn_system_equation *equation, double *arrays,
                         double *operations) {
    const stn_system *system = task->system;
    bool read[STN_SYSTEM_MAX_FIELDS * (STN_SYSTEM_MAX_LEVELS + 1) + STN_SYSTEM_MAX_COEFFICIENTS] = {false};
    /* Some of these nodes belong to other assignments. They are few, and this is only an
     * estimate. */
    for (int i = 0; i <= equation->root; i++) {
        const stn_system_node *node = &system->nodes[i];
        int place = -1;
        if (node->op == STN_SYSTEM_FIELD)
            place = node->index * (STN_SYSTEM_MAX_LEVELS + 1) + node->level + 1;
        else if (node->op == STN_SYSTEM_COEFFICIENT && !task->is_number[node->index])
            place = STN_SYSTEM_MAX_FIELDS * (STN_SYSTEM_MAX_LEVELS + 1) + node->index;
        else if (node->op == STN_SYSTEM_STENCIL)
            *operations += 2 * (double)system->stencils[node->index].ntaps;
        else
            *operations += 1;
        if (place < 0 || read[place]) continue;
        read[place] = true;
        *arrays += 1;
    }
    *arrays += 1;
}

void stn_system_cost(const stn_system_task *task, stn_estimate *estimate) {
    const stn_system *system = task->system;
    const double points = (double)stn_system_task_numbers(task), steps = (double)task->steps * (double)task->states;
    double arrays = 0, operations = 0;
    for (int e = 0; e < system->nequations; e++) add_equation(task, &system->equations[e], &arrays, &operations);
    *estimate = (stn_estimate){.unit = task->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32};
    estimate->bytes = steps * points * arrays * (double)stn_dtype_size(task->dtype);
    estimate->flops = steps * points * operations;
    estimate->launches = steps * system->nequations;
    estimate->stepping = true;
}
