/* Where NVRTC is searched for, in which order, and the message if none is usable. With fake
 * libraries; needs no toolkit. */
#include <stdio.h>
#include <stdlib.h>

#include "../expect.h"
#include "compile/compiler.h"
#include "compile/library.h"

static char home[64];
static stn_compiler *compiler;

/* Runs a shell command; H is the test's own folder. */
static void shell(const char *command) {
    char line[4096];
    snprintf(line, sizeof line, "H=%s; NEW=%s; OLD=%s; %s", home, NEW_NVRTC, OLD_NVRTC, command);
    cr_assert_eq(system(line), 0, "%s", line);
}
static void make_home(void) {
    strcpy(home, "/tmp/stentor-search-XXXXXX");
    cr_assert(mkdtemp(home));
    setenv("HOME", home, 1);
    setenv("PATH", "/usr/bin:/bin", 1);
    const char *gone[] = {"STENTOR_NVRTC_PATH", "VIRTUAL_ENV", "CONDA_PREFIX",
                          "LD_LIBRARY_PATH",    "CUDA_HOME",   "CUDA_PATH"};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) unsetenv(gone[i]);
}
static void remove_home(void) { shell("rm -rf $H"); }
TestSuite(search, .init = make_home, .fini = remove_home);

static void expect_found(const char *below_home) {
    char path[256];
    stn_compiler_location place;
    snprintf(path, sizeof path, "%s/%s", home, below_home);
    cr_assert(stn_compiler_locate(&place), "%s was not located", path);
    cr_expect_str_eq(place.path, path);
    OK(stn_compiler_open(NULL, &compiler, &error));
    cr_expect_str_eq(stn_compiler_path(compiler), path);
    cr_expect_str_eq(stn_compiler_identity(compiler), place.identity);
    stn_compiler_close(compiler);
}
static void expect_missing(const char *part) {
    cr_expect_eq(stn_compiler_open(NULL, &compiler, &error), STN_ERROR_NO_COMPILER);
    cr_expect_null(compiler);
    cr_expect(strstr(error.message, part), "\"%s\" does not say \"%s\"", error.message, part);
}
static void set(const char *variable, const char *below_home) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", home, below_home);
    setenv(variable, path, 1);
}

#define WHEEL "lib/python3.11/site-packages/nvidia/"

Test(search, locations_are_searched_in_order) {
    shell("mkdir -p $H/cuda/lib64; cp $NEW $H/cuda/lib64/libnvrtc.so.12");
    set("CUDA_HOME", "cuda");
    shell("mkdir -p $H/path; cp $NEW $H/path/libnvrtc.so.12");
    set("LD_LIBRARY_PATH", "path");
    expect_found("path/libnvrtc.so.12");
    shell("mkdir -p $H/.local/" WHEEL "cuda_nvrtc/lib; cp $NEW $H/.local/" WHEEL "cuda_nvrtc/lib/libnvrtc.so.12");
    expect_found(".local/" WHEEL "cuda_nvrtc/lib/libnvrtc.so.12");
    shell("mkdir -p $H/.local/" WHEEL "cu13/lib; cp $NEW $H/.local/" WHEEL "cu13/lib/libnvrtc.so.13");
    expect_found(".local/" WHEEL "cu13/lib/libnvrtc.so.13");
    shell("mkdir -p $H/venv/" WHEEL "cu13/lib; cp $NEW $H/venv/" WHEEL "cu13/lib/libnvrtc.so.13");
    set("VIRTUAL_ENV", "venv");
    expect_found("venv/" WHEEL "cu13/lib/libnvrtc.so.13");
    shell("cp $NEW $H/libmine.so");
    set("STENTOR_NVRTC_PATH", "libmine.so");
    expect_found("libmine.so");
    set("STENTOR_NVRTC_PATH", "path"); /* a folder is accepted too */
    expect_found("path/libnvrtc.so.12");
}
Test(search, the_newest_of_a_folder) {
    shell(
        "mkdir $H/path; for v in 9 12 13 13.0.48; do cp $NEW $H/path/libnvrtc.so.$v; done; "
        "touch $H/path/libnvrtc-builtins.so.14 $H/path/libnvrtc.alt.so.14");
    set("STENTOR_NVRTC_PATH", "path");
    expect_found("path/libnvrtc.so.13.0.48");
}
Test(search, python_on_the_path) {
    shell("mkdir -p $H/py/bin $H/py/" WHEEL "cu13/lib; cp $NEW $H/py/" WHEEL
          "cu13/lib/libnvrtc.so.13; "
          "touch $H/py/bin/python3; chmod +x $H/py/bin/python3");
    set("PATH", "py/bin");
    expect_found("py/bin/../" WHEEL "cu13/lib/libnvrtc.so.13");
    setenv("PATH", "/usr/bin:/bin", 1);
}
Test(search, a_too_old_library_is_skipped) {
    shell("mkdir -p $H/venv/" WHEEL "cuda_nvrtc/lib $H/path; cp $OLD $H/venv/" WHEEL
          "cuda_nvrtc/lib/libnvrtc.so.11.2; "
          "cp $NEW $H/path/libnvrtc.so.12");
    set("VIRTUAL_ENV", "venv");
    set("LD_LIBRARY_PATH", "path");
    OK(stn_compiler_open(NULL, &compiler, &error));
    cr_expect(strstr(stn_compiler_path(compiler), "/path/libnvrtc.so.12"), "%s", stn_compiler_path(compiler));
    stn_compiler_close(compiler);
}
Test(search, the_variable_names_an_unusable_library) {
    shell("cp $OLD $H/libnvrtc.so.11; echo no > $H/text; mkdir $H/empty");
    setenv("STENTOR_NVRTC_PATH", NO_NVRTC, 1);
    expect_missing("lacks nvrtcGetNumSupportedArchs and is no NVRTC of 12.0 or later");
    set("STENTOR_NVRTC_PATH", "libnvrtc.so.11");
    expect_missing("libnvrtc.so.11 is NVRTC 11.3 and 12.0 is needed");
    expect_missing("which STENTOR_NVRTC_PATH names");
    set("STENTOR_NVRTC_PATH", "text");
    expect_missing("/text could not be opened");
    set("STENTOR_NVRTC_PATH", "empty");
    expect_missing("/empty");
    set("STENTOR_NVRTC_PATH", "gone/libnvrtc.so");
    expect_missing("/gone/libnvrtc.so");
    stn_compiler_location place;
    cr_expect_not(stn_compiler_locate(&place));
}
/* Opening a FIFO would wait for a writer: these tests would hang. */
Test(search, special_files_are_not_opened, .timeout = 20) {
    stn_compiler_location place;
    char build[160], path[256];
    shell("mkfifo $H/fifo; mkdir $H/folder $H/path; mkfifo $H/folder/libnvrtc.so.13 $H/path/libnvrtc.so.13");
    snprintf(path, sizeof path, "%s/fifo", home);
    cr_expect_not(stn_library_build(path, build, sizeof build));
    set("STENTOR_NVRTC_PATH", "fifo");
    expect_missing("/fifo is no file");
    cr_expect_not(stn_compiler_locate(&place));
    set("STENTOR_NVRTC_PATH", "folder");
    expect_missing("/folder/libnvrtc.so.13 is no file");
    shell("cp $NEW $H/folder/libnvrtc.so.12; mkfifo $H/folder/libnvrtc-builtins.so.12.3");
    expect_found("folder/libnvrtc.so.12");
    unsetenv("STENTOR_NVRTC_PATH");
    set("LD_LIBRARY_PATH", "path");
    shell("cp $NEW $H/path/libnvrtc.so.12");
    expect_found("path/libnvrtc.so.12");
    shell("mkdir -p $H/venv/" WHEEL "cu13/lib; mkfifo $H/venv/" WHEEL "cu13/lib/libnvrtc.so.14; cp $NEW $H/venv/" WHEEL
          "cu13/lib/libnvrtc.so.13");
    set("VIRTUAL_ENV", "venv");
    expect_found("venv/" WHEEL "cu13/lib/libnvrtc.so.13");
}
Test(search, advice_names_the_wheel) {
    const struct {
        const stn_library_spec *spec;
        const char *command;
    } rows[] = {{&stn_library_nvrtc, "`pip install nvidia-cuda-nvrtc`"},
                {&stn_library_cufft, "`pip install nvidia-cufft`"},
                {&stn_library_cublas, "`pip install nvidia-cublas`"}};
    for (size_t i = 0; i < 3; i++) {
        stn_text text = STN_TEXT_EMPTY;
        stn_library_advice(rows[i].spec, &text);
        cr_expect(strstr(text.data, rows[i].command), "%s", text.data);
        stn_text_clear(&text);
    }
}
Test(search, chips) {
    setenv("STENTOR_NVRTC_PATH", NEW_NVRTC, 1);
    OK(stn_compiler_open(NULL, &compiler, &error));
    cr_expect_eq(stn_compiler_newest_sm(compiler), 90);
    cr_expect(stn_compiler_knows(compiler, 80) && !stn_compiler_knows(compiler, 86));
    stn_compile_request request = {.name = "k.cu", .source = "", .sm = 70};
    stn_compile_output output;
    FAILS(stn_compile(compiler, &request, &output, &error), STN_ERROR_NO_COMPILER, "sm_75 and newer, not for sm_70");
    request.sm = 80;
    FAILS(stn_compile(compiler, &request, &output, &error), STN_ERROR_NO_COMPILER, "libnvrtc-builtins.so.12.3");
    stn_compiler_close(compiler);
}
Test(search, build_ids) {
    char a[160], b[160];
    cr_assert(stn_library_build(NEW_NVRTC, a, sizeof a));
    cr_assert(stn_library_build(OLD_NVRTC, b, sizeof b));
    cr_expect_str_neq(a, b);
    cr_expect(!strncmp(a, "build ", 6) && strlen(a) == 6 + 40, "%s", a);
    shell("cp $NEW $H/stripped.so; objcopy --remove-section .note.gnu.build-id $H/stripped.so");
    char path[256];
    snprintf(path, sizeof path, "%s/stripped.so", home);
    cr_assert(stn_library_build(path, b, sizeof b));
    cr_expect(!strncmp(b, "file stripped.so of ", 20), "%s", b);
    /* Truncated anywhere, a file gives an answer or none, and is never read past its end. */
    snprintf(path, sizeof path, "%s/cut.so", home);
    for (int size = 0; size < 4096; size += 400) {
        char command[128];
        snprintf(command, sizeof command, "head -c %d $NEW > $H/cut.so", size);
        shell(command);
        cr_expect_eq(stn_library_build(path, b, sizeof b), size >= 64, "%d bytes", size);
        cr_expect(size < 64 || !strcmp(a, b) || !strncmp(b, "file cut.so", 11), "%d bytes: %s", size, b);
    }
    /* Nor does any wrong byte in its headers and notes cause a bad read (a sanitizer would report
     * it). */
    shell("cp $NEW $H/cut.so");
    FILE *file = fopen(path, "r+b");
    cr_assert(file);
    for (long at = 0; at < 1024; at++) {
        fseek(file, at, SEEK_SET);
        int byte = fgetc(file);
        for (int wrong = 0; wrong < 256; wrong += 85) {
            fseek(file, at, SEEK_SET);
            fputc(wrong, file);
            fflush(file);
            (void)stn_library_build(path, b, sizeof b);
        }
        fseek(file, at, SEEK_SET);
        fputc(byte, file);
    }
    fclose(file);
    cr_expect(stn_library_build(path, b, sizeof b) && !strcmp(a, b));
    cr_expect_not(stn_library_build("/etc/passwd", b, sizeof b));
    cr_expect_not(stn_library_build("/etc", b, sizeof b));
    cr_expect_not(stn_library_build("/nowhere", b, sizeof b));
}
