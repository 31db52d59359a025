/* Operators of a lowrank plan: the weights of so many fused steps, as a kernel takes them. */
#ifndef STN_STRATEGIES_LOWRANK_FLAT_SWEEP_H
#define STN_STRATEGIES_LOWRANK_FLAT_SWEEP_H
#include "strategies/lowrank/flat/shape.h"

/* One operator; a plan has one, or two when its launches do not divide the steps evenly. */
typedef struct lowrank_sweep {
    int fused;
    int terms; /* of them; up to shape.terms, the rest are zeros */
    double residual;
    double weights[LOWRANK_MAX_WEIGHTS];                              /* line w, or plane u then v */
    unsigned char values[(1 + LOWRANK_MAX_WEIGHTS) * sizeof(double)]; /* as the kernel takes them */
} lowrank_sweep;

/* All sweeps for the task's taps, of sweeps[i].fused steps. shape.terms and the pattern grow to
 * what they need, and `grown` says so: then a kernel for the former ones is too narrow. What fits
 * no kernel is STN_ERROR_UNSUPPORTED. */
stn_status lowrank_sweeps_make(const stn_task *task, const stn_machine *machine, lowrank_shape *shape,
                               lowrank_pattern *pattern, lowrank_sweep *sweeps, size_t nsweeps, bool *grown,
                               stn_error *error);
stn_status lowrank_fail_terms(int fused, int terms, stn_error *error);
#endif
