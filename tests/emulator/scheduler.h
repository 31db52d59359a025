// Runs a block, or the blocks of a cluster together: one fiber per thread, warps in random order,
// with barriers and warp-wide operations as on a GPU.
#pragma once
#include <csetjmp>
#include <cstdint>
#include <string>
#include <vector>

#include "races.h"
#include "shim/engine.h"
#include "traffic.h"

namespace stn_emulator {

constexpr unsigned WARP = 32;
// Over all blocks that run together; whole warps.
constexpr unsigned MAX_LANES = 8160, MAX_CLUSTER = 8;
constexpr size_t SHARED_BYTES = 256 * 1024;  // largest shared memory of a block

// Error codes of the driver that a kernel can end with.
enum LaunchError {
    ERROR_NONE = 0,
    ERROR_ILLEGAL_ADDRESS = 700,
    ERROR_ASSERT = 710,
    ERROR_MISALIGNED = 716,
    ERROR_LAUNCH_FAILED = 719
};

// LAUNCH: waits for the previous launch.
enum class State : unsigned char { READY, COLLECTIVE, BARRIER, CLUSTER, LAUNCH, DONE };
enum class Word : unsigned char { SHUFFLE, VOTE, MMA };

struct Copy {  // an asynchronous copy that has not completed
    unsigned char *to;
    const unsigned char *from;
    unsigned bytes, group;
};

struct Lane {
    void *stack_pointer;
    State state;
    Word word;
    unsigned char mode;  // a Shuffle, Vote, Mma or Reduce
    unsigned mask;
    uint64_t value;       // in: the value shuffled or voted; out: the result
    int argument, width;  // of barriers: id and count
    void *c;
    const void *a, *b;
    Place place;
    unsigned committed;  // number of committed groups of asynchronous copies
    std::vector<Copy> copies;
};

struct Kernel {
    std::string name;
    void (*call)(void *const *values);
    std::vector<unsigned> sizes;
    int max_threads;
};

// Guard pages lie before, between and after the shared memories of the blocks.
inline size_t shared_region_bytes(size_t page) { return MAX_CLUSTER * (SHARED_BYTES + page) + page; }

// The state in which one OS thread runs blocks.
struct Worker {
    unsigned char *region = nullptr;
    unsigned stacks = 0;  // stacks that have a guard page
    unsigned char *shared_region = nullptr;
    Lane lanes[MAX_LANES];                      // those of block b from index b * stride on
    Block blocks[MAX_CLUSTER];                  // one, or those of a cluster
    const unsigned char *shareds[MAX_CLUSTER];  // shared memory of each block
    unsigned living[MAX_CLUSTER], size, stride, cluster_barriers;
    const Kernel *kernel;
    void *const *values;
    uint64_t seed, random;
    void *scheduler;  // its stack pointer, while a fiber runs
    unsigned current, alive;
    bool in_fiber = false;
    bool ahead = false;  // The previous launch has not ended.
    sigjmp_buf escape;
    LaunchError error;
    std::string message;
    std::vector<unsigned> runnable;  // indices of warps
    Races races;
    Traffic traffic;

    bool prepare();  // False: out of memory.
    // Runs the blocks of the cluster that begins at block `first`. Returns ERROR_NONE or the error,
    // with its text in `message`.
    LaunchError run_cluster(const Kernel &kernel, void *const *values, dim3 grid, dim3 threads, dim3 cluster,
                            uint3 first, unsigned shared, uint64_t seed);
    // The same before the end of the previous launch: begin_cluster runs until all threads have
    // ended or wait for that launch or for each other; end_cluster, called after that launch, runs
    // the rest. `values` must outlive the blocks.
    LaunchError begin_cluster(const Kernel &kernel, void *const *values, dim3 grid, dim3 threads, dim3 cluster,
                              uint3 first, unsigned shared, uint64_t seed, bool ahead);
    LaunchError end_cluster();
    Block &own_block() { return blocks[current / stride]; }  // the running fiber's
    Thread *thread(unsigned i) { return reinterpret_cast<Thread *>(region) + FIRST_SLOT + i; }
    uint64_t next_random();
    // Reports an access of the running fiber to the race detector.
    void touch(const void *p, unsigned bytes, bool writes, const void *code);
    // Reports an access to the traffic counters.
    void count(const void *p, unsigned bytes, bool writes, Site site, const void *target = nullptr);
    void yield();  // Switches from the fiber to the scheduler.
    // Ends the launch from a fiber, whose stack is abandoned: the caller must not own anything.
    [[noreturn]] void fail(LaunchError code, Place place, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
    void set_error(LaunchError code, unsigned who, const std::string &text, Place place);

   private:
    void start_lane(unsigned i);
    void resume(unsigned i);
    bool run_warp(unsigned warp);
    bool resolve(unsigned warp);
    bool check_group(unsigned first, unsigned mask, unsigned waiting);
    void shuffle(unsigned first, unsigned mask);
    void vote(unsigned first, unsigned mask);
    bool release_barriers();
    bool release(unsigned block, int id);
    bool release_cluster();
    void wake(unsigned i, uint64_t value);
    unsigned lanes_of(unsigned warp) const;
    void place_blocks(dim3 grid, dim3 threads, dim3 cluster, uint3 first, unsigned shared);
    LaunchError guarded_schedule();
    void schedule();
    void report_deadlock();
    void check_shared(const Block &block);
};

extern thread_local Worker *worker;  // Of this OS thread, while it runs a block.
extern const Engine engine_table;
// The matrix product of a whole warp; false, with a message, if the metadata is wrong.
bool multiply(Mma shape, Lane *lanes, std::string *message);

}  // namespace stn_emulator
