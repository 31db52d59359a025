/* Lines too long to be held together, 1D, against the host. */
#ifndef STN_TESTS_SPECTRAL_SHEETS_H
#define STN_TESTS_SPECTRAL_SHEETS_H
#include "../suite.h"

void sheets(suite *s);
#endif
