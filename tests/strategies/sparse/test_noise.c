/* The predicted error of 11-bit elements, compared with runs that round them. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "base/half.h"
#include "strategies/sparse/rounding_noise.h"

static uint64_t state = 7;
static double draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

/* A line of taps -1, 0, 1. */
static void make_task(const double weight[3], int64_t points, stn_tap taps[3], stn_task *task) {
    *task = (stn_task){.rank = 1, .dtype = STN_F16, .n = {1, 1, points}, .ntaps = 3, .taps = taps, .batch = 1};
    task->reach[2][0] = task->reach[2][1] = 1;
    for (int k = 0; k < 3; k++) taps[k] = (stn_tap){{0, 0, k - 1}, weight[k]};
}

Test(sparse_noise, left_of_white_noise_is_the_squares_of_a_powers_weights) {
    const double weight[3] = {0.25, 0.5, 0.25};
    stn_tap taps[3];
    stn_task task;
    sparse_spectrum spectrum;
    make_task(weight, 1000, taps, &task);
    cr_assert(sparse_spectrum_make(&task, &spectrum));
    double squares = 1; /* for n steps: binomial(4 n, 2 n) / 16^n */
    for (int n = 1; n <= 4096; n++) {
        for (int i = 4 * n - 3; i <= 4 * n; i++) squares *= i;
        squares /= 16.0 * pow((2.0 * n - 1) * 2.0 * n, 2);
        if ((n & (n - 1)) == 0)
            cr_expect_float_eq(sparse_spectrum_damping(&spectrum, n, 1)->one / squares, 1, 0.03, "%d steps: %g, not %g",
                               n, sparse_spectrum_damping(&spectrum, n, 1)->one, squares);
    }
    sparse_spectrum_clear(&spectrum);
}

static void step(const double weight[3], const double *from, double *to, int points) {
    for (int x = 0; x < points; x++)
        to[x] = weight[0] * from[(x + points - 1) % points] + weight[1] * from[x] + weight[2] * from[(x + 1) % points];
}

/* The relative error of a periodic run on random data whose elements are rounded after each launch.
 */
static double run(const double weight[3], int points, int fused, int launches) {
    double *grid[4], difference = 0, size = 0;
    for (int i = 0; i < 4; i++) grid[i] = calloc((size_t)points, sizeof(double));
    for (int x = 0; x < points; x++)
        grid[0][x] = grid[2][x] = stn_half_to_float(stn_float_to_half((float)(2 * draw() - 1)));
    for (int t = 1; t <= fused * launches; t++) {
        for (int i = 0; i < 4; i += 2) {
            step(weight, grid[i], grid[i + 1], points);
            double *swapped = grid[i];
            grid[i] = grid[i + 1], grid[i + 1] = swapped;
        }
        for (int x = 0; x < points && t % fused == 0; x++)
            grid[2][x] = stn_half_to_float(stn_float_to_half((float)grid[2][x]));
    }
    for (int x = 0; x < points; x++) {
        difference += (grid[2][x] - grid[0][x]) * (grid[2][x] - grid[0][x]);
        size += grid[0][x] * grid[0][x];
    }
    for (int i = 0; i < 4; i++) free(grid[i]);
    return sqrt(difference / size);
}

Test(sparse_noise, measured_errors_match_prediction) {
    static const double weights[][3] = {{0.125, 0.75, 0.125}, {0.3, 0.4, 0.3}, {0.6, 0.3, 0.1}};
    /* Steps of a launch, launches. */
    static const int lengths[][2] = {{1, 1}, {1, 30}, {1, 200}, {7, 40}, {20, 30}};
    const int points = 20000;
    for (size_t w = 0; w < sizeof weights / sizeof *weights; w++) {
        stn_tap taps[3];
        stn_task task;
        sparse_spectrum spectrum;
        make_task(weights[w], points, taps, &task);
        cr_assert(sparse_spectrum_make(&task, &spectrum));
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            const sparse_shape shape = {.fused = lengths[l][0], .launches = lengths[l][1], .parts = 1, .halves = 2};
            double predicted = sparse_noise(&task, &spectrum, &shape, NULL);
            double found = run(weights[w], points, shape.fused, shape.launches);
            cr_expect(found <= predicted && predicted < 3 * found, "weights %zu, %d launches of %d: %g, predicted %g",
                      w, shape.launches, shape.fused, found, predicted);
        }
        sparse_spectrum_clear(&spectrum);
    }
}

/* The number of runs whose error exceeds the prediction for so many points, and the largest ratio.
 */
static int runs_beyond(int points, int runs, double *most) {
    static const double weights[][3] = {{0.125, 0.75, 0.125}, {0.25, 0.5, 0.25}, {0.6, 0.3, 0.1}};
    /* Steps of a launch, launches. */
    static const int lengths[][2] = {{1, 2}, {1, 20}, {1, 100}, {7, 6}};
    int beyond = 0;
    *most = 0;
    for (int i = 0; i < runs; i++) {
        const double *weight = weights[i % 3];
        const sparse_shape shape = {.fused = lengths[i % 4][0], .launches = lengths[i % 4][1], .parts = 1, .halves = 2};
        stn_tap taps[3];
        stn_task task;
        sparse_spectrum spectrum;
        make_task(weight, points, taps, &task);
        cr_assert(sparse_spectrum_make(&task, &spectrum));
        const double found = run(weight, points, shape.fused, shape.launches);
        const double ratio = found / sparse_noise(&task, &spectrum, &shape, NULL);
        beyond += ratio > 1;
        *most = fmax(*most, ratio);
        sparse_spectrum_clear(&spectrum);
    }
    return beyond;
}

/* Random errors spread more widely on few points: one run of fifty may exceed the prediction. With
 * the prediction for many points, one of ten to seventeen would. */
Test(sparse_noise, measured_errors_on_few_points_match_prediction) {
    static const int grids[] = {32, 64, 256, 1024};
    enum { RUNS = 240 };
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        double most;
        const int beyond = runs_beyond(grids[i], RUNS, &most);
        cr_expect(beyond <= RUNS / 50, "%d points: %d of %d runs err by more than is predicted, by up to %g times",
                  grids[i], beyond, RUNS, most);
    }
}
