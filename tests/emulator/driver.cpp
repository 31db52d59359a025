// The stand-in for libcuda.so.1: devices, contexts, modules and functions.
#include "driver.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <memory>

#include "build.h"

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
void set_sticky(CUresult error) {
    if (!current.empty() && current.back()->sticky == CUDA_SUCCESS) current.back()->sticky = error;
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

#define DEVICE(device)                                                                                                 \
    INITIALIZED();                                                                                                     \
    if ((device) < 0 || (device) >= settings.devices) return CUDA_ERROR_INVALID_DEVICE

EXPORT CUresult cuDeviceGetCount(int *count) {
    COUNTED(CUDA_ERROR_UNKNOWN);
    INITIALIZED();
    if (!count) return CUDA_ERROR_INVALID_VALUE;
    *count = settings.devices;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
    COUNTED(CUDA_ERROR_UNKNOWN);
    DEVICE(ordinal);
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetName(char *name, int size, CUdevice device) {
    COUNTED(CUDA_ERROR_UNKNOWN);
    DEVICE(device);
    if (!name || size <= 0) return CUDA_ERROR_INVALID_VALUE;
    snprintf(name, (size_t)size, "%s", chip_facts().name);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device) {
    COUNTED(CUDA_ERROR_UNKNOWN);
    DEVICE(device);
    if (!bytes) return CUDA_ERROR_INVALID_VALUE;
    *bytes = settings.memory;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device) {
    COUNTED(CUDA_ERROR_UNKNOWN);
    DEVICE(device);
    if (!uuid) return CUDA_ERROR_INVALID_VALUE;
    memset(uuid, 0, sizeof *uuid);
    snprintf(uuid->bytes, sizeof uuid->bytes, "emulated sm%d", settings.sm);
    uuid->bytes[15] = (char)device;
    return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device) { return cuDeviceGetUuid_v2(uuid, device); }

EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device) {
    COUNTED(CUDA_ERROR_UNKNOWN);
    DEVICE(device);
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
    COUNTED(CUDA_ERROR_OUT_OF_MEMORY);
    DEVICE(device);
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    CUctx_st &c = contexts[device];
    if (c.users++ == 0) c.device = device, c.sticky = CUDA_SUCCESS;
    *context = &c;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    COUNTED(CUDA_ERROR_UNKNOWN);
    DEVICE(device);
    if (contexts[device].users == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (--contexts[device].users == 0 && live_count() > 0 && !environment("STENTOR_EMULATOR_LEAKS", "").empty())
        fprintf(stderr, "stentor emulator: %zu handles and allocations are left when the context ends\n", live_count());
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context) {
    COUNTED(CUDA_ERROR_INVALID_CONTEXT);
    INITIALIZED();
    if (!context || context->users == 0) return CUDA_ERROR_INVALID_CONTEXT;
    current.push_back(context);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context) {
    COUNTED(CUDA_ERROR_INVALID_CONTEXT);
    INITIALIZED();
    if (current.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context) *context = current.back();
    current.pop_back();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *context) {
    COUNTED(CUDA_ERROR_INVALID_CONTEXT);
    INITIALIZED();
    if (!context) return CUDA_ERROR_INVALID_VALUE;
    *context = current.empty() ? nullptr : current.back();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxSetCurrent(CUcontext context) {
    COUNTED(CUDA_ERROR_INVALID_CONTEXT);
    INITIALIZED();
    if (!current.empty()) current.pop_back();
    if (context) current.push_back(context);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device) {
    COUNTED(CUDA_ERROR_INVALID_CONTEXT);
    IN_CONTEXT();
    if (!device) return CUDA_ERROR_INVALID_VALUE;
    *device = current.back()->device;
    return CUDA_SUCCESS;
}

// ---- modules

static std::map<std::string, int> loaded_paths;

// The same library opened twice would share its variables: further modules get a copy of the file.
static bool open_library(CUmodule m) {
    std::string path = m->path;
    if (loaded_paths[m->path]++ > 0) {
        FILE *file = fopen(path.c_str(), "rb");
        m->file = memfd_create("stentor-module", MFD_CLOEXEC);
        char part[65536];
        bool ok = file && m->file >= 0;
        for (size_t n; ok && (n = fread(part, 1, sizeof part, file)) > 0;) ok = write(m->file, part, n) == (ssize_t)n;
        if (file) fclose(file);
        if (!ok) return false;
        path = "/proc/self/fd/" + std::to_string(m->file);
    }
    m->library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!m->library) fprintf(stderr, "stentor emulator: %s\n", dlerror());
    return m->library != nullptr;
}

static void close_module(CUmodule m) {
    for (void *global : m->globals) memory_remove_global(global);
    for (CUfunction f : m->functions) delete f;
    if (m->library) dlclose(m->library);
    if (m->file >= 0) close(m->file);
    loaded_paths[m->path]--;
    delete m;
}

template <class T>
static T symbol(CUmodule m, const std::string &name) {
    return reinterpret_cast<T>(dlsym(m->library, name.c_str()));
}

static void add_function(CUmodule m, const KernelEntry &entry) {
    CUfunction f = new CUfunc_st;
    f->module = m;
    f->max_shared = 48 * 1024;
    f->kernel = {entry.name, entry.call, {entry.sizes, entry.sizes + entry.count}, entry.max_threads};
    m->functions.push_back(f);
}

// Can this chip run it? A cubin runs within its major version, PTX on every newer chip.
CUresult stn_emulator::check_target(const Program &p) {
    if (p.ptx && p.ptx_version > settings.driver_version) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    if (p.ptx) return p.sm <= settings.sm ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
    return p.sm / 10 == settings.sm / 10 && p.sm % 10 <= settings.sm % 10 ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static void give_log(const std::string &log, unsigned count, const int *options, void **values) {
    char *buffer = nullptr;
    size_t size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == 5) buffer = static_cast<char *>(values[i]);
        if (options[i] == 6) size = reinterpret_cast<size_t>(values[i]);
    }
    if (buffer && size)
        snprintf(buffer, size, "%s", log.c_str());
    else if (!log.empty())
        fprintf(stderr, "stentor emulator: %s", log.c_str());
}

EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count, int *options, void **values) {
    COUNTED(CUDA_ERROR_INVALID_IMAGE);
    IN_CONTEXT();
    if (!module || !image) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult r = check_not_capturing()) return r;
    Program program;
    if (!unpack(image, &program)) {
        give_log("not an image of the stand-in NVRTC, or a damaged one\n", count, options, values);
        return memcmp(image,
                      "\x7f"
                      "ELF",
                      4) == 0
                   ? CUDA_ERROR_NO_BINARY_FOR_GPU
                   : CUDA_ERROR_INVALID_IMAGE;
    }
    if (CUresult r = check_target(program)) return r;
    std::string log, path = build(program, &log);
    if (path.empty()) {
        give_log(log, count, options, values);
        return CUDA_ERROR_INVALID_PTX;
    }
    CUmodule m = new CUmod_st();
    m->path = path;
    m->sm = program.sm;
    if (!open_library(m)) {
        close_module(m);
        unlink(path.c_str());  // damaged: built anew next time
        return CUDA_ERROR_INVALID_IMAGE;
    }
    symbol<void (*)(const Engine *)>(m, "stn_bind")(&engine_table);
    for (auto k = symbol<const KernelEntry *>(m, "stn_kernels"); k->name; k++) add_function(m, *k);
    set_live(m, true);
    *module = m;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    COUNTED(CUDA_ERROR_INVALID_IMAGE);
    return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

EXPORT CUresult cuModuleUnload(CUmodule module) {
    COUNTED(CUDA_ERROR_INVALID_HANDLE);
    INITIALIZED();
    if (!is_live(module)) return CUDA_ERROR_INVALID_HANDLE;
    finish_all();
    set_live(module, false);
    close_module(module);
    return check_context();
}

EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    COUNTED(CUDA_ERROR_NOT_FOUND);
    IN_CONTEXT();
    if (!function || !name) return CUDA_ERROR_INVALID_VALUE;
    if (!is_live(module)) return CUDA_ERROR_INVALID_HANDLE;
    for (CUfunction f : module->functions)
        if (f->kernel.name == name) {
            *function = f;
            return CUDA_SUCCESS;
        }
    return CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *bytes, CUmodule module, const char *name) {
    COUNTED(CUDA_ERROR_NOT_FOUND);
    IN_CONTEXT();
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    if (!is_live(module)) return CUDA_ERROR_INVALID_HANDLE;
    void *address = dlsym(module->library, name);
    Dl_info info;
    ElfW(Sym) *entry = nullptr;
    if (!address || !dladdr1(address, &info, reinterpret_cast<void **>(&entry), RTLD_DL_SYMENT) || !entry)
        return CUDA_ERROR_NOT_FOUND;
    memory_add_global(address, entry->st_size);
    module->globals.push_back(address);
    if (pointer) *pointer = reinterpret_cast<CUdeviceptr>(address);
    if (bytes) *bytes = entry->st_size;
    return CUDA_SUCCESS;
}

// ---- functions

EXPORT CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f) {
    COUNTED(CUDA_ERROR_INVALID_VALUE);
    IN_CONTEXT();
    if (!value || !f) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
        case 0:
            *value = f->kernel.max_threads;
            break;
        case 4:  // registers: not known here, a plausible number
            *value = 40;
            break;
        case 5:
        case 6:
            *value = f->module->sm;
            break;
        case 8:
            *value = f->max_shared;
            break;
        default:
            *value = 0;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value) {
    COUNTED(CUDA_ERROR_INVALID_VALUE);
    IN_CONTEXT();
    if (!f) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == 8) {
        if (value < 0 || value > chip_facts().shared_optin) return CUDA_ERROR_INVALID_VALUE;
        f->max_shared = value;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t shared) {
    COUNTED(CUDA_ERROR_INVALID_VALUE);
    IN_CONTEXT();
    if (!blocks || !f || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    const ChipFacts c = chip_facts();
    int padded = (threads + 31) / 32 * 32;
    int most = c.blocks_multiprocessor, by_threads = c.threads_multiprocessor / padded,
        by_registers = 65536 / (40 * padded);
    int by_shared = (int)((size_t)c.shared_multiprocessor / (shared + 1024));
    for (int limit : {by_threads, by_registers, by_shared}) most = limit < most ? limit : most;
    *blocks = threads > f->kernel.max_threads || (int)shared > f->max_shared ? 0 : most;
    return CUDA_SUCCESS;
}

// ---- for tests: not part of CUDA

EXPORT uint64_t stentor_emulator_calls(const char *name) { return calls_made(name); }
EXPORT void stentor_emulator_reset() { reset_calls(); }
EXPORT size_t stentor_emulator_live() {
    std::lock_guard<std::recursive_mutex> lock(driver_mutex);
    return live_count();
}
