/* 2D grids in tiles, each transformed as a periodic domain, compared with the host. */
#ifndef STN_TESTS_SPECTRAL_CHECK_TILES_H
#define STN_TESTS_SPECTRAL_CHECK_TILES_H
#include "../suite.h"

void tiles(suite *s);
#endif
