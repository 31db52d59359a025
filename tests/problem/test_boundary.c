/* Index folding against its definition as an infinite pattern; the syntax of boundaries, frozen
 * points, and the names of dtypes. */
#include <math.h>
#include <stdlib.h>

#include "base/arith.h"
#include "problem/task.h"
#include "refusal.h"

static const stn_boundary_kind all_kinds[] = {STN_WRAP, STN_CONSTANT, STN_NEAREST, STN_REFLECT, STN_MIRROR, STN_FIXED};

static int64_t modulo(int64_t i, int64_t period) { return (i % period + period) % period; }

/* scipy.ndimage's modes as periodic patterns */
static int64_t pattern(int64_t i, int64_t n, stn_boundary_kind kind) {
    int64_t m;
    switch (kind) {
        case STN_WRAP:
            return modulo(i, n);
        case STN_NEAREST:
            return i < 0 ? 0 : i >= n ? n - 1 : i;
        case STN_REFLECT:
            m = modulo(i, 2 * n);
            return m < n ? m : 2 * n - 1 - m;
        case STN_MIRROR:
            if (n == 1) return 0;
            m = modulo(i, 2 * n - 2);
            return m < n ? m : 2 * n - 2 - m;
        default:
            return i < 0 ? -1 : i >= n ? -2 : i;
    }
}

Test(fold, equals_the_infinite_pattern_when_sides_are_alike) {
    for (int k = 0; k < 6; k++) {
        const stn_boundary sides[2] = {{all_kinds[k], 0}, {all_kinds[k], 0}};
        for (int64_t n = 1; n <= 12; n++)
            for (int64_t i = -n; i <= 2 * n - 1; i++)
                cr_assert_eq(stn_fold(i, n, sides), pattern(i, n, all_kinds[k]), "%s n %d i %d gives %d",
                             stn_boundary_name(all_kinds[k]), (int)n, (int)i, (int)stn_fold(i, n, sides));
    }
}

Test(fold, each_side_has_its_own_rule) {
    for (int low = 1; low < 6; low++)
        for (int high = 1; high < 6; high++) {
            const stn_boundary sides[2] = {{all_kinds[low], 0}, {all_kinds[high], 0}};
            for (int64_t n = 2; n <= 7; n++)
                for (int64_t i = -n; i <= 2 * n - 1; i++) {
                    int64_t expected = pattern(i, n, all_kinds[i < 0 ? low : high]);
                    /* n points past a mirror is one point past the other side, whose rule applies
                     * then */
                    if (i == -n && all_kinds[low] == STN_MIRROR) expected = pattern(n, n, all_kinds[high]);
                    if (i == 2 * n - 1 && all_kinds[high] == STN_MIRROR) expected = pattern(-1, n, all_kinds[low]);
                    cr_assert_eq(stn_fold(i, n, sides), expected, "%s:%s n %d i %d", stn_boundary_name(all_kinds[low]),
                                 stn_boundary_name(all_kinds[high]), (int)n, (int)i);
                }
        }
}

Test(fold, a_single_point_and_huge_grids) {
    const stn_boundary mixed[2] = {{STN_MIRROR, 0}, {STN_CONSTANT, 1}};
    cr_expect_eq(stn_fold(-1, 1, mixed), 0);
    cr_expect_eq(stn_fold(1, 1, mixed), -2);
    const stn_boundary wrap[2] = {{STN_WRAP, 0}, {STN_WRAP, 0}};
    int64_t n = (int64_t)1 << 60;
    cr_expect_eq(stn_fold(-1, n, wrap), n - 1);
    cr_expect_eq(stn_fold(2 * n - 1, n, wrap), n - 1);
    const stn_boundary reflect[2] = {{STN_REFLECT, 0}, {STN_REFLECT, 0}};
    cr_expect_eq(stn_fold(n, n, reflect), n - 1);
}

Test(frozen, is_where_a_tap_would_reach_past_a_fixed_side) {
    unsigned seed = 5;
    for (int round = 0; round < 60; round++) {
        stn_tap taps[6];
        size_t ntaps = 0;
        for (int i = 0; i < 6; i++) {
            stn_tap tap = {{rand_r(&seed) % 5 - 2, rand_r(&seed) % 5 - 2, rand_r(&seed) % 4 - 1}, 1};
            bool known = false;
            for (size_t k = 0; k < ntaps; k++) known = known || !memcmp(taps[k].offset, tap.offset, sizeof tap.offset);
            if (!known) taps[ntaps++] = tap;
        }
        stn_problem problem = STN_PROBLEM_INIT;
        stn_stencil *stencil = NULL;
        cr_assert_eq(stn_stencil_create(3, ntaps, taps, &stencil, NULL), STN_OK);
        problem.stencil = stencil;
        for (int axis = 0; axis < 3; axis++) {
            problem.extent[axis] = 3 + (size_t)rand_r(&seed) % 4;
            for (int side = 0; side < 2; side++)
                problem.boundary[axis][side].kind = rand_r(&seed) % 2 ? STN_FIXED : STN_MIRROR;
        }
        stn_task task;
        cr_assert_eq(stn_task_make(&problem, &task, NULL), STN_OK);
        int64_t x[3];
        for (x[0] = 0; x[0] < task.n[0]; x[0]++)
            for (x[1] = 0; x[1] < task.n[1]; x[1]++)
                for (x[2] = 0; x[2] < task.n[2]; x[2]++) {
                    bool expected = false;
                    for (size_t i = 0; i < ntaps; i++)
                        for (int axis = 0; axis < 3; axis++) {
                            int64_t seen = x[axis] + taps[i].offset[axis];
                            if (seen >= 0 && seen < task.n[axis]) continue;
                            bool fixed = problem.boundary[axis][seen >= 0].kind == STN_FIXED;
                            expected = expected || fixed;
                        }
                    cr_assert_eq(stn_task_is_frozen(&task, x), expected, "round %d", round);
                }
        stn_task_clear(&task);
        stn_stencil_destroy(stencil);
    }
}

static void parses(const char *spec, stn_boundary_kind low, double low_value, stn_boundary_kind high,
                   double high_value) {
    stn_error error = {STN_OK, ""};
    stn_boundary sides[2];
    cr_assert_eq(stn_boundary_parse(spec, sides, &error), STN_OK, "%s: %s", spec, error.message);
    cr_expect(sides[0].kind == low && sides[0].value == low_value, "%s", spec);
    cr_expect(sides[1].kind == high && sides[1].value == high_value, "%s", spec);
}

Test(boundary, parses_one_rule_or_one_a_side) {
    for (int k = 0; k < 6; k++) parses(stn_boundary_name(all_kinds[k]), all_kinds[k], 0, all_kinds[k], 0);
    parses("constant=-2.5", STN_CONSTANT, -2.5, STN_CONSTANT, -2.5);
    parses("fixed:nearest", STN_FIXED, 0, STN_NEAREST, 0);
    parses("constant=1e3:constant", STN_CONSTANT, 1000, STN_CONSTANT, 0);
    parses("mirror:constant=2", STN_MIRROR, 0, STN_CONSTANT, 2);
    parses("wrap:wrap", STN_WRAP, 0, STN_WRAP, 0);
    parses("grid-wrap", STN_WRAP, 0, STN_WRAP, 0);
    parses("grid-mirror:grid-constant=3", STN_REFLECT, 0, STN_CONSTANT, 3);
    cr_expect_str_eq(stn_boundary_name(STN_CONSTANT), "constant");
    cr_expect_str_eq(stn_boundary_name((stn_boundary_kind)6), "unknown");
}

Test(boundary, parses_one_rule_for_all_axes_or_one_for_each) {
    stn_error error = {STN_OK, ""};
    stn_boundary axes[3][2];
    cr_assert_eq(stn_boundary_parse_axes("reflect", 3, axes, &error), STN_OK, "%s", error.message);
    for (int axis = 0; axis < 3; axis++)
        cr_expect(axes[axis][0].kind == STN_REFLECT && axes[axis][1].kind == STN_REFLECT);
    cr_assert_eq(stn_boundary_parse_axes("wrap,fixed:constant=2", 2, axes, &error), STN_OK, "%s", error.message);
    cr_expect(axes[0][0].kind == STN_WRAP && axes[1][0].kind == STN_FIXED && axes[1][1].value == 2);
    expect_refusal(stn_boundary_parse_axes("wrap,wrap", 3, axes, &error), &error, "2 axes", "one for each");
    expect_refusal(stn_boundary_parse_axes("wrap,,wrap", 3, axes, &error), &error, "boundary \"\"", "unknown");
}

static void refused(const char *spec, const char *first, const char *second) {
    stn_error error;
    stn_boundary sides[2] = {{STN_FIXED, 7}, {STN_MIRROR, 8}};
    expect_refusal(stn_boundary_parse(spec, sides, &error), &error, first, second);
    cr_expect(sides[0].kind == STN_FIXED && sides[0].value == 7 && sides[1].kind == STN_MIRROR, "%s", spec);
}

Test(boundary, values_need_not_be_finite) {
    stn_boundary sides[2];
    cr_assert_eq(stn_boundary_parse("constant=nan:constant=-inf", sides, NULL), STN_OK);
    cr_expect(isnan(sides[0].value) && sides[1].value == -INFINITY);
}

Test(boundary, bad_rules_are_refused_by_name) {
    refused("", "\"\"", "reflect");
    refused("periodic", "\"periodic\"", "wrap, constant");
    refused("Wrap", "\"Wrap\"", "wrap, constant");
    refused("wrap ", "\"wrap \"", "wrap, constant");
    refused(":", "\"\"", "wrap, constant");
    refused("mirror:", "\"\"", "wrap, constant");
    refused("mirror:mirror:mirror", "\"mirror:mirror\"", "wrap, constant");
    refused("mirror:edge", "\"edge\"", "wrap, constant");
    refused("constant=", "\"constant=\"", "no number");
    refused("constant=x", "\"constant=x\"", "no number");
    refused("constant=NaN:fixed", "\"constant=NaN\"", "no number");
    refused("nearest=1", "\"nearest=1\"", "only constant");
    refused("wrap:mirror", "\"wrap:mirror\"", "both sides");
    refused("fixed:wrap", "\"fixed:wrap\"", "both sides");
    stn_error error;
    stn_boundary sides[2];
    expect_refusal(stn_boundary_parse(NULL, sides, &error), &error, "text", "NULL");
    expect_refusal(stn_boundary_parse("wrap", NULL, &error), &error, "place", "NULL");
}

Test(dtype, names_and_sizes) {
    const struct {
        const char *name;
        stn_dtype dtype;
        size_t size;
    } cases[] = {{"f64", STN_F64, 8}, {"f32", STN_F32, 4}, {"f16", STN_F16, 2}};
    const char *const others[3][2] = {{"float64", "double"}, {"float32", "single"}, {"float16", "half"}};
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 2; k++) {
            stn_dtype spelt = (stn_dtype)9;
            cr_expect_eq(stn_dtype_parse(others[i][k], &spelt, NULL), STN_OK, "%s", others[i][k]);
            cr_expect_eq(spelt, cases[i].dtype, "%s", others[i][k]);
        }
        stn_dtype dtype = (stn_dtype)9;
        cr_expect_eq(stn_dtype_parse(cases[i].name, &dtype, NULL), STN_OK);
        cr_expect_eq(dtype, cases[i].dtype);
        cr_expect_eq(stn_dtype_size(dtype), cases[i].size);
        cr_expect_str_eq(stn_dtype_name(dtype), cases[i].name);
    }
    stn_error error;
    stn_dtype dtype = STN_F16;
    expect_refusal(stn_dtype_parse("float", &dtype, &error), &error, "\"float\"", "f64, f32 or f16");
    expect_refusal(stn_dtype_parse("f6", &dtype, &error), &error, "\"f6\"", "f64, f32 or f16");
    expect_refusal(stn_dtype_parse(NULL, &dtype, &error), &error, "name", "NULL");
    expect_refusal(stn_dtype_parse("f64", NULL, &error), &error, "place", "NULL");
    cr_expect_eq(dtype, STN_F16);
    cr_expect_eq(stn_dtype_size((stn_dtype)3), 0u);
    cr_expect_str_eq(stn_dtype_name((stn_dtype)-1), "unknown");
}
