/* The plan: a task, a transform or a layer, the strategy chosen for it, and what that strategy built. */
#ifndef STN_PLAN_PLAN_H
#define STN_PLAN_PLAN_H
#include "plan/gather.h"
#include "plan/kind.h"

#define STN_PLAN_KERNELS 16
#define STN_PLAN_RANKING 64

typedef struct stn_ranked {
    const stn_strategy *strategy;
    stn_candidate candidate;
    stn_estimate estimate;
    double measured;  /* seconds of the whole run, as `tune` measured it; 0: not known */
    double compiles;  /* seconds that what it lacks is guessed to take; 0: not known */
    bool more;        /* it compiles for longer than that: it was not looked at to the end */
    char reason[160]; /* why not, when it does not apply */
    bool applies;
} stn_ranked;

typedef enum stn_chosen {
    STN_CHOSEN_BY_ESTIMATE,
    STN_CHOSEN_BY_MEASURING,
    STN_CHOSEN_BY_MEMORY,
    STN_CHOSEN_BY_LIKENESS, /* measured, for a problem of the same class */
    STN_CHOSEN_BY_SEEDS,    /* likewise, where the library is made */
    STN_CHOSEN_BY_START,    /* by estimate, what compiling takes included */
    STN_CHOSEN_BY_LACK      /* no other is stored, and nothing can be compiled */
} stn_chosen;

/* Candidates that could not be built or measured, by what they ran into. */
#define STN_PLAN_SKIPS 8
typedef struct stn_skip {
    const char *constraint; /* "shared memory", "registers", "device memory", "compile", "time"... */
    size_t count;
    char because[200]; /* the first one's story */
} stn_skip;

struct stn_kernel;

struct stn_plan {
    stn_context *context; /* outlives the plan */
    const stn_kind *kind;
    stn_task task;   /* owned; of a stencil's plan */
    stn_fft fft;     /* of a transform's */
    stn_layer layer; /* of a Fourier layer's */
    stn_machine machine;
    const stn_strategy *strategy;
    stn_candidate candidate;
    stn_estimate estimate;
    double measured; /* of the candidate, as in its row of the ranking */
    stn_chosen chosen;
    stn_ranked ranking[STN_PLAN_RANKING]; /* cheapest first, those that do not apply last */
    size_t ranked;
    stn_skip skips[STN_PLAN_SKIPS];
    size_t nskips;
    void *state; /* the strategy's */
    /* borrowed from the context, for describe; see context/kernel.h */
    struct stn_kernel *kernels[STN_PLAN_KERNELS];
    size_t nkernels;
    size_t workspace_size;
    void *workspace; /* owned; NULL when none is needed or the caller brings it */
    bool caller_workspace;
    double executions;        /* that compiling is weighed against; 0: it is not */
    bool inner;               /* made by another plan, which sees to its kernels: gather.h */
    const stn_strategy *only; /* the caller named it; NULL: any */
    bool may_begin;           /* with a candidate that compiles soon, and change to the chosen one: begin.c */
    bool begins;              /* it does: ranking[follower] takes over as soon as it is compiled */
    size_t follower;
    stn_ahead *ahead;          /* owned: the follower's kernels are compiled with its own; NULL mostly */
    stn_ahead *early;          /* owned: what it may begin with, compiled while the choice was made; NULL mostly */
    stn_missing missing;       /* of what was estimated to be the best: why another was taken */
    bool recalled;             /* chosen as an earlier plan was: the ranking is not whole */
    bool hurried;              /* its kernels are compiled in a hurry, where they were stored nowhere: gather.h */
    bool cold;                 /* its candidates are measured with a cold L2 cache */
    struct stn_online *online; /* the tuner's, of STN_MODE_ONLINE; NULL: one choice for good */
    bool estimate_only;        /* strategy and candidate are chosen, nothing is prepared: no state */
    /* owned; runs from one snapshot to the next where the stack lies otherwise than the input. NULL: this plan does */
    stn_plan *repeat;
};
/* For a strategy that prepares: one of the plan's kernels, if it is not in its list. */
void stn_plan_list_kernel(stn_plan *plan, struct stn_kernel *kernel);
/* For kinds: a plan for `given`, which is what the kind's make takes. */
stn_status stn_plan_make(stn_context *context, const stn_kind *kind, const void *given, const stn_plan_options *options,
                         stn_plan **plan, stn_error *error);

/* A run in parts: how many launches it consists of (1 where the strategy runs all at once), and some of them. All parts get
 * the same `run`, with its workspace, and come in order; out is whole after the last. */
uint64_t stn_plan_launches(const stn_plan *plan);
stn_status stn_plan_execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error);

/* The whole run, unchecked: for those who have checked `run`. */
static inline stn_status stn_plan_run_whole(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const stn_strategy *own = plan->strategy;
    if (own->execute) return own->execute(plan, run, error);
    return own->execute_part(plan, (stn_part){0, own->launches(plan)}, run, error);
}

/* What a plan came to: what it runs, with which kernels, and what takes over when it is compiled. */
typedef struct stn_choice {
    stn_ranked row, follower; /* follower.strategy: NULL: nothing does */
    stn_ranked best; /* what kernels were missing for, where nothing takes over; .strategy: NULL: for nothing */
    stn_chosen chosen;
    bool hurried;
    stn_missing missing;
} stn_choice;

/* ---- choose.c
 * Is it the name of one of the kind's strategies, NULL or "auto"? */
stn_status stn_plan_check_name(const stn_kind *kind, const char *name, stn_error *error);
stn_status stn_plan_check_mode(const stn_plan_options *options, stn_error *error);
stn_plan_mode stn_plan_mode_of(const stn_plan_options *options);
/* Fills the ranking anew, by estimate. name: NULL or "auto" for all strategies; most: candidates of each. */
void stn_plan_rank(stn_plan *plan, const char *name, size_t most);
/* Ranks, by what is remembered or else by estimate, and takes the first. Error: nothing can run it. */
stn_status stn_plan_choose(stn_plan *plan, const stn_plan_options *options, stn_error *error);
/* Lets the first of the ranking that can be built build what it needs. Where there is no compiler, that is the cheapest whose
 * kernels are stored. */
stn_status stn_plan_prepare(stn_plan *plan, stn_error *error);

/* Number so many of the strategies' own to begin with (strategy.h), as a row with its estimate. False: none serves. */
bool stn_plan_beginner(const stn_plan *plan, int number, stn_ranked *row);
/* The best of these, by seconds until all results are there; INFINITY: there is none. */
double stn_plan_weigh_beginners(stn_plan *plan, stn_ranked *best);
/* begin.c: where nothing is stored, the best of these is compiled from now on, while the plan chooses. */
void stn_plan_begin_early(stn_plan *plan);
/* The row becomes the plan's. */
void stn_plan_take(stn_plan *plan, const stn_ranked *row);
/* What prepare has built goes. */
void stn_plan_unprepare(stn_plan *plan);
/* Builds what the row needs; what is missing is compiled, all at once. */
stn_status stn_plan_prepare_row(stn_plan *plan, const stn_ranked *row, stn_error *error);

/* ---- skips.c
 * What a failure ran into, in a word or two: "shared memory", "registers", "device memory", "compile"... */
const char *stn_skip_name(const stn_error *why);
/* Of a multiprocessor's: another candidate may take less of it. */
bool stn_skip_is_resource(const stn_error *why);
/* One more in plan->skips. constraint: a literal. */
void stn_plan_count_skip(stn_plan *plan, const char *constraint, const char *because);

#define STN_HURRIED_SLOWER 8 /* times, that a kernel compiled in a hurry takes: an assumption */
/* ---- begin.c
 * Some of the chosen row's kernels, those that are gathered, are missing. Prepares another candidate instead, or the same with kernels
 * compiled in a hurry, where that gives the first result sooner: then plan->begins. */
bool stn_plan_begin(stn_plan *plan, size_t chosen, stn_gather *gather);
/* Seconds until the first result, and what a change shall gain, where a plan begins with `other`, which takes so long to compile, and the follower
 * takes over among legs; INFINITY where it comes too late. */
double stn_plan_first_of_legs(const stn_ranked *other, double compiles, const stn_ranked *follower);
/* Compiles what is gathered, all at once, and builds what the plan has taken. */
stn_status stn_plan_prepare_gathered(stn_plan *plan, stn_gather *gather, stn_error *error);
/* The plan becomes what an earlier one came to; false where any kernel of that is stored no more, or one is that was not: then it is as
 * it was. */
bool stn_plan_again(stn_plan *plan, const stn_choice *choice);
/* Seconds that the compiles of a row's kernels would take; INFINITY where it cannot be built. What takes more than `most` is not looked
 * at to the end. */
double stn_plan_compile_seconds(stn_plan *plan, const stn_ranked *row, double most);
/* Among the rows from number `from` on, several of its strategy come before this one. */
bool stn_plan_crowded(const stn_plan *plan, size_t from, size_t row);
/* Nothing can take over, for want of memory: the chosen row is compiled and prepared. */
stn_status stn_plan_begin_not(stn_plan *plan, stn_error *error);

/* ---- build.c
 * A plan of other work on the same context and machine, in which nothing is chosen yet, and without a workspace of its own. */
stn_status stn_plan_copy(const stn_plan *like, const stn_kind *kind, const void *work, uint64_t steps, stn_plan **plan,
                         stn_error *error);
/* A plan of the same work that runs exactly this candidate, without a workspace of its own; a stencil's makes so many steps. */
stn_status stn_plan_build(const stn_plan *like, uint64_t steps, const stn_strategy *strategy,
                          const stn_candidate *candidate, stn_plan **plan, stn_error *error);

/* ---- subplan.c: the one word by which one strategy uses another, which it knows by name and includes nothing of. Margins by
 * direct, transforms inside a convolution: such work is a plan like any other. stn_plan_execute_with runs it, with a workspace
 * of plan->workspace_size bytes; stn_plan_destroy ends it.
 *
 * A plan of a part of the parent's work: `task` (copied; its snapshots are not) by strategy `name` (NULL: the cheapest), in the
 * same context, without a workspace of its own. Errors: STN_ERROR_UNSUPPORTED where there is none; those of prepare. */
stn_status stn_subplan(const stn_plan *parent, const stn_task *task, const char *name, stn_plan **plan,
                       stn_error *error);
stn_status stn_subplan_fft(const stn_plan *parent, const stn_fft *fft, const char *name, stn_plan **plan,
                           stn_error *error);
/* The same by the candidate whose kernel is that of all problems (strategy.h, begin). */
stn_status stn_subplan_soon(const stn_plan *parent, const stn_task *task, stn_plan **plan, stn_error *error);
bool stn_subplan_estimate_soon(const stn_task *task, const stn_machine *machine, stn_estimate *estimate);
/* For estimates: what the cheapest candidate would take; false where there is none. */
bool stn_subplan_estimate(const stn_task *task, const stn_machine *machine, const char *name, stn_estimate *estimate);
bool stn_subplan_estimate_fft(const stn_fft *fft, const stn_machine *machine, const char *name, stn_estimate *estimate);
/* Of a stencil's: the weights of another task with the same taps. */
stn_status stn_subplan_set_weights(stn_plan *plan, const stn_task *from, stn_error *error);
/* Adds its kernels to the parent's list. */
void stn_subplan_list_kernels(stn_plan *parent, const stn_plan *plan);

/* pointers.c: what an execution brings, against what the plan was made for. */
stn_status stn_plan_check_pointers(const stn_plan *plan, const stn_execution *run, stn_error *error);

/* ---- snapshots.c: a stack of states, by a strategy that makes one after the other ---- */
stn_status stn_snapshots_prepare(stn_plan *plan, stn_error *error); /* makes plan->repeat where it is needed */
stn_status stn_snapshots_run(stn_plan *plan, const stn_execution *run, stn_error *error);

/* What the room `tune` lends to plans. The first two rank the candidates, put measured times into the ranking where they know
 * some, order it by them and say so in plan->chosen. Neither can fail: at worst the ranking is as it was estimated. */
typedef struct stn_tuner {
    bool (*recall)(stn_plan *plan,
                   const char *strategy); /* what was measured before; false: nothing is known or ranked */
    /* Measures, in about so many seconds; all candidates, or the likely ones. */
    void (*tune)(stn_plan *plan, const char *strategy, double seconds, bool all);

    /* What an earlier plan for the same work here came to, if nothing that it went by has changed since. */
    bool (*recall_choice)(const stn_plan *plan, const stn_plan_options *options, stn_choice *choice);
    /* For the plans after this one, which is prepared. */
    void (*remember_choice)(const stn_plan *plan, const stn_plan_options *options);

    /* STN_MODE_ONLINE: of a prepared plan. Where there is something to try, plan->online is set and the workspace grows. */
    void (*open)(stn_plan *plan, const char *strategy, double executions);
    /* Of a plan that begins: plan->online, which does nothing but change to the follower. */
    void (*follow)(stn_plan *plan);
    const stn_plan *(*now)(const stn_plan *plan); /* the plan, or the one made of it, that runs now */
    uint64_t (*legs)(const stn_plan *plan);       /* parts that a run is made in */
    stn_status (*run)(stn_plan *plan, stn_part legs, const stn_execution *run, stn_error *error);
    stn_status (*set_weights)(stn_plan *plan, size_t count, const double *weights, stn_error *error);
    const stn_strategy *(*strategy)(const stn_plan *plan, stn_candidate *candidate); /* that runs now */
    void (*describe)(const stn_plan *plan, stn_format format, stn_text *text);
    void (*close)(stn_plan *plan); /* NULL in plan->online is fine */
} stn_tuner;
extern const stn_tuner stn_tuner_default;
#endif
