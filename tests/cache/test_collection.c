/* Collecting and listing the folder: caps, least recently used first, temporary files, checking,
 * clearing. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../expect.h"
#include "helpers.h"

enum { HOUR = 3600, DAY = 24 * HOUR };

TestSuite(collection, .init = open_folder, .fini = close_folder);

static void open_capped(uint64_t bytes, uint64_t files) {
    const stn_cache_options options = {.dir = dir, .max_bytes = bytes, .max_files = files};
    close_cache();
    cr_assert_eq(stn_cache_open(&options, &cache, NULL), STN_OK);
}

static void age_number(unsigned number, long seconds) { set_age(entry_at(number), seconds); }

static bool on_disk(unsigned number) { return exists(entry_at(number)); }

Test(collection, the_file_cap_removes_least_recently_used_entries) {
    open_capped(0, 4);
    for (unsigned i = 0; i < 10; i++) store_number(cache, i, 8);
    /* in another order than the keys */
    for (unsigned i = 0; i < 10; i++) age_number(i, (2 + (i * 7) % 10) * DAY);
    cr_assert(find_number(cache, 7)); /* one of the oldest, used now */
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_gc(cache, -1, &counts, NULL), STN_OK);
    cr_assert_eq(counts.files, 4);
    cr_assert_eq(counts.removed_files, 6);
    cr_assert(counts.bytes > 0 && counts.removed_bytes > counts.bytes);
    for (unsigned i = 0; i < 10; i++) {
        bool young = i == 7 || (i * 7) % 10 <= 2;
        cr_assert_eq(on_disk(i), young, "entry %u", i);
    }
}

Test(collection, the_environment_sets_caps) {
    static const char *const nonsense[] = {"nonsense", "3 files", "-3", "0", ""};
    stn_cache_collection counts;
    for (size_t n = 0; n < sizeof nonsense / sizeof *nonsense; n++) {
        setenv("STENTOR_CACHE_MAX_FILES", nonsense[n], 1);
        close_cache();
        cache = open_cache(dir, &heard);
        for (unsigned i = 0; i < 10; i++) store_number(cache, i, 8);
        cr_assert_eq(stn_cache_gc(cache, 0, &counts, NULL), STN_OK);
        cr_assert_eq(counts.files, 10, "with \"%s\"", nonsense[n]);
        cr_assert_eq(heard.warnings, *nonsense[n] ? (int)n + 1 : (int)n, "with \"%s\"", nonsense[n]);
        cr_assert_not_null(strstr(heard.last, "STENTOR_CACHE_MAX_FILES is \""), "%s", heard.last);
    }
    setenv("STENTOR_CACHE_MAX_FILES", "3", 1);
    open_capped(0, 0);
    cr_assert_eq(stn_cache_gc(cache, 0, &counts, NULL), STN_OK);
    cr_assert_eq(counts.files, 3);
}

Test(collection, the_byte_cap_holds) {
    open_capped(50000, 0);
    for (unsigned i = 0; i < 10; i++) {
        store_number(cache, i, 10000);
        age_number(i, (20 - i) * DAY);
    }
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_gc(cache, -1, &counts, NULL), STN_OK);
    cr_assert_eq(counts.files, 4, "%llu", (unsigned long long)counts.files);
    cr_assert(counts.bytes <= 50000);
    for (unsigned i = 0; i < 10; i++) cr_assert_eq(on_disk(i), i >= 6);
}

Test(collection, spares_entries_of_the_last_day) {
    open_capped(0, 1);
    for (unsigned i = 0; i < 5; i++) store_number(cache, i, 8);
    age_number(1, 23 * HOUR);
    age_number(2, 25 * HOUR);
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_gc(cache, -1, &counts, NULL), STN_OK);
    cr_assert_eq(counts.removed_files, 1);
    cr_assert_not(on_disk(2));
    cr_assert_eq(stn_cache_gc(cache, 0, &counts, NULL), STN_OK);
    cr_assert_eq(counts.files, 1);
}

Test(collection, storing_collects_now_and_then) {
    open_capped(0, 10);
    for (unsigned i = 0; i < 30; i++) {
        store_number(cache, i, 8);
        age_number(i, 2 * DAY);
    }
    cr_assert_eq(count_files(dir, NULL), 30);
    open_capped(0, 10);
    /* The first store of a cache object is followed by a collection. */
    store_number(cache, 100, 8);
    cr_assert_eq(count_files(dir, NULL), 10);
    for (unsigned i = 101; i < 200; i++) {
        store_number(cache, i, 8);
        age_number(i, 2 * DAY);
    }
    cr_assert(count_files(dir, NULL) < 80, "%u", count_files(dir, NULL));
}

Test(collection, use_updates_the_time_at_most_once_a_minute) {
    open_capped(0, 0);
    store_number(cache, 1, 8);
    char *path = entry_at(1);
    struct stat status;
    set_age(path, 30);
    cr_assert(find_number(cache, 1));
    cr_assert_eq(stat(path, &status), 0);
    cr_assert(time(NULL) - status.st_mtime >= 30, "half a minute is recent enough");
    set_age(path, 1000);
    cr_assert(find_number(cache, 1));
    cr_assert_eq(stat(path, &status), 0);
    cr_assert(time(NULL) - status.st_mtime < 10);
    /* The time of the last read does not count: a backup reads, too. */
    const struct timespec times[2] = {{.tv_nsec = UTIME_NOW}, {.tv_sec = time(NULL) - 1000}};
    cr_assert_eq(utimensat(AT_FDCWD, path, times, 0), 0);
    cr_assert(find_number(cache, 1));
    cr_assert_eq(stat(path, &status), 0);
    cr_assert(time(NULL) - status.st_mtime < 10);
}

Test(collection, leftovers_are_removed_and_other_files_stay) {
    cache = open_cache(dir, NULL);
    char *path = entry_at(1), *sub = strdup(path);
    store_number(cache, 1, 8);
    *strrchr(sub, '/') = '\0';
    char *old = path_in(sub, ".tmp-0000000000000001"), *young = path_in(sub, ".tmp-0000000000000002");
    char *stranger = path_in(sub, "notes, by chance 62 characters long, that are none of ours.txt"),
         *outside = path_in(dir, "README");
    write_file(old, "x", 1);
    write_file(young, "x", 1);
    write_file(stranger, "x", 1);
    write_file(outside, "x", 1);
    set_age(old, 2 * HOUR);
    set_age(stranger, 1000 * DAY);
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_gc(cache, -1, &counts, NULL), STN_OK);
    cr_assert_not(exists(old));
    cr_assert(exists(young), "perhaps still being written");
    cr_assert(exists(stranger) && exists(outside));
    cr_assert(exists(path));
    cr_assert_eq(stn_cache_clear(cache, &counts, NULL), STN_OK);
    cr_assert_eq(counts.files, 0);
    cr_assert(!exists(path) && !exists(young));
    cr_assert(exists(stranger) && exists(outside));
    free(sub), free(old), free(young), free(stranger), free(outside);
}

typedef struct listing {
    unsigned good, bad, stop_at;
    stn_key last;
    bool sorted;
} listing;

static bool list_one(void *user, const stn_cache_item *item) {
    listing *list = user;
    if (list->good + list->bad && memcmp(&list->last, &item->key, sizeof item->key) >= 0) list->sorted = false;
    list->last = item->key;
    cr_assert(item->bytes > 0 && item->used > 0);
    if (item->entry) {
        cr_assert_not_null(strstr(item->entry->metadata, "kernel: test"));
        list->good++;
    } else {
        cr_assert_not_null(item->fault);
        list->bad++;
    }
    return list->good + list->bad != list->stop_at;
}

Test(collection, each_lists_and_verify_removes_damaged_entries) {
    open_capped(0, 0);
    listing list = {.sorted = true};
    cr_assert_eq(stn_cache_each(cache, list_one, &list, NULL), STN_OK);
    cr_assert_eq(list.good + list.bad, 0);
    for (unsigned i = 0; i < 30; i++) store_number(cache, i, 8);
    for (unsigned i = 0; i < 3; i++) write_file(entry_at(i), "damaged", 7);
    cr_assert_eq(stn_cache_each(cache, list_one, &list, NULL), STN_OK);
    cr_assert(list.good == 27 && list.bad == 3 && list.sorted);
    cr_assert(on_disk(0), "looking changes nothing");
    list = (listing){.sorted = true, .stop_at = 5};
    cr_assert_eq(stn_cache_each(cache, list_one, &list, NULL), STN_OK);
    cr_assert_eq(list.good + list.bad, 5);
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_verify(cache, &counts, NULL), STN_OK);
    cr_assert_eq(counts.damaged, 3);
    cr_assert_eq(counts.files, 27);
    cr_assert_not(on_disk(0));
}

Test(collection, a_prefix_resolves_to_one_key) {
    open_capped(0, 0);
    for (unsigned i = 0; i < 30; i++) store_number(cache, i, 8);
    stn_key key = key_of_number(9), found;
    char hex[65];
    stn_key_hex(&key, hex);
    OK(stn_cache_resolve(cache, hex, &found, &error));
    hex[10] = '\0';
    OK(stn_cache_resolve(cache, hex, &found, &error));
    cr_assert(!memcmp(&key, &found, sizeof key));
    cr_assert_eq(stn_cache_resolve(cache, "abc", &found, &error), STN_ERROR_INVALID_ARGUMENT);
    cr_assert_eq(stn_cache_resolve(cache, "nothex", &found, &error), STN_ERROR_INVALID_ARGUMENT);
    REFUSED(stn_cache_resolve(cache, "0123456789abcdef", &found, &error), "0 stored kernels");
}
