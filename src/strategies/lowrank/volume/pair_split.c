/* Detects taps that are the sum of two separable terms, by an eigenvalue problem of 2 x 2 matrices,
 * and expands their powers. */
#include "strategies/lowrank/volume/pair_split.h"

#include <math.h>
#include <string.h>

#include "strategies/lowrank/volume/spanning_slices.h"

#define SIDE LOWRANK_CORE_SIDE

typedef struct term {
    long double axis[3][SIDE]; /* z, y, x */
} term;

static void solve2(long double m[2][2], const long double right[2], long double out[2]) {
    long double d = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    out[0] = (right[0] * m[1][1] - right[1] * m[0][1]) / d;
    out[1] = (m[0][0] * right[1] - m[1][0] * right[0]) / d;
}

/* If two slices p perpendicular to x and two slices k perpendicular to z span all others, the
 * weights where they cross are a 2 x 2 matrix M_y[p][k] for each y. If the taps are the sum of two
 * separable terms i, the same vectors diagonalise all these matrices:
 * M_y = sum over i of  value[i][y] x_i z_i^T. */
typedef struct pencil {
    int count;
    long double m[SIDE][2][2];
    long double x[2][2], z[2][2]; /* x[p][i], z[k][i] */
    long double value[2][SIDE];
} pencil;

static void fill_pencil(const stn_power *taps, const lowrank_slices *z, const lowrank_slices *x, pencil *of) {
    memset(of, 0, sizeof *of);
    of->count = taps->size[1];
    for (int y = 0; y < of->count; y++)
        for (int p = 0; p < 2; p++)
            for (int k = 0; k < 2; k++) of->m[y][p][k] = *stn_power_at(taps, z->pivot[k], y, x->pivot[p]);
}

/* Finds the matrix farthest from singular, and the one that is least a multiple of it. */
static bool pick_two(const pencil *of, int *first, int *second) {
    long double best = 0, most = 0;
    *first = *second = 0;
    for (int y = 0; y < of->count; y++) {
        long double size = fabsl(of->m[y][0][0] * of->m[y][1][1] - of->m[y][0][1] * of->m[y][1][0]);
        if (size > best) best = size, *first = y;
    }
    const long double *a = of->m[*first][0]; /* four consecutive numbers */
    for (int y = 0; y < of->count; y++) {
        const long double *b = of->m[y][0];
        long double cross = 0;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < i; j++) cross += fabsl(a[i] * b[j] - a[j] * b[i]);
        if (cross > most) most = cross, *second = y;
    }
    return best > 0 && most > 0;
}

/* x_i are the eigenvectors of M_second M_first^-1. False unless there are two real ones. */
static bool find_x(pencil *of, int first, int second) {
    long double a[2][2], t[2][2] = {{of->m[first][0][0], of->m[first][1][0]}, {of->m[first][0][1], of->m[first][1][1]}};
    for (int p = 0; p < 2; p++) solve2(t, of->m[second][p], a[p]);
    long double half = (a[0][0] + a[1][1]) / 2, det = a[0][0] * a[1][1] - a[0][1] * a[1][0], disc = half * half - det;
    if (!(disc > 1e-8L * half * half)) return false;
    for (int i = 0; i < 2; i++) {
        long double root = half + (i ? -1 : 1) * sqrtl(disc);
        bool upper = fabsl(a[0][1]) + fabsl(root - a[0][0]) >= fabsl(a[1][0]) + fabsl(root - a[1][1]);
        of->x[0][i] = upper ? a[0][1] : root - a[1][1];
        of->x[1][i] = upper ? root - a[0][0] : a[1][0];
    }
    return true;
}

/* The rows of x^-1 M_y are value[i][y] z_i: z_i follows from M_first, then the values for all y. */
static void find_values(pencil *of, int first) {
    for (int k = 0; k < 2; k++) {
        const long double right[2] = {of->m[first][0][k], of->m[first][1][k]};
        solve2(of->x, right, of->z[k]);
    }
    for (int y = 0; y < of->count; y++) {
        long double row[2][2];
        for (int k = 0; k < 2; k++) {
            const long double right[2] = {of->m[y][0][k], of->m[y][1][k]};
            solve2(of->x, right, row[k]);
        }
        for (int i = 0; i < 2; i++) {
            int k = fabsl(of->z[0][i]) > fabsl(of->z[1][i]) ? 0 : 1;
            of->value[i][y] = of->z[k][i] != 0 ? row[k][i] / of->z[k][i] : 0;
        }
    }
}

static bool split_pair(const stn_power *taps, const lowrank_slices *z, const lowrank_slices *x, term pair[2]) {
    pencil of;
    int first, second;
    fill_pencil(taps, z, x, &of);
    if (!pick_two(&of, &first, &second) || !find_x(&of, first, second)) return false;
    find_values(&of, first);
    memset(pair, 0, 2 * sizeof *pair);
    for (int i = 0; i < 2; i++) {
        memcpy(pair[i].axis[1], of.value[i], sizeof of.value[i]);
        for (int k = 0; k < 2; k++) {
            for (int at = 0; at < z->count; at++) pair[i].axis[0][at] += of.z[k][i] * z->part[k][at];
            for (int at = 0; at < x->count; at++) pair[i].axis[2][at] += of.x[k][i] * x->part[k][at];
        }
    }
    return true;
}

/* a = a * b, as polynomials. */
static void multiply(long double *a, int *size, const long double *b, int count) {
    long double product[SIDE] = {0};
    for (int i = 0; i < *size; i++)
        for (int j = 0; j < count; j++) product[i + j] += a[i] * b[j];
    *size += count - 1;
    memcpy(a, product, sizeof product);
}

/* Expands (first + second)^f by the binomial theorem. */
static void fill_powers(const stn_power *one, const stn_power *taps, const term pair[2], lowrank_core *core) {
    long double binomial = 1;
    core->x_factors = core->sums = core->terms = taps->fused + 1;
    for (int i = 0; i <= taps->fused; i++) {
        term power = {{{1}, {1}, {1}}};
        for (int axis = 0; axis < 3; axis++) {
            int size = 1;
            for (int n = 0; n < taps->fused; n++)
                multiply(power.axis[axis], &size, pair[n >= i].axis[axis], one->size[axis]);
        }
        for (int k = 0; k < SIDE; k++) {
            core->c[i][k] = (double)(binomial * power.axis[0][k]);
            core->v[i][k] = (double)power.axis[1][k];
            core->u[i][k] = (double)power.axis[2][k];
        }
        core->x_factor[i] = core->sum[i] = i;
        binomial = binomial * (taps->fused - i) / (i + 1);
    }
}

bool lowrank_pair_make(const stn_task *task, const stn_power *taps, lowrank_core *core) {
    stn_power one;
    lowrank_slices z = {0}, x = {0};
    term pair[2];
    if (stn_power_make(task, &one, NULL) != STN_OK) return false;
    bool made = lowrank_slices_make(&one, 0, false, NULL, &z) && lowrank_slices_make(&one, 2, false, NULL, &x) &&
                z.rank == 2 && x.rank == 2;
    if (made) {
        lowrank_slices_divide(&z);
        lowrank_slices_divide(&x);
        made = split_pair(&one, &z, &x, pair);
    }
    if (made) fill_powers(&one, taps, pair, core);
    lowrank_slices_clear(&z);
    lowrank_slices_clear(&x);
    stn_power_clear(&one);
    return made;
}
