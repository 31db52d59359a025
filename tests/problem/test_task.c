/* Validation and canonicalisation of problems: defaults, and every error. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "problem/task.h"
#include "refusal.h"

static stn_stencil *heat, *other; /* other: of take */
static stn_problem problem;       /* a valid one, of which tests invalidate members */
static stn_task task;             /* the last one that was made */

static stn_problem good(void) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = heat, p.extent[0] = 20, p.extent[1] = 30;
    return p;
}

/* Takes these taps instead of heat, and this number of points along each axis. */
static void take(int rank, size_t ntaps, const stn_tap *taps, size_t points) {
    stn_stencil_destroy(other), other = NULL;
    cr_assert_eq(stn_stencil_create(rank, ntaps, taps, &other, NULL), STN_OK);
    problem = (stn_problem){.stencil = other};
    for (int axis = 0; axis < rank; axis++) problem.extent[axis] = points;
}

static void make(void) {
    stn_error error = {STN_OK, ""};
    stn_task_clear(&task);
    cr_assert_eq(stn_task_make(&problem, &task, &error), STN_OK, "%s", error.message);
    cr_expect_eq(stn_problem_validate(&problem, NULL), STN_OK);
}

static void start(void) {
    cr_assert_eq(stn_stencil_parse("heat-2d:alpha=0.2", &heat, NULL), STN_OK);
    problem = good();
}
static void end(void) {
    stn_task_clear(&task);
    stn_stencil_destroy(heat);
    stn_stencil_destroy(other);
}
TestSuite(task, .init = start, .fini = end);

/* p: the problem, or NULL */
static void refused(const stn_problem *p, const char *first, const char *second) {
    static const stn_task empty;
    stn_error error;
    stn_task none;
    memset(&none, 0xee, sizeof none);
    expect_refusal(stn_task_make(p, &none, &error), &error, first, second);
    cr_expect_null(none.taps);
    cr_expect_eq(none.ntaps, empty.ntaps);
    expect_refusal(stn_problem_validate(p, &error), &error, first, second);
    cr_expect_eq(stn_problem_validate(p, NULL), STN_ERROR_INVALID_ARGUMENT);
}

Test(task, is_canonical_with_every_default_filled_in) {
    make();
    cr_expect_eq(task.rank, 2);
    const int64_t n[3] = {1, 20, 30}, stride[3] = {600, 30, 1};
    cr_expect_arr_eq(task.n, n, sizeof n);
    cr_expect_arr_eq(task.in_stride, stride, sizeof stride);
    cr_expect_arr_eq(task.out_stride, stride, sizeof stride);
    cr_expect(task.batch == 1 && task.in_batch_stride == 600 && task.out_batch_stride == 600);
    cr_expect(task.steps == 1 && task.dtype == STN_F64 && task.tolerance == 0 && !task.in_place);
    cr_assert_eq(task.ntaps, 5u);
    const int64_t offsets[5][2] = {{-1, 0}, {0, -1}, {0, 0}, {0, 1}, {1, 0}};
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(task.taps[i].offset[0], 0);
        cr_expect_arr_eq(task.taps[i].offset + 1, offsets[i], sizeof offsets[i]);
        cr_expect_eq(task.taps[i].weight, stn_stencil_taps(heat)[i].weight);
    }
    const int reach[3][2] = {{0, 0}, {1, 1}, {1, 1}};
    cr_expect_arr_eq(task.reach, reach, sizeof reach);
    cr_expect_eq(task.pattern, STN_PATTERN_STAR);
    cr_expect(stn_task_points(&task) == 600 && stn_task_span(&task, false) == 600 && stn_task_span(&task, true) == 600);
    stn_task_clear(&task);
    cr_expect_null(task.taps);
}

Test(task, normalizes_one_step_of_floats) {
    problem.normalized = STN_NORMALIZED_NAN;
    refused(&problem, "normalized is 2", "STN_NORMALIZED");
    problem.normalized = STN_NORMALIZED | 16;
    refused(&problem, "normalized is 17", "STN_NORMALIZED");
    problem.normalized = STN_NORMALIZED | STN_NORMALIZED_PAIRS_OUT;
    problem.in_element = STN_ELEMENT_U8;
    make();
    cr_expect(task.normalized == 9 && stn_task_converts(&task));
    problem.out_element = STN_ELEMENT_F32;
    refused(&problem, "pairs", "element type");
    problem.out_element = STN_ELEMENT_DTYPE;
    problem.steps = 2;
    refused(&problem, "one step", "steps");
    problem.steps = 1;
    problem.dtype = STN_F16;
    refused(&problem, "f64 or f32", "pairs");
    problem.dtype = STN_F32;
    problem.in_place = 1;
    refused(&problem, "in place", "normalized");
    problem.in_place = 0;
    problem.boundary[1][0].kind = STN_FIXED;
    refused(&problem, "boundary[1][0]", "fixed");
}

Test(task, keeps_what_is_given) {
    problem.batch = 3;
    problem.steps = UINT64_MAX;
    problem.tolerance = 1e-3;
    problem.dtype = STN_F16;
    problem.in_place = 7;
    problem.boundary[0][0] = (stn_boundary){STN_FIXED, 5};
    problem.boundary[0][1] = (stn_boundary){STN_CONSTANT, -2};
    make();
    cr_expect(task.batch == 3 && task.steps == UINT64_MAX && task.tolerance == 1e-3 && task.dtype == STN_F16);
    cr_expect_eq(task.in_place, true);
    cr_expect_eq(task.boundary[0][0].kind, STN_WRAP);
    cr_expect(task.boundary[1][0].kind == STN_FIXED && task.boundary[1][0].value == 0);
    cr_expect(task.boundary[1][1].kind == STN_CONSTANT && task.boundary[1][1].value == -2);
    cr_expect_eq(task.boundary[2][1].kind, STN_WRAP);
    cr_expect_eq(stn_task_points(&task), 1800);
}

static void shape(int rank, size_t ntaps, const stn_tap *taps, stn_pattern pattern, int low, int high) {
    take(rank, ntaps, taps, 9);
    make();
    stn_stencil_destroy(other), other = NULL; /* the task has a copy */
    cr_expect_eq(task.pattern, pattern, "%s", stn_pattern_name(task.pattern));
    cr_expect(task.reach[3 - rank][0] == low && task.reach[3 - rank][1] == high, "along the slowest axis");
}

Test(task, patterns_and_reaches) {
    shape(1, 1, (stn_tap[]){{{0}, 1}}, STN_PATTERN_STAR, 0, 0);
    shape(1, 2, (stn_tap[]){{{-3}, 1}, {{2}, 1}}, STN_PATTERN_STAR, 3, 2);
    shape(1, 2, (stn_tap[]){{{5}, 1}, {{2}, 1}}, STN_PATTERN_STAR, 0, 5);
    shape(2, 1, (stn_tap[]){{{-1, 1}, 1}}, STN_PATTERN_GENERAL, 1, 0);
    shape(3, 2, (stn_tap[]){{{-1, 0, 0}, 1}, {{0, 4, 0}, 1}}, STN_PATTERN_STAR, 1, 0);
    const stn_tap corner[] = {{{0, 0}, 1}, {{0, 1}, 1}, {{1, 0}, 1}, {{1, 1}, 1}};
    shape(2, 4, corner, STN_PATTERN_BOX, 0, 1);
    shape(2, 3, corner + 1, STN_PATTERN_GENERAL, 0, 1);
}

Test(task, taps_that_reach_past_the_axis_length_are_detected) {
    const stn_boundary_kind kinds[] = {STN_WRAP, STN_CONSTANT, STN_NEAREST, STN_REFLECT, STN_MIRROR, STN_FIXED};
    for (int k = 0; k < 6; k++) {
        take(2, 2, (stn_tap[]){{{0, -3}, 1}, {{0, 2}, 1}}, 1);
        problem.extent[1] = 3;
        for (int side = 0; side < 2; side++) problem.boundary[1][side].kind = kinds[k];
        make();
        cr_expect(!stn_task_needs_host(&task));
        problem.extent[1] = 2;
        make();
        cr_expect(stn_task_needs_host(&task));
    }
    for (int side = -1; side < 2; side += 2) { /* whichever side they reach past */
        take(1, 2, (stn_tap[]){{{0}, 1}, {{3 * side}, 1}}, 2);
        make();
        cr_expect(stn_task_needs_host(&task), "side %d", side);
    }
}

/* A whole box of equal weights that reaches further to one side mirrors nothing. */
Test(task, knows_that_lopsided_boxes_are_not_mirrored) {
    take(1, 3, (stn_tap[]){{{0}, 1}, {{1}, 2}, {{2}, 1}}, 9);
    make();
    cr_expect(!stn_task_is_symmetric(&task, 2));
}

Test(task, taps_beyond_the_radius_of_gpus_are_detected) {
    for (int radius = STN_MAX_RADIUS; radius <= STN_MAX_RADIUS + 1; radius++) {
        take(1, 1, (stn_tap[]){{{-radius}, 1}}, 1000);
        make();
        cr_expect_eq(stn_task_needs_host(&task), radius > STN_MAX_RADIUS);
    }
}

/* With one snapshot the snapshot stride is ignored. */
Test(task, one_state_has_no_stride_of_snapshots) {
    problem.snapshot_stride = PTRDIFF_MAX;
    make();
    cr_expect_eq(task.snapshot_stride, 600);
}

/* The default stride of snapshots counts the batch stride, also if there is only one grid. */
Test(task, states_are_a_batch_stride_apart) {
    for (size_t batch = 0; batch <= 2; batch++) {
        problem = good();
        problem.batch = batch, problem.steps = 6, problem.every = 2, problem.out_batch_stride = 777;
        make();
        cr_expect_eq(task.snapshot_stride, batch == 2 ? 1554 : 777);
    }
}

Test(task, structs_of_other_sizes) {
    /* None, the size in release 0.2.0, and the size now. */
    const size_t released[] = {0, offsetof(stn_problem, normalized), sizeof problem};
    for (size_t i = 0; i < sizeof released / sizeof *released; i++) {
        problem.struct_size = released[i];
        make();
    }
    problem.struct_size = sizeof problem + 8;
    refused(&problem, "struct_size", "knows only");
    problem.struct_size = SIZE_MAX;
    refused(&problem, "struct_size", "knows only");
    const size_t none[] = {1, sizeof(size_t), offsetof(stn_problem, stencil) + 1, offsetof(stn_problem, dtype),
                           offsetof(stn_problem, divisor)};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        problem.struct_size = none[i];
        refused(&problem, "stn_problem.struct_size is ", "in no release");
    }
}

Test(task, bad_scalars_are_refused) {
    refused(NULL, "problem is NULL", "stn_problem");
    problem.stencil = NULL;
    refused(&problem, "stencil is NULL", "stn_stencil_parse");
    problem = good();
    problem.dtype = (stn_dtype)3;
    refused(&problem, "dtype 3", "STN_F16");
    problem.dtype = (stn_dtype)-1;
    refused(&problem, "dtype -1", "STN_F16");
    const double tolerances[] = {-1e-9, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        problem = good();
        problem.tolerance = tolerances[i];
        refused(&problem, "tolerance", "finite and not below 0");
    }
}

Test(task, bad_sizes_are_refused) {
    problem.extent[1] = 0;
    refused(&problem, "extent[1] is 0", "at least one point");
    const size_t sizes[][3] = {{SIZE_MAX, 1, 1},
                               {1, (size_t)1 << 63, 1},
                               /* 2^60 points fit, their 8 bytes each do not */
                               {(size_t)1 << 60, 1, 1},
                               {(size_t)1 << 31, (size_t)1 << 31, 0},
                               {1, 1, SIZE_MAX},
                               {(size_t)1 << 30, (size_t)1 << 20, (size_t)1 << 20}};
    for (int i = 0; i < 6; i++) {
        problem = good();
        problem.extent[0] = sizes[i][0];
        problem.extent[1] = sizes[i][1];
        problem.batch = sizes[i][2];
        refused(&problem, "more bytes of f64 than 63 bits", "lower the extents");
    }
    problem = good();
    problem.extent[0] = problem.extent[1] = (size_t)1 << 30;
    problem.dtype = STN_F16;
    make();
    cr_expect_eq(stn_task_points(&task), (int64_t)1 << 60);
}

Test(task, bad_boundaries_are_refused_though_no_tap_may_reach_them) {
    for (int reaching = 0; reaching < 2; reaching++) {
        problem = good();
        if (!reaching) take(2, 1, &(stn_tap){{0}, 1}, 20);
        const stn_problem given = problem;
        problem.boundary[1][0].kind = (stn_boundary_kind)6;
        refused(&problem, "boundary kind 6 on the low side of axis 1", "STN_FIXED");
        problem.boundary[1][0].kind = (stn_boundary_kind)-1;
        refused(&problem, "boundary kind -1 on the low side of axis 1", "STN_FIXED");
        problem = given;
        problem.boundary[0][1].kind = STN_NEAREST;
        refused(&problem, "axis 0 wraps on its low side only", "both sides");
        problem = given;
        problem.boundary[1][0].kind = STN_NEAREST;
        refused(&problem, "axis 1 wraps on its high side only", "both sides");
        const double values[] = {NAN, INFINITY, -INFINITY};
        for (int i = 0; i < 3; i++) {
            problem.boundary[1][0] = (stn_boundary){STN_NEAREST, 0};
            problem.boundary[1][1] = (stn_boundary){STN_CONSTANT, values[i]};
            make(); /* transforms would spread it over the whole grid */
            cr_expect(task.local);
        }
    }
}

Test(task, values_that_the_dtype_does_not_hold) {
    const struct {
        stn_dtype dtype;
        double fits, too_large;
    } cases[] = {{STN_F64, 1e308, 0}, {STN_F32, 3.4e38, 3.5e38}, {STN_F16, -65504, -65505}};
    for (int i = 0; i < 3; i++) {
        problem = good();
        problem.dtype = cases[i].dtype;
        /* not a constant side: the value is ignored */
        problem.boundary[0][0] = (stn_boundary){STN_NEAREST, 1e300};
        problem.boundary[0][1] = (stn_boundary){STN_CONSTANT, cases[i].fits};
        make();
        cr_expect(!task.local);
        if (!cases[i].too_large) continue;
        problem.boundary[0][1].value = cases[i].too_large;
        make();
        cr_expect(task.local, "infinite in %s", stn_dtype_name(cases[i].dtype));
    }
    take(1, 1, &(stn_tap){{-2}, 1e39}, 4);
    make();
    problem.dtype = STN_F32;
    refused(&problem, "weight at offset (-2) is 1e+39", "use f64");
    problem.dtype = STN_F16;
    refused(&problem, "weight at offset (-2) is 1e+39", "float32");
}

Test(task, weights_can_be_replaced) {
    problem.dtype = STN_F32;
    make();
    double weights[5] = {1, 2, 3, 4, 5};
    cr_expect_eq(stn_task_set_weights(&task, 5, weights, NULL), STN_OK);
    for (int i = 0; i < 5; i++) cr_expect_eq(task.taps[i].weight, i + 1);
    stn_error error;
    expect_refusal(stn_task_set_weights(&task, 4, weights, &error), &error, "4 new weights", "5 taps");
    expect_refusal(stn_task_set_weights(&task, 5, NULL, &error), &error, "NULL", "array");
    weights[0] = 77;
    weights[3] = NAN;
    expect_refusal(stn_task_set_weights(&task, 5, weights, &error), &error, "weight at offset (0, 1) is nan", "finite");
    weights[3] = 1e300;
    expect_refusal(stn_task_set_weights(&task, 5, weights, &error), &error, "weight at offset (0, 1) is 1e+300", "f32");
    cr_expect_eq(task.taps[0].weight, 1, "nothing changes on failure");
}

/* A box of 2 x 3 taps in a plane: weights b[y] * c[x] with c = 1 in the middle. */
Test(task, knows_weights_that_are_products) {
    const double b[2] = {-0.25, 3}, c[3] = {0.5, 1, -0.125};
    stn_tap taps[6];
    double weights[6], factors[3][STN_TASK_FACTORS];
    for (int i = 0; i < 6; i++) {
        taps[i] = (stn_tap){{i / 3, i % 3 - 1, 0}, b[i / 3] * c[i % 3]};
        weights[i] = taps[i].weight;
    }
    take(2, 6, taps, 9);
    make();
    cr_assert(stn_task_is_separable(&task, factors));
    cr_expect(factors[0][0] == 1 && factors[1][0] == b[0] && factors[1][1] == b[1]);
    for (int i = 0; i < 3; i++) cr_expect_eq(factors[2][i], c[i]);
    weights[5] += 1e-12;
    cr_expect_eq(stn_task_set_weights(&task, 6, weights, NULL), STN_OK);
    cr_expect_not(stn_task_is_separable(&task, factors), "one weight is no product");
    for (int i = 0; i < 6; i++) weights[i] = i % 3 == 1 ? 0 : taps[i].weight;
    cr_expect_eq(stn_task_set_weights(&task, 6, weights, NULL), STN_OK);
    cr_expect_not(stn_task_is_separable(&task, factors), "nothing at offset 0 along x");
    for (int i = 0; i < 6; i++) weights[i] = i % 3 == 1 ? 1e-60 * b[i / 3] : taps[i].weight;
    cr_expect_eq(stn_task_set_weights(&task, 6, weights, NULL), STN_OK);
    cr_expect_not(stn_task_is_separable(&task, factors), "factors of 1e60, which f32 does not hold");
    problem.stencil = heat;
    problem.extent[0] = 9;
    make();
    cr_expect_not(stn_task_is_separable(&task, factors), "a star is no box");
}

/* The star's taps: (-1, 0) (0, -1) (0, 0) (0, 1) (1, 0). */
Test(task, knows_along_which_axes_its_weights_are_mirrored) {
    make();
    double along_y[5] = {2, 3, 1, 4, 2}, along_x[5] = {2, 3, 1, 3, 5};
    cr_expect(stn_task_is_symmetric(&task, 1) && stn_task_is_symmetric(&task, 2));
    cr_expect_eq(stn_task_set_weights(&task, 5, along_y, NULL), STN_OK);
    cr_expect(stn_task_is_symmetric(&task, 1) && !stn_task_is_symmetric(&task, 2));
    cr_expect_eq(stn_task_set_weights(&task, 5, along_x, NULL), STN_OK);
    cr_expect(!stn_task_is_symmetric(&task, 1) && stn_task_is_symmetric(&task, 2));
    cr_expect_eq(stn_task_reach(&task, 0), 0);
    cr_expect_eq(stn_task_reach(&task, 2), 1);
}

/* The definition of symmetry: each tap has one at the mirrored offset, of the same weight. */
static bool mirrors(int axis) {
    for (size_t i = 0; i < task.ntaps; i++) {
        bool found = false;
        for (size_t k = 0; k < task.ntaps; k++) {
            bool opposite = task.taps[i].weight == task.taps[k].weight;
            for (int j = 0; j < 3; j++)
                opposite = opposite && task.taps[i].offset[j] == (j == axis ? -1 : 1) * task.taps[k].offset[j];
            found = found || opposite;
        }
        if (!found) return false;
    }
    return true;
}

/* Whole boxes, centred and not, without one of their taps, and with another weight at each tap. */
Test(task, knows_mirrored_boxes) {
    static const int64_t from[][2] = {{-1, -2}, {-2, -1}, {-1, -1}, {-1, 0}, {-2, -2}},
                         to[][2] = {{1, 2}, {2, 1}, {2, 1}, {1, 2}, {2, 2}};
    for (size_t box = 0; box < sizeof from / sizeof *from; box++) {
        const int64_t rows = to[box][0] - from[box][0] + 1, columns = to[box][1] - from[box][1] + 1;
        for (int64_t odd = -1; odd < 2 * rows * columns; odd++) {
            stn_tap taps[25];
            size_t count = 0;
            for (int64_t i = 0; i < rows * columns; i++) {
                if (odd == rows * columns + i) continue; /* left out */
                const int64_t y = from[box][0] + i / columns, x = from[box][1] + i % columns;
                taps[count++] = (stn_tap){{y, x, 0}, (double)(1 + llabs(y) + 3 * llabs(x)) + (odd == i ? 0.5 : 0)};
            }
            take(2, count, taps, 20);
            make();
            for (int axis = 1; axis < 3; axis++)
                cr_expect_eq(stn_task_is_symmetric(&task, axis), mirrors(axis), "box %zu, %d, axis %d", box, (int)odd,
                             axis);
        }
    }
}

/* Index -5 reflects to 4, which is past the high side of 4 points; -4 reflects to 3. */
Test(task, reflected_taps_end_before_a_fixed_side) {
    for (int side = 0; side < 2; side++)
        for (int reach = 4; reach <= 5; reach++) {
            take(1, 1, &(stn_tap){{side ? reach : -reach}, 1}, 4);
            problem.boundary[0][side].kind = STN_REFLECT;
            problem.boundary[0][!side].kind = STN_FIXED;
            if (reach == 5)
                refused(&problem, "reach 5 points", "opposite side, which is fixed");
            else
                cr_expect_eq(stn_problem_validate(&problem, NULL), STN_OK);
        }
}
