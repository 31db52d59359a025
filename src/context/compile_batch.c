/* The kernels that a plan lacks, recorded and then compiled on several threads: compile_batch.h. */
#include "context/compile_batch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "context/compile_cost.h"
#include "context/context.h"

struct stn_compile_batch {
    stn_context *context;
    pthread_t thread;        /* the one that records it */
    stn_compile_batch *next; /* in the context's list */
    stn_missing_kernel missing[STN_COMPILE_BATCH_MAX];
    size_t count;
    const stn_compile_batch_calls *calls; /* set with the first kernel */
    atomic_bool cancel;                   /* a thread has cancelled it, or a kernel has failed */
    atomic_flag failure_taken;            /* by the first kernel that failed */
    stn_error failure;
};

/* ---- recording ------------------------------------------------------------------------------- */

stn_compile_batch *stn_compile_batch_begin(stn_context *context) {
    stn_compile_batch *batch = calloc(1, sizeof *batch);
    if (!batch) return NULL;
    batch->context = context;
    batch->thread = pthread_self();
    pthread_mutex_lock(&context->lock);
    batch->next = context->batches;
    context->batches = batch;
    pthread_mutex_unlock(&context->lock);
    return batch;
}

stn_compile_batch *stn_compile_batch_current(stn_context *context) {
    pthread_mutex_lock(&context->lock);
    stn_compile_batch *each = context->batches;
    while (each && !pthread_equal(each->thread, pthread_self())) each = each->next;
    pthread_mutex_unlock(&context->lock);
    return each;
}

bool stn_compile_batch_misses(stn_context *context) {
    const stn_compile_batch *current = stn_compile_batch_current(context);
    return current && current->count > 0;
}

size_t stn_compile_batch_end(stn_compile_batch *batch) {
    if (!batch) return 0;
    stn_context *context = batch->context;
    pthread_mutex_lock(&context->lock);
    stn_compile_batch **link = &context->batches;
    while (*link && *link != batch) link = &(*link)->next;
    if (*link) *link = batch->next;
    pthread_mutex_unlock(&context->lock);
    return batch->count;
}

size_t stn_compile_batch_count(const stn_compile_batch *batch) { return batch->count; }

void *stn_compile_batch_find(const stn_compile_batch *batch, const char *name, const char *params) {
    for (size_t i = 0; i < batch->count; i++)
        if (!strcmp(batch->missing[i].name, name) && !strcmp(batch->missing[i].params, params))
            return batch->missing[i].placeholder;
    return NULL;
}

bool stn_compile_batch_add(stn_compile_batch *batch, const stn_missing_kernel *kernel,
                           const stn_compile_batch_calls *calls) {
    if (batch->count == STN_COMPILE_BATCH_MAX) return false;
    batch->missing[batch->count++] = *kernel;
    batch->calls = calls;
    return true;
}

void stn_compile_batch_free(stn_compile_batch *batch) {
    if (!batch) return;
    for (size_t i = 0; i < batch->count; i++) batch->calls->free_placeholder(batch->missing[i].placeholder);
    free(batch);
}

/* ---- compiling ------------------------------------------------------------------------------- */

double stn_compile_batch_seconds(const stn_compile_batch *batch) {
    double seconds[STN_COMPILE_BATCH_MAX];
    for (size_t i = 0; i < batch->count; i++)
        seconds[i] = stn_compile_seconds(batch->missing[i].name, batch->missing[i].params);
    return stn_compile_makespan(seconds, batch->count, stn_compile_threads(batch->context));
}

/* Compiles one kernel; the first failure is kept and cancels the batch. */
static void compile_or_cancel(stn_compile_batch *batch, const stn_missing_kernel *kernel) {
    stn_error failure = {0};
    if (atomic_load(&batch->cancel) ||
        batch->calls->compile(batch->context, kernel->name, kernel->params, &batch->cancel, &failure) == STN_OK)
        return;
    if (!atomic_flag_test_and_set(&batch->failure_taken)) batch->failure = failure;
    atomic_store(&batch->cancel, true);
}

/* A kernel of a batch and its predicted compile time. */
typedef struct timed_kernel {
    stn_compile_batch *batch;
    const stn_missing_kernel *kernel;
    double seconds;
} timed_kernel;

static int longest_first(const void *a, const void *b) {
    const timed_kernel *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
    return (x->kernel > y->kernel) - (x->kernel < y->kernel);
}

static bool is_listed(const timed_kernel *list, size_t count, const stn_missing_kernel *kernel) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].kernel->name, kernel->name) && !strcmp(list[i].kernel->params, kernel->params)) return true;
    return false;
}

/* Kernels are only compiled here: the thread that prepares the plan loads them. */
static void compile_range(void *user, int64_t begin, int64_t end) {
    const timed_kernel *list = user;
    for (int64_t i = begin; i < end; i++) compile_or_cancel(list[i].batch, list[i].kernel);
}

/* NVRTC's front end serves one thread at a time, its later passes all threads in parallel, so the
 * kernel that takes longest is started first. Creates a pool of its own, since the caller may run
 * on the context's. */
void stn_compile_batches_run(stn_context *context, stn_compile_batch *const *batches, size_t count) {
    timed_kernel *list = calloc(count * STN_COMPILE_BATCH_MAX, sizeof *list);
    stn_pool *pool = NULL;
    size_t listed = 0;
    for (size_t b = 0; list && b < count; b++)
        for (size_t i = 0; batches[b] && i < batches[b]->count; i++) {
            const stn_missing_kernel *kernel = &batches[b]->missing[i];
            if (!is_listed(list, listed, kernel))
                list[listed++] = (timed_kernel){batches[b], kernel, stn_compile_seconds(kernel->name, kernel->params)};
        }
    if (listed) qsort(list, listed, sizeof *list, longest_first);
    const size_t threads = (size_t)stn_compile_threads(context), used = threads < listed ? threads : listed;
    if (used > 1 && stn_pool_create((int)used, &pool, NULL) == STN_OK)
        stn_pool_for(pool, (int64_t)listed, 1, compile_range, list);
    else
        compile_range(list, 0, (int64_t)listed);
    stn_pool_destroy(pool);
    free(list);
}

stn_status stn_compile_batch_try(stn_compile_batch *batch, stn_error *error) {
    stn_compile_batches_run(batch->context, &batch, 1);
    if (!atomic_load(&batch->cancel)) return STN_OK;
    return batch->failure.status ? stn_fail(error, batch->failure.status, "%s", batch->failure.message)
                                 : stn_fail(error, STN_ERROR_INTERNAL, "compiling was cancelled");
}

void stn_compile_batch_cancel(stn_compile_batch *batch) {
    if (batch) atomic_store(&batch->cancel, true);
}

bool stn_compile_batch_failed(const stn_compile_batch *batch, stn_error *error) {
    if (!atomic_load(&batch->cancel)) return false;
    (void)stn_fail(error, batch->failure.status, "%s", batch->failure.message);
    return true;
}

/* ---- in the background ----------------------------------------------------------------------- */

struct stn_background_compile {
    stn_compile_batch *batch;
    pthread_t thread;
    pid_t owner; /* a forked child has no such thread */
};

static void *compile_in_background(void *user) {
    const stn_background_compile *background = user;
    /* The thread that asks for a kernel that failed gets its error. */
    (void)stn_compile_batch_try(background->batch, NULL);
    return NULL;
}

stn_background_compile *stn_compile_batch_start(stn_compile_batch *batch) {
    stn_background_compile *background = calloc(1, sizeof *background);
    if (!background) return NULL;
    background->batch = batch, background->owner = getpid();
    if (!stn_thread_start(&background->thread, compile_in_background, background)) return background;
    free(background);
    return NULL;
}

stn_compile_batch *stn_background_compile_wait(stn_background_compile *background) {
    if (!background) return NULL;
    stn_compile_batch *batch = background->batch;
    if (background->owner == getpid()) pthread_join(background->thread, NULL);
    free(background);
    return batch;
}

void stn_background_compile_end(stn_background_compile *background) {
    if (!background) return;
    stn_compile_batch_cancel(background->batch);
    stn_compile_batch_free(stn_background_compile_wait(background));
}
