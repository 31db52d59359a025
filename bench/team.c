/* stentor-team: wall-clock time of a run on 1, 2, 4, ... devices of this process, compared with a
 * plan on one device.
 *
 *     stentor-team [--host] [--members N] [--case TEXT] [--repeat N] [--small] [--json]
 *                  [--between STEPS] [--model] [--arch ARCH]
 *
 * It measures the devices' copy bandwidth and the links between them first. Then it prints one line
 * for each case and number of members: median seconds of a run on one device and by the team, the
 * speedup, the steps and rows of an exchange, and whether sampled rows of the first run equal those
 * of one device: "equal" is bit for bit, a number is the largest difference relative to the largest
 * value. In a case of weak scaling the team's grid has the one device's rows for each member, and
 * the speedup is relative to the number of members. Grids stay on their devices between runs, as in
 * a simulation. --between sets the steps between two exchanges; else the plan chooses them. --case
 * runs only cases whose names contain the text. The wave, a system, is compared with a team of one
 * device. --model adds lines with predictions for 8 GPUs of one host and for 64 of 8 hosts; --arch
 * sm_90 prints these alone, for a GPU that need not be here. */
#include "team/team.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bench.h"
#include "stentor.h"

enum { MAX_REPEAT = 101, MAX_MEMBERS = 8, MAX_SAMPLES = 32 };
/* Elements after which the input repeats: a prime number, so that no two rows near each other are
 * equal. */
enum { PERIOD = 1000003 };
/* Bytes of rows that are compared on each side of a boundary between two parts. */
enum { SAMPLE_BYTES = 4 << 20 };

typedef struct team_case {
    const char *name, *stencil, *boundary, *strategy;
    stn_dtype dtype;
    size_t extent[3];
    uint64_t steps;
} team_case;

/* Weak scaling: the extents are of one member. */
static bool is_weak(const team_case *c) { return !strncmp(c->name, "weak: ", strlen("weak: ")); }

#define ORDER_8 "step:laplace-2d:order=8"
static const team_case cases[] = {
    {"heat-2d 32768^2 f64 fixed direct", "heat-2d", "fixed", "direct", STN_F64, {32768, 32768}, 300},
    {"heat-2d 32768^2 f64 fixed auto", "heat-2d", "fixed", NULL, STN_F64, {32768, 32768}, 1000},
    {"box-3d27p 1024^3 f32 wrap direct", "box-3d27p", "wrap", "direct", STN_F32, {1024, 1024, 1024}, 100},
    {"order 8 4096^2 f32 fixed direct", ORDER_8, "fixed", "direct", STN_F32, {4096, 4096}, 1000},
    {"order 8 4096^2 f32 fixed auto", ORDER_8, "fixed", NULL, STN_F32, {4096, 4096}, 1000},
    {"heat-1d 2^31 f32 wrap direct", "heat-1d", "wrap", "direct", STN_F32, {(size_t)1 << 31}, 300},
    {"heat-1d 2^31 f32 wrap auto", "heat-1d", "wrap", NULL, STN_F32, {(size_t)1 << 31}, 1000},
    {"heat-2d 32768^2 f64 wrap auto", "heat-2d", "wrap", NULL, STN_F64, {32768, 32768}, 1000},
    {"heat-3d 768^3 f32 fixed direct", "heat-3d", "fixed", "direct", STN_F32, {768, 768, 768}, 100},
    {"weak: heat-2d 16384x32768 f64 fixed direct", "heat-2d", "fixed", "direct", STN_F64, {16384, 32768}, 300},
    {"weak: box-3d27p 512x1024^2 f32 wrap direct", "box-3d27p", "wrap", "direct", STN_F32, {512, 1024, 1024}, 100},
    {"weak: order 8 2048x4096 f32 fixed direct", ORDER_8, "fixed", "direct", STN_F32, {2048, 4096}, 1000},
};

typedef struct settings {
    bool host, small, json, model;
    int members, repeat;
    uint64_t between;
    const char *only, *arch;
} settings;

/* ---- data ------------------------------------------------------------------------------------ */

/* "step:" before a Laplacian L: u + 0.1 L u, which is stable. */
static stn_status parse_stencil(const char *spec, stn_stencil **stencil, stn_error *error) {
    static const char step[] = "step:";
    if (strncmp(spec, step, sizeof step - 1) != 0) return stn_stencil_parse(spec, stencil, error);
    stn_stencil *laplace;
    STN_TRY(stn_stencil_parse(spec + sizeof step - 1, &laplace, error));
    const size_t count = stn_stencil_tap_count(laplace);
    stn_tap *taps = calloc(count, sizeof *taps);
    stn_status status = taps ? STN_OK : stn_fail_memory(error, "the taps of a case", count * sizeof *taps);
    for (size_t i = 0; i < count && status == STN_OK; i++) {
        taps[i] = stn_stencil_taps(laplace)[i];
        const bool centre = !taps[i].offset[0] && !taps[i].offset[1] && !taps[i].offset[2];
        taps[i].weight = 0.1 * taps[i].weight + centre;
    }
    if (status == STN_OK) status = stn_stencil_create(stn_stencil_rank(laplace), count, taps, stencil, error);
    free(taps);
    stn_stencil_destroy(laplace);
    return status;
}

static stn_status copy_within(stn_context *context, void *to, const void *from, size_t bytes, stn_error *error) {
    if (context->device) return stn_device_copy(context->device, to, from, bytes, NULL, error);
    memcpy(to, from, bytes);
    return STN_OK;
}

/* Fills `count` elements with those of the input from element `first` on. The input is periodic:
 * the filled part is copied behind itself until it is long enough. */
static stn_status fill(stn_context *context, void *data, stn_dtype dtype, size_t first, size_t count,
                       stn_error *error) {
    const size_t size = stn_dtype_size(dtype), some = count < PERIOD ? count : PERIOD;
    unsigned char *period = malloc(PERIOD * size), *to = data;
    if (!period) return stn_fail_memory(error, "a period of the input", PERIOD * size);
    for (size_t i = 0; i < some; i++) bench_store(period, i, dtype, bench_value((first + i) % PERIOD, dtype));
    stn_status status = stn_memory_upload(context, data, period, some * size, error);
    free(period);
    for (size_t done = some; done < count && status == STN_OK; done *= 2)
        status = copy_within(context, to + done * size, to, (count - done < done ? count - done : done) * size, error);
    return status == STN_OK ? stn_synchronize(context, NULL, error) : status;
}

/* ---- sampled rows ---------------------------------------------------------------------------- */

typedef struct sample {
    size_t first, rows;
    unsigned char *bytes; /* of one device's result */
} sample;

typedef struct samples {
    size_t row_bytes;
    int count;
    sample at[MAX_SAMPLES];
} samples;

static void add_sample(samples *all, size_t first, size_t end, size_t rows) {
    if (end > rows) end = rows;
    if (all->count < MAX_SAMPLES && first < end) all->at[all->count++] = (sample){.first = first, .rows = end - first};
}

/* Rows at the sides, at the boundaries between the parts of 2, 4, ... members, and between them. */
static void choose_samples(samples *all, size_t rows, int members) {
    const size_t most = 1 + SAMPLE_BYTES / all->row_bytes;
    add_sample(all, 0, most, rows), add_sample(all, rows - (most < rows ? most : rows), rows, rows);
    for (int m = 1; m < members; m++) {
        const size_t at = rows * (size_t)m / (size_t)members;
        add_sample(all, at - (most < at ? most : at), at + most, rows);
    }
    for (uint64_t i = 0; i < 16; i++) {
        const size_t at = (size_t)(0.5 * (1 + bench_value(i, STN_F64)) * (double)rows);
        add_sample(all, at, at + 1 + most / 4, rows);
    }
}

static void free_samples(samples *all) {
    for (int i = 0; i < all->count; i++) free(all->at[i].bytes);
    all->count = 0;
}

static stn_status take_samples(stn_context *context, const void *grid, samples *all, stn_error *error) {
    for (int i = 0; i < all->count; i++) {
        sample *s = &all->at[i];
        const size_t bytes = s->rows * all->row_bytes;
        free(s->bytes);
        if (!(s->bytes = malloc(bytes))) return stn_fail_memory(error, "sampled rows", bytes);
        STN_TRY(stn_memory_download(context, s->bytes, (const unsigned char *)grid + s->first * all->row_bytes, bytes,
                                    error));
    }
    return STN_OK;
}

typedef struct difference {
    bool equal; /* bit for bit */
    double most, largest;
} difference;

static void compare(difference *d, const unsigned char *got, const unsigned char *want, size_t bytes, stn_dtype dtype) {
    if (memcmp(got, want, bytes) == 0) return;
    d->equal = false;
    for (size_t i = 0; i < bytes / stn_dtype_size(dtype); i++) {
        const double a = bench_load(got, i, dtype), b = bench_load(want, i, dtype);
        if (!(fabs(a - b) <= d->most)) d->most = fabs(a - b);
        if (fabs(b) > d->largest) d->largest = fabs(b);
    }
}

/* Compares a member's rows with the samples. */
static stn_status compare_part(stn_context *context, const void *part, size_t first, size_t rows, const samples *all,
                               stn_dtype dtype, difference *d, stn_error *error) {
    for (int i = 0; i < all->count; i++) {
        const sample *s = &all->at[i];
        const size_t begin = s->first > first ? s->first : first,
                     end = s->first + s->rows < first + rows ? s->first + s->rows : first + rows;
        if (begin >= end) continue;
        const size_t bytes = (end - begin) * all->row_bytes;
        unsigned char *got = malloc(bytes);
        if (!got) return stn_fail_memory(error, "sampled rows", bytes);
        const stn_status status = stn_memory_download(
            context, got, (const unsigned char *)part + (begin - first) * all->row_bytes, bytes, error);
        if (status == STN_OK) compare(d, got, s->bytes + (begin - s->first) * all->row_bytes, bytes, dtype);
        free(got);
        STN_TRY(status);
    }
    return STN_OK;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* One device's plan with its grids. */
typedef struct lone_run {
    stn_context *context;
    stn_plan *plan;
    void *in, *out;
    double seconds;
} lone_run;

static stn_status execute_alone(const lone_run *run, double *seconds, stn_error *error) {
    const double begin = bench_now();
    STN_TRY(stn_plan_execute(run->plan, run->in, run->out, NULL, error));
    STN_TRY(stn_synchronize(run->context, NULL, error));
    *seconds = bench_now() - begin;
    return STN_OK;
}

/* Runs the plan once, and keeps sampled rows of its result. */
static stn_status begin_alone(lone_run *run, const stn_problem *p, const stn_plan_options *options, samples *all,
                              stn_error *error) {
    const size_t bytes = p->extent[0] * all->row_bytes;
    STN_TRY(stn_plan_create(run->context, p, options, &run->plan, error));
    STN_TRY(stn_memory_alloc(run->context, bytes, &run->in, error));
    STN_TRY(stn_memory_alloc(run->context, bytes, &run->out, error));
    STN_TRY(fill(run->context, run->in, p->dtype, 0, bytes / stn_dtype_size(p->dtype), error));
    STN_TRY(execute_alone(run, &run->seconds, error));
    return take_samples(run->context, run->out, all, error);
}

static void end_alone(lone_run *run) {
    stn_memory_free(run->context, run->in), stn_memory_free(run->context, run->out);
    stn_plan_destroy(run->plan);
}

typedef struct team_run {
    stn_team *team;
    stn_team_plan *plan;
    void *part[MAX_MEMBERS];
    double seconds;
    difference difference;
} team_run;

static stn_status make_parts(team_run *run, const stn_problem *p, size_t row_bytes, stn_error *error) {
    const size_t size = stn_dtype_size(p->dtype);
    for (int m = 0; m < stn_team_size(run->team); m++) {
        stn_context *const context = stn_team_context(run->team, m);
        size_t first, rows;
        STN_TRY(stn_team_plan_local(run->plan, m, &first, &rows, error));
        STN_TRY(stn_memory_alloc(context, rows * row_bytes, &run->part[m], error));
        if (rows)
            STN_TRY(fill(context, run->part[m], p->dtype, first * row_bytes / size, rows * row_bytes / size, error));
    }
    return STN_OK;
}

/* The first run starts from the input, and its result is compared; each of the others goes on. They
 * alternate with runs on one device, so that clocks that change in time change both medians. */
static stn_status time_both(lone_run *alone, team_run *run, const stn_problem *p, const stn_plan_options *options,
                            int repeat, const samples *all, stn_error *error) {
    double alone_times[MAX_REPEAT], times[MAX_REPEAT];
    STN_TRY(stn_team_plan_create(run->team, p, options, &run->plan, error));
    STN_TRY(make_parts(run, p, all->row_bytes, error));
    run->difference.equal = true;
    STN_TRY(stn_team_plan_execute(run->plan, (const void *const *)run->part, run->part, NULL, error));
    for (int m = 0; m < stn_team_size(run->team); m++) {
        size_t first, rows;
        STN_TRY(stn_team_plan_local(run->plan, m, &first, &rows, error));
        STN_TRY(compare_part(stn_team_context(run->team, m), run->part[m], first, rows, all, p->dtype, &run->difference,
                             error));
    }
    for (int i = 0; i < repeat; i++) {
        STN_TRY(execute_alone(alone, &alone_times[i], error));
        const double begin = bench_now();
        STN_TRY(stn_team_plan_execute(run->plan, NULL, NULL, NULL, error));
        times[i] = bench_now() - begin;
    }
    alone->seconds = bench_median(alone_times, repeat), run->seconds = bench_median(times, repeat);
    return STN_OK;
}

static void end_run(team_run *run) {
    for (int m = 0; m < stn_team_size(run->team); m++) stn_memory_free(stn_team_context(run->team, m), run->part[m]);
    stn_team_plan_destroy(run->plan);
    run->plan = NULL;
    memset(run->part, 0, sizeof run->part);
}

static void print_run(const settings *s, const team_case *c, const stn_problem *p, const team_run *run,
                      const lone_run *one) {
    const stn_team_plan *plan = run->plan;
    const int members = stn_team_size(run->team);
    const char *const strategy = stn_plan_strategy(one->plan);
    const double alone = one->seconds;
    const double speedup = run->seconds > 0 ? (is_weak(c) ? members : 1) * alone / run->seconds : 0;
    char same[40] = "not compared";
    if (!is_weak(c) || members == 1)
        snprintf(same, sizeof same, run->difference.equal ? "equal" : "%.2e",
                 run->difference.most / run->difference.largest);
    const char *const own = plan->spectral ? "transforms" : stn_plan_strategy(plan->part[0].plan[0]);
    if (s->json)
        printf("{\"case\": \"%s\", \"members\": %d, \"steps\": %" PRIu64
               ", \"alone\": %.6g, \"team\": %.6g, "
               "\"speedup\": %.4g, \"between\": %" PRIu64
               ", \"rows\": %lld, \"predicted\": %.6g, "
               "\"strategy_alone\": \"%s\", \"strategy\": \"%s\", \"result\": \"%s\"}\n",
               c->name, members, p->steps, alone, run->seconds, speedup, plan->steps_per_exchange,
               (long long)plan->part[0].halo[1], plan->predicted, strategy, own, same);
    else
        printf("%-44s %d members: one %.6f s (%s), team %.6f s (%s; predicted %.6f), %.3f times; %" PRIu64
               " steps, %" PRIu64 " between exchanges of %lld rows; %s\n",
               c->name, members, alone, strategy, run->seconds, own, plan->predicted, speedup, p->steps,
               plan->steps_per_exchange, (long long)plan->part[0].halo[1], same);
    fflush(stdout);
}

/* Predicted speedups of larger teams, by the planner's own model: this GPU's kernels and measured
 * link for 8 GPUs of one host; between hosts the assumed figures below, and a process for each
 * GPU. */
#define NETWORK_BANDWIDTH 50e9 /* bytes/s of a GPU: 400 Gb/s */
#define NETWORK_LATENCY 40e-6  /* seconds */

static stn_status print_model(const team_case *c, const stn_problem *p, const stn_plan_options *options,
                              const stn_team *measured, double alone, stn_error *error) {
    static const int counts[] = {2, 8, 64};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const bool one_host = counts[i] <= 8;
        stn_team team = *measured;
        stn_problem whole = *p;
        stn_team_plan *plan = NULL;
        if (is_weak(c)) whole.extent[0] *= (size_t)counts[i];
        team.count = counts[i], team.gpus = one_host && !measured->on_host ? counts[i] : 1;
        if (!one_host) team.link_bandwidth = NETWORK_BANDWIDTH, team.latency = NETWORK_LATENCY;
        if (!(team.member = calloc((size_t)team.count, sizeof *team.member)))
            return stn_fail_memory(error, "a model", (size_t)team.count * sizeof *team.member);
        team.member[0] = measured->member[0];
        const stn_status status = team_predict(&team, &whole, options, &plan, error);
        if (status == STN_OK)
            printf("%-44s model of %d: %.3f times, %" PRIu64 " steps between exchanges of %lld rows\n", c->name,
                   counts[i], (is_weak(c) ? counts[i] : 1) * alone / plan->predicted, plan->steps_per_exchange,
                   (long long)plan->part[0].halo[1]);
        stn_team_plan_destroy(plan);
        free(team.member);
        STN_TRY(status);
    }
    fflush(stdout);
    return STN_OK;
}

static stn_status make_problem(const settings *s, const team_case *c, const stn_stencil *stencil, stn_problem *p,
                               size_t *row_bytes, stn_error *error) {
    const int rank = stn_stencil_rank(stencil);
    p->stencil = stencil, p->dtype = c->dtype, p->steps = s->small ? 20 : c->steps;
    *row_bytes = stn_dtype_size(p->dtype);
    for (int axis = 0; axis < rank; axis++) {
        p->extent[axis] = s->small ? (rank == 1 ? 100000 : rank == 2 ? 320 : 48) : c->extent[axis];
        STN_TRY(stn_boundary_parse(c->boundary, p->boundary[axis], error));
        *row_bytes *= axis ? p->extent[axis] : 1;
    }
    return STN_OK;
}

static stn_status run_case(const settings *s, const team_case *c, stn_team *const *teams, stn_error *error) {
    stn_stencil *stencil = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    samples all = {0};
    lone_run alone = {.context = stn_team_context(teams[0], 0)};
    STN_TRY(parse_stencil(c->stencil, &stencil, error));
    options.strategy = s->host ? NULL : c->strategy;
    stn_status status = make_problem(s, c, stencil, &p, &all.row_bytes, error);
    if (status == STN_OK) choose_samples(&all, p.extent[0], s->members);
    if (status == STN_OK) status = begin_alone(&alone, &p, &options, &all, error);
    const stn_team *largest = teams[0];
    for (int i = 0; status == STN_OK && i < MAX_MEMBERS && teams[i]; i++) {
        largest = teams[i];
        team_run run = {.team = teams[i]};
        stn_problem whole = p;
        const samples none = {.row_bytes = all.row_bytes};
        if (stn_team_size(teams[i]) == 1 && s->members > 1) continue;
        if (is_weak(c)) whole.extent[0] *= (size_t)stn_team_size(teams[i]);
        whole.in_place = 1;
        status = time_both(&alone, &run, &whole, &options, s->repeat, is_weak(c) ? &none : &all, error);
        if (status == STN_OK) print_run(s, c, &whole, &run, &alone);
        end_run(&run);
    }
    if (status == STN_OK && s->model)
        status = print_model(c, &p, &options, largest, stn_plan_predicted_seconds(alone.plan), error);
    end_alone(&alone);
    free_samples(&all);
    stn_stencil_destroy(stencil);
    return status;
}

/* ---- a system -------------------------------------------------------------------------------- */

#define WAVE_NAME "acoustic order 8 1024^3 f32"
#define WAVE_STEPS 50

/* A member's rows of u, u.prev and the coefficient. */
typedef struct wave_part {
    void *levels[2], *speed[1];
    stn_system_arrays arrays;
} wave_part;

static stn_status make_wave_parts(stn_team *team, const stn_team_plan *plan, size_t row_points, wave_part *parts,
                                  stn_error *error) {
    for (int m = 0; m < stn_team_size(team); m++) {
        stn_context *const context = stn_team_context(team, m);
        wave_part *w = &parts[m];
        size_t first, rows;
        void **const arrays[] = {&w->levels[0], &w->levels[1], &w->speed[0]};
        STN_TRY(stn_team_plan_local(plan, m, &first, &rows, error));
        for (int i = 0; i < 3; i++) {
            STN_TRY(stn_memory_alloc(context, rows * row_points * sizeof(float), arrays[i], error));
            if (rows) STN_TRY(fill(context, *arrays[i], STN_F32, first * row_points, rows * row_points, error));
        }
        w->arrays = (stn_system_arrays)STN_SYSTEM_ARRAYS_INIT;
        w->arrays.in = (const void *const *)w->levels, w->arrays.out = w->levels;
        w->arrays.coefficients = (const void *const *)w->speed;
    }
    return STN_OK;
}

/* The first run starts from the input; one device's result is sampled, a team's compared with it.
 * The timed runs go on from there. */
static stn_status time_wave(const settings *s, stn_team *team, const stn_system_problem *p, samples *all,
                            double *seconds, difference *d, stn_team_plan **plan, wave_part *parts, stn_error *error) {
    const stn_system_arrays *list[MAX_MEMBERS];
    double times[MAX_REPEAT];
    STN_TRY(stn_team_plan_create_system(team, p, NULL, plan, error));
    STN_TRY(make_wave_parts(team, *plan, all->row_bytes / sizeof(float), parts, error));
    for (int m = 0; m < stn_team_size(team); m++) list[m] = &parts[m].arrays;
    STN_TRY(stn_team_plan_execute_system(*plan, list, error));
    for (int m = 0; m < stn_team_size(team); m++) {
        size_t first, rows;
        STN_TRY(stn_team_plan_local(*plan, m, &first, &rows, error));
        if (stn_team_size(team) == 1)
            STN_TRY(take_samples(stn_team_context(team, m), parts[m].levels[0], all, error));
        else
            STN_TRY(compare_part(stn_team_context(team, m), parts[m].levels[0], first, rows, all, STN_F32, d, error));
        parts[m].arrays.in = NULL, parts[m].arrays.out = NULL, parts[m].arrays.coefficients = NULL;
    }
    for (int i = 0; i < s->repeat; i++) {
        const double begin = bench_now();
        STN_TRY(stn_team_plan_execute_system(*plan, list, error));
        times[i] = bench_now() - begin;
    }
    *seconds = bench_median(times, s->repeat);
    return STN_OK;
}

static stn_status run_wave(const settings *s, stn_team *const *teams, stn_error *error) {
    stn_system_problem p = STN_SYSTEM_PROBLEM_INIT;
    stn_system *system = NULL;
    samples all = {0};
    double alone = 0;
    STN_TRY(
        stn_system_parse("field u(2)\ncoefficient c2\nstencil lap = laplace-3d:order=8\n"
                         "u.next = 2*u - u.prev + 0.05*c2*lap(u)",
                         &system, error));
    p.system = system, p.dtype = STN_F32, p.steps = s->small ? 5 : WAVE_STEPS, p.in_place = 1;
    for (int axis = 0; axis < 3; axis++) p.extent[axis] = s->small ? 40 : 1024;
    all.row_bytes = p.extent[1] * p.extent[2] * sizeof(float);
    choose_samples(&all, p.extent[0], s->members);
    stn_status status = STN_OK;
    for (int i = 0; status == STN_OK && i < MAX_MEMBERS && teams[i]; i++) {
        const int members = stn_team_size(teams[i]);
        wave_part parts[MAX_MEMBERS] = {0};
        stn_team_plan *plan = NULL;
        difference d = {.equal = true};
        double seconds = 0;
        status = time_wave(s, teams[i], &p, &all, &seconds, &d, &plan, parts, error);
        if (i == 0) alone = seconds;
        if (status == STN_OK)
            printf("%-44s %d members: %.6f s (%s), %.3f times; %d steps; %s\n", WAVE_NAME, members, seconds,
                   stn_plan_strategy(plan->part[0].plan[0]), alone / seconds, (int)p.steps,
                   d.equal ? "equal" : "not equal");
        fflush(stdout);
        stn_team_plan_destroy(plan);
        for (int m = 0; m < members; m++)
            for (int k = 0; k < 3; k++)
                stn_memory_free(stn_team_context(teams[i], m), k < 2 ? parts[m].levels[k] : parts[m].speed[0]);
    }
    free_samples(&all);
    stn_system_destroy(system);
    return status;
}

/* The model of a case on GPUs that need not be here, with the link of two H200s of one host. */
#define ASSUMED_BANDWIDTH 370e9 /* bytes/s each way, both ways at once */
#define ASSUMED_LATENCY 26e-6   /* seconds of an exchange */

static stn_status model_case(const settings *s, const team_case *c, stn_context *context, stn_error *error) {
    stn_stencil *stencil = NULL;
    stn_plan *alone = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    size_t row_bytes;
    team_member member = {.context = context};
    const stn_team team = {
        .count = 1, .member = &member, .link_bandwidth = ASSUMED_BANDWIDTH, .latency = ASSUMED_LATENCY};
    STN_TRY(parse_stencil(c->stencil, &stencil, error));
    options.strategy = c->strategy, options.estimate_only = 1;
    stn_status status = make_problem(s, c, stencil, &p, &row_bytes, error);
    if (status == STN_OK) status = stn_plan_create(context, &p, &options, &alone, error);
    if (status == STN_OK) status = print_model(c, &p, &options, &team, stn_plan_predicted_seconds(alone), error);
    stn_plan_destroy(alone);
    stn_stencil_destroy(stencil);
    return status;
}

static int print_models(const settings *s) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_context *context = NULL;
    stn_error error = {0};
    options.arch = s->arch;
    stn_status status = stn_context_create(&options, &context, &error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && status == STN_OK; i++)
        if (!s->only || strstr(cases[i].name, s->only)) status = model_case(s, &cases[i], context, &error);
    if (status != STN_OK) printf("stentor-team: %s\n", error.message);
    stn_context_destroy(context);
    return status != STN_OK;
}

/* ---- links ----------------------------------------------------------------------------------- */

typedef struct link_buffers {
    void *to[2], *from[2]; /* of the first and the last member */
} link_buffers;

/* Rounds in which both members copy `bytes` bytes from each other: each waits for the other's
 * event, copies, and records its own. The host enqueues them all, in *enqueued seconds, and waits
 * once. */
static stn_status exchange_rounds(const team_member *const pair[2], const link_buffers *b, size_t bytes, int ways,
                                  int rounds, double *enqueued, stn_error *error) {
    const double begin = bench_now();
    for (int i = 0; i < rounds; i++) {
        for (int m = 0; m < 2; m++) STN_TRY(stn_lane_mark(pair[m]->lane, error));
        for (int m = 0; m < ways; m++) {
            STN_TRY(stn_lane_await(pair[m]->lane, pair[!m]->lane, error));
            STN_TRY(stn_lane_copy(pair[m]->lane, b->to[m], pair[!m]->lane, b->from[!m], bytes, error));
        }
    }
    *enqueued = bench_now() - begin;
    for (int m = 0; m < 2; m++)
        STN_TRY(stn_device_synchronize(pair[m]->context->device, stn_lane_stream(pair[m]->lane), error));
    return STN_OK;
}

static stn_status print_links(const stn_team *team, size_t most, stn_error *error) {
    const team_member *const pair[2] = {&team->member[0], &team->member[team->count - 1]};
    link_buffers b = {{NULL}, {NULL}};
    stn_status status = STN_OK;
    for (int m = 0; m < 2 && status == STN_OK; m++) {
        status = stn_memory_alloc(pair[m]->context, most, &b.to[m], error);
        if (status == STN_OK) status = stn_memory_alloc(pair[m]->context, most, &b.from[m], error);
    }
    for (size_t bytes = 4096; bytes <= most && status == STN_OK; bytes *= 8)
        for (int ways = 1; ways <= 2 && status == STN_OK; ways++) {
            enum { ROUNDS = 50, TIMES = 7 };
            double times[TIMES], enqueued[TIMES];
            status = exchange_rounds(pair, &b, bytes, ways, ROUNDS, &enqueued[0], error);
            for (int i = 0; i < TIMES && status == STN_OK; i++) {
                const double begin = bench_now();
                status = exchange_rounds(pair, &b, bytes, ways, ROUNDS, &enqueued[i], error);
                times[i] = (bench_now() - begin) / ROUNDS;
            }
            if (status != STN_OK) break;
            const double median = bench_median(times, TIMES);
            printf("link: %10zu bytes %s: %8.2f us an exchange (the host's calls %.2f), %.1f GB/s each way\n", bytes,
                   ways == 1 ? "one way  " : "both ways", 1e6 * median, 1e6 * bench_median(enqueued, TIMES) / ROUNDS,
                   1e-9 * (double)bytes / median);
        }
    for (int m = 0; m < 2; m++) {
        stn_memory_free(pair[m]->context, b.to[m]);
        stn_memory_free(pair[m]->context, b.from[m]);
    }
    return status;
}

static stn_status print_machine(const settings *s, const stn_team *team, stn_error *error) {
    for (int m = 0; m < team->count; m++) {
        const stn_context *const context = team->member[m].context;
        double rate = context->machine.copy_bandwidth;
        if (context->device && !s->small) STN_TRY(stn_device_measure_copy(context->device, &rate, error));
        printf("member %d: %s, copies %.1f GB/s\n", m, context->machine.name, 1e-9 * rate);
    }
    printf("team: the link copies %.1f GB/s, an exchange takes %.2f us\n", 1e-9 * stn_team_link_bandwidth(team),
           1e6 * team->latency);
    return team->on_host ? STN_OK : print_links(team, s->small ? 4096 : (size_t)128 << 20, error);
}

/* ---- command --------------------------------------------------------------------------------- */

static int usage(void) {
    fprintf(stderr,
            "usage: stentor-team [--host] [--members 1 to %d] [--case TEXT] [--repeat 1 to %d] [--small] "
            "[--json] [--between STEPS] [--model] [--arch ARCH]\n",
            MAX_MEMBERS, MAX_REPEAT);
    return 2;
}

static bool read_settings(int argc, char **argv, settings *s) {
    *s = (settings){.members = 2, .repeat = 7};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--host"))
            s->host = true;
        else if (!strcmp(argv[i], "--small"))
            s->small = true;
        else if (!strcmp(argv[i], "--json"))
            s->json = true;
        else if (!strcmp(argv[i], "--model"))
            s->model = true;
        else if (!strcmp(argv[i], "--members"))
            s->members = atoi(value), i++;
        else if (!strcmp(argv[i], "--between"))
            s->between = strtoull(value, NULL, 10), i++;
        else if (!strcmp(argv[i], "--repeat"))
            s->repeat = atoi(value), i++;
        else if (!strcmp(argv[i], "--arch"))
            s->arch = value, i++;
        else if (!strcmp(argv[i], "--case"))
            s->only = value, i++;
        else
            return false;
    }
    return s->members >= 1 && s->members <= MAX_MEMBERS && s->repeat >= 1 && s->repeat <= MAX_REPEAT;
}

int main(int argc, char **argv) {
    settings s;
    if (!read_settings(argc, argv, &s)) return usage();
    if (s.arch) return print_models(&s);
    stn_team *teams[MAX_MEMBERS + 1] = {NULL};
    stn_error error = {0};
    stn_status status = STN_OK;
    int count = 0, failed = 0;
    for (int members = 1; members <= s.members && status == STN_OK; members *= 2, count += status == STN_OK) {
        int devices[MAX_MEMBERS];
        for (int m = 0; m < members; m++) devices[m] = s.host ? STN_DEVICE_HOST : STN_DEVICE_CUDA(m);
        status = stn_team_create(NULL, members, devices, &teams[count], &error);
        if (status == STN_OK) teams[count]->steps_per_exchange = s.between;
    }
    if (status == STN_OK) status = print_machine(&s, teams[count - 1], &error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases && status == STN_OK; i++) {
        if (s.only && !strstr(cases[i].name, s.only)) continue;
        if (run_case(&s, &cases[i], teams, &error) == STN_OK) continue;
        failed++;
        printf("%s: %s\n", cases[i].name, error.message);
        fflush(stdout);
    }
    if (status == STN_OK && (!s.only || strstr(WAVE_NAME, s.only)) && run_wave(&s, teams, &error) != STN_OK) {
        failed++;
        printf("%s: %s\n", WAVE_NAME, error.message);
    }
    if (status != STN_OK) printf("stentor-team: %s\n", error.message);
    for (int i = 0; i < count; i++) stn_team_destroy(teams[i]);
    return status != STN_OK || failed > 0;
}
