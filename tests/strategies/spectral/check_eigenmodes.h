/* Eigenmodes of `spectral`: the result is the symbol's power times the input, known for any number
 * of steps. */
#ifndef STN_TESTS_SPECTRAL_CHECK_EIGENMODES_H
#define STN_TESTS_SPECTRAL_CHECK_EIGENMODES_H
#include "../suite.h"

void modes(suite *s);
#endif
