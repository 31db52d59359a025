/* Parts of test_host_spectral that need no reference run, or more than one run. */
#ifndef STN_TESTS_HOST_SPECTRAL_CHECK_ANALYTIC_H
#define STN_TESTS_HOST_SPECTRAL_CHECK_ANALYTIC_H
#include "../suite.h"

/* The growth and the error in the description. */
void growth_is_told(suite *s);
/* Stacks of snapshots, all from one transform, compared with the host's. */
void snapshots(suite *s);
/* Weights that the strategy can take and others, one after the other. */
void new_weights(suite *s);
/* The planner's own choice. */
void choice(suite *s);
#endif
