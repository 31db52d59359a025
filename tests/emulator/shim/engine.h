// The interface between a compiled kernel and the engine that runs it. Both include it, so it
// includes no library headers.
#pragma once

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x = 1, y = 1, z = 1;
};

namespace stn_emulator {

// Each thread of a block is a fiber with a stack of STACK_BYTES, aligned to that size; all stacks
// of a worker lie in a region of REGION_BYTES, also aligned to its size. So a kernel finds its
// Thread from the stack pointer alone.
constexpr unsigned long STACK_BYTES = 1ul << 16, REGION_BYTES = 1ul << 29, FIRST_SLOT = 16;

struct Block {
    uint3 index;
    dim3 threads, grid;
    unsigned char *shared;  // A guard page follows at shared + shared_bytes, rounded up to 128.
    unsigned shared_bytes;
    unsigned rank;  // in its cluster
};

struct alignas(64) Thread {  // The Thread of slot s lies at region + s * sizeof(Thread).
    uint3 index;
    unsigned linear;
    const Block *block;
};

struct Place {  // Source location of a call; tells different barriers apart.
    const char *file;
    int line;
    // As a default argument this is the location of the call.
    static constexpr Place here(const char *file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
};

enum Shuffle { SHUFFLE_INDEX, SHUFFLE_UP, SHUFFLE_DOWN, SHUFFLE_XOR };
enum Vote { VOTE_BALLOT, VOTE_ANY, VOTE_ALL, VOTE_SYNC };
enum Reduce { REDUCE_NONE, REDUCE_OR, REDUCE_AND, REDUCE_COUNT };
enum Mma {
    MMA_F64_M8N8K4,
    MMA_F64_M16N8K4,
    MMA_F64_M16N8K8,
    MMA_F64_M16N8K16,
    MMA_F16_M16N8K8,
    MMA_F16_M16N8K16,
    MMA_BF16_M16N8K8,
    MMA_TF32_M16N8K4,
    MMA_TF32_M16N8K8,
    MMA_S8_M16N8K32,
    MMA_SP_F16_M16N8K16,
    MMA_SP_F16_M16N8K32,
    MMA_SP_TF32_M16N8K8,
    MMA_SP_TF32_M16N8K16,
    MMA_COUNT
};

// Functions of the engine that kernels call. Any of them may switch to another fiber.
struct Engine {
    int (*barrier)(int id, int count, Reduce reduce, int predicate, Place place);
    unsigned long long (*shuffle)(Shuffle mode, unsigned mask, unsigned long long value, int argument, int width,
                                  Place place);
    unsigned (*vote)(Vote mode, unsigned mask, int predicate, Place place);
    void (*mma)(Mma shape, void *c, const void *a, const void *b, unsigned metadata, int selector, Place place);
    void (*copy_async)(void *to, const void *from, unsigned bytes, Place place);
    void (*copy_async_commit)();
    void (*copy_async_wait)(int newest, Place place);
    void (*cluster_barrier)(Place place);
    const void *(*cluster_shared)(const void *mine, unsigned bytes, unsigned rank, Place place);
    long long (*clock)();
    void (*fail)(const char *message, Place place);
    void (*misaligned)(const void *address, int bytes, Place place);
    void (*wait_for_launch)(Place place);
    // Only in instrumented kernels: reports an access; reports the location of the running OS
    // thread's static shared memory.
    void (*touch)(const void *p, unsigned bytes, int writes, const void *code);
    void (*statics)(const unsigned char *from, unsigned bytes);
};

struct KernelEntry {
    const char *name;
    void (*call)(void *const *values);
    unsigned count;         // number of parameters
    const unsigned *sizes;  // in bytes
    int max_threads;        // __launch_bounds__
};

}  // namespace stn_emulator
