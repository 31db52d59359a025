/* Compiles, loads and launches for real: on the emulator in CI, or on a GPU. Streams, graphs,
 * clusters, occupancy, timing, and a failure of every driver call. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../expect.h"
#include "compile/compiler.h"
#include "launch/driver.h"

enum { N = 1000, SHARED = 64 * 1024 };
static stn_driver *driver;
static stn_device *device;
static stn_module *module;
static stn_compile_output output;

typedef struct arguments {
    const double *in;
    double *out;
    long long n;
    double factor;
} arguments;

static const char *const source =
    "struct arguments { const double *in; double *out; long long n; double factor; };\n"
    "extern \"C\" __global__ void scale(const arguments a) {\n"
    "    extern __shared__ __align__(128) unsigned char stn_shared[];\n"
    "    double *room = reinterpret_cast<double *>(stn_shared);\n"
    "    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    room[threadIdx.x] = i < a.n ? a.in[i] : 0;\n"
    "    __syncthreads();\n"
    "    if (i < a.n) a.out[i] = a.factor * room[threadIdx.x];\n"
    "}\n";

static void compile(int sm) {
    stn_compiler *compiler;
    OK(stn_compiler_open(NULL, &compiler, &error));
    const stn_compile_request request = {"scale.cu", source, NULL, 0, stn_compile_options, stn_compile_option_count,
                                         sm,         NULL};
    OK(stn_compile(compiler, &request, &output, &error));
    stn_compiler_close(compiler);
}
static void start(void) {
    stn_machine machine;
    OK(stn_driver_open(NULL, &driver, &error));
    OK(stn_device_open(driver, 0, &device, &error));
    stn_device_describe(device, &machine);
    compile(machine.sm);
    OK(stn_module_load(device, output.cubin, "scale", &module, &error));
}
static void finish(void) {
    stn_module_unload(module);
    stn_compile_output_free(&output);
    stn_device_close(device);
    stn_driver_close(driver);
}
TestSuite(run, .init = start, .fini = finish);

static double in[N], out[N];
static arguments upload(void) {
    arguments a = {NULL, NULL, N, 3};
    void *from, *to;
    OK(stn_device_alloc(device, sizeof in, &from, &error));
    OK(stn_device_alloc(device, sizeof out, &to, &error));
    for (int i = 0; i < N; i++) in[i] = sin(i), out[i] = NAN;
    OK(stn_device_upload(device, from, in, sizeof in, &error));
    OK(stn_device_upload(device, to, out, sizeof out, &error));
    a.in = from, a.out = to;
    return a;
}
static void expect_scaled(const arguments *a, double factor) {
    OK(stn_device_download(device, out, a->out, sizeof out, &error));
    for (int i = 0; i < N; i++) cr_assert_eq(out[i], factor * in[i], "point %d: %g", i, out[i]);
}
static void release(const arguments *a) {
    stn_device_free(device, (void *)(uintptr_t)a->in);
    stn_device_free(device, a->out);
}
static const stn_launch usual = {{(N + 127) / 128, 1, 1}, {128, 1, 1}, 128 * sizeof(double), NULL, 0, false};

Test(run, a_kernel_computes) {
    arguments a = upload();
    OK(stn_module_launch(module, &usual, &a, &error));
    OK(stn_device_synchronize(device, NULL, &error));
    expect_scaled(&a, 3);
    stn_cubin_usage info = stn_module_usage(module);
    cr_expect(info.registers > 0 && info.max_threads >= 128);
    int blocks = stn_module_occupancy(module, 128, 1024);
    cr_expect(blocks >= 1 && blocks <= 64, "%d blocks", blocks);
    release(&a);
}
Test(run, from_ptx) {
    stn_module *other;
    arguments a = upload();
    OK(stn_module_load(device, output.ptx, "scale", &other, &error));
    OK(stn_module_launch(other, &usual, &a, &error));
    expect_scaled(&a, 3);
    stn_module_unload(other);
    release(&a);
}
Test(run, much_shared_memory) {
    arguments a = upload();
    stn_launch launch = usual;
    launch.shared = SHARED;
    cr_expect_neq(stn_module_launch(module, &launch, &a, &error), STN_OK, "above 48 KiB only when it was allowed");
    OK(stn_module_allow_shared(module, SHARED, &error));
    OK(stn_module_launch(module, &launch, &a, &error));
    expect_scaled(&a, 3);
    release(&a);
}
Test(run, clusters) {
    stn_machine machine;
    stn_device_describe(device, &machine);
    if (machine.sm < 90) cr_skip_test("clusters came with sm_90");
    arguments a = upload();
    stn_launch launch = usual;
    launch.cluster = 2;
    OK(stn_module_launch(module, &launch, &a, &error));
    expect_scaled(&a, 3);
    release(&a);
}
/* A launch copies its arguments, also into a graph, and does nothing that a capture forbids. */
Test(run, captured_in_a_graph) {
    const stn_driver_functions *call = stn_driver_table(driver);
    arguments a = upload();
    stn_cu_stream stream;
    stn_cu_graph graph;
    stn_cu_graph_exec exec;
    OK(stn_device_enter(device, &error));
    cr_assert_eq(call->cuStreamCreate(&stream, STN_CU_STREAM_NON_BLOCKING), 0u);
    cr_assert_eq(call->cuStreamBeginCapture(stream, STN_CU_STREAM_CAPTURE_MODE_GLOBAL), 0u);
    stn_launch launch = usual;
    launch.stream = stream;
    OK(stn_module_launch(module, &launch, &a, &error));
    a.factor = 5;
    cr_assert_eq(call->cuStreamEndCapture(stream, &graph), 0u);
    cr_assert_eq(call->cuGraphInstantiateWithFlags(&exec, graph, 0), 0u);
    for (int i = 0; i < 2; i++) cr_assert_eq(call->cuGraphLaunch(exec, stream), 0u);
    OK(stn_device_synchronize(device, stream, &error));
    expect_scaled(&a, 3);
    cr_expect_eq(call->cuGraphExecDestroy(exec), 0u);
    cr_expect_eq(call->cuGraphDestroy(graph), 0u);
    cr_expect_eq(call->cuStreamDestroy(stream), 0u);
    stn_device_leave(device);
    release(&a);
}
Test(run, the_callers_context_stays) {
    const stn_driver_functions *call = stn_driver_table(driver);
    stn_cu_context before, after;
    arguments a = upload();
    cr_assert_eq(call->cuCtxGetCurrent(&before), 0u);
    cr_expect_null(before, "nothing of ours stays current");
    OK(stn_module_launch(module, &usual, &a, &error));
    expect_scaled(&a, 3);
    release(&a);
    cr_assert_eq(call->cuCtxGetCurrent(&after), 0u);
    cr_expect_eq(after, before);
}
Test(run, time_and_bandwidth) {
    stn_timer *timer;
    arguments a = upload();
    double seconds = -1, bandwidth = -1;
    OK(stn_timer_create(device, &timer, &error));
    OK(stn_timer_start(timer, NULL, &error));
    OK(stn_module_launch(module, &usual, &a, &error));
    OK(stn_timer_stop(timer, NULL, &seconds, &error));
    cr_expect(seconds >= 0 && seconds < 60, "%g s", seconds);
    stn_timer_destroy(timer);
    OK(stn_device_measure_copy(device, &bandwidth, &error));
    cr_expect(bandwidth > 1e6, "%g bytes/s", bandwidth);
    release(&a);
}
Test(run, images_that_are_refused) {
    stn_module *other;
    char *cut = strdup(output.ptx);
    cut[strlen(cut) / 2] = '\0';
    FAILS(stn_module_load(device, cut, "scale", &other, &error), STN_ERROR_DRIVER, "cuModuleLoadDataEx failed");
    cr_expect_null(other);
    FAILS(stn_module_load(device, output.ptx, "no_such_kernel", &other, &error), STN_ERROR_DRIVER,
          "cuModuleGetFunction failed: CUDA_ERROR_NOT_FOUND");
    free(cut);
}
Test(run, an_impossible_launch) {
    arguments a = upload();
    stn_launch launch = usual;
    launch.block[0] = 4096;
    cr_expect_neq(stn_module_launch(module, &launch, &a, &error), STN_OK);
    cr_expect(strstr(error.message, "cuLaunchKernel failed"), "%s", error.message);
    release(&a);
}
Test(run, more_memory_than_there_is) {
    stn_machine machine;
    void *pointer;
    stn_device_describe(device, &machine);
    cr_expect_eq(stn_device_alloc(device, 2 * machine.memory_bytes, &pointer, &error), STN_ERROR_OUT_OF_MEMORY);
    cr_expect_null(pointer);
}
static stn_status time_nothing(stn_error *told) {
    stn_timer *timer;
    double seconds;
    stn_status status = stn_timer_create(device, &timer, told);
    if (status == STN_OK) status = stn_timer_start(timer, NULL, told);
    if (status == STN_OK) status = stn_timer_stop(timer, NULL, &seconds, told);
    stn_timer_destroy(timer);
    return status;
}
/* Each driver call fails once (only on the emulator): the result is a status and a message, and no
 * crash. */
Test(run, every_call_fails_once) {
    if (!getenv("STENTOR_CUDA_PATH")) cr_skip_test("a real driver does not fail on demand");
    static const char *const calls[] = {
        "cuMemAlloc",          "cuMemcpyHtoD",       "cuMemcpyDtoH",      "cuModuleLoadDataEx", "cuEventCreate",
        "cuEventRecord",       "cuEventSynchronize", "cuCtxPushCurrent",  "cuLaunchKernel",     "cuStreamSynchronize",
        "cuModuleGetFunction", "cuFuncGetAttribute", "cuMemcpyDtoDAsync", "cuEventElapsedTime"};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        char plan[64];
        stn_module *other = NULL;
        void *pointer = NULL;
        stn_error told[6] = {{0}};
        snprintf(plan, sizeof plan, "%s:*", calls[i]);
        arguments a = upload();
        setenv("STENTOR_EMULATOR_FAIL", plan, 1);
        int failed = stn_device_alloc(device, 8, &pointer, &told[0]) != STN_OK;
        failed += stn_module_load(device, output.cubin, "scale", &other, &told[1]) != STN_OK;
        failed += stn_module_launch(module, &usual, &a, &told[2]) != STN_OK;
        failed += stn_device_copy(device, a.out, a.in, 8, NULL, &told[3]) != STN_OK;
        failed += time_nothing(&told[5]) != STN_OK;
        failed += stn_device_upload(device, (void *)(uintptr_t)a.in, in, sizeof in, &told[4]) != STN_OK;
        failed += stn_device_download(device, out, a.out, sizeof out, &told[4]) != STN_OK;
        unsetenv("STENTOR_EMULATOR_FAIL");
        cr_expect_gt(failed, 0, "%s did not fail", calls[i]);
        for (int t = 0; t < 6; t++)
            cr_expect(!told[t].status || strstr(told[t].message, calls[i]), "%s: \"%s\"", calls[i], told[t].message);
        stn_module_unload(other);
        stn_device_free(device, pointer);
        release(&a);
    }
}
