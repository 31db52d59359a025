/* The search cache: results of strategies' searches that take milliseconds and are asked for again
 * by other candidates and plans. It belongs to a context; what is stored in it is defined by the
 * strategies (strategies/common/found.h). */
#ifndef STN_CONTEXT_SEARCH_CACHE_H
#define STN_CONTEXT_SEARCH_CACHE_H
#include <pthread.h>

#include "launch/machine.h"

struct stn_found {
    pthread_mutex_t lock; /* guards both pointers and what they point to */
    void *answers;        /* NULL until a strategy stores a result; freed with free() */
    void *sheets;         /* likewise */
};

/* NULL when out of memory: then searches are made anew each time. */
stn_found *stn_found_create(void);
void stn_found_destroy(stn_found *found); /* NULL is fine */
#endif
