/* Decayed modes: columns of 3D grids with a source only, compared with the host. */
#ifndef STN_TESTS_SPECTRAL_SETTLED_H
#define STN_TESTS_SPECTRAL_SETTLED_H
#include "../suite.h"

void settled(suite *s);
#endif
