/* Rounds weights to a kernel's arithmetic type. */
#include "strategies/common/rounded_weights.h"

#include <math.h>

void stn_weights_round(const stn_task *task, double *rounded) {
    long double remainder = 0;
    size_t middle = task->ntaps;
    for (size_t k = 0; k < task->ntaps; k++) {
        const stn_tap *tap = &task->taps[k];
        rounded[k] = task->dtype == STN_F64 ? tap->weight : (float)tap->weight;
        if (!tap->offset[0] && !tap->offset[1] && !tap->offset[2])
            middle = k;
        else
            remainder += (long double)tap->weight - (long double)rounded[k];
    }
    if (middle == task->ntaps || task->dtype == STN_F64) return;
    const float moved = (float)((long double)task->taps[middle].weight + remainder);
    if (isfinite(moved)) rounded[middle] = moved;
}
