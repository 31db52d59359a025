/* Progress functions: the values passed to them, and cancelled runs, after which the plan still
 * gives the right result. On a GPU, the emulator, or else the host. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../expect.h"
#include "plan/plan.h"
#include "stentor.h"

static stn_context *context;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The calls of the progress function, which cancels from a time on. */
typedef struct told {
    /* back: number of calls with fewer steps than the call before */
    uint64_t calls, done, total, back;
    double cancel, last, gap; /* gap: the longest time between calls */
} told;

static int listen(void *user, uint64_t done, uint64_t total) {
    told *t = user;
    const double at = now();
    t->back += t->calls && done < t->done;
    t->calls++, t->done = done, t->total = total;
    t->gap = at - t->last > t->gap ? at - t->last : t->gap;
    t->last = at;
    return at >= t->cancel;
}

static void setup(void) { context = context_on(STN_DEVICE_AUTO); }
static void teardown(void) { stn_context_destroy(context); }
TestSuite(progress, .init = setup, .fini = teardown, .timeout = 300);

typedef struct grids {
    void *in, *out;
    size_t in_bytes, bytes;
    char *first, *again; /* the result without a progress function, and with one */
} grids;

static grids make_grids(size_t in_bytes, size_t bytes) {
    grids g = {.in_bytes = in_bytes, .bytes = bytes};
    double *values = malloc(in_bytes);
    for (size_t i = 0; i < in_bytes / sizeof *values; i++) values[i] = (double)((i * 7919 + 13) % 1009) / 1009;
    g.in = uploaded(context, values, in_bytes);
    OK(stn_memory_alloc(context, bytes, &g.out, &error));
    g.first = malloc(bytes), g.again = malloc(bytes);
    free(values);
    return g;
}

static void clear_grids(grids *g) {
    stn_memory_free(context, g->in);
    stn_memory_free(context, g->out);
    free(g->first), free(g->again);
}

static stn_status run(stn_plan *plan, const grids *g, told *t, char *to) {
    stn_execution e = STN_EXECUTION_INIT;
    e.in = g->in, e.out = g->out;
    if (t) e.progress = listen, e.progress_user = t, t->last = now();
    const stn_status status = stn_plan_run(plan, &e, &error);
    OK(stn_synchronize(context, NULL, &error));
    if (status == STN_OK) OK(stn_memory_download(context, to, g->out, g->bytes, &error));
    return status;
}

/* A plan with a long enough run: it is cancelled at several times, run to its end, and gives the
 * same result each time. */
static void check(stn_plan *plan, grids *g, uint64_t steps, bool counts) {
    const double begin = now();
    OK(run(plan, g, NULL, g->first));
    const double alone = now() - begin;
    for (int i = 0; i < 4; i++) {
        told t = {.cancel = now() + 0.2 * i * alone};
        const stn_status status = run(plan, g, &t, g->again);
        const double late = now() - t.cancel;
        if (status == STN_OK) {
            cr_expect_eq(t.done, steps, "a run that is not cancelled is told to its end");
            continue;
        }
        cr_expect_eq(status, STN_ERROR_CANCELLED, "%s", error.message);
        cr_expect(strstr(error.message, "cancelled") != NULL, "%s", error.message);
        cr_expect(t.done < steps || !counts);
        /* generous, for a busy machine */
        if (!stn_context_is_device(context)) cr_expect_lt(late, 1, "it went on for %g s", late);
    }
    told t = {.cancel = 1e300};
    OK(run(plan, g, &t, g->again));
    cr_expect_eq(memcmp(g->first, g->again, g->bytes), 0, "a watched run gives other bits");
    cr_expect(t.done == steps && t.total == steps && !t.back, "%llu of %llu steps", (unsigned long long)t.done,
              (unsigned long long)t.total);
    /* On the emulator, a few launches may take long. */
    if (stn_context_is_device(context)) return;
    if (alone > 0.5) cr_expect_geq(t.calls, 4, "%llu calls in %g s", (unsigned long long)t.calls, alone);
    cr_expect_lt(t.gap, 1, "nothing was told for %g s", t.gap);
}

/* size: points a side; on the host so many that a run takes about a second. */
static void check_stencil(const char *strategy, const char *spec, size_t size, uint64_t steps, uint64_t every,
                          stn_boundary_kind side, bool counts) {
    stn_stencil *stencil;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_problem p = STN_PROBLEM_INIT;
    OK(stn_stencil_parse(spec, &stencil, &error));
    const int rank = stn_stencil_rank(stencil);
    size_t points = 1;
    p.stencil = stencil, p.steps = steps, p.every = every;
    for (int axis = 0; axis < rank; axis++) {
        p.extent[axis] = size, points *= size;
        p.boundary[axis][0].kind = p.boundary[axis][1].kind = side;
    }
    options.strategy = strategy, options.mode = STN_MODE_ESTIMATE;
    stn_plan *plan = new_plan(context, &p, &options);
    grids g = make_grids(points * 8, points * 8 * (every ? steps / every : 1));
    check(plan, &g, steps, counts);
    clear_grids(&g);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

Test(progress, steps) {
    const bool device = stn_context_is_device(context);
    check_stencil(device ? "direct" : "host", "heat-2d", device ? 64 : 1500, device ? 200 : 400, 0, STN_NEAREST, true);
    check_stencil(device ? "direct" : "host", "gaussian-2d:sigma=5", device ? 48 : 2000, device ? 3 : 2, 0, STN_REFLECT,
                  true);
    check_stencil(device ? "direct" : "host", "heat-1d", 100, device ? 200 : 200000, 0, STN_WRAP, true);
}

Test(progress, snapshots) {
    const bool device = stn_context_is_device(context);
    check_stencil(device ? "direct" : "host", "heat-2d", device ? 40 : 1000, 100, 10, STN_NEAREST, true);
}

Test(progress, all_steps_at_once) {
    const bool device = stn_context_is_device(context);
    check_stencil(device ? "spectral" : "host-spectral", "heat-2d", device ? 64 : 4000, 1000, 0, STN_WRAP, false);
    if (!device) check_stencil("aperiodic", "star-2d13p", 1000, 2000, 0, STN_FIXED, false);
}

Test(progress, a_transform) {
    const bool device = stn_context_is_device(context);
    stn_plan *plan;
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 2, t.extent[0] = t.extent[1] = device ? 64 : 3000;
    OK(stn_plan_create_fft(context, &t, NULL, &plan, &error));
    const size_t bytes = 16 * t.extent[0] * t.extent[1];
    grids g = make_grids(bytes, bytes);
    check(plan, &g, 1, false);
    clear_grids(&g);
    stn_plan_destroy(plan);
}

/* One thread of the host: loops are split only with a progress function. */
Test(progress, one_thread) {
    stn_context_destroy(context);
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = ":memory:", options.threads = 1, options.device = STN_DEVICE_HOST;
    OK(stn_context_create(&options, &context, &error));
    check_stencil("host", "heat-2d", 1000, 300, 0, STN_NEAREST, true);
    check_stencil("host-spectral", "heat-2d", 2000, 1000, 0, STN_WRAP, false);
}
