/* Your own CUDA stream and device pointers. Stentor works in the device's primary context, as the
 * CUDA runtime, PyTorch and CuPy do, so that their pointers and streams can be passed directly.
 * Execution is in stream order: no synchronization is needed between the copies below and the
 * stencil.
 *
 * The example loads the CUDA driver by dlopen, so that it builds without a toolkit; a program with
 * CUDA headers calls cudaMalloc and cudaStreamCreate instead. Without a GPU it exits with status 77
 * (skipped). */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "stentor.h"

enum { N = 1 << 20, SKIPPED = 77 };

/* The driver functions that the example calls. CUresult is an enum, handles are pointers, and
 * device addresses are 64-bit numbers. */
static struct {
    int (*init)(unsigned);
    int (*retain)(void **context, int device);
    int (*set_current)(void *context);
    int (*stream_create)(void **stream, unsigned flags);
    int (*stream_wait)(void *stream);
    int (*stream_destroy)(void *stream);
    int (*alloc)(uint64_t *address, size_t bytes);
    int (*free)(uint64_t address);
    int (*to_device)(uint64_t to, const void *from, size_t bytes, void *stream);
    int (*to_host)(void *to, uint64_t from, size_t bytes, void *stream);
} cuda;

/* Non-zero if there is a driver with all of these functions. */
static int open_driver(void) {
    const struct {
        const char *name;
        void *place;
    } list[] = {{"cuInit", &cuda.init},
                {"cuDevicePrimaryCtxRetain", &cuda.retain},
                {"cuCtxSetCurrent", &cuda.set_current},
                {"cuStreamCreate", &cuda.stream_create},
                {"cuStreamSynchronize", &cuda.stream_wait},
                {"cuStreamDestroy_v2", &cuda.stream_destroy},
                {"cuMemAlloc_v2", &cuda.alloc},
                {"cuMemFree_v2", &cuda.free},
                {"cuMemcpyHtoDAsync_v2", &cuda.to_device},
                {"cuMemcpyDtoHAsync_v2", &cuda.to_host}};
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        if (!driver || !(*(void **)list[i].place = dlsym(driver, list[i].name))) return 0;
    return 1;
}

/* One step of the moving average of three points, in `stream`, from host memory to host memory. */
static int run(stn_context *ctx, void *stream, uint64_t device[2], const float *in, float *out, stn_error *err) {
    stn_stencil *mean = NULL;
    stn_plan *plan = NULL;
    const double weights[3] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    const size_t three = 3;
    int done = 0;
    if (stn_stencil_create_dense(1, &three, weights, &mean, err) != STN_OK) goto end;
    stn_problem problem = STN_PROBLEM_INIT;
    problem.stencil = mean;
    problem.extent[0] = N;
    problem.dtype = STN_F32;
    if (stn_plan_create(ctx, &problem, NULL, &plan, err) != STN_OK) goto end;
    if (cuda.to_device(device[0], in, N * sizeof *in, stream) != 0) goto end;
    if (stn_plan_execute(plan, (void *)(uintptr_t)device[0], (void *)(uintptr_t)device[1], stream, err) != STN_OK)
        goto end;
    if (cuda.to_host(out, device[1], N * sizeof *out, stream) != 0) goto end;
    done = cuda.stream_wait(stream) == 0;
end:
    stn_plan_destroy(plan);
    stn_stencil_destroy(mean);
    return done;
}

int main(void) {
    stn_error err = {0};
    stn_context *ctx = NULL;
    void *primary = NULL, *stream = NULL;
    uint64_t device[2] = {0, 0};
    float *in = calloc(N, sizeof *in), *out = calloc(N, sizeof *out);
    int right = 0, result = 1;
    if (!in || !out) goto done;
    for (int i = 0; i < N; i++) in[i] = (float)(i % 3);
    if (!open_driver() || cuda.init(0) != 0 || cuda.retain(&primary, 0) != 0 || cuda.set_current(primary) != 0) {
        printf("there is no CUDA GPU here: skipped\n");
        result = SKIPPED;
        goto done;
    }
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_CUDA(0);
    if (stn_context_create(&options, &ctx, &err) == STN_OK && cuda.stream_create(&stream, 0) == 0 &&
        cuda.alloc(&device[0], N * sizeof *in) == 0 && cuda.alloc(&device[1], N * sizeof *out) == 0 &&
        run(ctx, stream, device, in, out, &err)) {
        /* The input is 0 1 2 0 1 2 ...: every mean is 1, except at the periodic boundary. */
        right = 1;
        for (int i = 1; i + 1 < N; i++) right &= out[i] > 0.999f && out[i] < 1.001f;
        printf("%s\n", right ? "every mean is 1, as it should be" : "wrong result");
    }
    result = !right;
    if (err.status != STN_OK) fprintf(stderr, "%s\n", err.message);
    for (int i = 0; i < 2; i++)
        if (device[i]) cuda.free(device[i]);
    if (stream) cuda.stream_destroy(stream);
    stn_context_destroy(ctx);
done:
    free(in);
    free(out);
    return result;
}
