/* Tuning without a device: on the host, and for a GPU that is not installed. */
#include <criterion/criterion.h>
#include <string.h>

#include "plan_checks.h"

typedef struct world {
    stn_context *context;
    stn_stencil *stencil;
    stn_problem problem;
    warning_count warned;
} world;

Test(nowhere, has_no_effect_but_a_warning) {
    for (int i = 0; i < 2; i++) {
        world w = {.problem = STN_PROBLEM_INIT};
        stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
        if (i)
            options.arch = "sm_90";
        else
            options.device = STN_DEVICE_HOST;
        options.cache_dir = ":memory:";
        options.log = count_warning;
        options.log_user = &w.warned;
        OK(stn_context_create(&options, &w.context, &error));
        OK(stn_stencil_parse("heat-1d", &w.stencil, &error));
        w.problem.stencil = w.stencil;
        w.problem.extent[0] = 100;
        stn_plan_options plan_options = STN_PLAN_OPTIONS_INIT;
        plan_options.tune = plan_options.estimate_only = 1;
        stn_plan *plan = new_plan(w.context, &w.problem, &plan_options);
        cr_assert_eq(plan->chosen, STN_CHOSEN_BY_ESTIMATE);
        cr_assert_eq(w.warned.warnings, 1u);
        cr_assert_not_null(strstr(w.warned.last, "nothing is measured"), "%s", w.warned.last);
        stn_plan_destroy(plan);
        stn_stencil_destroy(w.stencil);
        stn_context_destroy(w.context);
    }
}
