/* Ladders that were searched for: see ladder.h. */
#include <string.h>

#include "strategies/common/found.h"

static bool same_needs(const stn_ladder_needs *a, const stn_ladder_needs *b) {
    return a->wide == b->wide && a->last == b->last && a->lines == b->lines && a->shares == b->shares &&
           a->fixed == b->fixed && a->copies == b->copies && a->common == b->common && a->threads == b->threads &&
           a->blocks == b->blocks && a->shared == b->shared && a->total == b->total && a->beside == b->beside;
}

/* Where it is, or else where there is room: what was asked for longest ago goes. */
static int place_of(const stn_answers *kept, int points, const stn_ladder_needs *needs, bool *found) {
    int oldest = 0;
    for (int i = 0; i < STN_LADDERS_KEPT; i++) {
        const stn_ladder_answer *each = &kept->ladder[i];
        *found = kept->asked[i] && each->points == points && same_needs(&each->needs, needs);
        if (*found) return i;
        if (kept->asked[i] < kept->asked[oldest]) oldest = i;
    }
    return oldest;
}

static void keep(stn_found *cache, const stn_ladder_answer *answer) {
    bool found;
    stn_answers *kept = stn_found_lock(cache);
    if (!kept) return;
    const int place = place_of(kept, answer->points, &answer->needs, &found);
    kept->ladder[place] = *answer;
    kept->asked[place] = ++kept->now;
    stn_found_unlock(cache);
}

void stn_ladder_make(stn_found *cache, int points, const stn_ladder_needs *needs, stn_ladder *line) {
    bool found = false;
    stn_answers *kept = stn_found_lock(cache);
    if (kept) {
        const int place = place_of(kept, points, needs, &found);
        if (found) *line = kept->ladder[place].line, kept->asked[place] = ++kept->now;
        stn_found_unlock(cache);
    }
    if (found) return;
    stn_ladder_search(points, needs, line);
    if (kept) keep(cache, &(stn_ladder_answer){points, *needs, *line});
}
