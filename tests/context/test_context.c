/* Contexts: choosing a device, memory, and the messages about missing libraries. With a fake driver
 * and NVRTC. */
#include <jansson.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../expect.h"
#include "context/context.h"
#include "context/kernel.h"
#include "context/search_cache.h"
#include "stand_ins.h"

static stn_context *context;

/* The tests include a request for too much memory. */
__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

static stn_status create(int device) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = device;
    return stn_context_create(&options, &context, &error);
}
static void close_context(void) {
    stn_context_destroy(context);
    context = NULL;
}
static void open_on(int device) {
    close_context();
    OK(create(device));
}
static void end(void) {
    close_context();
    stand_ins_end();
}
TestSuite(context, .init = stand_ins_start, .fini = end);

static void expect_error(stn_status status, stn_status wanted, const char *part) {
    cr_expect_eq(status, wanted, "%s, not %s: %s", stn_status_string(status), stn_status_string(wanted), error.message);
    cr_expect_null(context);
    cr_expect(strstr(error.message, part), "\"%s\" does not say \"%s\"", error.message, part);
}

Test(context, auto_takes_the_gpu) {
    open_on(STN_DEVICE_AUTO);
    cr_expect(stn_context_is_device(context));
    cr_expect_str_eq(context->machine.name, "Fake GPU 0");
    open_on(STN_DEVICE_CUDA(1));
    cr_expect_str_eq(context->machine.name, "Fake GPU 1");
    close_context();
    cr_expect(fake->pushed == 0 && fake->retained == 0);
}
Test(context, auto_falls_back_to_the_host_and_keeps_the_reason) {
    setenv("STENTOR_CUDA_PATH", "/nowhere/libcuda.so.1", 1);
    open_on(STN_DEVICE_AUTO);
    cr_expect_not(stn_context_is_device(context));
    char *text;
    OK(stn_context_describe(context, STN_TEXT, &text, &error));
    cr_expect(strstr(text, "no GPU: STENTOR_CUDA_PATH is set to \"/nowhere/libcuda.so.1\""), "%s", text);
    stn_text_free(text);
    close_context();
    expect_error(create(STN_DEVICE_CUDA(0)), STN_ERROR_NO_DEVICE, "/nowhere/libcuda.so.1");
}
Test(context, options_that_are_wrong) {
    expect_error(create(STN_DEVICE_CUDA(7)), STN_ERROR_NO_DEVICE, "no GPU 7: this process sees 2 GPU(s)");
    expect_error(create(-2), STN_ERROR_INVALID_ARGUMENT, "device -2");
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.threads = -1;
    expect_error(stn_context_create(&options, &context, &error), STN_ERROR_INVALID_ARGUMENT, "-1 threads");
    options = (stn_context_options)STN_CONTEXT_OPTIONS_INIT;
    options.arch = "hopper";
    expect_error(stn_context_create(&options, &context, &error), STN_ERROR_INVALID_ARGUMENT, "\"hopper\"");
    options.arch = "sm_90";
    options.device = STN_DEVICE_HOST;
    expect_error(stn_context_create(&options, &context, &error), STN_ERROR_INVALID_ARGUMENT, "sm_90");
    options = (stn_context_options){.struct_size = sizeof options + 8};
    expect_error(stn_context_create(&options, &context, &error), STN_ERROR_INVALID_ARGUMENT, "stn_context_options");
    options = (stn_context_options){.struct_size = offsetof(stn_context_options, log)};
    expect_error(stn_context_create(&options, &context, &error), STN_ERROR_INVALID_ARGUMENT, "in no release");
    options = (stn_context_options){.pack_size = 8};
    expect_error(stn_context_create(&options, &context, &error), STN_ERROR_INVALID_ARGUMENT, "pack_data");
    const char *const packs[] = {"/nowhere/kernels.stnpack", NULL};
    options = (stn_context_options){.packs = packs};
    cr_expect_neq(stn_context_create(&options, &context, &error), STN_OK);
    cr_expect(strstr(error.message, "/nowhere/kernels.stnpack"), "%s", error.message);
    cr_expect_eq(stn_context_create(NULL, NULL, &error), STN_ERROR_INVALID_ARGUMENT);
    cr_expect_eq(fake->retained, 0, "a device was left open");
    stn_context_destroy(NULL);
    setenv("STENTOR_TEMPLATE_DIR", "/nowhere", 1);
    expect_error(create(STN_DEVICE_AUTO), STN_ERROR_IO, "/nowhere");
}
Test(context, an_absent_gpu_needs_no_driver) {
    setenv("STENTOR_CUDA_PATH", "/nowhere", 1);
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.arch = "sm_80";
    OK(stn_context_create(&options, &context, &error));
    cr_expect(stn_context_is_device(context) && !context->machine.present);
    void *pointer;
    FAILS(stn_memory_alloc(context, 8, &pointer, &error), STN_ERROR_NO_DEVICE, "sm_80, which is not here");
    cr_expect_eq(stn_synchronize(context, NULL, &error), STN_ERROR_NO_DEVICE);
    cr_expect_eq(stn_context_measure_bandwidth(context, &error), STN_OK, "nothing to measure");
}

static void check_memory(void) {
    void *pointer;
    char in[100], out[100] = {0};
    for (int i = 0; i < 100; i++) in[i] = (char)(i * 7);
    OK(stn_memory_alloc(context, sizeof in, &pointer, &error));
    OK(stn_memory_upload(context, pointer, in, sizeof in, &error));
    OK(stn_memory_download(context, out, pointer, sizeof in, &error));
    cr_expect(!memcmp(in, out, sizeof in));
    OK(stn_synchronize(context, NULL, &error));
    REFUSED(stn_memory_upload(context, NULL, in, 1, &error), "target pointer is NULL");
    cr_expect_eq(stn_memory_download(context, out, NULL, 1, &error), STN_ERROR_INVALID_ARGUMENT);
    OK(stn_memory_upload(context, NULL, NULL, 0, &error));
    stn_memory_free(context, pointer);
    stn_memory_free(context, NULL);
    OK(stn_memory_alloc(context, 0, &pointer, &error));
    stn_memory_free(context, pointer);
}
Test(context, memory_of_the_host) {
    open_on(STN_DEVICE_HOST);
    check_memory();
    void *pointer;
    OK(stn_memory_alloc(context, 100, &pointer, &error));
    cr_expect_eq((uintptr_t)pointer % 64, 0u);
    stn_memory_free(context, pointer);
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 60, SIZE_MAX / 2};
    for (int i = 0; i < 3; i++) {
        cr_expect_eq(stn_memory_alloc(context, sizes[i], &pointer, &error), STN_ERROR_OUT_OF_MEMORY);
        cr_expect_null(pointer);
    }
    cr_expect_eq(stn_memory_alloc(context, 1, NULL, &error), STN_ERROR_INVALID_ARGUMENT);
    cr_expect_eq(stn_memory_alloc(NULL, 1, &pointer, &error), STN_ERROR_INVALID_ARGUMENT);
}
Test(context, memory_of_the_gpu) {
    open_on(STN_DEVICE_CUDA(0));
    check_memory();
    close_context();
    cr_expect_eq(fake->allocations, 0);
}

/* Uses its parent's context in a forked child, where the driver must not be called. Returns 0, or
 * the number of the check that failed. */
static int use_in_child(void *memory) {
    void *more;
    int retained = fake->retained, modules = fake->modules, allocations = fake->allocations;
    if (stn_memory_alloc(context, 8, &more, &error) != STN_ERROR_DRIVER) return 1;
    if (!strstr(error.message, "fork")) return 2;
    if (stn_synchronize(context, NULL, &error) != STN_ERROR_DRIVER) return 3;
    stn_memory_free(context, memory);
    stn_context_destroy(context);
    return fake->retained == retained && fake->modules == modules && fake->allocations == allocations ? 0 : 4;
}
Test(context, in_a_forked_child_only_frees, .timeout = 60) {
    void *memory;
    stn_kernel_set set = {0};
    stn_kernel *kernel;
    open_on(STN_DEVICE_CUDA(0));
    set.context = context;
    OK(stn_kernel_get(&set, "direct_tile", "#pragma once\nint x;\n", &kernel, &error));
    OK(stn_memory_alloc(context, 8, &memory, &error));
    cr_assert(fake->modules == 1 && fake->retained == 1);
    pid_t child = fork();
    if (!child) _exit(use_in_child(memory));
    int status = -1;
    for (int i = 0; i < 2000 && waitpid(child, &status, WNOHANG) == 0; i++) usleep(10000);
    cr_assert_eq(status, 0, "%x: %d went wrong in the child", (unsigned)status, WEXITSTATUS(status));
    stn_kernel_set_clear(&set);
    stn_memory_free(context, memory);
    close_context();
    cr_expect(!fake->modules && !fake->retained && !fake->allocations);
}

static json_t *describe(void) {
    char *text;
    json_error_t why;
    OK(stn_context_describe(context, STN_JSON, &text, &error));
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    cr_assert(json, "%s: %s", why.text, text);
    stn_text_free(text);
    return json;
}
static const char *member(json_t *json, const char *key, const char *inner) {
    json_t *found = json_object_get(json, key);
    cr_assert(found, "no %s", key);
    return json_string_value(inner ? json_object_get(found, inner) : found);
}
Test(context, describe_a_gpu) {
    open_on(STN_DEVICE_CUDA(0));
    json_t *json = describe();
    cr_expect_str_eq(member(json, "device", "kind"), "cuda");
    cr_expect_str_eq(member(json, "device", "arch"), "sm_90");
    cr_expect_str_eq(member(json, "driver", "version"), "13.0");
    cr_expect_str_eq(member(json, "nvrtc", "version"), "12.3");
    cr_expect_str_eq(member(json, "nvrtc", "path"), FAKE_NVRTC);
    cr_expect_str_eq(member(json, "cufft", "path"), FAKE_NVRTC, "any shared object is believed by its place");
    cr_expect_null(member(json, "cublas", "path"));
    cr_expect(strstr(member(json, "cublas", "problem"), "STENTOR_CUBLAS_PATH"));
    json_decref(json);
    char *text;
    OK(stn_context_describe(context, STN_TEXT, &text, &error));
    cr_expect(strstr(text, "driver       CUDA 13.0, 2 GPU(s)"), "%s", text);
    cr_expect(strstr(text, "cuBLAS       not found: "), "%s", text);
    stn_text_free(text);
    cr_expect_eq(stn_context_describe(context, (stn_format)7, &text, &error), STN_ERROR_INVALID_ARGUMENT);
}
Test(context, describe_a_bare_machine) {
    setenv("STENTOR_NVRTC_PATH", "/nowhere", 1);
    setenv("STENTOR_CUDA_PATH", "/nowhere", 1);
    setenv("STENTOR_CACHE_DIR", ":memory:", 1);
    open_on(STN_DEVICE_AUTO);
    json_t *json = describe();
    cr_expect_str_eq(member(json, "device", "kind"), "host");
    cr_expect(strstr(member(json, "no_device", NULL), "/nowhere"));
    cr_expect(json_is_null(json_object_get(json, "driver")));
    cr_expect(strstr(member(json, "nvrtc", "problem"), "STENTOR_NVRTC_PATH"));
    json_decref(json);
}

static void put(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && !fclose(file));
}
Test(context, the_measured_bandwidth_is_remembered) {
    char path[512];
    snprintf(path, sizeof path, "%s/machines/GPU-abababababababababababababababab-driver-13000.txt", stand_ins_folder);
    open_on(STN_DEVICE_CUDA(0)); /* The first context measures. */
    cr_expect(context->machine.measured);
    close_context();
    cr_expect_eq(access(path, R_OK), 0);
    put(path, "copy_bandwidth 2.5e12\n");
    open_on(STN_DEVICE_CUDA(0)); /* The next one reads the stored value. */
    cr_expect(context->machine.measured);
    cr_expect_eq(context->machine.copy_bandwidth, 2.5e12);
    open_on(STN_DEVICE_CUDA(1)); /* another GPU */
    cr_expect(context->machine.copy_bandwidth != 2.5e12);
    const char *wrong[] = {
        "", "copy_bandwidth", "copy_bandwidth \n", "copy_bandwidth 12\n", "copy_bandwidth nan\n", "bandwidth 4e12\n"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        close_context();
        put(path, wrong[i]);
        open_on(STN_DEVICE_CUDA(0));
        cr_expect(context->machine.measured, "\"%s\"", wrong[i]); /* measured again */
        cr_expect(context->machine.copy_bandwidth > 1e9, "\"%s\"", wrong[i]);
    }
}

/* Of long keys only the ends are hashed. */
Test(context, keys_of_searches_that_differ_in_one_byte) {
    stn_search_cache *searches = stn_search_cache_create();
    unsigned char key[4001] = {0};
    const size_t places[] = {0, 600, 2000, 3400, 4000};
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            size_t found = 9;
            key[places[i]] = 1;
            const bool known =
                stn_search_cache_lookup(searches, STN_SEARCH_CACHE_REACH, key, sizeof key, &found, sizeof found);
            cr_expect_eq(known, round);
            cr_expect_eq(found, round ? i : 9);
            stn_search_cache_store(searches, STN_SEARCH_CACHE_REACH, key, sizeof key, &i, sizeof i);
            key[places[i]] = 0;
        }
    stn_search_cache_destroy(searches);
}
