/* The life of the search cache: search_cache.h. */
#include "context/search_cache.h"

#include <stdlib.h>

stn_found *stn_found_create(void) {
    stn_found *found = calloc(1, sizeof *found);
    if (found) pthread_mutex_init(&found->lock, NULL);
    return found;
}

void stn_found_destroy(stn_found *found) {
    if (!found) return;
    pthread_mutex_destroy(&found->lock);
    free(found->answers);
    free(found->sheets);
    free(found);
}
