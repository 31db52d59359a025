/* Waves whose answer is known for any number of steps, past sides that transforms alone do not
 * serve. */
#ifndef STN_TESTS_APERIODIC_WAVES_H
#define STN_TESTS_APERIODIC_WAVES_H
#include "../suite.h"

/* To so many steps. */
void waves_until(suite *s, uint64_t steps);
#endif
