/* Parts of the strategy sourced: shared functions (source_add.c), runs of 1, 8 and 64 steps
 * (source_levels.c), all steps at once (source_whole.c). */
#ifndef STN_STRATEGIES_SOURCED_SOURCED_H
#define STN_STRATEGIES_SOURCED_SOURCED_H
#include <math.h>

#include "plan/plan.h"
#include "strategies/common/row_copy.h"

struct stn_kernel;

#define SOURCED_LEVELS 3
#define SOURCED_WHOLE 0 /* a candidate's values[0]: levels, or this */
/* Index of the candidate value that, if not 0, selects the generic kernel for each step, which
 * compiles quickly. */
#define SOURCED_GENERIC 1

/* Operations of sourced_add.cu on a grid x and a source c, which is 0 at frozen points. Grids are
 * the workspace's unless stated otherwise. */
typedef enum sourced_operation {
    SOURCED_LOAD, /* out = x, the caller's input */
    SOURCED_COPY, /* out = x */
    SOURCED_MASK, /* out = c, the caller's source */
    SOURCED_ADD,  /* out = x + c */
    SOURCED_LAST, /* out = x + c, out is the caller's output */
    SOURCED_OPERATIONS
} sourced_operation;

typedef struct sourced_state {
    int levels; /* number of levels, or SOURCED_WHOLE */
    /* Levels: run[i] makes 8^i steps, from_zero[i] the same for c (NULL if run[i] serves). Whole:
     * run[0] makes all steps, `sum` adds the sum of the source. */
    stn_plan *run[SOURCED_LEVELS], *from_zero[SOURCED_LEVELS], *sum;
    struct stn_kernel *add[SOURCED_OPERATIONS]; /* this and the following fields: levels only */
    stn_grid_layout in, out, packed;
    bool widened;     /* workspace grids have another type than the caller's */
    bool reads_input; /* the first run reads the caller's input */
    size_t grid;      /* bytes of a workspace grid */
} sourced_state;

/* The grids of one execution by levels. */
typedef struct sourced_job {
    const stn_plan *plan;
    const sourced_state *state;
    const stn_execution *execution;
    stn_strided_grid source;
    void *workspace; /* of the plans of runs */
} sourced_job;

/* The most seconds that are searched for: a little above the time limit, because sums of seconds
 * are rounded. */
static inline double sourced_most_seconds(const stn_machine *machine) {
    return machine->time_limit > 0 ? machine->time_limit * (1 + 1e-9) : INFINITY;
}

/* ---- source_add.c: makes a subplan; the plan's workspace grows as needed. */
stn_status sourced_make_run(stn_plan *plan, const stn_task *task, stn_plan **run, stn_error *error);
/* Seconds of a launch that reads and writes this many grids in total. */
double sourced_add_seconds(const stn_task *task, const stn_machine *machine, int grids);
stn_dtype sourced_own_type(const stn_task *task); /* type of the grids in the workspace */
stn_status sourced_make_kernels(stn_plan *plan, sourced_state *state, stn_error *error);
/* Grid `number` in the workspace. */
stn_strided_grid sourced_own_grid(const sourced_job *job, int number);
stn_status sourced_add(const sourced_job *job, sourced_operation operation, stn_strided_grid x, stn_strided_grid c,
                       stn_strided_grid out, stn_error *error);

/* ---- source_levels.c */
uint64_t sourced_level_steps(int level);
/* by_generic: by the generic kernel. False if no strategy serves a level within the time limit. */
bool sourced_estimate_levels(const stn_task *task, const stn_machine *machine, int levels, bool by_generic,
                             stn_estimate *result);
stn_status sourced_prepare_levels(stn_plan *plan, sourced_state *state, stn_error *error);
stn_status sourced_execute_levels(stn_plan *plan, const stn_execution *execution, stn_error *error);
void sourced_describe_levels(const sourced_state *state, stn_format format, stn_text *text);

/* ---- source_whole.c */
/* The task without its source; its taps are borrowed. */
stn_task sourced_run_task(const stn_task *task);
/* False if no strategy sums the powers of these steps within the time limit. */
bool sourced_estimate_whole(const stn_task *task, const stn_machine *machine, stn_estimate *result);
stn_status sourced_prepare_whole(stn_plan *plan, sourced_state *state, stn_error *error);
stn_status sourced_execute_whole(stn_plan *plan, const stn_execution *execution, stn_error *error);
void sourced_describe_whole(const stn_plan *plan, stn_format format, stn_text *text);
#endif
