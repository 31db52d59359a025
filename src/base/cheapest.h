/* A bounded list of the cheapest items, sorted by cost. */
#ifndef STN_BASE_CHEAPEST_H
#define STN_BASE_CHEAPEST_H
#include <stddef.h>

/* Inserts an item of `cost` into a list of *count items of `size` bytes each, sorted by costs[].
 * The list keeps at most `capacity` items and drops the dearest one when it is full. Returns the
 * slot that the caller fills, behind the items of equal cost; NULL if `capacity` items cost no
 * more. */
void *stn_cheapest_insert(void *list, double *costs, size_t size, size_t *count, size_t capacity, double cost);
#endif
