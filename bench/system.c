/* stentor-system: speed of systems of coupled fields on one device.
 *
 *     stentor-system [--host] [--small] [--all] [--case NAME] [--strategy NAME] [--repeat N]
 *
 * Each line: the case, its strategy and candidate, 10^9 points and steps a second, and the share of
 * the one-step roof: the time in which a copy at the measured bandwidth moves each array that a
 * step reads or writes once. Results are compared with the host at points that include corners.
 * --all measures every candidate of each strategy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench.h"
#include "kinds/kinds.h"
#include "plan/plan.h"
#include "strategies/table.h"

enum { MAX_ARRAYS = 16, MAX_CANDIDATES = 64, SAMPLES = 12, MAX_REPEAT = 101 };

#define DIFFERENCES_2D                                                                                                 \
    "stencil dxf = taps x [0, 1] (-1 1), dxb = taps x [-1, 0] (-1 1), dyf = taps y [0, 1] (-1 1), "                    \
    "dyb = taps y [-1, 0] (-1 1)\n"
#define DIFFERENCES DIFFERENCES_2D "stencil dzf = taps z [0, 1] (-1 1), dzb = taps z [-1, 0] (-1 1)\n"
#define ACOUSTIC(laplacian)                                                                                            \
    "field u(2)\ncoefficient c2\nstencil lap = " laplacian "\nu.next = 2*u - u.prev + 0.05*c2*lap(u)"
#define SPONGE(laplacian)                                                                                              \
    "field u(2)\ncoefficient c2, s\nstencil lap = " laplacian                                                          \
    "\nu.next = 2*u - u.prev - 0.05*s*(u - u.prev) + 0.05*c2*lap(u)"
#define MAXWELL                                                                                                        \
    "field ex, ey, ez, hx, hy, hz\n" DIFFERENCES                                                                       \
    "ex.next = ex + 0.3*(dyb(hz) - dzb(hy))\n"                                                                         \
    "ey.next = ey + 0.3*(dzb(hx) - dxb(hz))\nez.next = ez + 0.3*(dxb(hy) - dyb(hx))\n"                                 \
    "hx.next = hx - 0.3*(dyf(ez.next) - dzf(ey.next))\nhy.next = hy - 0.3*(dzf(ex.next) - dxf(ez.next))\n"             \
    "hz.next = hz - 0.3*(dxf(ey.next) - dyf(ex.next))"

/* arrays: those that a step reads or writes. goal: share of the one-step roof; 0: none. */
typedef struct system_case {
    const char *name, *text;
    int rank;
    stn_dtype dtype;
    size_t side;
    int arrays;
    double goal;
    uint64_t steps;
} system_case;

static const system_case cases[] = {
    {"acoustic 3D order 8 512^3", ACOUSTIC("laplace-3d:order=8"), 3, STN_F32, 512, 4, 0.85, 48},
    {"acoustic 3D order 8 768^3", ACOUSTIC("laplace-3d:order=8"), 3, STN_F32, 768, 4, 0.85, 24},
    {"acoustic 3D order 8 512^3 sponge", SPONGE("laplace-3d:order=8"), 3, STN_F32, 512, 5, 0.80, 48},
    {"acoustic 3D order 8 768^3 sponge", SPONGE("laplace-3d:order=8"), 3, STN_F32, 768, 5, 0.80, 24},
    {"acoustic 3D order 4 512^3", ACOUSTIC("laplace-3d:order=4"), 3, STN_F32, 512, 4, 1.15, 48},
    {"acoustic 2D order 8 8192^2", ACOUSTIC("laplace-2d:order=8"), 2, STN_F32, 8192, 4, 1.5, 48},
    {"acoustic 3D order 8 512^3 f64", ACOUSTIC("laplace-3d:order=8"), 3, STN_F64, 512, 4, 0, 24},
    {"acoustic 2D order 8 8192^2 f64", ACOUSTIC("laplace-2d:order=8"), 2, STN_F64, 8192, 4, 0, 24},
    {"diffusion 2D 10240^2 f64",
     "field u\ncoefficient k\n" DIFFERENCES_2D "boundary k = wrap\nu.next = u + 0.1*(dxb(k*dxf(u)) + dyb(k*dyf(u)))", 2,
     STN_F64, 10240, 3, 2.0, 48},
    {"diffusion 3D 512^3 f64",
     "field u\ncoefficient k\n" DIFFERENCES
     "boundary k = wrap\nu.next = u + 0.1*(dxb(k*dxf(u)) + dyb(k*dyf(u)) + dzb(k*dzf(u)))",
     3, STN_F64, 512, 3, 1.2, 48},
    {"Maxwell 3D 512^3", MAXWELL, 3, STN_F32, 512, 12, 0.80, 24},
};

/* 1000 steps of a wave of constant velocity, and of heat on the same grid. */
static const struct {
    const char *name, *wave, *heat;
    int rank;
    stn_dtype dtype;
    size_t side;
} long_runs[] = {
    {"1000 steps 512^3 f32", "field u(2)\nstencil lap = laplace-3d\nu.next = 2*u - u.prev + 0.2*lap(u)", "heat-3d", 3,
     STN_F32, 512},
    {"1000 steps 8192^2 f64", "field u(2)\nstencil lap = laplace-2d\nu.next = 2*u - u.prev + 0.2*lap(u)", "heat-2d", 2,
     STN_F64, 8192},
};

typedef struct settings {
    bool host, small, all;
    int repeat;
    const char *only, *strategy;
} settings;

/* A problem with its arrays in the context's memory. */
typedef struct rig {
    const system_case *c;
    stn_system *system;
    stn_system_problem problem;
    size_t points, bytes;
    int arrays, coefficients, checked_steps;
    void *in[MAX_ARRAYS], *out[MAX_ARRAYS], *coefficient[MAX_ARRAYS];
    stn_plan *plan; /* the one that run_once executes */
    stn_context *context;
    void *workspace;
} rig;

/* The first index of an array's values; coefficients lie between 0.25 and 0.75. */
static uint64_t first_of(int array) { return (uint64_t)array << 40; }
static double value_of(bool is_field, int array, size_t index, stn_dtype dtype) {
    const double value = bench_value(first_of(array) + index, dtype);
    return is_field ? value : 0.5 + 0.25 * value;
}

static stn_status fill(bench *machine, const rig *r, bool is_field, int array, void *to, stn_error *error) {
    return bench_fill_scaled(machine, to, first_of(array), r->points, r->c->dtype, is_field ? 0 : 0.5,
                             is_field ? 1 : 0.25, error);
}

static stn_status open_rig(bench *machine, const system_case *c, size_t side, rig *r, stn_error *error) {
    *r = (rig){.c = c, .problem = STN_SYSTEM_PROBLEM_INIT, .points = 1, .context = machine->context};
    r->checked_steps = machine->quick ? 3 : 9; /* a box of the host grows with them */
    STN_TRY(stn_system_parse(c->text, &r->system, error));
    r->problem.system = r->system, r->problem.dtype = c->dtype, r->problem.rank = c->rank, r->problem.steps = c->steps;
    for (int axis = 0; axis < c->rank; axis++) r->points *= r->problem.extent[axis] = side;
    r->bytes = r->points * stn_dtype_size(c->dtype);
    for (size_t f = 0; f < stn_system_field_count(r->system); f++) r->arrays += stn_system_field_levels(r->system, f);
    r->coefficients = (int)stn_system_coefficient_count(r->system);
    for (int i = 0; i < r->arrays; i++) {
        STN_TRY(stn_memory_alloc(r->context, r->bytes, &r->in[i], error));
        STN_TRY(stn_memory_alloc(r->context, r->bytes, &r->out[i], error));
        STN_TRY(fill(machine, r, true, i, r->in[i], error));
    }
    for (int i = 0; i < r->coefficients; i++) {
        STN_TRY(stn_memory_alloc(r->context, r->bytes, &r->coefficient[i], error));
        STN_TRY(fill(machine, r, false, i, r->coefficient[i], error));
    }
    return STN_OK;
}

static void close_rig(rig *r) {
    for (int i = 0; i < MAX_ARRAYS; i++) {
        stn_memory_free(r->context, r->in[i]);
        stn_memory_free(r->context, r->out[i]);
        stn_memory_free(r->context, r->coefficient[i]);
    }
    stn_system_destroy(r->system);
}

static stn_status run_once(void *user, stn_error *error) {
    rig *r = user;
    stn_system_arrays arrays = STN_SYSTEM_ARRAYS_INIT;
    stn_execution run = STN_EXECUTION_INIT;
    arrays.in = (const void *const *)r->in, arrays.out = r->out;
    arrays.coefficients = (const void *const *)r->coefficient;
    run.system = &arrays, run.workspace = r->workspace;
    return stn_plan_run(r->plan, &run, error);
}

/* The values of all arrays at a point after `steps` steps, by the host on a box around the point
 * that is so large that its sides have no effect. */
static stn_status expect(const rig *r, stn_context *host, const size_t at[3], int width, double *values,
                         stn_error *error) {
    const int rank = r->c->rank < 3 ? r->c->rank : 3;
    const size_t side = r->problem.extent[0];
    size_t points = 1, middle = 0;
    stn_system_problem p = r->problem;
    stn_plan *plan = NULL;
    void *arrays[3 * MAX_ARRAYS] = {NULL};
    rig box = *r;
    p.steps = (uint64_t)r->checked_steps;
    for (int axis = 0; axis < rank; axis++) {
        p.extent[axis] = (size_t)width;
        points *= (size_t)width;
        middle = middle * (size_t)width + (size_t)(width / 2);
    }
    stn_status status = stn_plan_create_system(host, &p, NULL, &plan, error);
    for (int i = 0; i < 2 * r->arrays + r->coefficients && status == STN_OK; i++)
        status = stn_memory_alloc(host, points * 8, &arrays[i], error);
    for (int i = 0; i < r->arrays + r->coefficients && status == STN_OK; i++)
        for (size_t k = 0; k < points && arrays[i]; k++) {
            size_t index = 0, left = k, place[3];
            for (int axis = rank - 1; axis >= 0; axis--) {
                place[axis] = (at[axis] + side * (size_t)width + left % (size_t)width - (size_t)(width / 2)) % side;
                left /= (size_t)width;
            }
            for (int axis = 0; axis < rank; axis++) index = index * side + place[axis];
            const double value = i < r->arrays ? value_of(true, i, index, r->c->dtype)
                                               : value_of(false, i - r->arrays, index, r->c->dtype);
            bench_store(arrays[i], k, r->c->dtype, value);
        }
    for (int i = 0; i < MAX_ARRAYS; i++) {
        box.in[i] = i < r->arrays ? arrays[i] : NULL;
        box.coefficient[i] = i < r->coefficients ? arrays[r->arrays + i] : NULL;
        box.out[i] = i < r->arrays ? arrays[r->arrays + r->coefficients + i] : NULL;
    }
    box.plan = plan, box.workspace = NULL;
    if (status == STN_OK && plan->workspace_size)
        status = stn_memory_alloc(host, plan->workspace_size, &box.workspace, error);
    if (status == STN_OK) status = run_once(&box, error);
    for (int i = 0; i < r->arrays && status == STN_OK; i++) values[i] = bench_load(box.out[i], middle, r->c->dtype);
    for (int i = 0; i < 3 * MAX_ARRAYS; i++) stn_memory_free(host, arrays[i]);
    stn_memory_free(host, box.workspace);
    stn_plan_destroy(plan);
    return status;
}

/* Points at which results are checked: two corners, then random ones. */
static void sample(const rig *r, int s, size_t at[3]) {
    for (int axis = 0; axis < 3; axis++) {
        const size_t side = r->problem.extent[0];
        at[axis] = s == 0   ? 0
                   : s == 1 ? side - 1
                            : (size_t)((bench_value((uint64_t)(3 * s + axis), STN_F64) + 1) / 2 * (double)side);
    }
}

/* The largest difference from the host at the sampled points after the checked steps. */
static stn_status check(const rig *r, const double *expected, double *off, stn_error *error) {
    const size_t side = r->problem.extent[0], size = stn_dtype_size(r->c->dtype);
    *off = 0;
    for (int s = 0; s < SAMPLES; s++)
        for (int i = 0; i < r->arrays; i++) {
            size_t at[3] = {0}, index = 0;
            double number = 0;
            sample(r, s, at);
            for (int axis = 0; axis < r->c->rank && axis < 3; axis++) index = index * side + at[axis];
            STN_TRY(stn_memory_download(r->context, &number, (const char *)r->out[i] + index * size, size, error));
            const double difference = fabs(bench_load(&number, 0, r->c->dtype) - expected[s * MAX_ARRAYS + i]);
            if (!(difference <= *off)) *off = difference;
        }
    return STN_OK;
}

/* Builds a plan for a number of steps, and its workspace. */
static stn_status build(rig *r, stn_plan *like, const stn_strategy *strategy, const stn_candidate *candidate,
                        uint64_t steps, stn_error *error) {
    STN_TRY(stn_plan_build(like, steps, strategy, candidate, NULL, &r->plan, error));
    return r->plan->workspace_size ? stn_memory_alloc(r->context, r->plan->workspace_size, &r->workspace, error)
                                   : STN_OK;
}

static void drop(rig *r) {
    stn_plan_destroy(r->plan);
    stn_memory_free(r->context, r->workspace);
    r->plan = NULL, r->workspace = NULL;
}

static stn_status measure(bench *machine, rig *r, stn_plan *like, const stn_strategy *strategy,
                          const stn_candidate *candidate, const double *expected, stn_error *error) {
    double off = INFINITY, seconds = 0;
    const double begin = bench_now();
    stn_status status = build(r, like, strategy, candidate, (uint64_t)r->checked_steps, error);
    const double compiled = bench_now() - begin;
    if (status == STN_OK) status = run_once(r, error);
    if (status == STN_OK) status = stn_synchronize(r->context, NULL, error);
    if (status == STN_OK) status = check(r, expected, &off, error);
    drop(r);
    if (status == STN_OK) status = build(r, like, strategy, candidate, r->problem.steps, error);
    if (status == STN_OK) status = bench_time(machine, run_once, r, &seconds, error);
    stn_text name = STN_TEXT_EMPTY;
    if (strategy->name_candidate) strategy->name_candidate(&like->task, candidate, &name);
    if (status == STN_OK) {
        const double rate = (double)r->points * (double)r->problem.steps / seconds;
        const double roof = machine->copy_bandwidth / ((double)r->c->arrays * (double)stn_dtype_size(r->c->dtype));
        printf(
            "%-34s %-6s %-42s %8.2f GPoint/s %6.1f%% of the roof (goal %3.0f%%), %.6f s, off by %.1e%s, plan in %.2f "
            "s\n",
            r->c->name, strategy->name, name.data ? name.data : "", rate / 1e9, 100 * rate / roof, 100 * r->c->goal,
            seconds, off, off <= (r->c->dtype == STN_F64 ? 1e-13 : 2e-5) ? "" : " WRONG", compiled);
    } else
        printf("%-34s %-6s %s: %s\n", r->c->name, strategy->name, name.data ? name.data : "", error->message);
    fflush(stdout);
    stn_text_clear(&name);
    drop(r);
    return status;
}

static stn_status expect_samples(const rig *r, stn_context *host, double expected[SAMPLES * MAX_ARRAYS],
                                 stn_error *error) {
    const int rank = r->c->rank;
    int width = 1;
    for (int axis = 0; axis < rank; axis++)
        for (int side = 0; side < 2; side++) {
            const int reach = stn_system_reach(r->system, rank, axis, side);
            /* A later assignment may read next states of an earlier one: twice the reach. */
            const int most = (stn_system_field_count(r->system) > 1 ? 4 : 2) * r->checked_steps * reach + 3;
            if (width < most) width = most;
        }
    for (int i = 0; i < SAMPLES; i++) {
        size_t at[3] = {0};
        sample(r, i, at);
        STN_TRY(expect(r, host, at, width, expected + i * MAX_ARRAYS, error));
    }
    return STN_OK;
}

static stn_status run_case(bench *machine, stn_context *host, const settings *s, const system_case *c,
                           stn_error *error) {
    rig r;
    stn_plan *like = NULL;
    double expected[SAMPLES * MAX_ARRAYS];
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_status status = open_rig(machine, c, s->small ? (c->rank == 2 ? 200 : 40) : c->side, &r, error);
    if (s->small && r.problem.steps > 10) r.problem.steps = 10;
    if (status == STN_OK) status = expect_samples(&r, host, expected, error);
    for (const stn_strategy *const *row = stn_kind_system.strategies; *row && status == STN_OK; row++) {
        stn_candidate list[MAX_CANDIDATES];
        if (s->strategy && strcmp((*row)->name, s->strategy) != 0) continue;
        options.strategy = (*row)->name;
        const stn_status made = stn_plan_create_system(machine->context, &r.problem, &options, &like, error);
        if (made != STN_OK) {
            if (s->strategy || made != STN_ERROR_UNSUPPORTED)
                printf("%-34s %-6s %s\n", c->name, (*row)->name, error->message);
            continue;
        }
        size_t count = 1;
        list[0] = like->candidate;
        if (s->all && (*row)->system.candidates)
            count = (*row)->system.candidates(&like->system, &like->machine, list, MAX_CANDIDATES);
        for (size_t i = 0; i < count; i++) (void)measure(machine, &r, like, *row, &list[i], expected, error);
        stn_plan_destroy(like);
        like = NULL;
    }
    if (status != STN_OK) printf("%-34s %s\n", c->name, error->message);
    close_rig(&r);
    return status;
}

/* ---- long runs */

typedef struct heat_run {
    stn_plan *plan;
    void *in, *out;
} heat_run;

static stn_status run_heat(void *user, stn_error *error) {
    heat_run *h = user;
    return stn_plan_execute(h->plan, h->in, h->out, NULL, error);
}

static stn_status time_heat(bench *machine, rig *r, const char *name, double *seconds, stn_error *error) {
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil *stencil = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    heat_run h = {.in = r->in[0], .out = r->out[0]};
    options.strategy = machine->device ? "spectral" : "host-spectral";
    STN_TRY(stn_stencil_parse(name, &stencil, error));
    p.stencil = stencil, p.dtype = r->c->dtype, p.steps = r->c->steps;
    stn_status status = STN_OK;
    for (int axis = 0; axis < r->c->rank; axis++) p.extent[axis] = r->problem.extent[axis];
    for (int axis = 0; axis < r->c->rank && status == STN_OK; axis++)
        status = stn_boundary_parse("wrap", p.boundary[axis], error);
    if (status == STN_OK) status = stn_plan_create(machine->context, &p, &options, &h.plan, error);
    if (status == STN_OK) status = bench_time(machine, run_heat, &h, seconds, error);
    stn_plan_destroy(h.plan);
    stn_stencil_destroy(stencil);
    return status;
}

/* Measures all candidates of the chosen plan's strategy. */
static stn_status measure_all(bench *machine, stn_context *host, rig *r, stn_error *error) {
    double expected[SAMPLES * MAX_ARRAYS];
    stn_candidate list[MAX_CANDIDATES];
    stn_plan *const like = r->plan;
    stn_memory_free(r->context, r->workspace);
    r->plan = NULL, r->workspace = NULL;
    const stn_status status = expect_samples(r, host, expected, error);
    const size_t count = like->strategy->system.candidates(&like->system, &like->machine, list, MAX_CANDIDATES);
    for (size_t i = 0; i < count && status == STN_OK; i++)
        (void)measure(machine, r, like, like->strategy, &list[i], expected, error);
    stn_plan_destroy(like);
    return status;
}

static stn_status run_long(bench *machine, stn_context *host, const settings *s, size_t which, stn_error *error) {
    const system_case c = {long_runs[which].name,
                           long_runs[which].wave,
                           long_runs[which].rank,
                           long_runs[which].dtype,
                           long_runs[which].side,
                           4,
                           0,
                           1000};
    rig r;
    double heat = 0, wave = 0;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = s->strategy;
    stn_status status = open_rig(machine, &c, s->small ? (c.rank == 2 ? 128 : 32) : c.side, &r, error);
    if (status == STN_OK) status = time_heat(machine, &r, long_runs[which].heat, &heat, error);
    if (status == STN_OK) status = stn_plan_create_system(machine->context, &r.problem, &options, &r.plan, error);
    if (status == STN_OK && r.plan->workspace_size)
        status = stn_memory_alloc(r.context, r.plan->workspace_size, &r.workspace, error);
    if (status == STN_OK) status = bench_time(machine, run_once, &r, &wave, error);
    if (status == STN_OK)
        printf("%-34s wave by %s %.6f s, heat by %s %.6f s: %.2f times (goal 3)\n", c.name, r.plan->strategy->name,
               wave, machine->device ? "spectral" : "host-spectral", heat, wave / heat);
    else
        printf("%-34s %s\n", c.name, error->message);
    fflush(stdout);
    if (status == STN_OK && s->all) status = measure_all(machine, host, &r, error);
    drop(&r);
    close_rig(&r);
    return status;
}

static int usage(void) {
    fprintf(stderr, "usage: stentor-system [--host] [--small] [--all] [--case NAME] [--strategy NAME] [--repeat N]\n");
    return 2;
}

int main(int argc, char **argv) {
    settings s = {.repeat = 7};
    bench machine = {0};
    stn_context *host = NULL;
    stn_error error = {STN_OK, ""};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--host"))
            s.host = true;
        else if (!strcmp(argv[i], "--small"))
            s.small = true;
        else if (!strcmp(argv[i], "--all"))
            s.all = true;
        else if (!strcmp(argv[i], "--case"))
            s.only = value, i++;
        else if (!strcmp(argv[i], "--strategy"))
            s.strategy = value, i++;
        else if (!strcmp(argv[i], "--repeat"))
            s.repeat = atoi(value), i++;
        else
            return usage();
    }
    if (s.repeat < 1 || s.repeat > MAX_REPEAT) return usage();
    int failed = 0;
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_HOST;
    stn_status status = bench_open(s.host ? STN_DEVICE_HOST : STN_DEVICE_CUDA(0), 0, NULL, &machine, &error);
    machine.quick = s.small, machine.repeat = s.repeat;
    if (status == STN_OK) status = stn_context_create(&options, &host, &error);
    if (status == STN_OK) status = bench_measure_copy(&machine, &error);
    if (status == STN_OK) printf("copy: %.1f GB/s\n", machine.copy_bandwidth / 1e9);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && status == STN_OK; i++)
        /* Small, the cases of 768^3 are those of 512^3. */
        if (s.only ? strstr(cases[i].name, s.only) != NULL : !s.small || cases[i].side != 768)
            failed += run_case(&machine, host, &s, &cases[i], &error) != STN_OK;
    for (size_t i = 0; i < sizeof long_runs / sizeof *long_runs && status == STN_OK; i++)
        if (!s.only || strstr(long_runs[i].name, s.only)) failed += run_long(&machine, host, &s, i, &error) != STN_OK;
    if (status != STN_OK) fprintf(stderr, "stentor-system: %s\n", error.message);
    stn_context_destroy(host);
    bench_close(&machine);
    return status != STN_OK || failed;
}
