/* spectral in slabs: solids whose lines along y are longer than the grid, some frequencies along x
 * at a time. */
#ifndef STN_TESTS_SLABS_H
#define STN_TESTS_SLABS_H
#include "../suite.h"
void slabs(suite *s);
#endif
