/* Error messages where cuBLAS is missing, too old or fails, in the emulator with stand-ins. */
#include <stdlib.h>
#include <string.h>

#include "../../expect.h"
#include "stentor.h"

static stn_status make(stn_context *context, size_t n, const char *strategy, stn_plan **plan) {
    stn_spectral_conv c = STN_SPECTRAL_CONV_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    c.rank = 1, c.extent[0] = n, c.in_channels = c.out_channels = 2, c.dtype = STN_F32;
    options.strategy = strategy;
    return stn_plan_create_spectral_conv(context, &c, &options, plan, &error);
}

Test(layer_libraries, missing) {
    stn_context *context = context_on(STN_DEVICE_CUDA(0));
    stn_plan *plan;
    setenv("STENTOR_CUBLAS_PATH", "/nowhere/libcublas.so", 1);
    FAILS(make(context, 8, "cublas", &plan), STN_ERROR_UNSUPPORTED,
          "no usable cuBLAS: /nowhere/libcublas.so could not be opened");
    cr_expect(strstr(error.message, "which STENTOR_CUBLAS_PATH names"), "%s", error.message);
    const char *driver = getenv("STENTOR_CUDA_PATH");
    cr_assert_not_null(driver);
    setenv("STENTOR_CUBLAS_PATH", driver, 1); /* a context keeps the error of its first attempt */
    FAILS(make(context, 8, "cublas", &plan), STN_ERROR_UNSUPPORTED, "/nowhere/libcublas.so could not be opened");
    stn_context_destroy(context);
    context = context_on(STN_DEVICE_CUDA(0));
    FAILS(make(context, 8, "cublas", &plan), STN_ERROR_UNSUPPORTED, "lacks cublasCreate_v2");
    cr_expect_null(plan);
    stn_context_destroy(context);
}

Test(layer_libraries, too_old) {
    stn_context *context = context_on(STN_DEVICE_CUDA(0));
    stn_plan *plan;
    setenv("FAKE_CUBLAS_VERSION", "110000", 1);
    FAILS(make(context, 8, "cublas", &plan), STN_ERROR_UNSUPPORTED, "older than CUDA 12");
    stn_context_destroy(context);
}

/* Without the libraries, our own strategies still run. */
Test(layer_libraries, own_kernels_run_without_libraries) {
    stn_context *context = context_on(STN_DEVICE_CUDA(0));
    stn_plan *plan;
    setenv("STENTOR_CUBLAS_PATH", "/nowhere/libcublas.so", 1);
    OK(make(context, 64, NULL, &plan));
    cr_expect_str_eq(stn_plan_strategy(plan), "fno");
    stn_plan_destroy(plan);
    stn_context_destroy(context);
}

Test(layer_libraries, library_errors_are_reported) {
    stn_context *context = context_on(STN_DEVICE_CUDA(0));
    stn_plan *plan;
    void *memory[3];
    setenv("FAKE_CUFFT_FAIL", "cufftXtMakePlanMany", 1);
    FAILS(make(context, 11, "cublas", &plan), STN_ERROR_UNSUPPORTED, "cufftXtMakePlanMany failed");
    unsetenv("FAKE_CUFFT_FAIL");
    OK(make(context, 11, "cublas", &plan));
    for (int i = 0; i < 3; i++) OK(stn_memory_alloc(context, 4096, &memory[i], &error));
    stn_execution run = STN_EXECUTION_INIT;
    run.in = memory[0], run.out = memory[1], run.weights = memory[2];
    setenv("FAKE_CUBLAS_FAIL", "cublasGemmStridedBatchedEx", 1);
    FAILS(stn_plan_run(plan, &run, &error), STN_ERROR_DRIVER,
          "cublasGemmStridedBatchedEx failed: CUBLAS_STATUS_EXECUTION_FAILED = 13: check that the pointers");
    unsetenv("FAKE_CUBLAS_FAIL");
    OK(stn_plan_run(plan, &run, &error));
    expect_described(plan, STN_TEXT, "transforms by NVIDIA cuFFT, products by cuBLAS");
    for (int i = 0; i < 3; i++) stn_memory_free(context, memory[i]);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
}
