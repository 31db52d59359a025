/* 1D lines too long for shared memory, by a four-step FFT, compared with the host. */
#ifndef STN_TESTS_SPECTRAL_SHEETS_H
#define STN_TESTS_SPECTRAL_SHEETS_H
#include "../suite.h"

void sheets(suite *s);
#endif
