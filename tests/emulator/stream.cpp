// Emulated driver: streams, events, launches, graphs. queue.cpp runs the pending work. An error of
// a kernel is returned by the next call, as on a GPU.
#include <cstring>
#include <ctime>
#include <memory>

#include "emulated_driver.h"

using namespace stn_emulator;

static std::vector<std::shared_ptr<Capture>> captures;  // captures in progress
static unsigned long long last_capture;

namespace stn_emulator {

CUresult check_not_capturing() {
    for (auto &c : captures) {
        bool forbidden = c->mode == 0 || (c->mode == 1 && c->thread == std::this_thread::get_id());
        if (!forbidden) continue;
        c->valid = false;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    return CUDA_SUCCESS;
}

}  // namespace stn_emulator

static bool is_default(CUstream s) { return reinterpret_cast<uintptr_t>(s) <= 2; }
static bool good_stream(CUstream s) { return is_default(s) || is_live(s); }

// The capture that work on this stream belongs to, if any.
static CUresult capture_of(CUstream stream, Capture **capture) {
    *capture = nullptr;
    if (!good_stream(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (is_default(stream)) {
        for (auto &c : captures)
            // A blocking stream captures: the legacy stream would wait for it.
            if (!(c->origin->flags & 1)) {
                c->valid = false;
                return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
            }
        return CUDA_SUCCESS;
    }
    *capture = stream->capture.get();
    return *capture && !(*capture)->valid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUresult stn_emulator::submit(CUstream stream, const Operation &operation) {
    Capture *capture;
    if (CUresult r = capture_of(stream, &capture)) return r;
    if (capture) {
        capture->operations.push_back(operation);
        if (stream != capture->origin) capture->unjoined.insert(stream);
    } else
        submit_now_or_later(stream, is_default(stream), operation);
    return CUDA_SUCCESS;
}

// ---- launches

static CUresult check_launch(CUfunction f, const CUlaunchConfig &c) {
    uint64_t threads = (uint64_t)c.blockDimX * c.blockDimY * c.blockDimZ;
    if (!f) return CUDA_ERROR_INVALID_HANDLE;
    if (!c.gridDimX || !c.gridDimY || !c.gridDimZ || !threads) return CUDA_ERROR_INVALID_VALUE;
    if (c.gridDimX > 2147483647u || c.gridDimY > 65535 || c.gridDimZ > 65535) return CUDA_ERROR_INVALID_VALUE;
    if (c.blockDimX > 1024 || c.blockDimY > 1024 || c.blockDimZ > 64 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
    if ((int)threads > f->kernel.max_threads || (int64_t)c.sharedMemBytes > f->max_shared)
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < c.numAttrs; i++) {
        if (c.attrs[i].id != CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) continue;
        auto cluster = c.attrs[i].value.cluster;
        if (cluster.x * cluster.y * cluster.z == 0 || cluster.x * cluster.y * cluster.z > 8 || settings.sm < 90)
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        if (c.gridDimX % cluster.x || c.gridDimY % cluster.y || c.gridDimZ % cluster.z)
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
        if ((threads + WARP - 1) / WARP * WARP * cluster.x * cluster.y * cluster.z > MAX_LANES)
            return CUDA_ERROR_NOT_SUPPORTED;  // a limit of the emulator
    }
    return CUDA_SUCCESS;
}

static CUresult launch(const CUlaunchConfig &c, CUfunction f, void **parameters, void **extra) {
    if (f)
        if (CUresult r = complete(f->module)) return r;
    if (CUresult r = check_launch(f, c)) return r;
    Operation o = {};
    o.kind = Operation::LAUNCH;
    o.function = f;
    GridLaunch &l = o.launch;
    l.kernel = &f->kernel;
    l.grid = {c.gridDimX, c.gridDimY, c.gridDimZ};
    l.block = {c.blockDimX, c.blockDimY, c.blockDimZ};
    l.shared = c.sharedMemBytes;
    for (unsigned i = 0; i < c.numAttrs; i++)
        if (c.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            auto cluster = c.attrs[i].value.cluster;
            l.cluster = {cluster.x, cluster.y, cluster.z};
        } else if (c.attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            l.early = c.attrs[i].value.bytes[0] != 0;
    const char *buffer = nullptr;
    for (void **e = extra; e && *e; e += 2)
        if (reinterpret_cast<uintptr_t>(*e) == 1) buffer = static_cast<const char *>(e[1]);
    // This would need the alignment of each argument.
    if (buffer && f->kernel.sizes.size() > 1) return CUDA_ERROR_NOT_SUPPORTED;
    if (!buffer && !parameters && !f->kernel.sizes.empty()) return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < f->kernel.sizes.size(); i++) {
        size_t at = (l.arguments.size() + 63) / 64 * 64;
        l.arguments.resize(at + f->kernel.sizes[i]);
        l.offsets.push_back(at);
        memcpy(&l.arguments[at], buffer ? buffer : static_cast<const char *>(parameters[i]), f->kernel.sizes[i]);
    }
    return submit(c.hStream, o);
}

EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned shared, CUstream stream, void **parameters, void **extra) {
    IN_CONTEXT(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    CUlaunchConfig c = {gx, gy, gz, bx, by, bz, shared, stream, nullptr, 0};
    return launch(c, f, parameters, extra);
}

EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f, void **parameters, void **extra) {
    INITIALIZED_AND_HELD(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
    if (!config) return CUDA_ERROR_INVALID_VALUE;
    bool early = false;
    for (unsigned i = 0; i < config->numAttrs; i++)
        early = early || config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    if (!early) finish_held();
    if (CUresult r = check_context()) return r;
    return launch(*config, f, parameters, extra);
}

// ---- streams

// For replacements of other libraries: later work of the stream begins after gate(user) has
// returned true, for which it is polled.
EXPORT CUresult stentor_emulator_gate(CUstream stream, bool (*gate)(void *), void *user) {
    IN_CONTEXT(CUDA_ERROR_LAUNCH_FAILED);
    Operation o = {};
    o.kind = Operation::GATE;
    o.gate = gate;
    o.user = user;
    return submit(stream, o);
}

EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned flags) {
    IN_CONTEXT(CUDA_ERROR_OUT_OF_MEMORY);
    if (!stream || flags > 1) return CUDA_ERROR_INVALID_VALUE;
    *stream = new CUstream_st{flags, nullptr};
    set_live(*stream, true);
    stream_created(*stream);
    return CUDA_SUCCESS;
}

// Streams run in random order, so a priority changes nothing.
EXPORT CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
    (void)priority;
    return cuStreamCreate(stream, flags);
}

static void end_capture(const std::shared_ptr<Capture> &capture) {
    for (size_t i = 0; i < captures.size(); i++)
        if (captures[i] == capture) captures.erase(captures.begin() + (ptrdiff_t)i--);
}

EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
    INITIALIZED(CUDA_ERROR_INVALID_HANDLE);
    if (!is_live(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capture && stream->capture->origin == stream) end_capture(stream->capture);
    if (stream->capture) stream->capture->joined.erase(stream);
    stream_destroyed(stream);
    set_live(stream, false);
    delete stream;
    return check_context();
}

// Waiting for a capturing stream, or for all streams, is refused and invalidates the capture.
static CUresult wait_allowed(CUstream stream) {
    if (!good_stream(stream)) return CUDA_ERROR_INVALID_HANDLE;
    Capture *capture;
    if (CUresult r = capture_of(stream, &capture)) return r;
    if (!capture) {
        if (is_default(stream))
            finish_blocking();
        else
            finish_with_chance(stream);
        return check_context();
    }
    capture->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

EXPORT CUresult cuStreamSynchronize(CUstream stream) {
    IN_CONTEXT(CUDA_ERROR_LAUNCH_FAILED);
    return wait_allowed(stream);
}
EXPORT CUresult cuStreamQuery(CUstream stream) {
    IN_CONTEXT(CUDA_ERROR_LAUNCH_FAILED);
    return wait_allowed(stream);
}
EXPORT CUresult cuCtxSynchronize() {
    IN_CONTEXT(CUDA_ERROR_LAUNCH_FAILED);
    for (auto &c : captures) {
        c->valid = false;
        return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
    finish_all();
    return check_context();
}

EXPORT CUresult cuStreamIsCapturing(CUstream stream, int *status) {
    IN_CONTEXT(CUDA_ERROR_UNKNOWN);
    if (!status || !good_stream(stream)) return CUDA_ERROR_INVALID_VALUE;
    *status = is_default(stream) || !stream->capture ? 0 : stream->capture->valid ? 1 : 2;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, int mode) {
    IN_CONTEXT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    if (is_default(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (!is_live(stream)) return CUDA_ERROR_INVALID_HANDLE;
    if (mode < 0 || mode > 2) return CUDA_ERROR_INVALID_VALUE;
    if (stream->capture) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    auto capture = std::make_shared<Capture>();
    capture->origin = stream;
    capture->mode = mode;
    capture->id = ++last_capture;
    capture->thread = std::this_thread::get_id();
    stream->capture = capture;
    captures.push_back(capture);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph) {
    IN_CONTEXT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (is_default(stream) || !is_live(stream) || !graph) return CUDA_ERROR_INVALID_VALUE;
    auto capture = stream->capture;
    if (!capture) return CUDA_ERROR_INVALID_VALUE;
    *graph = nullptr;
    if (capture->origin != stream) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
    if (capture->mode != 2 && capture->thread != std::this_thread::get_id())
        return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    end_capture(capture);
    stream->capture = nullptr;
    for (CUstream joined : capture->joined) joined->capture = nullptr;
    if (!capture->valid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    capture->valid = false;  // Its events are no longer valid.
    if (!capture->unjoined.empty()) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
    *graph = new CUgraph_st{capture->operations};
    set_live(*graph, true);
    return CUDA_SUCCESS;
}

// Destroys a handle; `error`: there is no such handle.
template <class T>
static CUresult destroy(T *handle, CUresult error) {
    if (!is_live(handle)) return error;
    set_live(handle, false);
    delete handle;
    return CUDA_SUCCESS;
}

// ---- graphs

EXPORT CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long) {
    IN_CONTEXT(CUDA_ERROR_OUT_OF_MEMORY);
    if (!exec || !is_live(graph)) return CUDA_ERROR_INVALID_VALUE;
    *exec = new CUgraphExec_st{graph->operations};
    set_live(*exec, true);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
    IN_CONTEXT(CUDA_ERROR_LAUNCH_FAILED);
    if (!is_live(exec)) return CUDA_ERROR_INVALID_HANDLE;
    for (const Operation &o : exec->operations)
        if (CUresult r = submit(stream, o)) return r;
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGraphExecDestroy(CUgraphExec exec) {
    INITIALIZED(CUDA_ERROR_INVALID_VALUE);
    return destroy(exec, CUDA_ERROR_INVALID_VALUE);
}

EXPORT CUresult cuGraphDestroy(CUgraph graph) {
    INITIALIZED(CUDA_ERROR_INVALID_VALUE);
    return destroy(graph, CUDA_ERROR_INVALID_VALUE);
}

// ---- events

static double now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

EXPORT CUresult cuEventCreate(CUevent *event, unsigned flags) {
    IN_CONTEXT(CUDA_ERROR_OUT_OF_MEMORY);
    if (!event || flags > 7) return CUDA_ERROR_INVALID_VALUE;
    *event = new CUevent_st;
    (*event)->flags = flags;
    set_live(*event, true);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventDestroy_v2(CUevent event) {
    INITIALIZED(CUDA_ERROR_INVALID_HANDLE);
    return destroy(event, CUDA_ERROR_INVALID_HANDLE);
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
    IN_CONTEXT(CUDA_ERROR_INVALID_HANDLE);
    if (!is_live(event)) return CUDA_ERROR_INVALID_HANDLE;
    Capture *capture;
    if (CUresult r = capture_of(stream, &capture)) return r;
    event->capture = capture ? stream->capture : nullptr;
    event->stream = stream;
    event->recorded = true;
    event->until = is_default(stream) || capture ? 0 : stream->submitted;
    event->seconds = now();
    return CUDA_SUCCESS;
}

EXPORT CUresult cuEventSynchronize(CUevent event) {
    IN_CONTEXT(CUDA_ERROR_LAUNCH_FAILED);
    if (!is_live(event)) return CUDA_ERROR_INVALID_HANDLE;
    if (event->capture) return CUDA_ERROR_CAPTURED_EVENT;
    if (event->recorded && !is_default(event->stream)) finish(event->stream, event->until);
    return check_context();
}
EXPORT CUresult cuEventQuery(CUevent event) {
    IN_CONTEXT(CUDA_ERROR_LAUNCH_FAILED);
    if (!is_live(event)) return CUDA_ERROR_INVALID_HANDLE;
    if (event->capture) return CUDA_ERROR_CAPTURED_EVENT;
    if (event->recorded && !is_default(event->stream) && !finish_to_gate(event->stream, event->until))
        return CUDA_ERROR_NOT_READY;
    return check_context();
}

EXPORT CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
    IN_CONTEXT(CUDA_ERROR_INVALID_HANDLE);
    if (!milliseconds) return CUDA_ERROR_INVALID_VALUE;
    if (!is_live(start) || !is_live(end) || !start->recorded || !end->recorded || (start->flags & 2) ||
        (end->flags & 2))
        return CUDA_ERROR_INVALID_HANDLE;
    if (start->capture || end->capture) return CUDA_ERROR_CAPTURED_EVENT;
    *milliseconds = static_cast<float>((end->seconds - start->seconds) * 1e3);
    return CUDA_SUCCESS;
}
EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
    return cuEventElapsedTime_v2(milliseconds, start, end);
}

EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    IN_CONTEXT(CUDA_ERROR_INVALID_HANDLE);
    (void)flags;
    if (!is_live(event) || !good_stream(stream)) return CUDA_ERROR_INVALID_HANDLE;
    auto capture = event->capture;
    if (!capture || !capture->valid) {
        Capture *own;
        if (CUresult r = capture_of(stream, &own)) return r;
        if (!event->recorded) return CUDA_SUCCESS;
        if (own) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
        if (capture || is_default(event->stream)) return CUDA_SUCCESS;
        Operation o = {};
        o.kind = Operation::WAIT;
        o.other = event->stream;
        o.until = event->until;
        return submit(stream, o);
    }
    if (is_default(stream)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    if (stream->capture && stream->capture->valid && stream->capture != capture) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    if (stream->capture != capture) {  // The stream joins the capture.
        stream->capture = capture;
        capture->joined.insert(stream);
        capture->unjoined.insert(stream);
    }
    capture->unjoined.erase(event->stream);
    return CUDA_SUCCESS;
}
