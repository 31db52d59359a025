/* Atomic output files. */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"
#include "files.h"
#include "io/npy.h"
#include "io/output.h"
#include "io/output_path.h"

TestSuite(output, .init = files_enter, .fini = files_leave);

static void expect_content(const char *name, const char *content) {
    size_t size = 0;
    unsigned char *bytes = file_get(name, &size);
    cr_assert_not_null(bytes, "%s is not there", name);
    cr_assert(size == strlen(content) && !memcmp(bytes, content, size), "%s has other content", name);
    free(bytes);
}

Test(output, commit_replaces_and_keeps_the_mode) {
    file_put("a", "old", 3);
    chmod("a", 0640);
    stn_output output;
    cr_assert_eq(stn_output_open("a", &output, NULL), STN_OK);
    fputs("new", output.file);
    fflush(output.file);
    expect_content("a", "old");
    cr_assert_eq(stn_output_commit(&output, NULL), STN_OK);
    expect_content("a", "new");
    struct stat about;
    stat("a", &about);
    cr_assert_eq(about.st_mode & 0777, 0640);
    cr_assert_eq(files_count(), 1);
}

/* Whatever the umask, a replaced file keeps its mode, the set-user-id bit too. */
Test(output, every_mode_is_kept) {
    static const mode_t modes[] = {0666, 0600, 0640, 0755, 04755, 02644};
    umask(077);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct stat about;
        file_put("a", "old", 3);
        cr_assert_eq(chmod("a", modes[i]), 0);
        cr_assert_eq(stn_output_write("a", "new", 3, NULL), STN_OK);
        stat("a", &about);
        cr_assert_eq(about.st_mode & 07777, modes[i], "%o became %o", modes[i], about.st_mode & 07777u);
        unlink("a");
    }
    cr_assert_eq(stn_output_write("a", "new", 3, NULL), STN_OK);
    struct stat about;
    stat("a", &about);
    cr_assert_eq(about.st_mode & 07777, 0600, "a new file has the umask's mode");
}

Test(output, abandon_leaves_the_old_file_and_nothing_else) {
    file_put("a", "old", 3);
    stn_output output;
    cr_assert_eq(stn_output_open("a", &output, NULL), STN_OK);
    fputs("half of it", output.file);
    stn_output_abandon(&output);
    expect_content("a", "old");
    cr_assert_eq(files_count(), 1);
}

Test(output, a_symbolic_link_stays_a_link) {
    file_put("target", "old", 3);
    cr_assert_eq(symlink("target", "link"), 0);
    stn_output output;
    cr_assert_eq(stn_output_open("link", &output, NULL), STN_OK);
    fputs("new", output.file);
    cr_assert_eq(stn_output_commit(&output, NULL), STN_OK);
    expect_content("target", "new");
    struct stat about;
    lstat("link", &about);
    cr_assert(S_ISLNK(about.st_mode));
}

Test(output, a_device_is_written_straight) {
    stn_output output;
    struct stat about;
    cr_assert_eq(stn_output_open("/dev/null", &output, NULL), STN_OK);
    fputs("gone", output.file);
    cr_assert_eq(stn_output_commit(&output, NULL), STN_OK);
    stat("/dev/null", &about);
    cr_assert(S_ISCHR(about.st_mode));
}

Test(output, a_full_device_is_an_error) {
    size_t extent[] = {100000};
    stn_array a = {0};
    stn_array_make(1, extent, STN_F64, &a, NULL);
    FAILS(stn_npy_write("/dev/full", &a, &error), STN_ERROR_IO, "No space");
    stn_array_clear(&a);
}

Test(output, places_that_cannot_be_written_are_named) {
    mkdir("folder", 0700);
    FAILS(stn_output_probe("folder", &error), STN_ERROR_IO, "folder");
    FAILS(stn_output_probe("absent/a.npy", &error), STN_ERROR_IO, "absent");
    cr_assert_eq(stn_output_probe("", &error), STN_ERROR_IO);
}

Test(output, probe_leaves_nothing) {
    cr_assert_eq(stn_output_probe("a", NULL), STN_OK);
    cr_assert_eq(files_count(), 0);
    file_put("a", "old", 3);
    cr_assert_eq(stn_output_probe("a", NULL), STN_OK);
    expect_content("a", "old");
    cr_assert_eq(files_count(), 1);
}

/* A file that only its owner may read is never readable by others, not even while it is written. */
Test(output, the_unfinished_file_is_as_closed_as_the_old_one) {
    static const mode_t modes[] = {0600, 0400, 0640, 0};
    umask(022);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct stat about;
        stn_output output;
        file_put("a", "old", 3);
        chmod("a", modes[i]);
        if (access("a", W_OK) != 0) { /* root may write all of them */
            unlink("a");
            continue;
        }
        cr_assert_eq(stn_output_open("a", &output, NULL), STN_OK);
        cr_assert_eq(stat(output.temp, &about), 0);
        cr_assert_eq(about.st_mode & 0777 & ~modes[i], 0, "mode %o while it replaces %o", about.st_mode & 0777u,
                     modes[i]);
        cr_assert_eq(stn_output_commit(&output, NULL), STN_OK);
        stat("a", &about);
        cr_assert_eq(about.st_mode & 0777, modes[i]);
        unlink("a");
    }
}

Test(output, another_name_of_one_place) {
    mkdir("folder", 0700);
    file_put("a", "old", 3);
    cr_assert_eq(link("a", "hard") | symlink("b", "to_b") | symlink("folder", "too") | symlink("x", "x"), 0);
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {{"a", "./a", true},
                 {"a", "b", false},
                 {"a", "hard", false},
                 {"b", "to_b", true},
                 {"folder/n", "too/n", true},
                 {"folder/n", "n", false},
                 {"x", "x", false},
                 {"absent/a", "absent/a", false},
                 {"/dev/null", "/dev/../dev/null", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        cr_expect_eq(stn_output_path_same(cases[i].a, cases[i].b), cases[i].same, "%s, %s", cases[i].a, cases[i].b);
}

Test(output, a_signal_removes_the_unfinished_file) {
    file_put("a", "old", 3);
    pid_t child = fork();
    if (child == 0) {
        stn_output output;
        stn_output_catch_signals();
        if (stn_output_open("a", &output, NULL) != STN_OK) _exit(1);
        fputs("half", output.file);
        fflush(output.file);
        if (files_count() != 2) _exit(2);
        raise(SIGTERM);
        _exit(3);
    }
    int state;
    waitpid(child, &state, 0);
    cr_assert(WIFSIGNALED(state) && WTERMSIG(state) == SIGTERM, "state %d", state);
    expect_content("a", "old");
    cr_assert_eq(files_count(), 1);
}
