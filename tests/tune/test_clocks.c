/* Clocks and power limit are recorded with measured times if NVML is installed, and otherwise the
 * reason why not. On the emulator. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "../cache/helpers.h"
#include "context/context.h"
#include "tune/plan_wisdom.h"

static stn_error error;
#define OK(call) cr_assert_eq((call), STN_OK, "%s", error.message)

static stn_context *context;
static stn_stencil *stencil;
static stn_plan *plan;
static char *folder;

static void start(void) {
    folder = make_temp_folder();
    const stn_context_options options = {.device = STN_DEVICE_CUDA(0), .cache_dir = folder};
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
    remove_temp_folder(folder);
}
TestSuite(clocks, .init = start, .fini = end);

static void expect_line(const char *path, const char *failing, const char *words) {
    static tune_records records;
    char *text;
    setenv("STENTOR_NVML_PATH", path, 1);
    setenv("FAKE_NVML", failing, 1);
    tune_record_set(&records, plan->strategy->name, &plan->candidate, 0.5);
    OK(stn_wisdom_forget(context, NULL, &error));
    tune_remember(plan, &records);
    OK(stn_wisdom_export(context, &text, &error));
    cr_expect_not_null(strstr(text, words), "%s has no \"%s\"", text, words);
    cr_expect_not_null(strstr(text, "\ncandidate: "));
    stn_text_free(text);
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
