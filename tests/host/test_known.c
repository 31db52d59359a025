/* Known answers: PolyBench's Jacobi and heat loops. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "host_grids.h"

static void check_polybench(int rank, size_t n, size_t ntaps, const stn_tap *taps, uint64_t sweeps, const double *start,
                            const double *expected) {
    stn_problem problem = {.extent = {n, n, n}, .steps = sweeps};
    for (int a = 0; a < rank; a++) problem.boundary[a][0].kind = problem.boundary[a][1].kind = STN_FIXED;
    stn_task task = make_task(rank, ntaps, taps, problem);
    int64_t points = stn_task_points(&task);
    double *out = poisoned(STN_F64, points);
    run(&task, 2, start, out);
    double error = distance(points, out, expected);
    cr_expect_leq(error, 1e-13, "%d sweeps: %g", (int)sweeps, error);
    stn_task_clear(&task);
    free(out);
}

/* PolyBench sweeps A to B and back. Its jacobi codes start B with other values than A, of which
 * only the outer layer is ever read; here B's outer layer is A's, as for a fixed boundary. */
Test(known, polybench_jacobi_1d) {
    enum { N = 400, T = 100 };
    static double a[N], b[N], start[N];
    for (int i = 0; i < N; i++) start[i] = a[i] = b[i] = (i + 2.0) / N;
    for (int t = 0; t < T; t++) {
        for (int i = 1; i < N - 1; i++) b[i] = 0.33333 * (a[i - 1] + a[i] + a[i + 1]);
        for (int i = 1; i < N - 1; i++) a[i] = 0.33333 * (b[i - 1] + b[i] + b[i + 1]);
    }
    check_polybench(1, N, 3, (stn_tap[]){{{-1}, 0.33333}, {{0}, 0.33333}, {{1}, 0.33333}}, 2 * T, start, a);
}

static void jacobi_2d(int n, const double *from, double *to) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++) {
            const double *u = from + i * n + j;
            to[i * n + j] = 0.2 * (u[0] + u[-1] + u[1] + u[n] + u[-n]);
        }
}

Test(known, polybench_jacobi_2d) {
    enum { N = 150, T = 50 };
    static double a[N * N], b[N * N], start[N * N];
    for (int i = 0; i < N * N; i++) start[i] = a[i] = b[i] = ((double)(i / N) * (i % N + 2) + 2) / N;
    for (int t = 0; t < T; t++) {
        jacobi_2d(N, a, b);
        jacobi_2d(N, b, a);
    }
    const stn_tap taps[] = {{{-1, 0}, 0.2}, {{0, -1}, 0.2}, {{0, 0}, 0.2}, {{0, 1}, 0.2}, {{1, 0}, 0.2}};
    check_polybench(2, N, 5, taps, 2 * T, start, a);
}

static void heat_3d(int n, const double *from, double *to) {
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            for (int k = 1; k < n - 1; k++) {
                const double *u = from + (i * n + j) * n + k;
                to[u - from] = 0.125 * (u[n * n] - 2 * u[0] + u[-n * n]) + 0.125 * (u[n] - 2 * u[0] + u[-n]) +
                               0.125 * (u[1] - 2 * u[0] + u[-1]) + u[0];
            }
}

Test(known, polybench_heat_3d) { /* 500 time steps of two sweeps */
    enum { N = 20, T = 500 };
    static double a[N * N * N], b[N * N * N], start[N * N * N];
    for (int i = 0; i < N * N * N; i++) start[i] = a[i] = b[i] = (i / N / N + i / N % N + (N - i % N)) * 10.0 / N;
    for (int t = 0; t < T; t++) {
        heat_3d(N, a, b);
        heat_3d(N, b, a);
    }
    stn_tap taps[7] = {{{0, 0, 0}, 0.25}};
    for (int t = 0; t < 6; t++) {
        taps[t + 1].weight = 0.125;
        taps[t + 1].offset[t / 2] = t % 2 ? 1 : -1;
    }
    check_polybench(3, N, 7, taps, 2 * T, start, a);
}
