/* A kind of work: what a plan can be made for (stencils, transforms, Fourier layers, systems), as a
 * table of operations. plan, tune and describe know kinds by this table alone, so one more kind is
 * one more file like kind_fft.c, and its value among stn_plan's. */
#ifndef STN_PLAN_KIND_H
#define STN_PLAN_KIND_H
#include "base/text.h"
#include "plan/strategy.h"
#include "problem/apart.h"

/* What the rest of the library asks of any work. */
typedef struct stn_work_shape {
    stn_dtype dtype;
    bool in_place, source; /* source: an execution brings a third pointer */
    bool
        repeats; /* in and out lie alike and without gaps, so that a run may go on from where one ended; and no third pointer */
    bool stack;                      /* a run makes several states, and may be several runs */
    int alignment;                   /* bytes, of all pointers */
    uint64_t steps;                  /* that a candidate may be measured with fewer of; 1: it has none */
    int64_t in_numbers, out_numbers; /* numbers of the dtype from a side's first to one past its last */
    int64_t source_numbers;          /* likewise; 0: there is none */
    /* Of a half spectrum that comes in: numbers from row to row, and to a row's last; 0: it is
     * none. */
    int64_t half_row, half_last;
} stn_work_shape;

/* The pointers that an execution brings. */
typedef enum stn_work_side { STN_WORK_IN, STN_WORK_OUT, STN_WORK_SOURCE } stn_work_side;

/* Where a key is written to, number by number. */
typedef struct stn_key_sink {
    void *user;
    void (*number)(void *user, const char *label, int64_t value);
    void (*text)(void *user, const char *label, const char *value);
} stn_key_sink;

typedef struct stn_tuner stn_tuner; /* plan.h */

typedef struct stn_kind {
    const char *label;                     /* before the work in a plan's description */
    const char *of_these;                  /* after "strategy 'x'" in messages: " of transforms"; "" */
    const stn_strategy *const *strategies; /* ends with NULL */
    const stn_tuner *tuner;                /* that measures its candidates */

    /* ---- the work as a value in the plan
     * Validates what the caller wrote (a stn_problem, a stn_transform...) into the plan. */
    stn_status (*make)(stn_plan *plan, const void *given, stn_error *error);
    /* Copies such a value (a stn_task, a stn_fft...) into the plan, with another number of steps. */
    stn_status (*adopt)(stn_plan *plan, const void *work, uint64_t steps, stn_error *error);
    void (*clear)(stn_plan *plan); /* NULL: the value owns nothing */
    stn_work_shape (*shape)(const stn_plan *plan);
    /* All that is read or written behind a side's pointer. */
    stn_points (*points)(const stn_plan *plan, stn_work_side side, const void *first);
    /* Numbers of the dtype behind each further pointer that an execution brings, 0 for those that
     * it does not; NULL: none. */
    void (*operands)(const stn_plan *plan, int64_t numbers[STN_OPERANDS]);
    /* What an execution brings, where that is more than the pointers of stn_work_side and operands;
     * NULL: it is not. */
    stn_status (*check)(const stn_plan *plan, const stn_execution *run, stn_error *error);
    /* NULL: it has none. */
    stn_status (*set_weights)(stn_plan *plan, size_t count, const double *weights, stn_error *error);

    /* ---- choosing: a strategy of this kind's table asked for the plan's work */
    bool (*applies)(const stn_plan *plan, const stn_strategy *strategy, char *reason, size_t reason_size);
    size_t (*candidates)(const stn_plan *plan, const stn_strategy *strategy, stn_candidate *list, size_t most);
    void (*estimate)(const stn_plan *plan, const stn_strategy *strategy, const stn_candidate *candidate,
                     stn_estimate *estimate);

    /* The largest error that a candidate may be predicted to have; NULL: any. */
    double (*bar)(const stn_plan *plan);

    /* ---- words: in one line, as a JSON object, and what only this kind tells beside that (NULL:
     * nothing) */
    void (*print)(const stn_plan *plan, stn_text *text);
    void (*json)(const stn_plan *plan, stn_text *text);
    void (*more)(const stn_plan *plan, stn_format format, stn_text *text);

    /* ---- measuring: all that decides how fast a candidate is. All NULL: plans of this kind are never
     * measured */
    void (*key)(const stn_plan *plan, const stn_key_sink *sink);
    /* A candidate to compare others with: the first that applies from number *which on; *which
     * becomes its number. Fails where there is none. */
    stn_status (*judge)(const stn_plan *plan, int *which, const stn_strategy **strategy, stn_candidate *candidate,
                        stn_error *error);
    /* Where the values of a run would leave the dtype's range: changes the plan's work to such as
     * takes as long and stays within. False: it stays as it is. NULL: it always does. */
    bool (*calm)(stn_plan *plan);
    /* Relative L2 difference from it that is no mistake, after so many steps. */
    double (*allowed_difference)(const stn_plan *plan, uint64_t steps);
} stn_kind;

/* For a kind's judge: the last candidate of the first strategy that applies, from number *which of
 * a list that ends with NULL. */
stn_status stn_judge_of(const stn_plan *plan, const stn_strategy *const *judges, int *which,
                        const stn_strategy **chosen, stn_candidate *candidate, stn_error *error);

/* The table of kinds. */
enum { STN_KIND_STENCIL, STN_KIND_FFT, STN_KIND_LAYER, STN_KIND_SYSTEM, STN_KIND_COUNT };
extern const stn_kind *const stn_kinds[STN_KIND_COUNT];
#endif
