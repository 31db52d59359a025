/* Parts of test_host_spectral that need no definition, or more of the library than one run. */
#ifndef STN_TESTS_HOST_SPECTRAL_KNOWN_H
#define STN_TESTS_HOST_SPECTRAL_KNOWN_H
#include "../suite.h"

/* Waves that steps only make smaller, by the power of a known factor; to 10^6 steps. */
void eigenmodes(suite *s);
/* What describe says of growth and of the error. */
void growth_is_told(suite *s);
/* New weights of one plan, and those that it must refuse. */
void new_weights(suite *s);
/* Stacks, all from one transform, against the host's. */
void snapshots(suite *s);
/* What the planner takes by itself. */
void choice(suite *s);
#endif
