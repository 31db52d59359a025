// cuGetProcAddress: a table of base names, exported names, and the CUDA version that introduced
// them.
#include <cstring>

#include "abi.h"
#include "emulator_settings.h"

using namespace stn_emulator;

// base name, exported name, since
#define ENTRIES(X)                                                                                                     \
    X(cuInit, cuInit, 2000)                                                                                            \
    X(cuDriverGetVersion, cuDriverGetVersion, 2020)                                                                    \
    X(cuGetErrorName, cuGetErrorName, 6000)                                                                            \
    X(cuGetErrorString, cuGetErrorString, 6000)                                                                        \
    X(cuDeviceGetCount, cuDeviceGetCount, 2000)                                                                        \
    X(cuDeviceGet, cuDeviceGet, 2000)                                                                                  \
    X(cuDeviceGetName, cuDeviceGetName, 2000)                                                                          \
    X(cuDeviceTotalMem, cuDeviceTotalMem_v2, 3020)                                                                     \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2, 11040)                                                                      \
    X(cuDeviceGetUuid, cuDeviceGetUuid, 9020)                                                                          \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, 2000)                                                                \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000)                                                        \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000)                                                  \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, 4000)                                                                     \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, 4000)                                                                       \
    X(cuCtxGetCurrent, cuCtxGetCurrent, 4000)                                                                          \
    X(cuCtxSetCurrent, cuCtxSetCurrent, 4000)                                                                          \
    X(cuCtxGetDevice, cuCtxGetDevice, 2000)                                                                            \
    X(cuCtxSynchronize, cuCtxSynchronize, 2000)                                                                        \
    X(cuModuleLoadData, cuModuleLoadData, 2000)                                                                        \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010)                                                                    \
    X(cuModuleUnload, cuModuleUnload, 2000)                                                                            \
    X(cuModuleGetFunction, cuModuleGetFunction, 2000)                                                                  \
    X(cuModuleGetGlobal, cuModuleGetGlobal_v2, 3020)                                                                   \
    X(cuFuncGetAttribute, cuFuncGetAttribute, 2020)                                                                    \
    X(cuFuncSetAttribute, cuFuncSetAttribute, 9000)                                                                    \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)                  \
    X(cuLaunchKernel, cuLaunchKernel, 4000)                                                                            \
    X(cuLaunchKernelEx, cuLaunchKernelEx, 11060)                                                                       \
    X(cuMemAlloc, cuMemAlloc_v2, 3020)                                                                                 \
    X(cuMemFree, cuMemFree_v2, 3020)                                                                                   \
    X(cuMemGetInfo, cuMemGetInfo_v2, 3020)                                                                             \
    X(cuPointerGetAttribute, cuPointerGetAttribute, 4000)                                                              \
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2, 3020)                                                                             \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2, 3020)                                                                             \
    X(cuMemcpyDtoD, cuMemcpyDtoD_v2, 3020)                                                                             \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020)                                                                   \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020)                                                                   \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020)                                                                   \
    X(cuMemcpyPeerAsync, cuMemcpyPeerAsync, 4000)                                                                      \
    X(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync, 4000)                                                                  \
    X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000)                                                              \
    X(cuMemcpyAsync, cuMemcpyAsync, 4000)                                                                              \
    X(cuMemsetD8Async, cuMemsetD8Async, 3020)                                                                          \
    X(cuStreamCreate, cuStreamCreate, 2000)                                                                            \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050)                                                    \
    X(cuStreamDestroy, cuStreamDestroy_v2, 4000)                                                                       \
    X(cuStreamSynchronize, cuStreamSynchronize, 2000)                                                                  \
    X(cuStreamQuery, cuStreamQuery, 2000)                                                                              \
    X(cuStreamWaitEvent, cuStreamWaitEvent, 3020)                                                                      \
    X(cuStreamIsCapturing, cuStreamIsCapturing, 10000)                                                                 \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2, 10010)                                                            \
    X(cuStreamEndCapture, cuStreamEndCapture, 10000)                                                                   \
    X(cuGraphInstantiate, cuGraphInstantiateWithFlags, 12000)                                                          \
    X(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040)                                                 \
    X(cuGraphLaunch, cuGraphLaunch, 10000)                                                                             \
    X(cuGraphExecDestroy, cuGraphExecDestroy, 10000)                                                                   \
    X(cuGraphDestroy, cuGraphDestroy, 10000)                                                                           \
    X(cuEventCreate, cuEventCreate, 2000)                                                                              \
    X(cuEventDestroy, cuEventDestroy_v2, 4000)                                                                         \
    X(cuEventRecord, cuEventRecord, 2000)                                                                              \
    X(cuEventSynchronize, cuEventSynchronize, 2000)                                                                    \
    X(cuEventQuery, cuEventQuery, 2000)                                                                                \
    X(cuEventElapsedTime, cuEventElapsedTime_v2, 12080)                                                                \
    X(cuEventElapsedTime, cuEventElapsedTime, 2000)                                                                    \
    X(cuGetProcAddress, cuGetProcAddress_v2, 12000)

// The functions have their types elsewhere; only their addresses matter here.
#define X(base, name, since) extern "C" char address_of_##name##_since_##since __asm__(#name);
ENTRIES(X)
#undef X

struct Entry {
    const char *name;
    void *address;
    int since;
};
static const Entry entries[] = {
#define X(base, name, since) {#base, &address_of_##name##_since_##since, since},
    ENTRIES(X)
#undef X
};

// Returns the newest variant that the caller's version knows, as the driver does. `status`: 0:
// found, 1: no such name, 2: newer than the requested version.
extern "C" __attribute__((visibility("default"))) CUresult cuGetProcAddress_v2(const char *name, void **function,
                                                                               int version, uint64_t flags,
                                                                               int *status) {
    if (count_call(__func__)) return CUDA_ERROR_NOT_FOUND;
    const int driver = read_settings().driver_version;
    if (!name || !function || flags > 2 || version > driver) return CUDA_ERROR_INVALID_VALUE;
    const Entry *best = nullptr;
    bool known = false;
    for (const Entry &e : entries) {
        if (strcmp(e.name, name) != 0 || e.since > driver) continue;
        known = true;
        if (e.since <= version && (!best || e.since > best->since)) best = &e;
    }
    *function = best ? best->address : nullptr;
    if (status) *status = best ? 0 : known ? 2 : 1;
    return CUDA_SUCCESS;  // A missing function is no error: the pointer is null.
}
