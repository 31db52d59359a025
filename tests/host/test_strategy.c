/* The host strategy behind the public interface: when it applies, its cost, and concurrent use of
 * one plan. */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "../expect.h"
#include "host/stencil_kernels.h"
#include "host_grids.h"
#include "plan/strategy.h"
#include "strategies/table.h"

#define N 67
#define POINTS (N * N)

static const stn_tap taps[3] = {{{-1, 0}, 0.25}, {{0, 0}, 0.5}, {{0, 2}, 0.25}};

static stn_problem problem_of(stn_stencil *stencil, uint64_t steps) {
    stn_problem problem = STN_PROBLEM_INIT;
    problem.stencil = stencil;
    problem.extent[0] = problem.extent[1] = N;
    problem.steps = steps;
    return problem;
}

static stn_context *context;
static stn_plan *plan;

static void open_host(int threads) {
    const stn_context_options options = {.device = STN_DEVICE_HOST, .threads = threads, .cache_dir = ":memory:"};
    OK(stn_context_create(&options, &context, &error));
}

static void open_plan(int threads, uint64_t steps, const char *strategy) {
    const stn_plan_options options = {.strategy = strategy};
    stn_stencil *stencil;
    open_host(threads);
    OK(stn_stencil_create(2, 3, taps, &stencil, &error));
    stn_problem problem = problem_of(stencil, steps);
    plan = new_plan(context, &problem, &options);
    stn_stencil_destroy(stencil);
}

static void end(void) {
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    plan = NULL, context = NULL;
}
TestSuite(strategy, .fini = end);

static void fill(double *u) {
    uint64_t state = 21;
    for (int i = 0; i < POINTS; i++) u[i] = random_unit(&state);
}

Test(strategy, applies_on_the_host_only) {
    stn_task task = make_task(2, 3, taps, problem_of(NULL, 1));
    stn_machine machine = {.threads = 2};
    char reason[160] = "";
    cr_expect(stn_strategy_host.applies(&task, &machine, reason, sizeof reason));
    machine.is_device = true;
    cr_expect_not(stn_strategy_host.applies(&task, &machine, reason, sizeof reason));
    cr_expect_not_null(strstr(reason, "device"));
    stn_task_clear(&task);
}

/* Estimated seconds on `threads` threads with perfect scaling. */
static double cost_of(const stn_task *task, int threads) {
    stn_machine machine = {.threads = threads, .copy_bandwidth = 1e10 * threads};
    machine.flops[STN_UNIT_FMA_F64] = 2e10 * threads, machine.flops[STN_UNIT_FMA_F32] = 4e10 * threads;
    stn_candidate candidate;
    stn_estimate estimate;
    cr_assert_eq(stn_strategy_host.candidates(task, &machine, &candidate, 1), 1);
    stn_strategy_host.estimate(task, &machine, &candidate, &estimate);
    cr_expect_float_eq(estimate.bytes, (double)task->steps * POINTS * 2 * (double)stn_dtype_size(task->dtype), 1);
    return estimate.seconds;
}

Test(strategy, cost_scales_with_work) {
    stn_problem problem = problem_of(NULL, 10);
    stn_task task = make_task(2, 3, taps, problem);
    const double once = cost_of(&task, 1);
    cr_expect_gt(once, 0);
    cr_expect_float_eq(cost_of(&task, 4), once / 4, 1e-9 * once);
    task.steps = 20;
    cr_expect_float_eq(cost_of(&task, 1), 2 * once, 1e-9 * once);
    stn_task_clear(&task);

    /* no reads past these sides */
    problem.boundary[1][0].kind = problem.boundary[1][1].kind = STN_FIXED;
    task = make_task(2, 3, taps, problem);
    cr_expect_lt(cost_of(&task, 1), once);
    stn_task_clear(&task);

    problem = problem_of(NULL, 10), problem.dtype = STN_F16; /* lines are converted from f16 */
    task = make_task(2, 3, taps, problem);
    const double half = cost_of(&task, 1);
    stn_task_clear(&task);
    problem.dtype = STN_F32;
    task = make_task(2, 3, taps, problem);
    cr_expect_gt(half, cost_of(&task, 1));
    stn_task_clear(&task);
}

Test(strategy, describe_names_the_thread_count) {
    open_plan(3, 4, "host");
    expect_described(plan, STN_TEXT, "on 3 threads");
    expect_described(plan, STN_JSON, "\"threads\":");
    cr_expect_eq(stn_plan_workspace_size(plan), POINTS * sizeof(double));
}

Test(strategy, new_weights_apply_to_the_next_run) {
    static double in[POINTS], out[POINTS];
    const double weights[3] = {0, 3, 0};
    open_plan(2, 2, NULL);
    fill(in);
    cr_assert_str_eq(stn_plan_strategy(plan), "host");
    cr_assert_eq(stn_plan_execute(plan, in, out, NULL, NULL), STN_OK);
    cr_expect_neq(out[5], 9 * in[5]);
    cr_assert_eq(stn_plan_set_weights(plan, 3, weights, NULL), STN_OK);
    cr_assert_eq(stn_plan_execute(plan, in, out, NULL, NULL), STN_OK);
    for (int i = 0; i < POINTS; i++) cr_assert_eq(out[i], 3 * (3 * in[i]));
}

typedef struct caller {
    stn_plan *plan;
    const double *in;
    _Alignas(16) double out[POINTS]; /* the default alignment of plans */
    stn_status status;
} caller;

static void *execute_often(void *argument) {
    caller *c = argument;
    void *workspace = aligned_alloc(256, (stn_plan_workspace_size(c->plan) + 255) / 256 * 256);
    for (int i = 0; i < 20 && !c->status; i++)
        c->status = stn_plan_execute_with(c->plan, c->in, c->out, workspace, NULL, NULL);
    free(workspace);
    return NULL;
}

Test(strategy, one_plan_from_several_threads) {
    static caller callers[4];
    static double in[POINTS], alone[POINTS];
    pthread_t threads[4];
    open_plan(2, 5, "host");
    fill(in);
    cr_assert_eq(stn_plan_execute(plan, in, alone, NULL, NULL), STN_OK);
    for (int i = 0; i < 4; i++) {
        callers[i].plan = plan;
        callers[i].in = in;
        pthread_create(&threads[i], NULL, execute_often, &callers[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        cr_expect_eq(callers[i].status, STN_OK);
        cr_expect_arr_eq(callers[i].out, alone, sizeof alone);
    }
}

Test(strategy, a_filter_has_the_result_of_a_plan) {
    static double in[POINTS], out[POINTS], planned[POINTS];
    const int64_t offsets[6] = {-1, 0, 0, 0, 0, 2};
    int64_t wrong[6] = {0, 0, 0, 0, 0, 2};
    const double weights[3] = {0.25, 0.5, 0.25};
    open_plan(2, 1, "host");
    stn_problem problem = problem_of(NULL, 1);
    stn_filter_taps filter = {.rank = 2, .axes = 2, .count = 3, .offsets = offsets, .weights = weights};
    fill(in);
    cr_assert_eq(stn_plan_execute(plan, in, planned, NULL, NULL), STN_OK);
    OK(stn_filter_run(context, &problem, &filter, in, out, &error));
    cr_expect_arr_eq(out, planned, sizeof out);

    /* NaN does not spread by a weight of 0, and without other weights the result is 0. */
    const double wide[5] = {0, 0.25, 0.5, 0.25, 0}, none[5] = {0};
    const int64_t more[10] = {-2, 0, -1, 0, 0, 0, 0, 2, 0, 3};
    filter = (stn_filter_taps){.rank = 2, .axes = 2, .count = 5, .offsets = more, .weights = wide};
    memset(out, 0, sizeof out);
    OK(stn_filter_run(context, &problem, &filter, in, out, &error));
    cr_expect_arr_eq(out, planned, sizeof out);
    filter.weights = none;
    OK(stn_filter_run(context, &problem, &filter, in, out, &error));
    for (size_t i = 0; i < POINTS; i++) cr_expect_eq(out[i], 0);
    filter = (stn_filter_taps){.rank = 2, .axes = 2, .count = 3, .offsets = offsets, .weights = weights};

    REFUSED(stn_filter_run(context, &problem, NULL, in, out, &error), "NULL");
    filter.offsets = wrong;
    REFUSED(stn_filter_run(context, &problem, &filter, in, out, &error), "tap 1 of a filter does not follow");
    wrong[5] = STN_MAX_HOST_RADIUS + 1;
    wrong[0] = -1;
    REFUSED(stn_filter_run(context, &problem, &filter, in, out, &error), "the furthest possible is 1024");
    filter.axes = 3;
    REFUSED(stn_filter_run(context, &problem, &filter, in, out, &error), "3 of 2 axes");
    filter.axes = 2;
    filter.count = 0;
    REFUSED(stn_filter_run(context, &problem, &filter, in, out, &error), "0 taps");
    problem.normalized = STN_NORMALIZED_NAN;
    cr_expect_eq(stn_filter_run(context, &problem, &filter, in, out, &error), STN_ERROR_UNSUPPORTED);
    problem.steps = 2;
    REFUSED(stn_filter_run(context, &problem, &filter, in, out, &error), "make a plan");
}

/* Filters whose axes of one point are moved have the bits of others: all boundaries and types, and
 * different constants past the sides. */
Test(strategy, filters_with_axes_of_one_point_have_the_bits_of_others) {
    enum { MAX_POINTS = 20000, TAPS = 40 };
    static double in[MAX_POINTS], expected[MAX_POINTS], got[MAX_POINTS];
    static const int64_t extents[] = {1, 1, 2, 3, 7, 15, 17, 40};
    const stn_kernels *kernels = stn_kernels_best();
    uint64_t state = 5;
    open_host(2);
    for (int round = 0; round < 1500; round++) {
        const stn_element element = (stn_element)random_int(&state, STN_ELEMENT_F64, STN_ELEMENTS - 1);
        const int rank = 1 + round % 3;
        stn_problem problem = STN_PROBLEM_INIT;
        problem.dtype = element == STN_ELEMENT_F32 ? STN_F32 : element == STN_ELEMENT_F16 ? STN_F16 : STN_F64;
        if (element > STN_ELEMENT_F16) problem.in_element = problem.out_element = element;
        problem.alignment = (int)stn_element_size(element);
        problem.batch = (size_t)extents[random_int(&state, 0, 7)];
        problem.divisor = element > STN_ELEMENT_BF16 && round % 4 == 0 ? 3 : 1;
        size_t points = problem.batch, count = 0;
        for (int axis = 0; axis < rank; axis++) {
            problem.extent[axis] = (size_t)extents[random_int(&state, 0, 7)];
            points *= problem.extent[axis];
            const stn_boundary_kind kind = (stn_boundary_kind)random_int(&state, STN_WRAP, STN_MIRROR);
            for (int side = 0; side < 2; side++) {
                problem.boundary[axis][side] = (stn_boundary){kind, 1};
                if (kind == STN_CONSTANT && round % 2) problem.boundary[axis][side].value = axis + 0.1 * side;
            }
        }
        if (points > MAX_POINTS) continue;
        stn_tap taps[TAPS];
        double weights[TAPS];
        int64_t offsets[3 * TAPS];
        const bool is_odd = random_int(&state, 0, 3) == 0;
        const int64_t low = -random_int(&state, 0, 2), reach = random_int(&state, 0, round % 5 ? 2 : 12);
        for (int64_t i = 0; i < 8 * 8 * 32 && count < TAPS; i++) {
            const int64_t offset[3] = {i / 256 - 4, i / 32 % 8 - 4, i % 32 - 12};
            bool inside = random_int(&state, 0, 5) > 0 || round % 2;
            for (int axis = 0; axis < 3; axis++)
                inside = inside && (axis < 3 - rank ? !offset[axis] : offset[axis] >= low && offset[axis] <= reach);
            if (!inside) continue;
            taps[count] = (stn_tap){.weight = random_unit(&state)};
            weights[count] = taps[count].weight;
            for (int axis = 0; axis < rank; axis++)
                offsets[count * (size_t)rank + (size_t)axis] = taps[count].offset[axis] = offset[3 - rank + axis];
            count++;
        }
        for (size_t k = 0; k < count / 2 && -low == reach; k++)
            weights[k] = taps[k].weight = (is_odd ? -1 : 1) * weights[count - 1 - k];
        if (!count) continue;
        const stn_filter_taps filter = {rank, rank, count, offsets, weights, NULL};
        for (size_t i = 0; i < points; i++) in[i] = random_unit(&state) * 100;
        kernels->store[element](got, in, points);
        memcpy(in, got, sizeof in);
        memset(got, 0, sizeof got);
        memset(expected, 0, sizeof expected);
        stn_task task = make_task(rank, count, taps, problem);
        run(&task, 1, in, expected);
        stn_task_clear(&task);
        OK(stn_filter_run(context, &problem, &filter, in, got, &error));
        cr_assert_arr_eq(got, expected, sizeof got, "round %d", round);
    }
}

/* Taps from -low to high along the last of `axes` axes, mirrored, odd or neither. */
static stn_filter_taps random_line(uint64_t *state, int axes, int rank, int64_t offsets[], double weights[]) {
    const int64_t most = random_int(state, 0, 1) ? 9 : 2; /* few: the rows are parted */
    const int64_t low = random_int(state, 0, most), high = random_int(state, 0, 1) ? low : random_int(state, 0, most);
    stn_filter_taps taps = {.rank = rank, .axes = axes, .offsets = offsets, .weights = weights};
    for (int64_t at = -low; at <= high; at++, taps.count++) {
        for (int axis = 0; axis < axes; axis++) *offsets++ = axis == axes - 1 ? at : 0;
        weights[taps.count] = random_unit(state);
    }
    const double sign = random_int(state, 0, 2) ? 1 : -1;
    for (size_t k = 0; low == high && k < taps.count / 2; k++) weights[k] = sign * weights[taps.count - 1 - k];
    if (low == high && sign < 0) weights[low] = 0;
    return taps;
}

/* Two filters of one call are one after the other, bit for bit. */
Test(strategy, two_filters_at_once_are_one_after_the_other) {
    enum { MOST = 72000 };
    static const stn_boundary_kind kinds[] = {STN_REFLECT, STN_MIRROR, STN_NEAREST, STN_CONSTANT};
    static const stn_element elements[] = {STN_ELEMENT_F64, STN_ELEMENT_F32, STN_ELEMENT_F16,
                                           STN_ELEMENT_U16, STN_ELEMENT_I32, STN_ELEMENT_U8};
    static double in[MOST], between[MOST], expected[MOST], got[MOST];
    uint64_t state = 31;
    open_host(3);
    for (int round = 0; round < 120; round++) {
        const stn_element from = elements[round % 6], to = round % 6 < 3 ? from : elements[3 + round / 6 % 3];
        const int rank = 2 + round / 6 % 2;
        stn_problem problem = STN_PROBLEM_INIT;
        problem.dtype = from == STN_ELEMENT_F32 ? STN_F32 : from == STN_ELEMENT_F16 ? STN_F16 : STN_F64;
        if (round % 6 >= 3) problem.in_element = from, problem.out_element = to;
        problem.batch = (size_t)random_int(&state, 1, 2);
        size_t points = problem.batch;
        for (int axis = 0; axis < rank; axis++) {
            const bool last = axis == rank - 1;
            problem.extent[axis] = (size_t)random_int(&state, 1, last ? (rank == 2 ? 400 : 133) : rank == 2 ? 90 : 9);
            points *= problem.extent[axis];
            const bool wraps = random_int(&state, 0, 3) == 0;
            for (int side = 0; side < 2 && !wraps; side++)
                problem.boundary[axis][side] =
                    (stn_boundary){kinds[random_int(&state, 0, 3)], (double)random_int(&state, 0, 9)};
        }
        cr_assert_leq(points, MOST);
        double weights[2][19];
        int64_t offsets[2][19 * 3];
        stn_filter_taps second = random_line(&state, rank, rank, offsets[1], weights[1]);
        stn_filter_taps first =
            random_line(&state, 1 + (int)random_int(&state, 0, rank - 2), rank, offsets[0], weights[0]);
        for (size_t i = 0; i < points; i++) in[i] = random_unit(&state) * 200;
        const stn_kernels *kernels = stn_kernels_best();
        kernels->store[from](got, in, points);
        memcpy(in, got, sizeof in);
        memset(got, 0, sizeof got);
        memset(expected, 0, sizeof expected);
        OK(stn_filter_run(context, &problem, &first, in, between, &error));
        problem.in_element = problem.out_element;
        OK(stn_filter_run(context, &problem, &second, between, expected, &error));
        problem.in_element = round % 6 >= 3 ? from : STN_ELEMENT_DTYPE;
        problem.alignment = (int)stn_element_size(stn_element_size(from) < stn_element_size(to) ? from : to);
        first.next = &second;
        OK(stn_filter_run(context, &problem, &first, in, got, &error));
        cr_assert_arr_eq(got, expected, sizeof got, "round %d", round);
        second.next = &first;
        REFUSED(stn_filter_run(context, &problem, &first, in, got, &error), "run one after the other");
    }
}

Test(strategy, boxes_without_meaning_are_refused) {
    static double in[4], out[4];
    open_host(1);
    /* A struct_size of 0 means the first release's layout, as in all structs. */
    const stn_box_filter good = {.outer = 1, .points = 4, .inner = 1, .size = 3, .divisor = 3};
    stn_box_filter box = good;
    OK(stn_box_filter_run(context, &box, in, out, &error));
    box.struct_size = sizeof box - 1;
    REFUSED(stn_box_filter_run(context, &box, in, out, &error), "its size in no release");
    box = good;
    box.sides[0].kind = box.sides[1].kind = (stn_boundary_kind)100;
    REFUSED(stn_box_filter_run(context, &box, in, out, &error), "give two of STN_WRAP to STN_MIRROR");
    box = good, box.sides[1].kind = STN_NEAREST;
    REFUSED(stn_box_filter_run(context, &box, in, out, &error), "STN_WRAP on both sides or on none");
    box = good, box.size = SIZE_MAX / 16 + 3; /* so that bytes modulo 2^64 are few */
    REFUSED(stn_box_filter_run(context, &box, in, out, &error), "more bytes than 63 bits can count");
    box = good, box.outer = SIZE_MAX / 2;
    REFUSED(stn_box_filter_run(context, &box, in, out, &error), "more bytes than 63 bits can count");
}

Test(strategy, boxes_of_integers_take_any_divisor_constant_and_type) {
    static uint8_t in[64], out[64];
    open_host(1);
    stn_box_filter box = {.struct_size = sizeof box, .dtype = STN_F64, .outer = 1, .points = 64, .inner = 1};
    box.size = 3, box.before = 1, box.divisor = 3, box.element = STN_ELEMENT_U8;
    for (int i = 0; i < 64; i++) in[i] = (uint8_t)(4 * i);
    for (int side = 0; side < 2; side++) box.sides[side] = (stn_boundary){STN_CONSTANT, 9};
    OK(stn_box_filter_run(context, &box, in, out, &error));
    cr_expect(out[0] == (9 + 0 + 4) / 3 && out[30] == 120 && out[63] == (248 + 252 + 9) / 3);
    box.divisor = 6;
    box.sides[1].value = 256.5;
    OK(stn_box_filter_run(context, &box, in, out, &error));
    cr_expect(out[0] == (9 + 0 + 4) / 6 && out[30] == 60 && out[63] == (248 + 252 + 256) / 6);
    stn_box_filter next = box;
    box.next = &next;
    REFUSED(stn_box_filter_run(context, &box, in, out, &error), "run one box after the other");
    box.next = NULL;
    box.element = STN_ELEMENT_BF16;
    REFUSED(stn_box_filter_run(context, &box, in, out, &error), "give an integer type");
}

/* The number of an extended axis, from the definition of the boundary conditions. */
static double number_past(const double *line, int64_t i, int64_t points, int64_t step, const stn_box_filter *box) {
    const int64_t j = i >= 0 && i < points ? i : stn_fold(i, points, box->sides);
    return j < 0 ? box->sides[-1 - j].value : line[j * step];
}

/* Few lines or columns, many, and short ones; boxes that are longer than lines, and long lines that
 * are averaged in several pieces; all number types. */
Test(strategy, boxes_of_all_types_and_shapes_are_the_means) {
    enum { MOST = 40000 };
    static double numbers[MOST], sums[MOST], got[MOST];
    static uint8_t in[MOST * sizeof(double)], out[MOST * sizeof(double)];
    const int64_t extents[] = {1, 2, 3, 5, 15, 16, 17, 40};
    const stn_kernels *kernels = stn_kernels_best();
    open_host(2);
    uint64_t state = 11;
    for (int round = 0; round < 600; round++) {
        int64_t shape[3];
        for (int axis = 0; axis < 3; axis++) shape[axis] = extents[random_int(&state, 0, 7)];
        if (round % 3 == 0) shape[0] = round % 2 ? 1 : 2, shape[1] = random_int(&state, 1, 9000), shape[2] = 1;
        const int64_t points = shape[1], count = shape[0] * points * shape[2];
        const int64_t size = random_int(&state, 1, round % 4 ? 60 : 700);
        const stn_element element = (stn_element)random_int(&state, STN_ELEMENT_F64, STN_ELEMENTS - 1);
        if (count > MOST || element == STN_ELEMENT_BF16) continue;
        stn_box_filter box = {
            .struct_size = sizeof box, .dtype = STN_F64, .size = (size_t)size, .divisor = (double)size};
        box.outer = (size_t)shape[0], box.points = (size_t)points, box.inner = (size_t)shape[2];
        box.before = (size_t)random_int(&state, 0, size - 1);
        if (stn_element_is_whole(element))
            box.element = element;
        else
            box.dtype = element == STN_ELEMENT_F16 ? STN_F16 : element == STN_ELEMENT_F32 ? STN_F32 : STN_F64;
        const stn_boundary_kind kind = (stn_boundary_kind)random_int(&state, STN_WRAP, STN_MIRROR);
        for (int side = 0; side < 2; side++) box.sides[side] = (stn_boundary){kind, side ? 1 : 3};
        for (int64_t i = 0; i < count; i++) numbers[i] = (double)random_int(&state, 0, 100);
        kernels->store[element](in, numbers, (size_t)count);
        kernels->load[element](numbers, in, (size_t)count);
        OK(stn_box_filter_run(context, &box, in, out, &error));
        kernels->load[element](got, out, (size_t)count);
        for (int64_t i = 0; i < count; i++) {
            const int64_t step = shape[2], at = i / step % points;
            const double *line = numbers + i - at * step;
            sums[i] = 0;
            for (int64_t k = 0; k < size; k++)
                sums[i] += number_past(line, at - (int64_t)box.before + k, points, step, &box);
            sums[i] /= (double)size;
        }
        kernels->store[element](in, sums, (size_t)count);
        kernels->load[element](sums, in, (size_t)count);
        for (int64_t i = 0; i < count; i++)
            if (fabs(got[i] - sums[i]) > (element == STN_ELEMENT_F64 ? 1e-13 : 0))
                cr_assert_fail("round %d: %g instead of %g", round, got[i], sums[i]);
    }
}

/* Means of integers are exact: along lines that are averaged in several pieces, and down columns,
 * with small boxes and large ones. */
Test(strategy, boxes_of_integers_on_long_lines_are_exact) {
    enum { MOST = 9000, LINES = 2 };
    static uint16_t in[MOST * LINES], got[MOST * LINES];
    open_host(2);
    uint64_t state = 7;
    for (int round = 0; round < 40; round++) {
        const bool wide = round % 2, down = round % 4 >= 2;
        const int64_t points = random_int(&state, 1500, MOST), size = random_int(&state, 2, round % 3 ? 900 : 9);
        const int64_t before = random_int(&state, 0, size - 1), most = wide ? UINT16_MAX : UINT8_MAX;
        stn_box_filter box = {.struct_size = sizeof box, .dtype = STN_F64, .points = (size_t)points};
        box.size = (size_t)size, box.before = (size_t)before, box.divisor = (double)size;
        box.outer = down ? 1 : LINES, box.inner = down ? LINES : 1;
        box.element = wide ? STN_ELEMENT_U16 : STN_ELEMENT_U8;
        for (int side = 0; side < 2; side++) box.sides[side] = (stn_boundary){round % 5 ? STN_WRAP : STN_CONSTANT, 9};
        for (int64_t i = 0; i < points * LINES; i++) {
            const int64_t number = random_int(&state, 0, most);
            if (wide)
                in[i] = (uint16_t)number;
            else
                ((uint8_t *)in)[i] = (uint8_t)number;
        }
        OK(stn_box_filter_run(context, &box, in, got, &error));
#define AT(array, i) (wide ? (array)[i] : ((uint8_t *)(array))[i])
        for (int64_t line = 0; line < LINES; line++)
            for (int64_t i = 0; i < points; i++) {
                const int64_t step = down ? LINES : 1, first = down ? line : line * points;
                int64_t sum = 0;
                for (int64_t j = i - before; j < i - before + size; j++)
                    sum += round % 5              ? AT(in, first + (j + points) % points * step)
                           : j < 0 || j >= points ? 9
                                                  : AT(in, first + j * step);
                cr_assert_eq(AT(got, first + i * step), sum / size, "round %d, point %d", round, (int)i);
            }
#undef AT
    }
}

/* Two boxes of one call give what one after the other does: with several threads, with chunks of
 * rows that end inside a block, where sums of f64 overflow, and with numbers that are not
 * finite. */
Test(strategy, two_boxes_at_once_are_one_after_the_other) {
    enum { MOST = 4 * 70 * 90 };
    static double in[MOST], between[MOST], expected[MOST], got[MOST];
    uint64_t state = 5;
    for (int round = 0; round < 120; round++) {
        open_host(1 + round % 3);
        const stn_element element = (stn_element[]){0, 0, STN_ELEMENT_U8, STN_ELEMENT_U16}[round % 4];
        const size_t n[4] = {1 + (size_t)round % 2, (size_t)random_int(&state, 1, 70), 1 + (size_t)round % 2,
                             (size_t)random_int(&state, 1, 90)};
        stn_box_filter box[2], first;
        for (int k = 0; k < 2; k++) {
            const size_t size = (size_t)random_int(&state, 1, round % 3 ? 40 : 300);
            const stn_boundary_kind kind = (stn_boundary_kind)random_int(&state, STN_WRAP, STN_FIXED - 1);
            box[k] = (stn_box_filter){.struct_size = sizeof *box, .dtype = round % 4 ? STN_F64 : STN_F32, .size = size};
            box[k].before = (size_t)random_int(&state, 0, (int)size - 1);
            box[k].divisor = (double)size;
            box[k].element = element;
            for (int side = 0; side < 2; side++) box[k].sides[side] = (stn_boundary){kind, 3};
        }
        box[0].outer = n[0], box[0].points = n[1], box[0].inner = n[2] * n[3];
        box[1].outer = n[0] * n[1] * n[2], box[1].points = n[3], box[1].inner = 1;
        const size_t points = box[1].outer * n[3];
        const double largest = round % 8 == 1 ? 1e308 : 9;
        for (size_t i = 0; i < points; i++)
            if (element)
                in[i] = random_unit(&state); /* any bits */
            else if (round % 4)
                in[i] = fabs(random_unit(&state)) * largest;
            else
                ((float *)in)[i] = (float)random_unit(&state);
        if (round % 8 == 5) in[points / 2] = round % 16 == 5 ? NAN : INFINITY;
        OK(stn_box_filter_run(context, &box[0], in, between, &error));
        OK(stn_box_filter_run(context, &box[1], between, expected, &error));
        first = box[0];
        first.next = &box[1];
        OK(stn_box_filter_run(context, &first, in, got, &error));
        cr_assert_arr_eq(got, expected, sizeof got, "round %d", round);
        box[1].outer++;
        REFUSED(stn_box_filter_run(context, &first, in, got, &error), "run one box after the other");
        end();
    }
}
