/* Reaches that were searched for, and norms: see reach.h. */
#include <string.h>

#include "problem/stencil.h"
#include "strategies/common/found.h"

void stn_reach_learn(stn_found *found, const stn_reach_answer *answer) {
    stn_answers *kept = stn_found_lock(found);
    if (!kept) return;
    kept->reach[kept->reaches++ % STN_REACH_KEPT] = *answer;
    stn_found_unlock(found);
}

bool stn_reach_recall(stn_found *found, stn_reach_answer *asked) {
    bool known = false;
    const stn_answers *kept = stn_found_lock(found);
    if (!kept) return false;
    for (size_t i = 0; !known && i < STN_REACH_KEPT && i < kept->reaches; i++) {
        known = !memcmp(&kept->reach[i].key, &asked->key, sizeof asked->key);
        if (known) asked->reach = kept->reach[i].reach;
    }
    stn_found_unlock(found);
    return known;
}

/* The largest |symbol| of taps takes as long, and each axis and number of steps asks for it. */
double stn_reach_norm(stn_found *found, size_t ntaps, const stn_tap *taps) {
    stn_key_builder *builder;
    stn_key key;
    double norm = -1;
    if (!found || stn_key_begin(&builder, NULL) != STN_OK) return stn_taps_max_symbol(ntaps, taps);
    stn_key_add(builder, "taps", taps, ntaps * sizeof *taps);
    stn_key_finish(builder, &key);
    stn_answers *kept = stn_found_lock(found);
    if (!kept) return stn_taps_max_symbol(ntaps, taps);
    for (size_t i = 0; i < STN_NORMS_KEPT && i < kept->norms; i++)
        if (!memcmp(&kept->norm[i].key, &key, sizeof key)) norm = kept->norm[i].norm;
    stn_found_unlock(found);
    if (norm >= 0) return norm;
    norm = stn_taps_max_symbol(ntaps, taps);
    (void)stn_found_lock(found); /* answers exist: see above */
    kept->norm[kept->norms % STN_NORMS_KEPT].key = key;
    kept->norm[kept->norms++ % STN_NORMS_KEPT].norm = norm;
    stn_found_unlock(found);
    return norm;
}
