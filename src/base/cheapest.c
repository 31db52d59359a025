/* See cheapest.h: insertion into a short sorted list. */
#include "base/cheapest.h"

#include <string.h>

void *stn_cheapest_insert(void *list, double *costs, size_t size, size_t *count, size_t capacity, double cost) {
    size_t slot = *count;
    while (slot > 0 && costs[slot - 1] > cost) slot--;
    if (slot >= capacity) return NULL;
    size_t tail = *count < capacity ? *count : capacity - 1;
    char *at = (char *)list + slot * size;
    memmove(at + size, at, (tail - slot) * size);
    memmove(costs + slot + 1, costs + slot, (tail - slot) * sizeof *costs);
    costs[slot] = cost;
    *count = tail + 1;
    return at;
}
