/* The result of one device, which those of teams are compared with. */
#ifndef STN_TESTS_TEAM_RUN_ALONE_H
#define STN_TESTS_TEAM_RUN_ALONE_H
#include "stentor.h"

/* Computes a result on one device, from grids in host memory. */
static inline stn_status run_alone(stn_context *alone, const stn_problem *p, const char *strategy, const void *in,
                                   const void *source, void *out, size_t bytes, stn_error *error) {
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = strategy;
    void *at[3] = {NULL};
    stn_status status = stn_plan_create(alone, p, &options, &plan, error);
    for (int i = 0; i < 3 && status == STN_OK; i++) status = stn_memory_alloc(alone, bytes, &at[i], error);
    if (status == STN_OK) status = stn_memory_upload(alone, at[0], in, bytes, error);
    if (status == STN_OK) status = stn_memory_upload(alone, at[2], source, bytes, error);
    stn_execution run = STN_EXECUTION_INIT;
    run.in = at[0], run.out = at[1], run.source = p->has_source ? at[2] : NULL;
    if (status == STN_OK) status = stn_plan_run(plan, &run, error);
    if (status == STN_OK) status = stn_synchronize(alone, NULL, error);
    if (status == STN_OK) status = stn_memory_download(alone, out, at[1], bytes, error);
    for (int i = 0; i < 3; i++) stn_memory_free(alone, at[i]);
    stn_plan_destroy(plan);
    return status;
}
#endif
