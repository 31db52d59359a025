/* Waves with analytic results for any number of steps, with sides that have no symmetric
 * extension. */
#ifndef STN_TESTS_APERIODIC_WAVES_H
#define STN_TESTS_APERIODIC_WAVES_H
#include "../suite.h"

/* Runs of up to so many steps. */
void waves_until(suite *s, uint64_t steps);
#endif
