/* What was gathered, compiled on several threads at once: plan/gather.h. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "context/compile_cost.h"
#include "context/context.h"
#include "context/gather.h"
#include "context/kernel.h"

double stn_gather_seconds(const stn_gather *gather) {
    double seconds[STN_GATHER_MOST];
    for (size_t i = 0; i < gather->count; i++)
        seconds[i] = stn_compile_guess(gather->missing[i].name, gather->missing[i].params);
    return stn_compile_together(seconds, gather->count, stn_compile_threads(gather->context));
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

/* A kernel of a list, and what compiling it is guessed to take. */
typedef struct gathered {
    const stn_wanted *wanted;
    double seconds;
} gathered;

static int longest_first(const void *a, const void *b) {
    const gathered *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
    return (x->wanted > y->wanted) - (x->wanted < y->wanted);
}

/* NVRTC's front end serves one thread at a time, and what comes after it all of them: so the
 * longest is begun first. */
static void sort_longest(const stn_gather *gather, gathered *list) {
    for (size_t i = 0; i < gather->count; i++) {
        const stn_wanted *wanted = &gather->missing[i];
        list[i] = (gathered){wanted, stn_compile_guess(wanted->name, wanted->params)};
    }
    qsort(list, gather->count, sizeof *list, longest_first);
}

typedef struct turn {
    stn_gather *gather;
    gathered list[STN_GATHER_MOST];
} turn;

/* They are loaded when the plan asks for them, by its own thread. */
static void compile_some(void *user, int64_t begin, int64_t end) {
    const turn *t = user;
    const stn_gather *gather = t->gather;
    for (int64_t i = begin; i < end; i++) {
        const stn_wanted *wanted = t->list[i].wanted;
        if (gather->apart)
            compile_apart(t->gather, wanted);
        else
            (void)stn_kernel_compile(gather->context, wanted->name, wanted->params, NULL, NULL);
    }
}

/* Threads of its own: the context's pool may be the one that this is called from. */
void stn_gather_compile(stn_gather *gather) {
    stn_pool *pool = NULL;
    turn t = {.gather = gather};
    sort_longest(gather, t.list);
    int threads = stn_compile_threads(gather->context);
    if (threads > (int)gather->count) threads = (int)gather->count;
    if (threads > 1 && stn_pool_create(threads, &pool, NULL) == STN_OK)
        stn_pool_for(pool, (int64_t)gather->count, 1, compile_some, &t);
    else
        compile_some(&t, 0, (int64_t)gather->count);
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

/* ---- beside what the caller does
 * ------------------------------------------------------------------------------------ */

struct stn_ahead {
    stn_gather *gather;
    pthread_t thread;
    pid_t owner;
};

static void *compile_ahead(void *user) {
    const stn_ahead *ahead = user;
    (void)stn_gather_compile_apart(ahead->gather, NULL); /* whoever needs one that failed is told why */
    return NULL;
}

stn_ahead *stn_gather_compile_ahead(stn_gather *gather) {
    stn_ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead) return NULL;
    ahead->gather = gather, ahead->owner = getpid();
    if (!stn_thread_start(&ahead->thread, compile_ahead, ahead)) return ahead;
    free(ahead);
    return NULL;
}

static stn_gather *join(stn_ahead *ahead) {
    stn_gather *gather = ahead->gather;
    if (ahead->owner == getpid()) pthread_join(ahead->thread, NULL);
    atomic_store(&gather->cancel, false);
    gather->apart = false;
    free(ahead);
    return gather;
}

void stn_ahead_wait(stn_ahead *ahead) {
    if (ahead) stn_gather_free(join(ahead));
}

void stn_ahead_stop(stn_ahead *ahead) {
    stn_gather_cancel(ahead->gather);
    (void)join(ahead);
}

void stn_ahead_end(stn_ahead *ahead) {
    if (!ahead) return;
    stn_gather_cancel(ahead->gather);
    stn_gather_free(join(ahead));
}

/* ---- of several plans
 * -------------------------------------------------------------------------------------------- */

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
