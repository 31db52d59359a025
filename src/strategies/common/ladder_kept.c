/* Ladders that were searched for: see ladder.h. */
#include <string.h>

#include "strategies/common/ladder.h"

enum { KEPT = 64 };

static _Thread_local struct {
    stn_ladder_answer list[KEPT];
    uint64_t asked[KEPT]; /* when, last; 0: nothing is kept here */
    uint64_t now;
} kept;

static bool same_needs(const stn_ladder_needs *a, const stn_ladder_needs *b) {
    return a->wide == b->wide && a->last == b->last && a->lines == b->lines && a->shares == b->shares &&
           a->fixed == b->fixed && a->copies == b->copies && a->common == b->common && a->threads == b->threads &&
           a->blocks == b->blocks && a->shared == b->shared && a->total == b->total && a->beside == b->beside;
}

/* Where it is, or else where there is room: what was asked for longest ago goes. */
static int place_of(int points, const stn_ladder_needs *needs, bool *found) {
    int oldest = 0;
    for (int i = 0; i < KEPT; i++) {
        const stn_ladder_answer *each = &kept.list[i];
        *found = kept.asked[i] && each->points == points && same_needs(&each->needs, needs);
        if (*found) return i;
        if (kept.asked[i] < kept.asked[oldest]) oldest = i;
    }
    return oldest;
}

void stn_ladder_make(int points, const stn_ladder_needs *needs, stn_ladder *line) {
    bool found;
    const int place = place_of(points, needs, &found);
    if (!found) {
        stn_ladder_search(points, needs, line);
        kept.list[place] = (stn_ladder_answer){points, *needs, *line};
    }
    *line = kept.list[place].line;
    kept.asked[place] = ++kept.now;
}

size_t stn_ladder_known(stn_ladder_answer list[STN_LADDERS_KNOWN]) {
    size_t count = 0;
    for (uint64_t before = UINT64_MAX, last = 0; count < STN_LADDERS_KNOWN; before = last, last = 0) {
        int newest = 0;
        for (int i = 0; i < KEPT; i++)
            if (kept.asked[i] < before && kept.asked[i] > last) last = kept.asked[newest = i];
        if (!last) break;
        list[count++] = kept.list[newest];
    }
    return count;
}

static bool is_sound(const stn_ladder_answer *answer) {
    const stn_ladder *line = &answer->line;
    int64_t points = 1;
    if (line->stages < 2 || line->stages > STN_LADDER_STAGES || line->points != answer->points) return false;
    for (int s = 0; s < line->stages; s++) {
        if (line->radix[s] < 1 || line->radix[s] > 16) return false;
        points *= line->radix[s];
    }
    if (points != answer->points || line->threads < 1 || line->lines < 1 || line->copies < 1 || line->shares < 1 ||
        line->blocks < 1 || (int64_t)line->threads * line->lines > 1024 || (line->pad & (line->pad - 1)) ||
        answer->points % line->shares)
        return false;
    return stn_ladder_shared(line, answer->needs.wide) + answer->needs.beside <= answer->needs.shared;
}

bool stn_ladder_learn(const stn_ladder_answer *answer) {
    bool found;
    const int place = place_of(answer->points, &answer->needs, &found);
    if (!is_sound(answer)) return false;
    kept.list[place] = *answer;
    kept.asked[place] = ++kept.now;
    return true;
}
