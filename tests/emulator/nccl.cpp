// A replacement of NCCL for tests: processes on one machine, whose device memory is the emulator's.
//
// The id names a file of shared memory with a mailbox for each ordered pair of ranks. An exchange
// is a gate in the emulated stream: polling the stream moves bytes through the mailboxes, and the
// stream goes on once all of them have arrived, or the communicator is aborted.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "emulator_settings.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

enum { SUCCESS, CUDA_ERROR, SYSTEM_ERROR, INTERNAL_ERROR, INVALID_ARGUMENT, INVALID_USAGE, REMOTE_ERROR, IN_PROGRESS };
enum { MAX_RANKS = 8, PIECE = 1 << 14 };

struct Mailbox {
    std::atomic<unsigned> size;  // 0: empty
    unsigned char bytes[PIECE];
};
struct Shared {
    std::atomic<int> arrived, count;
    Mailbox box[MAX_RANKS][MAX_RANKS];  // from, to
};

struct Message {
    bool sends;
    int peer;
    unsigned char *bytes;
    size_t size, moved;
};

struct Comm {
    Shared *shared;
    int rank, count;
    bool aborted = false, late = false;  // late: the next state is "in progress"
};

struct Exchange {
    std::shared_ptr<Comm> comm;
    std::vector<Message> messages;
};

struct Id {
    char bytes[128];
};
struct Config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

using Handle = std::shared_ptr<Comm> *;

thread_local int depth;
thread_local std::vector<std::pair<void *, Exchange>> group;  // by stream

// Moves what can be moved now; messages of one pair and direction follow one another.
bool progress(Exchange &e) {
    bool done = true, busy[2][MAX_RANKS] = {};
    for (Message &m : e.messages) {
        if (busy[m.sends][m.peer]) continue;
        Mailbox &box = m.sends ? e.comm->shared->box[e.comm->rank][m.peer] : e.comm->shared->box[m.peer][e.comm->rank];
        while (m.moved < m.size && (box.size.load(std::memory_order_acquire) == 0) == m.sends) {
            const size_t left = m.size - m.moved,
                         held = m.sends ? (left < PIECE ? left : size_t{PIECE}) : box.size.load();
            if (held > left) abort();  // the ranks' messages differ
            memcpy(m.sends ? box.bytes : m.bytes + m.moved, m.sends ? m.bytes + m.moved : box.bytes, held);
            m.moved += held;
            box.size.store(m.sends ? (unsigned)held : 0, std::memory_order_release);
        }
        if (m.moved < m.size) done = false, busy[m.sends][m.peer] = true;
    }
    return done;
}

// Called by the emulated driver until it returns true.
bool gate(void *user) {
    Exchange *e = static_cast<Exchange *>(user);
    if (!e->comm->aborted && !progress(*e)) return false;
    delete e;
    return true;
}

bool enqueue(void *stream, Exchange &&exchange) {
    using Submit = int (*)(void *stream, bool (*gate)(void *), void *user);
    const char *path = getenv("STENTOR_CUDA_PATH");
    void *driver = path ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : nullptr;
    Submit submit = driver ? reinterpret_cast<Submit>(dlsym(driver, "stentor_emulator_gate")) : nullptr;
    return submit && submit(stream, gate, new Exchange(std::move(exchange))) == 0;
}

int add(bool sends, void *bytes, size_t size, int peer, void *comm, void *stream) {
    Handle handle = static_cast<Handle>(comm);
    if (!handle || !depth || peer < 0 || peer >= (*handle)->count) return INVALID_ARGUMENT;
    for (auto &each : group)
        if (each.first == stream) {
            each.second.messages.push_back({sends, peer, static_cast<unsigned char *>(bytes), size, 0});
            return SUCCESS;
        }
    group.push_back({stream, {*handle, {{sends, peer, static_cast<unsigned char *>(bytes), size, 0}}}});
    return SUCCESS;
}

}  // namespace

#define COUNTED(result)                                                                                                \
    if (stn_emulator::count_call(__func__)) return result

EXPORT int ncclGetVersion(int *version) {
    COUNTED(SYSTEM_ERROR);
    *version = atoi(stn_emulator::environment("STENTOR_EMULATOR_NCCL_VERSION", "22809").c_str());
    return SUCCESS;
}

EXPORT int ncclGetUniqueId(Id *id) {
    COUNTED(SYSTEM_ERROR);
    memset(id, 0, sizeof *id);
    const std::string folder = stn_emulator::environment("STENTOR_EMULATOR_NCCL", "/tmp");
    snprintf(id->bytes, sizeof id->bytes, "%s/stentor-nccl-XXXXXX", folder.c_str());
    const int file = mkstemp(id->bytes);
    if (file < 0 || ftruncate(file, sizeof(Shared))) return SYSTEM_ERROR;
    close(file);
    return SUCCESS;
}

EXPORT int ncclCommInitRankConfig(void **comm, int count, Id id, int rank, Config *config) {
    COUNTED(CUDA_ERROR);
    *comm = nullptr;
    if (config->magic != 0xcafebeef || config->blocking || count > MAX_RANKS || rank >= count) return INVALID_ARGUMENT;
    const int file = open(id.bytes, O_RDWR);
    if (file < 0) return SYSTEM_ERROR;
    void *memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) return SYSTEM_ERROR;
    auto made = std::make_shared<Comm>();
    made->shared = static_cast<Shared *>(memory);
    made->rank = rank;
    made->count = count;
    if (made->shared->arrived.fetch_add(1) + 1 == count) unlink(id.bytes);
    *comm = new std::shared_ptr<Comm>(made);
    return IN_PROGRESS;
}

EXPORT int ncclCommGetAsyncError(void *comm, int *state) {
    COUNTED(INTERNAL_ERROR);
    Comm &c = **static_cast<Handle>(comm);
    *state = c.late || c.shared->arrived.load() < c.count ? IN_PROGRESS : SUCCESS;
    c.late = false;
    return SUCCESS;
}

EXPORT int ncclCommFinalize(void *comm) {
    COUNTED(SYSTEM_ERROR);
    (*static_cast<Handle>(comm))->late = true;
    return IN_PROGRESS;
}

static int end(void *comm) {
    Handle handle = static_cast<Handle>(comm);
    (*handle)->aborted = true;
    delete handle;
    return SUCCESS;
}
EXPORT int ncclCommDestroy(void *comm) {
    COUNTED(SYSTEM_ERROR);
    return end(comm);
}
EXPORT int ncclCommAbort(void *comm) {
    COUNTED(SYSTEM_ERROR);
    return end(comm);
}

EXPORT int ncclGroupStart() {
    COUNTED(INVALID_USAGE);
    depth++;
    return SUCCESS;
}

EXPORT int ncclGroupEnd() {
    const bool fails = stn_emulator::count_call(__func__);
    if (!depth) return INVALID_USAGE;
    if (--depth) return SUCCESS;
    auto all = std::move(group);
    group.clear();
    if (fails) return CUDA_ERROR;
    for (auto &each : all) {
        each.second.comm->late = true;
        if (!enqueue(each.first, std::move(each.second))) return CUDA_ERROR;
    }
    return all.empty() ? SUCCESS : IN_PROGRESS;
}

EXPORT int ncclSend(const void *bytes, size_t size, int, int peer, void *comm, void *stream) {
    COUNTED(INVALID_USAGE);
    return add(true, const_cast<void *>(bytes), size, peer, comm, stream);
}
EXPORT int ncclRecv(void *bytes, size_t size, int, int peer, void *comm, void *stream) {
    COUNTED(INVALID_USAGE);
    return add(false, bytes, size, peer, comm, stream);
}

EXPORT const char *ncclGetErrorString(int result) {
    static const char *const names[] = {"no error",
                                        "unhandled cuda error",
                                        "unhandled system error",
                                        "internal error",
                                        "invalid argument",
                                        "invalid usage",
                                        "remote process exited or there was a network error"};
    return result >= 0 && result < IN_PROGRESS ? names[result] : "unknown result code";
}
EXPORT const char *ncclGetLastError(void *) { return ""; }
