/* Cache of shared-memory FFTs, see ladder.h. */
#include <string.h>

#include "strategies/common/found.h"

static bool same_needs(const stn_ladder_needs *a, const stn_ladder_needs *b) {
    return a->wide == b->wide && a->last == b->last && a->lines == b->lines && a->shares == b->shares &&
           a->fixed == b->fixed && a->copies == b->copies && a->common == b->common && a->threads == b->threads &&
           a->blocks == b->blocks && a->shared == b->shared && a->total == b->total && a->beside == b->beside;
}

/* The index of the entry, or of the least recently used one. */
static int place_of(const stn_found *kept, int points, const stn_ladder_needs *needs, bool *found) {
    int oldest = 0;
    for (int i = 0; i < STN_LADDERS_KEPT; i++) {
        const stn_ladder_answer *each = &kept->ladder[i];
        *found = kept->asked[i] && each->points == points && same_needs(&each->needs, needs);
        if (*found) return i;
        if (kept->asked[i] < kept->asked[oldest]) oldest = i;
    }
    return oldest;
}

static void keep(stn_found *kept, const stn_ladder_answer *answer) {
    bool found;
    pthread_mutex_lock(&kept->lock);
    const int place = place_of(kept, answer->points, &answer->needs, &found);
    kept->ladder[place] = *answer;
    kept->asked[place] = ++kept->now;
    pthread_mutex_unlock(&kept->lock);
}

void stn_ladder_make(stn_found *kept, int points, const stn_ladder_needs *needs, stn_ladder *line) {
    bool found = false;
    if (kept) {
        pthread_mutex_lock(&kept->lock);
        const int place = place_of(kept, points, needs, &found);
        if (found) *line = kept->ladder[place].line, kept->asked[place] = ++kept->now;
        pthread_mutex_unlock(&kept->lock);
    }
    if (found) return;
    stn_ladder_search(points, needs, line);
    if (kept) keep(kept, &(stn_ladder_answer){points, *needs, *line});
}
