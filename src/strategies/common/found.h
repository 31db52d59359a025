/* Cache of the results of searches that take milliseconds and are repeated by a plan's strategies,
 * candidates and tables, and by later plans. It belongs to a context and is thread-safe. */
#ifndef STN_STRATEGIES_COMMON_FOUND_H
#define STN_STRATEGIES_COMMON_FOUND_H
#include <pthread.h>

#include "plan/machine.h"
#include "strategies/common/ladder.h"
#include "strategies/common/reach.h"

enum { STN_LADDERS_KEPT = 64, STN_NORMS_KEPT = 4 };

struct stn_found {
    pthread_mutex_t lock;                   /* guards everything; never held during a search */
    stn_reach_answer reach[STN_REACH_KEPT]; /* first in, first out */
    size_t reaches;
    struct {
        stn_key key;
        double norm;
    } norm[STN_NORMS_KEPT]; /* first in, first out */
    size_t norms;
    stn_ladder_answer ladder[STN_LADDERS_KEPT];
    uint64_t asked[STN_LADDERS_KEPT], now; /* time of last use, for LRU replacement; 0: empty */
    /* Cache of the four-step FFT (spectral/sheet.c), freed with free(). */
    void *sheets;
};
#endif
