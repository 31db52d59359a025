/* The folder's wisdom is never overwritten if it cannot be read, concurrent writers lose nothing,
 * and a lock is on the file that others find. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"
#include "cache/wisdom.h"
#include "helpers.h"

static stn_folder folder;
static char *path;

static void name_folder(void) {
    path = in_dir("wisdom");
    folder = (stn_folder){.path = dir, .logger = &heard.logger};
}
static void start(void) {
    open_folder();
    name_folder();
}
TestSuite(wisdom_file, .init = start, .fini = close_folder);

static stn_status join_it(void *user, stn_wisdom *before, stn_text *after, stn_error *why) {
    return stn_wisdom_join(before, user, after, NULL, why);
}

static stn_status add(unsigned number) {
    stn_wisdom wisdom = wisdom_of_number(number, "candidate: direct 0.5 1 2\n");
    const stn_status status = stn_wisdom_update(&folder, join_it, &wisdom, &error);
    stn_wisdom_clear(&wisdom);
    return status;
}

static size_t count_entries(void) {
    stn_wisdom wisdom;
    struct stat seen;
    OK(stn_wisdom_read(&folder, &wisdom, &seen, &error));
    const size_t count = wisdom.count;
    stn_wisdom_clear(&wisdom);
    return count;
}

Test(wisdom_file, round_trips) {
    cr_expect_eq(count_entries(), 0u);
    OK(add(1));
    OK(add(2));
    OK(add(1));
    cr_expect_eq(count_entries(), 2u);
    cr_expect_eq(count_files(dir, ".tmp-"), 0u);
    OK(stn_wisdom_remove(&folder, &error));
    OK(stn_wisdom_remove(&folder, &error));
    cr_expect_eq(count_entries(), 0u);
    cr_expect_eq(heard.warnings, 0u, "%s", heard.last);
}

Test(wisdom_file, is_read_again_only_if_it_changed) {
    stn_wisdom wisdom = {0};
    struct stat seen = {0};
    OK(stn_wisdom_refresh(&folder, &wisdom, &seen, &error));
    cr_expect_eq(wisdom.count, 0u);
    for (unsigned i = 1; i < 4; i++) {
        OK(add(i));
        OK(stn_wisdom_refresh(&folder, &wisdom, &seen, &error));
        cr_expect_eq(wisdom.count, i);
        const char *text = wisdom.text;
        OK(stn_wisdom_refresh(&folder, &wisdom, &seen, &error));
        cr_expect_eq(wisdom.text, text);
    }
    OK(stn_wisdom_remove(&folder, &error));
    OK(stn_wisdom_refresh(&folder, &wisdom, &seen, &error));
    cr_expect_eq(wisdom.count, 0u);
    stn_wisdom_clear(&wisdom);
}

/* Even if a text of the same size is written into the same file in the same second. */
Test(wisdom_file, is_read_again_if_it_changed_in_place) {
    stn_wisdom wisdom = {0}, other = wisdom_of_number(2, "candidate: direct 2 1\n");
    struct stat seen = {0}, now;
    for (int attempt = 0; attempt < 5; attempt++) {
        stn_wisdom one = wisdom_of_number(1, "candidate: direct 1 1\n");
        const size_t size = strlen(one.text);
        cr_assert_eq(strlen(other.text), size);
        write_file(path, one.text, size);
        stn_wisdom_clear(&one);
        OK(stn_wisdom_refresh(&folder, &wisdom, &seen, &error));
        cr_assert_eq(wisdom.count, 1u);
        usleep(20000); /* longer than the resolution of file times */
        const int fd = open(path, O_WRONLY | O_CLOEXEC);
        cr_assert(fd >= 0 && write(fd, other.text, size) == (ssize_t)size && !fstat(fd, &now) && !close(fd));
        cr_assert_eq(now.st_ino, seen.st_ino);
        const bool same_second = now.st_ctim.tv_sec == seen.st_ctim.tv_sec;
        OK(stn_wisdom_refresh(&folder, &wisdom, &seen, &error));
        cr_expect_not_null(strstr(wisdom.text, "direct 2 1"), "the old text is used");
        if (same_second) break;
    }
    stn_wisdom_clear(&wisdom), stn_wisdom_clear(&other);
}

static void expect_kept(const void *before, size_t size) {
    size_t now;
    unsigned char *bytes = read_file(path, &now);
    cr_assert_not_null(bytes);
    cr_expect(now == size && !memcmp(bytes, before, size));
    free(bytes);
}

/* An unreadable file is neither empty nor damaged. */
Test(wisdom_file, unreadable_is_never_overwritten) {
    stn_wisdom wisdom;
    struct stat seen;
    size_t size;
    as_nobody();
    name_folder();
    OK(add(1));
    unsigned char *before = read_file(path, &size);
    cr_assert_eq(chmod(path, 0), 0);
    FAILS(stn_wisdom_read(&folder, &wisdom, &seen, &error), STN_ERROR_IO, "Permission denied");
    cr_expect_eq(add(2), STN_ERROR_IO);
    cr_expect_not_null(strstr(error.message, "Permission denied"), "%s", error.message);
    cr_assert_eq(chmod(path, 0600), 0);
    expect_kept(before, size);
    cr_assert_eq(chmod(dir, 0), 0);
    cr_expect_eq(stn_wisdom_read(&folder, &wisdom, &seen, &error), STN_ERROR_IO,
                 "nor is a folder that cannot be opened empty");
    cr_expect_eq(add(2), STN_ERROR_IO);
    cr_assert_eq(chmod(dir, 0500), 0);
    OK(stn_wisdom_read(&folder, &wisdom, &seen, &error));
    stn_wisdom_clear(&wisdom);
    cr_expect_eq(add(2), STN_ERROR_IO, "a folder that cannot be written is told");
    cr_expect_not_null(strstr(error.message, "cannot be written"), "%s", error.message);
    cr_assert_eq(chmod(dir, 0700), 0);
    expect_kept(before, size);
    free(before);
}

Test(wisdom_file, is_kept_without_file_handles) {
    OK(add(1));
    size_t size;
    unsigned char *before = read_file(path, &size);
    struct rlimit limit;
    int taken[128], count = 0, failed = 0;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 128;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (count < 128 && (taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) count++;
    cr_assert(count > 20 && count < 128);
    for (int spare = 0; spare < 5; spare++) {
        /* Nothing new: the file stays the same if this succeeds. */
        const stn_status status = add(1);
        failed += status == STN_ERROR_IO;
        cr_expect(status == STN_OK || status == STN_ERROR_IO, "%s", error.message);
        if (count) close(taken[--count]);
    }
    while (count) close(taken[--count]);
    cr_expect_gt(failed, 1);
    expect_kept(before, size);
    free(before);
}

Test(wisdom_file, damaged_is_set_aside) {
    char *aside = in_dir("wisdom.damaged");
    OK(add(1));
    size_t size, kept;
    unsigned char *bytes = read_file(path, &size);
    bytes[40] ^= 1;
    write_file(path, bytes, size);
    stn_wisdom wisdom;
    struct stat seen;
    cr_expect_eq(stn_wisdom_read(&folder, &wisdom, &seen, &error), STN_ERROR_FORMAT);
    expect_kept(bytes, size);
    OK(add(2));
    cr_expect_eq(heard.warnings, 1u);
    cr_expect_not_null(strstr(heard.last, aside), "%s", heard.last);
    cr_expect_eq(count_entries(), 1u);
    unsigned char *old = read_file(aside, &kept);
    cr_expect(old && kept == size && !memcmp(old, bytes, size));
    free(bytes), free(old);
}

/* A symlink, a folder, a FIFO (which must not block), a file that others may write. */
Test(wisdom_file, writable_by_others_is_not_used) {
    char *elsewhere = in_dir("elsewhere");
    stn_wisdom wisdom;
    struct stat seen;
    alarm(20);
    OK(add(1));
    for (int which = 0; which < 4; which++) {
        cr_assert_eq(rename(path, elsewhere), 0);
        if (which == 0) cr_assert_eq(symlink(elsewhere, path), 0);
        if (which == 1) cr_assert_eq(mkdir(path, 0700), 0);
        if (which == 2) cr_assert_eq(mkfifo(path, 0600), 0);
        if (which == 3) cr_assert(!rename(elsewhere, path) && !chmod(path, 0622));
        cr_expect_eq(stn_wisdom_read(&folder, &wisdom, &seen, &error), STN_ERROR_FORMAT, "%d", which);
        OK(add(2));
        cr_expect_eq(count_entries(), 1u);
        remove(path);
        cr_expect_eq(remove(in_dir("wisdom.damaged")), 0, "%d", which);
        OK(add(1));
    }
    alarm(0);
}

Test(wisdom_file, concurrent_writers_lose_nothing) {
    enum { PROCESSES = 8, EACH = 10 };
    pid_t running[PROCESSES];
    for (unsigned p = 0; p < PROCESSES; p++) {
        running[p] = fork();
        cr_assert_geq(running[p], 0);
        if (running[p]) continue;
        int failed = 0;
        for (unsigned i = 0; i < EACH; i++) failed += add(p * EACH + i) != STN_OK;
        _exit(failed);
    }
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        cr_assert_eq(waitpid(running[p], &status, 0), running[p]);
        cr_expect(WIFEXITED(status) && !WEXITSTATUS(status));
    }
    cr_expect_eq(count_entries(), (size_t)PROCESSES * EACH);
}

/* ---- the lock -------------------------------------------------------------------------------- */

static atomic_bool held;
static void *wait_for_lock(void *user) {
    const stn_key key = key_of_number(1);
    const int lock = stn_folder_lock(&folder, 20000, &key);
    atomic_store(&held, true);
    stn_folder_close(lock);
    return lock < 0 ? NULL : user;
}

/* A waiter for the lock of a file that was deleted or moved meanwhile must get the new file's
 * lock. */
Test(wisdom_file, a_lock_on_a_replaced_file_does_not_count) {
    const stn_key key = key_of_number(1);
    for (int moved = 0; moved < 2; moved++) {
        pthread_t waiter;
        void *got;
        atomic_store(&held, false);
        const int old = stn_folder_lock(&folder, 1000, &key);
        cr_assert_geq(old, 0);
        cr_assert_eq(pthread_create(&waiter, NULL, wait_for_lock, &held), 0);
        usleep(50000);
        char *file = in_dir(STN_LOCK_NAME);
        cr_assert_eq(moved ? rename(file, in_dir("away")) : remove(file), 0);
        const int current = stn_folder_lock(&folder, 1000, &key);
        cr_assert_geq(current, 0);
        stn_folder_close(old);
        usleep(100000);
        cr_expect(!atomic_load(&held), "two hold it at once");
        stn_folder_close(current);
        cr_assert_eq(pthread_join(waiter, &got), 0);
        cr_expect_not_null(got);
    }
}
