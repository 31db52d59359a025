/* A fake libcuda.so.1 that computes nothing: it counts calls, checks that a context is current, and
 * fails the calls that a test selects. (The emulator, tests/emulator, runs kernels.) */
#include "fake_driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/driver_functions.h"

fake_state fake = {.version = 13000,
                   .devices = 2,
                   .multiprocessors = 66,
                   .clock = 990000,
                   .block_threads = 10,
                   .memory = (size_t)1 << 30};
/* As in CUDA, each thread has a stack of contexts. The caller's own context is at the bottom. */
static _Thread_local stn_cu_context stack[64] = {(stn_cu_context)0x1};
static _Thread_local int depth;
#define OURS ((stn_cu_context)0x5000)

static stn_cu_result inside(void) {
    if (stack[depth] == OURS) return 0;
    fake.outside++;
    return STN_CUDA_ERROR_INVALID_CONTEXT;
}
#define NEEDS_CONTEXT                                                                                                  \
    do {                                                                                                               \
        if (inside()) return STN_CUDA_ERROR_INVALID_CONTEXT;                                                           \
    } while (0)

#define FAKE(name) static stn_cu_result fake_##name
FAKE(cuInit)(unsigned flags) { return flags ? 1 : fake.init; }
FAKE(cuDriverGetVersion)(int *version) { return *version = fake.version, 0; }
FAKE(cuGetErrorName)(stn_cu_result result, const char **name) {
    *name = result == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : result == 218 ? "CUDA_ERROR_INVALID_PTX" : NULL;
    return *name ? 0 : 1;
}
FAKE(cuGetErrorString)(stn_cu_result result, const char **text) {
    *text = result == 2 ? "out of memory" : NULL;
    return *text ? 0 : 1;
}
FAKE(cuDeviceGetCount)(int *count) { return *count = fake.devices, 0; }
FAKE(cuDeviceGet)(stn_cu_device *device, int ordinal) { return *device = ordinal + 70, 0; }
FAKE(cuDeviceGetName)(char *name, int size, stn_cu_device device) {
    return snprintf(name, (size_t)size, "Fake GPU %d", device - 70), 0;
}
FAKE(cuDeviceGetUuid)(stn_cu_uuid *uuid, stn_cu_device device) {
    memset(uuid, device == 70 ? 0xab : 0xcd, sizeof *uuid);
    return 0;
}
FAKE(cuDeviceGetAttribute)(int *value, stn_cu_enum attribute, stn_cu_device device) {
    static const int values[][2] = {{75, 9},      {76, 0},     {36, 3201000},  {37, 6144}, {97, 232448},
                                    {81, 233472}, {82, 65536}, {38, 50 << 20}, {39, 2048}, {1, 1024}};
    if (device >= 70 && attribute == 16) return *value = fake.multiprocessors, 0;
    if (device >= 70 && attribute == 13) return *value = fake.clock, 0;
    for (size_t i = 0; device >= 70 && i < sizeof values / sizeof *values; i++)
        if ((stn_cu_enum)values[i][0] == attribute) return *value = values[i][1], 0;
    return 1;
}
FAKE(cuDeviceTotalMem)(size_t *bytes, stn_cu_device device) {
    return *bytes = fake.memory + ((size_t)(device - 70) << 30), 0;
}
FAKE(cuDevicePrimaryCtxRetain)(stn_cu_context *context, stn_cu_device device) {
    (void)device;
    fake.retained++;
    return *context = OURS, 0;
}
FAKE(cuDevicePrimaryCtxRelease)(stn_cu_device device) { return (void)device, fake.retained--, 0; }
FAKE(cuCtxPushCurrent)(stn_cu_context context) {
    stack[++depth] = context;
    atomic_fetch_add(&fake.pushed, 1);
    return 0;
}
FAKE(cuCtxPopCurrent)(stn_cu_context *context) {
    if (depth < 1) return STN_CUDA_ERROR_INVALID_CONTEXT;
    atomic_fetch_sub(&fake.pushed, 1);
    return *context = stack[depth--], 0;
}
FAKE(cuCtxGetCurrent)(stn_cu_context *context) { return *context = stack[depth], 0; }
FAKE(cuCtxSetCurrent)(stn_cu_context context) { return stack[depth] = context, 0; }
FAKE(cuCtxSynchronize)(void) {
    fake.waits++;
    return inside();
}
FAKE(cuMemGetInfo)(size_t *unused, size_t *total) { return *unused = 123, *total = 456, inside(); }
FAKE(cuMemAlloc)(stn_cu_pointer *pointer, size_t bytes) {
    NEEDS_CONTEXT;
    if (!bytes) return 1;
    if (fake.alloc) return fake.alloc;
    fake.allocations++;
    return *pointer = (uintptr_t)aligned_alloc(256, (bytes + 255) & ~(size_t)255), 0;
}
FAKE(cuMemFree)(stn_cu_pointer pointer) {
    NEEDS_CONTEXT;
    fake.allocations--;
    free((void *)(uintptr_t)pointer);
    return 0;
}
FAKE(cuMemcpyHtoD)(stn_cu_pointer to, const void *from, size_t bytes) {
    NEEDS_CONTEXT;
    return memcpy((void *)(uintptr_t)to, from, bytes), 0;
}
FAKE(cuMemcpyDtoH)(void *to, stn_cu_pointer from, size_t bytes) {
    NEEDS_CONTEXT;
    return memcpy(to, (void *)(uintptr_t)from, bytes), 0;
}
FAKE(cuMemcpyDtoDAsync)(stn_cu_pointer to, stn_cu_pointer from, size_t bytes, stn_cu_stream stream) {
    NEEDS_CONTEXT;
    (void)stream;
    if (bytes > 1 << 20) bytes = 1 << 20; /* For timing only, and the time is made up. */
    return memcpy((void *)(uintptr_t)to, (void *)(uintptr_t)from, bytes), 0;
}
FAKE(cuModuleLoadDataEx)
(stn_cu_module *module, const void *image, unsigned count, stn_cu_enum *options, void **values) {
    NEEDS_CONTEXT;
    bool refused = fake.refused && !strncmp(image, fake.refused, strlen(fake.refused));
    if (fake.load || refused) {
        char *log = NULL;
        size_t size = 0;
        for (unsigned i = 0; i < count; i++) {
            if (options[i] == STN_CU_JIT_ERROR_LOG_BUFFER) log = values[i];
            if (options[i] == STN_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = (uintptr_t)values[i];
        }
        if (log && size && fake.jit_log) snprintf(log, size, "%s", fake.jit_log);
        return fake.load ? fake.load : STN_CUDA_ERROR_NO_BINARY_FOR_GPU;
    }
    fake.modules++;
    return *module = (stn_cu_module)(uintptr_t)image, 0;
}
FAKE(cuModuleUnload)(stn_cu_module module) { return (void)module, fake.modules--, inside(); }
FAKE(cuModuleGetFunction)(stn_cu_function *function, stn_cu_module module, const char *name) {
    if (!strcmp(name, "absent")) return STN_CUDA_ERROR_NOT_FOUND;
    return *function = (stn_cu_function)module, inside();
}
FAKE(cuFuncGetAttribute)(int *value, stn_cu_enum attribute, stn_cu_function function) {
    (void)function;
    return *value = attribute ? 10 + (int)attribute : fake.block_threads, inside();
}
FAKE(cuFuncSetAttribute)(stn_cu_function function, stn_cu_enum attribute, int value) {
    (void)function;
    return attribute == 8 && value > 0 ? inside() : 1;
}
FAKE(cuOccupancyMaxActiveBlocksPerMultiprocessor)(int *blocks, stn_cu_function function, int threads, size_t shared) {
    (void)function;
    return *blocks = 2048 / threads - (int)(shared >> 10), inside();
}
FAKE(cuLaunchKernel)
(stn_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
 unsigned shared, stn_cu_stream stream, void **arguments, void **extra) {
    (void)function, (void)extra;
    NEEDS_CONTEXT;
    fake.last = (stn_cu_launch_config){gx, gy, gz, bx, by, bz, shared, stream, NULL, 0};
    fake.last_argument = *(int *)arguments[0];
    fake.launches++;
    return fake.launch;
}
FAKE(cuLaunchKernelEx)(const stn_cu_launch_config *config, stn_cu_function function, void **arguments, void **extra) {
    (void)function, (void)extra;
    NEEDS_CONTEXT;
    fake.last = *config;
    fake.last_argument = *(int *)arguments[0];
    fake.clustered = (int)config->attributes[0].value.cluster.x;
    fake.launches++;
    return fake.launch;
}
FAKE(cuStreamSynchronize)(stn_cu_stream stream) { return (void)stream, inside(); }
FAKE(cuEventCreate)(stn_cu_event *event, unsigned flags) {
    (void)flags;
    fake.events++;
    return *event = (stn_cu_event)0x9, inside();
}
FAKE(cuEventDestroy)(stn_cu_event event) { return (void)event, fake.events--, inside(); }
FAKE(cuEventRecord)(stn_cu_event event, stn_cu_stream stream) { return (void)event, (void)stream, inside(); }
FAKE(cuEventSynchronize)(stn_cu_event event) { return (void)event, inside(); }
FAKE(cuEventElapsedTime)(float *ms, stn_cu_event start, stn_cu_event stop) {
    (void)start, (void)stop;
    return *ms = 0.25f, inside();
}
static stn_cu_result not_here(void) { return STN_CUDA_ERROR_NOT_SUPPORTED; }

__attribute__((visibility("default"))) stn_cu_result cuGetProcAddress_v2(const char *name, void **function, int version,
                                                                         uint64_t flags, stn_cu_enum *found) {
    static const struct {
        const char *name;
        void *function;
    } known[] = {
#define ROW(name) {#name, (void *)fake_##name},
        ROW(cuInit) ROW(cuDriverGetVersion) ROW(cuGetErrorName) ROW(cuGetErrorString) ROW(cuDeviceGetCount)
            ROW(cuDeviceGet) ROW(cuDeviceGetName) ROW(cuDeviceGetUuid) ROW(cuDeviceGetAttribute) ROW(cuDeviceTotalMem)
                ROW(cuDevicePrimaryCtxRetain) ROW(cuDevicePrimaryCtxRelease) ROW(cuCtxPushCurrent) ROW(cuCtxPopCurrent)
                    ROW(cuCtxGetCurrent) ROW(cuCtxSetCurrent) ROW(cuCtxSynchronize) ROW(cuMemGetInfo) ROW(cuMemAlloc)
                        ROW(cuMemFree) ROW(cuMemcpyHtoD) ROW(cuMemcpyDtoH) ROW(cuMemcpyDtoDAsync)
                            ROW(cuModuleLoadDataEx) ROW(cuModuleUnload) ROW(cuModuleGetFunction) ROW(cuFuncGetAttribute)
                                ROW(cuFuncSetAttribute) ROW(cuOccupancyMaxActiveBlocksPerMultiprocessor)
                                    ROW(cuLaunchKernel) ROW(cuLaunchKernelEx) ROW(cuStreamSynchronize)
                                        ROW(cuEventCreate) ROW(cuEventDestroy) ROW(cuEventRecord)
                                            ROW(cuEventSynchronize) ROW(cuEventElapsedTime)};
    (void)version;
    if (flags || (fake.absent && !strcmp(name, fake.absent)))
        return *found = STN_CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, STN_CUDA_ERROR_NOT_FOUND;
    *found = STN_CU_GET_PROC_ADDRESS_SUCCESS;
    *function = (void *)not_here;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(known[i].name, name)) *function = known[i].function;
    return 0;
}
__attribute__((visibility("default"))) fake_state *fake_driver_state(void) { return &fake; }
