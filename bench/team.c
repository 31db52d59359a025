/* stentor-team: wall-clock time of a run on 1, 2, 4, ... devices of this process, compared with a
 * plan on one device.
 *
 *     stentor-team [--host] [--members N] [--case NAME] [--repeat N] [--small]
 *
 * Each line: the case, members, median seconds, speedup over one device's plan. Grids stay on their
 * devices between runs, as in a simulation. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "stentor.h"

enum { MOST_REPEAT = 101, MOST_MEMBERS = 8 };

static const struct {
    const char *name, *stencil, *boundary, *strategy;
    stn_dtype dtype;
    size_t extent[3];
    uint64_t steps;
} cases[] = {
    {"heat-2d 32768^2 f64 fixed by direct", "heat-2d", "fixed", "direct", STN_F64, {32768, 32768}, 1000},
    {"heat-2d 32768^2 f64 fixed", "heat-2d", "fixed", NULL, STN_F64, {32768, 32768}, 1000},
    {"box-3d27p 1024^3 f32 wrap by direct", "box-3d27p", "wrap", "direct", STN_F32, {1024, 1024, 1024}, 100},
    {"laplace-2d order 8 4096^2 f32 fixed by direct",
     "laplace-2d:order=8",
     "fixed",
     "direct",
     STN_F32,
     {4096, 4096},
     1000},
    {"heat-1d 2^31 f32 wrap", "heat-1d", "wrap", NULL, STN_F32, {(size_t)1 << 31}, 1000},
    {"heat-3d 768^3 f32 fixed by direct", "heat-3d", "fixed", "direct", STN_F32, {768, 768, 768}, 100},
};

typedef struct settings {
    bool host, small;
    int members, repeat;
    const char *only;
} settings;

/* Times one device's plan. */
static stn_status time_alone(stn_context *context, const stn_problem *p, const stn_plan_options *options, size_t bytes,
                             int repeat, double *seconds, stn_error *error) {
    stn_plan *plan = NULL;
    void *in = NULL, *out = NULL;
    double all[MOST_REPEAT];
    stn_status status = stn_plan_create(context, p, options, &plan, error);
    if (status == STN_OK) status = stn_memory_alloc(context, bytes, &in, error);
    if (status == STN_OK) status = stn_memory_alloc(context, bytes, &out, error);
    for (int i = -1; i < repeat && status == STN_OK; i++) {
        const double begin = bench_now();
        status = stn_plan_execute(plan, in, out, NULL, error);
        if (status == STN_OK) status = stn_synchronize(context, NULL, error);
        if (i >= 0) all[i] = bench_now() - begin;
    }
    if (status == STN_OK) *seconds = bench_median(all, repeat);
    stn_memory_free(context, in), stn_memory_free(context, out);
    stn_plan_destroy(plan);
    return status;
}

static stn_status time_team(stn_team *team, const stn_problem *p, const stn_plan_options *options, size_t row_bytes,
                            int repeat, double *seconds, char **words, stn_error *error) {
    *words = NULL;
    stn_team_plan *plan = NULL;
    void *in[MOST_MEMBERS] = {NULL};
    double all[MOST_REPEAT];
    stn_status status = stn_team_plan_create(team, p, options, &plan, error);
    for (int m = 0; m < stn_team_size(team) && status == STN_OK; m++) {
        size_t first, rows;
        status = stn_team_plan_local(plan, m, &first, &rows, error);
        if (status == STN_OK) status = stn_memory_alloc(stn_team_context(team, m), rows * row_bytes, &in[m], error);
    }
    for (int i = -1; i < repeat && status == STN_OK; i++) {
        const double begin = bench_now();
        status = stn_team_plan_execute(plan, i < 0 ? (const void *const *)in : NULL, NULL, NULL, error);
        if (i >= 0) all[i] = bench_now() - begin;
    }
    if (status == STN_OK) *seconds = bench_median(all, repeat);
    if (status == STN_OK) status = stn_team_plan_describe(plan, words, error);
    for (int m = 0; m < stn_team_size(team); m++) stn_memory_free(stn_team_context(team, m), in[m]);
    stn_team_plan_destroy(plan);
    return status;
}

static stn_status run_case(const settings *s, size_t which, stn_error *error) {
    stn_stencil *stencil = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_status status = stn_stencil_parse(cases[which].stencil, &stencil, error);
    if (status != STN_OK) return status;
    p.stencil = stencil, p.dtype = cases[which].dtype, p.steps = s->small ? 20 : cases[which].steps;
    options.strategy = s->host ? NULL : cases[which].strategy;
    const int rank = stn_stencil_rank(stencil);
    size_t bytes = stn_dtype_size(p.dtype), row_bytes = bytes;
    for (int axis = 0; axis < rank && status == STN_OK; axis++) {
        p.extent[axis] = s->small ? (rank == 1 ? 100000 : rank == 2 ? 320 : 48) : cases[which].extent[axis];
        status = stn_boundary_parse(cases[which].boundary, p.boundary[axis], error);
        bytes *= p.extent[axis], row_bytes *= axis ? p.extent[axis] : 1;
    }
    double alone = 0;
    for (int members = 1; members <= s->members && status == STN_OK; members *= 2) {
        int devices[MOST_MEMBERS];
        stn_team *team = NULL;
        char *words = NULL;
        double seconds = 0;
        for (int m = 0; m < members; m++) devices[m] = s->host ? STN_DEVICE_HOST : STN_DEVICE_CUDA(m);
        status = stn_team_create(NULL, members, devices, &team, error);
        if (status == STN_OK && members == 1)
            status = time_alone(stn_team_context(team, 0), &p, &options, bytes, s->repeat, &alone, error);
        if (status == STN_OK) status = time_team(team, &p, &options, row_bytes, s->repeat, &seconds, &words, error);
        if (status == STN_OK)
            printf("%s: %d members %.6f s, one plan %.6f s, %.3f times as fast\n%s\n", cases[which].name, members,
                   seconds, alone, seconds > 0 ? alone / seconds : 0, words);
        fflush(stdout);
        stn_text_free(words);
        stn_team_destroy(team);
    }
    stn_stencil_destroy(stencil);
    return status;
}

int main(int argc, char **argv) {
    settings s = {.members = 2, .repeat = 7};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--host"))
            s.host = true;
        else if (!strcmp(argv[i], "--small"))
            s.small = true;
        else if (!strcmp(argv[i], "--members"))
            s.members = atoi(value), i++;
        else if (!strcmp(argv[i], "--repeat"))
            s.repeat = atoi(value), i++;
        else if (!strcmp(argv[i], "--case"))
            s.only = value, i++;
        else {
            fprintf(stderr, "usage: stentor-team [--host] [--members N] [--case NAME] [--repeat N] [--small]\n");
            return 2;
        }
    }
    if (s.members < 1 || s.members > MOST_MEMBERS || s.repeat < 1 || s.repeat > MOST_REPEAT) {
        fprintf(stderr, "stentor-team: --members 1 to %d, --repeat 1 to %d\n", MOST_MEMBERS, MOST_REPEAT);
        return 2;
    }
    int failed = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_error error = {0};
        if (s.only && !strstr(cases[i].name, s.only)) continue;
        if (run_case(&s, i, &error) == STN_OK) continue;
        failed++;
        printf("%s: %s\n", cases[i].name, error.message);
    }
    return failed > 0;
}
