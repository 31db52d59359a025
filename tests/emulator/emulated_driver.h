// State of the emulated driver, shared by its files.
#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "abi.h"
#include "emulator_settings.h"
#include "launch.h"
#include "memory.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace stn_emulator {

struct ChipFacts {
    int multiprocessors, shared_optin, shared_multiprocessor, l2_bytes, threads_multiprocessor, blocks_multiprocessor,
        clock_khz, memory_khz, bus_bits;
    const char *name;
};

struct Operation {  // of a stream or a graph
    enum Kind { LAUNCH, COPY, FILL, WAIT, GATE } kind;
    CUfunction function;
    GridLaunch launch;
    void *to;
    const void *from;
    size_t bytes;
    unsigned char value;
    CUstream other;  // WAIT: for this many operations of `other`
    uint64_t until;
    bool (*gate)(void *user);  // GATE: polled until it returns true
    void *user;
};

struct Capture {  // shared by all streams of the capture
    std::vector<Operation> operations;
    CUstream origin;
    int mode;
    std::thread::id thread;
    bool valid = true;
    unsigned long long id = 0;
    std::set<CUstream> joined, unjoined;  // other streams than the origin
};

extern std::recursive_mutex driver_mutex;  // held by every call while it changes state
extern Settings settings;
extern bool initialized;
ChipFacts chip_facts();

// CUDA_SUCCESS, the current context's sticky error, or why there is no context; checked by most
// calls.
CUresult check_context();
CUcontext current_context();  // null: none
void set_sticky(CUresult error, CUcontext context);
bool is_live(const void *handle);
void set_live(const void *handle, bool live);
size_t live_count();
// Can this chip and driver load the program?
struct Program;
CUresult check_target(const Program &program);
// Compiles the program of a module that is compiled late.
CUresult complete(CUmodule module);
// Pending work of streams (queue.cpp). `until`: a number of operations, counted from the stream's
// first one.
void stream_created(CUstream stream);
void stream_destroyed(CUstream stream);
// Or adds to the capture of the stream.
CUresult submit(CUstream stream, const Operation &operation);
void submit_now_or_later(CUstream stream, bool is_default, const Operation &operation);
void finish(CUstream stream, uint64_t until);
// The same up to a closed gate. False: there is one.
bool finish_to_gate(CUstream stream, uint64_t until);
// Runs a held launch of the default stream, which was held in case a dependent launch followed.
void finish_held();
void finish_with_chance(CUstream stream);
void finish_blocking();
void finish_all();
// Fails, and invalidates the capture, if this thread may not allocate or load now.
CUresult check_not_capturing();

}  // namespace stn_emulator

struct CUctx_st {
    int device, users;
    CUresult sticky;
};
struct CUfunc_st {
    stn_emulator::Kernel kernel;
    CUmodule module;
    int max_shared;
};
struct CUmod_st {
    void *library;
    std::shared_ptr<stn_emulator::Program> program;  // if it is not compiled yet
    std::string path;
    int file = -1;  // of a private copy of the library
    std::vector<CUfunc_st *> functions;
    std::vector<void *> globals;
    int sm;
};
struct CUstream_st {
    unsigned flags;
    std::shared_ptr<stn_emulator::Capture> capture;
    std::deque<stn_emulator::Operation> waiting = {};
    uint64_t submitted = 0, done = 0;  // operations
    bool busy = false;                 // The running operation waits for another stream.
};
struct CUevent_st {
    unsigned flags;
    bool recorded = false;
    double seconds = 0;
    std::shared_ptr<stn_emulator::Capture> capture;
    CUstream stream = nullptr;
    uint64_t until = 0;  // operations of the stream before the event
};
struct CUgraph_st {
    std::vector<stn_emulator::Operation> operations;
};
struct CUgraphExec_st {
    std::vector<stn_emulator::Operation> operations;
};

// Counts the call, and fails it with `error` if a failure was requested.
#define COUNTED(error)                                                                                                 \
    if (stn_emulator::count_call(__func__)) return error
// The same, and locks the driver.
#define INITIALIZED_AND_HELD(error)                                                                                    \
    COUNTED(error);                                                                                                    \
    std::lock_guard<std::recursive_mutex> driver_lock(stn_emulator::driver_mutex);                                     \
    if (!stn_emulator::initialized) return CUDA_ERROR_NOT_INITIALIZED
#define INITIALIZED(error)                                                                                             \
    INITIALIZED_AND_HELD(error);                                                                                       \
    stn_emulator::finish_held()
#define IN_CONTEXT(error)                                                                                              \
    INITIALIZED(error);                                                                                                \
    if (CUresult context_result = stn_emulator::check_context()) return context_result
