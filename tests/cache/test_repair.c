/* Only proven damage is removed: entries that cannot be read now (no memory, no file handles, no
 * permission) are left, and so is a file that has replaced a damaged one. Linked so that the
 * cache's allocations go through this file. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../expect.h"
#include "cache/wisdom.h"
#include "helpers.h"

enum { ENTRIES = 6, HOUR = 3600 };

static int allocations_left = -1; /* allocations until one fails; below 0: none fails */
static bool refuse(void) { return allocations_left >= 0 && allocations_left-- == 0; }

#define WRAP(type, name, arguments, values)                                                                            \
    type __real_##name arguments;                                                                                      \
    type __wrap_##name arguments;                                                                                      \
    type __wrap_##name arguments { return refuse() ? NULL : __real_##name values; }
WRAP(void *, malloc, (size_t size), (size))
WRAP(void *, realloc, (void *old, size_t size), (old, size))
WRAP(char *, strndup, (const char *text, size_t size), (text, size))

TestSuite(repair, .init = open_folder, .fini = close_folder);

static stn_status join_it(void *user, stn_wisdom *before, stn_text *after, stn_error *error) {
    return stn_wisdom_join(before, user, after, NULL, error);
}

/* Adds an entry. failing: the number of the allocation that fails during writing; -1: none. */
static stn_status add_wisdom(unsigned number, int failing, stn_error *error) {
    const stn_wisdom_key key = {key_of_number(number), key_of_number(number)};
    stn_wisdom wisdom = {0};
    stn_text text = STN_TEXT_EMPTY;
    stn_wisdom_begin(&text);
    stn_wisdom_put_key(&text, &key);
    stn_text_printf(&text, "problem: one\n");
    stn_wisdom_end(&text);
    cr_assert_eq(stn_wisdom_parse(text.data, text.size, &wisdom, error), STN_OK);
    allocations_left = failing;
    const stn_status status = stn_wisdom_update(&cache->folder, join_it, &wisdom, error);
    stn_wisdom_clear(&wisdom);
    stn_text_clear(&text);
    return status;
}

static size_t count_wisdom(void) {
    stn_wisdom wisdom;
    struct stat seen;
    OK(stn_wisdom_read(&cache->folder, &wisdom, &seen, &error));
    const size_t count = wisdom.count;
    stn_wisdom_clear(&wisdom);
    return count;
}

static void fill_cache(void) {
    cache = open_cache(dir, &heard);
    for (unsigned i = 0; i < ENTRIES; i++) store_number(cache, i, 3000);
    cr_assert_eq(add_wisdom(1, -1, NULL), STN_OK);
}

static void expect_all_there(void) {
    for (unsigned i = 0; i < ENTRIES; i++) cr_assert(find_number(cache, i), "entry %u", i);
    cr_assert_eq(count_wisdom(), 1u);
}

/* A search does not remove an entry either. */
static void look_without_memory(int failures) {
    stn_key key = key_of_number((unsigned)failures % ENTRIES);
    stn_entry entry = {0};
    allocations_left = failures % 7;
    (void)stn_cache_find(cache, &key, &entry);
    allocations_left = -1;
    stn_entry_clear(&entry);
}

Test(repair, verify_keeps_entries_if_memory_is_short) {
    fill_cache();
    int failures = 0, unread = 0;
    for (bool failed = true; failed; failures++) {
        stn_cache_collection counts;
        allocations_left = failures;
        stn_status status = stn_cache_verify(cache, &counts, &error);
        failed = allocations_left < 0;
        allocations_left = -1;
        cr_assert(status == STN_OK || status == STN_ERROR_OUT_OF_MEMORY, "%s", error.message);
        if (status == STN_OK) cr_assert_eq(counts.damaged, 0, "allocation %d", failures);
        unread += status == STN_OK && counts.left;
        look_without_memory(failures);
        expect_all_there();
    }
    cr_assert(unread > ENTRIES, "%d", unread);
}

/* Whichever allocation fails, earlier entries stay, and those whose writing succeeded exist. */
Test(repair, wisdom_stays_whole_if_memory_is_short) {
    fill_cache();
    size_t there = 1;
    int failures = 0;
    for (bool failed = true; failed; failures++) {
        const stn_status status = add_wisdom(2 + (unsigned)failures, failures, &error);
        failed = allocations_left < 0;
        allocations_left = -1;
        there += status == STN_OK;
        cr_assert(status == STN_OK || status == STN_ERROR_OUT_OF_MEMORY || status == STN_ERROR_IO, "%s", error.message);
        cr_assert_eq(count_wisdom(), there, "allocation %d: %s", failures, error.message);
    }
    cr_assert_gt(failures, 5);
}

Test(repair, verify_keeps_entries_without_file_handles) {
    fill_cache();
    struct rlimit limit;
    int taken[256], count = 0;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 256;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (count < 256 && (taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) count++;
    cr_assert(count > 20 && count < 256);
    unsigned unread = 0;
    for (int spare = 0; spare < 8; spare++) {
        stn_cache_collection counts = {0};
        if (stn_cache_verify(cache, &counts, NULL) == STN_OK) unread += counts.left > 0;
        cr_assert_eq(counts.damaged, 0, "%d spare handles", spare);
        (void)find_number(cache, 0);
        if (stn_cache_gc(cache, 0, &counts, NULL) == STN_OK) cr_assert_eq(counts.removed_files, 0);
        close(taken[--count]);
    }
    cr_assert(unread > 1);
    while (count) close(taken[--count]);
    expect_all_there();
}

Test(repair, verify_keeps_and_names_unreadable_entries) {
    as_nobody();
    char *entry = entry_at(2), *note = in_dir("wisdom");
    fill_cache();
    cr_assert_eq(chmod(entry, 0), 0);
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_verify(cache, &counts, NULL), STN_OK);
    cr_assert(counts.damaged == 0 && counts.left == 1 && counts.files == ENTRIES);
    cr_assert_not_null(strstr(heard.last, entry), "%s", heard.last);
    cr_assert_not_null(strstr(heard.last, "Permission denied"), "%s", heard.last);
    cr_assert_eq(chmod(note, 0), 0);
    cr_assert_eq(stn_cache_verify(cache, &counts, NULL), STN_OK);
    cr_assert(counts.damaged == 0 && counts.left == 2);
    cr_assert_not_null(strstr(heard.last, note), "%s", heard.last);
    cr_assert(chmod(entry, 0600) == 0 && chmod(note, 0600) == 0);
    expect_all_there();
}

/* Entries in an unreadable subfolder are not removed. */
Test(repair, entries_in_an_unreadable_subfolder_stay) {
    as_nobody();
    char *sub = entry_at(0);
    *strrchr(sub, '/') = '\0';
    fill_cache();
    cr_assert_eq(chmod(sub, 0), 0);
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_gc(cache, -1, &counts, NULL), STN_OK);
    cr_assert_eq(stn_cache_verify(cache, &counts, NULL), STN_OK);
    cr_assert(counts.damaged == 0 && counts.left == 1, "%llu left", (unsigned long long)counts.left);
    cr_assert_eq(chmod(sub, 0700), 0);
    expect_all_there();
}

/* ---- a folder under an entry's name ---------------------------------------------------------- */

static void put_folder(const char *path, bool empty) {
    char *inside = path_in(path, "kept");
    cr_assert_eq(remove(path), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    if (!empty) write_file(inside, "x", 1);
    free(inside);
}

Test(repair, an_empty_folder_under_an_entrys_name_is_removed) {
    char *entry = entry_at(1);
    fill_cache();
    for (int by_verify = 0; by_verify < 2; by_verify++) {
        put_folder(entry, true);
        stn_cache_collection counts;
        if (by_verify) {
            cr_assert_eq(stn_cache_verify(cache, &counts, NULL), STN_OK);
            cr_assert(counts.damaged == 1 && counts.left == 0);
        } else
            cr_assert_not(find_number(cache, 1));
        store_number(cache, 1, 3000);
        expect_all_there();
    }
    cr_assert_eq(heard.warnings, 0, "%s", heard.last);
}

Test(repair, a_nonempty_folder_under_an_entrys_name_is_named) {
    char *entry = entry_at(1);
    fill_cache();
    put_folder(entry, false);
    cr_assert_not(find_number(cache, 1));
    store_number(cache, 1, 3000);
    cr_assert_eq(heard.warnings, 1);
    cr_assert_not_null(strstr(heard.last, entry), "%s", heard.last);
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_verify(cache, &counts, NULL), STN_OK);
    cr_assert(counts.damaged == 0 && counts.left == 1);
    cr_assert_not_null(strstr(heard.last, entry), "%s", heard.last);
    cr_assert_not_null(strstr(heard.last, "not a plain file"), "%s", heard.last);
    char *inside = path_in(entry, "kept");
    cr_assert(exists(inside), "what is not the cache's is left alone");
    free(inside);
}

/* ---- a damaged file is replaced by a good one between its reading and its removal ------------ */

typedef struct race {
    stn_logger logger;
    /* The good file, and where it is moved to when the removal is logged. */
    const char *away, *path;
    int times;
} race;

static void put_in_place(void *user, stn_log_level level, const char *message) {
    race *r = user;
    (void)level;
    if (!r->path || !strstr(message, strrchr(r->path, '/') + 1)) return;
    cr_assert_eq(rename(r->away, r->path), 0);
    r->times++;
    r->path = NULL;
}

/* Moves the file away, and leaves a damaged one. */
static void damage(race *r, const char *path) {
    cr_assert_eq(rename(path, r->away), 0);
    write_file(path, "damaged", 7);
    r->path = path;
}

Test(repair, a_file_replaced_between_reading_and_removal_stays) {
    char *away = in_dir("away"), *entry = entry_at(1);
    race r = {.away = away};
    r.logger = (stn_logger){put_in_place, &r};
    fill_cache();
    close_cache();
    stn_cache_options options = {.dir = dir, .logger = &r.logger};
    cr_assert_eq(stn_cache_open(&options, &cache, NULL), STN_OK);
    damage(&r, entry);
    cr_assert_not(find_number(cache, 1));
    cr_assert(find_number(cache, 1), "the good one that came meanwhile");
    stn_cache_collection counts;
    damage(&r, entry);
    cr_assert_eq(stn_cache_verify(cache, &counts, NULL), STN_OK);
    cr_assert(counts.damaged == 0 && counts.left == 0 && counts.files == ENTRIES);
    cr_assert(find_number(cache, 1));
    cr_assert_eq(r.times, 2);
}
