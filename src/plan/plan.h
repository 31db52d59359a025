/* The plan: a task, a transform, a layer or a system, the strategy chosen for it, and what that
 * strategy built. */
#ifndef STN_PLAN_PLAN_H
#define STN_PLAN_PLAN_H
#include <pthread.h>
#include <stdatomic.h>

#include "context/compile_batch.h"
#include "plan/kind.h"

#define STN_PLAN_KERNELS 16
#define STN_PLAN_RANKING 64

typedef struct stn_ranked {
    const stn_strategy *strategy;
    stn_candidate candidate;
    stn_estimate estimate;
    double measured;  /* seconds of the whole run, as `tune` measured it; 0: not known */
    char reason[160]; /* why not, when it does not apply */
    bool applies;
} stn_ranked;

typedef enum stn_chosen {
    STN_CHOSEN_BY_ESTIMATE,
    STN_CHOSEN_BY_MEASURING,
    STN_CHOSEN_BY_MEMORY,
    STN_CHOSEN_BY_LIKENESS, /* measured, for a problem of the same class */
    STN_CHOSEN_BY_SEEDS,    /* likewise, where the library is made */
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

/* options.first_result (first_result.c): the generic kernel runs while the chosen ones are compiled. */
struct stn_first {
    stn_plan *generic;             /* owned until the plan ends, since another thread may be inside it */
    stn_background_compile *ahead; /* compiles the plan's kernels; NULL once it was waited for */
    size_t workspace;              /* bytes, that either needs */
    pthread_mutex_t lock;
    bool served;       /* a whole execution was enqueued */
    atomic_bool ended; /* the plan itself runs from now on, or, where it failed, the generic one for good */
    stn_error failed;  /* status STN_OK: it did not */
};

/* A plan consists of three parts: what was asked for, what was chosen, and what was built for it.
 * They are anonymous, so that strategies write plan->task, plan->candidate, plan->state. */
struct stn_plan {
    struct {                  /* the request */
        stn_context *context; /* outlives the plan */
        const stn_kind *kind;
        union { /* the work, by its kind; owned */
            stn_task task;
            stn_fft fft;
            stn_layer layer;
            stn_system_task system;
        };
        stn_machine machine;
        const stn_strategy *only; /* the strategy that the caller named; NULL: any */
        bool caller_workspace;    /* the caller brings the workspace with each execution */
        bool inner;               /* made for the use of another plan, which also compiles its kernels */
        bool composes;            /* long runs may be split into chunks (strategies/chunked.c): a caller's plan */
        bool deterministic;       /* chosen by estimate alone */
        bool cold;                /* candidates are measured with a cold L2 cache */
        bool estimate_only;       /* strategy and candidate are chosen, nothing is prepared: `state` is NULL */
        /* Called once where kernels are missing: stn_first_result_begin where the caller asked for
         * the first result as soon as possible, else NULL. */
        bool (*first_result)(stn_plan *plan, stn_compile_batch *batch, size_t workspace);
    };
    struct { /* the choice */
        const stn_strategy *strategy;
        stn_candidate candidate;
        stn_estimate estimate;
        double measured; /* seconds of the candidate, as in its row of the ranking */
        stn_chosen chosen;
        stn_ranked ranking[STN_PLAN_RANKING]; /* cheapest first, those that do not apply last */
        size_t ranked;
        stn_skip skips[STN_PLAN_SKIPS];
        size_t nskips;
        char again[320]; /* where new weights led to another choice: the strategy before and the reason; else "" */
    };
    struct {                                          /* the resources */
        void *state;                                  /* the strategy's own; owned through its release() */
        struct stn_kernel *kernels[STN_PLAN_KERNELS]; /* borrowed from the context, for stn_plan_kernel */
        size_t nkernels;
        size_t workspace_size;
        void *workspace;           /* owned; NULL where none is needed or the caller brings it */
        struct stn_first *first;   /* owned; NULL: the plan itself runs */
        struct stn_online *online; /* owned by the tuner, of STN_MODE_ONLINE; NULL: the choice is final */
        /* Owned; runs the later snapshots of a stack where the stack has another layout than the
         * input. NULL: this plan runs them. */
        stn_plan *repeat;
    };
};
/* The address of the work, as a kind's `adopt` takes it. */
static inline const void *stn_plan_work(const stn_plan *plan) { return &plan->task; }
/* For a strategy that prepares: one of the plan's kernels, if it is not in its list. */
void stn_plan_list_kernel(stn_plan *plan, struct stn_kernel *kernel);
/* For kinds: a plan for `given`, which is what the kind's make takes. */
stn_status stn_plan_make(stn_context *context, const stn_kind *kind, const void *given, const stn_plan_options *options,
                         stn_plan **plan, stn_error *error);

/* A run in parts: how many launches it consists of (1 where the strategy runs all at once), and
 * some of them. All parts get the same `run`, with its workspace, and come in order; out is whole
 * after the last. */
uint64_t stn_plan_launches(stn_plan *plan);
/* Fails where nothing was prepared: options.estimate_only. */
stn_status stn_plan_check_prepared(const stn_plan *plan, stn_error *error);
/* Checks `run` and runs all of it. */
stn_status stn_plan_run_checked(stn_plan *plan, const stn_execution *run, stn_error *error);
stn_status stn_plan_execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error);

/* The whole run, unchecked: for those who have checked `run`. */
static inline stn_status stn_plan_run_whole(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const stn_strategy *own = plan->strategy;
    if (own->execute) return own->execute(plan, run, error);
    return own->execute_part(plan, (stn_part){0, own->launches(plan)}, run, error);
}

/* ---- choose.c
 * Is it the name of one of the kind's strategies, NULL or "auto"? */
stn_status stn_plan_check_name(const stn_kind *kind, const char *name, stn_error *error);
stn_status stn_plan_check_mode(const stn_plan_options *options, stn_error *error);
stn_plan_mode stn_plan_mode_of(const stn_plan_options *options);
/* Fills the ranking anew, by estimate. name: NULL or "auto" for all strategies; most: candidates of
 * each. */
void stn_plan_rank(stn_plan *plan, const char *name, size_t most);
/* Ranks, by what is remembered or else by estimate, and takes the first. Error: nothing can run
 * it. */
stn_status stn_plan_choose(stn_plan *plan, const stn_plan_options *options, stn_error *error);
/* Lets the first of the ranking that can be built build what it needs. Where there is no compiler,
 * that is the cheapest whose kernels are stored. */
stn_status stn_plan_prepare(stn_plan *plan, stn_error *error);

/* The generic kernel's candidate (strategy.h) with its estimate. False: no strategy of this kind of
 * work has one. */
bool stn_plan_generic(const stn_plan *plan, stn_ranked *row);
/* The row becomes the plan's. */
void stn_plan_take(stn_plan *plan, const stn_ranked *row);
/* What prepare has built goes. */
void stn_plan_unprepare(stn_plan *plan);

/* ---- skips.c
 * What a failure ran into, in a word or two: "shared memory", "registers", "device memory",
 * "compile"... */
const char *stn_skip_name(const stn_error *why);
/* Of a multiprocessor's: another candidate may take less of it. */
bool stn_skip_is_resource(const stn_error *why);
/* One more in plan->skips. constraint: a literal. */
void stn_plan_count_skip(stn_plan *plan, const char *constraint, const char *because);

/* ---- first_result.c: options.first_result
 * The plan's kernels are missing and listed in `gather`; `workspace` bytes are what it will need.
 * Where the generic kernel is predicted to finish a whole execution before they would be compiled,
 * they are compiled in the background, the generic kernel serves the first execution, and the
 * gather is taken over: true. */
bool stn_first_result_begin(stn_plan *plan, stn_compile_batch *gather, size_t workspace);
/* The plan that runs what comes next: the generic kernel's, or the plan itself. `ends`: what comes
 * next completes an execution. Waits for the background compile once the generic kernel has run an
 * execution. */
stn_plan *stn_first_result_next(stn_plan *plan, bool ends, void *stream);
/* Waits for the background compile; the plan that runs from then on, which is the generic kernel's
 * where one of the plan's own kernels did not compile. */
stn_plan *stn_first_result_end(stn_plan *plan);
/* The plan that runs now. */
const stn_plan *stn_first_result_now(const stn_plan *plan);
void stn_first_result_describe(const stn_plan *plan, stn_format format, stn_text *text);

/* ---- build.c
 * A plan of other work on the same context and machine, in which nothing is chosen yet, and without
 * a workspace of its own. */
stn_status stn_plan_copy(const stn_plan *like, const stn_kind *kind, const void *work, uint64_t steps, stn_plan **plan,
                         stn_error *error);
/* A plan of the same work that runs exactly this candidate, without a workspace of its own; a
 * stencil's makes so many steps. */
stn_status stn_plan_build(const stn_plan *like, uint64_t steps, const stn_strategy *strategy,
                          const stn_candidate *candidate, stn_plan **plan, stn_error *error);

/* ---- subplan.c: the one word by which one strategy uses another, which it knows by name and includes nothing of. Margins by
 * direct, transforms inside a convolution: such work is a plan like any other.
 * stn_plan_execute_with runs it, with a workspace of plan->workspace_size bytes; stn_plan_destroy
 * ends it.
 *
 * A plan of a part of the parent's work: `task` (copied; its snapshots are not) by strategy `name`
 * (NULL: the cheapest), in the same context, without a workspace of its own. Errors:
 * STN_ERROR_UNSUPPORTED where there is none; those of prepare. */
stn_status stn_subplan(const stn_plan *parent, const stn_task *task, const char *name, stn_plan **plan,
                       stn_error *error);
stn_status stn_subplan_fft(const stn_plan *parent, const stn_fft *fft, const char *name, stn_plan **plan,
                           stn_error *error);
/* The same by the generic kernel (strategy.h). */
stn_status stn_subplan_generic(const stn_plan *parent, const stn_task *task, stn_plan **plan, stn_error *error);
bool stn_subplan_estimate_generic(const stn_task *task, const stn_machine *machine, stn_estimate *estimate);
/* For estimates: what the cheapest candidate would take; false where there is none. */
bool stn_subplan_estimate(const stn_task *task, const stn_machine *machine, const char *name, stn_estimate *estimate);
bool stn_subplan_estimate_fft(const stn_fft *fft, const stn_machine *machine, const char *name, stn_estimate *estimate);
/* Of a stencil's: the weights of another task with the same taps. */
stn_status stn_subplan_set_weights(stn_plan *plan, const stn_task *from, stn_error *error);
/* Adds its kernels to the parent's list. */
void stn_subplan_list_kernels(stn_plan *parent, const stn_plan *plan);

/* weights.c: new weights, of a plan that is prepared, by its choice or by another one. */
stn_status stn_plan_renew_weights(stn_plan *plan, size_t count, const double *weights, stn_error *error);

/* watched.c: an execution with a progress function. */
stn_status stn_plan_run_watched(stn_plan *plan, const stn_execution *run, stn_error *error);

/* pointers.c: what an execution brings, against what the plan was made for. */
stn_status stn_plan_check_pointers(const stn_plan *plan, const stn_execution *run, stn_error *error);
stn_status stn_plan_check_workspace(const stn_plan *plan, const stn_execution *run, stn_error *error);
/* system_arrays.c: the same of a system's arrays. */
stn_status stn_plan_check_arrays(const stn_plan *plan, const stn_execution *run, stn_error *error);

/* ---- snapshots.c: a stack of states, by a strategy that makes one after the other ---- */
stn_status stn_snapshots_prepare(stn_plan *plan, stn_error *error); /* makes plan->repeat where it is needed */
stn_status stn_snapshots_run(stn_plan *plan, const stn_execution *run, stn_error *error);

/* What the room `tune` lends to plans. The first two rank the candidates, put measured times into
 * the ranking where they know some, order it by them and say so in plan->chosen. Neither can fail:
 * at worst the ranking is as it was estimated. */
struct stn_tuner {
    bool (*recall)(stn_plan *plan,
                   const char *strategy); /* what was measured before; false: nothing is known or ranked */
    /* Measures, in about so many seconds; all candidates, or the likely ones. */
    void (*tune)(stn_plan *plan, const char *strategy, double seconds, bool all);

    /* STN_MODE_ONLINE: of a prepared plan. Where there is something to try, plan->online is set and
     * the workspace grows. */
    void (*open)(stn_plan *plan, const char *strategy, double executions);
    const stn_plan *(*now)(const stn_plan *plan); /* the plan, or the one made of it, that runs now */
    uint64_t (*legs)(const stn_plan *plan);       /* parts that a run is made in */
    stn_status (*run)(stn_plan *plan, stn_part legs, const stn_execution *run, stn_error *error);
    stn_status (*set_weights)(stn_plan *plan, size_t count, const double *weights, stn_error *error);
    const stn_strategy *(*strategy)(const stn_plan *plan, stn_candidate *candidate); /* that runs now */
    void (*describe)(const stn_plan *plan, stn_format format, stn_text *text);
    void (*close)(stn_plan *plan); /* NULL in plan->online is fine */
};
#endif
