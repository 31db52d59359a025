/* Columns of 3D of which nothing but a source is left, against the host. */
#ifndef STN_TESTS_SPECTRAL_SETTLED_H
#define STN_TESTS_SPECTRAL_SETTLED_H
#include "../suite.h"

void settled(suite *s);
#endif
