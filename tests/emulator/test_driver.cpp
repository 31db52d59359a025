// Behaviour of the emulated driver: graphs, injected failures, other devices, images.
#include <cstring>

#include "test_machine.h"

static void capture_and_replay() {
    const Kernels m("words");
    std::vector<double> in(256);
    for (int i = 0; i < 256; i++) in[i] = i;
    Buffer<double> from(in), to(std::vector<double>(256, -1.0));
    WordArguments a = {from.pointer, to.pointer, 256};
    CUstream stream = nullptr, side = nullptr;
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    CUevent fork = nullptr, join = nullptr;
    int status = -1;
    CHECK(!cuStreamCreate(&stream, 1) && !cuStreamCreate(&side, 1));
    CHECK(!cuEventCreate(&fork, 2) && !cuEventCreate(&join, 2));
    CHECK(cuStreamBeginCapture_v2(nullptr, 0) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK(!cuStreamBeginCapture_v2(stream, 0));
    CHECK(!cuStreamIsCapturing(stream, &status) && status == 1);
    CHECK(!cuMemsetD8Async(to.pointer, 0, 256 * 8, stream));
    CHECK(!launch(m, "reverse", {}, {256}, 2048, &a, stream));
    a.n = 0;  // The arguments were copied.
    CHECK(!cuEventRecord(fork, stream) && !cuStreamWaitEvent(side, fork, 0));
    CHECK(!cuMemcpyDtoDAsync_v2(from.pointer, to.pointer, 256 * 8, side));
    CHECK(!cuEventRecord(join, side) && !cuStreamWaitEvent(stream, join, 0));
    CHECK(!cuStreamEndCapture(stream, &graph));
    CHECK(!cuStreamIsCapturing(stream, &status) && status == 0);
    CHECK(to.get()[0] != 255);  // nothing has run yet
    CHECK(!cuGraphInstantiateWithFlags(&exec, graph, 0) && !cuGraphDestroy(graph));
    for (int run = 1; run <= 3; run++) {
        CHECK(!cuGraphLaunch(exec, stream) && !cuStreamSynchronize(stream));
        CHECK(to.get()[0] == (run % 2 ? 255 : 0) && from.get()[255] == (run % 2 ? 0 : 255));
    }
    CHECK(!cuGraphExecDestroy(exec) && !cuEventDestroy_v2(fork) && !cuEventDestroy_v2(join));
    CHECK(!cuStreamDestroy_v2(side) && !cuStreamDestroy_v2(stream));
}

static void capture_forbids() {
    CUstream stream = nullptr, other = nullptr;
    CUgraph graph = nullptr;
    CUdeviceptr p;
    CUevent event = nullptr;
    Buffer<int> b(4);
    int host[4];
    CHECK(!cuStreamCreate(&stream, 1) && !cuStreamCreate(&other, 1) && !cuEventCreate(&event, 2));
    std::function<CUresult()> forbidden[] = {
        [&] { return cuMemAlloc_v2(&p, 16); },
        [&] { return cuStreamSynchronize(stream); },
        [&] { return cuCtxSynchronize(); },
        [&] { return cuMemcpyDtoH_v2(host, b.pointer, 16); },
    };
    for (auto &call : forbidden) {
        CHECK(!cuStreamBeginCapture_v2(stream, 0));
        CHECK(call() != CUDA_SUCCESS);
        CHECK(cuMemsetD8Async(b.pointer, 0, 16, stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
        CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    }
    // Another stream that joins must join again at the end.
    CHECK(!cuStreamBeginCapture_v2(stream, 1));
    CHECK(!cuEventRecord(event, stream) && !cuStreamWaitEvent(other, event, 0));
    CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    CHECK(!cuStreamDestroy_v2(stream) && !cuStreamDestroy_v2(other) && !cuEventDestroy_v2(event));
}

// Work of a stream runs only when something waits for it, and then only what events require.
static void work_waits() {
    CUstream first = nullptr, second = nullptr, blocking = nullptr;
    CUevent event = nullptr;
    Buffer<int> b(std::vector<int>(4, 7));
    CHECK(!cuStreamCreate(&first, 1) && !cuStreamCreate(&second, 1) && !cuStreamCreate(&blocking, 0));
    // The event was never recorded.
    CHECK(!cuEventCreate(&event, 2) && !cuStreamWaitEvent(second, event, 0));
    CHECK(!cuMemsetD8Async(b.pointer, 1, 4, first) && b.get()[0] == 7);
    CHECK(!cuEventRecord(event, first) && !cuMemsetD8Async(b.pointer, 2, 4, first));
    CHECK(!cuEventSynchronize(event) && b.get()[0] == 0x01010101);
    CHECK(!cuEventRecord(event, first) && !cuStreamWaitEvent(second, event, 0));
    CHECK(!cuMemsetD8Async(b.pointer + 4, 3, 4, second) && b.get()[1] == 7);
    CHECK(!cuStreamSynchronize(second) && b.get()[0] == 0x02020202 && b.get()[1] == 0x03030303);
    // The copy waited for it.
    CHECK(!cuMemsetD8Async(b.pointer, 4, 4, blocking) && b.get()[0] == 0x04040404);
    CHECK(!cuMemsetD8Async(b.pointer, 5, 4, first) && !cuCtxSynchronize() && b.get()[0] == 0x05050505);
    CHECK(!cuStreamBeginCapture_v2(second, 0) && !cuEventRecord(event, first));
    CHECK(cuStreamWaitEvent(second, event, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    CUgraph graph = nullptr;
    CHECK(!cuStreamEndCapture(second, &graph) && !cuGraphDestroy(graph));
    CHECK(!cuStreamDestroy_v2(first) && !cuStreamDestroy_v2(second) && !cuStreamDestroy_v2(blocking));
    CHECK(!cuEventDestroy_v2(event));
}

static void failures_on_request() {
    CUdeviceptr p = 0;
    setenv("STENTOR_EMULATOR_FAIL", "cuMemAlloc_v2:3,cuStreamCreate:1,nvrtcCompileProgram:2", 1);
    for (int i = 1; i <= 4; i++) {
        CUresult r = cuMemAlloc_v2(&p, 64);
        CHECK(r == (i == 3 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS));
        if (!r) cuMemFree_v2(p);
    }
    CHECK(stentor_emulator_calls("cuMemAlloc_v2") == 4 && stentor_emulator_calls("cuMemAlloc") == 4);
    CUstream s;
    CHECK(cuStreamCreate(&s, 0) == CUDA_ERROR_OUT_OF_MEMORY);
    int result;
    const char *text = "extern \"C\" __global__ void nothing(int n) {}\n";
    CHECK(!compile_text(text, 90, false, &result, nullptr).empty() && result == 0);
    CHECK(compile_text(text, 90, false, &result, nullptr).empty() && result == 6);
    setenv("STENTOR_EMULATOR_FAIL", "cuMemAlloc:*", 1);
    CHECK(cuMemAlloc_v2(&p, 64) == CUDA_ERROR_OUT_OF_MEMORY && cuMemAlloc_v2(&p, 64) == CUDA_ERROR_OUT_OF_MEMORY);
    unsetenv("STENTOR_EMULATOR_FAIL");
    CHECK(!cuMemAlloc_v2(&p, 64) && !cuMemFree_v2(p));
}

static void memory_rules() {
    CUdeviceptr p;
    char text[300] = {};
    CHECK(cuMemAlloc_v2(&p, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemAlloc_v2(&p, 1ull << 50) == CUDA_ERROR_OUT_OF_MEMORY);
    CHECK(!cuMemAlloc_v2(&p, 300) && p % 256 == 0);
    CHECK(!cuMemcpyHtoD_v2(p, text, 300));
    CHECK(cuMemcpyHtoD_v2(p + 1, text, 300) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemcpyDtoH_v2(text, reinterpret_cast<CUdeviceptr>(text), 8) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cuMemFree_v2(p + 256) == CUDA_ERROR_INVALID_VALUE);
    CHECK(!cuMemFree_v2(p));
    CHECK(cuMemFree_v2(p) == CUDA_ERROR_INVALID_VALUE);
    CHECK(stentor_emulator_live() == 0);
}

static void other_devices() {
    int value, version;
    void *function;
    std::string chip = std::to_string(machine_sm);
    setenv("STENTOR_EMULATOR_DEVICES", "0", 1);
    CHECK(cuInit(0) == CUDA_ERROR_NO_DEVICE);
    setenv("STENTOR_EMULATOR_DEVICES", "2", 1);
    setenv("STENTOR_EMULATOR_SM", "80", 1);
    setenv("STENTOR_EMULATOR_DRIVER_VERSION", "11040", 1);
    CHECK(!cuInit(0) && !cuDeviceGetCount(&value) && value == 2);
    CHECK(!cuDeviceGetAttribute(&value, 75, 1) && value == 8);
    CHECK(!cuDeviceGetAttribute(&value, 16, 0) && value == 108);
    CHECK(cuDeviceGetAttribute(&value, 16, 2) == CUDA_ERROR_INVALID_DEVICE);
    CHECK(!cuDriverGetVersion(&version) && version == 11040);
    CHECK(!cuGetProcAddress_v2("cuLaunchKernelEx", &function, 11040, 0, &value) && !function);
    CHECK(cuGetProcAddress_v2("cuMemAlloc", &function, 12000, 0, &value) == CUDA_ERROR_INVALID_VALUE);
    for (const char *name : {"STENTOR_EMULATOR_DEVICES", "STENTOR_EMULATOR_DRIVER_VERSION"}) unsetenv(name);
    setenv("STENTOR_EMULATOR_SM", chip.c_str(), 1);
    CHECK(!cuInit(0));
    CHECK(!cuGetProcAddress_v2("cuLaunchKernelEx", &function, 13000, 0, &value) && function && value == 0);
    CHECK(!cuGetProcAddress_v2("cuLaunchKernelEx", &function, 11000, 0, &value) && !function && value == 2);
    CHECK(!cuGetProcAddress_v2("cuMemAlloc_v2", &function, 13000, 0, &value) && !function && value == 1);
    CHECK(!cuGetProcAddress_v2("cuMemAlloc", &function, 13000, 0, nullptr) &&
          function == reinterpret_cast<void *>(cuMemAlloc_v2));
}

static void images() {
    CUmodule m = nullptr, second = nullptr;
    int result;
    if (machine_sm != 90) return;
    std::string log, text = "__constant__ int value;\nextern \"C\" __global__ void get(int *out) { *out = value; }\n";
    std::string cubin80 = compile_text(text, 80, false, &result, nullptr),
                ptx80 = compile_text(text, 80, true, &result, nullptr),
                ptx100 = compile_text(text, 100, true, &result, nullptr),
                cubin = compile_text(text, 90, false, &result, nullptr);
    CHECK(cuModuleLoadDataEx(&m, cubin80.data(), 0, nullptr, nullptr) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(cuModuleLoadDataEx(&m, ptx100.data(), 0, nullptr, nullptr) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(!cuModuleLoadDataEx(&m, ptx80.data(), 0, nullptr, nullptr) && !cuModuleUnload(m));
    for (size_t at : {size_t(5), size_t(60), cubin.size() - 10}) {
        std::string damaged = cubin;
        damaged[at] ^= 1;
        CHECK(cuModuleLoadDataEx(&m, damaged.data(), 0, nullptr, nullptr) == CUDA_ERROR_INVALID_IMAGE);
        CHECK(cuModuleLoadDataEx(&m, cubin.substr(0, at).c_str(), 0, nullptr, nullptr) == CUDA_ERROR_INVALID_IMAGE);
    }
    // Two modules of one image have separate variables.
    CHECK(!cuModuleLoadDataEx(&m, cubin.data(), 0, nullptr, nullptr));
    CHECK(!cuModuleLoadDataEx(&second, cubin.data(), 0, nullptr, nullptr));
    CUmodule modules[2] = {m, second};
    Buffer<int> out(1);
    for (int i = 0; i < 2; i++) {
        CUdeviceptr p;
        int value = 10 + i;
        CHECK(!cuModuleGetGlobal_v2(&p, nullptr, modules[i], "value") && !cuMemcpyHtoD_v2(p, &value, 4));
    }
    for (int i = 0; i < 2; i++) {
        CUdeviceptr p = out.pointer;
        CHECK(!launch(modules[i], "get", {}, {}, 0, &p) && out.get()[0] == 10 + i);
        CHECK(!cuModuleUnload(modules[i]));
    }
    CHECK(cuModuleUnload(m) == CUDA_ERROR_INVALID_HANDLE);
    // NVRTC reports the errors of the text.
    CHECK(compile_text("extern \"C\" __global__ void bad(int n) { n = nope; }", 90, false, &result, &log).empty());
    CHECK(result == 6 && log.find("nope") != std::string::npos && log.find("test.cu") != std::string::npos);
    compile_text(text, 90, false, &result, &log, {"--no-such-option"});
    CHECK(result == 5);
    compile_text(text, 91, false, &result, &log);
    CHECK(result == 5);
}

static void events_and_order() {
    CUevent a = nullptr, b = nullptr;
    CUstream s = nullptr;
    float ms = -1;
    CHECK(!cuEventCreate(&a, 0) && !cuEventCreate(&b, 0) && !cuStreamCreate(&s, 1));
    CHECK(cuEventElapsedTime(&ms, a, b) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(!cuEventRecord(a, s) && !cuEventRecord(b, s) && !cuEventSynchronize(b));
    CHECK(!cuEventElapsedTime(&ms, a, b) && ms >= 0);
    CHECK(!cuEventDestroy_v2(a) && cuEventRecord(a, s) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(!cuEventDestroy_v2(b) && !cuStreamDestroy_v2(s));
    CUcontext c;
    CHECK(!cuCtxPopCurrent_v2(&c) && cuCtxSynchronize() == CUDA_ERROR_INVALID_CONTEXT && !cuCtxPushCurrent_v2(c));
}

const std::vector<Test> driver_tests = {
    {"capture_and_replay", capture_and_replay, true},
    {"capture_forbids", capture_forbids, false},
    {"work_waits", work_waits, false},
    {"failures_on_request", failures_on_request, false},
    {"memory_rules", memory_rules, false},
    {"other_devices", other_devices, false},
    {"images", images, false},
    {"events_and_order", events_and_order, false},  // It uses a destroyed handle.
};
