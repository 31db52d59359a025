/* Systems on the host: rows in all instruction sets, and the arguments of an execution. */
#include <math.h>
#include <stdlib.h>

#include "../expect.h"
#include "host/system_kernels.h"

enum { POINTS = 77 };

static double some(int *state) {
    *state = (int)(((unsigned)*state * 1103515245u + 12345u) & 0x7fffffffu);
    const int draw = *state >> 8 & 63;
    if (draw == 0) return NAN;
    if (draw == 1) return -0.0;
    if (draw == 2) return INFINITY;
    return (double)(*state & 0xffff) / 6553.6 - 5;
}

static void fill(char *rows, int count, bool wide, int state) {
    for (int i = 0; i < count * POINTS; i++)
        if (wide)
            ((double *)rows)[i] = some(&state);
        else
            ((float *)rows)[i] = (float)some(&state);
}

/* Whether numbers are identical, or both NaN. */
static bool same(const char *a, const char *b, bool wide) {
    for (int i = 0; i < POINTS; i++) {
        const double x = wide ? ((const double *)a)[i] : ((const float *)a)[i],
                     y = wide ? ((const double *)b)[i] : ((const float *)b)[i];
        if (!(x == y && signbit(x) == signbit(y)) && !(isnan(x) && isnan(y))) return false;
    }
    return true;
}

static void compare_sets(bool wide) {
    static double rows[9][POINTS], first[POINTS], other[POINTS];
    const size_t row = wide ? sizeof(double) * POINTS : sizeof(float) * POINTS;
    char *of = (char *)rows;
    fill(of, 9, wide, 42);
    for (int set = 1; stn_system_kernels_at(set, wide); set++) {
        const stn_system_kernels *one = stn_system_kernels_at(0, wide), *next = stn_system_kernels_at(set, wide);
        for (int op = STN_SYSTEM_NEGATE; op < STN_SYSTEM_OPS; op++) {
            one->apply((stn_system_op)op, first, of, of + row, of + 2 * row, POINTS);
            next->apply((stn_system_op)op, other, of, of + row, of + 2 * row, POINTS);
            cr_expect(same((char *)first, (char *)other, wide), "set %d, %s", set, stn_system_ops[op].word);
        }
        for (int terms = 1; terms <= STN_SYSTEM_ROW_TERMS; terms++)
            for (int add = 0; add < 2; add++) {
                const void *lines[STN_SYSTEM_ROW_TERMS];
                const double weights[STN_SYSTEM_ROW_TERMS] = {0.3, -1, 2.5, 1e-3, 7, 0.1, -0.7, 1};
                for (int k = 0; k < terms; k++) lines[k] = of + (size_t)k * row;
                memcpy(first, of + 8 * row, row);
                memcpy(other, of + 8 * row, row);
                one->sum(first, lines, weights, terms, add, POINTS);
                next->sum(other, lines, weights, terms, add, POINTS);
                cr_expect(same((char *)first, (char *)other, wide), "set %d, %d terms", set, terms);
            }
    }
}

Test(system_kernels, instruction_sets_are_bit_identical_for_doubles) { compare_sets(true); }
Test(system_kernels, instruction_sets_are_bit_identical_for_floats) { compare_sets(false); }

/* ---- executions */

typedef struct rig {
    stn_context *context;
    stn_plan *plan;
    double u[3][64], c[64], record[8];
    const void *in[2], *coefficients[2];
    void *out[2];
    double numbers[2];
    stn_system_arrays arrays;
    stn_execution run;
} rig;

static rig *make_rig(bool in_place, uint64_t every) {
    rig *r = calloc(1, sizeof *r);
    stn_system *system;
    const stn_system_point receiver = {0, 0, {3}, 1};
    const stn_context_options options = {
        .struct_size = sizeof options, .device = STN_DEVICE_HOST, .cache_dir = ":memory:"};
    const int is_number[] = {0, 1};
    OK(stn_context_create(&options, &r->context, &error));
    OK(stn_system_parse("field u(2)\ncoefficient c, k\nu.next = c*u + k*u.prev", &system, &error));
    stn_system_problem problem = STN_SYSTEM_PROBLEM_INIT;
    problem.system = system;
    problem.rank = 1, problem.extent[0] = 16, problem.steps = 4, problem.every = every, problem.in_place = in_place;
    problem.is_number = is_number, problem.receiver_count = 1, problem.receivers = &receiver;
    OK(stn_plan_create_system(r->context, &problem, NULL, &r->plan, &error));
    stn_system_destroy(system);
    for (int i = 0; i < 64; i++) r->u[0][i] = 1, r->u[1][i] = 2, r->c[i] = 3;
    for (int level = 0; level < 2; level++) {
        r->in[level] = r->u[level];
        r->out[level] = in_place ? r->u[level] : r->u[2] + 16 * level;
    }
    r->coefficients[0] = r->c;
    r->numbers[1] = 0.5;
    r->arrays = (stn_system_arrays){sizeof r->arrays, r->in, r->out, r->coefficients, r->numbers, NULL, r->record};
    r->run = (stn_execution){.struct_size = sizeof r->run, .system = &r->arrays};
    return r;
}

static void free_rig(rig *r) {
    stn_plan_destroy(r->plan);
    stn_context_destroy(r->context);
    free(r);
}

static void expect_refused(rig *r, const char *why) {
    cr_expect_eq(stn_plan_run(r->plan, &r->run, &error), STN_ERROR_INVALID_ARGUMENT, "not refused: %s", why);
    cr_expect(strstr(error.message, why), "%s, not %s", error.message, why);
    r->arrays = (stn_system_arrays){sizeof r->arrays, r->in, r->out, r->coefficients, r->numbers, NULL, r->record};
    r->run = (stn_execution){.struct_size = sizeof r->run, .system = &r->arrays};
}

/* u = 3 u + u.prev / 2 from 1 and 2: 4, 12.5, 39.5, 124.75. */
static void expect_run(rig *r) {
    const double states[] = {4, 12.5, 39.5, 124.75};
    OK(stn_plan_run(r->plan, &r->run, &error));
    for (int i = 0; i < 4; i++) cr_expect_eq(r->record[i], states[i]);
    for (int i = 0; i < 16; i++) {
        cr_expect_eq(((double *)r->out[0])[i], states[3]);
        cr_expect_eq(((double *)r->out[1])[i], states[2]);
    }
}

Test(system_plan, runs_in_place_or_not) {
    for (int in_place = 0; in_place < 2; in_place++) {
        rig *r = make_rig(in_place, 0);
        expect_run(r);
        free_rig(r);
    }
}

Test(system_plan, levels_of_a_stack_may_be_left_out) {
    rig *r = make_rig(false, 2);
    r->out[1] = NULL;
    cr_assert_eq(stn_plan_run(r->plan, &r->run, NULL), STN_OK);
    cr_expect(r->u[2][0] == 12.5 && r->u[2][15] == 12.5 && r->u[2][16] == 124.75 && r->u[2][31] == 124.75);
    free_rig(r);
}

Test(system_plan, invalid_arguments_are_refused) {
    rig *r = make_rig(false, 0);
    r->run.system = NULL;
    expect_refused(r, "give them in stn_execution.system");
    r->run.in = r->u;
    expect_refused(r, "leave in, out and the other pointers NULL");
    r->arrays.in = NULL;
    expect_refused(r, "stn_system_arrays.in is NULL");
    r->in[1] = NULL;
    expect_refused(r, "the input array u.prev is NULL");
    r->in[1] = (const char *)r->u[1] + 4;
    expect_refused(r, "is not a multiple of 16 bytes");
    r->in[1] = r->u[2] + 2;
    expect_refused(r, "overlap");
    r->in[1] = r->u[1];
    r->out[1] = r->u[2] + 14;
    expect_refused(r, "overlap");
    r->out[1] = r->u[2] + 16;
    r->coefficients[0] = NULL;
    expect_refused(r, "the input array c is NULL");
    r->coefficients[0] = r->c, r->coefficients[1] = r->c;
    expect_refused(r, "takes as a number");
    r->coefficients[1] = NULL;
    r->arrays.numbers = NULL;
    expect_refused(r, "k has no number");
    r->arrays.records = NULL;
    expect_refused(r, "receivers");
    r->arrays.amplitudes = r->c;
    expect_refused(r, "sources");
    r->arrays.struct_size = 3;
    expect_refused(r, "stn_system_arrays.struct_size");
    expect_run(r);
    free_rig(r);
}

Test(system_plan, other_plans_take_no_system) {
    stn_context *context;
    stn_stencil *heat;
    double in[8] = {0}, out[8];
    const stn_context_options options = {
        .struct_size = sizeof options, .device = STN_DEVICE_HOST, .cache_dir = ":memory:"};
    stn_problem problem = STN_PROBLEM_INIT;
    OK(stn_context_create(&options, &context, &error));
    OK(stn_stencil_parse("heat-1d", &heat, &error));
    problem.stencil = heat, problem.extent[0] = 8;
    stn_plan *plan = new_plan(context, &problem, NULL);
    const stn_system_arrays arrays = STN_SYSTEM_ARRAYS_INIT;
    const stn_execution run = {.struct_size = sizeof run, .in = in, .out = out, .system = &arrays};
    REFUSED(stn_plan_run(plan, &run, &error), "a plan that takes none");
    stn_plan_destroy(plan);
    stn_stencil_destroy(heat);
    stn_context_destroy(context);
}

static int cancel_at_once(void *user, uint64_t done, uint64_t total) {
    (void)done;
    *(uint64_t *)user = total;
    return 1;
}

Test(system_plan, progress_and_cancellation) {
    rig *r = make_rig(false, 0);
    uint64_t total = 0;
    r->run.progress = cancel_at_once;
    r->run.progress_user = &total;
    const stn_status status = stn_plan_run(r->plan, &r->run, NULL);
    /* it may end before the first call */
    cr_expect(status == STN_ERROR_CANCELLED || status == STN_OK);
    cr_expect_eq(total, 4);
    free_rig(r);
}
