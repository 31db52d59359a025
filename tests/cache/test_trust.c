/* Folders that others could have written are refused with one warning; unusable folders cost one
 * warning. The program continues in either case. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../expect.h"
#include "helpers.h"

enum { NOBODY = 65534 };

TestSuite(trust, .init = open_folder, .fini = close_folder);

/* Refused: one warning, memory only, nothing read, nothing written. */
static void expect_refused(const char *path, const char *reason) {
    counting_log_init(&heard);
    cache = open_cache(path, &heard);
    for (unsigned i = 0; i < 3; i++) {
        store_number(cache, i, 8);
        cr_assert_not(find_number(cache, i));
    }
    cr_assert_eq(heard.warnings, 1, "%u warnings", heard.warnings);
    cr_assert_not_null(strstr(heard.last, reason), "%s", heard.last);
    cr_assert_not_null(strstr(heard.last, path), "%s", heard.last);
    cr_assert_null(cache->folder.path);
    cr_assert_str_eq(stn_cache_dir_problem(cache), heard.last);
    stn_cache_collection counts;
    FAILS(stn_cache_clear(cache, &counts, &error), STN_ERROR_IO, reason);
    close_cache();
}

static void expect_shared_works(const char *path) {
    counting_log_init(&heard);
    stn_cache_options options = {.dir = path, .shared = true, .logger = &heard.logger};
    cr_assert_eq(stn_cache_open(&options, &cache, NULL), STN_OK);
    store_number(cache, 1, 8);
    cr_assert(find_number(cache, 1));
    cr_assert_eq(heard.warnings, 0, "%s", heard.last);
}

Test(trust, a_folder_that_others_may_write_is_refused) {
    cr_assert_eq(chmod(dir, 0770), 0);
    expect_refused(dir, "may be written by other users");
    cr_assert_eq(chmod(dir, 0702), 0);
    expect_refused(dir, "may be written by other users");
    cr_assert_eq(count_files(dir, NULL), 0);
    expect_shared_works(dir);
}

Test(trust, a_symlink_is_refused) {
    char *real = in_dir("real"), *link = in_dir("link");
    cr_assert_eq(mkdir(real, 0700), 0);
    cr_assert_eq(symlink(real, link), 0);
    expect_refused(link, "symlink");
    expect_shared_works(link);
}

Test(trust, a_file_in_place_of_the_folder_is_refused) {
    char *file = in_dir("file");
    write_file(file, "x", 1);
    expect_refused(file, "no folder");
    expect_refused(in_dir("file/below"), "no folder");
}

Test(trust, a_folder_of_another_user_is_refused) {
    if (geteuid() != 0) cr_skip("needs root to make another user's folder");
    cr_assert_eq(chown(dir, NOBODY, NOBODY), 0);
    expect_refused(dir, "not owned by this user");
    expect_shared_works(dir);
}

/* Stores an entry, tampers with its subfolder or file, and expects a miss. */
static void expect_not_given(void (*spoil)(const char *entry, const char *sub)) {
    close_folder();
    open_folder();
    cache = open_cache(dir, &heard);
    store_number(cache, 1, 8);
    cr_assert(find_number(cache, 1));
    char *entry = entry_at(1), *sub = strdup(entry);
    *strrchr(sub, '/') = '\0';
    spoil(entry, sub);
    cr_assert_not(find_number(cache, 1));
    cr_assert_not(find_number(cache, 1));
    cr_assert(heard.warnings <= 1);
    free(sub);
}

static void open_file_to_all(const char *entry, const char *sub) {
    (void)sub;
    cr_assert_eq(chmod(entry, 0666), 0);
}
static void open_sub_to_all(const char *entry, const char *sub) {
    (void)entry;
    cr_assert_eq(chmod(sub, 0777), 0);
}
static void link_file(const char *entry, const char *sub) {
    char *away = path_in(sub, "away");
    cr_assert_eq(rename(entry, away), 0);
    cr_assert_eq(symlink(away, entry), 0);
    free(away);
}
static void link_sub(const char *entry, const char *sub) {
    (void)entry;
    char *away;
    cr_assert(asprintf(&away, "%s-away", sub) > 0);
    cr_assert_eq(rename(sub, away), 0);
    cr_assert_eq(symlink(away, sub), 0);
    free(away);
}
static void fifo_for_file(const char *entry, const char *sub) {
    (void)sub;
    cr_assert_eq(unlink(entry), 0);
    cr_assert_eq(mkfifo(entry, 0600), 0);
}
static void folder_for_file(const char *entry, const char *sub) {
    (void)sub;
    cr_assert_eq(unlink(entry), 0);
    cr_assert_eq(mkdir(entry, 0700), 0);
}

Test(trust, subfolders_and_files_are_checked_too, .timeout = 20) {
    expect_not_given(open_file_to_all);
    expect_not_given(open_sub_to_all);
    expect_not_given(link_file);
    expect_not_given(link_sub);
    expect_not_given(fifo_for_file);
    expect_not_given(folder_for_file);
}

/* A read-only folder: hits are served, all stores together cost one warning. */
static void expect_read_only(const char *path) {
    cache = open_cache(path, &heard);
    cr_assert(find_number(cache, 1), "%s", heard.last);
    for (unsigned i = 2; i < 600; i++) store_number(cache, i, 8); /* in every subfolder */
    stn_key key = key_of_number(5);
    stn_folder_close(stn_cache_lock_key(cache, &key));
    cr_assert_eq(heard.warnings, 1, "%u warnings, %s", heard.warnings, heard.last);
    cr_assert(find_number(cache, 1));
    cr_assert_not(find_number(cache, 3));
    close_cache();
}

static void one_entry(const char *path) {
    stn_cache *writer = open_cache(path, NULL);
    store_number(writer, 1, 8);
    cr_assert(find_number(writer, 1));
    stn_cache_close(writer);
}

Test(trust, a_folder_without_write_permission_is_read_with_one_warning) {
    as_nobody();
    one_entry(dir);
    char *sub = entry_at(1);
    *strrchr(sub, '/') = '\0';
    cr_assert_eq(chmod(sub, 0500), 0);
    cr_assert_eq(chmod(dir, 0500), 0);
    expect_read_only(dir);
    chmod(dir, 0700);
    chmod(sub, 0700);
}

Test(trust, a_parent_without_write_permission_costs_one_warning) {
    as_nobody();
    cr_assert_eq(chmod(dir, 0500), 0);
    cache = open_cache(in_dir("below/it"), &heard);
    cr_assert_eq(heard.warnings, 0, "nothing was stored yet");
    for (unsigned i = 0; i < 3; i++) {
        store_number(cache, i, 8);
        cr_assert_not(find_number(cache, i));
    }
    cr_assert_eq(heard.warnings, 1);
    cr_assert_not_null(strstr(heard.last, "Permission denied"), "%s", heard.last);
    chmod(dir, 0700);
}

Test(trust, a_read_only_file_system_is_read_with_one_warning) {
    if (!mount_small(dir, "size=1m")) cr_skip("mounting is not allowed here");
    one_entry(in_dir("cache"));
    cr_assert_eq(mount("stentor-test", dir, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    expect_read_only(in_dir("cache"));
    cr_assert_eq(umount(dir), 0);
}

Test(trust, a_full_file_system_costs_one_warning_and_loses_nothing) {
    if (!mount_small(dir, "size=256k")) cr_skip("mounting is not allowed here");
    cache = open_cache(in_dir("cache"), &heard);
    unsigned kept = 0, lost = 0;
    for (unsigned i = 0; i < 200; i++) store_number(cache, i, 9000);
    for (unsigned i = 0; i < 200; i++) find_number(cache, i) ? kept++ : lost++;
    cr_assert(kept > 5 && lost > 100, "%u kept, %u lost", kept, lost);
    cr_assert_eq(heard.warnings, 1, "%u warnings", heard.warnings);
    cr_assert_not_null(strstr(heard.last, "No space left"), "%s", heard.last);
    stn_cache_stats stats;
    stn_cache_stats_get(cache, &stats);
    cr_assert_eq(stats.rejected, 0, "nothing half-written was ever in place");
    cr_assert_eq(count_files(dir, ".tmp-"), 0);
    stn_cache_collection counts; /* There is space again, so storing works again. */
    cr_assert_eq(stn_cache_clear(cache, &counts, NULL), STN_OK);
    store_number(cache, 1, 9000);
    cr_assert(find_number(cache, 1));
    close_cache();
    cr_assert_eq(umount(dir), 0);
}

Test(trust, a_deleted_folder_is_made_again) {
    char *there = in_dir("cache");
    cache = open_cache(there, &heard);
    store_number(cache, 1, 8);
    cr_assert_eq(rename(there, in_dir("away")), 0);
    cr_assert_not(find_number(cache, 1));
    store_number(cache, 1, 8);
    cr_assert(find_number(cache, 1));
    cr_assert_eq(heard.warnings, 0, "%s", heard.last);
}

/* ---- where the folder is --------------------------------------------------------------------- */

static void expect_dir(const char *path) {
    static const char *const defaults[] = {NULL, ""}; /* no folder given, and an empty one */
    for (int i = 0; i < 2; i++) {
        stn_cache *opened = open_cache(defaults[i], NULL);
        if (path)
            cr_assert_str_eq(opened->folder.path, path);
        else
            cr_assert_null(opened->folder.path);
        stn_cache_close(opened);
    }
}

Test(trust, the_environment_gives_the_folder) {
    unsetenv("STENTOR_CACHE_DIR");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/nowhere/home", 1);
    expect_dir("/nowhere/home/.cache/stentor");
    setenv("XDG_CACHE_HOME", "/nowhere/xdg", 1);
    expect_dir("/nowhere/xdg/stentor");
    setenv("XDG_CACHE_HOME", "relative", 1);
    expect_dir("/nowhere/home/.cache/stentor");
    setenv("XDG_CACHE_HOME", "", 1);
    expect_dir("/nowhere/home/.cache/stentor");
    setenv("STENTOR_CACHE_DIR", "/nowhere/own", 1);
    expect_dir("/nowhere/own");
    setenv("STENTOR_CACHE_DIR", ":memory:", 1);
    expect_dir(NULL);
    cr_assert_eq(chdir("/tmp"), 0);
    setenv("STENTOR_CACHE_DIR", "some-relative-folder", 1);
    expect_dir("/tmp/some-relative-folder");
    unsetenv("STENTOR_CACHE_DIR");
    unsetenv("HOME");
    expect_dir(NULL);
}
