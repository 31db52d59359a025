// A GPU for the tests, real or emulated: the driver and NVRTC are opened by path; kernels are
// compiled from tests/emulator.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "abi.h"

// name, arguments
#define DRIVER_FUNCTIONS(X)                                                                                            \
    X(cuInit, (unsigned))                                                                                              \
    X(cuDriverGetVersion, (int *))                                                                                     \
    X(cuDeviceGetCount, (int *))                                                                                       \
    X(cuDeviceGetAttribute, (int *, int, CUdevice))                                                                    \
    X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                                                               \
    X(cuDevicePrimaryCtxRelease_v2, (CUdevice))                                                                        \
    X(cuCtxPushCurrent_v2, (CUcontext))                                                                                \
    X(cuCtxPopCurrent_v2, (CUcontext *))                                                                               \
    X(cuCtxSynchronize, ())                                                                                            \
    X(cuModuleLoadDataEx, (CUmodule *, const void *, unsigned, int *, void **))                                        \
    X(cuModuleUnload, (CUmodule))                                                                                      \
    X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))                                                     \
    X(cuModuleGetGlobal_v2, (CUdeviceptr *, size_t *, CUmodule, const char *))                                         \
    X(cuFuncSetAttribute, (CUfunction, int, int))                                                                      \
    X(cuFuncGetAttribute, (int *, int, CUfunction))                                                                    \
    X(cuLaunchKernel,                                                                                                  \
      (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CUstream, void **, void **))  \
    X(cuLaunchKernelEx, (const CUlaunchConfig *, CUfunction, void **, void **))                                        \
    X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                                                          \
    X(cuMemFree_v2, (CUdeviceptr))                                                                                     \
    X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                                                            \
    X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                                                                  \
    X(cuMemcpyDtoDAsync_v2, (CUdeviceptr, CUdeviceptr, size_t, CUstream))                                              \
    X(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))                                                 \
    X(cuStreamCreate, (CUstream *, unsigned))                                                                          \
    X(cuStreamDestroy_v2, (CUstream))                                                                                  \
    X(cuStreamSynchronize, (CUstream))                                                                                 \
    X(cuStreamWaitEvent, (CUstream, CUevent, unsigned))                                                                \
    X(cuStreamIsCapturing, (CUstream, int *))                                                                          \
    X(cuStreamBeginCapture_v2, (CUstream, int))                                                                        \
    X(cuStreamEndCapture, (CUstream, CUgraph *))                                                                       \
    X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long))                                       \
    X(cuGraphLaunch, (CUgraphExec, CUstream))                                                                          \
    X(cuGraphExecDestroy, (CUgraphExec))                                                                               \
    X(cuGraphDestroy, (CUgraph))                                                                                       \
    X(cuEventCreate, (CUevent *, unsigned))                                                                            \
    X(cuEventRecord, (CUevent, CUstream))                                                                              \
    X(cuEventSynchronize, (CUevent))                                                                                   \
    X(cuEventElapsedTime, (float *, CUevent, CUevent))                                                                 \
    X(cuEventDestroy_v2, (CUevent))                                                                                    \
    X(cuGetErrorName, (CUresult, const char **))                                                                       \
    X(cuGetProcAddress_v2, (const char *, void **, int, uint64_t, int *))

#define NVRTC_FUNCTIONS(X)                                                                                             \
    X(nvrtcCreateProgram, (void **, const char *, const char *, int, const char *const *, const char *const *))        \
    X(nvrtcCompileProgram, (void *, int, const char *const *))                                                         \
    X(nvrtcGetCUBINSize, (void *, size_t *))                                                                           \
    X(nvrtcGetCUBIN, (void *, char *))                                                                                 \
    X(nvrtcGetPTXSize, (void *, size_t *))                                                                             \
    X(nvrtcGetPTX, (void *, char *))                                                                                   \
    X(nvrtcGetProgramLogSize, (void *, size_t *))                                                                      \
    X(nvrtcGetProgramLog, (void *, char *))                                                                            \
    X(nvrtcDestroyProgram, (void **))

#define X(name, types) extern CUresult(*name) types;
DRIVER_FUNCTIONS(X)
#undef X
#define X(name, types) extern int(*name) types;
NVRTC_FUNCTIONS(X)
#undef X
extern uint64_t (*stentor_emulator_calls)(const char *);  // null on a real GPU
extern size_t (*stentor_emulator_live)();
extern void (*stentor_emulator_write_traffic)();
extern int machine_sm;
extern bool machine_emulated;

bool open_machine(bool emulated);  // False: there is none.
void close_machine();
// Ends the context and begins a new one, after a kernel's error.
void renew_context();

std::string read_text(const std::string &path);
std::string kernel_folder(), template_folder();  // Under $STENTOR_SOURCE_ROOT if set.
std::string compile_text(const std::string &text, int sm, bool ptx, int *result, std::string *log,
                         const std::vector<std::string> &options = {});

// The module of kernels/NAME.cu, compiled with the templates' headers; null, after the log, if it
// does not compile. Unloaded at the end of the scope.
struct Kernels {
    CUmodule module = nullptr;
    explicit Kernels(const char *name);
    ~Kernels() { cuModuleUnload(module); }
    Kernels(const Kernels &) = delete;
    operator CUmodule() const { return module; }
};

// Device memory owned by a test.
template <class T>
struct Buffer {
    CUdeviceptr pointer = 0;
    size_t count;
    explicit Buffer(size_t n) : count(n) {
        if (cuMemAlloc_v2(&pointer, n * sizeof(T)) != CUDA_SUCCESS) abort();
    }
    explicit Buffer(const std::vector<T> &values) : Buffer(values.size()) { put(values); }
    ~Buffer() { cuMemFree_v2(pointer); }
    Buffer(const Buffer &) = delete;
    void put(const std::vector<T> &values) { cuMemcpyHtoD_v2(pointer, values.data(), count * sizeof(T)); }
    std::vector<T> get(CUresult *result = nullptr) const {
        std::vector<T> values(count);
        CUresult r = cuMemcpyDtoH_v2(values.data(), pointer, count * sizeof(T));
        if (result) *result = r;
        return values;
    }
};

struct Size {
    unsigned x = 1, y = 1, z = 1;
};
struct WordArguments {  // of kernels/words.cu and faults.cu
    CUdeviceptr in, out;
    int n;
};
CUfunction get_function(CUmodule module, const char *name);
CUresult launch(CUmodule module, const char *name, Size grid, Size block, unsigned shared, void *arguments,
                CUstream stream = nullptr);
// The same with clusters of `cluster` blocks along x.
CUresult launch_clusters(CUmodule module, const char *name, unsigned cluster, Size grid, Size block, unsigned shared,
                         void *arguments);
// The same as a programmatic dependent launch.
CUresult launch_early(CUfunction f, Size grid, Size block, unsigned shared, void *arguments, CUstream stream);

// ---- assertions
extern int checks, failures;
extern const char *test_name;
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        checks++;                                                                                                      \
        if (!(condition)) {                                                                                            \
            failures++;                                                                                                \
            printf("%s:%d: %s: failed: %s\n", __FILE__, __LINE__, test_name, #condition);                              \
        }                                                                                                              \
    } while (0)
struct Test {
    const char *name;
    void (*run)();
    bool on_gpu;
};
extern const std::vector<Test> word_tests, fragment_tests, fault_tests, traffic_tests, driver_tests, template_tests;
