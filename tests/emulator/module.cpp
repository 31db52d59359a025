// Emulated driver: modules and functions.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "build.h"
#include "emulated_driver.h"

using namespace stn_emulator;

static std::map<std::string, int> loaded_paths;

// Opening a library twice would share its variables, so further modules open a copy of the file.
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
    if (!m->path.empty()) loaded_paths[m->path]--;
    delete m;
}

template <class T>
static T symbol(CUmodule m, const std::string &name) {
    return reinterpret_cast<T>(dlsym(m->library, name.c_str()));
}

static CUfunction find_function(CUmodule m, const std::string &name) {
    for (CUfunction f : m->functions)
        if (f->kernel.name == name) return f;
    return nullptr;
}

static CUfunction add_function(CUmodule m, const std::string &name) {
    CUfunction f = new CUfunc_st;
    f->module = m;
    f->max_shared = 48 * 1024;
    f->kernel = {name, nullptr, {}, 1024};
    m->functions.push_back(f);
    return f;
}

// Opens the compiled library, and fills in its functions.
static CUresult open_module(CUmodule m, const std::string &path) {
    m->path = path;
    if (!open_library(m)) {
        unlink(path.c_str());  // Damaged: built again next time.
        return CUDA_ERROR_INVALID_IMAGE;
    }
    symbol<void (*)(const Engine *)>(m, "stn_bind")(&engine_table);
    for (auto k = symbol<const KernelEntry *>(m, "stn_kernels"); k->name; k++) {
        CUfunction f = find_function(m, k->name);
        if (!f) f = add_function(m, k->name);
        f->kernel = {k->name, k->call, {k->sizes, k->sizes + k->count}, k->max_threads};
    }
    return CUDA_SUCCESS;
}

CUresult stn_emulator::complete(CUmodule m) {
    if (!m->program) return CUDA_SUCCESS;
    std::string log, path = build(*m->program, &log);
    m->program = nullptr;
    if (path.empty()) fprintf(stderr, "stentor emulator: %s", log.c_str());
    return path.empty() ? CUDA_ERROR_INVALID_PTX : open_module(m, path);
}

// A cubin runs within its major version, PTX on every newer chip.
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
    IN_CONTEXT(CUDA_ERROR_INVALID_IMAGE);
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
    const bool late = compiles_late();
    std::string log, path = late ? "" : build(program, &log);
    if (!late && path.empty()) {
        give_log(log, count, options, values);
        return CUDA_ERROR_INVALID_PTX;
    }
    CUmodule m = new CUmod_st();
    m->sm = program.sm;
    if (late)
        m->program = std::make_shared<Program>(program);
    else if (CUresult r = open_module(m, path)) {
        close_module(m);
        return r;
    }
    set_live(m, true);
    *module = m;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    COUNTED(CUDA_ERROR_INVALID_IMAGE);
    return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

EXPORT CUresult cuModuleUnload(CUmodule module) {
    INITIALIZED(CUDA_ERROR_INVALID_HANDLE);
    if (!is_live(module)) return CUDA_ERROR_INVALID_HANDLE;
    finish_all();
    set_live(module, false);
    close_module(module);
    return check_context();
}

EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    IN_CONTEXT(CUDA_ERROR_NOT_FOUND);
    if (!function || !name) return CUDA_ERROR_INVALID_VALUE;
    if (!is_live(module)) return CUDA_ERROR_INVALID_HANDLE;
    *function = find_function(module, name);
    if (!*function && module->program) *function = add_function(module, name);
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *pointer, size_t *bytes, CUmodule module, const char *name) {
    IN_CONTEXT(CUDA_ERROR_NOT_FOUND);
    if (!name) return CUDA_ERROR_INVALID_VALUE;
    if (!is_live(module)) return CUDA_ERROR_INVALID_HANDLE;
    if (CUresult r = complete(module)) return r;
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
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    if (!value || !f) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
        case 0:
            *value = f->kernel.max_threads;
            break;
        case 4:  // Registers are not known; a plausible number.
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
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
    if (!f) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == 8) {
        if (value < 0 || value > chip_facts().shared_optin) return CUDA_ERROR_INVALID_VALUE;
        f->max_shared = value;
    }
    return CUDA_SUCCESS;
}

EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads, size_t shared) {
    IN_CONTEXT(CUDA_ERROR_INVALID_VALUE);
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
