/* See best.h: insertion into a short sorted list. */
#include "base/best.h"

#include <string.h>

void *stn_best_insert(void *list, double *costs, size_t size, size_t *count, size_t most, double cost) {
    size_t place = *count;
    while (place > 0 && costs[place - 1] > cost) place--;
    if (place >= most) return NULL;
    size_t kept = *count < most ? *count : most - 1;
    char *at = (char *)list + place * size;
    memmove(at + size, at, (kept - place) * size);
    memmove(costs + place + 1, costs + place, (kept - place) * sizeof *costs);
    costs[place] = cost;
    *count = kept + 1;
    return at;
}
