/* Compares every candidate of the strategies `step` and `fused` with the host at every element:
 * blocks and marching loops, sides, batches, in place; `fused`, of planes, must equal single steps
 * to the bit. Part `powers` compares the candidates of `modes`.
 * tests/python/test_system.py compares random systems with NumPy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "strategies/table.h"
#include "suite.h"

typedef struct system_case {
    const char *name;
    struct grid {
        int rank;
        size_t extent[3], batch;
        uint64_t steps;
        int in_place;
    } grid;
    const char *text;
} system_case;

#define WAVE "field u(2)\ncoefficient c2\nstencil lap = laplace-3d:order=8\n"
#define MIXED                                                                                                          \
    "field a, b\ncoefficient k, m = 0.25\nstencil dz = taps z [0, 1] (-1 1), bz = taps z [-1, 0] (-1 1), "             \
    "s = taps [-2 0 0, 1 1 0, 0 -1 1, 1 0 0] (0.1 0.2 -0.3 0.1)\n"
static const system_case cases[] = {
    {"wave, odd sides",
     {3, {71, 13, 41}, 1, 3, 0},
     WAVE "boundary u = odd-mirror:mirror, odd-reflect:nearest, constant=0.3:reflect\n"
          "u.next = 2*u - u.prev + 0.05*c2*lap(u)"},
    {"wave, in place, batch", {3, {35, 11, 37}, 2, 4, 1}, WAVE "u.next = 2*u - u.prev + 0.05*c2*lap(u)"},
    {"flux form and a fixed side",
     {3, {40, 9, 35}, 1, 3, 0},
     MIXED "boundary a = fixed:odd-reflect, wrap, mirror:fixed\nboundary k = odd-mirror\n"
           "a.next = a + 0.1*bz(k*dz(a)) + m*s(b)\nb.next = where(k > 0.5, b, s(a.next))"},
    {"two assignments in a launch",
     {3, {37, 9, 34}, 2, 3, 0},
     "field a, b(2)\nstencil s = taps [-2 0 0, 1 1 0, 0 -1 1, 1 0 0] (0.1 0.2 -0.3 0.1)\nboundary a = nearest, fixed, "
     "odd-mirror\na.next = a + 0.1*s(b)\nb.next = b.prev - 0.1*s(a)"},
    {"an assignment over values that the one before reads",
     {3, {70, 20, 72}, 1, 3, 1},
     "field a, b\nstencil s = laplace-3d\na.next = a + 0.1*s(b)\nb.next = 0.5*b + 1"},
    {"flux form in a plane, in place",
     {2, {43, 270}, 2, 7, 1},
     "field a, b(2)\ncoefficient k, m = 0.25\nstencil dy = taps [0 0, 1 0] (-1 1), by = taps [-1 0, 0 0] (-1 1), "
     "s = taps [-2 0, 1 1, 0 -1, 1 0] (0.1 0.2 -0.3 0.1)\n"
     "boundary a = odd-reflect:fixed, wrap\nboundary b = mirror:constant=0.5, nearest:odd-mirror\n"
     "a.next = a + 0.1*by(k*dy(a)) + m*s(b)\nb.next = where(k > 0.5, b, s(a.next) - b.prev)"},
    {"a chain, forwards and across",
     {3, {37, 19, 72}, 2, 3, 0},
     "field e, f, h\nstencil zf = taps z [0, 1] (-1 1), zb = taps z [-1, 0] (-1 1), xf = taps x [0, 1] (-1 1), "
     "yf = taps [0 0 0, 0 2 -1] (-1 1), yb = taps y [-1, 0] (-1 1)\ne.next = e + 0.3*(yb(h) - zb(h))\n"
     "f.next = f + 0.2*xf(h)\nh.next = h - 0.3*(yf(f.next) - zf(e.next)) + 0.1*xf(e.next)"},
    {"a chain, backwards, in place",
     {2, {45, 150}, 2, 4, 1},
     "field v, w, p(2)\ncoefficient b\nstencil xf = taps x [0, 1] (-1 1), xb = taps x [-2, 0] (-1 1), "
     "yf = taps [0 0, 1 0] (-1 1), yb = taps [-1 0, 0 0] (-1 1)\nv.next = v - 0.2*b*xf(p)\n"
     "w.next = w - 0.2*b*yf(p)\np.next = 2*p - p.prev - 0.1*b*(xb(v.next) + yb(w.next))"},
    {"only points ahead in the march",
     {3, {19, 9, 36}, 1, 3, 0},
     "field a, b\nstencil s = taps z [2, 3] (0.3 0.2)\nboundary a = mirror\na.next = 0.5*s(a)\nb.next = a.next + b"},
    {"waves of an odd number of steps", {3, {21, 18, 72}, 1, 5, 0}, WAVE "u.next = 2*u - u.prev + 0.05*c2*lap(u)"},
    {"a chain of two wave steps",
     {3, {23, 19, 72}, 1, 3, 0},
     "field w, u\ncoefficient c2\nstencil lap = laplace-3d:order=4\nw.next = 2*u - w + 0.05*c2*lap(u)\n"
     "u.next = 2*w.next - u + 0.05*c2*lap(w.next)"},
    {"waves in a plane, all sides wrap",
     {2, {45, 600}, 1, 7, 0},
     "field u(2)\ncoefficient c2\nstencil lap = laplace-2d:order=8\nu.next = 2*u - u.prev + 0.05*c2*lap(u)"},
    {"adjacent columns of a thread at sides",
     {2, {31, 540}, 1, 4, 1},
     "field a, b(2)\ncoefficient k\nstencil s = taps [-2 1, 1 3, 0 -1, 0 2, 1 0] (0.1 0.2 -0.3 0.1 0.2)\n"
     "boundary a = odd-reflect:fixed, mirror:odd-mirror\nboundary b = mirror:constant=0.5, constant=0.25:nearest\n"
     "a.next = a + 0.1*k*s(b)\nb.next = where(k > 0.5, b, s(a.next) - b.prev)"},
    {"a plane, fewer steps than levels",
     {2, {29, 83}, 3, 2, 0},
     "field u(4)\nstencil h = box-2d9p\nboundary u = constant=-1:odd-mirror\nu.next = h(h(u))"},
    {"waves on few points",
     {3, {4, 4, 4}, 1, 3, 0},
     "field u(2)\ncoefficient c2\nstencil lap = laplace-3d:order=4\nu.next = 2*u - u.prev + 0.05*c2*lap(u)"},
    {"a chain around three planes",
     {3, {3, 5, 16}, 2, 3, 0},
     "field a, b\nstencil s = taps z [-1, 1] (1 -1), t = taps [-2 1 0, 1 0 1, 0 0 0] (0.2 0.3 -0.5)\n"
     "a.next = a + 0.3*s(b)\nb.next = b - 0.3*s(a.next) + 0.1*t(b)"},
};

/* Linear systems on periodic grids, whose axes have odd and even lengths, and columns of two
 * stages. */
static const system_case powers[] = {
    {"waves of constant velocity",
     {3, {32, 18, 20}, 2, 40, 0},
     "field u(2)\nstencil lap = laplace-3d:order=4\nu.next = 2*u - u.prev + 0.05*lap(u)"},
    {"two fields, in place",
     {3, {36, 16, 25}, 1, 30, 1},
     "field a, b\nstencil lap = laplace-3d\na.next = a + 0.1*lap(b)\nb.next = b - 0.1*lap(a)"},
    {"damped waves",
     {3, {48, 384, 18}, 1, 20, 0},
     "field u(2)\nstencil lap = laplace-3d:order=8\nu.next = 1.9*u - 0.95*u.prev + 0.02*lap(u)"},
    {"waves that are no mirror images of themselves",
     {3, {32, 18, 20}, 2, 40, 0},
     "field u(2)\nstencil s = taps [0 0 0, 0 1 1, 0 -1 -1, 1 1 0, -1 -1 0] (-4 1 1 1 1)\n"
     "u.next = 2*u - u.prev + 0.1*s(u)"},
    {"waves in 2D",
     {2, {96, 70}, 2, 40, 0},
     "field u(2)\nstencil lap = laplace-2d:order=4\nu.next = 2*u - u.prev + 0.05*lap(u)"},
    {"waves in 2D, columns in clusters of blocks",
     {2, {8192, 40}, 1, 20, 1},
     "field u(2)\nstencil lap = laplace-2d\nu.next = 2*u - u.prev + 0.2*lap(u)"},
    {"two fields in 2D",
     {2, {54, 96}, 3, 30, 0},
     "field a, b\nstencil lap = laplace-2d\na.next = a + 0.1*lap(b)\nb.next = b - 0.1*lap(a)"},
};

/* All arrays of a run in one block of memory: inputs, outputs, coefficients, each aligned to 256
 * bytes. */
typedef struct rig {
    stn_context *context;
    char *there;
    size_t each;
    int arrays, coefficients;
    const void *in[8], *coefficient[4];
    void *out[8];
} rig;

static stn_status make_rig(rig *r, stn_context *context, const stn_system_task *task, const void *numbers,
                           stn_error *error) {
    r->context = context;
    r->arrays = task->arrays, r->coefficients = task->system->ncoefficients;
    const size_t bytes = (size_t)(2 * r->arrays + r->coefficients) * r->each;
    stn_status status = stn_memory_alloc(context, bytes, (void **)&r->there, error);
    if (status == STN_OK) status = stn_memory_upload(context, r->there, numbers, bytes, error);
    for (int i = 0; i < r->arrays; i++) {
        r->in[i] = r->there + (size_t)i * r->each;
        r->out[i] = r->there + (size_t)(task->in_place ? i : r->arrays + i) * r->each;
    }
    for (int i = 0; i < r->coefficients; i++)
        r->coefficient[i] = task->is_number[i] ? NULL : r->there + (size_t)(2 * r->arrays + i) * r->each;
    return status;
}

static stn_status run_plan(rig *r, stn_plan *plan, stn_error *error) {
    void *workspace = NULL;
    stn_system_arrays arrays = STN_SYSTEM_ARRAYS_INIT;
    stn_execution run = STN_EXECUTION_INIT;
    arrays.in = r->in, arrays.out = r->out, arrays.coefficients = r->coefficient;
    run.system = &arrays;
    stn_status status = STN_OK;
    if (plan->workspace_size) status = stn_memory_alloc(r->context, plan->workspace_size, &workspace, error);
    run.workspace = workspace;
    if (status == STN_OK) status = stn_plan_run(plan, &run, error);
    if (status == STN_OK) status = stn_synchronize(r->context, NULL, error);
    stn_memory_free(r->context, workspace);
    return status;
}

/* The largest difference, relative to the largest number. */
static double difference(const stn_system_task *task, const char *got, const char *expected, size_t each,
                         size_t numbers) {
    double most = 0, largest = 1e-300;
    for (int i = 0; i < task->arrays; i++)
        for (size_t k = 0; k < numbers; k++) {
            const double a = element(task->dtype, got + (size_t)i * each, (int64_t)k),
                         b = element(task->dtype, expected + (size_t)i * each, (int64_t)k);
            if (!(fabs(a - b) <= most)) most = fabs(a - b);
            largest = fmax(largest, fabs(b));
        }
    return most / largest;
}

typedef struct bench {
    suite *s;
    const system_case *c;
    stn_dtype dtype;
    stn_context *host;
    stn_system_problem problem;
    bool powers;                              /* `modes` is compared, not `step` and `fused` */
    char *numbers, *expected, *got, *stepped; /* stepped: by the first candidate of `step` */
    size_t each, points, bytes;
} bench;

static stn_status result_of(bench *b, stn_context *context, stn_plan *plan, char *result, stn_error *error) {
    rig r = {.each = b->each};
    const stn_system_task *task = &plan->system;
    stn_status status = make_rig(&r, context, task, b->numbers, error);
    if (status == STN_OK) status = run_plan(&r, plan, error);
    if (status == STN_OK)
        status = stn_memory_download(context, result, r.out[0], (size_t)task->arrays * b->each, error);
    stn_memory_free(context, r.there);
    return status;
}

/* Elements whose bits differ from those of `step`. */
static size_t differing(const stn_system_task *task, const bench *b) {
    const size_t size = stn_dtype_size(task->dtype);
    size_t count = 0;
    for (int i = 0; i < task->arrays; i++)
        for (size_t k = 0; k < b->points; k++) {
            const size_t at = (size_t)i * b->each + k * size;
            count += memcmp(b->got + at, b->stepped + at, size) != 0;
        }
    return count;
}

static void check_candidate(bench *b, stn_plan *like, const stn_strategy *strategy, const stn_candidate *candidate,
                            bool is_first) {
    static const double bars[] = {1e-13, 2e-5, 1e-2}; /* by stn_dtype, for a few steps */
    stn_plan *plan = NULL;
    stn_error error = {STN_OK, ""};
    char what[300], detail[1100] = "";
    stn_text name = STN_TEXT_EMPTY;
    strategy->name_candidate(&like->task, candidate, &name);
    stn_text_append(&name, "", 1);
    snprintf(what, sizeof what, "%s, %s: %s, %s", b->c->name, stn_dtype_name(b->dtype), strategy->name,
             name.data ? name.data : "");
    stn_text_clear(&name);
    stn_status status = stn_plan_build(like, like->system.steps, strategy, candidate, NULL, &plan, &error);
    if (status == STN_OK) status = result_of(b, b->s->context, plan, b->got, &error);
    double off = INFINITY;
    if (status == STN_OK) off = difference(&plan->system, b->got, b->expected, b->each, b->points);
    const bool is_step = strategy == &stn_system_strategy_step;
    size_t unlike = 0;
    if (status == STN_OK && is_step && is_first) memcpy(b->stepped, b->got, b->bytes);
    if (status == STN_OK && strategy != &stn_system_strategy_modes) unlike = differing(&plan->system, b);
    snprintf(detail, sizeof detail, "%s; off by %.3g; %zu elements differ from those of step", error.message, off,
             unlike);
    suite_report(b->s, off <= bars[b->dtype] && !unlike, what, detail);
    stn_plan_destroy(plan);
}

static void check_case(bench *b) {
    stn_error error = {STN_OK, ""};
    stn_plan *host = NULL, *like = NULL;
    stn_candidate list[64];
    static const stn_strategy *const of_steps[] = {&stn_system_strategy_step, &stn_system_strategy_fused, NULL},
                                     *const of_powers[] = {&stn_system_strategy_modes, NULL};
    const stn_strategy *const *strategies = b->powers ? of_powers : of_steps;
    stn_status status = stn_plan_create_system(b->host, &b->problem, NULL, &host, &error);
    if (status == STN_OK) status = result_of(b, b->host, host, b->expected, &error);
    if (status == STN_OK) status = stn_plan_create_system(b->s->context, &b->problem, NULL, &like, &error);
    if (status != STN_OK) suite_report(b->s, false, b->c->name, error.message);
    for (int k = 0; status == STN_OK && strategies[k]; k++) {
        char reason[200];
        if (!strategies[k]->system.applies(&like->system, &like->machine, reason, sizeof reason)) continue;
        const size_t most = b->s->full ? 64 : k ? 6 : 10;
        const size_t count = strategies[k]->system.candidates(&like->system, &like->machine, list, most);
        for (size_t i = 0; i < count; i++) check_candidate(b, like, strategies[k], &list[i], i == 0);
    }
    stn_plan_destroy(host);
    stn_plan_destroy(like);
}

/* Fills all memory with numbers in [-1, 1]. */
static void fill(bench *b) {
    dice d = {b->s->run + 1u};
    for (size_t array = 0; array < b->bytes / b->each; array++)
        for (size_t i = 0; i < b->points; i++)
            set_element(b->dtype, b->numbers + array * b->each, (int64_t)i, dice_real(&d));
}

static void check_type(suite *s, const system_case *c, stn_dtype dtype, bool by_powers) {
    bench b = {.s = s, .c = c, .dtype = dtype, .problem = STN_SYSTEM_PROBLEM_INIT, .powers = by_powers};
    stn_system *system = NULL;
    stn_error error = {STN_OK, ""};
    const stn_context_options options = {
        .struct_size = sizeof options, .device = STN_DEVICE_HOST, .cache_dir = ":memory:"};
    if (stn_system_parse(c->text, &system, &error) != STN_OK ||
        stn_context_create(&options, &b.host, &error) != STN_OK) {
        suite_report(s, false, c->name, error.message);
        stn_system_destroy(system);
        return;
    }
    b.problem.system = system, b.problem.rank = c->grid.rank, b.problem.batch = c->grid.batch, b.problem.dtype = dtype;
    b.problem.steps = c->grid.steps, b.problem.in_place = c->grid.in_place;
    b.points = c->grid.batch;
    for (int axis = 0; axis < c->grid.rank; axis++) b.points *= b.problem.extent[axis] = c->grid.extent[axis];
    b.each = (b.points * 8 + 255) / 256 * 256;
    b.bytes = 24 * b.each; /* more arrays than any case has */
    b.numbers = calloc(1, b.bytes), b.expected = calloc(1, b.bytes), b.got = calloc(1, b.bytes);
    b.stepped = calloc(1, b.bytes);
    if (b.numbers && b.expected && b.got && b.stepped) {
        fill(&b);
        check_case(&b);
    } else
        suite_report(s, false, c->name, "no memory");
    free(b.numbers), free(b.expected), free(b.got), free(b.stepped);
    stn_context_destroy(b.host);
    stn_system_destroy(system);
}

static void candidates(suite *s) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int dtype = 0; dtype < 3; dtype++)
            if (s->full || (int)(i % 3) == dtype || i == 2) check_type(s, &cases[i], (stn_dtype)dtype, false);
}

static void all_powers(suite *s) {
    for (size_t i = 0; i < sizeof powers / sizeof *powers; i++) {
        /* Whole transforms of odd rows in f64 need cuFFT. */
        const bool is_odd = powers[i].grid.extent[2] % 2;
        if (!is_odd) check_type(s, &powers[i], STN_F64, true);
        check_type(s, &powers[i], STN_F32, true);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"candidates", candidates}, {"powers", all_powers}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
