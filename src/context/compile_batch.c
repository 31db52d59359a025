/* The kernels that a plan lacks, recorded and then compiled on several threads: compile_batch.h. */
#include "context/compile_batch.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "context/context.h"

stn_compile_batch *stn_compile_batch_create(stn_context *context) {
    stn_compile_batch *batch = calloc(1, sizeof *batch);
    if (batch) batch->context = context;
    return batch;
}

void stn_compile_batch_free(stn_compile_batch *batch) {
    if (!batch) return;
    for (size_t i = 0; i < batch->count; i++) stn_kernel_free(batch->missing[i]);
    free(batch);
}

/* ---- predicted times ------------------------------------------------------------------------- */

/* Seconds per kernel in NVRTC's front end, which holds a lock of the whole process; its later
 * passes run in parallel. The value is fitted to the times of batches of five kernels. A kernel
 * that is compiled alone takes only 0.022 to 0.027 CPU seconds there (NVRTC 13.0). */
#define FRONT_SECONDS 0.045

/* A kernel of a batch. */
typedef struct timed_kernel {
    stn_compile_batch *batch;
    const stn_kernel *kernel;
    double seconds; /* predicted, of compiling it on one thread */
} timed_kernel;

static int longest_first(const void *a, const void *b) {
    const timed_kernel *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

double stn_compile_batch_seconds(const stn_compile_batch *batch) {
    timed_kernel list[STN_COMPILE_BATCH_MAX];
    double all = 0, last = 0;
    for (size_t i = 0; i < batch->count; i++)
        list[i].seconds = stn_compile_seconds(batch->missing[i]->name, batch->missing[i]->params);
    qsort(list, batch->count, sizeof *list, longest_first);
    for (size_t i = 0; i < batch->count; i++) {
        all += list[i].seconds;
        last = fmax(last, (double)i * FRONT_SECONDS + list[i].seconds);
    }
    return fmax(all / stn_compile_threads(batch->context), last);
}

/* ---- compiling ------------------------------------------------------------------------------- */

int stn_compile_threads(const stn_context *context) { return context->threads ? context->threads : stn_pool_allowed(); }

/* The first failure is kept and cancels the batch. */
static void fail(stn_compile_batch *batch, const stn_error *failure) {
    if (!atomic_flag_test_and_set(&batch->has_failed)) batch->failure = *failure;
    atomic_store(&batch->cancel, true);
}

static bool is_listed(const timed_kernel *list, size_t count, const stn_kernel *kernel) {
    for (size_t i = 0; i < count; i++)
        if (!strcmp(list[i].kernel->name, kernel->name) && !strcmp(list[i].kernel->params, kernel->params)) return true;
    return false;
}

/* Kernels are only compiled here: the thread that prepares the plan loads them. */
static void compile_range(void *user, int64_t begin, int64_t end) {
    const timed_kernel *list = user;
    for (int64_t i = begin; i < end; i++) {
        stn_compile_batch *batch = list[i].batch;
        stn_error failure = {0};
        if (!atomic_load(&batch->cancel) &&
            stn_kernel_compile(batch->context, list[i].kernel, &batch->cancel, &failure) != STN_OK)
            fail(batch, &failure);
    }
}

/* NVRTC's front end serves one thread at a time, its later passes all threads in parallel, so the
 * kernel that takes longest is started first. If several batches lack a kernel, the first one
 * compiles it; the others ask for it last, when it is compiled already. Creates a pool of its own,
 * since the caller may run on the context's. */
void stn_compile_batches_run(stn_context *context, stn_compile_batch *const *batches, size_t count) {
    timed_kernel *list = calloc(count * STN_COMPILE_BATCH_MAX, sizeof *list);
    stn_pool *pool = NULL;
    stn_error failure = {0};
    size_t listed = 0;
    if (!list) (void)stn_fail_memory(&failure, "a list of kernels", count * STN_COMPILE_BATCH_MAX * sizeof *list);
    for (size_t b = 0; b < count; b++) {
        if (!list && batches[b]) fail(batches[b], &failure);
        for (size_t i = 0; list && batches[b] && i < batches[b]->count; i++) {
            const stn_kernel *kernel = batches[b]->missing[i];
            const bool again = is_listed(list, listed, kernel);
            list[listed++] =
                (timed_kernel){batches[b], kernel, again ? 0 : stn_compile_seconds(kernel->name, kernel->params)};
        }
    }
    if (listed) qsort(list, listed, sizeof *list, longest_first);
    const size_t threads = (size_t)stn_compile_threads(context), used = threads < listed ? threads : listed;
    if (used > 1) (void)stn_pool_create((int)used, &pool, NULL);
    stn_pool_for(pool, (int64_t)listed, 1, compile_range, list);
    stn_pool_destroy(pool);
    free(list);
}

stn_status stn_compile_batch_result(const stn_compile_batch *batch, stn_error *error) {
    if (!atomic_load(&batch->cancel)) return STN_OK;
    return batch->failure.status ? stn_fail(error, batch->failure.status, "%s", batch->failure.message)
                                 : stn_fail(error, STN_ERROR_INTERNAL, "compiling was cancelled");
}

stn_status stn_compile_batch_try(stn_compile_batch *batch, stn_error *error) {
    stn_compile_batches_run(batch->context, &batch, 1);
    return stn_compile_batch_result(batch, error);
}

void stn_compile_batch_cancel(stn_compile_batch *batch) {
    if (batch) atomic_store(&batch->cancel, true);
}

/* ---- in the background ----------------------------------------------------------------------- */

struct stn_background_compile {
    pthread_t thread;
    pid_t owner; /* a forked child has no such thread */
    size_t count;
    stn_compile_batch *batches[];
};

static void *compile_in_background(void *user) {
    stn_background_compile *background = user;
    for (size_t i = 0; i < background->count; i++) {
        if (!background->batches[i]) continue;
        /* The error is not lost: the next thread that asks for the failed kernel gets it. */
        (void)stn_compile_batch_try(background->batches[i], NULL);
        atomic_store(&background->batches[i]->finished, true);
    }
    return NULL;
}

stn_background_compile *stn_background_compile_start(stn_compile_batch *const *batches, size_t count) {
    stn_background_compile *background = calloc(1, sizeof *background + count * sizeof *batches);
    if (!background) return NULL;
    background->owner = getpid();
    background->count = count;
    memcpy(background->batches, batches, count * sizeof *batches);
    if (!stn_thread_start(&background->thread, compile_in_background, background)) return background;
    free(background);
    return NULL;
}

void stn_background_compile_end(stn_background_compile *background, bool cancel) {
    if (!background) return;
    for (size_t i = 0; cancel && i < background->count; i++) stn_compile_batch_cancel(background->batches[i]);
    if (background->owner == getpid()) pthread_join(background->thread, NULL);
    free(background);
}
