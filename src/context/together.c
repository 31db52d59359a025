/* What was gathered, compiled on several threads at once: plan/gather.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "context/compile_cost.h"
#include "context/context.h"
#include "context/gather.h"
#include "context/kernel.h"

double stn_gather_seconds(const stn_gather *gather, bool hurried) {
    double all = 0, longest = 0;
    stn_compiler *compiler;
    if (!gather) return 0;
    if (hurried &&
        (stn_context_compiler(gather->context, &compiler, NULL) != STN_OK || !stn_compiler_hurries(compiler)))
        return INFINITY;
    for (size_t i = 0; i < gather->count; i++) {
        double one = stn_compile_guess(gather->missing[i].name, gather->missing[i].params, hurried);
        all += one;
        if (one > longest) longest = one;
    }
    const double shared = all / stn_compile_threads(gather->context);
    return shared > longest ? shared : longest;
}

/* The first failure ends all. */
static void compile_apart(stn_gather *gather, const stn_wanted *wanted) {
    stn_error why = {0};
    if (atomic_load(&gather->cancel) ||
        stn_kernel_compile(gather->context, wanted->name, wanted->params, &gather->cancel, &why) == STN_OK)
        return;
    if (!atomic_flag_test_and_set(&gather->told)) gather->why = why;
    atomic_store(&gather->cancel, true);
}

static void compile_some(void *user, int64_t begin, int64_t end) {
    stn_gather *gather = user;
    stn_kernel *kernel;
    for (int64_t i = begin; i < end; i++)
        if (gather->apart)
            compile_apart(gather, &gather->missing[i]);
        else if (stn_kernel_get_hurried(gather->context, gather->missing[i].name, gather->missing[i].params,
                                        gather->hurried, &kernel, NULL) == STN_OK)
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

stn_status stn_gather_compile_apart(stn_gather *gather, stn_error *error) {
    gather->apart = true;
    stn_gather_compile(gather);
    if (!atomic_load(&gather->cancel)) return STN_OK;
    return gather->why.status ? stn_fail(error, gather->why.status, "%s", gather->why.message)
                              : stn_fail(error, STN_ERROR_INTERNAL, "compiling was cancelled");
}

void stn_gather_cancel(stn_gather *gather) {
    if (gather) atomic_store(&gather->cancel, true);
}

/* ---- of several plans -------------------------------------------------------------------------------------------- */

typedef struct share {
    stn_gather *gather;
    const stn_wanted *wanted;
} share;

static bool has_share(const share *all, size_t count, const stn_wanted *wanted) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(all[i].wanted->name, wanted->name) && !strcmp(all[i].wanted->params, wanted->params)) return true;
    return false;
}

static void compile_shares(void *user, int64_t begin, int64_t end) {
    const share *all = user;
    for (int64_t i = begin; i < end; i++) compile_apart(all[i].gather, all[i].wanted);
}

void stn_gathers_compile(stn_context *context, stn_gather *const *gathers, size_t count) {
    share *all = calloc(count * STN_GATHER_MOST, sizeof *all);
    stn_pool *pool = NULL;
    size_t shares = 0;
    for (size_t g = 0; all && g < count; g++)
        for (size_t i = 0; gathers[g] && i < gathers[g]->count; i++)
            if (!has_share(all, shares, &gathers[g]->missing[i]))
                all[shares++] = (share){gathers[g], &gathers[g]->missing[i]};
    const size_t threads = (size_t)stn_compile_threads(context);
    if (shares > 1 && stn_pool_create((int)(threads < shares ? threads : shares), &pool, NULL) == STN_OK)
        stn_pool_for(pool, (int64_t)shares, 1, compile_shares, all);
    else
        compile_shares(all, 0, (int64_t)shares);
    stn_pool_destroy(pool);
    free(all);
}

bool stn_gather_failed(const stn_gather *gather, stn_error *error) {
    if (!atomic_load(&gather->cancel)) return false;
    (void)stn_fail(error, gather->why.status, "%s", gather->why.message);
    return true;
}
