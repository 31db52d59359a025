/* Candidates that were not measured, counted by what they ran into: none of that is an error of the plan. */
#include <stdio.h>
#include <string.h>

#include "plan/plan.h"
#include "tune/trial.h"

/* What a failure says it lacks. */
static const char *constraint_of(const stn_error *why) {
    switch (why->status) {
        case STN_ERROR_OUT_OF_MEMORY:
            return "device memory";
        case STN_ERROR_COMPILE:
            return "compile";
        case STN_ERROR_NO_COMPILER:
            return "no compiler";
        default:
            break;
    }
    if (strstr(why->message, "shared")) return "shared memory";
    if (strstr(why->message, "OUT_OF_RESOURCES") || strstr(why->message, "register")) return "registers";
    return why->status == STN_ERROR_UNSUPPORTED ? "not offered" : "launch";
}

static void add(stn_plan *plan, const char *constraint, const char *because) {
    stn_skip *each = plan->skips;
    while (each < plan->skips + plan->nskips && strcmp(each->constraint, constraint) != 0) each++;
    if (each == plan->skips + STN_PLAN_SKIPS) return; /* there are no more names than that */
    if (each == plan->skips + plan->nskips) {
        *each = (stn_skip){.constraint = constraint};
        snprintf(each->because, sizeof each->because, "%.199s", because);
        plan->nskips++;
    }
    each->count++;
}

void tune_count_skip(stn_plan *plan, const tune_trial *trial) {
    if (trial->state == TUNE_SKIPPED)
        add(plan, constraint_of(&trial->why), trial->why.message);
    else if (trial->state == TUNE_NEW)
        add(plan, "time", "the time for measuring was up");
    else if (trial->state == TUNE_WRONG)
        add(plan, "wrong result", "it differs from the trusted one by more than rounding");
}
