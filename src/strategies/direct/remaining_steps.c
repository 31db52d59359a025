/* Cost of a whole run by multi-step launches, and the kernel for the steps that remain. */
#include "strategies/direct/remaining_steps.h"

#include <math.h>

#include "strategies/direct/one_step.h"
#include "strategies/direct/temporal_blocking.h"

bool direct_time_remainder(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                           direct_shape *rest) {
    int left = (int)(task->steps % (uint64_t)shape->fused);
    if (left == 0) return false;
    if (left == 1) {
        direct_shape tried[8];
        size_t count = direct_shapes(task, machine, tried, 8);
        double least = 0;
        for (size_t i = 0; i < count; i++) {
            stn_estimate e;
            direct_cost(task, machine, &tried[i], &e);
            if (i == 0 || e.seconds < least) least = e.seconds, *rest = tried[i];
        }
        return true;
    }
    *rest = *shape;
    rest->fused = left;
    return true;
}

void direct_time_cost(const stn_task *task, const stn_machine *machine, const direct_shape *shape, stn_estimate *e) {
    double points = (double)stn_task_points(task), launches = floor((double)task->steps / shape->fused);
    e->unit = task->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32;
    double computed, of_rest;
    e->seconds = launches * direct_time_launch_seconds(task, machine, shape, &computed);
    e->halo_waste = computed / points - 1;
    e->launches = launches;
    direct_shape rest = *shape;
    if (direct_time_remainder(task, machine, shape, &rest)) {
        e->launches++;
        if (rest.fused > 1)
            e->seconds += direct_time_launch_seconds(task, machine, &rest, &of_rest);
        else {
            stn_estimate one;
            direct_cost(task, machine, &rest, &one);
            e->seconds += one.seconds / (double)task->steps;
        }
    }
    e->bytes = e->launches * 2 * (double)stn_dtype_size(task->dtype) * points;
    e->flops = (1 + e->halo_waste) * 2.0 * shape->operations * points * (double)task->steps;
}
