/* The plan: a task or a transform, the strategy chosen for it, and what that strategy built. */
#ifndef STN_PLAN_PLAN_H
#define STN_PLAN_PLAN_H
#include "plan/strategy.h"

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

typedef enum stn_chosen { STN_CHOSEN_BY_ESTIMATE, STN_CHOSEN_BY_MEASURING, STN_CHOSEN_BY_MEMORY } stn_chosen;

struct stn_kernel;

typedef enum stn_plan_kind { STN_PLAN_STENCIL, STN_PLAN_FFT } stn_plan_kind;

struct stn_plan {
    stn_context *context; /* outlives the plan */
    stn_plan_kind kind;
    stn_task task; /* owned; of a stencil's plan */
    stn_fft fft;   /* of a transform's */
    stn_machine machine;
    const stn_strategy *strategy;
    stn_candidate candidate;
    stn_estimate estimate;
    double measured; /* of the candidate, as in its row of the ranking */
    stn_chosen chosen;
    stn_ranked ranking[STN_PLAN_RANKING]; /* cheapest first, those that do not apply last */
    size_t ranked;
    void *state; /* the strategy's */
    /* borrowed from the context, for describe; see context/kernel.h */
    struct stn_kernel *kernels[STN_PLAN_KERNELS];
    size_t nkernels;
    size_t workspace_size;
    void *workspace; /* owned; NULL when none is needed or the caller brings it */
    bool caller_workspace;
    bool estimate_only; /* strategy and candidate are chosen, nothing is prepared: no state */
};
/* For a strategy that prepares: one of the plan's kernels, if it is not in its list. */
void stn_plan_list_kernel(stn_plan *plan, struct stn_kernel *kernel);
/* What the plan computes, in one line and as JSON. */
void stn_plan_print_work(const stn_plan *plan, stn_text *text);
void stn_plan_json_work(const stn_plan *plan, stn_text *text);

/* Fills the ranking anew, by estimate. name: NULL or "auto" for all strategies; most: candidates of each. */
void stn_plan_rank(stn_plan *plan, const char *name, size_t most);
/* What a strategy of the plan's kind would take. */
void stn_plan_estimate(const stn_plan *plan, const stn_strategy *strategy, const stn_candidate *candidate,
                       stn_estimate *estimate);
/* A plan of the same work that runs exactly this candidate, without a workspace of its own; a stencil's makes so many steps. */
stn_status stn_plan_build(const stn_plan *like, uint64_t steps, const stn_strategy *strategy,
                          const stn_candidate *candidate, stn_plan **plan, stn_error *error);

/* What the room `tune` lends to stn_plan_create. Both rank the candidates, put measured times into the ranking where they know
 * some, order it by them and say so in plan->chosen. Neither can fail: at worst the ranking is as it was estimated. */
typedef struct stn_tuner {
    bool (*recall)(stn_plan *plan,
                   const char *strategy); /* what was measured before; false: nothing is known or ranked */
    void (*tune)(stn_plan *plan, const char *strategy, double seconds); /* measures, in about so many seconds */
} stn_tuner;
extern const stn_tuner stn_tuner_default;
#endif
