/* All steps of a stencil at once by the transforms of a grid that is divided over a team, for
 * periodic sides: forward, times the power of the symbol, inverse. */
#ifndef STN_TEAM_TEAM_SPECTRAL_H
#define STN_TEAM_TEAM_SPECTRAL_H
#include "team/team_fft.h"

typedef struct team_spectral team_spectral;

/* Whether this way can compute the problem: its sides, types and accuracy, and options.strategy. */
bool team_spectral_serves(const stn_team *team, const stn_problem *problem, const stn_plan_options *options);
/* With options.estimate_only the result can only predict. */
stn_status team_spectral_make(stn_team_plan *plan, const stn_problem *problem, const stn_plan_options *options,
                              team_spectral **spectral, stn_error *error);
/* NULL has no effect. */
void team_spectral_destroy(const stn_team_plan *plan, team_spectral *spectral);
int team_spectral_members(const team_spectral *spectral);
double team_spectral_seconds(const team_spectral *spectral);
stn_status team_spectral_set_weights(const stn_team_plan *plan, size_t count, const double *weights, stn_error *error);
/* Computes all steps: reads each member's grid[plan->at] and writes its other grid. */
stn_status team_spectral_run(const stn_team_plan *plan, stn_error *error);
#endif
