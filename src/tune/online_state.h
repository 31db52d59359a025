/* What an online plan keeps: online.h. */
#ifndef STN_TUNE_ONLINE_STATE_H
#define STN_TUNE_ONLINE_STATE_H
#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#include "context/compile_batch.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "tune/compare.h"
#include "tune/search.h"

enum { TUNE_UNBUILT, TUNE_COMPILED, TUNE_BUILT, TUNE_FAILED };

typedef struct online_arm {
    const stn_strategy *strategy;
    stn_candidate candidate;
    stn_plan *plan;            /* owned; of a unit. NULL: not built, or arm 0 where a unit is the whole run */
    stn_compile_batch *gather; /* kernels that are missing */
    atomic_int built;
    stn_error why; /* it failed; written before `built` */
} online_arm;

typedef struct stn_online {
    stn_plan *plan; /* whose work it is */
    stn_plan *unit; /* owned: the work of one unit and its ranking, nothing prepared; arms are built like it */
    uint64_t legs;
    tune_search search;
    online_arm arms[TUNE_ARMS];
    pthread_mutex_t lock; /* held by executions */
    pthread_t builder;    /* compiles: what concerns the device is done by executions */
    bool has_builder;
    atomic_bool stop, comparable; /* comparable: the kernel is compiled */
    stn_compile_batch *compare_gather;
    pid_t owner;
    stn_kernel *compare;
    void *sums;
    stn_timer *took,
        *done; /* of the move that flies; done: of all of a check, the trusted run and the comparison among it */
    bool flying, over; /* over: current runs for good */
    tune_move flight;
    unsigned left;             /* units of the move that are still to run before it flies */
    double behind;             /* units that were enqueued since it took off */
    size_t inner, grid, spare; /* bytes: of the arms' workspace, of a grid, before the spare grid */
    tune_compared compared;    /* of two results */
} stn_online;

/* ---- online_build.c
 * Learns what each arm but `from` lacks, and how much workspace it wants; those that lack nothing
 * are built. */
void tune_online_look(stn_online *o, size_t from);
/* The thread that compiles begins; no more of it is wanted; the same, and it has ended. */
void tune_online_start(stn_online *o);
void tune_online_halt(stn_online *o);
void tune_online_end(stn_online *o);
/* Builds an arm whose kernels are compiled, for an execution; what fails is in arm->why. */
void tune_online_build(stn_online *o, online_arm *arm);
#endif
