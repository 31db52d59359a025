/* A part of test_whole: a source that is an eigenmode, up to a million steps. */
#ifndef STN_TESTS_SOURCED_MODES_H
#define STN_TESTS_SOURCED_MODES_H
#include "../suite.h"

void modes(suite *s);
#endif
