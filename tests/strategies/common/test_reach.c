/* The reach of many steps: known figures, and neither too few nor needlessly many points compared
 * with S^f computed explicitly. */
#include <math.h>
#include <stdlib.h>

#include "context/search_cache.h"
#include "strategies/common/reach.h"
#include "tasks.h"

static stn_reach reach_of(const char *name, int axis, uint64_t steps) {
    stn_task task = task_of_name(name);
    const stn_reach reach = stn_reach_find(&task, axis, steps, stn_reach_tail(STN_F64));
    stn_task_clear(&task);
    return reach;
}

Test(reach, heat_1d_is_known) {
    static const double quarter[3] = {0.25, 0.5, 0.25};
    static const int known[][2] = {{1, 1}, {16, 16}, {64, 45}, {256, 94}, {1000, 187}, {4000, 374}, {6400, 474}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        stn_reach reach = stn_reach_of_line(NULL, quarter, 3, 1, (uint64_t)known[i][0], 0x1p-55);
        cr_expect_eq(reach.side[0], reach.side[1]);
        cr_expect_eq(reach.side[0], known[i][1], "%d steps reach %d, not %d", known[i][0], (int)reach.side[0],
                     known[i][1]);
        cr_expect_leq(reach.tail[0], 0x1p-55);
    }
}

Test(reach, grows_as_the_root_of_steps) {
    for (uint64_t steps = 1000; steps <= 1000000000; steps *= 1000) {
        stn_reach reach = reach_of("heat-1d", 2, steps);
        cr_expect(reach.side[0] > 4.1 * sqrt((double)steps) && reach.side[0] < 4.6 * sqrt((double)steps),
                  "%g steps reach %g", (double)steps, (double)reach.side[0]);
    }
    stn_reach flat = reach_of("heat-2d", 1, 1000);
    cr_expect(flat.side[0] > 100 && flat.side[0] < 300, "%g", (double)flat.side[0]);
}

/* S^f of one line of taps, computed explicitly. */
static long double *power_of(const double *w, int count, int steps) {
    int all = (count - 1) * steps + 1;
    long double *to = calloc((size_t)all, sizeof *to), *from = calloc((size_t)all, sizeof *from);
    to[0] = 1;
    for (int f = 0, size = 1; f < steps; f++, size += count - 1) {
        for (int i = 0; i < all; i++) from[i] = to[i], to[i] = 0;
        for (int i = 0; i < size; i++)
            for (int k = 0; k < count; k++) to[i + k] += from[i] * w[k];
    }
    free(from);
    return to;
}

/* The sum of |taps| beyond `reach` towards one side, relative to that of all taps. */
static double beyond(const long double *tap, int all, int low, int64_t reach, int side) {
    long double past = 0, whole = 0;
    for (int i = 0; i < all; i++) {
        int64_t offset = side ? i - low : low - i;
        if (offset > reach) past += fabsl(tap[i]);
        whole += fabsl(tap[i]);
    }
    return (double)(past / whole);
}

/* At most the tail lies beyond the reach, and one point less would not suffice. */
static void check_minimal(const double *w, int count, int low, int steps, double tail) {
    stn_reach reach = stn_reach_of_line(NULL, w, count, low, (uint64_t)steps, tail);
    long double *tap = power_of(w, count, steps);
    for (int side = 0; side < 2; side++) {
        int all = (count - 1) * steps + 1;
        double past = beyond(tap, all, low * steps, reach.side[side], side);
        double before = beyond(tap, all, low * steps, reach.side[side] - 1, side);
        cr_expect_leq(past, tail * (1 + 1e-9), "%d steps, side %d: %g lies beyond", steps, side, past);
        cr_expect(past <= reach.tail[side] * (1 + 1e-9) + 1e-22, "%d steps: %g beyond, said to be %g", steps, past,
                  reach.tail[side]);
        cr_expect(!reach.side[side] || before > tail * (1 - 1e-4), "%d steps, side %d: %d is longer than it need be",
                  steps, side, (int)reach.side[side]);
    }
    free(tap);
}

/* Random uneven weights of any sign. */
Test(reach, random_lines_have_minimal_reach) {
    unsigned long long state = 11;
    for (int trial = 0; trial < 60; trial++) {
        double w[9];
        int count = 2 + trial % 8, low = trial / 8 % count;
        for (int i = 0; i < count; i++) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            w[i] = 0.1 + fabs((double)(long long)state * 0x1p-63);
            if (trial % 3 == 0 && i % 2) w[i] *= -0.5;
        }
        check_minimal(w, count, low, 1 + trial * 7, trial % 2 ? 0x1p-26 : 0x1p-55);
    }
}

/* The taps of all steps reach far to one side, but are few. */
Test(reach, lines_that_drift_have_minimal_reach) {
    static const double w[2] = {0.9, 0.1};
    check_minimal(w, 2, 1, 2400, 0x1p-55);
}

Test(reach, drift_is_one_sided) {
    const double upwind[2] = {0.4, 0.6}; /* offsets -1 and 0 */
    stn_reach reach = stn_reach_of_line(NULL, upwind, 2, 1, 1000, 0x1p-55);
    cr_expect(reach.side[0] > 400 && reach.side[0] < 600, "%d", (int)reach.side[0]);
    cr_expect_eq(reach.side[1], 0);
    const double none[3] = {0, 0, 0};
    cr_expect_eq(stn_reach_of_line(NULL, none, 3, 1, 5, 0x1p-55).side[0], 0);
}

/* Taps of both signs in 2D, whose sums over y cancel: all |taps| beyond the reach along x, compared
 * with S^f computed explicitly. */
Test(reach, planes_of_any_sign) {
    enum { SIDE = 3, STEPS = 24, ALL = 2 * STEPS + 1 };
    static long double now[ALL][ALL], before[ALL][ALL];
    double w[SIDE * SIDE] = {0.02, -0.10, 0.02, 0.1, 0.5, 0.11, -0.02, 0.12, 0.03};
    size_t extent[2] = {SIDE, SIDE};
    stn_stencil *stencil = NULL;
    cr_assert_eq(stn_stencil_create_dense(2, extent, w, &stencil, NULL), STN_OK);
    stn_task task = task_of(stencil);
    now[0][0] = 1;
    for (int f = 0; f < STEPS; f++) {
        for (int i = 0; i < ALL * ALL; i++) before[i / ALL][i % ALL] = now[i / ALL][i % ALL], now[i / ALL][i % ALL] = 0;
        for (int y = 0; y < ALL - 2; y++)
            for (int x = 0; x < ALL - 2; x++)
                for (int k = 0; k < SIDE * SIDE; k++) now[y + k / SIDE][x + k % SIDE] += before[y][x] * w[k];
    }
    long double column[ALL] = {0};
    for (int i = 0; i < ALL * ALL; i++) column[i % ALL] += fabsl(now[i / ALL][i % ALL]);
    stn_reach reach = stn_reach_find(&task, 2, STEPS, 1e-6);
    cr_expect_lt(reach.side[0], STEPS, "the bound says nothing");
    for (int side = 0; side < 2; side++) cr_expect_leq(beyond(column, ALL, STEPS, reach.side[side], side), 1e-6);
    stn_task_clear(&task);
    stn_stencil_destroy(stencil);
}

/* Two to five weights, one much larger than the others: the others' reach is significant after few
 * steps and negligible later. */
Test(reach, taps_that_drift_reach_furthest_after_some_steps) {
    unsigned long long state = 5;
    for (int trial = 0; trial < 60; trial++) {
        stn_tap taps[5];
        stn_stencil *stencil = NULL;
        const int count = 2 + trial % 4;
        for (int i = 0; i < count; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const double part = (double)(state >> 11) * 0x1p-53;
            taps[i] = (stn_tap){{i == count - 1 ? 1 + trial % 3 : -i}, i == count - 1 ? 1 : pow(10, -12 * part)};
        }
        cr_assert_eq(stn_stencil_create(1, (size_t)count, taps, &stencil, NULL), STN_OK);
        stn_task task = task_of(stencil);
        for (uint64_t steps = 1; steps <= 200; steps += 1 + steps / 3) {
            const stn_reach all = stn_reach_of_all(&task, 2, 1, steps, 0x1p-55);
            for (int side = 0; side < 2; side++)
                cr_expect_leq(all.side[side], (int64_t)steps * task.reach[2][side], "no step goes so far");
            for (uint64_t t = 1; t <= steps; t++)
                for (int side = 0; side < 2; side++) {
                    const int64_t own = stn_reach_find(&task, 2, t, 0x1p-55).side[side];
                    cr_expect_leq(own, all.side[side], "trial %d: %d of %d steps reach %d, not %d, on side %d", trial,
                                  (int)t, (int)steps, (int)own, (int)all.side[side], side);
                }
        }
        stn_task_clear(&task);
        stn_stencil_destroy(stencil);
    }
}

Test(reach, steps_that_no_product_with_a_radius_holds) {
    const double weights[9] = {0.1, 0.1, 0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1};
    const int64_t fewer = stn_reach_of_line(NULL, weights, 9, 4, UINT64_C(1) << 39, 0x1p-55).side[0];
    for (int bits = 60; bits < 64; bits++)
        cr_expect_geq(stn_reach_of_line(NULL, weights, 9, 4, UINT64_C(1) << bits, 0x1p-55).side[0], fewer, "2^%d",
                      bits);
}

/* Powers are kept for other tails and for more steps. */
Test(reach, kept_powers_give_the_same_reaches) {
    static const double lines[][5] = {{0.1, 0.2, 0.3, 0.25, 0.15}, {-0.1, 0.3, 0.7, -0.2, 0.3}};
    static const uint64_t steps[] = {301, 1204, 150, 602, 1205, 75, 2000};
    stn_search_cache *found = stn_search_cache_create();
    for (int line = 0; line < 2; line++)
        for (int tail = 26; tail < 60; tail += 29)
            for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
                const stn_reach own = stn_reach_of_line(NULL, lines[line], 5, 2, steps[i], ldexp(1, -tail)),
                                kept = stn_reach_of_line(found, lines[line], 5, 2, steps[i], ldexp(1, -tail));
                for (int side = 0; side < 2; side++) {
                    cr_expect_eq(own.side[side], kept.side[side], "%d steps", (int)steps[i]);
                    cr_expect_float_eq(own.tail[side], kept.tail[side], 0);
                }
            }
    stn_search_cache_destroy(found);
}
