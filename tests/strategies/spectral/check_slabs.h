/* spectral with slabs: 3D grids with lines along y longer than the grid, some frequencies along x
 * at a time. */
#ifndef STN_TESTS_SPECTRAL_CHECK_SLABS_H
#define STN_TESTS_SPECTRAL_CHECK_SLABS_H
#include "../suite.h"
void slabs(suite *s);
#endif
