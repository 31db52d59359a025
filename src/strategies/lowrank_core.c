/* See lowrank_core.h. Every slice of the taps is a sum of a few slices of theirs, so the vectors along z and x are the
 * coefficients of those sums, and the core is made of the taps' own fibres along y. */
#include "strategies/lowrank_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE LOWRANK_CORE_SIDE
#define EXACT 0x1p-50        /* residual that counts as rounding */
#define MOST_GROWTH 64.0     /* two digits of the sixteen */
#define INDEPENDENT 0x1p-51L /* of all weights: a slice that others leave more of is one of its own */

/* ---- powers ---------------------------------------------------------------------------------------------------- */

static size_t cube_count(const lowrank_cube *cube) {
    return (size_t)cube->size[0] * (size_t)cube->size[1] * (size_t)cube->size[2];
}

static stn_status cube_alloc(lowrank_cube *cube, stn_error *error) {
    size_t bytes = cube_count(cube) * sizeof *cube->weight;
    cube->weight = calloc(1, bytes);
    return cube->weight ? STN_OK : stn_fail_memory(error, "fused taps", bytes);
}

static long double *cube_at(const lowrank_cube *cube, int z, int y, int x) {
    return cube->weight + ((size_t)z * (size_t)cube->size[1] + (size_t)y) * (size_t)cube->size[2] + x;
}

stn_status lowrank_cube_make(const stn_task *task, lowrank_cube *cube, stn_error *error) {
    *cube = (lowrank_cube){.fused = 1};
    for (int axis = 0; axis < 3; axis++) {
        cube->low[axis] = task->reach[axis][0];
        cube->size[axis] = task->reach[axis][0] + task->reach[axis][1] + 1;
    }
    STN_TRY(cube_alloc(cube, error));
    for (size_t k = 0; k < task->ntaps; k++) {
        const int64_t *o = task->taps[k].offset;
        *cube_at(cube, (int)o[0] + cube->low[0], (int)o[1] + cube->low[1], (int)o[2] + cube->low[2]) =
            task->taps[k].weight;
    }
    return STN_OK;
}

stn_status lowrank_cube_fuse(const stn_task *task, lowrank_cube *cube, stn_error *error) {
    lowrank_cube next = {.fused = cube->fused + 1};
    for (int axis = 0; axis < 3; axis++) {
        next.low[axis] = cube->low[axis] + task->reach[axis][0];
        next.size[axis] = cube->size[axis] + task->reach[axis][0] + task->reach[axis][1];
    }
    STN_TRY(cube_alloc(&next, error));
    for (size_t k = 0; k < task->ntaps; k++) {
        const stn_tap *tap = &task->taps[k];
        int by[3];
        for (int axis = 0; axis < 3; axis++) by[axis] = (int)tap->offset[axis] + task->reach[axis][0];
        for (int z = 0; z < cube->size[0]; z++)
            for (int y = 0; y < cube->size[1]; y++)
                for (int x = 0; x < cube->size[2]; x++)
                    *cube_at(&next, z + by[0], y + by[1], x + by[2]) += tap->weight * *cube_at(cube, z, y, x);
    }
    lowrank_cube_clear(cube);
    *cube = next;
    return STN_OK;
}

void lowrank_cube_clear(lowrank_cube *cube) {
    free(cube->weight);
    memset(cube, 0, sizeof *cube);
}

/* ---- slices ---------------------------------------------------------------------------------------------------- */

/* The slices across one axis, each as one vector, and those that span the others. */
typedef struct slices {
    int count, length, rank;
    int pivot[SIDE];               /* of the spanning ones */
    long double part[SIDE][SIDE];  /* slice i = sum over k of part[k][i] * slice pivot[k] */
    long double upper[SIDE][SIDE]; /* slice pivot[k] = sum over j of upper[j][k] * q[j] */
    long double *slice, *q;        /* count and rank vectors, one allocation */
} slices;

static long double dot(const long double *a, const long double *b, int n) {
    long double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static bool cut_slices(const lowrank_cube *cube, int axis, slices *s) {
    *s = (slices){.count = cube->size[axis], .length = (int)(cube_count(cube) / (size_t)cube->size[axis])};
    if (s->count < 1 || s->length < 1) return false; /* never; for the analyser */
    s->slice = calloc(3 * (size_t)s->count * (size_t)s->length, sizeof *s->slice);
    if (!s->slice) return false;
    s->q = s->slice + (size_t)s->count * (size_t)s->length;
    for (int z = 0, i = 0; z < cube->size[0]; z++)
        for (int y = 0; y < cube->size[1]; y++)
            for (int x = 0; x < cube->size[2]; x++, i++) {
                int at = axis ? x : z, place = axis ? z * cube->size[1] + y : y * cube->size[2] + x;
                s->slice[at * s->length + place] = cube->weight[i];
            }
    return true;
}

/* What is left of slice i when its part along all q is gone; twice is enough for full precision. */
static long double leave(slices *s, int i, long double *rest, long double along[SIDE]) {
    memcpy(rest, s->slice + i * s->length, (size_t)s->length * sizeof *rest);
    memset(along, 0, SIDE * sizeof *along);
    for (int turn = 0; turn < 2; turn++)
        for (int k = 0; k < s->rank; k++) {
            long double *q = s->q + k * s->length, part = dot(rest, q, s->length);
            for (int j = 0; j < s->length; j++) rest[j] -= part * q[j];
            along[k] += part;
        }
    return sqrtl(dot(rest, rest, s->length));
}

static bool is_pivot(const slices *s, int i) {
    for (int k = 0; k < s->rank; k++)
        if (s->pivot[k] == i) return true;
    return false;
}

/* The next slice to look at: farthest from the middle, or the one of which most is left; -1: none with more than `least`. */
static int next_slice(slices *s, lowrank_core_way way, int turn, int low, long double least) {
    long double along[SIDE], *rest = s->q + (size_t)s->count * (size_t)s->length, most = least;
    if (way == LOWRANK_CORE_OUTER) {
        int seen = 0;
        for (int reach = s->count; reach >= 0; reach--)
            for (int side = 1; side >= -1; side -= 2) {
                int i = low + side * reach;
                if (i < 0 || i >= s->count || (reach == 0 && side < 0) || seen++ < turn) continue;
                return i;
            }
        return -1;
    }
    int best = -1;
    for (int i = 0; i < s->count; i++) {
        if (is_pivot(s, i)) continue;
        long double left = leave(s, i, rest, along);
        if (left > most) best = i, most = left;
    }
    return best;
}

static void find_pivots(slices *s, lowrank_core_way way, int low, long double least) {
    long double along[SIDE], *rest = s->q + (size_t)s->count * (size_t)s->length;
    for (int turn = 0; turn < s->count; turn++) {
        int i = next_slice(s, way, turn, low, least);
        if (i < 0) return;
        long double left = leave(s, i, rest, along);
        if (left <= least) continue;
        for (int j = 0; j < s->length; j++) s->q[s->rank * s->length + j] = rest[j] / left;
        for (int k = 0; k < s->rank; k++) s->upper[k][s->rank] = along[k];
        s->upper[s->rank][s->rank] = left;
        s->pivot[s->rank++] = i;
    }
    if (s->rank) return;
    s->pivot[s->rank++] = low; /* nothing but zeros */
    s->upper[0][0] = 1;
}

/* Every slice as a sum of the pivots. A slice that equals one says so exactly; traces of rounding are no weights. */
static void find_parts(slices *s) {
    long double along[SIDE], *rest = s->q + (size_t)s->count * (size_t)s->length;
    for (int i = 0; i < s->count; i++) {
        int same = -1;
        for (int k = 0; k < s->rank && same < 0; k++) {
            const long double *a = s->slice + i * s->length, *b = s->slice + s->pivot[k] * s->length;
            bool equal = true;
            for (int j = 0; j < s->length && equal; j++) equal = fabsl(a[j] - b[j]) <= 0x1p-58L * fabsl(b[j]);
            if (equal) same = k;
        }
        if (same >= 0) {
            s->part[same][i] = 1;
            continue;
        }
        leave(s, i, rest, along);
        for (int k = s->rank - 1; k >= 0; k--) {
            long double value = along[k];
            for (int j = k + 1; j < s->rank; j++) value -= s->upper[k][j] * s->part[j][i];
            s->part[k][i] = value / s->upper[k][k];
        }
        for (int k = 0; k < s->rank; k++)
            if (fabsl(s->part[k][i]) < 0x1p-52L) s->part[k][i] = 0;
    }
}

/* ---- the core -------------------------------------------------------------------------------------------------- */

static long double norm_of(const lowrank_cube *cube) {
    return sqrtl(dot(cube->weight, cube->weight, (int)cube_count(cube)));
}

static void measure(const lowrank_cube *cube, lowrank_core *core) {
    long double rest = 0, all = norm_of(cube), sizes = 0, weights = 0;
    for (int z = 0; z < cube->size[0]; z++)
        for (int y = 0; y < cube->size[1]; y++)
            for (int x = 0; x < cube->size[2]; x++) {
                long double weight = *cube_at(cube, z, y, x), left = weight;
                for (int r = 0; r < core->rights; r++) {
                    long double part =
                        (long double)core->c[core->sum[r]][z] * core->v[r][y] * core->u[core->left[r]][x];
                    left -= part;
                    sizes += fabsl(part);
                }
                rest += left * left;
                weights += fabsl(weight);
            }
    core->residual = all > 0 ? (double)(sqrtl(rest) / all) : 0;
    core->growth = weights > 0 ? (double)(sizes / weights) : 1;
}

/* Reaches of the vectors along y; a sum that goes to one plane takes its weight into them. */
static void finish_rights(const lowrank_cube *cube, lowrank_core *core) {
    for (int k = 0; k < core->sums; k++) {
        int count = 0, last = 0;
        for (int z = 0; z < cube->size[0]; z++)
            if (core->c[k][z] != 0) count++, last = z;
        if (count != 1) continue;
        for (int r = 0; r < core->rights; r++)
            for (int y = 0; y < cube->size[1] && core->sum[r] == k; y++) core->v[r][y] *= core->c[k][last];
        core->c[k][last] = 1;
    }
    for (int r = 0; r < core->rights; r++)
        for (int y = 0; y < cube->size[1]; y++) {
            if (core->v[r][y] == 0) continue;
            if (cube->low[1] - y > core->low[r]) core->low[r] = cube->low[1] - y;
            if (y - cube->low[1] > core->high[r]) core->high[r] = y - cube->low[1];
        }
}

static bool is_middle(const slices *x, int k, int low) {
    for (int i = 0; i < x->count; i++)
        if ((x->part[k][i] != 0) != (i == low)) return false;
    return true;
}

static bool fill_core(const lowrank_cube *cube, const slices *z, const slices *x, lowrank_core *core) {
    int order[SIDE], lefts = 0;
    for (int pass = 1; pass >= 0; pass--) /* the identity first */
        for (int k = 0; k < x->rank; k++)
            if (is_middle(x, k, cube->low[2]) == (pass == 1)) order[lefts++] = k, core->identity += pass;
    core->lefts = x->rank, core->sums = z->rank;
    for (int k = 0; k < z->rank; k++)
        for (int i = 0; i < z->count; i++) core->c[k][i] = (double)z->part[k][i];
    for (int l = 0; l < lefts; l++) {
        for (int i = 0; i < x->count; i++) core->u[l][i] = (double)x->part[order[l]][i];
        for (int k = 0; k < z->rank; k++) {
            bool any = false;
            for (int y = 0; y < cube->size[1]; y++)
                any = any || *cube_at(cube, z->pivot[k], y, x->pivot[order[l]]) != 0;
            if (!any && z->rank * x->rank > 1) continue;
            if (core->rights == LOWRANK_CORE_RIGHTS) return false;
            for (int y = 0; y < cube->size[1]; y++)
                core->v[core->rights][y] = (double)*cube_at(cube, z->pivot[k], y, x->pivot[order[l]]);
            core->left[core->rights] = l;
            core->sum[core->rights++] = k;
        }
    }
    return true;
}

static bool make_sliced(const lowrank_cube *cube, lowrank_core_way way, lowrank_core *core) {
    slices z = {0}, x = {0};
    long double least = INDEPENDENT * norm_of(cube);
    bool made = cut_slices(cube, 0, &z) && cut_slices(cube, 2, &x);
    if (made) {
        find_pivots(&z, way, cube->low[0], least);
        find_pivots(&x, way, cube->low[2], least);
        find_parts(&z);
        find_parts(&x);
        made = fill_core(cube, &z, &x, core);
    }
    free(z.slice);
    free(x.slice);
    return made;
}

/* ---- two separable terms --------------------------------------------------------------------------------------- */

typedef struct term {
    long double axis[3][SIDE]; /* z, y, x */
} term;

static void solve2(long double m[2][2], const long double right[2], long double out[2]) {
    long double d = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    out[0] = (right[0] * m[1][1] - right[1] * m[0][1]) / d;
    out[1] = (m[0][0] * right[1] - m[1][0] * right[0]) / d;
}

/* With two slices each along z and x, the fibres along y are a pencil of 2 x 2 matrices M_y[p][k]. Two separable terms
 * make all of them diagonal in the same vectors: the eigenvectors of one over another. */
static bool split_pair(const lowrank_cube *cube, const slices *z, const slices *x, term pair[2]) {
    long double m[SIDE][2][2] = {{{0}}}, best = 0;
    int first = 0, second = 0;
    for (int y = 0; y < cube->size[1]; y++)
        for (int p = 0; p < 2; p++)
            for (int k = 0; k < 2; k++) m[y][p][k] = *cube_at(cube, z->pivot[k], y, x->pivot[p]);
    for (int y = 0; y < cube->size[1]; y++) {
        long double size = fabsl(m[y][0][0] * m[y][1][1] - m[y][0][1] * m[y][1][0]);
        if (size > best) best = size, first = y;
    }
    if (best == 0) return false;
    long double one = 0; /* the matrix that differs most from the first */
    for (int y = 0; y < cube->size[1]; y++) {
        long double cross = fabsl(m[y][0][0] * m[first][1][1] - m[y][1][1] * m[first][0][0]) +
                            fabsl(m[y][0][1] * m[first][1][0] - m[y][1][0] * m[first][0][1]) +
                            fabsl(m[y][0][0] * m[first][0][1] - m[y][0][1] * m[first][0][0]);
        if (cross > one) one = cross, second = y;
    }
    long double a[2][2]; /* M_second M_first^-1 */
    for (int p = 0; p < 2; p++) {
        long double t[2][2] = {{m[first][0][0], m[first][1][0]}, {m[first][0][1], m[first][1][1]}};
        solve2(t, m[second][p], a[p]);
    }
    long double half = (a[0][0] + a[1][1]) / 2, det = a[0][0] * a[1][1] - a[0][1] * a[1][0], disc = half * half - det;
    if (!(disc > 1e-8L * half * half)) return false;
    long double vx[2][2], vz[2][2]; /* vx[p][i]; M_y = sum of value_i(y) vx_i vz_i^T */
    for (int i = 0; i < 2; i++) {
        long double root = half + (i ? -1 : 1) * sqrtl(disc);
        bool upper = fabsl(a[0][1]) + fabsl(root - a[0][0]) >= fabsl(a[1][0]) + fabsl(root - a[1][1]);
        vx[0][i] = upper ? a[0][1] : root - a[1][1];
        vx[1][i] = upper ? root - a[0][0] : a[1][0];
    }
    for (int k = 0; k < 2; k++) { /* rows of vx^-1 M_first are multiples of vz_i */
        long double right[2] = {m[first][0][k], m[first][1][k]}, row[2];
        solve2(vx, right, row);
        vz[k][0] = row[0], vz[k][1] = row[1];
    }
    memset(pair, 0, 2 * sizeof *pair);
    for (int y = 0; y < cube->size[1]; y++) {
        long double rows[2][2];
        for (int k = 0; k < 2; k++) {
            long double right[2] = {m[y][0][k], m[y][1][k]};
            solve2(vx, right, rows[k]);
        }
        for (int i = 0; i < 2; i++) {
            int k = fabsl(vz[0][i]) > fabsl(vz[1][i]) ? 0 : 1;
            pair[i].axis[1][y] = vz[k][i] != 0 ? rows[k][i] / vz[k][i] : 0;
        }
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            for (int at = 0; at < z->count; at++) pair[i].axis[0][at] += vz[k][i] * z->part[k][at];
            for (int at = 0; at < x->count; at++) pair[i].axis[2][at] += vx[k][i] * x->part[k][at];
        }
    return true;
}

/* a times b as polynomials, into a. */
static void multiply(long double *a, int *size, const long double *b, int count) {
    long double product[SIDE] = {0};
    for (int i = 0; i < *size; i++)
        for (int j = 0; j < count; j++) product[i + j] += a[i] * b[j];
    *size += count - 1;
    memcpy(a, product, sizeof product);
}

/* (first + second)^f by the binomial theorem. */
static void fill_powers(const lowrank_cube *one, const lowrank_cube *cube, const term pair[2], lowrank_core *core) {
    long double binomial = 1;
    core->lefts = core->sums = core->rights = cube->fused + 1;
    for (int i = 0; i <= cube->fused; i++) {
        term power = {{{1}, {1}, {1}}};
        for (int axis = 0; axis < 3; axis++) {
            int size = 1;
            for (int n = 0; n < cube->fused; n++)
                multiply(power.axis[axis], &size, pair[n >= i].axis[axis], one->size[axis]);
        }
        for (int k = 0; k < SIDE; k++) {
            core->c[i][k] = (double)(binomial * power.axis[0][k]);
            core->v[i][k] = (double)power.axis[1][k];
            core->u[i][k] = (double)power.axis[2][k];
        }
        core->left[i] = core->sum[i] = i;
        binomial = binomial * (cube->fused - i) / (i + 1);
    }
}

static bool make_pair(const stn_task *task, const lowrank_cube *cube, lowrank_core *core) {
    lowrank_cube one;
    slices z = {0}, x = {0};
    term pair[2];
    if (lowrank_cube_make(task, &one, NULL) != STN_OK) return false;
    long double least = INDEPENDENT * norm_of(&one);
    bool made = cut_slices(&one, 0, &z) && cut_slices(&one, 2, &x);
    if (made) {
        find_pivots(&z, LOWRANK_CORE_LARGEST, one.low[0], least);
        find_pivots(&x, LOWRANK_CORE_LARGEST, one.low[2], least);
        made = z.rank == 2 && x.rank == 2;
    }
    if (made) {
        find_parts(&z);
        find_parts(&x);
        made = split_pair(&one, &z, &x, pair);
    }
    if (made) fill_powers(&one, cube, pair, core);
    free(z.slice);
    free(x.slice);
    lowrank_cube_clear(&one);
    return made;
}

bool lowrank_core_make(const stn_task *task, const lowrank_cube *cube, lowrank_core_way way, lowrank_core *core) {
    memset(core, 0, sizeof *core);
    for (int axis = 0; axis < 3; axis++)
        if (cube->size[axis] > SIDE) return false;
    bool made = way == LOWRANK_CORE_PAIR ? make_pair(task, cube, core) : make_sliced(cube, way, core);
    if (!made) return false;
    finish_rights(cube, core);
    measure(cube, core);
    int values =
        core->sums * cube->size[0] + (core->lefts - core->identity) * cube->size[2] + core->rights * cube->size[1];
    return core->residual <= EXACT && core->growth <= MOST_GROWTH && values + cube->size[2] <= LOWRANK_CORE_VALUES;
}
