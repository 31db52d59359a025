/* What a plan missed when it chose, and whether that is stored by now: plan/gather.h. */
#include <string.h>

#include "context/context.h"
#include "context/gather.h"
#include "context/kernel.h"

stn_missing stn_gather_first(const stn_gather *gather) {
    stn_missing first = {.any = false};
    if (gather && gather->count)
        first.any = stn_kernel_keys(gather->context, gather->missing[0].name, gather->missing[0].params, first.source,
                                    first.key);
    return first;
}

bool stn_missing_stored(stn_context *context, const stn_missing *missing) {
    stn_key source, key;
    memcpy(source.bytes, missing->source, sizeof source.bytes);
    memcpy(key.bytes, missing->key, sizeof key.bytes);
    return missing->any && stn_cache_has(context->cache, &source, &key);
}
