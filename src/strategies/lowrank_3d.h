/* lowrank in 3D: the functions of its strategy for tasks of rank 3. */
#ifndef STN_STRATEGIES_LOWRANK_3D_H
#define STN_STRATEGIES_LOWRANK_3D_H
#include "plan/plan.h"

bool lowrank_3d_any(const stn_task *task, const stn_machine *machine); /* is there any candidate? */
size_t lowrank_3d_candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most);
void lowrank_3d_estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                         stn_estimate *estimate);
stn_status lowrank_3d_prepare(stn_plan *plan, stn_error *error);
stn_status lowrank_3d_execute(stn_plan *plan, const void *in, void *out, void *workspace, void *stream,
                              stn_error *error);
stn_status lowrank_3d_set_weights(stn_plan *plan, stn_error *error);
void lowrank_3d_describe(const stn_plan *plan, stn_format format, stn_text *text);
void lowrank_3d_release(stn_plan *plan);
void lowrank_3d_name(const stn_task *task, const stn_candidate *candidate, stn_text *text);
uint64_t lowrank_3d_shorten(const stn_task *task, const stn_candidate *candidate, uint64_t most, stn_candidate *trial);
#endif
