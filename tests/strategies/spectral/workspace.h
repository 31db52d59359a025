/* How large the workspace of spectral plans is, in grids: a bound for each kind of problem. */
#ifndef STN_TESTS_SPECTRAL_WORKSPACE_H
#define STN_TESTS_SPECTRAL_WORKSPACE_H
#include "../suite.h"

void workspace(suite *s);
#endif
