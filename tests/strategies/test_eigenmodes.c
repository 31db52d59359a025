/* Eigenmodes, whose results are known for any number of steps. A product of cosines and sines that
 * the sides keep is multiplied by K^T, where K is the sum of w cos(the tap's angle) of a star's
 * taps; a source b of the same shape adds (1 - K^T) / (1 - K) b. Sides that keep no wave
 * (aperiodic) keep a grid that is constant along their axis. Prints TAP.
 *
 *     test_eigenmodes [--host] [--full] [--only STRATEGY]    --host: on the host, else on a GPU */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "suite.h"

typedef struct mode_case {
    int rank, n[3], m[3]; /* points of each axis, and the number of the mode along it */
    stn_boundary_kind side[3];
    stn_dtype dtype;
    uint64_t steps;
    /* Of all steps: a neighbour's weight times their number; a step's is at most 0.2 / rank. */
    double spread;
    /* Substring of the candidate's name; NULL: the cheapest, with a source that of all steps. */
    const char *words;
    /* Along the last axis: another kind at its end, if it is not 0; points by which a run shifts
     * the data, a third of them backwards, instead of a spread. */
    stn_boundary_kind end;
    double drift;
} mode_case;

#define ALL(kind)                                                                                                      \
    { kind, kind, kind }
#define MAX_SPREAD 1e9
/* The constant grid's value, and that past constant sides: exact in all types. */
#define LEVEL 1.25
static const double parts[2] = {0.7, 0.25}; /* of the mode: input and source */

/* Half of the mode's angle per point. */
static long double half_angle(stn_boundary_kind side, int n, int m) {
    const long double half_circle = acosl(-1.0L) * m;
    if (side == STN_WRAP) return half_circle / n;
    const int points = side == STN_CONSTANT ? n + 1 : side == STN_REFLECT || side == STN_NEAREST ? n : n - 1;
    return half_circle / (2.0L * points);
}

/* Nearest sides are reflecting ones for taps of reach 1. */
static double mode_at(stn_boundary_kind side, int n, int m, int i) {
    const long double angle = 2 * half_angle(side, n, m);
    const bool sine = side == STN_CONSTANT || side == STN_FIXED;
    if (sine && !m) return LEVEL;
    if (side == STN_FIXED) return i == n - 1 ? 0 : (double)sinl(angle * i); /* fixed at 0 */
    if (sine) return (double)sinl(angle * (i + 1));
    return (double)cosl(angle * (side == STN_REFLECT || side == STN_NEAREST ? i + 0.5L : i));
}

static stn_stencil *stencil_of(const mode_case *c) {
    const double steps = (double)c->steps, near = fmin(c->spread / steps, 0.2 / c->rank);
    stn_tap taps[7] = {{{0, 0, 0}, 1}};
    stn_stencil *stencil = NULL;
    for (int i = 1; i <= 2 * c->rank; i++) {
        const int axis = (i - 1) / 2, way = i % 2 ? -1 : 1;
        taps[i].offset[axis] = way;
        taps[i].weight = c->drift > 0 && axis == c->rank - 1 ? c->drift / steps / (way < 0 ? 1 : 3) : near;
        taps[0].weight -= taps[i].weight;
    }
    stn_stencil_create(c->rank, (size_t)(1 + 2 * c->rank), taps, &stencil, NULL);
    return stencil;
}

/* 1 - K, from the rounded weights: 1 - sum of w + sum of w (1 - cos of the angle along the tap's
 * axis). */
static long double distance_from_one(const mode_case *c, const stn_stencil *stencil) {
    const stn_tap *taps = stn_stencil_taps(stencil);
    const size_t count = stn_stencil_tap_count(stencil);
    long double away = 1;
    for (size_t i = 0; i < count; i++) away -= taps[i].weight;
    for (size_t i = 0; i < count; i++)
        for (int axis = 0; axis < c->rank; axis++) {
            const long double angle = half_angle(c->side[axis], c->n[axis], c->m[axis]);
            const long double s = sinl((long double)taps[i].offset[axis] * angle);
            away += 2 * taps[i].weight * s * s;
        }
    return away;
}

/* The mode at all points; freed by the caller. */
static double *mode_of(const mode_case *c, size_t count) {
    double *mode = malloc(count * sizeof *mode);
    size_t inner = 1; /* points of the axes after this one */
    for (size_t i = 0; i < count; i++) mode[i] = 1;
    for (int axis = c->rank - 1; axis >= 0; inner *= (size_t)c->n[axis--])
        for (size_t k = 0; k < (size_t)c->n[axis]; k++) {
            const double value = mode_at(c->side[axis], c->n[axis], c->m[axis], (int)k);
            for (size_t block = k * inner; block < count; block += inner * (size_t)c->n[axis])
                for (size_t i = 0; i < inner; i++) mode[block + i] *= value;
        }
    return mode;
}

/* Relative to the result, or to the input if hardly anything is left. */
static double relative_error(const mode_case *c, void *const grid[3], size_t count, double power, double summed) {
    double off = 0, size = 0;
    for (size_t i = 0; i < count; i++) {
        const double in = element(c->dtype, grid[0], (int64_t)i), source = element(c->dtype, grid[1], (int64_t)i);
        const double expected = power * in + summed * source;
        const double difference = element(c->dtype, grid[2], (int64_t)i) - expected;
        off += difference * difference;
        size += power + summed > 1e-6 ? expected * expected : in * in;
    }
    return sqrt(off / size);
}

static void one_mode(suite *s, const char *strategy, const mode_case *c) {
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil *stencil = stencil_of(c);
    size_t count = 1;
    p.stencil = stencil, p.dtype = c->dtype, p.steps = c->steps, p.has_source = !strcmp(strategy, "sourced");
    for (int axis = 0; axis < c->rank; axis++) {
        p.extent[axis] = (size_t)c->n[axis], count *= p.extent[axis];
        for (int side = 0; side < 2; side++) {
            const bool ends = side && axis == c->rank - 1 && c->end;
            stn_boundary *b = &p.boundary[axis][side];
            b->kind = ends ? c->end : c->side[axis];
            if (b->kind == STN_CONSTANT && !c->m[axis]) b->value = LEVEL;
        }
    }
    const size_t bytes = count * stn_dtype_size(c->dtype);
    void *grid[3];
    double *mode = mode_of(c, count);
    for (int i = 0; i < 3; i++) {
        grid[i] = malloc(bytes);
        for (size_t k = 0; k < count; k++)
            set_element(c->dtype, grid[i], (int64_t)k, i < 2 ? (p.has_source ? parts[i] : 1) * mode[k] : NAN);
    }
    const long double away = distance_from_one(c, stencil), log_power = (long double)c->steps * log1pl(-away);
    const double power = (double)expl(log_power), all = (double)(away != 0 ? -expm1l(log_power) / away : c->steps);
    comparison result = {.bar = 0};
    stn_plan *plan = NULL;
    const char *words = c->words || !p.has_source ? c->words : "all steps";
    const int pick = words ? suite_candidate(s, &p, strategy, words) : -1;
    stn_status status = compare_plan(s->context, &p, strategy, pick, &plan, &result);
    if (status == STN_OK)
        status = compare_execute(s->context, plan, grid[0], bytes, p.has_source ? grid[1] : NULL, grid[2], bytes,
                                 &result.error);
    stn_plan_destroy(plan);
    const double found = relative_error(c, grid, count, power, p.has_source ? all : 0), steps = (double)c->steps;
    /* aperiodic computes bands in the data's type. */
    const double bar = c->dtype == STN_F16   ? 1e-3
                       : c->dtype == STN_F64 ? 1e-13 * (1 + log2(steps))
                       : c->drift > 0        ? 1e-6 * sqrt(steps)
                                             : 1e-6 * (1 + log2(steps));
    char what[200], detail[1200];
    snprintf(what, sizeof what, "%s: %d of %d x %d x %d, %s:%s, %s, %llu steps, factor %.2g, %s", strategy, c->m[0],
             c->n[0], c->n[1], c->n[2], side_names[c->side[c->rank - 1]], side_names[p.boundary[c->rank - 1][1].kind],
             stn_dtype_name(c->dtype), (unsigned long long)c->steps, power, c->words ? c->words : "any");
    snprintf(detail, sizeof detail, "relative L2 %.3g, bar %.3g; %s", found, bar,
             status == STN_OK ? result.strategy : result.error.message);
    const bool good = status == STN_OK && !strcmp(result.strategy, strategy) && found <= bar;
    s->worst = fmax(s->worst, good ? found / bar : 0);
    suite_report(s, good, what, detail);
    for (int i = 0; i < 3; i++) free(grid[i]);
    free(mode);
    stn_stencil_destroy(stencil);
}

/* Every side, type and rank, up to a million steps, of the whole grid; modes of which about half is
 * left. */
static void whole_grids(suite *s, const char *strategy, int share) {
    static const int extents[3][3] = {{1201, 1, 1}, {90, 75, 1}, {26, 30, 23}};
    static const uint64_t steps[] = {1, 1000, 1000000};
    for (int rank = 1; rank <= 3; rank++)
        for (int kind = STN_WRAP; kind <= STN_FIXED; kind++)
            for (int t = 0; t < 3; t++)
                for (int dtype = STN_F64; dtype <= STN_F16; dtype++) {
                    if (!s->full && (rank + kind + t + 2 * dtype) % share) continue;
                    mode_case c = {.rank = rank, .dtype = (stn_dtype)dtype, .steps = steps[t]};
                    for (int axis = 0; axis < 3; axis++) { /* Other axes have other sides. */
                        c.n[axis] = extents[rank - 1][axis];
                        c.m[axis] = kind == STN_WRAP ? 1 : 2;
                        c.side[axis] = (stn_boundary_kind)((kind + axis * t) % (STN_FIXED + 1));
                    }
                    const double wave = (c.side[0] == STN_WRAP ? 2 : 1) * M_PI * c.m[0] / c.n[0];
                    c.spread = 0.5 / (rank * wave * wave);
                    one_mode(s, strategy, &c);
                }
}

static void list_of_modes(suite *s, const char *strategy, const mode_case *list, size_t count) {
    for (size_t i = 0; i < count; i++) one_mode(s, strategy, &list[i]);
}

static void spectral(suite *s) {
    whole_grids(s, "spectral", 6);
    static const mode_case list[] = {
        /* Forms that the planner chooses for large grids only, with weights so small that a million
         * steps reach no further than a tile. */
        {2, {257, 263, 1}, ALL(25), ALL(STN_WRAP), STN_F64, 1000000, 0.5, "tiles of", 0, 0},
        {2, {200, 311, 1}, ALL(40), ALL(STN_REFLECT), STN_F64, 1000000, 0.3, "tiles of", 0, 0},
        {2, {311, 200, 1}, ALL(40), ALL(STN_MIRROR), STN_F32, 1000000, 0.4, "tiles of", 0, 0},
        {2, {200, 222, 1}, ALL(40), ALL(STN_NEAREST), STN_F16, 1000000, 0.2, "tiles of", 0, 0},
        {2, {401, 50, 1}, ALL(5), ALL(STN_WRAP), STN_F64, 1000, 0.4, "waves", 0, 0},
        {1, {32768, 1, 1}, ALL(40), ALL(STN_WRAP), STN_F64, 1000000, 5000, "four-step", 0, 0},
        {1, {30011, 1, 1}, ALL(300), ALL(STN_FIXED), STN_F64, 1000000, 200, "four-step", 0, 0},
        {1, {60014, 1, 1}, ALL(900), ALL(STN_MIRROR), STN_F32, 1000000, 100, "four-step", 0, 0},
        {1, {61000, 1, 1}, ALL(400), ALL(STN_CONSTANT), STN_F16, 1000000, 300, "four-step", 0, 0},
        {2, {14400, 3, 1}, ALL(1), ALL(STN_WRAP), STN_F64, 1000000, 0.3, "periodic domain of 14400", 0, 0},
        {3, {24, 25, 31}, ALL(1), ALL(STN_FIXED), STN_F64, 1000, 25, "recursion by 16", 0, 0},
        {3, {33, 20, 27}, ALL(1), ALL(STN_CONSTANT), STN_F32, 1000, 25, "recursion by rows", 0, 0},
        {3, {17, 26, 22}, ALL(1), ALL(STN_FIXED), STN_F16, 1000, 25, "recursion by 8", 0, 0},
        /* The mean, which does not decay, and a slow mode of which little is left. */
        {2, {96, 96, 1}, ALL(0), ALL(STN_REFLECT), STN_F64, 1000000, MAX_SPREAD, NULL, 0, 0},
        {2, {96, 96, 1}, ALL(0), ALL(STN_REFLECT), STN_F32, 1000000, MAX_SPREAD, NULL, 0, 0},
        {2, {96, 96, 1}, ALL(0), ALL(STN_REFLECT), STN_F16, 1000000, MAX_SPREAD, NULL, 0, 0},
        {2, {1200, 1200, 1}, ALL(1), ALL(STN_WRAP), STN_F64, 1000000, MAX_SPREAD, NULL, 0, 0},
    };
    list_of_modes(s, "spectral", list, sizeof list / sizeof *list);
}

static void cufft_spectral(suite *s) {
    for (int m = 1; m <= 3; m++)
        for (uint64_t steps = 1; steps <= 1000000; steps *= 1000)
            one_mode(s, "cufft-spectral",
                     &(mode_case){2, {14, 45, 1}, ALL(m), ALL(STN_WRAP), STN_F64, steps, 1, NULL, 0, 0});
}

static void host_spectral(suite *s) {
    whole_grids(s, "host-spectral", 1);
    static const mode_case list[] = {
        /* Lines of prime lengths, whose decayed frequencies are left out. */
        {2, {1499, 1601, 1}, ALL(1), {STN_WRAP, STN_FIXED}, STN_F64, 1000000, MAX_SPREAD, NULL, 0, 0},
        {2, {1499, 1601, 1}, ALL(1), {STN_CONSTANT, STN_REFLECT}, STN_F32, 1000000, MAX_SPREAD, NULL, 0, 0},
        {2, {1499, 1601, 1}, ALL(1), {STN_MIRROR, STN_NEAREST}, STN_F64, 1000000, MAX_SPREAD, NULL, 0, 0},
    };
    list_of_modes(s, "host-spectral", list, sizeof list / sizeof *list);
}

/* Lines, also modes that have decayed. */
static void segment(suite *s) {
    static const stn_boundary_kind kinds[] = {STN_WRAP, STN_REFLECT, STN_MIRROR, STN_CONSTANT};
    for (int i = 0; i < 4; i++)
        for (int m = 1; m < 40; m *= 6)
            for (uint64_t steps = 100; steps <= 1000000; steps *= 100)
                if (s->full || (i + m) % 2 == 0)
                    one_mode(s, "segment",
                             &(mode_case){1, {1601, 1, 1}, {m}, {kinds[i]}, STN_F64, steps, MAX_SPREAD, NULL, 0, 0});
}

static void sourced(suite *s) {
    static const mode_case list[] = {
        {1, {257, 1, 1}, {3}, {STN_WRAP}, STN_F64, 1000000, MAX_SPREAD, NULL, 0, 0},
        /* K = 1: T b. */
        {1, {256, 1, 1}, {0}, {STN_WRAP}, STN_F64, 1000000, MAX_SPREAD, NULL, 0, 0},
        {1, {257, 1, 1}, {0}, {STN_REFLECT}, STN_F32, 100000, MAX_SPREAD, NULL, 0, 0},
        {1, {120, 1, 1}, {2}, {STN_FIXED}, STN_F64, 100000, MAX_SPREAD, NULL, 0, 0},
        {1, {113, 1, 1}, {1}, {STN_CONSTANT}, STN_F32, 1000000, MAX_SPREAD, NULL, 0, 0},
        {2, {48, 53, 1}, {1, 2}, {STN_WRAP, STN_WRAP}, STN_F64, 1000000, MAX_SPREAD, NULL, 0, 0},
        {2, {48, 53, 1}, {0, 1}, {STN_REFLECT, STN_MIRROR}, STN_F64, 30000, MAX_SPREAD, NULL, 0, 0},
        {2, {41, 36, 1}, {1, 1}, {STN_FIXED, STN_FIXED}, STN_F64, 1000000, MAX_SPREAD, NULL, 0, 0},
        {2, {41, 36, 1}, {2, 0}, {STN_CONSTANT, STN_REFLECT}, STN_F32, 3000, MAX_SPREAD, NULL, 0, 0},
        /* The fastest decay. */
        {2, {40, 36, 1}, {20, 18}, {STN_WRAP, STN_WRAP}, STN_F64, 1000, MAX_SPREAD, NULL, 0, 0},
        {3, {12, 13, 16}, {1, 0, 1}, {STN_WRAP, STN_REFLECT, STN_FIXED}, STN_F64, 100000, MAX_SPREAD, NULL, 0, 0},
        {3, {11, 16, 14}, {1, 1, 0}, {STN_CONSTANT, STN_FIXED, STN_WRAP}, STN_F32, 500, MAX_SPREAD, NULL, 0, 0},
    };
    list_of_modes(s, "sourced", list, sizeof list / sizeof *list);
}

/* Waves along y beside sides without a symmetric extension. Each step of the points next to a side
 * is a launch, or a loop on the host, so the number of steps depends on the device's speed; longer
 * runs in f32 have errors due to rounded weights. */
static bool on_host;
static void aperiodic(suite *s) {
    static const mode_case list[] = {
        {2, {24, 500, 1}, {1}, {STN_WRAP, STN_REFLECT}, STN_F64, 0, 2.4, NULL, STN_MIRROR, 20},
        {2, {20, 420, 1}, {2}, {STN_WRAP, STN_NEAREST}, STN_F64, 0, 2, NULL, STN_REFLECT, 12},
        {2, {18, 390, 1}, {1}, {STN_WRAP, STN_MIRROR}, STN_F32, 0, 1.8, NULL, STN_NEAREST, 9},
        {2, {16, 400, 1}, {0}, {STN_WRAP, STN_CONSTANT}, STN_F64, 0, 1.6, NULL, STN_FIXED, 14},
        {2, {16, 400, 1}, {0}, {STN_WRAP, STN_FIXED}, STN_F32, 0, 1.6, NULL, STN_CONSTANT, 14},
    };
    const uint64_t most = on_host ? 100000 : s->full ? 10000 : 100;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (uint64_t steps = 100; steps <= (list[i].dtype == STN_F64 || most < 10000 ? most : 10000); steps *= 10) {
            mode_case c = list[i];
            c.steps = steps;
            one_mode(s, "aperiodic", &c);
        }
}

int main(int argc, char **argv) {
    static const suite_part all[] = {{"spectral", spectral},   {"cufft-spectral", cufft_spectral},
                                     {"segment", segment},     {"sourced", sourced},
                                     {"aperiodic", aperiodic}, {"host-spectral", host_spectral}};
    on_host = argc > 1 && !strcmp(argv[1], "--host");
    if (on_host) return suite_main_on(STN_DEVICE_HOST, argc - 1, argv + 1, all + 4, 2);
    return suite_main(argc, argv, all, 5);
}
