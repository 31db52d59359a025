/* Entries on disk: found again, also by their source key; damaged ones removed and replaced. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../expect.h"
#include "cache/atomic_file.h"
#include "helpers.h"

TestSuite(disk, .init = open_folder, .fini = close_folder);

Test(disk, finds_entries_stored_by_another_cache) {
    cache = open_cache(dir, &heard);
    cr_assert_str_eq(cache->folder.path, dir);
    cr_assert_null(stn_cache_dir_problem(cache));
    cr_assert_not(find_number(cache, 1));
    for (unsigned i = 0; i < 20; i++) store_number(cache, i, 100);
    for (unsigned i = 0; i < 20; i++) cr_assert(find_number(cache, i));
    cr_assert_not(find_number(cache, 20));
    stn_cache_stats stats;
    stn_cache_count(cache, 0.5, 0.25, false);
    stn_cache_count(cache, 0, 0.25, true);
    stn_cache_stats_get(cache, &stats);
    cr_assert_eq(stats.disk_hits, 20);
    cr_assert_eq(stats.misses, 1);
    cr_assert_eq(stats.memory_hits, 1);
    cr_assert_eq(stats.compile_seconds, 0.5);
    cr_assert_eq(stats.load_seconds, 0.5);
    cr_assert_eq(stats.bytes_read, stats.bytes_written);
    close_cache();
    cache = open_cache(dir, &heard);
    for (unsigned i = 0; i < 20; i++) cr_assert(find_number(cache, i));
    cr_assert_eq(heard.warnings, 0, "%s", heard.last);
    cr_assert_eq(count_files(dir, ".tmp-"), 0);
}

Test(disk, files_have_the_documented_mode_and_path) {
    char *below = in_dir("a/b");
    cache = open_cache(below, NULL);
    cr_assert_not(exists(below), "made when the first entry is stored");
    store_number(cache, 1, 10);
    stn_key key = key_of_number(1);
    char *path = entry_path(below, &key);
    struct stat status;
    cr_assert_eq(stat(below, &status), 0);
    cr_assert_eq(status.st_mode & 0777, 0700);
    cr_assert_eq(stat(path, &status), 0);
    cr_assert_eq(status.st_mode & 0777, 0600);
    free(path);
}

Test(disk, recovers_from_every_change_and_truncation) {
    cache = open_cache(dir, &heard);
    store_number(cache, 4, 8);
    char *path = entry_at(4);
    size_t size;
    unsigned char *good = read_file(path, &size), *bad = malloc(size + 1);
    for (size_t i = 0; i < 2 * size + 1; i++) {
        memcpy(bad, good, size);
        bad[size] = 0;
        if (i < size) bad[i] ^= 0x41;
        write_file(path, bad, i < size ? size : i == 2 * size ? size + 1 : i - size);
        cr_assert_not(find_number(cache, 4), "change %zu", i);
        cr_assert_not(exists(path), "change %zu: removed", i);
    }
    stn_cache_stats stats;
    stn_cache_stats_get(cache, &stats);
    cr_assert_eq(stats.rejected, 2 * size + 1);
    store_number(cache, 4, 8);
    cr_assert(find_number(cache, 4));
    cr_assert_eq(heard.warnings, 0);
    free(good), free(bad);
}

Test(disk, an_entry_under_another_key_is_refused) {
    cache = open_cache(dir, NULL);
    store_number(cache, 1, 8);
    store_number(cache, 2, 8);
    char *from = entry_at(1), *to = entry_at(2);
    cr_assert_eq(rename(from, to), 0);
    cr_assert_not(find_number(cache, 2));
    cr_assert_not(exists(to));
    /* also where only the last digit differs */
    store_number(cache, 1, 8);
    stn_key near = key_of_number(1);
    near.bytes[31] ^= 1;
    char *moved = entry_path(dir, &near);
    stn_entry entry;
    cr_assert_eq(rename(from, moved), 0);
    cr_assert(!stn_cache_find(cache, &near, &entry));
    cr_assert_not(exists(moved));
    free(moved);
}

Test(disk, a_rejected_entry_is_gone) {
    cache = open_cache(dir, NULL);
    stn_key key = key_of_number(1);
    store_number(cache, 1, 8);
    cr_assert(find_number(cache, 1));
    stn_cache_reject(cache, &key);
    cr_assert_not(find_number(cache, 1));
    stn_cache_stats stats;
    stn_cache_stats_get(cache, &stats);
    cr_assert_eq(stats.rejected, 1);
}

/* A key that shares the source key's subfolder, as the library's keys do. */
static stn_key key_of_compiler(const stn_key *source, unsigned compiler) {
    stn_key key = key_of_number(compiler);
    key.bytes[0] = source->bytes[0];
    return key;
}

Test(disk, a_source_key_finds_the_newest_compilers_entry) {
    cache = open_cache(dir, NULL);
    stn_key source = key_of_number(100), absent = key_of_number(101), found;
    stn_entry entry;
    enum { COMPILERS = 6 }; /* enough that the newest is not the first of the folder by chance */
    for (unsigned compiler = 1; compiler <= COMPILERS + 1; compiler++) {
        const bool other = compiler > COMPILERS; /* of another source */
        stn_key key = key_of_compiler(&source, compiler);
        char *path = entry_path(dir, &key);
        entry = entry_of_number(compiler, 8);
        entry.source = other ? absent : source;
        stn_cache_store(cache, &key, &entry);
        stn_entry_clear(&entry);
        set_age(path, other ? 1 : 50 - 7 * (long)compiler);
        free(path);
        const unsigned newest = other ? COMPILERS : compiler;
        cr_assert(stn_cache_find_source(cache, &source, &found, &entry));
        cr_assert(entry_is_of_number(&entry, newest));
        stn_entry_clear(&entry);
        key = key_of_compiler(&source, newest);
        cr_assert(!memcmp(&found, &key, sizeof key));
    }
    stn_key none;
    cr_assert(!stn_cache_find_source(cache, &absent, &none, &entry));
    cr_assert(!stn_cache_find(cache, &source, &entry), "a source key is no key");
    for (unsigned left = COMPILERS; left-- > 0;) {
        stn_cache_reject(cache, &found);
        cr_assert_eq(stn_cache_find_source(cache, &source, &found, &entry), left > 0);
        if (!left) break;
        cr_assert(entry_is_of_number(&entry, left), "the older one, as the newest is gone");
        stn_entry_clear(&entry);
    }
}

Test(disk, a_file_that_was_replaced_meanwhile_stays) {
    char *path = in_dir("file"), *other = in_dir("other");
    struct stat seen;
    write_file(path, "1", 1);
    cr_assert_eq(stat(path, &seen), 0);
    write_file(other, "2", 1);
    cr_assert_eq(rename(other, path), 0);
    cr_expect_not(stn_file_remove_seen(AT_FDCWD, path, &seen));
    cr_expect(errno == ESTALE && exists(path));
    cr_assert_eq(stat(path, &seen), 0);
    cr_expect(stn_file_remove_seen(AT_FDCWD, path, &seen) && !exists(path));
}

Test(disk, has_no_files_in_memory_mode) {
    cache = open_cache(":memory:", NULL);
    stn_cache_collection counts;
    stn_key key = key_of_number(1);
    cr_assert_null(cache->folder.path);
    store_number(cache, 1, 8);
    cr_assert_not(find_number(cache, 1));
    cr_assert_eq(-1, stn_cache_lock_key(cache, &key));
    FAILS(stn_cache_gc(cache, 0, &counts, &error), STN_ERROR_IO, "memory");
}
