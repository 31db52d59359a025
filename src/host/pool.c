/* A pool of host threads: a loop's pieces are claimed from one counter; a thread that wakes late simply finds none. */
#include "host/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/thread.h"

#define MOST_THREADS 4096
#define PIECES_PER_THREAD 8 /* so that a thread that was held up does not hold up the loop */
#define SPINS 4000          /* some microseconds: the steps of a run follow each other closer than a sleep and a wake */

struct stn_pool {
    int threads;          /* the caller's included */
    int started;          /* workers[0 .. started) exist */
    pthread_t *workers;   /* threads - 1 */
    pid_t owner;          /* the process they run in: a forked child has the pool but none of its threads */
    pthread_mutex_t turn; /* held by the one caller whose loop runs */
    pthread_mutex_t lock; /* guards what follows */
    pthread_cond_t wake;  /* openings > 0, or quit */
    pthread_cond_t idle;  /* busy == 0 */
    atomic_int openings;  /* how many more workers may join the loop */
    atomic_int busy;      /* workers inside the loop */
    atomic_bool quit;

    /* the loop: written by its caller while no worker is inside */
    void (*body)(void *user, int64_t begin, int64_t end);
    void *user;
    int64_t count, piece;
    atomic_int_fast64_t next; /* first item that nobody has claimed */
    stn_watch *watch;         /* of the loop's caller; NULL mostly */

    pthread_mutex_t watch_lock; /* guards the list of all that watch */
    stn_watch *watches;
    atomic_int watching; /* how many do */
};

static void run_pieces(stn_pool *pool) {
    while (stn_watch_goes_on(pool->watch)) {
        int64_t begin = atomic_fetch_add(&pool->next, pool->piece);
        if (begin >= pool->count) return;
        pool->body(pool->user, begin, stn_min(begin + pool->piece, pool->count));
    }
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void *work(void *argument) {
    stn_pool *pool = argument;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->openings && !pool->quit) pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->quit) break;
        pool->openings--;
        pool->busy++;
        pthread_mutex_unlock(&pool->lock);
        run_pieces(pool);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0) pthread_cond_signal(&pool->idle);
        pthread_mutex_unlock(&pool->lock);
        for (int spin = 0; spin < SPINS && !pool->openings && !pool->quit; spin++) relax();
        pthread_mutex_lock(&pool->lock);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* How many CPUs this process may run on. The mask must be as wide as the kernel's, so it grows until the call fits. */
int stn_pool_allowed(void) {
    int count = 0;
    for (size_t cpus = CPU_SETSIZE; cpus <= (1u << 20) && !count; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set) break;
        if (!sched_getaffinity(0, CPU_ALLOC_SIZE(cpus), set)) count = CPU_COUNT_S(CPU_ALLOC_SIZE(cpus), set);
        CPU_FREE(set);
    }
    return count > 0 ? (int)stn_min(count, MOST_THREADS) : 1;
}

static stn_status start_workers(stn_pool *pool, stn_error *error) {
    int failed = 0;
    while (pool->started < pool->threads - 1 && !failed) {
        failed = stn_thread_start(&pool->workers[pool->started], work, pool);
        if (!failed) pool->started++;
    }
    if (!failed) return STN_OK;
    return stn_fail(error, STN_ERROR_OUT_OF_MEMORY,
                    "the system refused to start host thread %d of %d: ask for fewer threads", pool->started + 2,
                    pool->threads);
}

stn_status stn_pool_create(int threads, stn_pool **pool, stn_error *error) {
    *pool = NULL;
    if (threads < 0 || threads > MOST_THREADS)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "threads is %d: use 1 to %d, or 0 for all that this process may use", threads, MOST_THREADS);
    stn_pool *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "the thread pool", sizeof *made);
    made->threads = threads ? threads : stn_pool_allowed();
    made->owner = getpid();
    pthread_mutex_init(&made->turn, NULL);
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->watch_lock, NULL);
    pthread_cond_init(&made->wake, NULL);
    pthread_cond_init(&made->idle, NULL);

    stn_status status = STN_OK;
    size_t bytes = (size_t)made->threads * sizeof *made->workers;
    made->workers = malloc(bytes);
    status = made->workers ? start_workers(made, error) : stn_fail_memory(error, "the thread pool", bytes);
    if (status != STN_OK) {
        stn_pool_destroy(made);
        return status;
    }
    *pool = made;
    return STN_OK;
}

/* Ends the workers, and what they wait on. */
static void end_workers(stn_pool *pool) {
    pthread_mutex_lock(&pool->lock);
    pool->quit = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->started; i++) pthread_join(pool->workers[i], NULL);
    pthread_cond_destroy(&pool->idle);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    pthread_mutex_destroy(&pool->turn);
    pthread_mutex_destroy(&pool->watch_lock);
}

/* In a forked child there is nobody to join, and the copies of locks and conditions still count the threads that waited
 * on them: to lock or to destroy one may wait for ever. They hold no resources of their own, so they are left. */
void stn_pool_destroy(stn_pool *pool) {
    if (!pool) return;
    if (pool->owner == getpid()) end_workers(pool);
    free(pool->workers);
    free(pool);
}

int stn_pool_threads(const stn_pool *pool) { return pool->threads; }

void stn_pool_watch(stn_pool *pool, stn_watch *watch) {
    pthread_mutex_lock(&pool->watch_lock);
    watch->next = pool->watches;
    pool->watches = watch;
    pool->watching++;
    pthread_mutex_unlock(&pool->watch_lock);
}

void stn_pool_unwatch(stn_pool *pool, stn_watch *watch) {
    pthread_mutex_lock(&pool->watch_lock);
    stn_watch **at = &pool->watches;
    while (*at != watch) at = &(*at)->next;
    *at = watch->next;
    pool->watching--;
    pthread_mutex_unlock(&pool->watch_lock);
}

stn_watch *stn_pool_watched(stn_pool *pool) {
    if (!atomic_load_explicit(&pool->watching, memory_order_relaxed)) return NULL;
    pthread_mutex_lock(&pool->watch_lock);
    stn_watch *watch = pool->watches;
    while (watch && !pthread_equal(watch->thread, pthread_self())) watch = watch->next;
    pthread_mutex_unlock(&pool->watch_lock);
    return watch;
}

/* On the calling thread alone, piece by piece where it is watched. */
static void run_alone(stn_watch *watch, int64_t count, int64_t piece,
                      void (*body)(void *user, int64_t begin, int64_t end), void *user) {
    if (!watch) piece = count;
    for (int64_t begin = 0; begin < count && stn_watch_goes_on(watch); begin += piece)
        body(user, begin, stn_min(begin + piece, count));
}

void stn_pool_for(stn_pool *pool, int64_t count, int64_t grain, void (*body)(void *user, int64_t begin, int64_t end),
                  void *user) {
    if (count <= 0) return;
    stn_watch *watch = stn_pool_watched(pool);
    int64_t piece = stn_max(stn_max(grain, 1), stn_div_up(count, (int64_t)pool->threads * PIECES_PER_THREAD));
    int64_t pieces = stn_div_up(count, piece);
    if (pieces == 1 || pool->threads == 1 || pool->owner != getpid()) {
        run_alone(watch, count, piece, body, user);
        return;
    }
    pthread_mutex_lock(&pool->turn);
    pthread_mutex_lock(&pool->lock);
    pool->body = body;
    pool->user = user;
    pool->count = count;
    pool->piece = piece;
    pool->watch = watch;
    pool->next = 0;
    pool->openings = (int)stn_min(pieces, pool->threads) - 1;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);

    run_pieces(pool);

    /* All pieces are claimed: whoever has not joined yet need not, and only those inside are waited for. */
    for (int spin = 0; spin < SPINS && pool->busy; spin++) relax();
    pthread_mutex_lock(&pool->lock);
    pool->openings = 0;
    while (pool->busy) pthread_cond_wait(&pool->idle, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
    pthread_mutex_unlock(&pool->turn);
}
