/* A pool of host threads. The iterations of a loop are claimed in pieces from one atomic counter; a
 * thread that wakes late finds none left.
 *
 * A worker that is idle for some seconds ends, and the next loop starts another, so that a process
 * whose own threads have all ended can end too; workers block all signals. A forked child has none
 * of its parent's threads, and any lock may be held by one of them: its first call reinitialises
 * the pool, and loops start new workers.
 *
 * Lock order: loop_lock, then lock; watch_lock is never held together with another. */
#include "host/pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/thread.h"

#define MAX_THREADS 4096
#define PIECES_PER_THREAD 8 /* so that a delayed thread does not delay the loop */
/* An idle worker ends after this time. Starting one takes about 30 microseconds. */
#define IDLE_SECONDS 2
/* A few microseconds: consecutive steps of a run are closer together than sleeping and waking
 * takes. */
#define SPINS 4000

typedef struct worker {
    stn_pool *pool;
    pthread_t thread;
    /* Guarded by `lock`. ENDED: it must be joined. */
    enum { WORKER_NONE, WORKER_RUNS, WORKER_ENDED } state;
} worker;

struct stn_pool {
    int threads;     /* including the caller */
    worker *workers; /* threads - 1 */
    /* The process id; negative while a thread of a forked child reinitialises the pool. */
    atomic_int owner;
    pthread_mutex_t loop_lock; /* held by the caller whose loop is running */
    pthread_mutex_t lock;      /* guards the members that follow */
    pthread_cond_t wake;       /* openings > 0, or quit */
    pthread_cond_t idle;       /* busy == 0 */
    atomic_int openings;       /* how many more workers may join the loop */
    atomic_int busy;           /* workers inside the loop */
    atomic_bool quit;

    /* The loop: its caller writes these members while no worker is in it. */
    void (*body)(void *user, int64_t begin, int64_t end);
    void *user;
    int64_t count, piece;
    atomic_int_fast64_t next; /* first unclaimed iteration */
    stn_watch *watch;         /* watch of the loop's caller; usually NULL */

    pthread_mutex_t watch_lock; /* guards the list of watches */
    stn_watch *watches;
    atomic_int watching; /* length of the list */
};

static void run_pieces(stn_pool *pool) {
    while (stn_watch_continues(pool->watch)) {
        int64_t begin = atomic_fetch_add(&pool->next, pool->piece);
        if (begin >= pool->count) return;
        pool->body(pool->user, begin, stn_min(begin + pool->piece, pool->count));
    }
}

static void cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Called with `lock` held. Returns false after IDLE_SECONDS without a loop, or to quit. */
static bool wait_for_loop(stn_pool *pool) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += IDLE_SECONDS;
    while (!pool->openings && !pool->quit)
        if (pthread_cond_timedwait(&pool->wake, &pool->lock, &until) == ETIMEDOUT) return pool->openings && !pool->quit;
    return !pool->quit;
}

static void *work(void *argument) {
    worker *own = argument;
    stn_pool *pool = own->pool;
    pthread_mutex_lock(&pool->lock);
    while (wait_for_loop(pool)) {
        pool->openings--;
        pool->busy++;
        pthread_mutex_unlock(&pool->lock);
        run_pieces(pool);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) pthread_cond_signal(&pool->idle);
        pthread_mutex_unlock(&pool->lock);
        for (int spin = 0; spin < SPINS && !pool->openings && !pool->quit; spin++) cpu_relax();
        pthread_mutex_lock(&pool->lock);
    }
    own->state = WORKER_ENDED;
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* The number of CPUs that this process may run on. The mask must be as wide as Linux's own, so
 * it grows until the call succeeds. */
int stn_pool_allowed(void) {
    int count = 0;
    for (size_t cpus = CPU_SETSIZE; cpus <= (1u << 20) && !count; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) break;
        if (!sched_getaffinity(0, CPU_ALLOC_SIZE(cpus), set)) count = CPU_COUNT_S(CPU_ALLOC_SIZE(cpus), set);
        CPU_FREE(set);
    }
    return count > 0 ? (int)stn_min(count, MAX_THREADS) : 1;
}

static void init_locks(stn_pool *pool) {
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&pool->loop_lock, NULL);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_mutex_init(&pool->watch_lock, NULL);
    pthread_cond_init(&pool->wake, &monotonic);
    pthread_cond_init(&pool->idle, NULL);
    pthread_condattr_destroy(&monotonic);
}

/* In a forked child, the first call reinitialises the pool. */
static void renew_after_fork(stn_pool *pool) {
    const int process = getpid();
    for (int owner = atomic_load(&pool->owner); owner != process; owner = atomic_load(&pool->owner)) {
        if (owner == -process) {
            sched_yield();
            continue;
        }
        if (!atomic_compare_exchange_strong(&pool->owner, &owner, -process)) continue;
        init_locks(pool);
        for (int i = 0; i < pool->threads - 1; i++) pool->workers[i].state = WORKER_NONE;
        pool->openings = pool->busy = pool->watching = 0;
        pool->watches = NULL;
        atomic_store(&pool->owner, process);
    }
}

/* Called with `lock` held. Makes the first `count` workers run; returns 0 or the error of a failed
 * start. */
static int start_workers(stn_pool *pool, int count) {
    for (int i = 0; i < count; i++) {
        worker *each = &pool->workers[i];
        /* An ended worker does not take the lock again, so joining it cannot block. */
        if (each->state == WORKER_ENDED) pthread_join(each->thread, NULL);
        if (each->state == WORKER_RUNS) continue;
        each->pool = pool, each->state = WORKER_NONE;
        const int failed = stn_thread_start(&each->thread, work, each);
        if (failed) return failed;
        each->state = WORKER_RUNS;
    }
    return 0;
}

stn_status stn_pool_create(int threads, stn_pool **pool, stn_error *error) {
    *pool = NULL;
    if (threads < 0 || threads > MAX_THREADS)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "threads is %d: use 1 to %d, or 0 for all that this process may use", threads, MAX_THREADS);
    stn_pool *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "the thread pool", sizeof *made);
    made->threads = threads ? threads : stn_pool_allowed();
    made->owner = getpid();
    init_locks(made);
    stn_status status = STN_OK;
    made->workers = calloc((size_t)made->threads, sizeof *made->workers);
    pthread_mutex_lock(&made->lock);
    if (!made->workers)
        status = stn_fail_memory(error, "the thread pool", (size_t)made->threads * sizeof *made->workers);
    else if (start_workers(made, made->threads - 1))
        status = stn_fail(error, STN_ERROR_OUT_OF_MEMORY,
                          "the system refused to start one of %d host threads: ask for fewer threads", made->threads);
    pthread_mutex_unlock(&made->lock);
    if (status != STN_OK) {
        stn_pool_destroy(made);
        return status;
    }
    *pool = made;
    return STN_OK;
}

void stn_pool_destroy(stn_pool *pool) {
    if (!pool) return;
    renew_after_fork(pool);
    pthread_mutex_lock(&pool->lock);
    pool->quit = true;
    pthread_cond_broadcast(&pool->wake);
    for (int i = 0; pool->workers && i < pool->threads - 1; i++) {
        if (pool->workers[i].state == WORKER_NONE) continue;
        pthread_mutex_unlock(&pool->lock);
        pthread_join(pool->workers[i].thread, NULL);
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->loop_lock);
    pthread_mutex_destroy(&pool->watch_lock);
    free(pool->workers);
    free(pool);
}

int stn_pool_threads(const stn_pool *pool) { return pool->threads; }

void stn_pool_watch(stn_pool *pool, stn_watch *watch) {
    renew_after_fork(pool);
    pthread_mutex_lock(&pool->watch_lock);
    watch->next = pool->watches;
    pool->watches = watch;
    pool->watching++;
    pthread_mutex_unlock(&pool->watch_lock);
}

void stn_pool_unwatch(stn_pool *pool, stn_watch *watch) {
    renew_after_fork(pool);
    pthread_mutex_lock(&pool->watch_lock);
    stn_watch **at = &pool->watches;
    while (*at && *at != watch) at = &(*at)->next;
    if (*at) { /* in a forked child, the parent's list was discarded */
        *at = watch->next;
        pool->watching--;
    }
    pthread_mutex_unlock(&pool->watch_lock);
}

stn_watch *stn_pool_watched(stn_pool *pool) {
    if (!pool) return NULL;
    renew_after_fork(pool);
    if (!atomic_load_explicit(&pool->watching, memory_order_relaxed)) return NULL;
    pthread_mutex_lock(&pool->watch_lock);
    stn_watch *watch = pool->watches;
    while (watch && !pthread_equal(watch->thread, pthread_self())) watch = watch->next;
    pthread_mutex_unlock(&pool->watch_lock);
    return watch;
}

/* Runs the loop on the calling thread, in pieces if it has a watch. */
static void run_alone(stn_watch *watch, int64_t count, int64_t piece,
                      void (*body)(void *user, int64_t begin, int64_t end), void *user) {
    if (!watch) piece = count;
    for (int64_t begin = 0; begin < count && stn_watch_continues(watch); begin += piece)
        body(user, begin, stn_min(begin + piece, count));
}

void stn_pool_for(stn_pool *pool, int64_t count, int64_t min_iterations,
                  void (*body)(void *user, int64_t begin, int64_t end), void *user) {
    if (count <= 0) return;
    if (!pool) {
        body(user, 0, count);
        return;
    }
    stn_watch *watch = stn_pool_watched(pool);
    int64_t piece = stn_max(stn_max(min_iterations, 1), stn_div_up(count, (int64_t)pool->threads * PIECES_PER_THREAD));
    int64_t pieces = stn_div_up(count, piece);
    if (pieces == 1 || pool->threads == 1) {
        run_alone(watch, count, piece, body, user);
        return;
    }
    pthread_mutex_lock(&pool->loop_lock);
    pthread_mutex_lock(&pool->lock);
    pool->body = body;
    pool->user = user;
    pool->count = count;
    pool->piece = piece;
    pool->watch = watch;
    pool->next = 0;
    pool->openings = (int)stn_min(pieces, pool->threads) - 1;
    (void)start_workers(pool, pool->openings); /* if a start fails, this thread does the work */
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);

    run_pieces(pool);

    /* All pieces are claimed: close the loop to further workers, and wait for those that are in
     * it. */
    for (int spin = 0; spin < SPINS && pool->busy; spin++) cpu_relax();
    pthread_mutex_lock(&pool->lock);
    pool->openings = 0;
    while (pool->busy) pthread_cond_wait(&pool->idle, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->loop_lock);
}
