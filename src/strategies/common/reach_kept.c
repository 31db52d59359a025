/* Cache of reaches and norms, see reach.h. */
#include <string.h>

#include "problem/stencil.h"
#include "strategies/common/found.h"

void stn_reach_learn(stn_found *found, const stn_reach_answer *answer) {
    if (!found) return;
    pthread_mutex_lock(&found->lock);
    found->reach[found->reaches++ % STN_REACH_KEPT] = *answer;
    pthread_mutex_unlock(&found->lock);
}

bool stn_reach_recall(stn_found *found, stn_reach_answer *asked) {
    bool known = false;
    pthread_mutex_lock(&found->lock);
    for (size_t i = 0; !known && i < STN_REACH_KEPT && i < found->reaches; i++) {
        known = !memcmp(&found->reach[i].key, &asked->key, sizeof asked->key);
        if (known) asked->reach = found->reach[i].reach;
    }
    pthread_mutex_unlock(&found->lock);
    return known;
}

/* The largest |symbol| of taps takes as long as a reach, and every axis and number of steps needs
 * it. */
double stn_reach_norm(stn_found *found, size_t ntaps, const stn_tap *taps) {
    stn_key_builder *builder;
    stn_key key;
    double norm = -1;
    if (!found || stn_key_begin(&builder, NULL) != STN_OK) return stn_taps_max_symbol(ntaps, taps);
    stn_key_add(builder, "taps", taps, ntaps * sizeof *taps);
    stn_key_finish(builder, &key);
    pthread_mutex_lock(&found->lock);
    for (size_t i = 0; i < STN_NORMS_KEPT && i < found->norms; i++)
        if (!memcmp(&found->norm[i].key, &key, sizeof key)) norm = found->norm[i].norm;
    pthread_mutex_unlock(&found->lock);
    if (norm >= 0) return norm;
    norm = stn_taps_max_symbol(ntaps, taps);
    pthread_mutex_lock(&found->lock);
    found->norm[found->norms % STN_NORMS_KEPT].key = key;
    found->norm[found->norms++ % STN_NORMS_KEPT].norm = norm;
    pthread_mutex_unlock(&found->lock);
    return norm;
}
