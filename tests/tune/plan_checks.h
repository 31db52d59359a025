/* Shared by tests of the tuner: calls that must succeed, and the library's warnings. */
#ifndef STN_TESTS_TUNE_PLAN_CHECKS_H
#define STN_TESTS_TUNE_PLAN_CHECKS_H
#include <stdio.h>

#include "../expect.h"
#include "plan/plan.h"

typedef struct warning_count {
    unsigned warnings;
    char last[1024];
} warning_count;

/* user: a warning_count */
static inline void count_warning(void *user, stn_log_level level, const char *message) {
    warning_count *to = user;
    if (level < STN_LOG_WARNING) return;
    to->warnings++;
    snprintf(to->last, sizeof to->last, "%s", message);
}

static inline size_t measured_rows(const stn_plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->ranked; i++) count += plan->ranking[i].measured > 0;
    return count;
}
#endif
