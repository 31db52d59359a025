// Emulated driver: initialization, devices and contexts.
#include "emulated_driver.h"

#include <cstdio>
#include <cstring>
#include <map>

using namespace stn_emulator;

namespace stn_emulator {

std::recursive_mutex driver_mutex;
Settings settings;
bool initialized;
static CUctx_st contexts[16];
static thread_local std::vector<CUcontext> current;
static std::set<const void *> live;

ChipFacts chip_facts() {
    ChipFacts f = {132, 232448, 233472, 62914560, 2048, 32, 1980000, 3201000, 6144, "Emulated H200"};
    if (settings.sm < 90)
        f = {108, 166912, 167936, 41943040, 2048, 32, 1410000, 1593000, 5120, "Emulated A100"};
    else if (settings.sm >= 100)
        f = {148, 232448, 233472, 132644864, 2048, 32, 1965000, 3996000, 8192, "Emulated B200"};
    if (settings.multiprocessors > 0) f.multiprocessors = settings.multiprocessors;
    return f;
}

CUresult check_context() {
    if (current.empty() || !current.back() || current.back()->users == 0) return CUDA_ERROR_INVALID_CONTEXT;
    return current.back()->sticky;
}
CUcontext current_context() { return current.empty() ? nullptr : current.back(); }
void set_sticky(CUresult error, CUcontext context) {
    if (context && context->sticky == CUDA_SUCCESS) context->sticky = error;
}
bool is_live(const void *handle) { return live.count(handle) != 0; }
void set_live(const void *handle, bool is) {
    if (is)
        live.insert(handle);
    else
        live.erase(handle);
}
size_t live_count() { return live.size() + memory_count(); }

}  // namespace stn_emulator

// ---- the library

EXPORT CUresult cuInit(unsigned flags) {
    COUNTED(CUDA_ERROR_UNKNOWN);
    std::lock_guard<std::recursive_mutex> lock(driver_mutex);
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    settings = read_settings();
    if (settings.devices > 16) settings.devices = 16;
    memory_limit(settings.memory);
    if (settings.devices <= 0) return CUDA_ERROR_NO_DEVICE;
    initialized = true;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDriverGetVersion(int *version) {
    COUNTED(CUDA_ERROR_UNKNOWN);
    if (!version) return CUDA_ERROR_INVALID_VALUE;
    *version = read_settings().driver_version;
    return CUDA_SUCCESS;
}

struct ErrorText {
    CUresult result;
    const char *name, *text;
};
static const ErrorText *find_error(CUresult result) {
    static const ErrorText texts[] = {
#define X(name, number, text) {name, #name, text},
        CU_RESULTS(X)
#undef X
    };
    for (const ErrorText &t : texts)
        if (t.result == result) return &t;
    return nullptr;
}

EXPORT CUresult cuGetErrorName(CUresult result, const char **name) {
    const ErrorText *found = find_error(result);
    if (name) *name = found ? found->name : nullptr;
    return found && name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
EXPORT CUresult cuGetErrorString(CUresult result, const char **text) {
    const ErrorText *found = find_error(result);
    if (text) *text = found ? found->text : nullptr;
    return found && text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// ---- devices

#define DEVICE(device, error)                                                                                          \
    INITIALIZED(error);                                                                                                \
    if ((device) < 0 || (device) >= settings.devices) return CUDA_ERROR_INVALID_DEVICE

EXPORT CUresult cuDeviceGetCount(int *count) {
    INITIALIZED(CUDA_ERROR_UNKNOWN);
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = settings.devices;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    DEVICE(ordinal, CUDA_ERROR_UNKNOWN);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    DEVICE(device, CUDA_ERROR_UNKNOWN);
    if (!name || size <= 0) return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)size, "%s", chip_facts().name);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    DEVICE(device, CUDA_ERROR_UNKNOWN);
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    *bytes = settings.memory;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    DEVICE(device, CUDA_ERROR_UNKNOWN);
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    memset(uuid, 0, sizeof *uuid);
    snprintf(uuid->bytes, sizeof uuid->bytes, "emulated sm%d", settings.sm);
    uuid->bytes[15] = (char)device;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    DEVICE(device, CUDA_ERROR_UNKNOWN);
    if (!value || attribute < 1 || attribute > 150) return CUDA_ERROR_INVALID_VALUE;
    const ChipFacts f = chip_facts();
    const std::map<int, int> values = {
        {1, 1024},  // threads per block
        {2, 1024},  // block x, y, z
        {3, 1024},
        {4, 64},
        {5, 2147483647},  // grid x, y, z
        {6, 65535},
        {7, 65535},
        {8, 49152},        // shared memory per block
        {9, 65536},        // constant memory
        {10, 32},          // warp
        {11, 2147483647},  // pitch
        {12, 65536},       // registers per block
        {13, f.clock_khz},
        {14, 512},  // texture alignment
        {16, f.multiprocessors},
        {19, 1},           // can map host memory
        {31, 1},           // concurrent kernels
        {32, 1},           // ECC
        {33, 1 + device},  // PCI bus
        {36, f.memory_khz},
        {37, f.bus_bits},
        {38, f.l2_bytes},
        {39, f.threads_multiprocessor},
        {40, 3},  // copy engines
        {41, 1},  // unified addressing
        {75, settings.sm / 10},
        {76, settings.sm % 10},
        {78, 1},  // stream priorities
        {81, f.shared_multiprocessor},
        {82, 65536},  // registers per multiprocessor
        {83, 1},      // managed memory
        {95, 1},      // cooperative launch
        {97, f.shared_optin},
        {106, f.blocks_multiprocessor},
        {111, 1024},               // reserved shared memory per block
        {120, settings.sm >= 90},  // clusters
    };
    auto found = values.find(attribute);
    *value = found == values.end() ? 0 : found->second;
    return CUDA_SUCCESS;
}

// ---- contexts

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device) {
    DEVICE(device, CUDA_ERROR_OUT_OF_MEMORY);
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    CUctx_st &c = contexts[device];
    if (c.users++ == 0) c.device = device, c.sticky = CUDA_SUCCESS;
    *context = &c;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    DEVICE(device, CUDA_ERROR_UNKNOWN);
    if (contexts[device].users == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--contexts[device].users == 0 && live_count() > 0 && !environment("STENTOR_EMULATOR_LEAKS", "").empty())
        fprintf(stderr, "stentor emulator: %zu handles and allocations are left when the context ends\n", live_count());
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
    INITIALIZED_AND_HELD(CUDA_ERROR_INVALID_CONTEXT);
    return !peer || flags ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
    INITIALIZED_AND_HELD(CUDA_ERROR_INVALID_CONTEXT);
    if (!context || context->users == 0) return CUDA_ERROR_INVALID_CONTEXT;
    current.push_back(context);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    INITIALIZED_AND_HELD(CUDA_ERROR_INVALID_CONTEXT);
    if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context) *context = current.back();
    current.pop_back();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *context) {
    INITIALIZED(CUDA_ERROR_INVALID_CONTEXT);
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    *context = current.empty() ? nullptr : current.back();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
    INITIALIZED(CUDA_ERROR_INVALID_CONTEXT);
    if (!current.empty()) current.pop_back();
    if (context) current.push_back(context);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device) {
    IN_CONTEXT(CUDA_ERROR_INVALID_CONTEXT);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = current.back()->device;
    return CUDA_SUCCESS;
}

// ---- extensions for tests, not part of CUDA

EXPORT uint64_t stentor_emulator_calls(const char *name) { return calls_made(name); }
EXPORT void stentor_emulator_reset() { reset_calls(); }
EXPORT size_t stentor_emulator_live() {
    std::lock_guard<std::recursive_mutex> lock(driver_mutex);
    return live_count();
}
