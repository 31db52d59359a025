/* segment compared with host: sides, steps, sizes, layouts, segment lengths and positions, new
 * weights, on any device (the emulator in CI, a GPU elsewhere). Prints TAP. Usage: test_segment
 * [--full] [--only PART] [--dtype T]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"

static stn_problem line_of(const stn_stencil *stencil, int n, uint64_t steps) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.extent[0] = (size_t)n;
    p.steps = steps;
    return p;
}

static void set_sides(stn_problem *p, int axis, int low, int high) {
    p->boundary[axis][0] = (stn_boundary){(stn_boundary_kind)low, low == STN_CONSTANT ? 0.7 : 0};
    p->boundary[axis][1] = (stn_boundary){(stn_boundary_kind)high, high == STN_CONSTANT ? -1.3 : 0};
}

/* Asymmetric weights of the given radius, for wrap or between stepped margins. */
static stn_stencil *uneven_line(dice *d, int radius) { return random_stencil(d, 1, TAPS_BOX, radius); }

/* Symmetric weights whose absolute values sum to 1. */
static stn_stencil *even_line(dice *d, int radius) {
    stn_tap taps[2 * 8 + 1];
    double sum = 0;
    for (int k = 0; k <= radius; k++) {
        double weight = (0.1 + fabs(dice_real(d))) * (dice_int(d, 0, 3) ? 1 : -1);
        taps[radius - k] = (stn_tap){{-k, 0, 0}, weight};
        taps[radius + k] = (stn_tap){{k, 0, 0}, weight};
        sum += fabs(weight) * (k ? 2 : 1);
    }
    for (int i = 0; i < 2 * radius + 1; i++) taps[i].weight /= sum;
    stn_stencil *stencil = NULL;
    stn_stencil_create(1, (size_t)(2 * radius + 1), taps, &stencil, NULL);
    return stencil;
}

/* The same taps divided by their largest |symbol|, so that no number of steps makes all of a result
 * underflow. Weights of both signs whose absolute values sum to 1 leave 1e-300 of it after 2000
 * steps. */
static stn_stencil *lasting(stn_stencil *stencil) {
    stn_tap taps[2 * 8 + 1];
    size_t count = stn_stencil_tap_count(stencil);
    double most = 0;
    memcpy(taps, stn_stencil_taps(stencil), count * sizeof *taps);
    for (int i = 0; i <= 4096; i++) {
        double real = 0, imaginary = 0;
        for (size_t k = 0; k < count; k++) {
            real += taps[k].weight * cos(acos(-1) * i / 4096 * (double)taps[k].offset[0]);
            imaginary += taps[k].weight * sin(acos(-1) * i / 4096 * (double)taps[k].offset[0]);
        }
        most = fmax(most, hypot(real, imaginary));
    }
    for (size_t k = 0; k < count; k++) taps[k].weight /= most;
    stn_stencil_destroy(stencil);
    stn_stencil_create(1, count, taps, &stencil, NULL);
    return stencil;
}

static void check(suite *s, const char *what, const stn_problem *problem, uint64_t seed) {
    suite_compare(s, "segment", true, what, problem, seed);
}

/* Every pair of sides served exactly for symmetric taps: all at radius 1, only even ones above. */
static void folds(suite *s) {
    for (int radius = 1; radius <= 3; radius += 2)
        for (int low = 1; low < 6; low++)
            for (int high = 1; high < 6; high++) {
                if (radius > 1 && (low < STN_REFLECT || low == STN_FIXED || high < STN_REFLECT || high == STN_FIXED))
                    continue;
                if (!s->full && radius == 1 && (low * 5 + high) % 2) continue;
                dice d = {(uint64_t)(radius * 100 + low * 10 + high)};
                stn_stencil *stencil = even_line(&d, radius);
                stn_problem p = line_of(stencil, dice_int(&d, 5, 2500), (uint64_t)dice_int(&d, 1, 200));
                set_sides(&p, 0, low, high);
                char what[160];
                snprintf(what, sizeof what, "%s:%s, radius %d, %d points, %d steps", side_names[low], side_names[high],
                         radius, (int)p.extent[0], (int)p.steps);
                check(s, what, &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* Asymmetric weights: with wrap, or with stepped margins. */
static void margins(suite *s) {
    for (int low = 0; low < 6; low++)
        for (int high = low ? 1 : 0; high < (low ? 6 : 1); high++) {
            if (!s->full && (low + high) % 3) continue;
            dice d = {(uint64_t)(low * 10 + high)};
            int radius = dice_int(&d, 1, 3);
            stn_stencil *stencil = uneven_line(&d, radius);
            stn_problem p = line_of(stencil, dice_int(&d, 600, 3000), (uint64_t)dice_int(&d, 1, 60));
            set_sides(&p, 0, low, high);
            char what[160];
            snprintf(what, sizeof what, "uneven weights of radius %d, %s:%s, %d points, %d steps", radius,
                     side_names[low], side_names[high], (int)p.extent[0], (int)p.steps);
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* T = 1 to 4096. */
static void steps(suite *s) {
    static const int counts[] = {1, 2, 3, 7, 16, 64, 100, 255, 1000, 2047, 4096};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int kind = 0; kind < 3; kind++) {
            if (!s->full && kind != (int)i % 3) continue;
            dice d = {(uint64_t)(i * 10 + (size_t)kind)};
            stn_stencil *stencil = NULL;
            if (kind == 0)
                stn_stencil_parse("heat-1d", &stencil, NULL);
            else
                stencil = kind == 1 ? even_line(&d, 1) : lasting(uneven_line(&d, 2));
            stn_problem p = line_of(stencil, dice_int(&d, 1000, 5000), (uint64_t)counts[i]);
            if (kind == 1) set_sides(&p, 0, STN_FIXED, STN_CONSTANT);
            if (kind == 0) set_sides(&p, 0, STN_CONSTANT, STN_FIXED);
            char what[160];
            snprintf(what, sizeof what, "%d steps of %s", counts[i],
                     kind == 0   ? "heat-1d, constant:fixed"
                     : kind == 1 ? "even weights, fixed:constant"
                                 : "uneven weights, wrapped");
            if (kind == 2) set_sides(&p, 0, STN_WRAP, STN_WRAP);
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Sizes far smaller than a segment, primes, and sizes near the number of a segment's outputs. */
static void sizes(suite *s) {
    static const int counts[] = {3, 4, 5, 7, 31, 128, 251, 509, 512, 1021, 2047, 3952, 4096, 4099, 8191, 12289};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int kind = 0; kind < 3; kind++) {
            if (!s->full && kind != (int)i % 3) continue;
            if (kind && counts[i] < 4) continue; /* Rejected: lines have at least 4 points. */
            dice d = {(uint64_t)counts[i]};
            stn_stencil *stencil = kind ? even_line(&d, 1) : uneven_line(&d, 1);
            stn_problem p = line_of(stencil, counts[i], 17);
            if (kind == 0) set_sides(&p, 0, STN_WRAP, STN_WRAP);
            if (kind == 1) set_sides(&p, 0, STN_MIRROR, STN_CONSTANT);
            if (kind == 2) set_sides(&p, 0, STN_FIXED, STN_FIXED);
            char what[80];
            snprintf(what, sizeof what, "%d points, %s", counts[i],
                     kind == 0   ? "wrapped"
                     : kind == 1 ? "mirror:constant"
                                 : "fixed");
            check(s, what, &p, i);
            stn_stencil_destroy(stencil);
        }
}

/* A segment that holds whole periods of the extended line needs no overlap at any reach. */
static void periods(suite *s) {
    static const struct {
        int n, low, high;
    } cases[] = {{512, STN_WRAP, STN_WRAP},         {64, STN_WRAP, STN_WRAP},         {256, STN_REFLECT, STN_REFLECT},
                 {512, STN_REFLECT, STN_REFLECT},   {1024, STN_REFLECT, STN_REFLECT}, {257, STN_MIRROR, STN_MIRROR},
                 {255, STN_CONSTANT, STN_CONSTANT}, {257, STN_FIXED, STN_FIXED},      {256, STN_CONSTANT, STN_FIXED},
                 {1024, STN_WRAP, STN_WRAP},        {128, STN_REFLECT, STN_REFLECT},  {256, STN_MIRROR, STN_CONSTANT},
                 {4096, STN_WRAP, STN_WRAP}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!s->full && i > 7) continue;
        dice d = {(uint64_t)i + 40};
        stn_stencil *stencil = cases[i].low == STN_WRAP ? uneven_line(&d, 3) : even_line(&d, i == 3 ? 5 : 1);
        stn_problem p = line_of(stencil, cases[i].n, i % 2 ? 700 : 3000);
        /* With more steps, the result underflows in float. */
        if (s->dtype_given && cases[i].low == STN_WRAP) p.steps = 60;
        set_sides(&p, 0, cases[i].low, cases[i].high);
        char what[120];
        snprintf(what, sizeof what, "%d points, %s:%s, %d steps", cases[i].n, side_names[cases[i].low],
                 side_names[cases[i].high], (int)p.steps);
        check(s, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Eigenmodes of heat-1d are multiplied by the power of their symbol, for any number of steps. */
typedef struct mode {
    const char *name;
    stn_boundary_kind kind;
    double from, over; /* Mode m is cos or sin(pi m (i + from) / over). */
    bool sine;
} mode;

static void check_mode(suite *s, const mode *m, int n, int order, uint64_t steps) {
    static double in[2000], out[2000];
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_error error = {0};
    stn_stencil_parse("heat-1d", &stencil, NULL);
    stn_problem p = line_of(stencil, n, steps);
    set_sides(&p, 0, (int)m->kind, (int)m->kind);
    p.boundary[0][0].value = p.boundary[0][1].value = 0;
    const long double wide = acosl(-1.0L) * order / (long double)m->over, half = sinl(wide / 2);
    /* Weights 1/8, 3/4, 1/8. */
    const double k = (double)wide, factor = (double)powl(1 - half * half / 2, (long double)steps);
    for (int i = 0; i < n; i++) in[i] = m->sine ? sin(k * (i + m->from)) : cos(k * (i + m->from));
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "segment";
    void *from = NULL, *to = NULL;
    const size_t bytes = (size_t)n * sizeof *in;
    stn_context *c = s->context;
    bool good = stn_plan_create(c, &p, &options, &plan, &error) == STN_OK &&
                stn_memory_alloc(c, bytes, &from, &error) == STN_OK &&
                stn_memory_alloc(c, bytes, &to, &error) == STN_OK &&
                stn_memory_upload(c, from, in, bytes, &error) == STN_OK &&
                stn_plan_execute(plan, from, to, NULL, &error) == STN_OK &&
                stn_memory_download(c, out, to, bytes, &error) == STN_OK;
    double worst = 0;
    for (int i = 0; i < n && good; i++) worst = fmax(worst, fabs(out[i] - factor * in[i]));
    char what[120], detail[1200];
    snprintf(what, sizeof what, "%s, mode %d of %d points, %g steps", m->name, order, n, (double)steps);
    snprintf(detail, sizeof detail, "off by %g; %s", worst, error.message);
    suite_report(s, good && worst < 1e-13 * (1 + log2((double)steps)), what, detail);
    stn_memory_free(c, from), stn_memory_free(c, to);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

static void modes(suite *s) {
    if (s->dtype_given && s->dtype != STN_F64) return;
    const int n = 1601;
    const mode all[] = {{"wrap", STN_WRAP, 0, n / 2.0, false},
                        {"reflect", STN_REFLECT, 0.5, n, false},
                        {"mirror", STN_MIRROR, 0, n - 1, false},
                        {"constant 0", STN_CONSTANT, 1, n + 1, true}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int order = 1; order < 40; order *= 6)
            for (uint64_t steps = 100; steps <= 1000000; steps *= 100)
                if (s->full || (i + (size_t)order) % 2 == 0) check_mode(s, &all[i], n, order, steps);
}

typedef enum layout_kind { BATCHED, ODD_BATCH, IN_PLACE, UNALIGNED, LAYOUTS } layout_kind;
static const char *const layout_names[] = {"a batch", "a batch of an odd pitch", "in place",
                                           "alignment of one element"};

static void layouts(suite *s) {
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (int t = 1; t <= 301; t += 300) {
            dice d = {(uint64_t)layout};
            stn_stencil *stencil = even_line(&d, 1);
            stn_problem p = line_of(stencil, 1501, (uint64_t)t);
            set_sides(&p, 0, STN_CONSTANT, STN_REFLECT);
            if (layout <= ODD_BATCH) p.batch = 3;
            if (layout == ODD_BATCH) p.in_batch_stride = 1511, p.out_batch_stride = 1601;
            if (layout == IN_PLACE) p.in_place = 1;
            if (layout == UNALIGNED) p.alignment = s->dtype_given ? 4 : 8;
            char what[160];
            snprintf(what, sizeof what, "%s, %d steps", layout_names[layout], t);
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Every candidate: segments of each length, in one launch and in several. */
static void candidates(suite *s) {
    for (int kind = 0; kind < 2; kind++) {
        dice d = {(uint64_t)kind + 5};
        stn_stencil *stencil = kind ? uneven_line(&d, 2) : even_line(&d, 1);
        stn_problem p = suite_problem(s, &(stn_problem){0});
        p = line_of(stencil, 3001, 250);
        p = suite_problem(s, &p);
        if (kind)
            set_sides(&p, 0, STN_WRAP, STN_WRAP);
        else
            set_sides(&p, 0, STN_FIXED, STN_CONSTANT);
        bool lengths[5] = {false}, several = false;
        int tried = 0, pick = 0;
        for (; pick < 64; pick++) {
            comparison c;
            char what[400];
            if (!s->full && kind && pick % 3 == 2) continue;
            bool good = compare_candidate_with_host(s->context, s->pool, &p, "segment", COMPARE_MEASURED + pick, true,
                                                    d.state, &c);
            if (c.error.status == STN_ERROR_INVALID_ARGUMENT) break; /* No more candidates. */
            several = several || !strstr(c.parameters, "1 launch of");
            tried++;
            snprintf(what, sizeof what, "candidate %d: %s", pick, c.parameters);
            suite_report_compared(s, good, what, &c);
        }
        for (int l = 0; l < 5; l++) {
            char points[40];
            snprintf(points, sizeof points, "segments of %d points", 256 << l);
            lengths[l] = suite_candidate(s, &p, "segment", points) < COMPARE_MEASURED + pick;
        }
        /* The shortest length is too short for skewed taps. */
        for (int l = kind; l < 5; l++) several = several && lengths[l];
        suite_report(s, tried > 4 && several, "every length of a segment, and several launches, are among them", NULL);
        stn_stencil_destroy(stencil);
    }
}

/* Variants of the shortest segments: inputs directly to registers, streamed outputs, wider fetches;
 * rotated or not, all sides, batches, unaligned layouts. */
static void ways(suite *s) {
    static const char *const words[] = {"inputs directly to registers", "outputs streamed", "256-byte prefetch",
                                        "outputs streamed, inputs directly to registers"};
    static const struct {
        int n, low, high, radius, steps;
        bool uneven, odd;
    } cases[] = {
        {8192, STN_WRAP, STN_WRAP, 1, 1, false, false},       {5003, STN_WRAP, STN_WRAP, 2, 3, true, true},
        {3001, STN_FIXED, STN_CONSTANT, 1, 20, false, false}, {7000, STN_REFLECT, STN_MIRROR, 3, 7, false, true},
        {4111, STN_NEAREST, STN_CONSTANT, 2, 2, true, false}, {300, STN_CONSTANT, STN_CONSTANT, 1, 40, false, false},
        {70001, STN_WRAP, STN_WRAP, 1, 1, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
            if (!s->full && (i + w) % 2) continue;
            dice d = {(uint64_t)(i * 7 + w) + 60};
            stn_stencil *stencil = (cases[i].uneven ? uneven_line : even_line)(&d, cases[i].radius);
            stn_problem p = line_of(stencil, cases[i].n, (uint64_t)cases[i].steps);
            set_sides(&p, 0, cases[i].low, cases[i].high);
            p.batch = 1 + (int)(i + w) % 3;
            p.in_place = i % 3 == 1;
            if (cases[i].odd) p.alignment = s->dtype_given ? 4 : 8;
            p = suite_problem(s, &p);
            char what[240];
            comparison c;
            const int pick = suite_candidate(s, &p, "segment", words[w]);
            const bool good = compare_candidate_with_host(s->context, s->pool, &p, "segment", pick, true, d.state, &c);
            snprintf(what, sizeof what, "%s, %d points, %s:%s, %d steps", words[w], cases[i].n,
                     side_names[cases[i].low], side_names[cases[i].high], cases[i].steps);
            suite_report_compared(s, good && strstr(c.parameters, words[w]), what, &c);
            stn_stencil_destroy(stencil);
        }
}

/* Dense DFTs of every length, in f64 and f16 with each fragment: sides, asymmetric weights,
 * margins, 1 to 4096 steps, batches, unaligned layouts. */
static void products(suite *s) {
    static const struct {
        const char *factors;
        int n, low, high, radius;
        uint64_t steps;
        bool uneven;
    } cases[] = {{"16 x 15 x 1", 1009, STN_WRAP, STN_WRAP, 2, 17, true},
                 {"9 x 8 x 7", 1511, STN_FIXED, STN_REFLECT, 1, 333, false},
                 {"15 x 8 x 7", 840, STN_WRAP, STN_WRAP, 3, 4096, false},
                 {"16 x 15 x 7", 2003, STN_CONSTANT, STN_MIRROR, 1, 1, false},
                 {"16 x 15 x 13", 8191, STN_MIRROR, STN_CONSTANT, 1, 4096, false},
                 {"16 x 15 x 1", 301, STN_NEAREST, STN_CONSTANT, 2, 5, true},
                 {"9 x 8 x 7", 13, STN_WRAP, STN_WRAP, 1, 100, true},
                 {"15 x 8 x 7", 839, STN_CONSTANT, STN_CONSTANT, 1, 1000, false},
                 {"16 x 15 x 7", 840, STN_REFLECT, STN_REFLECT, 2, 3000, false},
                 {"16 x 15 x 13", 3121, STN_FIXED, STN_FIXED, 1, 2, false}};
    static const char *const fragments[] = {"", " in fragments of 16 x 8 x 4", " in fragments of 8 x 8 x 4"};
    static const char *const halves[] = {" of tf32 x 3", " of halves in one part", " of halves in two parts"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!s->full && i > 5) continue;
        dice d = {(uint64_t)i + 700};
        stn_stencil *stencil = (cases[i].uneven ? uneven_line : even_line)(&d, cases[i].radius);
        /* One part takes weights of one sign. */
        if (s->dtype_given && s->dtype == STN_F16 && i % 3 == 1) {
            stn_stencil_destroy(stencil);
            stn_stencil_parse("heat-1d", &stencil, NULL);
        }
        stn_problem p = line_of(stencil, cases[i].n, cases[i].steps);
        set_sides(&p, 0, cases[i].low, cases[i].high);
        p.batch = 1 + i % 3;
        p.in_place = i % 4 == 1;
        p = suite_problem(s, &p);
        p.steps += p.dtype == STN_F32; /* The tolerance for one step is too small. */
        char what[240], words[100];
        snprintf(words, sizeof words, "by dense DFTs of %s%s", cases[i].factors,
                 p.dtype == STN_F16 ? halves[i % 3] : fragments[s->dtype_given ? 0 : i % 3]);
        snprintf(what, sizeof what, "%s, %d points, %s:%s, %d steps", words, cases[i].n, side_names[cases[i].low],
                 side_names[cases[i].high], (int)p.steps);
        suite_compare_words(s, "segment", words, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* T runs of a plan of some steps equal one plan of all steps; and a plan takes new weights,
 * symmetric and asymmetric ones. */
static void plans(suite *s) {
    enum { N = 2003, RUNS = 5, STEPS = 40 };
    if (s->dtype_given && s->dtype != STN_F64) return;
    static double in[N], many[N], one[N];
    dice d = {3};
    for (int i = 0; i < N; i++) in[i] = dice_real(&d);
    stn_stencil *stencil = even_line(&d, 1);
    stn_problem p = line_of(stencil, N, STEPS);
    set_sides(&p, 0, STN_FIXED, STN_REFLECT);
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "segment";
    stn_plan *few = NULL, *all = NULL, *wrapped = NULL;
    stn_error error = {0};
    stn_context *c = s->context;
    void *grid[2] = {NULL, NULL};
    bool good = stn_plan_create(c, &p, &options, &few, &error) == STN_OK;
    p.steps = RUNS * STEPS;
    good = good && stn_plan_create(c, &p, &options, &all, &error) == STN_OK;
    for (int i = 0; i < 2; i++) good = good && stn_memory_alloc(c, sizeof in, &grid[i], &error) == STN_OK;
    good = good && stn_memory_upload(c, grid[0], in, sizeof in, &error) == STN_OK;
    for (int i = 0; i < RUNS; i++)
        good = good && stn_plan_execute(few, grid[i % 2], grid[1 - i % 2], NULL, &error) == STN_OK;
    good = good && stn_memory_download(c, many, grid[RUNS % 2], sizeof in, &error) == STN_OK &&
           stn_memory_upload(c, grid[0], in, sizeof in, &error) == STN_OK &&
           stn_plan_execute(all, grid[0], grid[1], NULL, &error) == STN_OK &&
           stn_memory_download(c, one, grid[1], sizeof in, &error) == STN_OK;
    double worst = 0;
    for (int i = 0; i < N && good; i++) worst = fmax(worst, fabs(many[i] - one[i]));
    char detail[1200];
    snprintf(detail, sizeof detail, "apart by %g; %s", worst, error.message);
    suite_report(s, good && worst > 0 && worst < 1e-14, "5 runs of 40 steps are one of 200", detail);

    set_sides(&p, 0, STN_WRAP, STN_WRAP);
    good = stn_plan_create(c, &p, &options, &wrapped, &error) == STN_OK;
    static const double weights[][3] = {{0.3, 0.4, 0.3}, {0.1, 0.5, 0.4}, {0.25, 0.25, 0.5}, {0.2, 0.6, 0.2}};
    for (size_t i = 0; i < sizeof weights / sizeof *weights && good; i++) {
        const stn_tap taps[3] = {{{-1, 0, 0}, weights[i][0]}, {{0, 0, 0}, weights[i][1]}, {{1, 0, 0}, weights[i][2]}};
        stn_stencil *fresh = NULL;
        stn_problem q = p;
        stn_stencil_create(1, 3, taps, &fresh, NULL);
        q.stencil = fresh;
        bool set = stn_plan_set_weights(wrapped, 3, weights[i], &error) == STN_OK;
        double relative = set ? compare_plan_with_host(c, wrapped, &q, in, N) : INFINITY;
        snprintf(detail, sizeof detail, "relative L2 %.3g; %s", relative, error.message);
        suite_report(s, relative < 1e-13, "new weights", detail);
        stn_stencil_destroy(fresh);
    }
    /* Segments need symmetric weights at a fixed side. */
    bool set = stn_plan_set_weights(all, 3, weights[1], &error) == STN_OK;
    const stn_tap uneven[3] = {{{-1, 0, 0}, weights[1][0]}, {{0, 0, 0}, weights[1][1]}, {{1, 0, 0}, weights[1][2]}};
    stn_stencil *slanted = NULL;
    stn_stencil_create(1, 3, uneven, &slanted, NULL);
    p.stencil = slanted;
    p.steps = RUNS * STEPS;
    set_sides(&p, 0, STN_FIXED, STN_REFLECT);
    double kept = compare_plan_with_host(c, all, &p, in, N);
    suite_report(s, set && kept < 1e-13, "for uneven weights at a fixed side the plan chooses again", error.message);
    stn_stencil_destroy(slanted);
    for (int i = 0; i < 2; i++) stn_memory_free(c, grid[i]);
    stn_plan_destroy(few), stn_plan_destroy(all), stn_plan_destroy(wrapped);
    stn_stencil_destroy(stencil);
}

/* Segments of 8192 and 16384 points: every kind of side, whole periods, asymmetric weights,
 * margins, 1 to 4096 steps and more, batches, unaligned layouts. */
static void longest(suite *s) {
    static const struct {
        int points, n, low, high, radius;
        uint64_t steps;
        bool uneven, odd;
    } cases[] = {{8192, 20011, STN_WRAP, STN_WRAP, 1, 1000, false, false},
                 {16384, 30011, STN_WRAP, STN_WRAP, 2, 3000, true, false},
                 {8192, 9001, STN_FIXED, STN_CONSTANT, 1, 4096, false, false},
                 {16384, 20023, STN_CONSTANT, STN_MIRROR, 1, 4096, false, true},
                 {8192, 15013, STN_WRAP, STN_WRAP, 3, 17, true, true},
                 {16384, 16384, STN_WRAP, STN_WRAP, 2, 4096, true, false},
                 {8192, 8192, STN_WRAP, STN_WRAP, 1, 100000, false, false},
                 {16384, 257, STN_REFLECT, STN_FIXED, 1, 20000, false, false},
                 {8192, 12345, STN_REFLECT, STN_MIRROR, 3, 1, false, true},
                 {16384, 33333, STN_FIXED, STN_REFLECT, 1, 30000, false, false},
                 {8192, 10007, STN_NEAREST, STN_CONSTANT, 2, 5, true, false},
                 {16384, 15000, STN_WRAP, STN_WRAP, 3, 3000, true, true},
                 {8192, 101, STN_CONSTANT, STN_CONSTANT, 1, 3000, false, true},
                 {8192, 4096, STN_REFLECT, STN_REFLECT, 2, 3000, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!s->full && i > 9) continue;
        dice d = {(uint64_t)i + 900};
        stn_stencil *stencil = (cases[i].uneven ? uneven_line : even_line)(&d, cases[i].radius);
        if (cases[i].uneven && cases[i].steps > 60) stencil = lasting(stencil);
        stn_problem p = line_of(stencil, cases[i].n, cases[i].steps);
        const bool wrapped = cases[i].low == STN_WRAP || cases[i].high == STN_WRAP;
        set_sides(&p, 0, wrapped ? STN_WRAP : cases[i].low, wrapped ? STN_WRAP : cases[i].high);
        p.batch = 1 + i % 3;
        p.in_place = i % 4 == 1;
        if (cases[i].odd) p.alignment = s->dtype_given ? 4 : 8;
        p = suite_problem(s, &p);
        char what[240], words[100];
        snprintf(words, sizeof words, "segments of %d points", cases[i].points);
        snprintf(what, sizeof what, "%s, %d points, %s:%s, %d steps", words, cases[i].n, side_names[cases[i].low],
                 side_names[cases[i].high], (int)p.steps);
        suite_compare_words(s, "segment", words, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Mirrored lines of a quarter to half of a segment: the positions of the images are compile-time
 * constants. Every pair of sides, along each axis. */
static void middles(suite *s) {
    static const int extents[] = {258, 512, 259, 511, 300, 509, 514, 1024, 1021};
    static const int lows[] = {STN_CONSTANT, STN_REFLECT, STN_MIRROR, STN_FIXED};
    for (int i = 0; i < 16 * 3; i++) {
        const int low = lows[i % 4], high = lows[i / 4 % 4], axis = i / 16, side = extents[(i * 5 + axis) % 9];
        /* Whole periods are served by another form. */
        const int n = side - (low == STN_REFLECT && high == STN_REFLECT);
        if (!s->full && (i % 3 != axis || i / 2 % 2) && low != high) continue;
        dice d = {(uint64_t)i + 900};
        stn_stencil *line = even_line(&d, 1), *stencil = line;
        stn_problem p = line_of(line, n, (uint64_t)dice_int(&d, 1, 500));
        if (axis) { /* 2D grids of separable weights: y equally long, then x. */
            stn_stencil_parse("gaussian-2d:sigma=0.6,truncate=1", &stencil, NULL);
            p.stencil = stencil;
            p.extent[0] = axis == 1 ? (size_t)n : 13, p.extent[1] = axis == 1 ? 9 : (size_t)n;
        }
        set_sides(&p, axis ? axis - 1 : 0, low, high);
        char what[160], words[120];
        snprintf(what, sizeof what, "%d points along axis %d in a segment's middle, %s:%s, %d steps", n, axis,
                 side_names[low], side_names[high], (int)p.steps);
        snprintf(words, sizeof words, "along axis %d, %d of them outputs, with a line in the middle", axis == 2,
                 n > 512 ? 1024 : 512);
        suite_compare_words(s, "segment", words, what, &p, d.state);
        if (stencil != line) stn_stencil_destroy(stencil);
        stn_stencil_destroy(line);
    }
}

/* Segments rotated to whole memory lines, and others: lines that begin anywhere, rows of any
 * pitch. */
static void rotations(suite *s) {
    static const char *const words[] = {"segments of 256 points", "segments of 512 points", "segments of 1024 points",
                                        "not rotated"};
    for (int i = 0; i < 24; i++) {
        if (!s->full && i % 5 > 1) continue;
        dice d = {(uint64_t)i + 1300};
        stn_stencil *stencil = i % 3 == 2 ? even_line(&d, 1) : uneven_line(&d, 1);
        stn_problem p = line_of(stencil, dice_int(&d, 1500, 6000), (uint64_t)dice_int(&d, 1, 12));
        const int low = i % 3 == 2 ? STN_CONSTANT : STN_WRAP;
        set_sides(&p, 0, low, i % 3 == 2 ? STN_FIXED : low);
        if (i % 3 == 1) p.batch = 3, p.in_batch_stride = p.out_batch_stride = p.extent[0] + (size_t)dice_int(&d, 0, 9);
        if (i % 5 == 1) p.alignment = s->dtype_given ? 4 : 8;
        char what[160];
        snprintf(what, sizeof what, "%s, %d points, %d steps", words[i % 4], (int)p.extent[0], (int)p.steps);
        suite_compare_words(s, "segment", words[i % 4], what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"folds", folds},       {"margins", margins},    {"steps", steps},
                                       {"sizes", sizes},       {"layouts", layouts},    {"candidates", candidates},
                                       {"periods", periods},   {"modes", modes},        {"plans", plans},
                                       {"products", products}, {"ways", ways},          {"longest", longest},
                                       {"middles", middles},   {"rotations", rotations}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
