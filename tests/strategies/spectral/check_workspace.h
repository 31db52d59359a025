/* The workspace of spectral plans in units of a grid: an upper bound for each kind of problem. */
#ifndef STN_TESTS_SPECTRAL_CHECK_WORKSPACE_H
#define STN_TESTS_SPECTRAL_CHECK_WORKSPACE_H
#include "../suite.h"

void workspace(suite *s);
#endif
