/* Planes cut into tiles, each a torus of its own, against the host. */
#ifndef STN_TESTS_SPECTRAL_TILES_H
#define STN_TESTS_SPECTRAL_TILES_H
#include "../suite.h"

void tiles(suite *s);
#endif
