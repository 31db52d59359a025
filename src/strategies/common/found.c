/* See found.h. */
#include "strategies/common/found.h"

#include <stdlib.h>

stn_answers *stn_found_lock(stn_found *found) {
    if (!found) return NULL;
    pthread_mutex_lock(&found->lock);
    if (!found->answers) found->answers = calloc(1, sizeof(stn_answers));
    if (!found->answers) pthread_mutex_unlock(&found->lock);
    return found->answers;
}

void stn_found_unlock(stn_found *found) { pthread_mutex_unlock(&found->lock); }
