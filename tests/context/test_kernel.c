/* From (template, params) to a kernel: memory, packs, disk, NVRTC, driver, and each of them missing
 * or failing. With a fake driver and NVRTC, and the real cache. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"
#include "context/context.h"
#include "context/kernel.h"
#include "stand_ins.h"

static stn_context *context;
static stn_kernel_set set;
static stn_kernel *kernel;
static stn_cache_stats stats;

static const char *const params = "#pragma once\nconstexpr int ANSWER = 42;\n";

static void close_context(void) {
    stn_kernel_set_clear(&set);
    stn_context_destroy(context);
    context = NULL;
    cr_expect_eq(fake->modules, 0, "a module stayed loaded");
    cr_expect_eq(fake->pushed, 0);
}
static void end(void) {
    close_context();
    stand_ins_end();
}
TestSuite(kernel, .init = stand_ins_start, .fini = end);

static void open_with(stn_context_options options) {
    close_context();
    OK(stn_context_create(&options, &context, &error));
    set.context = context;
}
static void open_gpu(void) { open_with((stn_context_options){.device = STN_DEVICE_CUDA(0)}); }
static stn_status get(const char *text) { return stn_kernel_get(&set, "direct_tile", text, &kernel, &error); }
static void expect_kernel(const char *text) {
    cr_assert_eq(get(text), STN_OK, "%s", error.message);
    cr_expect_str_eq(kernel->name, "direct_tile");
    cr_expect_str_eq(kernel->params, text);
    cr_expect_str_eq(kernel->ptx, "PTX made up");
    cr_expect_eq(kernel->cubin_size, strlen("cubin made up"));
}
static void hide_nvrtc(void) { setenv("STENTOR_NVRTC_PATH", "/nowhere/libnvrtc.so", 1); }
#define COUNTERS(field) (stn_context_cache_stats(context, &stats), stats.field)

Test(kernel, compiled_once_then_remembered_then_stored) {
    open_gpu();
    expect_kernel(params);
    stn_kernel *first = kernel;
    cr_expect_not_null(kernel->module);
    expect_kernel(params);
    cr_expect_eq(kernel, first, "the same kernel is shared");
    cr_expect_eq(stand_ins_compiles(), 1);
    cr_expect_eq(stand_ins_compiled_with("=sm_90 constexpr int ANSWER = 42;"), 1, "the rendered params.cuh, the arch");
    cr_expect(COUNTERS(misses) == 1 && stats.memory_hits == 1 && stats.disk_hits == 0);
    cr_expect(stats.compile_seconds > 0 && stats.load_seconds > 0 && stats.bytes_written > 0);

    open_gpu();
    expect_kernel(params);
    cr_expect_eq(stand_ins_compiles(), 1);
    cr_expect(COUNTERS(disk_hits) == 1 && stats.misses == 0);
    cr_expect_null(context->compiler, "a stored kernel must not open NVRTC, which is slow");
    expect_kernel("#pragma once\nconstexpr int ANSWER = 43;\n");
    cr_expect_eq(stand_ins_compiles(), 2);
}
/* A kernel with a holder stays; of the others a bounded number does. */
Test(kernel, unloaded_when_nobody_holds_it) {
    open_with((stn_context_options){.device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:"});
    expect_kernel(params);
    const stn_kernel_set kept = set;
    stn_kernel *first = kernel;
    for (int i = 0; i < 1000; i++) {
        char text[64];
        snprintf(text, sizeof text, "constexpr int ANSWER = %d;\n", i);
        set = (stn_kernel_set){.context = context};
        expect_kernel(text);
        expect_kernel(text);
        cr_expect_eq(set.count, 1, "a set lists a kernel once");
        stn_kernel_set_clear(&set);
        cr_assert_leq(fake->modules, 258);
    }
    cr_expect(fake->waits > 0 && fake->waits < 20, "%d waits", fake->waits);
    set = kept;
    expect_kernel(params);
    cr_expect_eq(kernel, first, "the held kernel stayed");
    cr_expect_eq(set.count, 1);
    expect_kernel("constexpr int ANSWER = 999;\n");
    cr_expect_eq(stand_ins_compiles(), 1001);
    expect_kernel("constexpr int ANSWER = 0;\n");
    cr_expect_eq(stand_ins_compiles(), 1002, "an unloaded kernel is made again");
}

/* Plans hold what they launch, until they are destroyed. */
Test(kernel, plans_hold_their_kernels) {
    open_with((stn_context_options){.device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:"});
    stn_stencil *stencil;
    OK(stn_stencil_parse("heat-2d", &stencil, &error));
    stn_plan *old = NULL, *plan;
    stn_kernel_info before, now;
    for (size_t n = 8; n < 700; n++) {
        stn_problem p = STN_PROBLEM_INIT;
        p.stencil = stencil, p.steps = 100, p.extent[0] = p.extent[1] = n;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        options.strategy = "spectral";
        if (stn_plan_create(context, &p, &options, &plan, &error) != STN_OK) continue;
        if (!old) {
            old = plan;
            OK(stn_plan_kernel(old, 0, &before, &error));
        } else
            stn_plan_destroy(plan);
        cr_assert_leq(fake->modules, 300);
    }
    cr_assert_gt(stand_ins_compiles(), 300, "%d", (int)stand_ins_compiles());
    OK(stn_plan_kernel(old, 0, &now, &error));
    cr_expect_eq(now.cubin, before.cubin);
    cr_expect_str_eq(now.ptx, "PTX made up");
    stn_plan_destroy(old);
    stn_stencil_destroy(stencil);
}

Test(kernel, inputs_that_change_the_kernel) {
    open_gpu();
    expect_kernel(params);
    OK(stn_kernel_get(&set, "direct_line", params, &kernel, &error));
    cr_expect_eq(stand_ins_compiles(), 2, "the template's name");
    open_with((stn_context_options){.arch = "sm_80"});
    expect_kernel(params);
    cr_expect_eq(stand_ins_compiles(), 3, "the arch");
    cr_expect_null(kernel->module);
    close_context();
    stand_ins_rebuild_nvrtc();
    open_gpu();
    expect_kernel(params);
    cr_expect_eq(stand_ins_compiles(), 4, "the compiler");
    close_context();
    stand_ins_edit_a_template();
    open_gpu();
    expect_kernel(params);
    cr_expect_eq(stand_ins_compiles(), 5, "a template's text");
}
Test(kernel, without_nvrtc_a_stored_kernel_runs) {
    open_gpu();
    expect_kernel(params);
    close_context();
    hide_nvrtc();
    open_gpu();
    expect_kernel(params);
    cr_expect_eq(COUNTERS(disk_hits), 1u);
    cr_expect_eq(get("// other\n"), STN_ERROR_NO_COMPILER);
    cr_expect_null(kernel);
    cr_expect(strstr(error.message, "no usable NVRTC"), "%s", error.message);
    cr_expect(strstr(error.message, "/nowhere/libnvrtc.so"), "%s", error.message);
    stn_error first = error;
    cr_expect_eq(get("// other\n"), STN_ERROR_NO_COMPILER);
    cr_expect_str_eq(first.message, error.message);
}
Test(kernel, a_pack_serves_without_nvrtc_and_before_the_disk) {
    stn_pack_writer *writer;
    void *pack;
    size_t size;
    OK(stn_pack_writer_create(&writer, &error));
    open_with((stn_context_options){.arch = "sm_90"});
    stn_cache_record(context->cache, writer);
    expect_kernel(params);
    close_context();
    OK(stn_pack_finish(writer, &pack, &size, &error));
    stn_pack_writer_destroy(writer);

    open_with((stn_context_options){.device = STN_DEVICE_CUDA(0), .pack_data = pack, .pack_size = size});
    expect_kernel(params);
    cr_expect(COUNTERS(pack_hits) == 1 && stats.disk_hits == 0);
    close_context();

    hide_nvrtc();
    stn_context_options bare = {.cache_dir = ":memory:", .pack_data = pack, .pack_size = size};
    open_with(bare);
    expect_kernel(params);
    cr_expect_eq(COUNTERS(pack_hits), 1u);
    close_context();
    bare.arch = "sm_103"; /* newer than the pack's cubin: its PTX is used */
    open_with(bare);
    expect_kernel(params);
    cr_expect_eq(COUNTERS(pack_hits), 1u);
    close_context();
    bare.arch = "sm_80"; /* older: nothing in the pack can be used */
    open_with(bare);
    cr_expect_eq(get(params), STN_ERROR_NO_COMPILER);
    close_context();
    free(pack);
}
Test(kernel, a_stored_kernel_that_does_not_load_is_recompiled) {
    open_gpu();
    expect_kernel(params);
    open_gpu();
    fake->refused = "cubin";
    expect_kernel(params); /* The PTX is used instead. */
    cr_expect_eq(COUNTERS(rejected), 0u);
    open_gpu();
    fake->load = 209;
    cr_expect_eq(get(params), STN_ERROR_DRIVER, "what was just compiled is refused too");
    cr_expect_eq(stand_ins_compiles(), 2);
    cr_expect_eq(COUNTERS(rejected), 1u);
    fake->load = 0;
    expect_kernel(params); /* from disk, where the second compile was stored */
    cr_expect_eq(stand_ins_compiles(), 2);
}
Test(kernel, errors_are_passed_on) {
    open_gpu();
    FAILS(stn_kernel_get(&set, "no_such", params, &kernel, &error), STN_ERROR_INTERNAL, "no_such.cu");
    setenv("FAKE_NVRTC_LOG", "", 1);
    cr_expect_eq(get(params), STN_ERROR_NO_COMPILER);
    cr_expect(strstr(error.message, "builtins"), "%s", error.message);
    open_with((stn_context_options){.device = STN_DEVICE_HOST});
    cr_expect_eq(get(params), STN_ERROR_INTERNAL);
}

static stn_kernel *numbered(unsigned char number) {
    stn_kernel *made = calloc(1, sizeof *made);
    made->key.bytes[0] = number;
    return made;
}

Test(kernel, memory_trims_what_was_released_first) {
    stn_kernel_memory memory;
    stn_kernel *own[6], *found;
    stn_kernel_memory_open(&memory);
    for (unsigned char i = 0; i < 6; i++) {
        own[i] = numbered(i);
        cr_assert_eq(stn_kernel_memory_find(&memory, own[i], false, &found), STN_KERNEL_ABSENT);
        cr_assert_eq(stn_kernel_memory_find(&memory, own[i], false, &found), STN_KERNEL_PENDING);
        stn_kernel_memory_end(&memory, own[i], true);
    }
    /* two holds */
    cr_assert_eq(stn_kernel_memory_find(&memory, own[0], true, &found), STN_KERNEL_READY);
    cr_expect_eq(found, own[0]);
    for (int i = 0; i < 5; i++) stn_kernel_memory_release(&memory, own[i]);
    cr_expect_eq(memory.unheld, 4u, "1 to 4");
    (void)stn_kernel_memory_find(&memory, own[2], true, &found);
    stn_kernel_memory_release(&memory, own[2]);
    (void)stn_kernel_memory_find(&memory, own[3], true, &found); /* held again */
    stn_kernel_memory_trim(&memory, 1);
    cr_expect_eq(memory.unheld, 1u);
    const bool kept[] = {true, false, true, true, false, true};
    for (unsigned char i = 0; i < 6; i++) {
        stn_kernel *mine = numbered(i);
        const stn_kernel_found there = stn_kernel_memory_find(&memory, mine, true, &found);
        cr_expect_eq(there, kept[i] ? STN_KERNEL_READY : STN_KERNEL_ABSENT, "%d", i);
        if (there == STN_KERNEL_ABSENT) stn_kernel_memory_end(&memory, mine, false);
        if (there == STN_KERNEL_ABSENT)
            cr_expect_eq(stn_kernel_memory_find(&memory, mine, true, &found), STN_KERNEL_ABSENT, "it was not made");
        else
            free(mine);
    }
    stn_kernel_memory_close(&memory);
}

static void *get_in_thread(void *user) {
    stn_kernel **place = user;
    stn_kernel_set own = {.context = context};
    stn_status status = stn_kernel_get(&own, "direct_tile", params, place, NULL);
    stn_kernel_set_clear(&own);
    return (void *)(uintptr_t)status;
}
Test(kernel, threads_share_one_compile) {
    pthread_t threads[8];
    stn_kernel *kernels[8];
    open_gpu();
    for (int i = 0; i < 8; i++) cr_assert_eq(pthread_create(&threads[i], NULL, get_in_thread, &kernels[i]), 0);
    for (int i = 0; i < 8; i++) {
        void *status;
        pthread_join(threads[i], &status);
        cr_expect_null(status);
        cr_expect_eq(kernels[i], kernels[0]);
    }
    cr_expect_eq(stand_ins_compiles(), 1);
}

/* Processes that need the same kernels of a cold cache at the same time. */
enum { PROCESSES = 6, KERNELS = 2 };

static int get_in_process(int go) {
    char byte;
    if (read(go, &byte, 1) != 0) return 1; /* The other end is closed for all processes at once. */
    if (stn_context_create(&(stn_context_options){.device = STN_DEVICE_CUDA(0)}, &context, &error) != STN_OK) return 2;
    set.context = context;
    for (int i = 0; i < KERNELS; i++) {
        char text[64];
        snprintf(text, sizeof text, "#pragma once\nconstexpr int ANSWER = %d;\n", i);
        if (get(text) != STN_OK || strcmp(kernel->params, text) != 0) return 3;
    }
    stn_context_destroy(context);
    return 0;
}
Test(kernel, processes_share_one_compile, .timeout = 60) {
    int go[2];
    /* Long enough for all processes to have found nothing stored. */
    setenv("FAKE_NVRTC_WAIT", "150", 1);
    cr_assert_eq(pipe(go), 0);
    for (int i = 0; i < PROCESSES; i++) {
        pid_t child = fork();
        cr_assert(child >= 0);
        if (child) continue;
        close(go[1]);
        _exit(get_in_process(go[0]));
    }
    close(go[1]);
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        cr_assert(wait(&status) > 0);
        cr_expect_eq(status, 0, "a process ended with %x", (unsigned)status);
    }
    close(go[0]);
    cr_expect_eq(stand_ins_compiles(), KERNELS, "%d compiles", stand_ins_compiles());
}
