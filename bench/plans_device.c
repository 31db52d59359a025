/* Grids and times of stentor-plans; see plans.h. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "launch/driver.h"
#include "plans.h"

#define SEED_BYTES ((size_t)32 << 20)
enum { IN, OUT, SOURCE, WORKSPACE, MEMORIES };

stn_status plans_device_open(const char *cache_dir, plans_device *d, stn_error *error) {
    *d = (plans_device){.machine.repeat = 1};
    STN_TRY(bench_open(STN_DEVICE_CUDA(0), 0, cache_dir, &d->machine, error));
    for (int type = 0; type < 3; type++) {
        const stn_dtype dtype = (stn_dtype)type;
        STN_TRY(stn_memory_alloc(d->machine.context, SEED_BYTES, &d->seeds[type], error));
        STN_TRY(bench_fill(&d->machine, d->seeds[type], SEED_BYTES / stn_dtype_size(dtype), dtype, dtype, error));
    }
    return STN_OK;
}

void plans_device_close(plans_device *d) {
    for (int i = 0; i < MEMORIES; i++) stn_memory_free(d->machine.context, d->memory[i]);
    for (int i = 0; i < 3; i++) stn_memory_free(d->machine.context, d->seeds[i]);
    bench_close(&d->machine);
}

static stn_status grow(plans_device *d, int i, size_t bytes, stn_error *error) {
    if (d->bytes[i] >= bytes) return STN_OK;
    stn_memory_free(d->machine.context, d->memory[i]);
    d->memory[i] = NULL, d->bytes[i] = 0;
    STN_TRY(stn_memory_alloc(d->machine.context, bytes, &d->memory[i], error));
    d->bytes[i] = bytes;
    return STN_OK;
}

static stn_status fill(plans_device *d, void *to, size_t bytes, stn_dtype dtype, stn_error *error) {
    for (size_t at = 0; at < bytes; at += SEED_BYTES) {
        const size_t part = bytes - at < SEED_BYTES ? bytes - at : SEED_BYTES;
        STN_TRY(stn_device_copy(d->machine.device, (char *)to + at, d->seeds[dtype], part, NULL, error));
    }
    return STN_OK;
}

stn_status plans_device_load(plans_device *d, const drawn_problem *p, stn_error *error) {
    const stn_dtype dtype = p->r.problem.dtype;
    for (int i = IN; i <= (p->r.problem.has_source ? SOURCE : OUT); i++) {
        STN_TRY(grow(d, i, p->bytes, error));
        STN_TRY(fill(d, d->memory[i], p->bytes, dtype, error));
    }
    return STN_OK;
}

stn_status plans_device_workspace(plans_device *d, const stn_plan *plan, stn_error *error) {
    return grow(d, WORKSPACE, stn_plan_workspace_size(plan), error);
}

stn_status plans_enqueue(plans_device *d, const drawn_problem *p, stn_plan *plan, uint64_t count, stn_error *error) {
    stn_execution run = STN_EXECUTION_INIT;
    run.in = d->memory[p->r.problem.in_place ? OUT : IN], run.out = d->memory[OUT];
    run.source = p->r.problem.has_source ? d->memory[SOURCE] : NULL;
    run.workspace = d->memory[WORKSPACE];
    for (uint64_t i = 0; i < count; i++) STN_TRY(stn_plan_run(plan, &run, error));
    return STN_OK;
}

stn_status plans_wait(plans_device *d, const drawn_problem *p, stn_plan *plan, uint64_t count, double *seconds,
                      stn_error *error) {
    const double begin = bench_now();
    STN_TRY(plans_enqueue(d, p, plan, count, error));
    STN_TRY(stn_synchronize(plan->context, NULL, error));
    *seconds = bench_now() - begin;
    return STN_OK;
}

bool plans_folder_make(char *path, size_t size) {
    snprintf(path, size, "/tmp/stentor-plans-XXXXXX");
    return mkdtemp(path);
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at) {
    (void)status, (void)type, (void)at;
    return remove(path);
}

void plans_folder_remove(const char *path) { (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }
