/* Lists of the few cheapest of many things, cheapest first. */
#ifndef STN_BASE_BEST_H
#define STN_BASE_BEST_H
#include <stddef.h>

/* Makes room for a thing of `cost` in a list of *count of them, `size` bytes each, with their costs
 * beside it; what would be more than `most` falls out. Returns where it goes, behind those that
 * cost as much; NULL if `most` cost no more. */
void *stn_best_insert(void *list, double *costs, size_t size, size_t *count, size_t most, double cost);
#endif
