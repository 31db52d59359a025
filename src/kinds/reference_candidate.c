/* Choosing the reference candidate, whose result the others are compared with: kinds.h. */
#include "base/error.h"
#include "kinds/kinds.h"
#include "plan/plan.h"

stn_status stn_reference_candidate(const stn_plan *plan, const stn_strategy *const *references, int *which,
                                   const stn_strategy **chosen, stn_candidate *candidate, stn_error *error) {
    char reason[160] = "";
    for (; references[*which]; ++*which) {
        stn_candidate list[STN_CANDIDATES] = {0};
        size_t count = 0;
        if (plan->kind->applies(plan, references[*which], reason, sizeof reason))
            count = plan->kind->candidates(plan, references[*which], list, STN_CANDIDATES);
        if (!count) continue;
        *chosen = references[*which];
        *candidate = list[count - 1];
        return STN_OK;
    }
    return stn_fail(error, STN_ERROR_UNSUPPORTED, "there is nothing to compare with: %s", reason);
}
