/* Concurrency: processes and threads on one cold cache compile each kernel once; if they are killed
 * at any moment, nothing damaged is left and no stored entry is lost. The compiler is a fake that
 * counts. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "helpers.h"

enum { PROCESSES = 16, THREADS = 16, KEYS = 4, CUBIN = 3000 };

/* ---- find, lock, find, compile, store, as the context does ----------------------------------- */

typedef struct process {
    stn_cache *cache;
    const char *counters; /* a folder with one file per key, one byte per compile */
    pthread_barrier_t start;
    unsigned rounds;
    atomic_uint wrong;
} process;

static void compile_counted(const char *counters, unsigned number) {
    char path[256];
    snprintf(path, sizeof path, "%s/%u", counters, number);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (write(fd, "x", 1) != 1) abort();
    close(fd);
    usleep(15000);
}

static void make_entry(const process *in, unsigned number, stn_entry *entry) {
    const stn_key key = key_of_number(number);
    if (stn_cache_find(in->cache, &key, entry)) return;
    const int lock = stn_cache_lock_key(in->cache, &key);
    if (!stn_cache_find(in->cache, &key, entry)) {
        compile_counted(in->counters, number);
        *entry = entry_of_number(number, CUBIN);
        stn_cache_store(in->cache, &key, entry);
    }
    stn_folder_close(lock);
}

static void *thread_main(void *user) {
    process *in = user;
    pthread_barrier_wait(&in->start);
    for (unsigned i = 0; i < KEYS; i++) {
        stn_entry entry = {0};
        make_entry(in, i, &entry);
        if (!entry_is_of_number(&entry, i) || entry.cubin_size != CUBIN) atomic_fetch_add(&in->wrong, 1);
        stn_entry_clear(&entry);
    }
    return NULL;
}

/* One process with all its threads; the exit code is 0 if all results were right. */
static int process_main(const char *folder, const char *counters, int go) {
    process in = {.counters = counters};
    char byte;
    /* The other end is closed for all processes at once. */
    if (read(go, &byte, 1) != 0) return 100;
    stn_cache_options options = {.dir = folder};
    if (stn_cache_open(&options, &in.cache, NULL) != STN_OK) return 101;
    pthread_barrier_init(&in.start, NULL, THREADS);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, thread_main, &in)) return 103;
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    stn_cache_close(in.cache);
    return in.wrong ? 1 : 0;
}

/* Starts all processes together and waits; `meanwhile` runs repeatedly in the parent until they
 * end. */
static void crowd(const char *folder, const char *counters, void (*meanwhile)(const char *folder)) {
    int go[2];
    pid_t pids[PROCESSES];
    cr_assert_eq(pipe(go), 0);
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        cr_assert(pids[i] >= 0);
        if (!pids[i]) {
            close(go[1]);
            _exit(process_main(folder, counters, go[0]));
        }
    }
    close(go[1]);
    for (int running = PROCESSES; running;) {
        int status;
        pid_t gone = waitpid(-1, &status, meanwhile ? WNOHANG : 0);
        if (gone > 0) {
            cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a process ended with %x", (unsigned)status);
            running--;
        } else
            meanwhile(folder);
    }
    close(go[0]);
}

static size_t compiles(const char *counters, unsigned number) {
    char name[16];
    snprintf(name, sizeof name, "%u", number);
    char *path = path_in(counters, name);
    struct stat status;
    size_t count = stat(path, &status) ? 0 : (size_t)status.st_size;
    free(path);
    return count;
}

static char *counters;
static void begin(void) {
    counters = in_dir("compiles");
    cr_assert_eq(mkdir(counters, 0700), 0);
}
static void start(void) {
    open_folder();
    begin();
}
TestSuite(crowd, .init = start, .fini = close_folder);

Test(crowd, sixteen_processes_of_sixteen_threads_compile_once, .timeout = 60) {
    crowd(in_dir("cache"), counters, NULL);
    for (unsigned i = 0; i < KEYS; i++)
        cr_assert_eq(compiles(counters, i), 1, "kernel %u: %zu times", i, compiles(counters, i));
    crowd(in_dir("cache"), counters, NULL); /* warm: no compile at all */
    for (unsigned i = 0; i < KEYS; i++) cr_assert_eq(compiles(counters, i), 1);
}

static void delete_it(const char *folder) {
    char *away;
    cr_assert(asprintf(&away, "%s-%lx", folder, (long)clock()) > 0);
    if (!rename(folder, away)) usleep(3000); /* The renamed folder is removed with its parent. */
    free(away);
}

Test(crowd, results_are_right_if_the_folder_is_deleted, .timeout = 60) {
    crowd(in_dir("cache"), counters, delete_it);
    for (unsigned i = 0; i < KEYS; i++) cr_assert(compiles(counters, i) >= 1);
}

static void close_it(const char *folder) {
    (void)!chmod(folder, 0500);
    usleep(5000);
    (void)!chmod(folder, 0700);
    usleep(2000);
}

Test(crowd, results_are_right_if_the_folder_becomes_read_only, .timeout = 60) {
    as_nobody();
    begin();
    crowd(in_dir("cache"), counters, close_it);
    chmod(in_dir("cache"), 0700);
}

Test(crowd, results_are_right_on_a_full_file_system, .timeout = 60) {
    char *small = in_dir("small"), *there = in_dir("small/cache");
    cr_assert_eq(mkdir(small, 0700), 0);
    /* Room for two of four kernels. */
    if (!mount_small(small, "size=8k")) cr_skip("mounting is not allowed here");
    size_t compiled = 0;
    crowd(there, counters, NULL);
    for (unsigned i = 0; i < KEYS; i++) compiled += compiles(counters, i);
    cr_assert(compiled > KEYS, "%zu compiles: nothing was ever short of room", compiled);
    cache = open_cache(there, NULL);
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_verify(cache, &counts, NULL), STN_OK);
    cr_assert_eq(counts.damaged, 0);
    close_cache();
    cr_assert_eq(umount(small), 0);
}

/* ---- the lock -------------------------------------------------------------------------------- */

Test(crowd, lock_waits_are_bounded_and_released_on_death) {
    stn_cache_options options = {.dir = dir, .lock_wait_ms = 150};
    cr_assert_eq(stn_cache_open(&options, &cache, NULL), STN_OK);
    stn_key key = key_of_number(1), other = key_of_number(2);
    int ready[2];
    cr_assert_eq(pipe(ready), 0);
    pid_t holder = fork();
    if (!holder) {
        if (stn_cache_lock_key(cache, &key) < 0 || write(ready[1], "x", 1) != 1) _exit(1);
        pause();
    }
    char byte;
    cr_assert_eq(read(ready[0], &byte, 1), 1);
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC, &before);
    cr_assert_eq(-1, stn_cache_lock_key(cache, &key));
    clock_gettime(CLOCK_MONOTONIC, &after);
    double waited = (double)(after.tv_sec - before.tv_sec) + (double)(after.tv_nsec - before.tv_nsec) * 1e-9;
    cr_assert(waited >= 0.149 && waited < 5, "waited %g s", waited);
    int lock = stn_cache_lock_key(cache, &other);
    cr_assert_geq(lock, 0, "other keys are free");
    stn_folder_close(lock);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    lock = stn_cache_lock_key(cache, &key);
    cr_assert_geq(lock, 0);
    cr_assert_eq(-1, stn_cache_lock_key(cache, &key), "threads exclude each other too");
    stn_folder_close(lock);
    stn_folder_close(-1);
}

/* ---- SIGKILL --------------------------------------------------------------------------------- */

enum { KILL_KEYS = 40 };

/* Stores entry after entry, reporting each, until it is killed. */
static void store_until_killed(int told, unsigned seed) {
    stn_cache_options options = {.dir = dir};
    if (stn_cache_open(&options, &cache, NULL) != STN_OK) _exit(1);
    for (unsigned i = seed;; i++) {
        unsigned number = i % KILL_KEYS;
        stn_key key = key_of_number(number);
        stn_entry entry = entry_of_number(number, 100 + (i * 7919) % 60000);
        int lock = stn_cache_lock_key(cache, &key);
        stn_cache_store(cache, &key, &entry);
        stn_folder_close(lock);
        unsigned char byte = (unsigned char)number;
        if (write(told, &byte, 1) != 1) _exit(2);
        stn_entry_clear(&entry);
    }
}

Test(crowd, killing_leaves_no_damage_and_loses_nothing, .timeout = 600) {
    const char *many = getenv("STENTOR_TEST_KILLS");
    unsigned kills = many ? (unsigned)atoi(many) : 100, stored_in_all = 0;
    bool stored[KILL_KEYS] = {false};
    unsigned random = 12345;
    for (unsigned i = 0; i < kills; i++) {
        int told[2];
        cr_assert_eq(pipe(told), 0);
        pid_t child = fork();
        if (!child) store_until_killed(told[1], i * 3);
        close(told[1]);
        unsigned char byte;
        random = random * 1664525u + 1013904223u;
        /* On a busy machine a child may not store anything in time: every tenth is waited for. */
        if (i % 10 == 9 && read(told[0], &byte, 1) == 1) stored[byte] = true, stored_in_all++;
        usleep(random % 8000);
        kill(child, SIGKILL);
        int status;
        waitpid(child, &status, 0);
        cr_assert(WIFSIGNALED(status), "the child ended by itself: %x", (unsigned)status);
        while (read(told[0], &byte, 1) == 1) stored[byte] = true, stored_in_all++;
        close(told[0]);
        cache = open_cache(dir, &heard);
        for (unsigned k = 0; k < KILL_KEYS; k++) { /* find_number fails the test on a wrong entry */
            bool found = find_number(cache, k);
            cr_assert(found || !stored[k], "kill %u: entry %u is lost", i, k);
        }
        stn_cache_stats stats;
        stn_cache_stats_get(cache, &stats);
        cr_assert_eq(stats.rejected, 0, "kill %u left a bad entry", i);
        close_cache();
    }
    cr_assert(stored_in_all > 0);
    cr_assert_eq(heard.warnings, 0, "%s", heard.last);
}
