/* Parts of test_spectral that have files of their own. */
#ifndef STN_TESTS_SPECTRAL_CHECKS_H
#define STN_TESTS_SPECTRAL_CHECKS_H
#include "../suite.h"

/* One step of many taps by columns in parts, compared with the host. */
void in_parts(suite *s);
/* The workspace in units of a grid: an upper bound for each kind of problem. */
void workspace(suite *s);
#endif
