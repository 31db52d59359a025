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
    char reason[160]; /* why not, when it does not apply */
    bool applies;
} stn_ranked;

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
/* What the plan computes, in one line and as JSON. */
void stn_plan_print_work(const stn_plan *plan, stn_text *text);
void stn_plan_json_work(const stn_plan *plan, stn_text *text);
#endif
