/* What is removed is proven to be damaged: what cannot be read for want of memory, of file handles or of permission is
 * left, and so is what took a damaged file's place meanwhile. Linked so that the cache's allocations come through here. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "helpers.h"

enum { ENTRIES = 6, NOTES = 3, HOUR = 3600 };
static const char note_text[] = "problem: one\ndevice: another\n";

static int allocations_left = -1; /* until one fails; below 0: none does */
static bool refuse(void) { return allocations_left >= 0 && allocations_left-- == 0; }

#define WRAP(type, name, arguments, values)                                                                            \
    type __real_##name arguments;                                                                                      \
    type __wrap_##name arguments;                                                                                      \
    type __wrap_##name arguments { return refuse() ? NULL : __real_##name values; }
WRAP(void *, malloc, (size_t size), (size))
WRAP(void *, realloc, (void *old, size_t size), (old, size))
WRAP(char *, strndup, (const char *text, size_t size), (text, size))

static char *note_path(const char *dir, unsigned number) {
    stn_key key = key_of_number(number);
    char hex[65], name[80];
    stn_key_hex(&key, hex);
    snprintf(name, sizeof name, "tuned/%s", hex);
    return path_in(dir, name);
}

static char *path_of(const char *dir, unsigned number) {
    stn_key key = key_of_number(number);
    return entry_path(dir, &key);
}

static void store_note(stn_cache *cache, unsigned number) {
    stn_key key = key_of_number(number);
    stn_cache_note_store(cache, &key, note_text);
}

static bool has_note(stn_cache *cache, unsigned number) {
    stn_key key = key_of_number(number);
    char *text = NULL;
    bool found = stn_cache_note_find(cache, &key, &text);
    if (found) cr_assert_str_eq(text, note_text);
    free(text);
    return found;
}

static stn_cache *filled_cache(const char *dir, counting_log *log) {
    stn_cache *cache = open_cache(dir, log);
    for (unsigned i = 0; i < ENTRIES; i++) store_number(cache, i, 3000);
    for (unsigned i = 0; i < NOTES; i++) store_note(cache, i);
    return cache;
}

static void expect_all_there(stn_cache *cache) {
    for (unsigned i = 0; i < ENTRIES; i++) cr_assert(find_number(cache, i), "entry %u", i);
    for (unsigned i = 0; i < NOTES; i++) cr_assert(has_note(cache, i), "note %u", i);
}

static void not_as_root(void) {
    if (geteuid() == 0) cr_assert_eq(setresuid(65534, 65534, 65534), 0); /* root may read everything */
}

/* Nor does a look for one remove it. */
static void look_without_memory(stn_cache *cache, int failures) {
    stn_key key = key_of_number((unsigned)failures % ENTRIES), note = key_of_number((unsigned)failures % NOTES);
    stn_entry entry = {0};
    char *text = NULL;
    allocations_left = failures % 7;
    (void)stn_cache_find(cache, &key, &entry);
    allocations_left = failures % 3;
    (void)stn_cache_note_find(cache, &note, &text);
    allocations_left = -1;
    stn_entry_clear(&entry);
    free(text);
}

Test(repair, verify_keeps_what_there_is_no_memory_to_read) {
    char *dir = make_temp_folder();
    counting_log log;
    counting_log_init(&log);
    stn_cache *cache = filled_cache(dir, &log);
    int failures = 0, unread = 0;
    for (bool failed = true; failed; failures++) {
        stn_cache_sweep sweep;
        stn_error error = {0};
        allocations_left = failures;
        stn_status status = stn_cache_verify(cache, &sweep, &error);
        failed = allocations_left < 0;
        allocations_left = -1;
        cr_assert(status == STN_OK || status == STN_ERROR_OUT_OF_MEMORY, "%s", error.message);
        if (status == STN_OK) cr_assert_eq(sweep.damaged, 0, "allocation %d", failures);
        unread += status == STN_OK && sweep.left;
        look_without_memory(cache, failures);
        expect_all_there(cache);
    }
    cr_assert(unread >= ENTRIES + NOTES, "%d", unread);
    stn_cache_close(cache);
    remove_temp_folder(dir);
}

Test(repair, verify_keeps_what_there_are_no_file_handles_for) {
    char *dir = make_temp_folder();
    stn_cache *cache = filled_cache(dir, NULL);
    struct rlimit limit;
    int taken[256], count = 0;
    cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = 256;
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    while (count < 256 && (taken[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) count++;
    cr_assert(count > 20 && count < 256);
    unsigned unread = 0;
    for (int spare = 0; spare < 8; spare++) {
        stn_cache_sweep sweep = {0};
        if (stn_cache_verify(cache, &sweep, NULL) == STN_OK) unread += sweep.left > 0;
        cr_assert_eq(sweep.damaged, 0, "%d spare handles", spare);
        (void)find_number(cache, 0);
        (void)has_note(cache, 0);
        if (stn_cache_gc(cache, 0, &sweep, NULL) == STN_OK) cr_assert_eq(sweep.removed_files, 0);
        close(taken[--count]);
    }
    cr_assert(unread > 1);
    while (count) close(taken[--count]);
    expect_all_there(cache);
    stn_cache_close(cache);
    remove_temp_folder(dir);
}

Test(repair, verify_keeps_and_names_what_may_not_be_read) {
    not_as_root();
    char *dir = make_temp_folder(), *entry = path_of(dir, 2), *note = note_path(dir, 1);
    counting_log log;
    counting_log_init(&log);
    stn_cache *cache = filled_cache(dir, &log);
    cr_assert_eq(chmod(entry, 0), 0);
    stn_cache_sweep sweep;
    cr_assert_eq(stn_cache_verify(cache, &sweep, NULL), STN_OK);
    cr_assert(sweep.damaged == 0 && sweep.left == 1 && sweep.files == ENTRIES);
    cr_assert_not_null(strstr(log.last, entry), "%s", log.last);
    cr_assert_not_null(strstr(log.last, "Permission denied"), "%s", log.last);
    cr_assert_eq(chmod(note, 0), 0);
    cr_assert_eq(stn_cache_verify(cache, &sweep, NULL), STN_OK);
    cr_assert(sweep.damaged == 0 && sweep.left == 2 && sweep.notes == NOTES);
    cr_assert_not_null(strstr(log.last, note), "%s", log.last);
    cr_assert(chmod(entry, 0600) == 0 && chmod(note, 0600) == 0);
    expect_all_there(cache);
    stn_cache_close(cache);
    free(entry), free(note);
    remove_temp_folder(dir);
}

/* Nor are the aliases and sources of entries removed whose subfolder cannot be looked into. */
Test(repair, what_lies_in_a_closed_subfolder_is_not_gone) {
    not_as_root();
    char *dir = make_temp_folder(), *sub = path_of(dir, 0), *alias, *notes = path_in(dir, "tuned");
    *strrchr(sub, '/') = '\0';
    counting_log log;
    counting_log_init(&log);
    stn_cache *cache = filled_cache(dir, &log);
    stn_key key = key_of_number(0), source = key_of_number(50);
    stn_entry entry = entry_of_number(0, 8);
    entry.source = source;
    stn_cache_store(cache, &key, &entry);
    stn_entry_clear(&entry);
    char *source_path = entry_path(dir, &source);
    cr_assert(asprintf(&alias, "%s.any", source_path) > 0);
    cr_assert(exists(alias));
    set_age(alias, 2 * HOUR);
    cr_assert(chmod(sub, 0) == 0 && chmod(notes, 0) == 0);
    stn_cache_sweep sweep;
    cr_assert_eq(stn_cache_gc(cache, -1, &sweep, NULL), STN_OK);
    cr_assert(exists(alias), "its entry is there, for all that is known");
    cr_assert_eq(stn_cache_verify(cache, &sweep, NULL), STN_OK);
    cr_assert(sweep.damaged == 0 && sweep.left == 2, "%llu left", (unsigned long long)sweep.left);
    cr_assert(chmod(sub, 0700) == 0 && chmod(notes, 0700) == 0);
    expect_all_there(cache);
    stn_cache_close(cache);
    free(sub), free(alias), free(source_path), free(notes);
    remove_temp_folder(dir);
}

/* ---- a folder under an entry's name ------------------------------------------------------------------------------ */

static void put_folder(const char *path, bool empty) {
    char *inside = path_in(path, "kept");
    cr_assert_eq(remove(path), 0);
    cr_assert_eq(mkdir(path, 0700), 0);
    if (!empty) write_file(inside, "x", 1);
    free(inside);
}

Test(repair, an_empty_folder_under_an_entrys_name_gives_way) {
    char *dir = make_temp_folder(), *entry = path_of(dir, 1), *note = note_path(dir, 1);
    counting_log log;
    counting_log_init(&log);
    stn_cache *cache = filled_cache(dir, &log);
    for (int by_verify = 0; by_verify < 2; by_verify++) {
        put_folder(entry, true);
        put_folder(note, true);
        stn_cache_sweep sweep;
        if (by_verify) {
            cr_assert_eq(stn_cache_verify(cache, &sweep, NULL), STN_OK);
            cr_assert(sweep.damaged == 2 && sweep.left == 0);
        } else
            cr_assert(!find_number(cache, 1) && !has_note(cache, 1));
        store_number(cache, 1, 3000);
        store_note(cache, 1);
        expect_all_there(cache);
    }
    cr_assert_eq(log.warnings, 0, "%s", log.last);
    stn_cache_close(cache);
    free(entry), free(note);
    remove_temp_folder(dir);
}

Test(repair, one_with_something_in_it_is_named) {
    char *dir = make_temp_folder(), *entry = path_of(dir, 1), *note = note_path(dir, 1);
    counting_log log;
    counting_log_init(&log);
    stn_cache *cache = filled_cache(dir, &log);
    put_folder(entry, false);
    cr_assert_not(find_number(cache, 1));
    store_number(cache, 1, 3000);
    cr_assert_eq(log.warnings, 1);
    cr_assert_not_null(strstr(log.last, entry), "%s", log.last);
    stn_cache_sweep sweep;
    cr_assert_eq(stn_cache_verify(cache, &sweep, NULL), STN_OK);
    cr_assert(sweep.damaged == 0 && sweep.left == 1);
    cr_assert_not_null(strstr(log.last, entry), "%s", log.last);
    cr_assert_not_null(strstr(log.last, "not a plain file"), "%s", log.last);
    put_folder(note, false);
    cr_assert_not(has_note(cache, 1));
    cr_assert_eq(stn_cache_verify(cache, &sweep, NULL), STN_OK);
    cr_assert_eq(sweep.left, 2);
    cr_assert_not_null(strstr(log.last, note), "%s", log.last);
    char *inside = path_in(entry, "kept");
    cr_assert(exists(inside), "what is not the cache's is left alone");
    stn_cache_close(cache);
    free(entry), free(note), free(inside);
    remove_temp_folder(dir);
}

/* ---- another process puts a good file in a damaged one's place, between its reading and its removal -------------- */

typedef struct race {
    stn_logger logger;
    const char *away, *path; /* the good file, and where it is put when removing is announced */
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

/* Takes the file away, and leaves a damaged one. */
static void damage(race *r, const char *path) {
    cr_assert_eq(rename(path, r->away), 0);
    write_file(path, "damaged", 7);
    r->path = path;
}

Test(repair, a_file_replaced_between_reading_and_removal_stays) {
    char *dir = make_temp_folder(), *away = path_in(dir, "away"), *entry = path_of(dir, 1), *note = note_path(dir, 1);
    race r = {.away = away};
    r.logger = (stn_logger){put_in_place, &r};
    stn_cache_close(filled_cache(dir, NULL));
    stn_cache *cache;
    stn_cache_options options = {.dir = dir, .logger = &r.logger};
    cr_assert_eq(stn_cache_open(&options, &cache, NULL), STN_OK);
    damage(&r, entry);
    cr_assert_not(find_number(cache, 1));
    cr_assert(find_number(cache, 1), "the good one that came meanwhile");
    damage(&r, note);
    cr_assert_not(has_note(cache, 1));
    cr_assert(has_note(cache, 1));
    stn_cache_sweep sweep;
    damage(&r, entry);
    cr_assert_eq(stn_cache_verify(cache, &sweep, NULL), STN_OK);
    cr_assert(sweep.damaged == 0 && sweep.left == 0 && sweep.files == ENTRIES);
    cr_assert(find_number(cache, 1));
    damage(&r, note);
    cr_assert_eq(stn_cache_verify(cache, &sweep, NULL), STN_OK);
    cr_assert(sweep.damaged == 0 && sweep.left == 0 && sweep.notes == NOTES);
    cr_assert(has_note(cache, 1));
    cr_assert_eq(r.times, 4);
    stn_cache_close(cache);
    free(away), free(entry), free(note);
    remove_temp_folder(dir);
}
