/* Parts of stentor-plans. */
#ifndef STN_BENCH_PLANS_H
#define STN_BENCH_PLANS_H
#include "bench.h"
#include "drawn_problem.h"
#include "plan/plan.h"

typedef struct plans_options {
    const char *mode, *arch, *only;
    uint64_t seed;
    double first, count, limit, least, most, threads, repeat;
    bool no_measure, small;
} plans_options;

stn_status plans_regret(const plans_options *o, stn_error *error);
stn_status plans_cold(const plans_options *o, stn_error *error);

/* ---- plans_device.c: grids with data, and times */
typedef struct plans_device {
    bench machine;
    void *seeds[3];  /* random data of SEED_BYTES, for each dtype */
    void *memory[4]; /* in, out, source, workspace */
    size_t bytes[4];
} plans_device;
stn_status plans_device_open(const char *cache_dir, plans_device *d, stn_error *error);
void plans_device_close(plans_device *d);
/* Fills the grids of a problem. */
stn_status plans_device_load(plans_device *d, const drawn_problem *p, stn_error *error);
stn_status plans_device_workspace(plans_device *d, const stn_plan *plan, stn_error *error);
/* Enqueues `count` executions. */
stn_status plans_enqueue(plans_device *d, const drawn_problem *p, stn_plan *plan, uint64_t count, stn_error *error);
/* Enqueues `count` executions and waits for them; wall-clock seconds. */
stn_status plans_wait(plans_device *d, const drawn_problem *p, stn_plan *plan, uint64_t count, double *seconds,
                      stn_error *error);

/* ---- a new folder for a cache */
bool plans_folder_make(char *path, size_t size);
void plans_folder_remove(const char *path);
#endif
