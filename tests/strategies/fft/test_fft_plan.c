/* Plans of transforms: every wrong call, the caller's workspace, and error messages where cuFFT is
 * missing, too old or fails. On the host, and in the emulator with a stand-in for cuFFT (or, for
 * the simplest case, on a GPU). */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../../expect.h"
#include "stentor.h"

enum { N = 11 }; /* a size that our kernels do not support */

static stn_transform line(size_t n) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 1;
    t.extent[0] = n;
    return t;
}

static stn_context *context;
static stn_plan *plan;
static stn_transform t; /* of N points */

static void on_host(void) { context = context_on(STN_DEVICE_HOST), t = line(N); }
static void on_device(void) { context = context_on(STN_DEVICE_CUDA(0)), t = line(N); }
static void end(void) {
    stn_plan_destroy(plan);
    stn_context_destroy(context);
}
TestSuite(fft_plan, .init = on_host, .fini = end);
TestSuite(fft_cufft, .init = on_device, .fini = end);

/* Checks out = DFT(in). */
static void check_line(const double complex *in, const double complex *out, size_t n) {
    for (size_t k = 0; k < n; k++) {
        double complex sum = 0;
        for (size_t j = 0; j < n; j++) sum += in[j] * cexp(-2 * M_PI * I * (double)(j * k % n) / (double)n);
        cr_assert(cabs(out[k] - sum) < 1e-13 * (double)n, "element %zu", k);
    }
}

static void run(size_t n) {
    double complex in[64], out[64];
    void *from, *to;
    size_t bytes = n * sizeof *in;
    for (size_t i = 0; i < n; i++) in[i] = sin(3.0 * (double)i) + I * cos(5.0 * (double)i);
    from = uploaded(context, in, bytes);
    OK(stn_memory_alloc(context, bytes, &to, &error));
    OK(stn_plan_execute(plan, from, to, NULL, &error));
    OK(stn_synchronize(context, NULL, &error));
    OK(stn_memory_download(context, out, to, bytes, &error));
    check_line(in, out, n);
    stn_memory_free(context, from);
    stn_memory_free(context, to);
}

Test(fft_plan, wrong_calls) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    double data[2 * N] = {0}, weights[1] = {1};
    REFUSED(stn_plan_create_fft(NULL, &t, NULL, &plan, &error), "context");
    REFUSED(stn_plan_create_fft(context, &t, NULL, NULL, &error), "plan");
    REFUSED(stn_plan_create_fft(context, NULL, NULL, &plan, &error), "transform is NULL");
    options.strategy = "lowrank";
    REFUSED(stn_plan_create_fft(context, &t, &options, &plan, &error),
            "no strategy 'lowrank' of transforms: use one of auto, host, fft, block, cufft");
    cr_expect_null(plan);
    options.strategy = "block";
    t.kind = STN_DST3;
    FAILS(stn_plan_create_fft(context, &t, &options, &plan, &error), STN_ERROR_UNSUPPORTED,
          "it has no cosine and sine transforms");
    t.kind = STN_C2C;
    options.strategy = "cufft";
    FAILS(stn_plan_create_fft(context, &t, &options, &plan, &error), STN_ERROR_UNSUPPORTED, "use strategy auto");
    OK(stn_plan_create_fft(context, &t, NULL, &plan, &error));
    cr_expect_str_eq(stn_plan_strategy(plan), "host");
    REFUSED(stn_plan_execute(plan, data, data, NULL, &error), "in_place = 1");
    REFUSED(stn_plan_execute(plan, NULL, data, NULL, &error), "in is NULL");
    REFUSED(stn_plan_set_weights(plan, 1, weights, &error), "no weights");
    cr_expect_eq(stn_plan_kernel_count(plan), 0u);
}

Test(fft_plan, on_the_host) {
    OK(stn_plan_create_fft(context, &t, NULL, &plan, &error));
    run(N);
    char *text;
    OK(stn_plan_describe(plan, STN_TEXT, &text, &error));
    cr_expect(strstr(text, "transform:  1D 11 c2c forward, f64") && strstr(text, "float64 on"), "%s", text);
    cr_expect(strstr(text, "fft       does not apply") && !strstr(text, "symbol"), "%s", text);
    stn_text_free(text);
}

Test(fft_plan, the_callers_workspace) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    double complex in[N], out[N];
    for (int i = 0; i < N; i++) in[i] = i * i - 3 * I;
    options.no_auto_workspace = 1;
    OK(stn_plan_create_fft(context, &t, &options, &plan, &error));
    cr_assert(stn_plan_workspace_size(plan) > 0);
    REFUSED(stn_plan_execute(plan, in, out, NULL, &error), "stn_plan_execute_with");
    REFUSED(stn_plan_execute_with(plan, in, out, NULL, NULL, &error), "but got NULL");
    void *workspace = aligned_alloc(256, (stn_plan_workspace_size(plan) + 255) / 256 * 256);
    OK(stn_plan_execute_with(plan, in, out, workspace, NULL, &error));
    check_line(in, out, N);
    free(workspace);
}

Test(fft_plan, an_estimate_builds_nothing) {
    t = line((size_t)1 << 40);
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    double data[4];
    options.estimate_only = 1;
    OK(stn_plan_create_fft(context, &t, &options, &plan, &error));
    cr_expect_gt(stn_plan_predicted_seconds(plan), 1);
    REFUSED(stn_plan_execute(plan, data, data + 2, NULL, &error), "estimate_only");
}

/* Clusters of blocks, which need sm_90, hold images and long lines; older GPUs use the general
 * passes. */
Test(fft_plan, clusters_need_sm_90) {
    static const struct {
        const char *arch;
        size_t rank, extent[2], batch;
        const char *words;
    } cases[] = {{"sm_90", 2, {256, 256}, 1024, " 1 launches"}, {"sm_80", 2, {256, 256}, 1024, " 2 launches"},
                 {"sm_90", 1, {1 << 24, 0}, 4, " 2 launches"},  {"sm_80", 1, {1 << 24, 0}, 4, " 3 launches"},
                 {"sm_90", 1, {1 << 25, 0}, 8, " 3 launches"},  {"sm_100", 2, {256, 256}, 1024, " 1 launches"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const stn_context_options where = {.arch = cases[i].arch, .cache_dir = ":memory:"};
        const stn_plan_options options = {.estimate_only = 1};
        char *text;
        end();
        OK(stn_context_create(&where, &context, &error));
        t = line(cases[i].extent[0]);
        t.rank = (int)cases[i].rank, t.extent[1] = cases[i].extent[1], t.batch = cases[i].batch, t.dtype = STN_F16;
        OK(stn_plan_create_fft(context, &t, &options, &plan, &error));
        OK(stn_plan_describe(plan, STN_TEXT, &text, &error));
        const char *first = strstr(text, "1. fft"), *found = first ? strstr(first, " launches") : NULL;
        cr_expect(found && !strncmp(found - 2, cases[i].words, strlen(cases[i].words)), "case %zu:\n%s", i, text);
        stn_text_free(text);
    }
}

/* ---- cuFFT, in the emulator */

Test(fft_cufft, cufft_for_unsupported_sizes) {
    OK(stn_plan_create_fft(context, &t, NULL, &plan, &error));
    cr_expect_str_eq(stn_plan_strategy(plan), "cufft");
    run(N);
    expect_described(plan, STN_TEXT, "NVIDIA cuFFT 12.0");
    expect_described(plan, STN_TEXT, "fft       does not apply");
}

Test(fft_cufft, missing) {
    setenv("STENTOR_CUFFT_PATH", "/nowhere/libcufft.so", 1);
    FAILS(stn_plan_create_fft(context, &t, NULL, &plan, &error), STN_ERROR_UNSUPPORTED,
          "no usable cuFFT: /nowhere/libcufft.so could not be opened");
    cr_expect(strstr(error.message, "only cuFFT could run this transform (fft: it has no kernel"), "%s", error.message);
    cr_expect(strstr(error.message, "which STENTOR_CUFFT_PATH names"), "%s", error.message);
    t = line(64); /* strategy fft supports this size */
    OK(stn_plan_create_fft(context, &t, NULL, &plan, &error));
    cr_expect_str_eq(stn_plan_strategy(plan), "fft");
    run(64);
}

Test(fft_cufft, not_cufft_or_too_old) {
    setenv("FAKE_CUFFT_VERSION", "10900", 1);
    FAILS(stn_plan_create_fft(context, &t, NULL, &plan, &error), STN_ERROR_UNSUPPORTED, "is cuFFT 10.9 and 11.0 is");
    stn_context_destroy(context);
    context = context_on(STN_DEVICE_CUDA(0));
    const char *driver = getenv("STENTOR_CUDA_PATH"); /* any library other than cuFFT */
    cr_assert_not_null(driver);
    setenv("STENTOR_CUFFT_PATH", driver, 1);
    FAILS(stn_plan_create_fft(context, &t, NULL, &plan, &error), STN_ERROR_UNSUPPORTED, "lacks cufftGetVersion");
}

Test(fft_cufft, library_errors_are_reported) {
    setenv("FAKE_CUFFT_FAIL", "cufftXtMakePlanMany", 1);
    FAILS(stn_plan_create_fft(context, &t, NULL, &plan, &error), STN_ERROR_UNSUPPORTED,
          "cufftXtMakePlanMany failed: CUFFT_NOT_SUPPORTED = 16: use another size");
    setenv("FAKE_CUFFT_FAIL", "cufftXtExec", 1);
    OK(stn_plan_create_fft(context, &t, NULL, &plan, &error));
    void *data, *to;
    OK(stn_memory_alloc(context, N * 16, &data, &error));
    OK(stn_memory_alloc(context, N * 16, &to, &error));
    FAILS(stn_plan_execute(plan, data, to, NULL, &error), STN_ERROR_DRIVER, "cufftXtExec failed: CUFFT_EXEC_FAILED");
    stn_memory_free(context, data);
    stn_memory_free(context, to);
}

/* Expects words in the description of a plan. */
static void expect_transform_described(const char *words) {
    const stn_plan_options options = {.strategy = "cufft"};
    OK(stn_plan_create_fft(context, &t, &options, &plan, &error));
    expect_described(plan, STN_TEXT, words);
    stn_plan_destroy(plan);
    plan = NULL;
}

/* If cuFFT has no f16, or says so when planning, f16 is transformed as f32; a c2r of several axes
 * is transformed axis by axis. */
Test(fft_cufft, f16_and_c2r_workarounds) {
    expect_transform_described("NVIDIA cuFFT 12.0\n");
    t.dtype = STN_F16;
    expect_transform_described("in place in the workspace as f32");
    t.extent[0] = 64;
    expect_transform_described("NVIDIA cuFFT 12.0\n");
    setenv("FAKE_CUFFT_FAIL", "half", 1);
    expect_transform_described("in place in the workspace as f32");
    unsetenv("FAKE_CUFFT_FAIL");
    t.dtype = STN_F64, t.kind = STN_C2R, t.rank = 3, t.extent[1] = 1, t.extent[2] = 10;
    expect_transform_described("the last axis apart");
    t.batch = 2;
    expect_transform_described("in place in the workspace\n");
}
