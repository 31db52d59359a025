/* Shared by tests of plans on the emulator: a context, a problem, and the host's result of it. */
#ifndef STENTOR_TESTS_EMULATED_H
#define STENTOR_TESTS_EMULATED_H
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../expect.h"
#include "context/context.h"
#include "plan/plan.h"

static stn_context *context;
static stn_stencil *stencil;
static stn_problem problem;
static void *in, *out;
static unsigned warnings;

static void count_warning(void *user, stn_log_level level, const char *message) {
    (void)user, (void)message;
    warnings += level >= STN_LOG_WARNING;
}

/* Computes the reference result on the host. */
static void define(const double *from, double *to) {
    stn_context *host = context_on(STN_DEVICE_HOST);
    stn_plan *plan;
    const stn_dtype dtype = problem.dtype;
    problem.dtype = STN_F64;
    OK(stn_plan_create(host, &problem, NULL, &plan, &error));
    OK(stn_plan_execute(plan, from, to, NULL, &error));
    stn_plan_destroy(plan);
    stn_context_destroy(host);
    problem.dtype = dtype;
}

static void end(void) {
    stn_memory_free(context, in);
    stn_memory_free(context, out);
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
}
#endif
