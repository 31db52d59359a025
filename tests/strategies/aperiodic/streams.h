/* Executions of one plan beside each other, one of them captured into a graph: bands on streams of
 * their own must not mix them up. */
#ifndef STN_TESTS_APERIODIC_STREAMS_H
#define STN_TESTS_APERIODIC_STREAMS_H
#include "../suite.h"

void streams(suite *s);
#endif
