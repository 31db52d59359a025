/* 1D lines too long for shared memory, by a four-step FFT, compared with the host. */
#ifndef STN_TESTS_SPECTRAL_CHECK_FOUR_STEP_H
#define STN_TESTS_SPECTRAL_CHECK_FOUR_STEP_H
#include "../suite.h"

void four_step(suite *s);
#endif
