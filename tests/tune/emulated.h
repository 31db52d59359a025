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
    const stn_dtype dtype = problem.dtype;
    problem.dtype = STN_F64;
    stn_plan *plan = new_plan(host, &problem, NULL);
    OK(stn_plan_execute(plan, from, to, NULL, &error));
    stn_plan_destroy(plan);
    stn_context_destroy(host);
    problem.dtype = dtype;
}

/* Captures one execution of the plan. */
static inline void capture(stn_plan *plan) {
    const stn_driver_functions *call = stn_driver_table(context->driver);
    stn_cu_stream stream;
    stn_cu_graph graph;
    OK(stn_device_enter(context->device, &error));
    cr_assert_eq(call->cuStreamCreate(&stream, 0), 0u);
    cr_assert_eq(call->cuStreamBeginCapture(stream, 0), 0u);
    OK(stn_plan_execute(plan, in, out, stream, &error));
    cr_assert_eq(call->cuStreamEndCapture(stream, &graph), 0u, "nothing was loaded, measured or waited for");
    call->cuGraphDestroy(graph);
    call->cuStreamDestroy(stream);
    stn_device_leave(context->device);
}

static void end(void) {
    stn_memory_free(context, in);
    stn_memory_free(context, out);
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
}
#endif
