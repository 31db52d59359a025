/* Growth bounds against powers of whole matrices: the bounds hold for all taps and sides, and
 * operators reported as nearly defective are so. */
#include <math.h>
#include <stdlib.h>

#include "../expect.h"
#include "problem/growth.h"

enum { MAX_POINTS = 48 };

typedef struct matrix {
    int size;
    double at[MAX_POINTS][MAX_POINTS];
} matrix;

static uint64_t state;
static double chance(void) { /* in [-1, 1) */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-52 - 1;
}
static int number(int low, int high) { return low + (int)((chance() + 1) / 2 * (high - low + 1)); }

static stn_task task_of(int rank, const int *extent, size_t ntaps, const stn_tap *taps,
                        const stn_boundary (*sides)[2]) {
    stn_stencil *stencil = NULL;
    stn_task task;
    stn_problem p = STN_PROBLEM_INIT;
    OK(stn_stencil_create(rank, ntaps, taps, &stencil, &error));
    p.stencil = stencil;
    for (int axis = 0; axis < rank; axis++) {
        p.extent[axis] = (size_t)extent[axis];
        for (int side = 0; side < 2; side++) p.boundary[axis][side] = sides[axis][side];
    }
    OK(stn_task_make(&p, &task, &error));
    stn_stencil_destroy(stencil);
    return task;
}

/* The matrix of one step on the points that are not frozen, without the values past the sides. */
static matrix matrix_of(const stn_task *task) {
    matrix m = {0};
    int place[MAX_POINTS], count = (int)(task->n[1] * task->n[2]);
    for (int i = 0; i < count; i++) {
        const int64_t at[3] = {0, i / task->n[2], i % task->n[2]};
        place[i] = stn_task_is_frozen(task, at) ? -1 : m.size++;
    }
    for (int i = 0; i < count; i++)
        for (size_t t = 0; t < task->ntaps && place[i] >= 0; t++) {
            const int64_t y = stn_fold(i / task->n[2] + task->taps[t].offset[1], task->n[1], task->boundary[1]);
            const int64_t x = stn_fold(i % task->n[2] + task->taps[t].offset[2], task->n[2], task->boundary[2]);
            if (y < 0 || x < 0) continue;
            const int from = place[y * task->n[2] + x];
            if (from >= 0) m.at[place[i]][from] += task->taps[t].weight;
        }
    return m;
}

static void multiply(const matrix *a, const matrix *b, matrix *product) {
    matrix result = {.size = a->size};
    for (int i = 0; i < a->size; i++)
        for (int k = 0; k < a->size; k++)
            for (int j = 0; j < a->size; j++) result.at[i][j] += a->at[i][k] * b->at[k][j];
    *product = result;
}

static double largest_norm(const matrix *m) {
    double most = 0;
    for (int i = 0; i < m->size; i++) {
        double sum = 0;
        for (int j = 0; j < m->size; j++) sum += fabs(m->at[i][j]);
        most = fmax(most, sum);
    }
    return most;
}

/* Power iteration with the matrix and its transpose: a lower bound that converges to the norm. */
static double plain_norm(const matrix *m) {
    double v[MAX_POINTS], w[MAX_POINTS], norm = 0;
    for (int i = 0; i < m->size; i++) v[i] = chance();
    for (int turn = 0; turn < 120; turn++) {
        double size = 0, before = 0;
        for (int i = 0; i < m->size; i++) before += v[i] * v[i];
        for (int i = 0; i < m->size; i++) {
            w[i] = 0;
            for (int j = 0; j < m->size; j++) w[i] += m->at[i][j] * v[j] / sqrt(before);
            size += w[i] * w[i];
        }
        norm = fmax(norm, sqrt(size));
        if (!(size > 0)) break;
        for (int j = 0; j < m->size; j++) {
            v[j] = 0;
            for (int i = 0; i < m->size; i++) v[j] += m->at[i][j] * w[i] / sqrt(size);
        }
    }
    return norm;
}

static void check_bounds(const stn_task *task, int mirrors) {
    const stn_growth g = stn_task_growth(task);
    const matrix once = matrix_of(task);
    matrix power = once;
    double most = 0;
    if (!once.size) return;
    for (int steps = 1; steps <= 60; steps++) {
        const double norm = g.folds ? largest_norm(&power) : plain_norm(&power),
                     slack = 0.5 * log10(2) * mirrors + 1e-6 * steps;
        const double found = log10(norm);
        most = fmax(most, found);
        cr_assert(!(found > stn_growth_after(&g, steps) + slack), "%d steps: 10^%.9g, said to be at most 10^%.9g",
                  steps, found, stn_growth_after(&g, steps));
        cr_assert(!(most > stn_growth_peak(&g, steps) + slack), "%d steps came to 10^%.9g, said to be at most 10^%.9g",
                  steps, most, stn_growth_peak(&g, steps));
        cr_assert(g.lasting <= g.step && stn_growth_above_eigenvalues(&g, steps) <= g.excess + 1e-9);
        if (norm < 1e-200) break;
        multiply(&power, &once, &power);
    }
}

Test(growth, holds_for_any_taps_and_sides) {
    static const stn_boundary_kind kinds[] = {STN_CONSTANT, STN_FIXED, STN_NEAREST, STN_REFLECT, STN_MIRROR, STN_WRAP};
    state = 2026;
    int apart = 0, folded = 0;
    for (int turn = 0; turn < 250; turn++) {
        const int rank = number(1, 2), extent[2] = {rank == 1 ? number(5, 40) : number(4, 6), number(4, 7)};
        stn_boundary sides[2][2] = {0};
        int mirrors = 0;
        for (int axis = 0; axis < rank; axis++) {
            const int some = number(0, 5), other = number(0, 4);
            sides[axis][0].kind = kinds[some], sides[axis][1].kind = some == 5 ? STN_WRAP : kinds[other];
            if (turn % 3 == 0) sides[axis][0].kind = sides[axis][1].kind = kinds[turn / 3 % 2];
            mirrors += sides[axis][0].kind == STN_MIRROR || sides[axis][1].kind == STN_MIRROR;
        }
        stn_tap taps[6];
        size_t count = 0;
        const bool symmetric = turn % 4 == 1, signs = turn % 2;
        for (int k = 0; k < 3; k++) {
            const int64_t y = number(-2, 2), x = rank == 2 ? number(-2, 2) : 0;
            bool known = false;
            for (size_t t = 0; t < count; t++)
                known = known || (llabs(taps[t].offset[0]) == llabs(y) && llabs(taps[t].offset[1]) == llabs(x));
            if (known) continue;
            const double weight = (signs ? chance() : fabs(chance())) * 0.6;
            taps[count++] = (stn_tap){{y, x}, weight};
            if (symmetric && rank == 1 && y) taps[count++] = (stn_tap){{-y}, weight};
        }
        stn_task task = task_of(rank, extent, count, taps, (const stn_boundary(*)[2])sides);
        const stn_growth g = stn_task_growth(&task);
        apart += g.excess > 0, folded += g.folds;
        check_bounds(&task, mirrors);
        stn_task_clear(&task);
    }
    /* the random cases must cover both kinds */
    cr_assert(apart > 40 && folded > 40, "%d and %d", apart, folded);
}

static const stn_boundary open[1][2] = {{{STN_CONSTANT, 0}, {STN_FIXED, 0}}};
static const stn_boundary round_[1][2] = {{{STN_WRAP, 0}, {STN_WRAP, 0}}};
static const stn_boundary even[1][2] = {{{STN_REFLECT, 0}, {STN_REFLECT, 0}}};
static const stn_tap upwind[3] = {{{-1}, 0.75}, {{0}, 0.2}, {{1}, 0.05}}, rising[2] = {{{-1}, 0.8}, {{0}, 0.5}},
                     heat[3] = {{{-1}, 0.25}, {{0}, 0.5}, {{1}, 0.25}};

/* Eigenvalues 0.2 + 2 sqrt(0.75 0.05) cos(pi j / (n + 1)), eigenvectors that grow like sqrt(15)^x:
 * parallel to rounding. */
Test(growth, tells_what_is_nearly_defective) {
    stn_task task = task_of(1, (int[]){40}, 3, upwind, open);
    const stn_growth g = stn_task_growth(&task);
    const double known = 0.2 + 2 * sqrt(0.75 * 0.05);
    cr_expect(fabs(g.lasting - known) < 1e-6 && fabs(g.step - 1) < 1e-12, "%.9g, not %.9g", g.lasting, known);
    cr_expect(fabs(g.excess - 39 * log10(sqrt(15))) < 1e-3, "%.9g", g.excess);
    cr_expect(stn_growth_nearly_defective(&g));
    const matrix once = matrix_of(&task);
    matrix power = once;
    for (int steps = 1; steps < 20; steps++) multiply(&power, &once, &power);
    const double norm = log10(plain_norm(&power)), eigenvalues = 20 * log10(known);
    cr_expect(norm > eigenvalues + 4, "eigenvalues say 10^%.3g, and it is 10^%.3g", eigenvalues, norm);
    cr_expect(fabs(stn_growth_above_eigenvalues(&g, 20) - (norm - eigenvalues)) < 0.3, "%.3g",
              stn_growth_above_eigenvalues(&g, 20));
    stn_task_clear(&task);
    task = task_of(1, (int[]){6}, 3, upwind, open); /* so short that its eigenvectors differ */
    const stn_growth few = stn_task_growth(&task);
    cr_expect(!stn_growth_nearly_defective(&few) && few.excess > 2);
    stn_task_clear(&task);
}

Test(growth, leaves_what_is_healthy_alone) {
    const stn_boundary(*const sides[])[2] = {round_, even, open};
    for (int i = 0; i < 4; i++) {
        stn_task task = task_of(1, (int[]){40}, 3, i < 3 ? heat : upwind, i < 3 ? sides[i] : round_);
        const stn_growth g = stn_task_growth(&task);
        cr_expect(g.excess == 0 && !g.folds && !stn_growth_nearly_defective(&g), "case %d", i);
        cr_expect(g.lasting == g.symbol && g.step == g.symbol && stn_growth_above_eigenvalues(&g, 1e6) == 0, "case %d",
                  i);
        stn_task_clear(&task);
    }
}

/* Growth by 1.3 a step while a wave crosses the grid, then decay by one half a step. */
Test(growth, sees_what_leaves) {
    stn_task task = task_of(1, (int[]){40}, 2, rising, open), ring = task_of(1, (int[]){40}, 2, rising, round_);
    const stn_growth g = stn_task_growth(&task), always = stn_task_growth(&ring);
    const matrix once = matrix_of(&task);
    matrix power = once;
    double most = 0, last = 0;
    for (int steps = 1; steps < 400; steps++) {
        last = log10(plain_norm(&power));
        most = fmax(most, last);
        multiply(&power, &once, &power);
    }
    cr_expect(most > 3 && last < -20, "10^%.3g, then 10^%.3g", most, last);
    cr_expect(stn_growth_peak(&g, 1e6) >= most && stn_growth_peak(&g, 1e6) < most + 3, "10^%.3g",
              stn_growth_peak(&g, 1e6));
    cr_expect(stn_growth_overflow(&g, STN_F64, 1) == INFINITY && isfinite(stn_growth_overflow(&g, STN_F16, 1)));
    cr_expect(isfinite(stn_growth_overflow(&always, STN_F64, 1)));
    cr_expect(fabs(stn_growth_peak(&always, 100) - 100 * log10(1.3)) < 1e-6);
    stn_task_clear(&task);
    stn_task_clear(&ring);
}
