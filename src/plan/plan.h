/* The plan: the work (a stencil's task, a transform, a Fourier layer or a system), the strategy
 * that was chosen for it, and the kernels, tables and memory that the strategy prepared. */
#ifndef STN_PLAN_PLAN_H
#define STN_PLAN_PLAN_H
#include <pthread.h>
#include <stdatomic.h>

#include "context/compile_batch.h"
#include "context/kernel.h"
#include "plan/kind.h"

#define STN_PLAN_RANKING 64 /* most rows of a ranking */

/* A row of the ranking: a candidate of a strategy, or a strategy that does not apply. */
typedef struct stn_ranked {
    const stn_strategy *strategy;
    stn_candidate candidate;
    stn_estimate estimate;
    double measured;  /* seconds of the whole run, as the tuner measured it; 0: not measured */
    double expected;  /* seconds by which the tuner sorts the rows */
    char reason[200]; /* why the strategy does not apply, or the candidate cannot be used */
    bool applies;
} stn_ranked;

typedef enum stn_chosen {
    STN_CHOSEN_BY_ESTIMATE,
    STN_CHOSEN_BY_MEASURING,
    STN_CHOSEN_BY_WISDOM,         /* of this very problem */
    STN_CHOSEN_BY_SIMILAR_WISDOM, /* of a similar problem (stentor.h, Wisdom) */
    STN_CHOSEN_AS_LAST_RESORT     /* no other kernel is stored, and nothing can be compiled */
} stn_chosen;

/* State of options.first_result: the generic kernel runs while the chosen kernels are compiled. */
struct stn_first {
    /* Owned until the plan is destroyed: a thread may be running it. */
    stn_plan *generic;
    stn_compile_batch *batch;           /* owned: the plan's missing kernels */
    stn_background_compile *background; /* compiles them; NULL once it has ended */
    size_t workspace;                   /* stn_plan_workspace of the plan */
    pthread_mutex_t lock;
    bool served; /* a whole execution was enqueued */
    /* The background compile has ended: from now on the plan itself runs, or, if `failed` is set,
     * always the generic kernel. */
    atomic_bool ended;
    stn_error failed; /* of preparing the plan; status STN_OK: none */
};

/* The request, the choice and the resources are anonymous structs, so that strategies write
 * plan->task, plan->candidate and plan->state. */
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
        const stn_strategy *named_strategy; /* the strategy that the caller named; NULL: any */
        /* The caller supplies the workspace with each execution. */
        bool caller_workspace;
        /* A part of another plan, which owns the set of its kernels and compiles them. */
        bool is_subplan;
        bool may_be_chunked; /* a long run may be split into chunks (strategies/chunked.c) */
        bool deterministic;  /* chosen by estimate alone */
        bool cold;           /* candidates are measured with a cold L2 cache */
        bool estimate_only;  /* a candidate is chosen, but not prepared: `state` is NULL */
        /* stn_first_result_begin if the caller set options.first_result, else NULL. Called at most
         * once, while the plan is made, if kernels are neither loaded nor stored. */
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
        bool only_best; /* rows after the first may be missing (stn_plan_complete_ranking) */
        /* If new weights made the plan choose another strategy: the previous strategy and the
         * reason, for the description; else "". */
        char choice_before[320];
    };
    struct { /* the resources */
        /* The strategy's own, freed with free() after its release(). */
        void *state;
        /* All kernels that the plan has asked for, those of subplans included. Owned by the
         * outermost plan; NULL in a plan that is never prepared. */
        stn_kernel_set *kernels;
        /* Set by the strategy's `prepare`, 0 before it; callers give stn_plan_workspace bytes. */
        size_t workspace_size;
        void *workspace;         /* owned; NULL where none is needed or the caller supplies it */
        struct stn_first *first; /* owned; NULL: the plan itself runs */
        /* Owned by the tuner, of STN_MODE_ONLINE; NULL: the choice is final. */
        struct stn_online *online;
        /* Owned. The first snapshot is computed from the input, each later one from the snapshot
         * before it. If snapshots have another layout than the input, `later_snapshots` computes
         * the later ones. NULL: this plan computes all snapshots. */
        stn_plan *later_snapshots;
    };
};
/* The address of the work, as a kind's `adopt` takes it. */
static inline const void *stn_plan_work(const stn_plan *plan) { return &plan->task; }
/* The bytes of workspace that an execution needs. With options.first_result they are enough for the
 * generic kernel and for the chosen kernels, and stay the same while the latter are prepared. */
static inline size_t stn_plan_workspace(const stn_plan *plan) {
    return plan->first ? plan->first->workspace : plan->workspace_size;
}
/* For kinds of work: makes a plan for `problem`, the struct that the kind's `make` reads. */
stn_status stn_plan_make(stn_context *context, const stn_kind *kind, const void *problem,
                         const stn_plan_options *options, stn_plan **plan, stn_error *error);

/* ---- plan.c
 * Whether launches may start before their predecessors end (programmatic dependent launch): from
 * sm_90, and from CUDA 12.3, because older drivers cannot capture it in a graph. */
bool stn_plan_may_start_early(const stn_plan *plan);

/* ---- plan_run.c
 * A run in parts: the number of its launches (1 where the strategy can only run all of it), and the
 * execution of some of them. All parts get the same `run`, with its workspace, and are executed in
 * order; the output is complete after the last one. */
uint64_t stn_plan_launches(stn_plan *plan);
/* Fails for a plan that was made with options.estimate_only. */
stn_status stn_plan_check_prepared(const stn_plan *plan, stn_error *error);
/* Checks `run`, and executes these launches. */
stn_status stn_plan_execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error);
/* Makes plan->later_snapshots where a stack of snapshots needs it. */
stn_status stn_snapshots_prepare(stn_plan *plan, stn_error *error);

/* Executes all of a run that has been checked. */
static inline stn_status stn_plan_run_whole(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const stn_strategy *own = plan->strategy;
    if (own->execute) return own->execute(plan, run, error);
    return own->execute_part(plan, (stn_part){0, own->launches(plan)}, run, error);
}

/* ---- choose.c
 * The kind's strategy of this name; NULL where `name` is NULL or "auto". Fails for another name. */
stn_status stn_plan_find_strategy(const stn_kind *kind, const char *name, const stn_strategy **strategy,
                                  stn_error *error);
stn_status stn_plan_check_mode(const stn_plan_options *options, stn_error *error);
stn_plan_mode stn_plan_mode_of(const stn_plan_options *options);
/* Fills the ranking, by estimate. name: NULL or "auto" for all strategies; most: candidates of each
 * strategy. */
void stn_plan_rank(stn_plan *plan, const char *name, size_t most);
/* Limits a search for the cheapest candidate. */
typedef struct stn_rank_limit {
    double cost; /* the highest stn_estimate_cost; 0: no limit, and `within_bound` is not read */
    /* Candidates above the error bound are excluded even if none is within it; the ranking is then
     * empty. */
    bool within_bound;
} stn_rank_limit;
/* As stn_plan_rank, where only the first row matters: leaves out candidates above the limit, and
 * may leave out others that are not the cheapest. */
void stn_plan_rank_best(stn_plan *plan, const char *name, stn_rank_limit limit);
/* Ranks the candidates, by wisdom or else by estimate, and takes the first one. Fails where no
 * strategy applies. */
stn_status stn_plan_choose(stn_plan *plan, const stn_plan_options *options, stn_error *error);
void stn_plan_complete_ranking(stn_plan *plan); /* by estimate, if plan->only_best */
/* Prepares the first candidate of the ranking for which that succeeds. Without a compiler, that is
 * the cheapest one whose kernels are stored. */
stn_status stn_plan_prepare(stn_plan *plan, stn_error *error);

/* The candidate of the generic kernel (strategy.h) with its estimate. False: no strategy that may
 * be chosen has one. */
bool stn_plan_generic(const stn_plan *plan, stn_ranked *row);
/* The candidate of the row cannot be used, for the reason `why`. */
void stn_ranked_exclude(stn_ranked *row, const char *why);
/* Makes the row the plan's choice. */
void stn_plan_take(stn_plan *plan, const stn_ranked *row);

/* ---- first_result.c: options.first_result
 * `batch` holds the plan's missing kernels; the prepared plan will need `workspace` bytes. If the
 * generic kernel is predicted to finish an execution before these are compiled, it runs the first
 * execution while they are compiled in the background. In this case the function returns true, and
 * the plan owns the batch. */
bool stn_first_result_begin(stn_plan *plan, stn_compile_batch *batch, size_t workspace);
/* The plan that runs the next launches: the generic kernel's, or the plan itself. `ends`: they
 * complete an execution. Once the generic kernel has run an execution, the call waits for the
 * background compile. */
stn_plan *stn_first_result_next(stn_plan *plan, bool ends, void *stream);
/* Waits for the background compile, and returns the plan that runs from then on: the generic
 * kernel's where one of the plan's own kernels did not compile. */
stn_plan *stn_first_result_end(stn_plan *plan);
/* The plan that runs at present. */
const stn_plan *stn_first_result_now(const stn_plan *plan);
void stn_first_result_describe(const stn_plan *plan, stn_format format, stn_text *text);

/* ---- build.c
 * Releases what the strategy has prepared, if anything. */
void stn_plan_unprepare(stn_plan *plan);
/* Allocates the workspace, unless the caller supplies it or the GPU is absent. */
stn_status stn_plan_allocate(stn_plan *plan, stn_error *error);
/* Makes an empty set of kernels, for a plan that is not a subplan. */
stn_status stn_plan_make_kernels(stn_plan *plan, stn_error *error);
/* A plan for other work on the same context and machine. Nothing is chosen for it yet, it has no
 * set of kernels, and its workspace is the caller's. */
stn_status stn_plan_copy(const stn_plan *like, const stn_kind *kind, const void *work, uint64_t steps, stn_plan **plan,
                         stn_error *error);
/* A prepared plan for the same work, of `steps` steps, by the given candidate. Its workspace is the
 * caller's. Missing kernels are compiled, or, if `batch` is given, added to it. If the batch is
 * then not empty, the plan cannot run and can only be destroyed. */
stn_status stn_plan_build(const stn_plan *like, uint64_t steps, const stn_strategy *strategy,
                          const stn_candidate *candidate, stn_compile_batch *batch, stn_plan **plan, stn_error *error);

/* ---- subplan.c: plans that a strategy makes for parts of its work, such as the transforms inside
 * of a convolution. This is the only way in which one strategy uses another.
 *
 * A plan for `task` (copied, without its snapshots) by the strategy `name` (NULL: the cheapest;
 * STN_GENERIC: the generic kernel, strategy.h). It needs a workspace of plan->workspace_size bytes
 * from its caller, and is destroyed by stn_plan_destroy. Fails with STN_ERROR_UNSUPPORTED where no
 * strategy applies, or with the error of `prepare`. */
#define STN_GENERIC "generic"
stn_status stn_subplan(const stn_plan *parent, const stn_task *task, const char *name, stn_plan **plan,
                       stn_error *error);
stn_status stn_subplan_fft(const stn_plan *parent, const stn_fft *fft, const char *name, stn_plan **plan,
                           stn_error *error);
/* As stn_subplan, by the parent's strategy; by the cheapest one if the parent's does not support
 * this task. */
stn_status stn_subplan_repeat(const stn_plan *parent, const stn_task *task, stn_plan **plan, stn_error *error);
/* The estimate of the cheapest candidate; false where there is none. */
bool stn_subplan_estimate(const stn_task *task, const stn_machine *machine, const char *name, stn_estimate *estimate);
/* The same by a shorter search; false also if the cheapest candidate takes more than `most` seconds
 * or, with `within_bound`, if no candidate is within the error bound. */
bool stn_subplan_estimate_below(const stn_task *task, const stn_machine *machine, const char *name, double most,
                                bool within_bound, stn_estimate *estimate);
bool stn_subplan_estimate_fft(const stn_fft *fft, const stn_machine *machine, const char *name, stn_estimate *estimate);
/* For stencils: takes the weights of another task, whose taps have the same offsets. */
stn_status stn_subplan_set_weights(stn_plan *plan, const stn_task *from, stn_error *error);

/* pointers.c: checks the pointers of an execution against the plan. */
stn_status stn_plan_check_pointers(const stn_plan *plan, const stn_execution *run, stn_error *error);

/* What tune/ does for plans: wisdom, measuring, and choosing online. `recall` and `tune` fill the
 * ranking, with measured times where there are any, sort it, and set plan->chosen. Neither can
 * fail: at worst the ranking is that of the estimates. */
struct stn_tuner {
    /* Ranks by wisdom. False: there is none, and the ranking is untouched. */
    bool (*recall)(stn_plan *plan, const char *strategy);
    /* Measures all candidates, or the promising ones, for about `seconds`. */
    void (*tune)(stn_plan *plan, const char *strategy, double seconds, bool all);

    /* STN_MODE_ONLINE: candidates are tried in the caller's own executions of a prepared plan. If
     * there are candidates to try, online_open sets plan->online and enlarges the workspace. */
    void (*online_open)(stn_plan *plan, const char *strategy, double executions);
    const stn_plan *(*online_current)(const stn_plan *plan); /* the plan of the current candidate */
    uint64_t (*online_chunks)(const stn_plan *plan);         /* chunks of steps in a run */
    stn_status (*online_run)(stn_plan *plan, stn_part chunks, const stn_execution *run, stn_error *error);
    stn_status (*online_set_weights)(stn_plan *plan, size_t count, const double *weights, stn_error *error);
    void (*online_describe)(const stn_plan *plan, stn_format format, stn_text *text);
    void (*online_close)(stn_plan *plan); /* plan->online may be NULL */
};
#endif
