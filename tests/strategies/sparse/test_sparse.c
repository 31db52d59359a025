/* sparse against the host: ranks, radii, steps, sides, sizes, layouts, in f16 and in f32 by
 * tolerance, on any device (the emulator in CI, a GPU elsewhere). Prints TAP. Usage: test_sparse
 * [--full] [--only PART] [--dtype T] [--tolerance X]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../suite.h"

#define TOLERANCE 1e-3 /* for f32, by tf32 */

/* Without --dtype, cases alternate between f16 and f32; in 3D sparse supports f16 only. */
static void check(suite *s, const char *what, stn_problem p, int variant, uint64_t seed) {
    const bool f32 = variant % 2 && stn_stencil_rank(p.stencil) < 3;
    p.dtype = f32 ? STN_F32 : STN_F16;
    p.tolerance = f32 ? TOLERANCE : 0;
    char typed[200];
    snprintf(typed, sizeof typed, "%s, %s", stn_dtype_name(s->dtype_given ? s->dtype : p.dtype), what);
    suite_compare(s, "sparse", true, typed, &p, seed);
}

static stn_problem problem_of(const stn_stencil *stencil, const int n[3], uint64_t steps) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    for (int axis = 0; axis < stn_stencil_rank(stencil); axis++) p.extent[axis] = (size_t)n[axis];
    p.steps = steps;
    return p;
}

static void random_size(dice *d, int rank, int n[3]) {
    n[0] = rank == 1 ? dice_int(d, 600, 17000) : rank == 2 ? dice_int(d, 65, 150) : dice_int(d, 5, 12);
    n[1] = rank == 2 ? dice_int(d, 65, 200) : dice_int(d, 20, 80);
    n[2] = dice_int(d, 40, 150);
}

/* Every pair of sides on every axis, the others random: fused launches and faces. */
static void boundaries(suite *s) {
    int variant = 0;
    for (side_pair at = {.rank = 1}; suite_side_pair(s, 3, 17, 37, &at);) {
        int n[3], radius = dice_int(&at.d, 1, at.rank == 3 ? 1 : 2);
        random_size(&at.d, at.rank, n);
        stn_stencil *stencil = random_stencil(&at.d, at.rank, (taps_kind)dice_int(&at.d, 0, 2), radius);
        stn_problem p = problem_of(stencil, n, (uint64_t)dice_int(&at.d, 1, at.rank == 3 ? 4 : 12));
        suite_set_sides(&at, &p);
        char what[160];
        snprintf(what, sizeof what, "%s, radius %d, %llu steps", at.what, radius, (unsigned long long)p.steps);
        check(s, what, p, variant++, at.d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Every radius and tap pattern, one step and a few. */
static void radii(suite *s) {
    int variant = 0;
    for (int rank = 1; rank <= 3; rank++)
        for (int radius = 1; radius <= (rank == 1 ? 20 : rank == 2 ? 9 : 2); radius++)
            for (int taps = 0; taps < 3; taps++) {
                if (!s->full && (radius + 4 * taps + rank) % 9) continue;
                dice d = {(uint64_t)(rank * 1000 + radius * 10 + taps)};
                int n[3];
                random_size(&d, rank, n);
                stn_stencil *stencil = random_stencil(&d, rank, (taps_kind)taps, radius);
                stn_problem p = problem_of(stencil, n, (uint64_t)dice_int(&d, 1, 3));
                char what[160];
                snprintf(what, sizeof what, "%dD %s radius %d, %llu steps", rank, taps_names[taps], radius,
                         (unsigned long long)p.steps);
                check(s, what, p, variant++, d.state);
                stn_stencil_destroy(stencil);
            }
    dice d = {77};
    stn_stencil *volume = random_stencil(&d, 3, TAPS_STAR, 1);
    stn_problem p = problem_of(volume, (int[3]){20, 30, 40}, 3);
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    stn_error error = {0};
    options.strategy = "sparse", p.dtype = STN_F32, p.tolerance = TOLERANCE;
    const bool refused = stn_plan_create(s->context, &p, &options, &plan, &error) == STN_ERROR_UNSUPPORTED;
    suite_report(s, refused && strstr(error.message, "many launches"), "3D in f32 is refused in a sentence",
                 error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(volume);
}

/* Taps that reach further to one side; a single centre tap; upwind. */
static void lopsided(suite *s) {
    static const int reaches[][2] = {{0, 1}, {0, 7}, {7, 0}, {1, 9}, {14, 0}, {0, 15}, {3, 11}, {0, 0}, {16, 1}};
    for (size_t i = 0; i < sizeof reaches / sizeof *reaches; i++)
        for (int rank = 1; rank <= 2; rank++) {
            if (!s->full && (i + (size_t)rank) % 4) continue;
            dice d = {i};
            stn_tap taps[40];
            size_t count = 0;
            for (int x = -reaches[i][0]; x <= reaches[i][1]; x++) {
                stn_tap tap = {{0, 0, 0}, (0.2 + dice_real(&d)) / (reaches[i][0] + reaches[i][1] + 1)};
                if (rank == 2) tap.offset[0] = x % 2 ? 0 : -1;
                tap.offset[rank - 1] = x;
                taps[count++] = tap;
            }
            stn_stencil *stencil = NULL;
            if (stn_stencil_create(rank, count, taps, &stencil, NULL) != STN_OK) continue;
            const int n[3] = {rank == 1 ? 9001 : 77, 131, 0};
            stn_problem p = problem_of(stencil, n, 1 + i % 3);
            random_sides(&d, &p, rank);
            char what[160];
            snprintf(what, sizeof what, "%dD from -%d to %d, %llu steps", rank, reaches[i][0], reaches[i][1],
                     (unsigned long long)p.steps);
            check(s, what, p, (int)i, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Sizes around those of tiles; far smaller than the reach of the taps. */
static void sizes(suite *s) {
    static const int planes[][2] = {{1, 1},    {1, 40},   {40, 1},  {2, 3},    {15, 17}, {64, 128},
                                    {63, 127}, {65, 129}, {130, 8}, {3, 1000}, {200, 1}};
    static const int lines[] = {1, 2, 7, 127, 128, 129, 8191, 8192, 8193, 16500};
    dice d = {17};
    for (int dtype = 0; dtype < 2; dtype++) {
        stn_stencil *line = random_stencil(&d, 1, TAPS_BOX, 1), *plane = random_stencil(&d, 2, TAPS_BOX, 1);
        for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
            if (!s->full && (i + (size_t)dtype) % 2) continue;
            char what[80];
            snprintf(what, sizeof what, "1D, %d points, 9 steps", lines[i]);
            check(s, what, problem_of(line, (int[3]){lines[i], 0, 0}, 9), dtype, i);
        }
        for (size_t i = 0; i < sizeof planes / sizeof *planes; i++) {
            if (!s->full && (i + (size_t)dtype) % 2) continue;
            char what[80];
            snprintf(what, sizeof what, "2D, %d x %d points, 4 steps", planes[i][0], planes[i][1]);
            check(s, what, problem_of(plane, (int[3]){planes[i][0], planes[i][1], 0}, 4), dtype, i);
        }
        stn_stencil_destroy(line);
        stn_stencil_destroy(plane);
    }
}

/* Long runs, in which the launches' errors could add up; two lengths of launches. */
static void steps(suite *s) {
    static const struct {
        const char *name;
        int n[3];
        uint64_t steps;
    } runs[] = {{"heat-1d", {5000, 0, 0}, 500},  {"heat-2d", {70, 140, 0}, 50}, {"box-2d9p", {64, 130, 0}, 23},
                {"star-2d13p", {66, 129, 0}, 9}, {"box-2d49p", {66, 70, 0}, 5}, {"box-3d27p", {9, 66, 40}, 5}};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        for (int dtype = 0; dtype < 2; dtype++) {
            if (!s->full && ((i + (size_t)dtype) % 2 || i == 3 || i == 5)) continue;
            stn_stencil *stencil = NULL;
            stn_stencil_parse(runs[i].name, &stencil, NULL);
            char what[100];
            snprintf(what, sizeof what, "%s, %llu steps", runs[i].name, (unsigned long long)runs[i].steps);
            check(s, what, problem_of(stencil, runs[i].n, runs[i].steps), dtype, i);
            stn_stencil_destroy(stencil);
        }
}

/* Launches of two lengths, with taps without a centre tap: the shorter ones reach rows that the
 * longer ones do not. */
static void uneven(suite *s) {
    static const struct {
        int rank, n[3], offset[2][3];
        uint64_t steps;
    } cases[] = {{3, {3, 1, 40}, {{1, 0, 0}, {1, 0, 0}}, 41},
                 {3, {4, 9, 20}, {{1, 0, 0}, {0, 1, 1}}, 29},
                 {2, {40, 50, 0}, {{2, 0, 0}, {2, 1, 0}}, 17},
                 {2, {7, 30, 0}, {{-1, 0, 0}, {-1, 0, 0}}, 31}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_tap taps[2] = {{{0}, -0.6}, {{0}, -0.4}};
        for (int t = 0; t < 2; t++)
            for (int axis = 0; axis < cases[i].rank; axis++) taps[t].offset[axis] = cases[i].offset[t][axis];
        stn_stencil *stencil = NULL;
        stn_stencil_create(cases[i].rank, memcmp(taps[0].offset, taps[1].offset, sizeof taps[0].offset) ? 2 : 1, taps,
                           &stencil, NULL);
        char what[100];
        snprintf(what, sizeof what, "%dD, no tap in the middle, %llu steps", cases[i].rank,
                 (unsigned long long)cases[i].steps);
        check(s, what, problem_of(stencil, cases[i].n, cases[i].steps), (int)i, i);
        stn_stencil_destroy(stencil);
    }
}

/* Every candidate: other numbers of fused steps, weights in one part and in two. */
static void candidates(suite *s) {
    static const char *const names[] = {"heat-1d", "heat-2d", "star-2d13p", "heat-3d"};
    static const char *const needed[] = {"f16 x 2", "tf32 x 2", "sparse f16", "sparse tf32"};
    bool seen[sizeof needed / sizeof *needed] = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int pick = 0; pick < 6; pick++) {
            if (!s->full && (((i + (size_t)pick) % 3 && pick < 4) || i > 1)) continue;
            dice d = {i * 100 + (uint64_t)pick};
            stn_stencil *stencil = NULL;
            stn_stencil_parse(names[i], &stencil, NULL);
            int n[3];
            random_size(&d, stn_stencil_rank(stencil), n);
            stn_problem p = problem_of(stencil, n, 6);
            random_sides(&d, &p, stn_stencil_rank(stencil));
            const bool f32 = stn_stencil_rank(stencil) < 3 && (pick / 2 % 2 || pick == 5);
            p.dtype = f32 ? STN_F32 : STN_F16;
            p.tolerance = TOLERANCE;
            comparison c;
            int which = pick < 4 ? pick : suite_candidate(s, &p, "sparse", " x 2 ");
            bool good = compare_candidate_with_host(s->context, s->pool, &p, "sparse", which, true, d.state, &c);
            /* No more candidates. */
            const bool over = !good && pick > 1 && c.error.status == STN_ERROR_INVALID_ARGUMENT;
            if (over) stn_stencil_destroy(stencil);
            if (over) break;
            for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
                seen[k] = seen[k] || strstr(c.parameters, needed[k]);
            char what[400], detail[1200];
            snprintf(what, sizeof what, "%s, candidate %d: %s", names[i], pick, c.parameters);
            s->worst = fmax(s->worst, good ? c.relative_l2 / c.bar : 0);
            suite_detail(&c, detail, sizeof detail);
            suite_report(s, good, what, detail);
            stn_stencil_destroy(stencil);
        }
    for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
        suite_report(s, seen[k], needed[k], "no candidate says so in its description");
}

/* Separable taps, as chains: all sides, reaches, fused steps, weights in one part and in two. */
static void chains(suite *s) {
    int seen = 0;
    for (int variant = 0; variant < (s->full ? 120 : 7); variant++) {
        dice d = {(uint64_t)(500 + variant)};
        int n[3] = {dice_int(&d, 30, 200), dice_int(&d, 30, 300), 0};
        /* Of 7, the window along y has an odd number of products. */
        stn_stencil *stencil = product_stencil(&d, 2, variant == 5 ? 7 : dice_int(&d, 1, 6));
        stn_problem p = problem_of(stencil, n, (uint64_t)dice_int(&d, 1, 9));
        random_sides(&d, &p, 2);
        if (variant % 3 == 0) p.batch = 2;
        if (variant % 5 == 0) p.alignment = variant % 2 ? 4 : 2;
        p.dtype = variant % 2 ? STN_F32 : STN_F16;
        p.tolerance = TOLERANCE;
        comparison c;
        int pick = suite_candidate(s, &p, "sparse", variant % 3 == 2 ? " as a chain| x 2" : " as a chain");
        bool good = compare_candidate_with_host(s->context, s->pool, &p, "sparse", pick, true, d.state, &c);
        if (!good && c.error.status == STN_ERROR_INVALID_ARGUMENT) /* there is none */
            good = compare_candidate_with_host(s->context, s->pool, &p, "sparse", 0, true, d.state, &c);
        bool chain = strstr(c.parameters, "sparse_chain") != NULL;
        seen += chain;
        char what[400], detail[1200];
        snprintf(what, sizeof what, "%d x %d, %s, %llu steps: %s", n[0], n[1], stn_dtype_name(p.dtype),
                 (unsigned long long)p.steps, c.parameters);
        s->worst = fmax(s->worst, good ? c.relative_l2 / c.bar : 0);
        suite_detail(&c, detail, sizeof detail);
        suite_report(s, good, what, detail);
        stn_stencil_destroy(stencil);
    }
    suite_report(s, seen > 4, "most of them are chains", NULL);
}

/* Taps that are sums of two or three products, as so many chains: all sides, reaches, launches of
 * two lengths, many launches. */
static void sums(suite *s) {
    static const char *const names[] = {"heat-2d", "box-2d9p", "box-2d49p", "star-2d13p", "heat-2d:alpha=0.25"};
    int seen = 0, of_three = 0;
    for (int variant = 0; variant < (s->full ? 60 : 5); variant++) {
        dice d = {(uint64_t)(900 + variant)};
        int n[3] = {dice_int(&d, 90, 230), dice_int(&d, 90, 300), 0};
        stn_stencil *stencil = NULL;
        stn_stencil_parse(names[variant % 5], &stencil, NULL);
        stn_problem p = problem_of(stencil, n, (uint64_t)dice_int(&d, 12, s->full ? 200 : 40));
        if (variant % 2) random_sides(&d, &p, 2);
        if (variant % 4 == 0) p.batch = 2;
        p.dtype = variant % 3 == 1 ? STN_F32 : STN_F16;
        p.tolerance = TOLERANCE;
        if (s->full && variant % 10 == 0) p.steps = 1000;
        comparison c;
        int pick = suite_candidate(s, &p, "sparse", " chains");
        bool good = compare_candidate_with_host(s->context, s->pool, &p, "sparse", pick, true, d.state, &c);
        /* All candidates would be too inaccurate. */
        bool none = !good && c.error.status == STN_ERROR_INVALID_ARGUMENT;
        char what[400], detail[1200];
        snprintf(what, sizeof what, "%s, %d x %d, %s, %llu steps: %s", names[variant % 5], n[0], n[1],
                 stn_dtype_name(p.dtype), (unsigned long long)p.steps, none ? "no sum" : c.parameters);
        suite_detail(&c, detail, sizeof detail);
        s->worst = fmax(s->worst, good ? c.relative_l2 / c.bar : 0);
        seen += strstr(c.parameters, "separable terms") != NULL;
        of_three += strstr(c.parameters, "3 separable terms") != NULL;
        suite_report(s, good || none, what, detail);
        stn_stencil_destroy(stencil);
    }
    suite_report(s, seen > 2 && of_three > 0, "some of them are sums of chains, of three too", NULL);
}

/* Chains on rows that begin at any element, of several blocks: all sides, pitches, alignments,
 * batches, in place. Drawn at random, but for the first one, whose taps reach no other column: an
 * element beside a row's last point, here NaN, must not enter a product with weights of 0. */
static void unaligned(suite *s) {
    const char *given = getenv("STENTOR_TEST_SEED");
    dice d = {given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL)};
    printf("# unaligned, seed %llu\n", (unsigned long long)d.state);
    const int wanted = s->full ? 40 : 5;
    int compared = 0;
    for (int drawn = 0; compared < wanted && drawn < 4 * wanted; drawn++) {
        static const char *const names[] = {"heat-2d", "box-2d9p", "star-2d13p"};
        const bool small = dice_int(&d, 0, 3) == 0;
        int n[3] = {small ? dice_int(&d, 1, 40) : dice_int(&d, 30, 200),
                    small ? dice_int(&d, 1, 150) : dice_int(&d, 290, 600), 0};
        if (!drawn) n[0] = 24, n[1] = 17;
        static const stn_tap column[] = {{{-1}, 0.25}, {{0}, 0.5}, {{1}, 0.25}};
        const int name = drawn ? dice_int(&d, 0, 5) : 2;
        stn_stencil *stencil = NULL;
        if (!drawn)
            stn_stencil_create(2, 3, column, &stencil, NULL);
        else if (name < 3)
            stn_stencil_parse(names[name], &stencil, NULL);
        else
            stencil = product_stencil(&d, 2, dice_int(&d, 1, 4));
        stn_problem p = problem_of(stencil, n, (uint64_t)dice_int(&d, name < 3 ? 6 : 1, 9));
        if (drawn) random_sides(&d, &p, 2);
        p.batch = (size_t)dice_int(&d, 1, 2), p.in_place = drawn && dice_int(&d, 0, 4) == 0;
        if (!drawn || dice_int(&d, 0, 1)) {
            p.in_stride[1] = p.out_stride[1] = 1, p.in_stride[0] = n[1] + (drawn ? dice_int(&d, 0, 9) : 2);
            p.out_stride[0] = p.in_place ? p.in_stride[0] : n[1] + dice_int(&d, 0, 9);
        }
        p.dtype = !drawn || dice_int(&d, 0, 2) ? STN_F16 : STN_F32, p.alignment = p.dtype == STN_F16 ? 2 : 4;
        p.tolerance = TOLERANCE;
        char what[120];
        snprintf(what, sizeof what, "unaligned %d x %d, %d apart, %s, %llu steps%s", n[0], n[1], (int)p.in_stride[0],
                 stn_dtype_name(p.dtype), (unsigned long long)p.steps, p.in_place ? ", in place" : "");
        const char *const words = drawn && name < 3 ? " chains" : " as a chain";
        if (suite_ranks(s, &p, "sparse", words)) {
            suite_compare_words(s, "sparse", words, what, &p, d.state);
            compared++;
        }
        stn_stencil_destroy(stencil);
    }
    suite_report(s, compared == wanted, "enough of the problems drawn have a chain", "fewer have one");
}

#define NY 66
#define NX 90

/* Sets the plan's weights to w, of 3 x 3 taps: it must agree with the host's result for them. */
static void check_weights(suite *s, stn_plan *plan, stn_problem p, const double w[9], const char *what) {
    static double in[NY * NX];
    dice d = {7};
    for (int i = 0; i < NY * NX; i++) in[i] = dice_real(&d);
    stn_stencil *fresh = NULL;
    stn_error error = {0};
    stn_stencil_create_dense(2, (const size_t[2]){3, 3}, w, &fresh, NULL);
    p.stencil = fresh;
    stn_status status = stn_plan_set_weights(plan, 9, w, &error);
    double off = status == STN_OK ? compare_plan_with_host(s->context, plan, &p, in, NY * NX) : INFINITY;
    char detail[1200];
    snprintf(detail, sizeof detail, "error %.3g; %s", off, error.message);
    suite_report(s, off < TOLERANCE, what, detail);
    stn_stencil_destroy(fresh);
}

/* New weights need no new kernel, except that one chain takes separable weights only: for others
 * the plan chooses again. */
static void new_weights(suite *s) {
    static const double product[9] = {0.02, 0.06, 0.04, 0.1, 0.3, 0.2, 0.05, 0.15, 0.1},
                        other[9] = {0.1, -0.2, 0.1, 0.05, -0.1, 0.05, -0.2, 0.4, -0.2},
                        any[9] = {0.3, -0.1, 0.2, 0.05, 0.1, -0.15, 0.02, 0.2, 0.1};
    for (int chain = 0; chain < 2; chain++) {
        stn_stencil *stencil = NULL;
        stn_plan *plan = NULL;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        stn_error error = {0};
        stn_stencil_create_dense(2, (const size_t[2]){3, 3}, chain ? product : any, &stencil, NULL);
        stn_problem p = problem_of(stencil, (int[3]){NY, NX, 0}, 5);
        p.boundary[0][0].kind = p.boundary[0][1].kind = STN_REFLECT;
        p.dtype = chain ? STN_F16 : STN_F32;
        p.tolerance = TOLERANCE;
        options.strategy = "sparse";
        stn_status status = stn_plan_create(s->context, &p, &options, &plan, &error);
        suite_report(s, status == STN_OK, chain ? "a plan for separable weights" : "a plan for weights", error.message);
        if (plan) check_weights(s, plan, p, other, "other weights");
        if (plan) check_weights(s, plan, p, chain ? any : product, chain ? "no products any more" : "more");
        stn_plan_destroy(plan);
        stn_stencil_destroy(stencil);
    }
}

typedef enum layout_kind { PADDED, ODD_ROWS, BATCHED, ODD_GRIDS, IN_PLACE, UNALIGNED, LAYOUTS } layout_kind;
static const char *const layout_names[] = {
    "padded rows", "rows of an odd pitch", "a batch", "grids an odd way apart", "in place", "alignment of one element"};

static void layouts(suite *s) {
    int variant = 0;
    for (int rank = 1; rank <= 2; rank++)
        for (int layout = 0; layout < LAYOUTS; layout++)
            for (uint64_t t = 1; t <= 16; t += 15) {
                if (rank == 1 && layout <= ODD_ROWS) continue;
                if (!s->full && (rank + layout + (int)(t / 8)) % 2) continue;
                dice d = {(uint64_t)(rank * 100 + layout)};
                stn_stencil *stencil = random_stencil(&d, rank, TAPS_STAR, 1);
                stn_problem p = problem_of(stencil, (int[3]){rank == 1 ? 777 : 41, 54, 0}, t);
                if (layout == PADDED || layout == ODD_ROWS || (layout == ODD_GRIDS && rank == 2)) {
                    p.in_stride[1] = p.out_stride[1] = 1;
                    p.in_stride[0] = layout == ODD_ROWS ? 57 : 64;
                    p.out_stride[0] = layout == ODD_ROWS ? 61 : 96;
                }
                if (layout == BATCHED || layout == ODD_GRIDS) p.batch = 3;
                if (layout == ODD_GRIDS) p.in_batch_stride = 64 * 41 + 777, p.out_batch_stride = 96 * 41 + 777;
                p.boundary[rank - 1][0].kind = p.boundary[rank - 1][1].kind = layout % 2 ? STN_REFLECT : STN_WRAP;
                if (layout == IN_PLACE) p.in_place = 1;
                if (layout == UNALIGNED) p.alignment = variant % 2 ? 4 : 2;
                char what[160];
                snprintf(what, sizeof what, "%dD %s, %llu steps", rank, layout_names[layout], (unsigned long long)t);
                check(s, what, p, variant++, d.state);
                stn_stencil_destroy(stencil);
            }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"boundaries", boundaries},
                                       {"radii", radii},
                                       {"lopsided", lopsided},
                                       {"sizes", sizes},
                                       {"steps", steps},
                                       {"uneven", uneven},
                                       {"candidates", candidates},
                                       {"chains", chains},
                                       {"sums", sums},
                                       {"unaligned", unaligned},
                                       {"new-weights", new_weights},
                                       {"layouts", layouts}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
