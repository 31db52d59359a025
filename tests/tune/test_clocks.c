/* Clocks and power limit are recorded with measured times if NVML is installed, and otherwise the
 * reason why not. On the emulator. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "context/context.h"
#include "tune/plan_wisdom.h"

static stn_error error;
#define OK(call) cr_assert_eq((call), STN_OK, "%s", error.message)

static stn_context *context;
static stn_stencil *stencil;
static stn_plan *plan;

static void start(void) {
    const stn_context_options options = {.device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:"};
    stn_problem problem = STN_PROBLEM_INIT;
    stn_plan_options estimate = STN_PLAN_OPTIONS_INIT;
    OK(stn_context_create(&options, &context, &error));
    OK(stn_stencil_parse("heat-2d", &stencil, &error));
    problem.stencil = stencil;
    problem.extent[0] = 40, problem.extent[1] = 64;
    estimate.estimate_only = 1;
    OK(stn_plan_create(context, &problem, &estimate, &plan, &error));
}
static void end(void) {
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
}
TestSuite(clocks, .init = start, .fini = end);

static void expect_line(const char *path, const char *failing, const char *words) {
    stn_text text = STN_TEXT_EMPTY;
    stn_plan like = *plan; /* borrows all members */
    setenv("STENTOR_NVML_PATH", path, 1);
    setenv("FAKE_NVML", failing, 1);
    like.ranking[0].measured = 0.5;
    OK(tune_wisdom_add_fastest(&like, &text, &error));
    stn_text_append(&text, "", 1);
    cr_expect_not_null(strstr(text.data, words), "%s has no \"%s\"", text.data, words);
    cr_expect_not_null(strstr(text.data, "\ncandidate: "));
    stn_text_clear(&text);
}

Test(clocks, are_recorded) {
    expect_line(FAKE_NVML_PATH, "", ", multiprocessors at 1755 MHz, memory at 3201 MHz, 700 W at most\n");
    expect_line(FAKE_NVML_PATH, "power", ", multiprocessors at 1755 MHz, memory at 3201 MHz\n");
}

Test(clocks, unknown_ones_have_a_reason) {
    expect_line("/nowhere/libnvidia-ml.so.1", "", ", clocks not known: there is no NVML\n");
    expect_line(FAKE_NVML_PATH, "init", ", clocks not known: NVML does not start\n");
    expect_line(FAKE_NVML_PATH, "uuid", ", clocks not known: NVML does not know GPU-");
    expect_line(FAKE_NVML_PATH, "clocks", ", clocks not known: NVML reports none of them\n");
}
