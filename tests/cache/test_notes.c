/* Notes: found as they were stored, dropped when anything is wrong with them, never more than the cap. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/notes.h"
#include "helpers.h"

static const char text[] = "problem: one\ndevice: another\n";

static char *note_path(const char *dir, unsigned number) {
    stn_key key = key_of_number(number);
    char hex[65], name[80];
    stn_key_hex(&key, hex);
    snprintf(name, sizeof name, "tuned/%s", hex);
    return path_in(dir, name);
}

static bool has_note(stn_cache *cache, unsigned number) {
    stn_key key = key_of_number(number);
    char *found;
    if (!stn_cache_note_find(cache, &key, &found)) return false;
    cr_assert_str_eq(found, text);
    free(found);
    return true;
}

static void store_note(stn_cache *cache, unsigned number) {
    stn_key key = key_of_number(number);
    stn_cache_note_store(cache, &key, text);
}

Test(notes, are_found_as_they_were_stored) {
    char *dir = make_temp_folder();
    stn_cache *cache = open_cache(dir, NULL);
    cr_assert_not(has_note(cache, 1));
    store_note(cache, 1);
    stn_cache_close(cache);
    cache = open_cache(dir, NULL);
    cr_assert(has_note(cache, 1));
    cr_assert_not(has_note(cache, 2));
    cr_assert_eq(count_files(dir, ".tmp-"), 0);
    stn_key key = key_of_number(1);
    stn_cache_note_reject(cache, &key);
    cr_assert_not(has_note(cache, 1));
    stn_cache_close(cache);
    remove_temp_folder(dir);
}

Test(notes, that_are_damaged_are_dropped) {
    char *dir = make_temp_folder();
    stn_cache *cache = open_cache(dir, NULL);
    char *path = note_path(dir, 1);
    store_note(cache, 1);
    size_t size;
    unsigned char *image = read_file(path, &size);
    for (size_t at = 0; at < size; at += 3) { /* any byte */
        image[at] ^= 0x20;
        write_file(path, image, size);
        cr_assert_not(has_note(cache, 1), "byte %zu", at);
        cr_assert_not(exists(path), "byte %zu", at);
        image[at] ^= 0x20;
    }
    for (size_t cut = 0; cut < size; cut += 5) { /* any length */
        write_file(path, image, cut);
        cr_assert_not(has_note(cache, 1), "%zu bytes", cut);
        cr_assert_not(exists(path));
    }
    char *other = note_path(dir, 2); /* another key's name */
    write_file(other, image, size);
    cr_assert_not(has_note(cache, 2));
    unsigned char *large = calloc(1, STN_NOTE_MAX + 1);
    write_file(path, large, STN_NOTE_MAX + 1);
    cr_assert_not(has_note(cache, 1));
    write_file(path, image, size);
    cr_assert(has_note(cache, 1), "what was not damaged is good again");
    free(large), free(image), free(path), free(other);
    stn_cache_close(cache);
    remove_temp_folder(dir);
}

Test(notes, are_trusted_as_entries_are) {
    char *dir = make_temp_folder(), *path = note_path(dir, 1), *elsewhere = path_in(dir, "elsewhere");
    stn_cache *cache = open_cache(dir, NULL);
    store_note(cache, 1);
    cr_assert_eq(chmod(path, 0622), 0);
    cr_assert_not(has_note(cache, 1), "others may write it");
    store_note(cache, 1);
    cr_assert_eq(rename(path, elsewhere), 0);
    cr_assert_eq(symlink(elsewhere, path), 0);
    cr_assert_not(has_note(cache, 1), "a symlink");
    cr_assert(exists(elsewhere));
    store_note(cache, 1);
    char *folder = path_in(dir, "tuned");
    cr_assert_eq(chmod(folder, 0777), 0);
    cr_assert_not(has_note(cache, 1), "others may write the folder");
    stn_cache_close(cache);
    free(folder), free(path), free(elsewhere);
    remove_temp_folder(dir);
}

Test(notes, nothing_without_a_folder) {
    stn_cache *cache = open_cache(":memory:", NULL);
    store_note(cache, 1);
    cr_assert_not(has_note(cache, 1));
    stn_cache_close(cache);
}

Test(notes, are_capped_oldest_first) {
    char *dir = make_temp_folder();
    stn_cache_options options = {.dir = dir, .max_files = 3};
    stn_cache *cache;
    cr_assert_eq(stn_cache_open(&options, &cache, NULL), STN_OK);
    for (unsigned i = 0; i < 7; i++) {
        store_note(cache, i);
        char *path = note_path(dir, i);
        set_age(path, 3600 * (1 + (i * 3) % 7)); /* 2 was used first, 0 last */
        free(path);
    }
    stn_cache_sweep sweep;
    cr_assert_eq(stn_cache_gc(cache, -1, &sweep, NULL), STN_OK);
    cr_assert_eq(sweep.notes, 7u, "what was used today is spared");
    cr_assert_eq(stn_cache_gc(cache, 0, &sweep, NULL), STN_OK);
    cr_assert_eq(sweep.notes, 3u);
    cr_assert_eq(sweep.removed_files, 4u);
    for (unsigned i = 0; i < 7; i++) cr_assert_eq(has_note(cache, i), (i * 3) % 7 < 3, "note %u", i);
    stn_cache_close(cache);
    remove_temp_folder(dir);
}

static bool count_one(void *user, const stn_note_item *item) {
    unsigned *counts = user;
    counts[item->fault != NULL]++;
    cr_assert_eq(item->text == NULL, item->fault != NULL);
    return true;
}

Test(notes, are_listed_verified_resolved_and_cleared) {
    char *dir = make_temp_folder(), *path = note_path(dir, 2);
    stn_cache *cache = open_cache(dir, NULL);
    unsigned counts[2] = {0};
    for (unsigned i = 0; i < 3; i++) store_note(cache, i);
    store_number(cache, 9, 8);
    write_file(path, "x", 1);
    cr_assert_eq(stn_cache_note_each(cache, count_one, counts, NULL), STN_OK);
    cr_assert_eq(counts[0], 2u);
    cr_assert_eq(counts[1], 1u);
    stn_key key, wanted = key_of_number(1);
    char hex[65];
    stn_key_hex(&wanted, hex);
    hex[16] = '\0';
    cr_assert_eq(stn_cache_resolve(cache, hex, &key, NULL), STN_OK);
    cr_assert_eq(memcmp(&key, &wanted, sizeof key), 0);
    stn_cache_sweep sweep;
    cr_assert_eq(stn_cache_verify(cache, &sweep, NULL), STN_OK);
    cr_assert_eq(sweep.notes, 2u);
    cr_assert_eq(sweep.files, 1u);
    cr_assert_eq(sweep.damaged, 1u);
    cr_assert_eq(stn_cache_clear(cache, &sweep, NULL), STN_OK);
    cr_assert_eq(sweep.notes, 0u);
    cr_assert_eq(count_files(dir, NULL), 0u);
    stn_cache_close(cache);
    free(path);
    remove_temp_folder(dir);
}
