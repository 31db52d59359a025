/* A kind of work that plans are made for (stencils, transforms, Fourier layers, systems), as a
 * table of operations. plan/ and tune/ know kinds only by this table, so that a new kind is one
 * more file in kinds/, and one more member of the union in stn_plan. (Exceptions: subplans are of
 * stencils or transforms, and snapshots belong to stencils.) */
#ifndef STN_PLAN_KIND_H
#define STN_PLAN_KIND_H
#include "base/text.h"
#include "plan/strategy.h"
#include "problem/overlap.h"

/* The properties of a work that do not depend on its kind. */
typedef struct stn_work_shape {
    stn_dtype dtype;
    bool in_place, source; /* source: an execution has a third pointer, a constant source */
    /* Input and output have the same dense layout and there is no source, so that a run can
     * continue from the output of another. */
    bool can_continue;
    bool stack;    /* an execution writes several snapshots, by one or several runs */
    int alignment; /* alignment of all pointers, in bytes */
    /* Bytes of an element of the input and of the output, if an element may be larger than
     * `alignment`; else 0. */
    int in_size, out_size;
    uint64_t steps; /* a candidate may be measured with fewer steps; 1: the work has no steps */
    /* Numbers of the dtype from the first to one past the last. */
    int64_t in_numbers, out_numbers;
    int64_t source_numbers; /* likewise; 0: there is no source */
    /* If the input is a half spectrum: numbers from one row to the next, and from the first to the
     * last element of a row. Else 0. */
    int64_t half_row, half_last;
} stn_work_shape;

/* The arrays of an execution that any kind of work may have. */
typedef enum stn_work_array { STN_WORK_IN, STN_WORK_OUT, STN_WORK_SOURCE } stn_work_array;

/* An array of an execution, and the list of all, for the checks before the execution
 * (pointers.c). */
typedef struct stn_run_array {
    const char *role, *name; /* role: precedes the name in messages, such as "the input array " */
    int level;               /* of a field of a system: 1 is its .prev */
    const void *first;
    bool written;
    int alignment;
    stn_points points;
} stn_run_array;
enum { STN_MAX_RUN_ARRAYS = 2 * STN_SYSTEM_MAX_ARRAYS + STN_SYSTEM_MAX_COEFFICIENTS + 2 };
typedef struct stn_run_arrays {
    stn_run_array list[STN_MAX_RUN_ARRAYS];
    int count;
} stn_run_arrays;
/* Adds an array to the list. Fails if it is NULL or not aligned. */
stn_status stn_run_arrays_add(stn_run_arrays *all, stn_run_array a, stn_error *error);

/* Receives the labelled numbers and texts that make up a key of the wisdom, one by one. */
typedef struct stn_key_sink {
    void *user;
    void (*number)(void *user, const char *label, int64_t value);
    void (*text)(void *user, const char *label, const char *value);
} stn_key_sink;

typedef struct stn_tuner stn_tuner; /* plan.h */

typedef struct stn_kind {
    const char *label; /* precedes the work in a plan's description */
    /* Follows "strategy 'x'" in messages: " of transforms". */
    const char *strategy_suffix;
    const stn_strategy *const *strategies; /* ends with NULL */
    const stn_tuner *tuner;                /* measures candidates */

    /* ---- the work as a value in the plan
     * Validates the caller's description (a stn_problem, a stn_transform...) and stores the work in
     * the plan. */
    stn_status (*make)(stn_plan *plan, const void *given, stn_error *error);
    /* Copies work (a stn_task, a stn_fft...) into the plan, with another number of steps. */
    stn_status (*adopt)(stn_plan *plan, const void *work, uint64_t steps, stn_error *error);
    void (*clear)(stn_plan *plan); /* NULL: the work owns no memory */
    stn_work_shape (*shape)(const stn_plan *plan);
    /* The addresses that are read or written through a pointer. */
    stn_points (*points)(const stn_plan *plan, stn_work_array array, const void *first);
    /* Sets the sizes, in numbers of the dtype, of the operands of an execution (stn_operand); 0 for
     * operands that it does not have. NULL: it has none. */
    void (*operands)(const stn_plan *plan, int64_t numbers[STN_OPERANDS]);
    /* Lists all arrays of an execution. NULL: they are those of stn_work_array and `operands`. */
    stn_status (*arrays)(const stn_plan *plan, const stn_execution *run, stn_run_arrays *all, stn_error *error);
    /* NULL: plans of this kind have no weights. */
    stn_status (*set_weights)(stn_plan *plan, size_t count, const double *weights, stn_error *error);

    /* ---- choosing: calls a strategy's function with the plan's work */
    bool (*applies)(const stn_plan *plan, const stn_strategy *strategy, char *reason, size_t reason_size);
    size_t (*candidates)(const stn_plan *plan, const stn_strategy *strategy, stn_candidate *list, size_t most);
    void (*estimate)(const stn_plan *plan, const stn_strategy *strategy, const stn_candidate *candidate,
                     stn_estimate *estimate);
    /* A lower bound on the predicted seconds of all candidates of a strategy that has
     * least_seconds. */
    double (*least_seconds)(const stn_plan *plan, const stn_strategy *strategy);

    /* The largest predicted error that a candidate may have; NULL: any. */
    double (*error_bound)(const stn_plan *plan);

    /* ---- descriptions: the work in one line, as a JSON object, and further lines that only this
     * kind has (NULL: none) */
    void (*print)(const stn_plan *plan, stn_text *text);
    void (*json)(const stn_plan *plan, stn_text *text);
    void (*more)(const stn_plan *plan, stn_format format, stn_text *text);

    /* ---- measuring; if all functions are NULL, plans of this kind are never measured
     * Writes all properties that the speed of candidates depends on. */
    void (*key)(const stn_plan *plan, const stn_key_sink *sink);
    /* The reference candidate, whose result the others are compared with. It is of the first
     * strategy that applies in the kind's list of reference strategies, from index *which on; sets
     * *which to the index of this strategy. Fails if none applies. */
    stn_status (*reference_candidate)(const stn_plan *plan, int *which, const stn_strategy **strategy,
                                      stn_candidate *candidate, stn_error *error);
    /* Rescales the plan's weights if the numbers of a run would leave the range of the dtype; the
     * speed stays the same. NULL: weights are never rescaled. */
    void (*rescale_for_timing)(stn_plan *plan);
    /* The largest relative L2 difference from the reference that rounding explains, after `steps`
     * steps. */
    double (*allowed_difference)(const stn_plan *plan, uint64_t steps);
} stn_kind;

/* The table of kinds, which kinds/kinds.c defines. */
enum { STN_KIND_STENCIL, STN_KIND_FFT, STN_KIND_LAYER, STN_KIND_SYSTEM, STN_KIND_COUNT };
extern const stn_kind *const stn_kinds[STN_KIND_COUNT];
#endif
