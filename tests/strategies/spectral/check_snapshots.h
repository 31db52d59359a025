/* Part of test_spectral: stacks of snapshots, all from one forward transform, compared with the
 * host's runs of as many steps. */
#ifndef STN_TESTS_SPECTRAL_CHECK_SNAPSHOTS_H
#define STN_TESTS_SPECTRAL_CHECK_SNAPSHOTS_H
#include "../suite.h"

void snapshots(suite *s);
#endif
