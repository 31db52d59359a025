/* Eigenmode tests; see checks.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks.h"

typedef struct mode_case {
    int rank, n[3], m; /* Points of each axis; number of the mode along each. */
    stn_boundary_kind kind[3];
    stn_dtype dtype;
    uint64_t steps;
    double spread;     /* Of all steps: alpha of the heat equation times their number. */
    const char *words; /* Substring of the candidate's name; NULL: the cheapest. */
} mode_case;

/* The value of the mode at point i of an axis, and its angle per point. */
static double mode_at(stn_boundary_kind kind, int n, int m, int i, double *angle) {
    switch (kind) {
        case STN_WRAP:
            *angle = 2 * M_PI * m / n;
            return cos(*angle * i);
        case STN_REFLECT:
        case STN_NEAREST: /* The same for taps of reach 1. */
            *angle = M_PI * m / n;
            return cos(*angle * (i + 0.5));
        case STN_MIRROR:
            *angle = M_PI * m / (n - 1);
            return cos(*angle * i);
        case STN_CONSTANT:
            *angle = M_PI * m / (n + 1);
            return sin(*angle * (i + 1));
        default: /* Fixed: a mode that is 0 at the outer points. */
            *angle = M_PI * m / (n - 1);
            return i == 0 || i == n - 1 ? 0 : sin(*angle * i);
    }
}

/* K^T at the angles, from the rounded weights: 1 - K = (1 - sum of w) + sum of w (1 - cos of the
 * angle along the tap's axis). */
static double factor_after(const stn_stencil *stencil, const double angle[3], uint64_t steps) {
    long double away = 1;
    for (size_t i = 0; i < stn_stencil_tap_count(stencil); i++) {
        const stn_tap *tap = &stn_stencil_taps(stencil)[i];
        away -= tap->weight;
    }
    for (size_t i = 0; i < stn_stencil_tap_count(stencil); i++) {
        const stn_tap *tap = &stn_stencil_taps(stencil)[i];
        /* Stars: each tap lies on one axis. */
        for (int axis = 0; axis < stn_stencil_rank(stencil); axis++) {
            const long double half = sinl((long double)tap->offset[axis] * angle[axis] / 2);
            away += 2 * tap->weight * half * half;
        }
    }
    return (double)expl((long double)steps * log1pl(-away));
}

static stn_stencil *stencil_of(const mode_case *c) {
    stn_stencil *stencil = NULL;
    const double alpha = fmin(c->spread / (double)c->steps, 0.4 / c->rank);
    stn_tap taps[7] = {{{0, 0, 0}, 1 - 2 * c->rank * alpha}};
    for (int i = 0; i < 2 * c->rank; i++) {
        taps[1 + i].offset[i / 2] = i % 2 ? 1 : -1;
        taps[1 + i].weight = alpha;
    }
    stn_stencil_create(c->rank, (size_t)(1 + 2 * c->rank), taps, &stencil, NULL);
    return stencil;
}

/* The mode rounded to the type, and its angles. */
static void *grid_of(const mode_case *c, int count, double angle[3]) {
    void *grid = malloc((size_t)count * stn_dtype_size(c->dtype));
    for (int i = 0; i < count; i++) {
        double value = 1;
        for (int axis = c->rank - 1, rest = i; axis >= 0; rest /= c->n[axis], axis--)
            value *= mode_at(c->kind[axis], c->n[axis], c->m, rest % c->n[axis], &angle[axis]);
        set_element(c->dtype, grid, i, value);
    }
    return grid;
}

static void one_mode(suite *s, const mode_case *c) {
    static const double bars[] = {[STN_F64] = 1e-13, [STN_F32] = 1e-6};
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil *stencil = stencil_of(c);
    int count = 1;
    p.stencil = stencil, p.dtype = c->dtype, p.steps = c->steps;
    for (int axis = 0; axis < c->rank; axis++) {
        p.extent[axis] = (size_t)c->n[axis], count *= c->n[axis];
        p.boundary[axis][0].kind = p.boundary[axis][1].kind = c->kind[axis];
    }
    const size_t bytes = (size_t)count * stn_dtype_size(c->dtype);
    double angle[3] = {0, 0, 0}, off = 0, size = 0;
    void *in = grid_of(c, count, angle), *out = malloc(bytes);
    for (int i = 0; i < count; i++) set_element(c->dtype, out, i, NAN);
    const double factor = factor_after(stencil, angle, c->steps);
    comparison result = {.bar = 0};
    const int pick = c->words ? suite_candidate(s, &p, "spectral", c->words) : -1;
    const bool good = compare_run(s->context, &p, "spectral", pick, in, bytes, out, bytes, &result) == STN_OK;
    for (int i = 0; i < count; i++) {
        const double expected = factor * element(c->dtype, in, i), difference = element(c->dtype, out, i) - expected;
        off += difference * difference, size += expected * expected;
    }
    const double bar = c->dtype == STN_F16 ? 1e-3 : bars[c->dtype] * (1 + log2((double)c->steps));
    const double found = sqrt(off / size);
    char what[200], detail[1200];
    snprintf(what, sizeof what, "modes: %d of %d x %d x %d, %s, %s, %llu steps, factor %.2g, %s", c->m, c->n[0],
             c->n[1], c->n[2], side_names[c->kind[0]], stn_dtype_name(c->dtype), (unsigned long long)c->steps, factor,
             c->words ? c->words : "any");
    snprintf(detail, sizeof detail, "relative L2 %.3g, bar %.3g, %s", found, bar, result.error.message);
    s->worst = fmax(s->worst, good ? found / bar : 0);
    suite_report(s, good && found <= bar, what, detail);
    free(in), free(out);
    stn_stencil_destroy(stencil);
}

/* Every side, type and rank, up to a million steps, of the whole grid; modes of which about half is
 * left. */
static void whole(suite *s) {
    static const int extents[3][3] = {{1201, 1, 1}, {90, 75, 1}, {26, 30, 23}};
    static const uint64_t steps[] = {1, 1000, 1000000};
    for (int rank = 1; rank <= 3; rank++)
        for (int kind = STN_WRAP; kind <= STN_FIXED; kind++)
            for (int t = 0; t < 3; t++)
                for (int dtype = STN_F64; dtype <= STN_F16; dtype++) {
                    if (!s->full && (rank + kind + t + 2 * dtype) % 6) continue;
                    mode_case c = {.rank = rank, .m = kind == STN_WRAP ? 1 : 2, .dtype = (stn_dtype)dtype};
                    c.steps = steps[t];
                    for (int axis = 0; axis < 3; axis++) { /* Other axes have other sides. */
                        c.n[axis] = extents[rank - 1][axis];
                        c.kind[axis] = (stn_boundary_kind)((kind + axis * t) % (STN_FIXED + 1));
                    }
                    const double wave = (c.kind[0] == STN_WRAP ? 2 : 1) * M_PI * c.m / c.n[0];
                    c.spread = 0.5 / (rank * wave * wave);
                    one_mode(s, &c);
                }
}

/* Forms that the planner chooses for large grids only, with alpha so small that a million steps
 * reach no further than a tile. */
static void divided(suite *s) {
#define ALL(kind)                                                                                                      \
    { kind, kind, kind }
    static const mode_case list[] = {
        {2, {257, 263, 1}, 25, ALL(STN_WRAP), STN_F64, 1000000, 0.5, "tiles of"},
        {2, {200, 311, 1}, 40, ALL(STN_REFLECT), STN_F64, 1000000, 0.3, "tiles of"},
        {2, {311, 200, 1}, 40, ALL(STN_MIRROR), STN_F32, 1000000, 0.4, "tiles of"},
        {2, {200, 222, 1}, 40, ALL(STN_NEAREST), STN_F16, 1000000, 0.2, "tiles of"},
        {2, {401, 50, 1}, 5, ALL(STN_WRAP), STN_F64, 1000, 0.4, "waves"},
        {1, {32768, 1, 1}, 40, ALL(STN_WRAP), STN_F64, 1000000, 5000, "four-step"},
        {1, {30011, 1, 1}, 300, ALL(STN_FIXED), STN_F64, 1000000, 200, "four-step"},
        {1, {60014, 1, 1}, 900, ALL(STN_MIRROR), STN_F32, 1000000, 100, "four-step"},
        {1, {61000, 1, 1}, 400, ALL(STN_CONSTANT), STN_F16, 1000000, 300, "four-step"},
        {2, {14400, 3, 1}, 1, ALL(STN_WRAP), STN_F64, 1000000, 0.3, "periodic domain of 14400"},
        {3, {24, 25, 31}, 1, ALL(STN_FIXED), STN_F64, 1000, 25, "recursion by 16"},
        {3, {33, 20, 27}, 1, ALL(STN_CONSTANT), STN_F32, 1000, 25, "recursion by rows"},
        {3, {17, 26, 22}, 1, ALL(STN_FIXED), STN_F16, 1000, 25, "recursion by 8"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) one_mode(s, &list[i]);
}

/* The mean, which does not decay; and a slow mode with the usual alpha, a little of which is left
 * after a million steps. */
static void slow(suite *s) {
    for (int dtype = STN_F64; dtype <= STN_F16; dtype++)
        one_mode(s, &(mode_case){2, {96, 96, 1}, 0, ALL(STN_REFLECT), (stn_dtype)dtype, 1000000, 125000, NULL});
    one_mode(s, &(mode_case){2, {1200, 1200, 1}, 1, ALL(STN_WRAP), STN_F64, 1000000, 125000, NULL});
}

void modes(suite *s) {
    whole(s);
    divided(s);
    slow(s);
}
