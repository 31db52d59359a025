/* See gather.h. */
#include "context/gather.h"

#include <stdlib.h>
#include <string.h>

#include "context/context.h"

stn_gather *stn_gather_begin(stn_context *context) {
    stn_gather *gather = calloc(1, sizeof *gather);
    if (!gather) return NULL;
    gather->context = context;
    gather->thread = pthread_self();
    pthread_mutex_lock(&context->lock);
    gather->next = context->gathering;
    context->gathering = gather;
    pthread_mutex_unlock(&context->lock);
    return gather;
}

stn_gather *stn_gather_here(stn_context *context) {
    pthread_mutex_lock(&context->lock);
    stn_gather *each = context->gathering;
    while (each && !pthread_equal(each->thread, pthread_self())) each = each->next;
    pthread_mutex_unlock(&context->lock);
    return each;
}

bool stn_gather_misses(stn_context *context) {
    const stn_gather *here = stn_gather_here(context);
    return here && here->count > 0;
}

size_t stn_gather_end(stn_gather *gather) {
    if (!gather) return 0;
    stn_context *context = gather->context;
    pthread_mutex_lock(&context->lock);
    stn_gather **link = &context->gathering;
    while (*link && *link != gather) link = &(*link)->next;
    if (*link) *link = gather->next;
    pthread_mutex_unlock(&context->lock);
    return gather->count;
}

void *stn_gather_find(const stn_gather *gather, const char *name, const char *params) {
    for (size_t i = 0; i < gather->count; i++)
        if (!strcmp(gather->missing[i].name, name) && !strcmp(gather->missing[i].params, params))
            return gather->missing[i].stands_in;
    return NULL;
}

bool stn_gather_add(stn_gather *gather, const stn_wanted *wanted, void (*free_stand_in)(void *stands_in)) {
    if (gather->count == STN_GATHER_MOST) return false;
    gather->missing[gather->count++] = *wanted;
    gather->free_stand_in = free_stand_in;
    return true;
}

void stn_gather_free(stn_gather *gather) {
    if (!gather) return;
    for (size_t i = 0; i < gather->count; i++) gather->free_stand_in(gather->missing[i].stands_in);
    free(gather);
}
