/* A problem of the same class as a measured one takes its candidate; a problem of another class
 * does not. On the emulator or a GPU. */
#include "../cache/helpers.h"
#include "../expect.h"
#include "context/context.h"
#include "tune/plan_wisdom.h"

static uint64_t steps = 1;

static stn_plan *plan_of(stn_context *context, const stn_stencil *stencil, size_t points, int mode) {
    stn_problem problem = STN_PROBLEM_INIT;
    problem.stencil = stencil;
    problem.extent[0] = problem.extent[1] = points;
    problem.steps = steps;
    const stn_plan_options options = {.strategy = "direct", .mode = mode, .estimate_only = 1};
    return new_plan(context, &problem, &options);
}

/* A candidate of both plans that is neither one's best estimate, and that the second plan estimates
 * at `least` to `most` times its best. */
static const stn_ranked *shared_row(const stn_plan *one, const stn_plan *two, double least, double most) {
    for (size_t i = 1; i < one->ranked && one->ranking[i].applies; i++)
        for (size_t k = 1; k < two->ranked && two->ranking[k].applies; k++)
            if (!memcmp(&one->ranking[i].candidate, &two->ranking[k].candidate, sizeof one->candidate) &&
                two->ranking[k].estimate.seconds >= least * two->ranking[0].estimate.seconds &&
                two->ranking[k].estimate.seconds <= most * two->ranking[0].estimate.seconds)
                return &one->ranking[i];
    cr_assert_fail("the two share no candidate");
    return NULL;
}

static void remember(const stn_plan *plan, const stn_ranked *fastest, double seconds) {
    static tune_records records;
    tune_record_set(&records, plan->strategy->name, &plan->candidate, 2);
    tune_record_set(&records, fastest->strategy->name, &fastest->candidate, seconds);
    tune_remember(plan, &records);
}

Test(like, takes_the_same_candidate) {
    stn_context *context;
    stn_stencil *stencil = stencil_of("gaussian-1d:sigma=7");
    char *folder = make_temp_folder();
    const stn_context_options options = {.device = STN_DEVICE_CUDA(0), .cache_dir = folder};
    OK(stn_context_create(&options, &context, &error));
    stn_plan *first = plan_of(context, stencil, 1000, STN_MODE_ESTIMATE);
    cr_assert_eq(first->chosen, STN_CHOSEN_BY_ESTIMATE);
    stn_plan *before =
        /* The same size class as 1000: half powers of two, and factors of two. */
        plan_of(context, stencil, 1016, STN_MODE_ESTIMATE);
    const stn_ranked *row = shared_row(first, before, 1, 1.4);
    remember(first, row, 1);
    remember(first, shared_row(first, before, 1.6, 100), 0.5); /* estimated too far from the best */
    stn_plan *like = plan_of(context, stencil, 1016, STN_MODE_AUTO);
    cr_expect_eq(like->chosen, STN_CHOSEN_BY_SIMILAR_WISDOM);
    cr_expect_eq(memcmp(&like->candidate, &row->candidate, sizeof like->candidate), 0);
    cr_expect_eq(like->measured, 0.0, "its time is not this one's");
    stn_plan *odd = plan_of(context, stencil, 1001, STN_MODE_AUTO);
    cr_expect_eq(odd->chosen, STN_CHOSEN_BY_ESTIMATE);
    stn_plan *pinned = plan_of(context, stencil, 1016, STN_MODE_ESTIMATE);
    cr_expect_eq(pinned->chosen, STN_CHOSEN_BY_SIMILAR_WISDOM);
    stn_plan_destroy(pinned);
    stn_problem problem = STN_PROBLEM_INIT;
    problem.stencil = stencil, problem.steps = 1, problem.extent[0] = 1016;
    const stn_plan_options fixed = {.strategy = "direct", .deterministic = 1, .estimate_only = 1};
    pinned = new_plan(context, &problem, &fixed);
    cr_expect_eq(pinned->chosen, STN_CHOSEN_BY_ESTIMATE, "deterministic plans take no measured times");
    stn_plan_destroy(pinned);
    stn_plan_destroy(odd);
    stn_plan_destroy(like);
    stn_plan_destroy(before);
    stn_plan_destroy(first);
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
    remove_temp_folder(folder);
}
