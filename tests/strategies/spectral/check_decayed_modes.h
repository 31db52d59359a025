/* Decayed modes: columns of 3D grids with a source only, compared with the host. */
#ifndef STN_TESTS_SPECTRAL_CHECK_DECAYED_MODES_H
#define STN_TESTS_SPECTRAL_CHECK_DECAYED_MODES_H
#include "../suite.h"

void decayed_modes(suite *s);
#endif
