/* Systems in teams. A member's grid holds all fields and levels one after the other, each for the
 * whole batch; so halos are exchanged as if these were a batch of grids of a stencil. The array of
 * sources holds the coefficients. */
#ifndef STN_TEAM_TEAM_SYSTEM_H
#define STN_TEAM_TEAM_SYSTEM_H
#include "base/arith.h"
#include "team/team.h"

enum { TEAM_SYSTEM_ALIGNMENT = 256 }; /* alignment of a member's memory in bytes */

typedef struct team_system_part {
    /* Sources in the part and its halos, and receivers in the part. Their `index` counts from the
     * first row of the part with its halos, by canonical axis. */
    size_t nsources, nreceivers;
    stn_system_point *sources;   /* their `channel` is an index into `channels` */
    stn_system_point *receivers; /* their `channel` is their index in this list */
    size_t *channels;            /* channels of the task that the sources use */
    size_t nchannels;
    size_t *record_of; /* index of each receiver among the receivers of the whole task */
    /* On the member's device, for each launch: amplitudes[steps][nchannels], and
     * records[steps / record_every][batch][nreceivers]. Those of the next launch begin
     * team_system_amplitude_bytes and team_system_record_bytes after them. */
    void *amplitudes, *records;
} team_system_part;

typedef struct team_system {
    stn_system_task task; /* of the whole grid; .steps: steps between two kept states */
    int axis;             /* canonical axis that is divided */
    /* By field and coefficient: whether an assignment reads it at an offset along that axis. */
    bool spreads[STN_SYSTEM_MAX_FIELDS], coefficient_spreads[STN_SYSTEM_MAX_COEFFICIENTS];
    /* Whether an assignment reads a .next at an offset along that axis. */
    bool chains;
    uint64_t record_every;  /* steps between records of the members (record_every_of) */
    uint64_t launch;        /* number of the launch in the present execution */
    bool has_coefficients;  /* the members have the coefficients of the last execution */
    const double *numbers;  /* coefficients of this execution; NULL: those of the text */
    team_system_part *part; /* owned; one for each member of the plan */
} team_system;

/* Finds the points of member m's part, which may be in another process. */
stn_status team_system_place(const stn_team_plan *plan, int m, stn_error *error);

/* Bytes of one array of a part with its halos: a level of the whole batch, or a coefficient. */
static inline int64_t team_system_level_bytes(const stn_team_plan *plan, const team_part *part) {
    return team_offset(plan, part, plan->system->task.batch, -part->halo[0]);
}
static inline int64_t team_system_coefficient_bytes(const stn_team_plan *plan, const team_part *part) {
    return team_offset(plan, part, 1, -part->halo[0]);
}
/* Bytes of an amplitude and of a record. */
static inline size_t team_system_point_size(const team_system *system) { return system->task.dtype == STN_F64 ? 8 : 4; }
/* The number of launches that compute one kept state from the previous one. */
static inline uint64_t team_system_launches(const stn_team_plan *plan) {
    return plan->steps / plan->steps_per_exchange + (plan->steps % plan->steps_per_exchange > 0);
}
/* The launch that computes step number `step` (from 0 on) of a run, and in *within the number of
 * the step in this launch. */
static inline uint64_t team_system_launch_of(const stn_team_plan *plan, uint64_t step, uint64_t *within) {
    const uint64_t own = step % plan->steps;
    *within = own % plan->steps_per_exchange;
    return step / plan->steps * team_system_launches(plan) + own / plan->steps_per_exchange;
}
/* Bytes between the amplitudes, and between the records, of two launches: aligned. */
static inline size_t team_system_amplitude_bytes(const stn_team_plan *plan, const team_system_part *part) {
    return (size_t)stn_round_up(
        (int64_t)(plan->steps_per_exchange * part->nchannels * team_system_point_size(plan->system)),
        TEAM_SYSTEM_ALIGNMENT);
}
static inline size_t team_system_record_bytes(const stn_team_plan *plan, const team_system_part *part) {
    const team_system *system = plan->system;
    const uint64_t rows = plan->steps_per_exchange / system->record_every * (uint64_t)system->task.batch;
    return (size_t)stn_round_up((int64_t)(rows * part->nreceivers * team_system_point_size(system)),
                                TEAM_SYSTEM_ALIGNMENT);
}
/* Whether the halos at the ends of the grid must be filled by this coefficient's own boundary rule:
 * fields wrap there, so that the first and the last member exchange halos, but the coefficient does
 * not wrap, and stencils read it past the end. */
static inline bool team_system_is_folded(const stn_team_plan *plan, int coefficient) {
    const team_system *system = plan->system;
    return plan->wraps && plan->members > 1 && system->coefficient_spreads[coefficient] &&
           system->task.system->coefficients[coefficient].side[system->axis][0].kind != STN_WRAP;
}
#endif
