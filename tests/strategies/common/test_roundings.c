/* Accumulated rounding errors of many launches to 11 bits on few points, compared with lines
 * stepped in float64 and rounded after each launch. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "plan/error_bound.h"
#include "strategies/common/rounding_on_few_points.h"

enum { LINES = 300, MAX_POINTS = 40 }; /* number of random lines; most points of a line */

static uint64_t state = 11;
static double draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}
static double rounded(double number) { return stn_half_to_float(stn_float_to_half((float)number)); }

typedef struct line {
    const char *what;
    int points;
    stn_boundary_kind side;
    int64_t offset[3];
    double weight[3];
    int fused, launches;
} line;

static stn_task task_of(const line *l, stn_tap taps[3]) {
    stn_task task = {.rank = 1, .dtype = STN_F16, .n = {1, 1, l->points}, .ntaps = 3, .taps = taps, .batch = LINES};
    task.steps = (uint64_t)l->fused * (uint64_t)l->launches;
    for (int side = 0; side < 2; side++) task.boundary[2][side].kind = l->side;
    for (int k = 0; k < 3; k++) {
        taps[k] = (stn_tap){{0, 0, l->offset[k]}, l->weight[k]};
        const int64_t o = l->offset[k];
        task.reach[2][0] = (int)fmax(task.reach[2][0], (double)-o),
        task.reach[2][1] = (int)fmax(task.reach[2][1], (double)o);
    }
    return task;
}

static void step(const stn_task *task, double *grid) {
    double to[MAX_POINTS] = {0};
    for (int64_t x = 0; x < task->n[2]; x++) {
        if (stn_task_is_frozen(task, (int64_t[3]){0, 0, x})) {
            to[x] = grid[x];
            continue;
        }
        for (size_t k = 0; k < task->ntaps; k++) {
            const int64_t at = stn_fold(x + task->taps[k].offset[2], task->n[2], task->boundary[2]);
            to[x] += at < 0 ? 0 : task->taps[k].weight * grid[at];
        }
    }
    memcpy(grid, to, sizeof to);
}

/* Relative L2 error over all lines, which are scaled by powers of two (exactly) where they would
 * leave the range of half precision. */
static double found(const stn_task *task, const line *l, double lowest) {
    double difference = 0, size = 0;
    for (int i = 0; i < LINES; i++) {
        double exact[MAX_POINTS] = {0}, rough[MAX_POINTS] = {0}, largest;
        int scale;
        for (int x = 0; x < l->points; x++) exact[x] = rough[x] = rounded(lowest + (1 - lowest) * draw());
        for (int t = 1; t <= l->fused * l->launches; t++) {
            step(task, exact), step(task, rough);
            largest = 0;
            for (int x = 0; x < l->points; x++) largest = fmax(largest, fabs(rough[x]));
            frexp(largest, &scale);
            for (int x = 0; x < l->points; x++) {
                if (t % l->fused == 0) rough[x] = ldexp(rounded(ldexp(rough[x], -scale)), scale);
            }
        }
        for (int x = 0; x < l->points; x++) {
            difference += (exact[x] - rough[x]) * (exact[x] - rough[x]);
            size += exact[x] * exact[x];
        }
    }
    return sqrt(difference / size);
}

/* As used by lowrank's estimate: not below the measured error for data of one sign or of both, and
 * not many times above it. */
static void look_at(const line *l) {
    stn_tap taps[3];
    const stn_task task = task_of(l, taps);
    const double left = stn_rounding_accumulated(&task, l->launches, 1 + log2(l->launches));
    const double predicted = 1.2 * stn_error_rounding(STN_F16) * sqrt(left);
    for (int sign = 0; sign >= -1; sign--) {
        const double error = found(&task, l, sign);
        cr_expect(predicted >= error && predicted <= 8 * error, "%s: %g found, %g predicted, by %g launches", l->what,
                  error, predicted, left);
    }
}

static const line lines[] = {
    {"2 between mirrors, as they were found", 2, STN_MIRROR, {-1, 0, 1}, {-0.417846, -0.184853, -0.417846}, 1, 99},
    {"2 between mirrors, fused", 2, STN_MIRROR, {-1, 0, 1}, {-0.417846, -0.184853, -0.417846}, 4, 60},
    {"2 that go on", 2, STN_REFLECT, {-1, 0, 1}, {0.3, 0.41, 0.3}, 1, 100},
    {"1", 1, STN_REFLECT, {-1, 0, 1}, {0.3, 0.41, 0.3}, 1, 200},
    {"3 in a ring", 3, STN_WRAP, {-1, 0, 1}, {0.3, 0.37, 0.3}, 1, 100},
    {"5 in a ring", 5, STN_WRAP, {-1, 0, 1}, {0.3, 0.37, 0.3}, 1, 200},
    {"12 in a ring, fused", 12, STN_WRAP, {-1, 0, 1}, {0.26, 0.5, 0.26}, 8, 200},
    {"20 in a ring, fused", 20, STN_WRAP, {-1, 0, 1}, {0.26, 0.5, 0.26}, 8, 100},
    {"8 in a ring, of neighbours alone", 8, STN_WRAP, {-1, 0, 1}, {0.52, 0, 0.52}, 1, 100},
    {"4 in a ring, every other", 4, STN_WRAP, {-2, 0, 2}, {0.3, 0.41, 0.3}, 1, 100},
    {"16 that are moved", 16, STN_WRAP, {-1, 0, 1}, {0.97, 0.04, 0.01}, 1, 100},
    {"6 between nothing", 6, STN_CONSTANT, {-1, 0, 1}, {0.3, 0.41, 0.3}, 1, 60},
    {"2 between nothing", 2, STN_CONSTANT, {-1, 0, 1}, {0.3, 0.41, 0.3}, 1, 30},
    {"9 with slanted weights", 9, STN_NEAREST, {-1, 0, 1}, {0.5, 0.3, 0.17}, 1, 100},
    {"6 between values that stay", 6, STN_FIXED, {-1, 0, 1}, {0.25, 0.5, 0.25}, 1, 100},
    {"2 whose mean stays", 2, STN_REFLECT, {-1, 0, 1}, {0.25, 0.5, 0.25}, 1, 100},
    {"5 whose mean stays", 5, STN_WRAP, {-1, 0, 1}, {0.25, 0.5, 0.25}, 1, 100},
    {"12 whose mean stays", 12, STN_WRAP, {-1, 0, 1}, {0.25, 0.5, 0.25}, 1, 100},
    {"12 whose mean stays, slow", 12, STN_MIRROR, {-1, 0, 1}, {0.05, 0.9, 0.05}, 1, 200},
    {"30 whose mean stays, fused", 30, STN_WRAP, {-1, 0, 1}, {0.25, 0.5, 0.25}, 8, 100},
    {"12 between values that stay", 12, STN_FIXED, {-1, 0, 1}, {0.25, 0.5, 0.25}, 1, 200},
    {"4 times 1.006 in each step", 4, STN_WRAP, {-1, 0, 1}, {0.25, 0.506, 0.25}, 1, 200},
    {"4 times 1.012 in each step", 4, STN_WRAP, {-1, 0, 1}, {0.25, 0.512, 0.25}, 1, 200},
    {"4 times 0.985 in each step", 4, STN_WRAP, {-1, 0, 1}, {0.25, 0.485, 0.25}, 1, 200},
    {"4 times 1.03 in each step", 4, STN_WRAP, {-1, 0, 1}, {0.25, 0.53, 0.25}, 1, 200},
    {"4 times 1.06 in each step", 4, STN_WRAP, {-1, 0, 1}, {0.25, 0.56, 0.25}, 1, 200},
    {"4 times 1.25 in each step", 4, STN_WRAP, {-1, 0, 1}, {0.25, 0.75, 0.25}, 1, 200},
    {"4 that move by less than a unit", 4, STN_WRAP, {-1, 0, 1}, {0.25, 0.5001, 0.25}, 1, 100},
    {"4 that move by a unit or so", 4, STN_WRAP, {-1, 0, 1}, {0.25, 0.501, 0.25}, 1, 100},
    {"4 that move by some units", 4, STN_WRAP, {-1, 0, 1}, {0.25, 0.503, 0.25}, 1, 100},
};

Test(roundings, estimate_is_not_below_measured_error) {
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) look_at(&lines[i]);
}

Test(roundings, many_points_are_what_they_were) {
    stn_tap taps[3];
    const line l = {"", 1000, STN_WRAP, {-1, 0, 1}, {0.25, 0.5, 0.25}, 1, 100};
    const stn_task task = task_of(&l, taps);
    cr_expect_float_eq(stn_rounding_accumulated(&task, 100, 7), 7.1, 1e-12);
    cr_expect_eq(stn_rounding_accumulated(&task, 1, 1), 1);
}

Test(roundings, axes_that_no_tap_reaches_along_mix_nothing) {
    stn_tap taps[4];
    const line l = {"", 2, STN_MIRROR, {-1, 0, 1}, {-0.4, -0.2, -0.4}, 1, 100};
    stn_task task = task_of(&l, taps);
    const double alone = stn_rounding_accumulated(&task, 100, 1);
    task.rank = 3, task.n[0] = 300, task.n[1] = 500;
    cr_expect_eq(stn_mixed_points(&task), 2);
    cr_expect_eq(stn_rounding_accumulated(&task, 100, 1), alone);
    task.ntaps = 4, task.reach[1][1] = 1, taps[3] = (stn_tap){{0, 1, 0}, 0};
    for (int side = 0; side < 2; side++) task.boundary[1][side].kind = STN_FIXED;
    cr_expect_eq(stn_rounding_accumulated(&task, 100, 1), alone, "of a weight of 0");
}

Test(roundings, data_that_leave_the_grid_leave_no_more) {
    stn_tap taps[3];
    const line l = {"", 5, STN_CONSTANT, {-1, -2, -3}, {0.5, 0.25, 0.25}, 1, 100};
    const stn_task task = task_of(&l, taps);
    cr_expect_eq(stn_rounding_accumulated(&task, 100, 3), 3);
}
