/* Counting candidates that could not be prepared or measured, by the reason. They are no error of
 * the plan. */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"

/* By the texts of ptxas ("uses too much shared data") and of the driver
 * (CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES). */
const char *stn_skip_name(const stn_error *why) {
    if (why->status == STN_ERROR_OUT_OF_MEMORY) return "device memory";
    if (why->status == STN_ERROR_NO_COMPILER) return "no compiler";
    if (strstr(why->message, "too much shared") || strstr(why->message, "shared memory a block"))
        return "shared memory";
    if (strstr(why->message, "OUT_OF_RESOURCES") || strstr(why->message, "too many resources")) return "registers";
    if (why->status == STN_ERROR_COMPILE) return "compile";
    return why->status == STN_ERROR_UNSUPPORTED ? "not offered" : "launch";
}

bool stn_skip_is_resource(const stn_error *why) {
    const char *name = stn_skip_name(why);
    return !strcmp(name, "shared memory") || !strcmp(name, "registers");
}

void stn_plan_count_skip(stn_plan *plan, const char *constraint, const char *because) {
    stn_skip *each = plan->skips;
    while (each < plan->skips + plan->nskips && strcmp(each->constraint, constraint) != 0) each++;
    if (each == plan->skips + STN_PLAN_SKIPS) return; /* there are no more names in practice */
    if (each == plan->skips + plan->nskips) {
        *each = (stn_skip){.constraint = constraint};
        snprintf(each->because, sizeof each->because, "%.199s", because);
        plan->nskips++;
    }
    each->count++;
}
