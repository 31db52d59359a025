/* What the strategy modes is made of: numbers of 79 bits, roots of unity, mirrors, and matrices of
 * several frequencies side by side, the same to the bit for every instruction set. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../expect.h"
#include "strategies/modes/lanes.h"
#include "strategies/modes/symmetry.h"

Test(modes, products_have_79_bits) {
    const modes_wide a = modes_add(modes_wide_of(1), modes_wide_of(0x1p-35)), b = modes_times(a, a);
    cr_assert_eq(b.top, 1);
    cr_assert_eq(b.rest, 0x1p-34 + 0x1p-70);
    const modes_wide c = modes_add(b, modes_wide_of(-1));
    cr_assert_eq(c.top + c.rest, 0x1p-34 + 0x1p-70);
    for (double x = 1; x < 200; x += 1.7) {
        const modes_wide one = modes_times(modes_reciprocal(x), modes_wide_of(x));
        cr_assert_lt(fabs((one.top - 1) + one.rest), 1e-23, "1/%g", x);
    }
}

static double off_from_one(modes_pair p) {
    const modes_wide size = modes_add(modes_times(p.re, p.re), modes_times(p.im, p.im));
    const modes_wide off = modes_add(size, modes_wide_of(-1));
    return fabs(off.top + off.rest);
}

static double apart(modes_pair a, modes_pair b) {
    const modes_pair off = modes_pair_add(a, modes_pair_negate(b));
    return fabs(off.re.top + off.re.rest) + fabs(off.im.top + off.im.rest);
}

/* Root k is the k-th power of root 1, and root n is 1. */
Test(modes, roots_of_unity) {
    static const int64_t sizes[] = {1, 2, 3, 4, 7, 12, 128, 1009, 65536};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const int64_t n = sizes[i];
        modes_roots roots;
        cr_assert_eq(modes_roots_make(n, &roots, NULL), STN_OK);
        const modes_pair first = modes_root(&roots, n > 1 ? 1 : 0);
        modes_pair power = modes_root(&roots, 0);
        for (int64_t k = 0; k < n; k++, power = modes_pair_times(power, first)) {
            const modes_pair at = modes_root(&roots, k);
            const double angle = 2 * acos(-1) * (double)k / (double)n;
            cr_assert_lt(fabs(at.re.top - cos(angle)) + fabs(at.im.top - sin(angle)), 1e-7, "root %d of %d", (int)k,
                         (int)n);
            cr_assert_lt(off_from_one(at), 4e-23, "root %d of %d: %g", (int)k, (int)n, off_from_one(at));
            cr_assert_lt(apart(at, power), 2e-23 * (double)(k + 1), "root %d of %d: %g", (int)k, (int)n,
                         apart(at, power));
        }
        cr_assert_lt(apart(power, modes_root(&roots, 0)), 2e-23 * (double)n);
        modes_roots_clear(&roots);
    }
}

/* ---- systems --------------------------------------------------------------------------------- */

static void make_task(const char *text, int rank, const size_t *extent, stn_dtype dtype, stn_system_task *task) {
    stn_system *system;
    stn_system_problem problem = STN_SYSTEM_PROBLEM_INIT;
    OK(stn_system_parse(text, &system, &error));
    problem.system = system, problem.rank = rank, problem.dtype = dtype;
    memcpy(problem.extent, extent, (size_t)rank * sizeof *extent);
    OK(stn_system_task_make(&problem, task, &error));
    stn_system_destroy(system);
}

/* A whole period shows what single steps see past the sides. */
Test(modes, mirrors_are_the_sides) {
    static const char *const sides[] = {
        "wrap", "reflect", "mirror", "odd-reflect", "reflect:odd-reflect", "odd-reflect:reflect", "constant"};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (size_t n = 2; n < 7; n++) {
            char text[200], reason[160] = "";
            stn_system_task task;
            modes_linear l;
            snprintf(text, sizeof text, "field u\nstencil h = laplace-1d\nboundary u = %s\nu.next = u + h(u)",
                     sides[i]);
            make_task(text, 1, &n, STN_F64, &task);
            cr_assert(modes_analyse(&task, &l, reason, sizeof reason), "%s: %s", sides[i], reason);
            const modes_axis *axis = &l.axis[2];
            for (int64_t at = -1; at <= (int64_t)n; at++) {
                int sign;
                double expected = 1, constant = 0;
                const int64_t seen = modes_image(axis, 0, (at + axis->length) % axis->length, &sign);
                const int64_t folded =
                    stn_system_fold(at, (int64_t)n, task.system->fields[0].side[2], &expected, &constant);
                cr_assert_eq(sign, folded < 0 ? 0 : (int)expected, "%s of %zu at %d", sides[i], n, (int)at);
                if (sign) cr_assert_eq(seen, folded, "%s of %zu at %d", sides[i], n, (int)at);
            }
            modes_linear_clear(&l);
            stn_system_task_clear(&task);
        }
}

#define FREQUENCIES 19

/* The spectrum of a run at some frequencies, by one instruction set. */
static void run(const modes_linear *l, const modes_lanes *lanes, bool narrow, double *spectrum) {
    const int64_t size = FREQUENCIES;
    const bool affine = l->affine;
    double *constants = calloc((size_t)l->task->system->nnodes, sizeof *constants);
    modes_pair *powers[2] = {calloc((size_t)l->reach[0] + 1, sizeof(modes_pair)),
                             calloc((size_t)l->reach[1] + 1, sizeof(modes_pair))};
    modes_pair *terms = calloc((size_t)l->nterms + 1, sizeof *terms), *z = calloc((size_t)lanes->lanes, sizeof *z);
    void *scratch = aligned_alloc(64, lanes->scratch(l));
    modes_roots roots;
    cr_assert(constants && powers[0] && powers[1] && terms && z && scratch);
    cr_assert_eq(modes_roots_make(2 * FREQUENCIES, &roots, NULL), STN_OK);
    srand(3);
    for (int64_t i = 0; i < 2 * size * l->width; i++) spectrum[i] = rand() / (double)RAND_MAX - 0.5;
    modes_constants(l, NULL, constants);
    modes_powers(modes_root(&roots, 0), l->reach[0], powers[0]);
    modes_powers(modes_root(&roots, 5), l->reach[1], powers[1]);
    modes_terms(l, (const modes_pair *[2]){powers[0], powers[1]}, terms);
    modes_target t = {.from = spectrum, .grids = 1, .grid = size, .rows = 1};
    for (; t.first < size; t.first += lanes->lanes) {
        t.count = (int)(size - t.first < lanes->lanes ? size - t.first : lanes->lanes);
        t.ones = t.first ? 0 : 8;
        for (int k = 0; k < lanes->lanes; k++) z[k] = modes_root(&roots, k < t.count ? t.first + k : t.first);
        lanes->fill(l, constants, terms, z, affine, scratch);
        lanes->raise(l, 37, narrow, affine, scratch);
        lanes->apply(l, &t, affine, scratch);
    }
    modes_roots_clear(&roots);
    free(scratch);
    free(z);
    free(terms);
    free(powers[0]);
    free(powers[1]);
    free(constants);
}

Test(modes, instruction_sets_give_the_same_bits) {
    static const char *const texts[] = {
        "field u(2)\nstencil lap = laplace-2d:order=4\nu.next = 2*u - u.prev + 0.2*lap(u)",
        "field u\nstencil d = taps y [0, 1, 2] (-1 1/2 1/3), e = taps x [-3, 1] (0.3 0.1)\nu.next = u - "
        "0.2*e(d(u))/1.1",
        "field u(3), v\nstencil h = heat-2d\nu.next = h(u) - 0.1*(v - u.prev2) + 0.5\nv.next = -h(u.next)*0.3 + v"};
    static const size_t extent[] = {16, 18};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        for (int narrow = 0; narrow < 2; narrow++) {
            char reason[160] = "";
            stn_system_task task;
            modes_linear l;
            make_task(texts[i], 2, extent, narrow ? STN_F32 : STN_F64, &task);
            cr_assert(modes_analyse(&task, &l, reason, sizeof reason), "%s", reason);
            cr_assert_eq(l.real, i != 1);
            cr_assert_eq(l.even[1], i == 0 || i == 2);
            const size_t size = 2 * FREQUENCIES * (size_t)l.width;
            double *first = calloc(size, sizeof *first), *other = calloc(size, sizeof *other);
            cr_assert(first && other);
            run(&l, modes_lanes_at(0), narrow, first);
            for (size_t k = 0; k < size; k++) cr_assert(isfinite(first[k]));
            for (int set = 1; modes_lanes_at(set); set++) {
                run(&l, modes_lanes_at(set), narrow, other);
                cr_assert_eq(memcmp(first, other, size * sizeof *first), 0, "system %zu, set %d", i, set);
            }
            free(first);
            free(other);
            modes_linear_clear(&l);
            stn_system_task_clear(&task);
        }
}
