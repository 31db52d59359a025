/* Collecting and listing the folder: caps, least recently used first, temporary files, checking,
 * clearing. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "helpers.h"

enum { HOUR = 3600, DAY = 24 * HOUR };

static stn_cache *open_capped(const char *dir, uint64_t bytes, uint64_t files) {
    stn_cache *cache;
    stn_cache_options options = {.dir = dir, .max_bytes = bytes, .max_files = files};
    cr_assert_eq(stn_cache_open(&options, &cache, NULL), STN_OK);
    return cache;
}

static void age_number(const char *dir, unsigned number, long seconds) {
    stn_key key = key_of_number(number);
    char *path = entry_path(dir, &key);
    set_age(path, seconds);
    free(path);
}

static bool on_disk(const char *dir, unsigned number) {
    stn_key key = key_of_number(number);
    char *path = entry_path(dir, &key);
    bool there = exists(path);
    free(path);
    return there;
}

Test(collection, the_file_cap_removes_least_recently_used_entries) {
    char *dir = make_temp_folder();
    stn_cache *cache = open_capped(dir, 0, 4);
    for (unsigned i = 0; i < 10; i++) store_number(cache, i, 8);
    /* in another order than the keys */
    for (unsigned i = 0; i < 10; i++) age_number(dir, i, (2 + (i * 7) % 10) * DAY);
    cr_assert(find_number(cache, 7)); /* one of the oldest, used now */
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_gc(cache, -1, &counts, NULL), STN_OK);
    cr_assert_eq(counts.files, 4);
    cr_assert_eq(counts.removed_files, 6);
    cr_assert(counts.bytes > 0 && counts.removed_bytes > counts.bytes);
    for (unsigned i = 0; i < 10; i++) {
        bool young = i == 7 || (i * 7) % 10 <= 2;
        cr_assert_eq(on_disk(dir, i), young, "entry %u", i);
    }
    stn_cache_close(cache);
    remove_temp_folder(dir);
}

Test(collection, the_environment_sets_caps) {
    char *dir = make_temp_folder();
    static const char *const nonsense[] = {"nonsense", "3 files", "-3", "0", ""};
    stn_cache *cache;
    stn_cache_collection counts;
    for (size_t n = 0; n < sizeof nonsense / sizeof *nonsense; n++) {
        setenv("STENTOR_CACHE_MAX_FILES", nonsense[n], 1);
        cache = open_capped(dir, 0, 0);
        for (unsigned i = 0; i < 10; i++) store_number(cache, i, 8);
        cr_assert_eq(stn_cache_gc(cache, 0, &counts, NULL), STN_OK);
        cr_assert_eq(counts.files, 10, "with \"%s\"", nonsense[n]);
        stn_cache_close(cache);
    }
    setenv("STENTOR_CACHE_MAX_FILES", "3", 1);
    cache = open_capped(dir, 0, 0);
    cr_assert_eq(stn_cache_gc(cache, 0, &counts, NULL), STN_OK);
    cr_assert_eq(counts.files, 3);
    stn_cache_close(cache);
    remove_temp_folder(dir);
}

Test(collection, the_byte_cap_holds) {
    char *dir = make_temp_folder();
    stn_cache *cache = open_capped(dir, 50000, 0);
    for (unsigned i = 0; i < 10; i++) {
        store_number(cache, i, 10000);
        age_number(dir, i, (20 - i) * DAY);
    }
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_gc(cache, -1, &counts, NULL), STN_OK);
    cr_assert_eq(counts.files, 4, "%llu", (unsigned long long)counts.files);
    cr_assert(counts.bytes <= 50000);
    for (unsigned i = 0; i < 10; i++) cr_assert_eq(on_disk(dir, i), i >= 6);
    stn_cache_close(cache);
    remove_temp_folder(dir);
}

Test(collection, spares_entries_of_the_last_day) {
    char *dir = make_temp_folder();
    stn_cache *cache = open_capped(dir, 0, 1);
    for (unsigned i = 0; i < 5; i++) store_number(cache, i, 8);
    age_number(dir, 1, 23 * HOUR);
    age_number(dir, 2, 25 * HOUR);
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_gc(cache, -1, &counts, NULL), STN_OK);
    cr_assert_eq(counts.removed_files, 1);
    cr_assert_not(on_disk(dir, 2));
    cr_assert_eq(stn_cache_gc(cache, 0, &counts, NULL), STN_OK);
    cr_assert_eq(counts.files, 1);
    stn_cache_close(cache);
    remove_temp_folder(dir);
}

Test(collection, storing_collects_now_and_then) {
    char *dir = make_temp_folder();
    stn_cache *cache = open_capped(dir, 0, 10);
    for (unsigned i = 0; i < 30; i++) {
        store_number(cache, i, 8);
        age_number(dir, i, 2 * DAY);
    }
    stn_cache_close(cache);
    cr_assert_eq(count_files(dir, NULL), 30);
    cache = open_capped(dir, 0, 10);
    /* The first store of a cache object is followed by a collection. */
    store_number(cache, 100, 8);
    cr_assert_eq(count_files(dir, NULL), 10);
    for (unsigned i = 101; i < 200; i++) {
        store_number(cache, i, 8);
        age_number(dir, i, 2 * DAY);
    }
    cr_assert(count_files(dir, NULL) < 80, "%u", count_files(dir, NULL));
    stn_cache_close(cache);
    remove_temp_folder(dir);
}

Test(collection, use_updates_the_time_at_most_once_a_minute) {
    char *dir = make_temp_folder();
    stn_cache *cache = open_capped(dir, 0, 0);
    store_number(cache, 1, 8);
    stn_key key = key_of_number(1);
    char *path = entry_path(dir, &key);
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
    stn_cache_close(cache);
    free(path);
    remove_temp_folder(dir);
}

Test(collection, leftovers_are_removed_and_other_files_stay) {
    char *dir = make_temp_folder();
    stn_cache *cache = open_cache(dir, NULL);
    const stn_key key = key_of_number(1);
    char *path = entry_path(dir, &key), *sub = strdup(path);
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
    stn_cache_close(cache);
    free(path), free(sub), free(old), free(young), free(stranger), free(outside);
    remove_temp_folder(dir);
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
    char *dir = make_temp_folder();
    stn_cache *cache = open_capped(dir, 0, 0);
    listing list = {.sorted = true};
    cr_assert_eq(stn_cache_each(cache, list_one, &list, NULL), STN_OK);
    cr_assert_eq(list.good + list.bad, 0);
    for (unsigned i = 0; i < 30; i++) store_number(cache, i, 8);
    for (unsigned i = 0; i < 3; i++) {
        stn_key key = key_of_number(i);
        char *path = entry_path(dir, &key);
        write_file(path, "damaged", 7);
        free(path);
    }
    cr_assert_eq(stn_cache_each(cache, list_one, &list, NULL), STN_OK);
    cr_assert(list.good == 27 && list.bad == 3 && list.sorted);
    cr_assert(on_disk(dir, 0), "looking changes nothing");
    list = (listing){.sorted = true, .stop_at = 5};
    cr_assert_eq(stn_cache_each(cache, list_one, &list, NULL), STN_OK);
    cr_assert_eq(list.good + list.bad, 5);
    stn_cache_collection counts;
    cr_assert_eq(stn_cache_verify(cache, &counts, NULL), STN_OK);
    cr_assert_eq(counts.damaged, 3);
    cr_assert_eq(counts.files, 27);
    cr_assert_not(on_disk(dir, 0));
    stn_cache_close(cache);
    remove_temp_folder(dir);
}

Test(collection, a_prefix_resolves_to_one_key) {
    char *dir = make_temp_folder();
    stn_cache *cache = open_capped(dir, 0, 0);
    for (unsigned i = 0; i < 30; i++) store_number(cache, i, 8);
    stn_key key = key_of_number(9), found;
    stn_error error = {0};
    char hex[65];
    stn_key_hex(&key, hex);
    cr_assert_eq(stn_cache_resolve(cache, hex, &found, &error), STN_OK, "%s", error.message);
    hex[10] = '\0';
    cr_assert_eq(stn_cache_resolve(cache, hex, &found, &error), STN_OK, "%s", error.message);
    cr_assert(!memcmp(&key, &found, sizeof key));
    cr_assert_eq(stn_cache_resolve(cache, "abc", &found, &error), STN_ERROR_INVALID_ARGUMENT);
    cr_assert_eq(stn_cache_resolve(cache, "nothex", &found, &error), STN_ERROR_INVALID_ARGUMENT);
    cr_assert_eq(stn_cache_resolve(cache, "0123456789abcdef", &found, &error), STN_ERROR_INVALID_ARGUMENT);
    cr_assert_not_null(strstr(error.message, "0 stored kernels"), "%s", error.message);
    stn_cache_close(cache);
    remove_temp_folder(dir);
}
