/* Plans when only stored kernels can run: packs, disk entries, and the message if there is neither.
 * NVRTC is the emulated one, then hidden by its environment variable. */
#include <stdlib.h>

#include "../expect.h"
#include "context/context.h"
#include "helpers.h"
#include "plan/plan.h"

static stn_stencil *stencil;
static stn_problem problem = STN_PROBLEM_INIT;

static void set_up(void) {
    problem.stencil = stencil = stencil_of("heat-2d");
    problem.extent[0] = 500;
    problem.extent[1] = 700;
}

static void tear_down(void) { stn_stencil_destroy(stencil); }

TestSuite(stored, .init = set_up, .fini = tear_down);

static stn_context *open_context(const char *path, const void *pack, size_t size) {
    const stn_context_options options = {.arch = "sm_90", .cache_dir = path, .pack_data = pack, .pack_size = size};
    stn_context *context;
    OK(stn_context_create(&options, &context, &error));
    return context;
}

static stn_plan *plan_with(stn_context *context, int estimate_only) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.estimate_only = estimate_only;
    options.strategy = "direct"; /* has several candidates, of one kernel each */
    return new_plan(context, &problem, &options);
}

static void hide_compiler(void) { setenv("STENTOR_NVRTC_PATH", "/nonexistent", 1); }

Test(stored, uses_a_stored_candidate_if_the_best_is_not_stored) {
    stn_context *context = open_context(":memory:", NULL, 0);
    stn_pack_writer *writer;
    void *pack;
    size_t size;
    cr_assert_eq(stn_pack_writer_create(&writer, NULL), STN_OK);
    stn_cache_record(context->cache, writer);
    stn_plan *plan = plan_with(context, 1);
    size_t worst = 0;
    while (worst + 1 < plan->ranked && plan->ranking[worst + 1].applies) worst++;
    cr_assert(worst > 0, "this problem has one candidate only");
    stn_candidate chosen = plan->ranking[worst].candidate;
    plan->candidate = chosen;
    OK(plan->ranking[worst].strategy->prepare(plan, &error));
    stn_plan_destroy(plan);
    cr_assert_eq(stn_pack_writer_count(writer), 1);
    cr_assert_eq(stn_pack_finish(writer, &pack, &size, NULL), STN_OK);
    stn_pack_writer_destroy(writer);
    stn_context_destroy(context);

    hide_compiler();
    context = open_context(":memory:", pack, size);
    plan = plan_with(context, 0);
    cr_assert(!memcmp(&plan->candidate, &chosen, sizeof chosen));
    cr_assert_eq(plan->kernels->count, 1);
    stn_cache_stats stats;
    stn_context_cache_stats(context, &stats);
    cr_assert(stats.pack_hits == 1 && stats.misses == 0);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    free(pack);
}

Test(stored, names_missing_kernels_and_the_remedy) {
    hide_compiler();
    stn_context *context = open_context(":memory:", NULL, 0);
    stn_plan *plan = NULL;
    cr_assert_eq(stn_plan_create(context, &problem, NULL, &plan, &error), STN_ERROR_NO_COMPILER);
    cr_assert_null(plan);
    const char *const parts[] = {"500 x 700", "f64", "sm_90", "stentor pack build", "--pack", "NVRTC"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_assert_not_null(strstr(error.message, parts[i]), "%s: %s", parts[i], error.message);
    stn_context_destroy(context);
}

Test(stored, disk_works_without_a_compiler_and_recovers_with_one) {
    open_folder();
    /* Compiles; compiles again because the entry is damaged; loads from disk without a compiler. */
    for (int round = 0; round < 3; round++) {
        if (round == 2) hide_compiler();
        stn_context *context = open_context(dir, NULL, 0);
        stn_plan *plan = plan_with(context, 0);
        stn_cache_stats stats;
        stn_context_cache_stats(context, &stats);
        cr_assert_eq(stats.misses, round < 2, "round %d", round);
        cr_assert_eq(stats.rejected, round == 1, "round %d", round);
        cr_assert_eq(stats.disk_hits, round == 2, "round %d", round);
        stn_kernel_info info;
        cr_assert_eq(stn_plan_kernel(plan, 0, &info, NULL), STN_OK);
        cr_assert_not_null(info.ptx);
        stn_plan_destroy(plan);
        if (round == 0) {
            unsigned damaged = damage_entries(dir);
            cr_assert_eq(damaged, 1);
        }
        stn_context_destroy(context);
    }
    close_folder();
}
