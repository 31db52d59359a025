/* cufft-spectral against host, and eigenmodes of many steps: all ways, sizes, types and layouts;
 * and the reason that is given where there is no cuFFT. Prints TAP. Usage: test_cufft_spectral
 * [--full] [--only PART]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "context/context.h"

#define NAME "cufft-spectral"
static const char *const ways[] = {"columns and rows", "back in place", "moved there"};
enum { DIRECT, AFTER, STAGED, WAYS };

static stn_problem periodic_problem(stn_stencil *stencil, const int *extent, stn_dtype dtype, uint64_t steps) {
    stn_problem p = grid_problem(stencil, extent, dtype, steps);
    for (int axis = 0; axis < stn_stencil_rank(stencil); axis++)
        p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_WRAP;
    return p;
}

/* Whether a problem can be run this way. */
static bool serves(const stn_problem *p, int way) {
    bool deep = false;
    for (int axis = 0; axis + 1 < stn_stencil_rank(p->stencil); axis++) deep = deep || p->extent[axis] > 1;
    if (way == STAGED) return true;
    if (p->dtype == STN_F16 || (p->alignment && p->alignment < 2 * (int)stn_dtype_size(p->dtype))) return false;
    return way == AFTER ? deep : !deep || p->batch < 2;
}

static void check(suite *s, const char *part, const stn_problem *p, uint64_t seed) {
    for (int way = 0; way < WAYS; way++) {
        char what[200], detail[1400];
        comparison c;
        const int pick = suite_candidate(s, p, NAME, ways[way]);
        const bool offered = compare_candidate_with_host(s->context, s->pool, p, NAME, pick, true, seed, &c);
        const bool refused = c.error.status == STN_ERROR_INVALID_ARGUMENT; /* no such candidate */
        const bool odd_layout = p->in_stride[0] != 0 || p->out_stride[0] != 0;
        snprintf(what, sizeof what, "%s: %dD %zu x %zu x %zu, %zu taps, %s, %llu steps%s, %s", part,
                 stn_stencil_rank(p->stencil), p->extent[0], p->extent[1], p->extent[2],
                 stn_stencil_tap_count(p->stencil), stn_dtype_name(p->dtype), (unsigned long long)p->steps,
                 p->in_place ? ", in place" : "", ways[way]);
        suite_detail(&c, detail, sizeof detail);
        if (!serves(p, way) || (odd_layout && refused && way != STAGED))
            suite_report(s, refused, what, "a way that does not serve was offered");
        else
            suite_report(s, offered, what, detail);
        if (offered) s->worst = fmax(s->worst, c.relative_l2 / c.bar);
    }
}

static void sizes(suite *s) {
    static const int extents[][3] = {{64, 0, 0}, {1, 0, 0},  {2, 0, 0},   {97, 0, 0},  {2500, 0, 0}, {8, 12, 0},
                                     {13, 1, 0}, {1, 14, 0}, {11, 31, 0}, {6, 5, 4},   {7, 1, 9},    {1, 6, 11},
                                     {5, 4, 1},  {3, 70, 0}, {40, 3, 0},  {4, 3, 2050}};
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (int dtype = 0; dtype < 3; dtype++)
            for (int taps = 0; taps < 3; taps++) {
                const int rank = extents[e][2] ? 3 : extents[e][1] ? 2 : 1;
                if (((int)e + dtype + taps) % 3 || (!s->full && extents[e][rank - 1] > 2000 && dtype + taps > 1))
                    continue;
                dice d = {e * 100 + (uint64_t)(dtype * 10 + taps) + 77};
                /* Taps reach at most the shortest extent; on a single point, cancellation loses
                 * f32's bits. */
                int least = 5;
                for (int axis = 0; axis < rank; axis++) least = extents[e][axis] < least ? extents[e][axis] : least;
                const int steps = dtype == STN_F16 ? 4 : least < 5 ? 12 : 200;
                stn_stencil *stencil =
                    random_stencil(&d, rank, (taps_kind)taps, rank == 3 ? 1 : dice_int(&d, 1, least));
                const stn_problem p =
                    periodic_problem(stencil, extents[e], (stn_dtype)dtype, (uint64_t)dice_int(&d, 1, steps));
                check(s, "sizes", &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* Symmetric weights, whose symbol is real, mostly of one sign, so that the result stays large over
 * many steps. */
static void real_symbols(suite *s) {
    static const char *const names[] = {"heat-1d",    "1d7p",    "heat-2d",  "box-2d49p",
                                        "star-2d13p", "heat-3d", "box-3d27p"};
    static const int extents[3][3] = {{150, 0, 0}, {20, 27, 0}, {9, 8, 10}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int dtype = 0; dtype < 2; dtype++) {
            stn_stencil *stencil = NULL;
            stn_stencil_parse(names[i], &stencil, NULL);
            const stn_problem p =
                periodic_problem(stencil, extents[stn_stencil_rank(stencil) - 1], (stn_dtype)dtype, 1 + 37 * i);
            check(s, names[i], &p, 5 + i);
            stn_stencil_destroy(stencil);
        }
}

/* Padding (also after odd rows), batches, in place, alignment to single elements, a strided last
 * axis, axes in reverse order. */
static void layouts(suite *s) {
    for (int rank = 1; rank <= 3; rank++)
        for (int layout = 0; layout < 9; layout++) {
            static const int extents[3][3] = {{60, 0, 0}, {10, 13, 0}, {5, 6, 7}}, odd[3] = {61, 13, 7};
            dice d = {(uint64_t)(500 + rank * 10 + layout)};
            stn_stencil *stencil = random_stencil(&d, rank, TAPS_BOX, 1);
            stn_problem p = periodic_problem(stencil, extents[rank - 1], (stn_dtype)(layout % 2), 9);
            ptrdiff_t in = 1, out = 1;
            for (int axis = rank - 1; axis >= 0 && (layout == 0 || layout == 6); axis--) {
                if (layout == 6) in *= 2, out *= 3;
                p.in_stride[axis] = in, p.out_stride[axis] = out;
                in *= (ptrdiff_t)p.extent[axis] + 3, out *= (ptrdiff_t)p.extent[axis] + 4;
            }
            /* the first axis is the fastest */
            for (int axis = 0; axis < rank && layout == 7; axis++) {
                p.in_stride[axis] = p.out_stride[axis] = in;
                in *= (ptrdiff_t)p.extent[axis];
            }
            if (layout == 1 || layout == 4) p.batch = 3;
            if (layout == 2 || layout == 4) p.in_place = 1;
            if (layout == 3) p.alignment = (int)stn_dtype_size(p.dtype);
            if (layout == 5) p.batch = 2, p.in_batch_stride = 1001, p.out_batch_stride = 999;
            if (layout == 8) { /* odd rows, padded to even length */
                p.extent[rank - 1] = (size_t)odd[rank - 1];
                for (int axis = rank - 1; axis >= 0; axis--)
                    p.out_stride[axis] = out, out *= axis == rank - 1 ? odd[rank - 1] + 1 : (ptrdiff_t)p.extent[axis];
                if (rank == 1) p.batch = 2, p.out_batch_stride = out;
            }
            check(s, "layouts", &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* The result is K^T times a cosine: 1 - K = 4 alpha times the sum of sin^2 of half its angles. */
static void modes(suite *s) {
    static const uint64_t steps[] = {1, 1000, 1000000};
    for (int which = 0; which < 9; which++) {
        enum { N = 45, LINES = 14 };
        static double in[LINES * N], out[LINES * N];
        const uint64_t T = steps[which / 3];
        const int m = 1 + which % 3;
        const double alpha = fmin(0.2, 1.0 / (double)T), turn = 2 * M_PI * m;
        stn_tap taps[5] = {
            {{0, 0}, 1 - 4 * alpha}, {{0, 1}, alpha}, {{0, -1}, alpha}, {{1, 0}, alpha}, {{-1, 0}, alpha}};
        stn_stencil *stencil = NULL;
        stn_stencil_create(2, 5, taps, &stencil, NULL);
        const stn_problem p = periodic_problem(stencil, (int[3]){LINES, N, 0}, STN_F64, T);
        for (int i = 0; i < LINES * N; i++) {
            const int line = i / N;
            in[i] = cos(turn * line / LINES) * cos(turn * (i % N) / N), out[i] = NAN;
        }
        const long double y = sinl(turn / LINES / 2), x = sinl(turn / N / 2);
        const long double whole = 1 - 4 * alpha; /* as rounded in the taps */
        const long double factor = expl(
            (long double)T * log1pl((whole + 4 * (long double)alpha - 1) - 4 * (long double)alpha * (y * y + x * x)));
        comparison c = {.bar = 1e-13 * (1 + log2((double)T))};
        const bool good = compare_run(s->context, &p, NAME, -1, in, sizeof in, out, sizeof out, &c) == STN_OK;
        double off = 0, size = 0;
        for (int i = 0; i < LINES * N; i++)
            off += pow(out[i] - (double)factor * in[i], 2), size += pow((double)factor * in[i], 2);
        char what[120], detail[1200];
        snprintf(what, sizeof what, "modes: %d, %llu steps, factor %.3Lg", m, (unsigned long long)T, factor);
        snprintf(detail, sizeof detail, "relative L2 %.3g, bar %.3g; %s", sqrt(off / size), c.bar, c.error.message);
        suite_report(s, good && sqrt(off / size) <= c.bar, what, detail);
        stn_stencil_destroy(stencil);
    }
}

/* New weights: from a real symbol to another one, to a complex one and back. */
static void new_weights(suite *s) {
    enum { NY = 12, NX = 21 };
    dice d = {4711};
    double grid[NY * NX];
    for (int i = 0; i < NY * NX; i++) grid[i] = dice_real(&d);
    stn_stencil *old = NULL;
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_error error = {0};
    options.strategy = NAME;
    stn_stencil_parse("box-2d9p", &old, NULL);
    stn_problem p = periodic_problem(old, (int[3]){NY, NX, 0}, STN_F64, 30);
    bool made = stn_plan_create(s->context, &p, &options, &plan, &error) == STN_OK;
    for (int turn = 0; turn < 4; turn++) {
        stn_tap taps[9];
        double weights[9], sum = 0;
        for (int i = 0; i < 9; i++) {
            taps[i] = stn_stencil_taps(old)[i];
            weights[i] = turn == 1 || turn == 2 ? dice_real(&d) : 1 + turn * abs(i - 4) % 2;
            sum += fabs(weights[i]);
        }
        for (int i = 0; i < 9; i++) taps[i].weight = weights[i] /= sum;
        stn_problem q = p;
        stn_stencil *fresh = NULL;
        stn_stencil_create(2, 9, taps, &fresh, NULL);
        q.stencil = fresh;
        const bool good = made && stn_plan_set_weights(plan, 9, weights, &error) == STN_OK;
        const double off = good ? compare_plan_with_host(s->context, plan, &q, grid, NY * NX) : INFINITY;
        char what[80], detail[1200];
        snprintf(what, sizeof what, "new weights, turn %d", turn);
        snprintf(detail, sizeof detail, "relative L2 %.3g, %s", off, error.message);
        suite_report(s, off < 6e-13, what, detail);
        stn_stencil_destroy(fresh);
    }
    stn_plan_destroy(plan);
    stn_stencil_destroy(old);
}

/* Other boundaries are refused. */
static void refusals(suite *s) {
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_error error = {0};
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_stencil_parse("heat-2d", &stencil, NULL);
    stn_problem p = periodic_problem(stencil, (int[3]){20, 30, 0}, STN_F64, 5);
    p.boundary[1][1].kind = p.boundary[1][0].kind = STN_FIXED;
    options.strategy = NAME;
    const stn_status status = stn_plan_create(s->context, &p, &options, &plan, &error);
    suite_report(s, status == STN_ERROR_UNSUPPORTED && strstr(error.message, "wrap"), "refusals: fixed sides",
                 error.message);
    stn_stencil_destroy(stencil);
}

/* Without cuFFT another strategy is chosen; asking for this one by name gives the reason. */
static void absent(suite *s) {
    const char *before = getenv("STENTOR_CUFFT_PATH");
    char saved[4096];
    snprintf(saved, sizeof saved, "%s", before ? before : "");
    setenv("STENTOR_CUFFT_PATH", "/nowhere/libcufft.so", 1);
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_context *context = NULL;
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_error error = {0};
    options.device = STN_DEVICE_CUDA(0), options.cache_dir = ":memory:";
    bool good = stn_context_create(&options, &context, &error) == STN_OK;
    stn_stencil_parse("star-2d13p", &stencil, NULL);
    stn_problem p = periodic_problem(stencil, (int[3]){20, 30, 0}, STN_F64, 5);
    /* not for `spectral` */
    p.in_stride[0] = p.out_stride[0] = 1, p.in_stride[1] = p.out_stride[1] = 20;
    stn_plan_options named = STN_PLAN_OPTIONS_INIT;
    named.strategy = NAME;
    stn_status status = good ? stn_plan_create(context, &p, &named, &plan, &error) : STN_ERROR_INTERNAL;
    suite_report(s, status == STN_ERROR_UNSUPPORTED && strstr(error.message, "/nowhere"), "absent: by name",
                 error.message);
    plan = NULL;
    status = good ? stn_plan_create(context, &p, NULL, &plan, &error) : STN_ERROR_INTERNAL;
    suite_report(s, status == STN_OK && strcmp(stn_plan_strategy(plan), NAME) != 0, "absent: any strategy",
                 error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
    if (before)
        setenv("STENTOR_CUFFT_PATH", saved, 1);
    else
        unsetenv("STENTOR_CUFFT_PATH");
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"sizes", sizes},  {"real", real_symbols},       {"layouts", layouts},
                                       {"modes", modes},  {"new-weights", new_weights}, {"refusals", refusals},
                                       {"absent", absent}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
