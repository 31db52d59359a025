/* What was gathered, compiled on several threads at once: plan/gather.h. */
#include "context/compile_cost.h"
#include "context/context.h"
#include "context/gather.h"
#include "context/kernel.h"

double stn_gather_seconds(const stn_gather *gather) {
    double all = 0, longest = 0;
    if (!gather) return 0;
    for (size_t i = 0; i < gather->count; i++) {
        double one = stn_compile_guess(gather->missing[i].name);
        all += one;
        if (one > longest) longest = one;
    }
    const double shared = all / stn_compile_threads(gather->context);
    return shared > longest ? shared : longest;
}

static void compile_some(void *user, int64_t begin, int64_t end) {
    const stn_gather *gather = user;
    stn_kernel *kernel;
    for (int64_t i = begin; i < end; i++)
        if (stn_kernel_get(gather->context, gather->missing[i].name, gather->missing[i].params, &kernel, NULL) ==
            STN_OK)
            kernel->fresh = true; /* the plan's asking for it is the one that missed */
}

/* Threads of its own: the context's pool may be the one that this is called from. */
void stn_gather_compile(stn_gather *gather) {
    stn_pool *pool = NULL;
    int threads = stn_compile_threads(gather->context);
    if (threads > (int)gather->count) threads = (int)gather->count;
    if (threads > 1 && stn_pool_create(threads, &pool, NULL) == STN_OK)
        stn_pool_for(pool, (int64_t)gather->count, 1, compile_some, gather);
    else
        compile_some(gather, 0, (int64_t)gather->count);
    stn_pool_destroy(pool);
}
