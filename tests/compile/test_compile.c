/* Compiles text to PTX and cubin with the real NVRTC; skipped without one. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../expect.h"
#include "compile/compiler.h"

static stn_compiler *compiler;
static char said[65536];

static void hear(void *user, stn_log_level level, const char *message) {
    if (level != STN_LOG_ERROR && level != STN_LOG_WARNING) return;
    strncat(user, message, sizeof said - strlen(said) - 2);
    strcat(user, "\n");
}
static const stn_logger logger = {hear, said};
static void open_compiler(void) { OK(stn_compiler_open(&logger, &compiler, &error)); }
static void close_compiler(void) { stn_compiler_close(compiler); }
TestSuite(compile, .init = open_compiler, .fini = close_compiler);

static const char *const source =
    "#include \"device/words.cuh\"\n#include \"params.cuh\"\n"
    "extern \"C\" __global__ void twice(double *p) { p[threadIdx.x] = FACTOR * word(p[threadIdx.x]); }\n";
static const stn_template headers[] = {
    {"device/words.cuh", "#pragma once\n__device__ double word(double x) { return x + 1; }\n", 0},
    {"params.cuh", "#pragma once\nconstexpr int FACTOR = 2;\n", 0}};

static stn_compile_request request_for(int sm) {
    return (stn_compile_request){"twice.cu", source, headers, 2, stn_compile_options, stn_compile_option_count,
                                 sm,         NULL};
}

Test(compile, ptx_and_cubin_of_one_compile) {
    stn_compile_request request = request_for(90);
    stn_compile_output output;
    OK(stn_compile(compiler, &request, &output, &error));
    cr_assert(output.ptx && output.cubin);
    cr_expect_eq(output.ptx_size, strlen(output.ptx));
    cr_expect(strstr(output.ptx, ".target sm_90") && strstr(output.ptx, ".entry twice("), "%s", output.ptx);
    cr_expect(output.cubin_size > 500 && !memcmp(output.cubin, "\177ELF", 4));
    cr_expect_gt(output.seconds, 0);
    stn_compile_output_free(&output);
}
Test(compile, a_chip_of_the_future_gets_ptx_only) {
    stn_compile_request request = request_for(stn_compiler_newest_sm(compiler) + 77);
    stn_compile_output output;
    char target[32], warning[64];
    OK(stn_compile(compiler, &request, &output, &error));
    snprintf(warning, sizeof warning, "knows no sm_%d: it makes PTX for sm_%d", request.sm,
             stn_compiler_newest_sm(compiler));
    cr_expect(strstr(said, warning), "the log: %s", said);
    snprintf(target, sizeof target, ".target sm_%d", stn_compiler_newest_sm(compiler));
    cr_expect(output.ptx && strstr(output.ptx, target), "%s", output.ptx);
    cr_expect(!output.cubin && !output.cubin_size);
    stn_compile_output_free(&output);
}
Test(compile, an_error_carries_the_line_at_fault) {
    stn_compile_request request = request_for(80);
    request.source = "#warning first\n\nextern \"C\" __global__ void k() { nonsense(); }\n";
    stn_compile_output output;
    cr_expect_eq(stn_compile(compiler, &request, &output, &error), STN_ERROR_COMPILE);
    cr_expect(!output.ptx && !output.cubin);
    cr_expect(strstr(error.message, "twice.cu did not compile for sm_80"), "%s", error.message);
    cr_expect(strstr(error.message, "twice.cu(3): error: identifier \"nonsense\" is undefined"), "%s", error.message);
    cr_expect(strstr(said, "nonsense") && strstr(said, "1 error detected"), "the log: %s", said);
}
Test(compile, too_much_shared_memory_is_unsupported) {
    stn_compile_request request = request_for(80);
    request.source =
        "extern \"C\" __global__ void k(int *a) { __shared__ int b[1 << 14]; b[a[1]] = 1; a[0] = b[a[2]]; }";
    stn_compile_output output;
    FAILS(stn_compile(compiler, &request, &output, &error), STN_ERROR_UNSUPPORTED, "too much shared data");
}
Test(compile, a_missing_include) {
    stn_compile_request request = request_for(80);
    request.header_count = 1;
    stn_compile_output output;
    FAILS(stn_compile(compiler, &request, &output, &error), STN_ERROR_COMPILE, "params.cuh");
}
Test(compile, an_unknown_option) {
    const char *options[] = {"--no-such-option"};
    stn_compile_request request = request_for(80);
    request.options = options;
    request.option_count = 1;
    stn_compile_output output;
    FAILS(stn_compile(compiler, &request, &output, &error), STN_ERROR_COMPILE, "no-such-option");
}

/* Every template compiles with params.cuh's defaults, and every header alone, for each kind of
 * chip. */
Test(compile, embedded_templates) {
    stn_templates set;
    OK(stn_templates_load(&set, &error));
    for (size_t i = 0; i < set.count; i++) {
        char text[256];
        bool kernel = !strstr(set.list[i].name, ".cuh");
        snprintf(text, sizeof text, "#include \"%s\"\n", set.list[i].name);
        const int chips[] = {80, 90, 100};
        for (size_t c = 0; c < 3; c++) {
            if (!stn_compiler_knows(compiler, chips[c])) continue;
            stn_compile_request request = {
                "alone.cu", text, set.list, set.count, stn_compile_options, stn_compile_option_count, chips[c], NULL};
            stn_compile_output output;
            OK(stn_compile(compiler, &request, &output, &error));
            cr_expect(!kernel || (output.ptx && strstr(output.ptx, ".entry")), "%s holds no kernel", set.list[i].name);
            stn_compile_output_free(&output);
        }
    }
    stn_templates_free(&set);
}

/* Without preloading, an NVRTC outside of the loader's path cannot compile. */
Test(compile, builtins_are_loaded_from_its_folder) {
    char line[4096];
    bool loaded = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    cr_assert(maps);
    while (fgets(line, sizeof line, maps)) loaded = loaded || strstr(line, "/libnvrtc-builtins.so.");
    fclose(maps);
    cr_expect(loaded);
}

static void *compile_one(void *user) {
    stn_compile_request request = request_for(90);
    stn_status status = stn_compile(compiler, &request, user, NULL);
    return (void *)(uintptr_t)status;
}
Test(compile, threads_get_the_same_bytes) {
    pthread_t threads[4];
    stn_compile_output outputs[4];
    for (int i = 0; i < 4; i++) cr_assert_eq(pthread_create(&threads[i], NULL, compile_one, &outputs[i]), 0);
    for (int i = 0; i < 4; i++) {
        void *status;
        pthread_join(threads[i], &status);
        cr_assert_null(status);
        cr_expect_eq(outputs[i].cubin_size, outputs[0].cubin_size);
        cr_expect(!memcmp(outputs[i].cubin, outputs[0].cubin, outputs[0].cubin_size));
    }
    for (int i = 0; i < 4; i++) stn_compile_output_free(&outputs[i]);
}

/* Runs before Criterion starts, which cannot end with "skipped". */
__attribute__((constructor)) static void skip_without_nvrtc(void) {
    stn_compiler_location place;
    if (stn_compiler_locate(&place)) return;
    stn_error why = {0};
    if (stn_compiler_open(NULL, &compiler, &why) == STN_OK) return; /* The loader found one. */
    printf("skipped: %s\n", why.message);
    fflush(stdout);
    _exit(77);
}
