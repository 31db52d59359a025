// Opens the machine and runs the tests: `emulator-test emulated|gpu [name]`. Exit status 77: no
// machine.
#include "test_machine.h"

#include <dlfcn.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#define X(name, types) CUresult(*name) types;
DRIVER_FUNCTIONS(X)
#undef X
#define X(name, types) int(*name) types;
NVRTC_FUNCTIONS(X)
#undef X
uint64_t (*stentor_emulator_calls)(const char *);
size_t (*stentor_emulator_live)();
void (*stentor_emulator_write_traffic)();
int machine_sm, checks, failures;
bool machine_emulated;
const char *test_name = "";
static CUcontext context;

static std::string variable(const char *name, const char *otherwise) {
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

std::string kernel_folder() { return variable("STENTOR_SOURCE_ROOT", SOURCE_ROOT) + "/tests/emulator/kernels"; }
std::string template_folder() { return variable("STENTOR_SOURCE_ROOT", SOURCE_ROOT) + "/kernel_templates"; }

// Opens NVRTC from a file or from its folder; its builtins library, which it does not find itself,
// comes first.
static void *open_nvrtc(const std::string &path) {
    namespace fs = std::filesystem;
    std::error_code error;
    if (!fs::is_directory(path, error)) return dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    void *library = nullptr;
    for (const char *prefix : {"libnvrtc-builtins.so.", "libnvrtc.so."})
        for (const auto &file : fs::directory_iterator(path, error))
            if (file.path().filename().string().rfind(prefix, 0) == 0)
                library = dlopen(file.path().c_str(), RTLD_NOW | RTLD_GLOBAL);
    return library;
}

static void *open_first_nvrtc(bool emulated) {
    std::string path = variable("STENTOR_NVRTC_PATH", "");
    if (emulated) return open_nvrtc(path);
    if (!path.empty() && path.find("emulated") == std::string::npos)
        if (void *library = open_nvrtc(path)) return library;
    for (const char *place : {"libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64", "/usr/local/cuda/lib"})
        if (void *library = open_nvrtc(place)) return library;
    return nullptr;
}

bool open_machine(bool emulated) {
    machine_emulated = emulated;
    std::string path = emulated ? variable("STENTOR_CUDA_PATH", "") : "libcuda.so.1";
    void *driver = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), *nvrtc = open_first_nvrtc(emulated);
    if (!driver || !nvrtc) {
        printf("there is no %s\n", driver ? "NVRTC" : "driver");
        return false;
    }
#define X(name, types)                                                                                                 \
    name = reinterpret_cast<decltype(name)>(dlsym(driver, #name));                                                     \
    if (!name) return printf("the driver lacks %s\n", #name), false;
    DRIVER_FUNCTIONS(X)
#undef X
#define X(name, types)                                                                                                 \
    name = reinterpret_cast<decltype(name)>(dlsym(nvrtc, #name));                                                      \
    if (!name) return printf("NVRTC lacks %s\n", #name), false;
    NVRTC_FUNCTIONS(X)
#undef X
    stentor_emulator_calls = reinterpret_cast<uint64_t (*)(const char *)>(dlsym(driver, "stentor_emulator_calls"));
    stentor_emulator_live = reinterpret_cast<size_t (*)()>(dlsym(driver, "stentor_emulator_live"));
    stentor_emulator_write_traffic = reinterpret_cast<void (*)()>(dlsym(driver, "stentor_emulator_write_traffic"));
    int major, minor;
    if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent_v2(context)) return false;
    if (cuDeviceGetAttribute(&major, 75, 0) || cuDeviceGetAttribute(&minor, 76, 0)) return false;
    machine_sm = 10 * major + minor;
    return true;
}

void close_machine() {
    cuCtxPopCurrent_v2(nullptr);
    cuDevicePrimaryCtxRelease_v2(0);
}

void renew_context() {
    close_machine();
    if (cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent_v2(context)) abort();
}

std::string read_text(const std::string &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Collects every header of the templates, with params.cuh's defaults.
static void template_headers(std::vector<std::string> *names, std::vector<std::string> *texts) {
    namespace fs = std::filesystem;
    for (const auto &file : fs::recursive_directory_iterator(template_folder())) {
        if (file.path().extension() != ".cuh") continue;
        names->push_back(fs::relative(file.path(), template_folder()).string());
        texts->push_back(read_text(file.path().string()));
    }
}

std::string compile_text(const std::string &text, int sm, bool ptx, int *result, std::string *log,
                         const std::vector<std::string> &options) {
    std::vector<std::string> header_names, header_texts;
    template_headers(&header_names, &header_texts);
    std::vector<const char *> names, headers;
    for (const std::string &name : header_names) names.push_back(name.c_str());
    for (const std::string &header : header_texts) headers.push_back(header.c_str());
    std::string image, arch = "--gpu-architecture=" + std::string(ptx ? "compute_" : "sm_") + std::to_string(sm);
    std::vector<const char *> words = {arch.c_str(), "--std=c++17"};
    for (const std::string &option : options) words.push_back(option.c_str());
    void *program = nullptr;
    *result = nvrtcCreateProgram(&program, text.c_str(), "test.cu", static_cast<int>(names.size()), headers.data(),
                                 names.data());
    if (*result) return image;
    *result = nvrtcCompileProgram(program, static_cast<int>(words.size()), words.data());
    size_t size = 0;
    if (log && nvrtcGetProgramLogSize(program, &size) == 0 && size > 0) {
        log->resize(size);
        nvrtcGetProgramLog(program, &(*log)[0]);
    }
    if (*result == 0 && (ptx ? nvrtcGetPTXSize : nvrtcGetCUBINSize)(program, &size) == 0) {
        image.resize(size);
        (ptx ? nvrtcGetPTX : nvrtcGetCUBIN)(program, &image[0]);
    }
    nvrtcDestroyProgram(&program);
    return image;
}

Kernels::Kernels(const char *name) {
    std::string text = read_text(kernel_folder() + "/" + name + ".cu"), log;
    int result;
    std::string image = compile_text(text, machine_sm, false, &result, &log);
    if (result) printf("%s.cu does not compile: %s\n", name, log.c_str());
    CHECK(result == 0 && cuModuleLoadDataEx(&module, image.data(), 0, nullptr, nullptr) == CUDA_SUCCESS);
}

CUfunction get_function(CUmodule module, const char *name) {
    CUfunction function = nullptr;
    CHECK(cuModuleGetFunction(&function, module, name) == CUDA_SUCCESS);
    return function;
}

CUresult launch(CUmodule module, const char *name, Size grid, Size block, unsigned shared, void *arguments,
                CUstream stream) {
    CUfunction f = get_function(module, name);
    if (!f) return CUDA_ERROR_NOT_FOUND;
    if (shared > 48 * 1024) cuFuncSetAttribute(f, 8, static_cast<int>(shared));
    void *parameters[] = {arguments};
    return cuLaunchKernel(f, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, parameters, nullptr);
}

static CUresult launch_with(CUfunction f, CUlaunchAttribute attribute, Size grid, Size block, unsigned shared,
                            void *arguments, CUstream stream) {
    if (!f) return CUDA_ERROR_NOT_FOUND;
    CUlaunchConfig config = {grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, &attribute, 1};
    void *parameters[] = {arguments};
    return cuLaunchKernelEx(&config, f, parameters, nullptr);
}

CUresult launch_clusters(CUmodule module, const char *name, unsigned cluster, Size grid, Size block, unsigned shared,
                         void *arguments) {
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value.cluster = {cluster, 1, 1};
    return launch_with(get_function(module, name), attribute, grid, block, shared, arguments, nullptr);
}

CUresult launch_early(CUfunction f, Size grid, Size block, unsigned shared, void *arguments, CUstream stream) {
    CUlaunchAttribute attribute = {};
    attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    attribute.value.bytes[0] = 1;
    return launch_with(f, attribute, grid, block, shared, arguments, stream);
}

int main(int argc, char **argv) {
    setvbuf(stdout, nullptr, _IOLBF, 0);
    bool gpu = argc > 1 && strcmp(argv[1], "gpu") == 0;
    if (!gpu && system("g++ --version >/dev/null 2>&1") != 0 && !getenv("STENTOR_EMULATOR_CXX")) {
        printf("skipped: the emulator compiles kernels with g++, which is not installed\n");
        return 77;
    }
    if (!open_machine(!gpu)) {
        if (gpu) printf("skipped: no GPU\n");
        return gpu ? 77 : 1;
    }
    int run = 0;
    for (const auto *list :
         {&word_tests, &fragment_tests, &fault_tests, &traffic_tests, &driver_tests, &template_tests})
        for (const Test &test : *list) {
            if ((gpu && !test.on_gpu) || (argc > 2 && !strstr(test.name, argv[2]))) continue;
            test_name = test.name;
            int before = failures;
            test.run();
            run++;
            printf("%s %s\n", failures == before ? "ok  " : "FAIL", test.name);
        }
    close_machine();
    printf("%d tests, %d checks, %d failed (sm_%d, %s)\n", run, checks, failures, machine_sm, gpu ? "GPU" : "emulated");
    return failures || run == 0;
}
