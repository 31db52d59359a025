// Runs a grid's blocks in random order on a few OS threads; turns faults in kernels into errors.
#include "launch.h"

#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <numeric>
#include <thread>

#include "memory.h"

namespace stn_emulator {

// ---- faults

static struct sigaction previous[65];

// Records the fault of the running fiber as an error.
static void note_fault(Worker *w, int signal, const void *where) {
    const unsigned char *address = static_cast<const unsigned char *>(where);
    const unsigned char *shared_end = w->shared_region + shared_region_bytes(PAGE);
    LaunchError code = ERROR_ILLEGAL_ADDRESS;
    char hex[32];
    snprintf(hex, sizeof hex, "%p", where);
    std::string text = std::string("illegal address ") + hex + ": ";
    if (signal == SIGILL || signal == SIGTRAP) {
        code = ERROR_MISALIGNED;
        text = "misaligned address, or index outside of an array";
    } else if (signal == SIGFPE) {
        code = ERROR_LAUNCH_FAILED;
        text = "integer division by zero";
    } else if (address >= w->region && address < w->region + REGION_BYTES)
        text = "the thread's stack is full: its local arrays are too large for the emulator";
    else if (address >= w->shared_region && address < shared_end)
        text += "outside of the " + std::to_string(w->own_block().shared_bytes) + " bytes of shared memory";
    else
        text += memory_describe(address);
    w->set_error(code, w->current, text, {nullptr, 0});
}

static void on_fault(int signal, siginfo_t *info, void *context) {
    Worker *w = worker;
    if (!w || !w->in_fiber) {  // Not in a kernel: behave as if this handler were not installed.
        const struct sigaction &old = previous[signal];
        if (old.sa_flags & SA_SIGINFO) return old.sa_sigaction(signal, info, context);
        if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) return old.sa_handler(signal);
        sigaction(signal, &old, nullptr);
        return;
    }
    note_fault(w, signal, info->si_addr);
    siglongjmp(w->escape, 1);  // This frame owns nothing.
}

static void install_handlers() {
    static std::once_flag once;
    std::call_once(once, [] {
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP}) sigaction(signal, &action, &previous[signal]);
    });
}

// The fault may be a full fiber stack, so handlers run on a signal stack of each OS thread.
static void give_signal_stack() {
    static thread_local bool given;
    if (given) return;
    given = true;
    stack_t stack = {};
    stack.ss_size = 256 * 1024;
    stack.ss_sp = mmap(nullptr, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp != MAP_FAILED) sigaltstack(&stack, nullptr);
}

// ---- the grid

// The arguments of a launch, at fixed addresses; not copyable.
struct Values {
    std::vector<unsigned char> bytes;
    std::vector<void *> at;
    explicit Values(const GridLaunch &l) : bytes(l.arguments.size() + 64) {
        unsigned char *base = bytes.data() + (64 - reinterpret_cast<uintptr_t>(bytes.data()) % 64) % 64;
        if (!l.arguments.empty()) memcpy(base, l.arguments.data(), l.arguments.size());
        for (size_t offset : l.offsets) at.push_back(base + offset);
    }
    Values(const Values &) = delete;
};

struct Job {
    const GridLaunch *launch;
    void *const *values;
    uint64_t seed, total;
    dim3 clusters;         // number of clusters along each axis; without clusters, of blocks
    uint64_t step, start;  // the n-th cluster to run is number (start + n step) mod total
    std::atomic<uint64_t> next{0};
    std::mutex mutex;
    LaunchError error = ERROR_NONE;
    std::string message;
};

static uint64_t cluster_count(const GridLaunch &l, dim3 *many) {
    *many = {l.grid.x / l.cluster.x, l.grid.y / l.cluster.y, l.grid.z / l.cluster.z};
    return (uint64_t)many->x * many->y * many->z;
}

static uint3 cluster_place(const GridLaunch &l, const dim3 &many, uint64_t b) {
    return {(unsigned)(b % many.x) * l.cluster.x, (unsigned)(b / many.x % many.y) * l.cluster.y,
            (unsigned)(b / many.x / many.y) * l.cluster.z};
}

// Blocks of a programmatic dependent launch that began before the previous launch.
struct Ahead {
    static constexpr unsigned MAX_WORKERS = 4;
    Worker workers[MAX_WORKERS];
    uint64_t which[MAX_WORKERS];
    unsigned count = 0;
    Values *values = nullptr;

    bool has(uint64_t b) const {
        for (unsigned i = 0; i < count; i++)
            if (which[i] == b) return true;
        return false;
    }
    void begin(const GridLaunch &l, uint64_t seed) {
        dim3 many;
        const uint64_t total = cluster_count(l, &many);
        values = new Values(l);
        for (unsigned i = 0; i < MAX_WORKERS; i++) {
            const uint64_t b = (seed + i) * 0x9e3779b97f4a7c15ull % total;
            if (has(b) || !workers[count].prepare()) continue;
            which[count] = b;
            workers[count++].begin_cluster(*l.kernel, values->at.data(), l.grid, l.block, l.cluster,
                                           cluster_place(l, many, b), l.shared, seed, true);
        }
    }
    void end(Job *job) {
        for (unsigned i = 0; i < count; i++) {
            LaunchError e = workers[i].end_cluster();
            if (e == ERROR_NONE || job->error != ERROR_NONE) continue;
            job->error = e;
            job->message = workers[i].message;
        }
    }
    void clear() {
        delete values;
        values = nullptr;
        count = 0;
    }
};
static Ahead *ahead;  // of the launch that is run next

__extension__ typedef unsigned __int128 wide;  // start + n step may exceed 64 bits

static void run_clusters(Job *job, Worker *w, uint64_t part) {
    const GridLaunch &l = *job->launch;
    const uint64_t spacing = job->total < 4 ? 1 : job->total / 4;
    for (;;) {
        uint64_t from = job->next.fetch_add(part);
        if (from >= job->total) return;
        uint64_t to = from + part < job->total ? from + part : job->total;
        for (uint64_t n = from; n < to; n++) {
            uint64_t b = (uint64_t)((job->start + (wide)n * job->step) % job->total);
            if (ahead->has(b)) continue;
            // Samples some clusters from all over the grid.
            w->traffic.looking = !Traffic::wanted().empty() && (b + spacing / 2) % spacing == 0;
            LaunchError e = w->run_cluster(*l.kernel, job->values, l.grid, l.block, l.cluster,
                                           cluster_place(l, job->clusters, b), l.shared, job->seed);
            if (w->traffic.looking) w->traffic.end(*l.kernel);
            w->traffic.looking = false;
            if (e == ERROR_NONE) continue;
            std::lock_guard<std::mutex> lock(job->mutex);
            if (job->error == ERROR_NONE) {
                job->error = e;
                job->message = w->message;
            }
            job->next = job->total;
            return;
        }
    }
}

// OS threads that wait between launches and live as long as the process.
struct Pool {
    std::mutex mutex;
    std::condition_variable wake, done;
    std::vector<std::thread> threads;
    Job *job = nullptr;
    uint64_t part = 1, turn = 0;
    unsigned wanted = 0, busy = 0;

    void help() {
        give_signal_stack();
        Worker *own = new Worker;
        uint64_t seen = 0;
        std::unique_lock<std::mutex> lock(mutex);
        for (;;) {
            wake.wait(lock, [&] { return turn != seen && wanted > 0; });
            seen = turn;
            wanted--;
            Job *mine = job;
            lock.unlock();
            if (own->prepare()) run_clusters(mine, own, part);
            lock.lock();
            if (--busy == 0) done.notify_all();
        }
    }
    void run(Job *j, Worker *w, uint64_t p, unsigned helpers) {
        {
            std::lock_guard<std::mutex> lock(mutex);
            while (threads.size() < helpers) threads.emplace_back([this] { help(); });
            job = j;
            part = p;
            wanted = busy = helpers;
            turn++;
        }
        wake.notify_all();
        run_clusters(j, w, p);
        std::unique_lock<std::mutex> lock(mutex);
        busy -= wanted;  // Threads that did not wake in time are not needed.
        wanted = 0;
        done.wait(lock, [&] { return busy == 0; });
    }
};

static void choose_order(Job *job, uint64_t launch_number) {
    uint64_t r = (job->seed + launch_number) * 0x9e3779b97f4a7c15ull;
    r ^= r >> 29;
    job->start = 0;
    job->step = 1;
    if (r % 3 == 1) {  // from the last cluster down
        job->start = job->total - 1;
        job->step = job->total - 1;
    } else if (r % 3 == 2) {  // scattered
        job->start = (r >> 8) % job->total;
        job->step = (r >> 20) % job->total | 1;
        while (std::gcd(job->step, job->total) != 1) job->step++;
    }
    if (job->total == 1) job->step = 1;
}

// Runs all blocks that are not done, on this OS thread and the pool's.
static void run_blocks(Job *job, Worker *caller, int threads) {
    static Pool *pool = new Pool;
    const GridLaunch &l = *job->launch;
    const dim3 &grid = l.grid;
    uint64_t all = (uint64_t)grid.x * grid.y * grid.z * l.block.x * l.block.y * l.block.z;
    uint64_t part = job->total / 64 < 1 ? 1 : job->total / 64 > 64 ? 64 : job->total / 64;
    unsigned helpers = all < 4096 || job->total < 2 ? 0 : (unsigned)threads - 1;
    if (helpers)
        pool->run(job, caller, part, helpers);
    else
        run_clusters(job, caller, part);
}

LaunchError run_grid(const GridLaunch &launch, const Settings &settings, const GridLaunch *next) {
    static std::mutex one_at_a_time;
    static Worker *caller = new Worker;
    static uint64_t launches;
    std::lock_guard<std::mutex> lock(one_at_a_time);
    install_handlers();
    give_signal_stack();
    if (!ahead) ahead = new Ahead;
    if (!caller->prepare()) return ERROR_LAUNCH_FAILED;
    Job job;
    Values values(launch);
    job.launch = &launch;
    job.values = values.at.data();
    Races::wanted = settings.races;
    Traffic::wanted() = settings.traffic;
    job.seed = settings.seed + launches * 1000003;  // The same for the n-th launch of every run.
    job.total = cluster_count(launch, &job.clusters);
    choose_order(&job, launches++);
    ahead->end(&job);
    if (job.error == ERROR_NONE) {
        Ahead *own = ahead;
        static Ahead *other = new Ahead;
        // Static shared memory belongs to an OS thread, so blocks of one kernel must not wait while
        // other blocks of the same kernel run.
        if (next && next->kernel != launch.kernel) other->begin(*next, settings.seed + launches * 1000003);
        run_blocks(&job, caller, settings.threads);
        own->clear();
        ahead = other;
        other = own;
    } else
        ahead->clear();
    if (job.error == ERROR_NONE) {
        std::string damage = memory_damage();
        if (!damage.empty()) {
            job.error = ERROR_ILLEGAL_ADDRESS;
            job.message = "kernel " + launch.kernel->name + ", seed " + std::to_string(job.seed) + ": " + damage;
        }
    }
    if (job.error != ERROR_NONE)
        fprintf(stderr, "stentor emulator: %s [STENTOR_EMULATOR_SEED=%llu, launch %llu]\n", job.message.c_str(),
                (unsigned long long)settings.seed, (unsigned long long)(launches - 1));
    return job.error;
}

}  // namespace stn_emulator
