/* What a strategy is, of stencils, transforms, Fourier layers or systems. One room in strategies/,
 * one row in the table of its kind (kind_stencil.c, kind_fft.c, kind_layer.c, kind_system.c);
 * always this skeleton. */
#ifndef STN_PLAN_STRATEGY_H
#define STN_PLAN_STRATEGY_H
#include <string.h>

#include "base/text.h"
#include "launch/machine.h"
#include "plan/constraint.h"
#include "problem/layer.h"
#include "problem/system_task.h"
#include "problem/task.h"
#include "problem/transform.h"
#include "stentor.h"

#define STN_CANDIDATE_VALUES 20
#define STN_CANDIDATES 16 /* of one strategy, that a plan is chosen from by estimate */

/* One way for a strategy to run a task: tile, unrolling, fused steps... The meaning of values[] is
 * the strategy's own.
 */
typedef struct stn_candidate {
    int values[STN_CANDIDATE_VALUES];
} stn_candidate;

/* A strategy's own struct of parameters, `size` bytes, as a candidate. */
static inline stn_candidate stn_candidate_of(const void *parameters, size_t size) {
    stn_candidate candidate = {{0}};
    memcpy(candidate.values, parameters, size);
    return candidate;
}

/* The cost of a candidate: seconds = sum over launches of max(bytes / bandwidth, flops / unit rate)
 * + launch. */
typedef struct stn_estimate {
    double bytes, flops; /* of the whole run */
    stn_unit unit;
    double launches;
    double halo_waste; /* part of the work that is done twice */
    double seconds;
    double error;  /* stencils: predicted, relative L2 after all steps (plan/accuracy.h); 0: not known */
    bool stepping; /* its arithmetic takes one step after the other: that has a bar of its own */
    double model;  /* seconds before they were calibrated: calibration.h */
    double memory; /* bytes of workspace, where it may be more than two grids; else 0 */
    double grids;  /* the same, in grids of the problem, all of its batch */
} stn_estimate;

/* A part of one run: its launches from `first` on. */
typedef struct stn_part {
    uint64_t first, count;
} stn_part;

/* That sum for a run whose launches are alike. */
double stn_estimate_seconds(const stn_estimate *estimate, const stn_machine *machine);

/* Notes the bytes of workspace of a run. */
void stn_estimate_memory(const stn_task *task, double bytes, stn_estimate *estimate);
/* The predicted seconds, times what its memory counts for: candidates are ranked by that. */
double stn_estimate_cost(const stn_estimate *estimate);

/* The choice of a strategy for work of one type.
 *
 *     applies      Can it run this work on this machine? If not, `reason` is one phrase that says why.
 *     candidates   Writes at most `most` candidates, the best guess first, and returns their number.
 *                  Those that are only worth measuring come after the first STN_CANDIDATES.
 *     estimate     The predicted cost of a candidate. */
#define STN_CHOOSING(type)                                                                                             \
    struct {                                                                                                           \
        bool (*applies)(const type *work, const stn_machine *machine, char *reason, size_t reason_size);               \
        size_t (*candidates)(const type *work, const stn_machine *machine, stn_candidate *list, size_t most);          \
        void (*estimate)(const type *work, const stn_machine *machine, const stn_candidate *candidate,                 \
                         stn_estimate *estimate);                                                                      \
    }

typedef struct stn_strategy {
    const char *name;
    /* How it is chosen, by the kind of work that it serves. */
    union {
        STN_CHOOSING(stn_task); /* of stencils */
        STN_CHOOSING(stn_fft) fft;
        STN_CHOOSING(stn_layer) layer;
        STN_CHOOSING(stn_system_task) system;
    };
    /* Candidates that depend on what the strategies before it in the table were ranked at. NULL:
     * there are none. */
    size_t (*compose)(const stn_plan *plan, stn_candidate *list, size_t most);
    /* Builds kernels, tables and workspace size for plan->candidate into plan->state.
     * STN_ERROR_NO_COMPILER, STN_ERROR_UNSUPPORTED and failures of resources (skips.c) let the next
     * candidate try. */
    stn_status (*prepare)(stn_plan *plan, stn_error *error);
    /* Runs plan->task->steps steps once. run is checked and whole: its workspace is the plan's
     * where the caller brought none. A strategy that does not say `sources` never sees a source,
     * one that does not say `sums` no task->sum; one that does not say `stacks` runs one snapshot's
     * steps. NULL: execute_part of all launches does it. */
    stn_status (*execute)(stn_plan *plan, const stn_execution *run, stn_error *error);
    stn_status (*set_weights)(stn_plan *plan, stn_error *error); /* plan->task.taps hold the new ones; stencils only */
    void (*describe)(const stn_plan *plan, stn_format format,
                     stn_text *text); /* parameters: text line or JSON members */
    void (*release)(stn_plan *plan);  /* frees plan->state; must accept a half-built one */
    /* What tells a candidate from the others, in a few words: "plane, 8 steps a launch, 4 points a
     * lane". */
    void (*name_candidate)(const stn_task *task, const stn_candidate *candidate, stn_text *text);
    /* Counts what `candidates` leaves out of its space when it is asked for all, by constraint.
     * NULL: it has no such table. */
    void (*left_out)(const stn_plan *plan, stn_tally *tally);
    /* For measuring: the same kernels in at most `launches` launches. Fills *trial and returns its
     * steps, task->steps when the whole run has no more launches. NULL: only whole runs can be
     * measured. */
    uint64_t (*shorten)(const stn_task *task, const stn_candidate *candidate, uint64_t launches, stn_candidate *trial);
    /* The candidate of the generic kernel: the same kernel for all tasks of a type, so that one
     * compile serves all of them, and each of its launches is a step. False: it does not serve this
     * task. NULL: the strategy has none. */
    bool (*generic)(const stn_task *task, stn_candidate *candidate);
    /* For runs that someone watches: of how many launches the plan's run consists, and some of
     * them. All parts of a run get the same pointers and come in order on one stream; together they
     * make the whole run, to the bit. The host counts its passes over the grids. NULL, both: a run
     * has one part. */
    uint64_t (*launches)(const stn_plan *plan);
    stn_status (*execute_part)(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error);
    bool local;        /* it takes step by step, and no value reaches further than taps carry it */
    bool sources;      /* it adds a constant source itself */
    bool sums;         /* it serves task->sum */
    bool counts_steps; /* on the host: it takes step by step, so that its passes tell how many steps are done */
    bool stacks; /* one execute and one estimate make all snapshots; else the plan runs them one after the other */
} stn_strategy;
#endif
