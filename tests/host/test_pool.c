/* The thread pool: every iteration runs once, loops from many threads, no CPU time when idle,
 * forks. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../expect.h"
#include "host/pool.h"

#define ITEMS 5000

static stn_pool *make_pool(int threads) {
    stn_pool *pool;
    OK(stn_pool_create(threads, &pool, &error));
    return pool;
}

typedef struct tally {
    atomic_int items[ITEMS];
    int64_t min_iterations, count;
    atomic_int short_pieces;
} tally;

static void count_items(void *user, int64_t begin, int64_t end) {
    tally *t = user;
    if (end - begin < t->min_iterations && end != t->count) t->short_pieces++;
    for (int64_t i = begin; i < end; i++) t->items[i]++;
}

static void check_loop(stn_pool *pool, int64_t count, int64_t min_iterations) {
    static _Thread_local tally t;
    memset(&t, 0, sizeof t);
    t.min_iterations = min_iterations;
    t.count = count;
    stn_pool_for(pool, count, min_iterations, count_items, &t);
    for (int64_t i = 0; i < ITEMS; i++) cr_assert_eq(t.items[i], i < count, "item %d ran %d times", (int)i, t.items[i]);
    cr_assert_eq(t.short_pieces, 0);
}

Test(pool, each_item_once) {
    const int64_t counts[] = {0, 1, 2, 3, 7, 64, 999, ITEMS}, minima[] = {0, 1, 5, 1000, 100000};
    for (int threads = 1; threads <= 9; threads += 2) {
        stn_pool *pool = make_pool(threads);
        cr_expect_eq(stn_pool_threads(pool), threads);
        for (int c = 0; c < 8; c++)
            for (int g = 0; g < 5; g++)
                for (int repeat = 0; repeat < 5; repeat++) check_loop(pool, counts[c], minima[g]);
        stn_pool_destroy(pool);
    }
}

/* A loop ends after the last of its iterations, also if a worker is far slower than its caller. */
static void be_slow(void *user, int64_t begin, int64_t end) {
    const struct timespec pause = {.tv_nsec = 30000000};
    tally *t = user;
    if (begin % 2) nanosleep(&pause, NULL);
    for (int64_t i = begin; i < end; i++) t->items[i]++;
}

Test(pool, waits_for_slow_workers) {
    static tally t;
    stn_pool *pool = make_pool(4);
    for (int repeat = 0; repeat < 5; repeat++) {
        memset(&t, 0, sizeof t);
        stn_pool_for(pool, 8, 1, be_slow, &t);
        for (int i = 0; i < 8; i++) cr_assert_eq(t.items[i], 1, "iteration %d", i);
    }
    stn_pool_destroy(pool);
}

static void *many_loops(void *pool) {
    for (int i = 0; i < 100; i++) check_loop(pool, ITEMS, 10);
    return NULL;
}

Test(pool, loops_from_many_threads) {
    stn_pool *pool = make_pool(3);
    pthread_t callers[6];
    for (int i = 0; i < 6; i++) pthread_create(&callers[i], NULL, many_loops, pool);
    for (int i = 0; i < 6; i++) pthread_join(callers[i], NULL);
    stn_pool_destroy(pool);
}

typedef struct rendezvous {
    pthread_barrier_t barrier;
} rendezvous;

static void wait_for_others(void *user, int64_t begin, int64_t end) {
    (void)begin;
    (void)end;
    pthread_barrier_wait(&((rendezvous *)user)->barrier);
}

Test(pool, threads_run_together, .timeout = 20) { /* hangs unless two threads are inside at once */
    stn_pool *pool = make_pool(2);
    rendezvous m;
    pthread_barrier_init(&m.barrier, NULL, 2);
    for (int i = 0; i < 100; i++) stn_pool_for(pool, 2, 1, wait_for_others, &m);
    pthread_barrier_destroy(&m.barrier);
    stn_pool_destroy(pool);
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

Test(pool, sleeps_when_idle) {
    stn_pool *pool = make_pool(4);
    check_loop(pool, ITEMS, 1);
    double before = cpu_seconds();
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    cr_expect_lt(cpu_seconds() - before, 0.05);
    stn_pool_destroy(pool);
}

Test(pool, default_is_the_cpu_affinity) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    stn_pool *pool = make_pool(0);
    cr_expect_leq(stn_pool_threads(pool), (int)sysconf(_SC_NPROCESSORS_CONF));
    stn_pool_destroy(pool);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    pool = make_pool(0);
    cr_expect_eq(stn_pool_threads(pool), 1);
    stn_pool_destroy(pool);
}

Test(pool, refuses_invalid_thread_counts) {
    stn_pool *pool = (stn_pool *)&error;
    cr_expect_eq(stn_pool_create(-1, &pool, &error), STN_ERROR_INVALID_ARGUMENT);
    cr_expect_null(pool);
    cr_expect_not_null(strstr(error.message, "threads is -1"));
    cr_expect_eq(stn_pool_create(1 << 20, &pool, NULL), STN_ERROR_INVALID_ARGUMENT);
    stn_pool_destroy(NULL);
}

Test(pool, no_more_threads_is_an_error) {
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("AddressSanitizer itself needs the memory that this test takes away");
#endif
    struct rlimit limit, none; /* none: no address space for stacks */
    stn_pool *pool;
    getrlimit(RLIMIT_AS, &limit);
    none = limit;
    none.rlim_cur = 1;
    cr_assert_eq(setrlimit(RLIMIT_AS, &none), 0);
    stn_status status = stn_pool_create(4, &pool, &error);
    setrlimit(RLIMIT_AS, &limit);
    cr_expect_eq(status, STN_ERROR_OUT_OF_MEMORY);
    cr_expect_null(pool);
    cr_expect_not_null(strstr(error.message, "one of 4 host threads"), "%s", error.message);
}

static void await_all(void *user, int64_t begin, int64_t end) {
    atomic_int *waited_for = user;
    *waited_for -= (int)(end - begin);
    while (*waited_for) sched_yield();
}

/* A pool whose threads have all started: a sanitizer holds its own locks while a thread starts, and
 * a child forked at that moment would deadlock. Runs a loop of one iteration per thread, each
 * waiting for all. */
static stn_pool *make_running_pool(int threads) {
    stn_pool *pool = make_pool(threads);
    atomic_int waited_for = threads;
    stn_pool_for(pool, threads, 1, await_all, &waited_for);
    return pool;
}

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Each iteration waits for another one, which arrives if there are several threads. */
static void wait_for_another(void *user, int64_t begin, int64_t end) {
    atomic_int *there = user;
    (void)begin, (void)end;
    atomic_fetch_add(there, 1);
    for (int i = 0; i < 2000 && *there < 2; i++) usleep(1000);
}

static bool has_threads(stn_pool *pool) {
    atomic_int there = 0;
    const double begin = seconds_now();
    stn_pool_for(pool, 2, 1, wait_for_another, &there);
    return seconds_now() - begin < 1.5;
}

/* A forked child has the pool but none of its threads: it starts its own, and destroys the pool
 * without waiting for others. */
static void use_in_child(stn_pool *pool) {
    check_loop(pool, ITEMS, 10);
    if (!has_threads(pool)) _exit(3);
    stn_pool_destroy(pool);
    pool = make_pool(3);
    check_loop(pool, ITEMS, 10);
    stn_pool_destroy(pool);
    _exit(0);
}

static void expect_good_end(pid_t child) {
    int status = -1;
    for (int i = 0; i < 1000 && waitpid(child, &status, WNOHANG) == 0; i++) usleep(10000);
    if (status == -1) kill(child, SIGKILL);
    cr_assert_eq(status, 0, "the child hung or failed: %x", (unsigned)status);
}

Test(pool, survives_a_fork, .timeout = 20) {
    stn_pool *pool = make_running_pool(4);
    check_loop(pool, ITEMS, 10);
    usleep(20000); /* the workers now wait on their condition variable */
    pid_t child = fork();
    if (!child) use_in_child(pool);
    expect_good_end(child);
    check_loop(pool, ITEMS, 10);
    stn_pool_destroy(pool);
}

typedef struct forking {
    stn_pool *pool;
    pid_t child;
} forking;

static void fork_once(void *user, int64_t begin, int64_t end) {
    forking *f = user;
    (void)end;
    if (begin) return;
    f->child = fork();
    if (!f->child) use_in_child(f->pool);
}

/* A fork in the middle of a loop, while locks are held. */
Test(pool, survives_a_fork_within_a_loop, .timeout = 20) {
    forking f = {.pool = make_running_pool(4)};
    stn_pool_for(f.pool, 100, 1, fork_once, &f);
    expect_good_end(f.child);
    check_loop(f.pool, ITEMS, 10);
    stn_pool_destroy(f.pool);
}

/* ---- idle workers */

static int threads_of_this_process(void) {
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *each; tasks && (each = readdir(tasks));) count += each->d_name[0] != '.';
    if (tasks) closedir(tasks);
    return count;
}

Test(pool, idle_workers_end_and_restart, .timeout = 60) {
    stn_pool *pool = make_pool(4);
    check_loop(pool, ITEMS, 10);
    const int busy = threads_of_this_process();
    int idle = busy;
    for (int i = 0; i < 2000 && idle > busy - 3; i++) usleep(10000), idle = threads_of_this_process();
    cr_assert_eq(idle, busy - 3);
    cr_assert(has_threads(pool));
    check_loop(pool, ITEMS, 10);
    usleep(2500000); /* some have ended when the pool is destroyed */
    stn_pool_destroy(pool);
}

/* A process in which only workers are left, which block all signals, must end by itself. */
Test(pool, a_process_ends_after_its_main_thread, .timeout = 60) {
#ifdef __SANITIZE_ADDRESS__
    cr_skip_test("the stacks of threads that are gone hide what they still hold");
#endif
    pid_t child = fork();
    if (!child) {
        stn_pool *pool = make_pool(3);
        check_loop(pool, ITEMS, 10);
        pthread_exit(NULL);
    }
    expect_good_end(child);
}
