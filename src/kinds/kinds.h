/* The kinds of work: what a plan can be made for, each described by a table of operations
 * (plan/kind.h). */
#ifndef STN_KINDS_KINDS_H
#define STN_KINDS_KINDS_H
#include "plan/kind.h"

/* system_arrays.c: stn_kind.arrays of systems. */
stn_status stn_system_list_arrays(const stn_plan *plan, const stn_execution *run, stn_run_arrays *all,
                                  stn_error *error);
/* For a kind's `reference_candidate`: takes the last candidate of the first strategy that applies,
 * from number *which on, in a list that ends with NULL. */
stn_status stn_reference_candidate(const stn_plan *plan, const stn_strategy *const *references, int *which,
                                   const stn_strategy **chosen, stn_candidate *candidate, stn_error *error);

/* Defines a kind's `candidates` and `estimate`, by the functions of a strategy for the work
 * `member` of the plan. */
#define STN_KIND_CHOOSING(member)                                                                                      \
    static size_t candidates(const stn_plan *plan, const stn_strategy *row, stn_candidate *list, size_t most) {        \
        return row->member.candidates(&plan->member, &plan->machine, list, most);                                      \
    }                                                                                                                  \
    static void estimate(const stn_plan *plan, const stn_strategy *row, const stn_candidate *candidate,                \
                         stn_estimate *result) {                                                                       \
        row->member.estimate(&plan->member, &plan->machine, candidate, result);                                        \
    }

extern const stn_kind stn_kind_stencil, stn_kind_fft, stn_kind_layer, stn_kind_system;
#endif
