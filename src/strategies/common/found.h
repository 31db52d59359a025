/* Answers of searches that take milliseconds and are asked for again and again: by one plan's
 * strategies, candidates and tables, and by the next plan. They belong to a context, and any of its
 * threads may ask. */
#ifndef STN_STRATEGIES_COMMON_FOUND_H
#define STN_STRATEGIES_COMMON_FOUND_H
#include "context/search_cache.h"
#include "strategies/common/ladder.h"
#include "strategies/common/reach.h"

enum { STN_LADDERS_KEPT = 64, STN_NORMS_KEPT = 4 };

typedef struct stn_answers {
    stn_reach_answer reach[STN_REACH_KEPT]; /* the oldest makes room */
    size_t reaches;
    struct {
        stn_key key;
        double norm;
    } norm[STN_NORMS_KEPT]; /* likewise */
    size_t norms;
    stn_ladder_answer ladder[STN_LADDERS_KEPT];
    uint64_t asked[STN_LADDERS_KEPT], now; /* when, last; 0: nothing is kept there */
} stn_answers;

/* Locks the search cache (context/search_cache.h) and returns its answers. NULL, and not locked:
 * there is no cache, or no memory for them. No search is made under the lock. */
stn_answers *stn_found_lock(stn_found *found);
void stn_found_unlock(stn_found *found);
#endif
