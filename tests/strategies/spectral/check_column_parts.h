/* One step of many taps by columns in parts, compared with the host. */
#ifndef STN_TESTS_SPECTRAL_CHECK_COLUMN_PARTS_H
#define STN_TESTS_SPECTRAL_CHECK_COLUMN_PARTS_H
#include "../suite.h"

void in_parts(suite *s);
#endif
