/* Comparing results on the device (emulated): numbers whose squares overflow a float64 are compared
 * like others; infinities and NaN are reported. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "../expect.h"
#include "context/context.h"
#include "tune/compare_results.h"
#include "tune/timing_trial.h"

enum { MAX_POINTS = 5000 };
static stn_context *context;
static double got[MAX_POINTS], want[MAX_POINTS];

static void start(void) { context = context_on(STN_DEVICE_CUDA(0)); }
static void end(void) { stn_context_destroy(context); }
TestSuite(compare, .init = start, .fini = end);

static stn_status compare(int count, stn_dtype dtype, const void *a, const void *b, double *difference) {
    const size_t bytes = (size_t)count * stn_dtype_size(dtype);
    void *const one = uploaded(context, a, bytes), *const other = uploaded(context, b, bytes), *sums;
    stn_kernel_set set = {.context = context};
    stn_kernel *kernel;
    OK(stn_memory_alloc(context, TUNE_SUMS_BYTES, &sums, &error));
    OK(tune_kernel(&set, dtype, "tune_compare", &kernel, &error));
    const stn_status status = tune_compare(context, kernel, one, other, sums, count, NULL, difference, &error);
    stn_kernel_set_clear(&set);
    stn_memory_free(context, one);
    stn_memory_free(context, other);
    stn_memory_free(context, sums);
    return status;
}

/* The expected difference, in a type of larger range. */
static double expected(int count) {
    long double off = 0, all = 0;
    for (int i = 0; i < count; i++) {
        off += ((long double)got[i] - want[i]) * ((long double)got[i] - want[i]);
        all += (long double)want[i] * want[i];
    }
    return (double)sqrtl(all > 0 ? off / all : off);
}

static void expect(int count, const char *what) {
    double difference;
    OK(compare(count, STN_F64, got, want, &difference));
    const double right = expected(count);
    cr_expect(fabs(difference - right) <= 1e-9 * right, "%s: %.17g, not %.17g", what, difference, right);
}

/* Values around `size`, with errors of size * off. */
static void fill(int count, double size, double off) {
    for (int i = 0; i < count; i++) {
        want[i] = size * (0.5 + 0.5 * sin(0.7 * i)) * (i % 2 ? 1 : -1);
        got[i] = want[i] + off * size * cos(1.3 * i);
    }
}

Test(compare, numbers_of_any_size) {
    static const double sizes[] = {1,      1e100,  1e135,  2.9e135, 1e150,  1e154,  1e200,   1e300, DBL_MAX,
                                   1e-100, 3e-136, 1e-150, 1e-162,  1e-200, 1e-300, DBL_MIN, 1e-315};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int count = 1; count <= MAX_POINTS; count *= 17) {
            char what[64];
            (void)snprintf(what, sizeof what, "%d numbers of %g", count, sizes[i]);
            fill(count, sizes[i], sizes[i] < DBL_MAX ? 1e-3 : 0);
            expect(count, what);
            fill(count, sizes[i], 0);
            expect(count, what);
            got[count / 2] = nextafter(want[count / 2], 0); /* one wrong last bit */
            expect(count, what);
        }
}

Test(compare, numbers_of_different_sizes) {
    static const double others[] = {1e-320, 1e-200, 1e-130, 1, 1e130, 1e200, 1e307};
    for (int i = 0; i < 7; i++)
        for (int k = 0; k < 7; k++) {
            fill(300, 1, 0);
            got[7] = want[7] = others[i];
            got[8] = others[k] * (1 + 1e-9);
            want[8] = others[k];
            got[9] = 0; /* and one that is missing */
            want[9] = others[i];
            char what[64];
            (void)snprintf(what, sizeof what, "%g and %g among numbers of 1", others[i], others[k]);
            expect(300, what);
        }
}

Test(compare, finds_one_large_error_among_tiny_numbers) {
    double difference;
    fill(300, 1e-200, 0);
    got[5] = 1e-130;
    OK(compare(300, STN_F64, got, want, &difference));
    cr_expect_gt(difference, 1e60, "%g", difference);
    expect(300, "one of 1e-130 among 1e-200");
}

Test(compare, zeros) {
    double difference;
    fill(100, 0, 0);
    expect(100, "zeros");
    got[3] = 1e-310;
    expect(100, "where zeros were wanted, a tiny one");
    got[3] = 1e300;
    OK(compare(100, STN_F64, got, want, &difference));
    cr_expect_float_eq(difference / 1e300, 1, 1e-12, "where zeros were wanted, a huge one: %g", difference);
    fill(100, 1, 0);
    for (int i = 0; i < 100; i++) got[i] = 0;
    expect(100, "zeros instead of numbers");
}

Test(compare, infinities_and_nan) {
    double difference;
    static const double sizes[] = {1e-300, 1, 1e300};
    for (int i = 0; i < 3; i++) {
        fill(300, sizes[i], 0);
        got[5] = want[5] = NAN;
        OK(compare(300, STN_F64, got, want, &difference));
        cr_expect_eq(difference, 0, "no number in both: %g", difference);
        want[5] = sizes[i];
        OK(compare(300, STN_F64, got, want, &difference));
        cr_expect(isnan(difference), "no number in one: %g", difference);
        got[5] = INFINITY;
        OK(compare(300, STN_F64, got, want, &difference));
        cr_expect(isinf(difference), "infinite where it should not be: %g", difference);
        want[5] = INFINITY;
        cr_expect_neq(compare(300, STN_F64, got, want, &difference), STN_OK, "nothing to compare with");
        want[5] = -INFINITY;
        cr_expect_neq(compare(300, STN_F64, got, want, &difference), STN_OK, "nothing to compare with");
    }
}

Test(compare, float32_from_the_least_to_the_largest) {
    static const float sizes[] = {1e-45f, 1e-40f, 1e-30f, 1, 1e30f, 3e38f};
    float a[300], b[300];
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        double difference;
        for (int i = 0; i < 300; i++) {
            b[i] = sizes[s] * (i % 3 ? 1 : -1);
            a[i] = i % 7 ? b[i] : 0;
            got[i] = a[i], want[i] = b[i];
        }
        OK(compare(300, STN_F32, a, b, &difference));
        cr_expect_float_eq(difference, expected(300), 1e-12, "%g: %g", (double)sizes[s], difference);
    }
}

/* Weights with a magnitude sum above one: after 216 steps values exceed 1e154, whose squares
 * overflow. */
Test(compare, values_whose_squares_overflow_can_be_tried) {
    stn_stencil *stencil;
    stn_problem problem = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    tune_stage stage;
    double difference;
    OK(stn_stencil_parse("laplace-1d:order=14", &stencil, &error));
    problem.stencil = stencil;
    problem.extent[0] = 200;
    problem.steps = 216;
    options.strategy = "direct";
    stn_plan *plan = new_plan(context, &problem, &options);
    OK(tune_stage_open(plan, &stage, &error));
    tune_trial trial = {.strategy = plan->strategy, .candidate = plan->candidate};
    tune_trial_build(plan, &trial);
    if (trial.missing) OK(stn_compile_batch_try(trial.missing, &error));
    tune_trial_build(plan, &trial);
    tune_trial_check(&stage, &trial, &difference);
    cr_expect_eq(trial.state, TUNE_GOOD, "%s: %g", trial.why.message, difference);
    tune_trial_clear(&trial);
    tune_stage_close(&stage);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}
