/* A run in parts, as with a progress function: executing random ranges of launches is bit-identical
 * to one execution, in place or not, for every strategy of the GPU or emulator; with --host for
 * those of the host. Prints TAP. Usage: test_parts [--host] [--full]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "suite.h"

typedef struct arena { /* memory of the device */
    void *in, *out, *workspace;
} arena;

static stn_problem random_problem(dice *d, const stn_stencil *stencil, int rank) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.dtype = (stn_dtype)dice_int(d, 0, 2);
    p.steps = (uint64_t)dice_int(d, 2, 23);
    p.in_place = dice_int(d, 0, 1);
    p.batch = (size_t)dice_int(d, 1, 3);
    for (int axis = 0; axis < rank; axis++)
        p.extent[axis] = (size_t)dice_int(d, 9, rank == 1 ? 700 : rank == 2 ? 40 : 14);
    random_sides(d, &p, rank);
    return p;
}

/* One run in parts of up to `longest` launches. `bytes` holds the input and then the result. */
static stn_status run_in_parts(suite *s, stn_plan *plan, const arena *a, uint64_t longest, dice *d, const void *input,
                               void *bytes, size_t size, stn_error *error) {
    uint64_t launches = stn_plan_launches(plan);
    stn_execution run = {.in = a->in, .out = a->out, .workspace = a->workspace};
    memset(bytes, 0xff, size);
    stn_status status = stn_memory_upload(s->context, a->out, bytes, size, error);
    if (status == STN_OK) status = stn_memory_upload(s->context, a->in, input, size, error);
    for (uint64_t done = 0; status == STN_OK && done < launches;) {
        uint64_t left = launches - done, count = (uint64_t)dice_int(d, 1, (int)longest);
        stn_part part = {done, count < left ? count : left};
        status = stn_plan_execute_part(plan, part, &run, error);
        if (status == STN_OK) status = stn_synchronize(s->context, NULL, error);
        done += part.count;
    }
    return status == STN_OK ? stn_memory_download(s->context, bytes, a->out, size, error) : status;
}

/* Compares a whole run, single launches, and random parts. *most: launches of the longest run. */
static bool same_in_parts(suite *s, const char *strategy, const stn_problem *p, size_t count, dice *d, uint64_t *most,
                          stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = strategy;
    options.no_auto_workspace = 1;
    stn_plan *plan = NULL;
    arena a = {0};
    size_t size = count * stn_dtype_size(p->dtype);
    unsigned char *input = malloc(size), *whole = malloc(size), *parts = malloc(size);
    bool same = false;
    if (!input || !whole || !parts || stn_plan_create(s->context, p, &options, &plan, error) != STN_OK) goto done;
    uint64_t launches = stn_plan_launches(plan), longest[] = {1, launches, launches / 3 + 1};
    if (launches > *most) *most = launches;
    for (size_t i = 0; i < count; i++) set_element(p->dtype, input, (int64_t)i, dice_real(d));
    if (stn_memory_alloc(s->context, size, &a.in, error) != STN_OK) goto done;
    a.out = a.in;
    if (!p->in_place && stn_memory_alloc(s->context, size, &a.out, error) != STN_OK) goto done;
    size_t workspace = stn_plan_workspace_size(plan);
    if (workspace && stn_memory_alloc(s->context, workspace, &a.workspace, error) != STN_OK) goto done;
    same = stn_memory_upload(s->context, a.in, input, size, error) == STN_OK &&
           stn_plan_execute_with(plan, a.in, a.out, a.workspace, NULL, error) == STN_OK &&
           stn_synchronize(s->context, NULL, error) == STN_OK &&
           stn_memory_download(s->context, whole, a.out, size, error) == STN_OK;
    for (size_t i = 0; same && i < sizeof longest / sizeof *longest; i++) {
        same = run_in_parts(s, plan, &a, longest[i], d, input, parts, size, error) == STN_OK;
        same = same && !memcmp(whole, parts, size);
    }
done:
    stn_memory_free(s->context, a.workspace);
    if (a.out != a.in) stn_memory_free(s->context, a.out);
    stn_memory_free(s->context, a.in);
    stn_plan_destroy(plan);
    free(input), free(whole), free(parts);
    return same;
}

static void check_strategy(suite *s, const char *strategy) {
    uint64_t most = 0;
    for (int seed = 0; seed < (s->full ? 60 : 9); seed++) {
        dice d = {(uint64_t)seed};
        int rank = 1 + seed % 3;
        stn_stencil *stencil = random_stencil(&d, rank, TAPS_STAR, 1);
        stn_problem p = random_problem(&d, stencil, rank);
        size_t count = p.batch;
        for (int axis = 0; axis < rank; axis++) count *= p.extent[axis];
        char what[160];
        stn_error error = {0};
        bool same = same_in_parts(s, strategy, &p, count, &d, &most, &error);
        /* Margins may cover such a small grid; the last test line counts runs. */
        if (error.status == STN_ERROR_UNSUPPORTED) {
            stn_stencil_destroy(stencil);
            continue;
        }
        snprintf(what, sizeof what, "%s in parts: seed %d, %dD, %s, %llu steps%s", strategy, seed, rank,
                 stn_dtype_name(p.dtype), (unsigned long long)p.steps, p.in_place ? ", in place" : "");
        suite_report(s, same, what, error.status ? error.message : "the results differ");
        stn_stencil_destroy(stencil);
    }
    char what[80];
    snprintf(what, sizeof what, "%s has runs of several launches", strategy);
    suite_report(s, most > 2, what, NULL);
}

static void on_host(suite *s) { check_strategy(s, "host"); }
static void direct(suite *s) { check_strategy(s, "direct"); }
static void lowrank(suite *s) { check_strategy(s, "lowrank"); }
static void padded(suite *s) { check_strategy(s, "padded"); }

/* More grids than run at the same time: several batches, each with all its steps. */
static void waves(suite *s) {
    dice d = {7};
    stn_stencil *stencil = random_stencil(&d, 2, TAPS_BOX, 1);
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.extent[0] = 700, p.extent[1] = 800;
    p.batch = 3;
    p.steps = 3;
    uint64_t most = 0;
    stn_error error = {0};
    for (p.in_place = 0; p.in_place < 2; p.in_place++) {
        bool same = same_in_parts(s, "host", &p, 3 * 700 * 800, &d, &most, &error);
        suite_report(s, same && most == 9, p.in_place ? "three waves in parts, in place" : "three waves in parts",
                     error.status ? error.message : "the results differ");
    }
    stn_stencil_destroy(stencil);
}

int main(int argc, char **argv) {
    static const suite_part here[] = {{"host", on_host}, {"waves", waves}};
    static const suite_part there[] = {{"direct", direct}, {"lowrank", lowrank}, {"padded", padded}};
    if (argc > 1 && !strcmp(argv[1], "--host")) return suite_main_on(STN_DEVICE_HOST, argc - 1, argv + 1, here, 2);
    return suite_main(argc, argv, there, 3);
}
