/* A strategy: one algorithm for stencils, transforms, Fourier layers or systems, as a table of
 * functions. Each has a folder or a file in strategies/ and a row in strategies/table.c. */
#ifndef STN_PLAN_STRATEGY_H
#define STN_PLAN_STRATEGY_H
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "launch/machine.h"
#include "problem/fourier_layer.h"
#include "problem/system_task.h"
#include "problem/task.h"
#include "problem/transform.h"
#include "stentor.h"

#define STN_CANDIDATE_VALUES 20
#define STN_CANDIDATES 16 /* candidates of one strategy among which the estimate chooses */

/* A candidate: one setting of a strategy's parameters (tile, unrolling, fused steps...). The
 * strategy defines the meaning of values[]. */
typedef struct stn_candidate {
    int values[STN_CANDIDATE_VALUES];
} stn_candidate;

/* The candidate that holds a strategy's own struct of parameters, of `size` bytes. */
static inline stn_candidate stn_candidate_of(const void *parameters, size_t size) {
    stn_candidate candidate = {{0}};
    memcpy(candidate.values, parameters, size);
    return candidate;
}

/* Defines the function `name`, which reads a strategy's struct of parameters from a candidate. */
#define STN_CANDIDATE_READER(type, name)                                                                               \
    static type name(const stn_candidate *candidate) {                                                                 \
        type parameters;                                                                                               \
        _Static_assert(sizeof parameters <= sizeof candidate->values, "a candidate holds its parameters");             \
        memcpy(&parameters, candidate->values, sizeof parameters);                                                     \
        return parameters;                                                                                             \
    }

/* The predicted cost of a candidate. Most strategies use a roofline model,
 * seconds = sum over launches of (max(bytes / bandwidth, flops / rate of the unit) + overhead),
 * others a formula of their own. */
typedef struct stn_estimate {
    double bytes, flops; /* of the whole run */
    stn_unit unit;
    double launches;
    double halo_waste; /* fraction of the work that is redundant */
    double seconds;
    /* Stencils and systems: the predicted relative L2 error of a run (error_bound.h), 0: unknown */
    double error;
    /* All points, or those near sides, are computed by single steps. */
    bool stepping;
    double memory; /* bytes of workspace, where it may exceed two grids; else 0 */
    double grids;  /* `memory` in units of all grids of the batch together */
} stn_estimate;

/* A part of a run: `count` launches from number `first` on. */
typedef struct stn_part {
    uint64_t first, count;
} stn_part;

/* The predicted seconds of a run whose launches are all alike. */
double stn_estimate_seconds(const stn_estimate *estimate, const stn_machine *machine);

/* Sets estimate->memory and estimate->grids. */
void stn_estimate_memory(const stn_task *task, double bytes, stn_estimate *estimate);
/* The cost that candidates are ranked by: the predicted seconds, increased for a large
 * workspace. */
double stn_estimate_cost(const stn_estimate *estimate);
/* The cost is at least the seconds, and at most this factor times them. */
#define STN_MAX_COST_PER_SECOND 1.25

/* The functions by which a strategy is chosen, for work of one type.
 *
 *     applies      Can the strategy run this work on this machine? If not, `reason` is one phrase;
 *                  if its size is 0, a search that `candidates` repeats may be left out.
 *     candidates   Writes at most `most` candidates, the best guess first; returns their number.
 *                  The estimate chooses among the first STN_CANDIDATES; those that are only worth
 *                  measuring follow them.
 *     estimate     Predicts the cost of a candidate. */
#define STN_CHOOSING(type)                                                                                             \
    struct {                                                                                                           \
        bool (*applies)(const type *work, const stn_machine *machine, char *reason, size_t reason_size);               \
        size_t (*candidates)(const type *work, const stn_machine *machine, stn_candidate *list, size_t most);          \
        void (*estimate)(const type *work, const stn_machine *machine, const stn_candidate *candidate,                 \
                         stn_estimate *estimate);                                                                      \
    }

/* For `applies` of strategies for GPUs: false on the host, with the reason. */
#define STN_NEEDS_GPU "it needs a GPU and this context is for the host"
static inline bool stn_has_gpu(const stn_machine *machine, char *reason, size_t size) {
    if (!machine->is_device) snprintf(reason, size, STN_NEEDS_GPU);
    return machine->is_device;
}

typedef struct stn_strategy {
    const char *name;
    /* One member is set: that of the kind of work that the strategy is for. */
    union {
        STN_CHOOSING(stn_task); /* stencils */
        STN_CHOOSING(stn_fft) fft;
        STN_CHOOSING(stn_layer) layer;
        STN_CHOOSING(stn_system_task) system;
    };
    /* For a strategy whose runs are composed of other strategies' runs, in place of `candidates`:
     * candidates that depend on the ranking of the strategies before it in the table. */
    size_t (*compose)(const stn_plan *plan, stn_candidate *list, size_t most);
    /* Stencils: a lower bound on the predicted seconds of every candidate, which takes a small part
     * of the time of `candidates`. Where another strategy is known to be faster than the bound, the
     * candidates are not searched. NULL: the search takes little time, or has no such bound. */
    double (*least_seconds)(const stn_task *task, const stn_machine *machine);
    /* Makes the kernels and tables of plan->candidate and stores them in plan->state; sets
     * plan->workspace_size. After STN_ERROR_NO_COMPILER or STN_ERROR_UNSUPPORTED (also: a kernel
     * needs more shared memory or registers than there are) the next candidate is tried; any other
     * failure is final. */
    stn_status (*prepare)(stn_plan *plan, stn_error *error);
    /* Runs all steps of the plan's work once. `run` has been checked and has a workspace. It has a
     * source only if the strategy's flag `sources` (below) is set, and task->sum is true only if
     * `sums` is. Without `stacks` a call makes task->steps steps, and the plan calls it once for
     * each snapshot. NULL: execute_part runs all launches. */
    stn_status (*execute)(stn_plan *plan, const stn_execution *run, stn_error *error);
    /* Stencils: plan->task.taps hold the new weights. */
    stn_status (*set_weights)(stn_plan *plan, stn_error *error);
    /* The parameters, as a line of text or as members of a JSON object. */
    void (*describe)(const stn_plan *plan, stn_format format, stn_text *text);
    /* Releases what plan->state owns; it is not NULL, may be half built, and is freed with free()
     * after the call. NULL: it owns nothing. */
    void (*release)(stn_plan *plan);
    /* Describes a candidate in a few words: "plane, 8 steps a launch, 4 points a lane". Here and in
     * `shorten` and `generic`, strategies of other work than stencils must not read the task. */
    void (*name_candidate)(const stn_task *task, const stn_candidate *candidate, stn_text *text);
    /* For measuring: writes to *trial a candidate with the same kernels and at most `launches`
     * launches, and returns the number of steps of these launches: task->steps if the whole run
     * has no more launches than that. NULL: only whole runs can be measured. */
    uint64_t (*shorten)(const stn_task *task, const stn_candidate *candidate, uint64_t launches, stn_candidate *trial);
    /* The candidate of the generic kernel: one kernel for all tasks of a dtype, compiled once, that
     * makes one step a launch. False: it cannot run this task. NULL: the strategy has no such
     * kernel. */
    bool (*generic)(const stn_task *task, stn_candidate *candidate);
    /* For executions with a progress function: the number of launches of a run, and the execution
     * of some of them. All parts of a run get the same pointers and are executed in order on one
     * stream; together they give the same bits as `execute`. On the host a launch is one pass over
     * the grids. Both NULL: a run has one part. */
    uint64_t (*launches)(const stn_plan *plan);
    stn_status (*execute_part)(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error);
    /* The strategy has candidates that take single steps, so that in a step a value influences no
     * point beyond the reach of the taps. With accuracy LOCAL it has only these candidates. */
    bool local;
    bool sources;      /* adds a constant source itself */
    bool converts;     /* supports other number types than the dtype (stn_task_converts) */
    bool normalizes;   /* supports normalized tasks, and no others */
    bool sums;         /* supports task->sum */
    bool counts_steps; /* host: its progress is reported in steps, not in launches */
    bool stacks;       /* execute and estimate cover all snapshots; else the plan repeats the run */
} stn_strategy;
#endif
