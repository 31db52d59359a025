/* Finds the cheapest of sparse's shapes. */
#ifndef STN_STRATEGIES_SPARSE_SPARSE_SEARCH_H
#define STN_STRATEGIES_SPARSE_SPARSE_SEARCH_H
#include "strategies/sparse/sparse_shape.h"

/* At most `most` shapes, cheapest first, of at most most_fused steps. */
size_t sparse_search(const stn_task *task, const stn_machine *machine, int most_fused, sparse_shape *best, size_t most);
/* The seconds of the cheapest shape if all were accurate enough, found in a small part of the time
 * of a search; infinite where there is no shape. */
double sparse_least_seconds(const stn_task *task, const stn_machine *machine);
/* Whether there is any shape. */
bool sparse_search_any(const stn_task *task, const stn_machine *machine);
#endif
