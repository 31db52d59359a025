/* Known answers: eigenmodes of stencils, and PolyBench's Jacobi and heat loops. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "host_grids.h"

/* The value at point i of mode m on an axis of n points, and its angle per point. */
static double mode_at(stn_boundary_kind kind, int64_t n, int m, int64_t i, double *angle) {
    double pi = acos(-1.0);
    switch (kind) {
        case STN_WRAP:
            *angle = 2 * pi * m / (double)n;
            return cos(*angle * (double)i);
        case STN_REFLECT:
            *angle = pi * m / (double)n;
            return cos(*angle * ((double)i + 0.5));
        case STN_MIRROR:
            *angle = pi * m / (double)(n - 1);
            return cos(*angle * (double)i);
        default: /* zero past the sides */
            *angle = pi * (m + 1) / (double)(n + 1);
            return sin(*angle * (double)(i + 1));
    }
}

/* Taps that are even in each axis scale a product of such modes by lambda = sum of w * cos(angle .
 * offset). */
static void check_mode(int rank, size_t ntaps, const stn_tap *taps, const stn_boundary_kind *kinds, const int *m,
                       uint64_t steps) {
    stn_problem problem = {.extent = {13, 17, 19}, .steps = steps};
    if (rank == 1) problem.extent[0] = 601;
    if (rank == 2) problem.extent[1] = 45;
    for (int a = 0; a < rank; a++) problem.boundary[a][0].kind = problem.boundary[a][1].kind = kinds[a];
    stn_task task = make_task(rank, ntaps, taps, problem);
    int64_t points = stn_task_points(&task);
    double *in = poisoned(STN_F64, points), *out = poisoned(STN_F64, points), angle[3] = {0}, lambda = 0;
    for (int64_t index = 0; index < points; index++) {
        int64_t rest = index;
        in[index] = 1;
        for (int a = rank - 1; a >= 0; a--) {
            int64_t n = (int64_t)problem.extent[a];
            in[index] *= mode_at(kinds[a], n, m[a], rest % n, &angle[a]);
            rest /= n;
        }
    }
    for (size_t t = 0; t < ntaps; t++) {
        double product = taps[t].weight;
        for (int a = 0; a < rank; a++) product *= cos(angle[a] * (double)taps[t].offset[a]);
        lambda += product;
    }
    run(&task, 2, in, out);
    for (int64_t i = 0; i < points; i++) in[i] *= pow(lambda, (double)steps);
    double error = distance(points, out, in), bar = 1e-13 * (1 + log2((double)steps));
    cr_expect_leq(error, bar, "%dD, kinds %d %d %d, %d steps: %g", rank, kinds[0], kinds[1], kinds[2], (int)steps,
                  error);
    stn_task_clear(&task);
    free(in);
    free(out);
}

static void check_modes(int rank, size_t ntaps, const stn_tap *taps) {
    const stn_boundary_kind families[] = {STN_WRAP, STN_REFLECT, STN_MIRROR, STN_CONSTANT};
    const uint64_t steps[] = {1, 2, 3, 10, 100, 1000};
    for (int k = 0; k < 64; k++) { /* every triple of families */
        stn_boundary_kind kinds[3] = {families[k % 4], families[k / 4 % 4], families[k / 16]};
        if (k >= (rank == 1 ? 4 : rank == 2 ? 16 : 64)) break;
        for (int s = 0; s < (k % 9 ? 5 : 6); s++)
            check_mode(rank, ntaps, taps, kinds, (const int[3]){s % 2, 1, 1 - s % 2}, steps[s]);
    }
}

/* Weights with sum 1, even in each axis, with radius 1: low modes decay slowly, so that rounding
 * errors stay small relative to them. */
Test(known, eigenmodes_1d) { check_modes(1, 3, (stn_tap[]){{{-1}, 0.2}, {{0}, 0.6}, {{1}, 0.2}}); }
Test(known, eigenmodes_2d) {
    check_modes(2, 5, (stn_tap[]){{{-1, 0}, 0.02}, {{0, -1}, 0.03}, {{0, 0}, 0.9}, {{0, 1}, 0.03}, {{1, 0}, 0.02}});
}
Test(known, eigenmodes_3d) {
    stn_tap box[27];
    for (int t = 0; t < 27; t++) {
        int64_t o[3] = {t / 9 - 1, t / 3 % 3 - 1, t % 3 - 1};
        double w = (o[0] ? 0.01 : 0.98) * (o[1] ? 0.02 : 0.96) * (o[2] ? 0.03 : 0.94);
        box[t] = (stn_tap){{o[0], o[1], o[2]}, w};
    }
    check_modes(3, 27, box);
}
/* Wider taps have the same modes, except for the zero boundary. */
Test(known, eigenmodes_wide) {
    const stn_tap taps[] = {{{-5, 0}, 0.01}, {{0, -3}, 0.04}, {{0, -1}, 0.1}, {{0, 0}, 0.7},
                            {{0, 1}, 0.1},   {{0, 3}, 0.04},  {{5, 0}, 0.01}};
    const stn_boundary_kind families[] = {STN_WRAP, STN_REFLECT, STN_MIRROR};
    for (int k = 0; k < 9; k++)
        for (uint64_t steps = 1; steps <= 64; steps *= 4)
            check_mode(2, 7, taps, (stn_boundary_kind[3]){families[k % 3], families[k / 3]}, (int[3]){1, 2}, steps);
}

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
