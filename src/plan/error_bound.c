/* Error bounds and error accumulation: error_bound.h. */
#include "plan/error_bound.h"

#include <math.h>

double stn_error_bound(const stn_task *task) {
    return stn_error_bound_of(task->dtype, task->tolerance, (double)task->steps);
}

/* tests/NUMERICS.md lists these bounds, and says why they depend on the steps. */
double stn_error_bound_of(stn_dtype dtype, double tolerance, double steps) {
    if (tolerance > 0) return tolerance;
    switch (dtype) {
        case STN_F64:
            return 1e-13 * (1 + log2(steps));
        case STN_F32:
            return 1e-6 * (log2(steps) + 1.5 * sqrt(steps) - 0.5);
        default:
            return 1e-3 * sqrt(steps);
    }
}

bool stn_error_is_within_bound(const stn_task *task, const stn_estimate *estimate) {
    return !(estimate->error > stn_error_bound(task));
}

double stn_error_accumulated(double systematic, double random_part, double launches) {
    return hypot(systematic * launches, random_part * sqrt(launches));
}

double stn_error_of_runs(double runs) { return stn_error_accumulated(0.125, 1, runs); }

/* A rounding error is uniform within half a unit in the last place, so its root mean square is half
 * a unit over sqrt(3). The relative error is largest for numbers just above a power of two. */
double stn_error_rounding(stn_dtype dtype) {
    double half_unit = dtype == STN_F64 ? 0x1p-53 : dtype == STN_F32 ? 0x1p-24 : 0x1p-11;
    return 0.58 * half_unit;
}

/* 0.75 is SPLIT_COLUMN_ERROR of strategy spectral, which predicts the least error of all. */
double stn_error_least(stn_dtype dtype) { return 0.75 * stn_error_rounding(dtype); }

double stn_error_cancellation(const stn_task *task) {
    for (size_t i = 1; i < task->ntaps; i++)
        if ((task->taps[i].weight < 0) != (task->taps[0].weight < 0)) return 2;
    return 1;
}

double stn_error_stepping(const stn_task *task) {
    stn_dtype sums = task->dtype == STN_F64 ? STN_F64 : STN_F32;
    double random_part = sqrt((double)task->ntaps / 3) * stn_error_rounding(sums) + stn_error_rounding(task->dtype);
    return stn_error_accumulated(0, random_part, (double)task->steps);
}
