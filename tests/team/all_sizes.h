/* Main and report of tests of teams: one device, and teams of each size of it or of several. */
#ifndef STN_TESTS_TEAM_ALL_SIZES_H
#define STN_TESTS_TEAM_ALL_SIZES_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../strategies/suite.h"
#include "stentor.h"

enum { MAX_MEMBERS = 8 };

typedef struct rig {
    stn_team *team[MAX_MEMBERS + 1]; /* index: number of members */
    stn_context *alone;
    uint64_t seed, count; /* of random problems */
    uint64_t only;        /* the index of the one that runs; UINT64_MAX: all run */
    bool gpus;
    bool mpi; /* each process is a member of team[0], and failures alone are printed */
    int number, failed;
} rig;

static void report(rig *r, bool good, const char *what, const char *detail) {
    if (!r->mpi || !good) printf("%sok %d - %s\n", good ? "" : "not ", ++r->number, what);
    if (!good && detail && *detail) printf("# %s\n", detail);
    r->failed += !good;
}

/* Reads [--gpus N] [--count N] [--seed S] [--only INDEX] [--mpi 1]. Makes a context of one device,
 * and team[m] of m members for m from 1 to MAX_MEMBERS, on the host or, with --gpus, on N GPUs in
 * turn; with --mpi only team[0]. False: there is no such device (alone is NULL), or no team. */
static bool open_rig(rig *r, int argc, char **argv, stn_error *error) {
    int gpus = 0, devices[MAX_MEMBERS];
    r->only = UINT64_MAX;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--count")) r->count = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--seed")) r->seed = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--only")) r->only = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--gpus")) gpus = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--mpi")) r->mpi = atoi(argv[i + 1]) > 0;
    }
    r->gpus = gpus > 0;
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.cache_dir = ":memory:", options.threads = r->mpi ? 1 : 0;
    options.device = !gpus ? STN_DEVICE_HOST : r->mpi ? STN_DEVICE_AUTO : STN_DEVICE_CUDA(0);
    if (stn_context_create(&options, &r->alone, error) != STN_OK) return false;
    if (!r->seed) r->seed = dice_seed();
    for (int i = 0; i < MAX_MEMBERS; i++) devices[i] = gpus ? STN_DEVICE_CUDA(i % gpus) : STN_DEVICE_HOST;
    stn_status status = r->mpi ? stn_team_create_mpi(&options, NULL, 0, &r->team[0], error) : STN_OK;
    for (int m = 1; m <= MAX_MEMBERS && status == STN_OK && !r->mpi; m++)
        status = stn_team_create(&options, m, devices, &r->team[m], error);
    report(r, status == STN_OK, "the teams are made", error->message);
    return status == STN_OK;
}

/* Destroys all of it; returns the exit status. */
static int close_rig(rig *r, const stn_error *error) {
    if (!r->alone) return suite_without_device(error->message);
    if (!r->mpi) printf("1..%d\n", r->number);
    for (int m = 0; m <= MAX_MEMBERS; m++) stn_team_destroy(r->team[m]);
    stn_context_destroy(r->alone);
    return r->failed > 0;
}
#endif
