/* Concurrent executions of one plan, one of them captured into a graph: its internal streams for
 * bands must not mix them up. */
#ifndef STN_TESTS_APERIODIC_STREAMS_H
#define STN_TESTS_APERIODIC_STREAMS_H
#include "../suite.h"

void streams(suite *s);
#endif
