/* Sets up and removes the surroundings of a context; see stand_ins.h. */
#include "stand_ins.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fake_state *fake;
char stand_ins_folder[64];
static char log_file[80];

void stand_ins_start(void) {
    strcpy(stand_ins_folder, "/tmp/stentor-context-XXXXXX");
    cr_assert(mkdtemp(stand_ins_folder));
    snprintf(log_file, sizeof log_file, "%s/compiles", stand_ins_folder);
    setenv("STENTOR_CACHE_DIR", stand_ins_folder, 1);
    setenv("FAKE_NVRTC_LOG", log_file, 1);
    setenv("STENTOR_CUDA_PATH", FAKE_DRIVER, 1);
    setenv("STENTOR_NVRTC_PATH", FAKE_NVRTC, 1);
    setenv("STENTOR_CUFFT_PATH", FAKE_NVRTC, 1);
    setenv("STENTOR_CUBLAS_PATH", "/nowhere", 1);
    unsetenv("STENTOR_TEMPLATE_DIR");
    void *library = dlopen(FAKE_DRIVER, RTLD_NOW);
    cr_assert(library, "%s", dlerror());
    fake_state *(*state)(void);
    void *entry = dlsym(library, "fake_driver_state");
    memcpy(&state, &entry, sizeof entry);
    fake = state();
}

void stand_ins_end(void) {
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", stand_ins_folder);
    cr_expect_eq(system(command), 0);
}

/* Runs a command of a shell in the cache folder. */
static void run(const char *format, const char *source) {
    char command[512];
    const int used = snprintf(command, sizeof command, "cd %s && ", stand_ins_folder);
    snprintf(command + used, sizeof command - (size_t)used, format, source);
    cr_assert_eq(system(command), 0);
}

void stand_ins_edit_a_template(void) {
    char path[80];
    run("cp -r %s t && echo '// edited' >> t/device/boundary.cuh", TEMPLATE_FOLDER);
    snprintf(path, sizeof path, "%s/t", stand_ins_folder);
    setenv("STENTOR_TEMPLATE_DIR", path, 1);
}

void stand_ins_rebuild_nvrtc(void) {
    char path[80];
    run("cp %s other.so && objcopy --remove-section .note.gnu.build-id other.so", FAKE_NVRTC);
    snprintf(path, sizeof path, "%s/other.so", stand_ins_folder);
    setenv("STENTOR_NVRTC_PATH", path, 1);
}

int stand_ins_compiled_with(const char *text) {
    FILE *file = fopen(log_file, "r");
    char line[1024];
    int lines = 0;
    while (file && fgets(line, sizeof line, file)) lines += strstr(line, text) != NULL;
    if (file) fclose(file);
    return lines;
}

int stand_ins_compiles(void) { return stand_ins_compiled_with(""); }
