/* Seeds: a file with wisdom of the problem's class decides if nothing was measured, less so if it
 * is of other templates, and not at all if it is damaged. On the emulator, with handmade files, so
 * the test decides what is fastest. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cache/helpers.h"
#include "context/context.h"
#include "tune/plan_wisdom.h"

static stn_error error;
#define OK(call) cr_assert_eq((call), STN_OK, "%s", error.message)

static char *folder, path[4096];
static stn_stencil *stencil;
static char warning[1024];

static void keep_warning(void *user, stn_log_level level, const char *message) {
    (void)user;
    if (level >= STN_LOG_WARNING) snprintf(warning, sizeof warning, "%s", message);
}

static stn_context *open_context(const char *cache) {
    stn_context *context;
    const stn_context_options options = {.device = STN_DEVICE_CUDA(0), .cache_dir = cache, .log = keep_warning};
    OK(stn_context_create(&options, &context, &error));
    return context;
}

static stn_plan *plan_of(stn_context *context, size_t points, int mode) {
    stn_plan *plan;
    stn_problem problem = STN_PROBLEM_INIT;
    problem.stencil = stencil;
    problem.extent[0] = problem.extent[1] = points;
    problem.steps = 10;
    const stn_plan_options options = {.strategy = "direct", .mode = mode, .estimate_only = 1};
    OK(stn_plan_create(context, &problem, &options, &plan, &error));
    return plan;
}

static void start(void) {
    folder = make_temp_folder();
    snprintf(path, sizeof path, "%s/seeds.txt", folder);
    setenv("STENTOR_SEEDS", path, 1);
    OK(stn_stencil_parse("heat-2d", &stencil, &error));
}
static void end(void) {
    stn_stencil_destroy(stencil);
    remove_temp_folder(folder);
}
TestSuite(seeds, .init = start, .fini = end);

/* A row whose estimate is between `least` and `most` times the best one. */
static const stn_ranked *row_between(const stn_plan *plan, double least, double most) {
    for (size_t i = 1; i < plan->ranked && plan->ranking[i].applies; i++) {
        const double times = plan->ranking[i].estimate.seconds / plan->ranking[0].estimate.seconds;
        if (times > least && times < most) return &plan->ranking[i];
    }
    cr_assert_fail("no candidate is between %g and %g times the cheapest", least, most);
    return NULL;
}

/* Writes seeds as if only this row had been measured, with these kernels or others. */
static void write_seeds(stn_plan *plan, const stn_ranked *fastest, bool fresh) {
    stn_text text = STN_TEXT_EMPTY;
    const stn_key kernels = plan->context->templates_key;
    stn_plan like = *plan; /* borrows all members */
    for (size_t i = 0; i < like.ranked; i++) like.ranking[i].measured = &plan->ranking[i] == fastest ? 1e-3 : 0;
    if (!fresh) plan->context->templates_key.bytes[0] ^= 1;
    stn_wisdom_begin(&text);
    OK(tune_wisdom_add_fastest(&like, &text, &error));
    stn_wisdom_end(&text);
    plan->context->templates_key = kernels;
    cr_assert_not(text.failed);
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text.data, 1, text.size, file), text.size);
    fclose(file);
    stn_text_clear(&text);
}

/* Plans with the file, and without a cache folder. */
static stn_chosen chosen_with_seeds(size_t points, stn_candidate *candidate) {
    stn_context *context = open_context(":memory:");
    stn_plan *plan = plan_of(context, points, STN_MODE_AUTO);
    const stn_chosen chosen = plan->chosen;
    cr_expect_eq(plan->measured, 0.0, "its time is another problem's");
    if (candidate) *candidate = plan->candidate;
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    return chosen;
}

/* A deterministic plan takes no measured times, wherever they are from. */
static void expect_estimate_if_deterministic(size_t points) {
    stn_context *context = open_context(":memory:");
    stn_plan *plan;
    stn_problem problem = STN_PROBLEM_INIT;
    problem.stencil = stencil, problem.steps = 10;
    problem.extent[0] = problem.extent[1] = points;
    const stn_plan_options options = {.strategy = "direct", .deterministic = 1, .estimate_only = 1};
    OK(stn_plan_create(context, &problem, &options, &plan, &error));
    cr_expect_eq(plan->chosen, STN_CHOSEN_BY_ESTIMATE);
    cr_expect_eq(memcmp(&plan->candidate, &plan->ranking[0].candidate, sizeof plan->candidate), 0);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
}

Test(seeds, decide_if_nothing_was_measured) {
    stn_candidate taken;
    stn_context *context = open_context(":memory:");
    stn_plan *plan = plan_of(context, 4096, STN_MODE_AUTO);
    cr_assert_eq(plan->chosen, STN_CHOSEN_BY_ESTIMATE, "there is no file yet");
    cr_expect_not_null(strstr(warning, "No such file"), "%s", warning);
    /* Its tiles have the same height for 4112 rows. */
    const stn_ranked *row = row_between(plan, 1.25, 1.45);
    const stn_candidate candidate = row->candidate;
    write_seeds(plan, row, true);
    warning[0] = '\0';
    cr_expect_eq(chosen_with_seeds(4096, &taken), STN_CHOSEN_BY_SEEDS);
    cr_expect_eq(memcmp(&taken, &candidate, sizeof taken), 0);
    expect_estimate_if_deterministic(4096);
    cr_expect_eq(chosen_with_seeds(4112, NULL), STN_CHOSEN_BY_SEEDS, "of its class");
    cr_expect_eq(chosen_with_seeds(4097, NULL), STN_CHOSEN_BY_ESTIMATE, "an odd extent is another class");
    cr_expect_str_eq(warning, "");
    setenv("STENTOR_SEEDS", "none", 1);
    cr_expect_eq(chosen_with_seeds(4096, NULL), STN_CHOSEN_BY_ESTIMATE);
    cr_expect_str_eq(warning, "");
    stn_plan_destroy(plan);
    stn_context_destroy(context);
}

Test(seeds, of_other_templates_decide_only_close_estimates) {
    stn_candidate taken;
    setenv("STENTOR_SEEDS", "none", 1);
    stn_context *context = open_context(":memory:");
    stn_plan *plan = plan_of(context, 4096, STN_MODE_AUTO);
    setenv("STENTOR_SEEDS", path, 1);
    write_seeds(plan, row_between(plan, 1.16, 1.45), false);
    cr_expect_eq(chosen_with_seeds(4096, NULL), STN_CHOSEN_BY_ESTIMATE);
    const stn_ranked *row = row_between(plan, 1, 1.14);
    write_seeds(plan, row, false);
    cr_expect_eq(chosen_with_seeds(4096, &taken), STN_CHOSEN_BY_SEEDS);
    cr_expect_eq(memcmp(&taken, &row->candidate, sizeof taken), 0);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
}

/* Remembers as a measurement does. */
static void remember(const stn_plan *plan, const stn_candidate *fastest) {
    static tune_records records;
    tune_record_set(&records, plan->strategy->name, fastest, 1);
    tune_remember(plan, &records);
}

Test(seeds, come_after_own_measurements) {
    setenv("STENTOR_SEEDS", "none", 1);
    stn_context *context = open_context(folder);
    stn_plan *plan = plan_of(context, 4096, STN_MODE_AUTO);
    const stn_candidate own = row_between(plan, 1, 1.45)->candidate;
    remember(plan, &own);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    /* With the assumed bandwidth: the emulator's measured one differs. */
    context = open_context(":memory:");
    plan = plan_of(context, 4096, STN_MODE_AUTO);
    setenv("STENTOR_SEEDS", path, 1);
    write_seeds(plan, row_between(plan, 1, 1.14), true);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    cr_expect_eq(chosen_with_seeds(4096, NULL), STN_CHOSEN_BY_SEEDS);
    context = open_context(folder);
    plan = plan_of(context, 4096, STN_MODE_AUTO);
    cr_expect_eq(plan->chosen, STN_CHOSEN_BY_MEMORY);
    cr_expect_eq(memcmp(&plan->candidate, &own, sizeof own), 0);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
}

Test(seeds, damaged_ones_are_reported_and_not_used) {
    setenv("STENTOR_SEEDS", "none", 1);
    stn_context *context = open_context(":memory:");
    stn_plan *plan = plan_of(context, 4096, STN_MODE_AUTO);
    setenv("STENTOR_SEEDS", path, 1);
    write_seeds(plan, row_between(plan, 1, 1.45), true);
    FILE *file = fopen(path, "r+b");
    cr_assert_not_null(file);
    cr_assert_eq(fseek(file, 40, SEEK_SET), 0);
    fputc('!', file);
    fclose(file);
    cr_expect_eq(chosen_with_seeds(4096, NULL), STN_CHOSEN_BY_ESTIMATE);
    cr_expect_not_null(strstr(warning, "its checksum is wrong"), "%s", warning);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
}

/* The texts that the library carries, if any, are valid. */
Test(seeds, of_the_library_are_wisdom) {
    for (size_t i = 0; tune_embedded_wisdom[i]; i++) {
        stn_wisdom wisdom;
        OK(stn_wisdom_parse(tune_embedded_wisdom[i], strlen(tune_embedded_wisdom[i]), &wisdom, &error));
        cr_expect_gt(wisdom.count, 0u);
        for (size_t k = 0; k < wisdom.count; k++) {
            static tune_records records;
            tune_records_parse(wisdom.entry[k], wisdom.entry[k + 1], &records);
            cr_expect_gt(records.count, 0u, "%.100s", wisdom.entry[k]);
        }
        stn_wisdom_clear(&wisdom);
    }
}
