// Begin and end of a block, or of the blocks of a cluster; in between the scheduler (scheduler.cpp)
// runs it. Blocks of a programmatic dependent launch may begin before the previous launch has
// ended.
#include <cstring>

#include "memory.h"
#include "scheduler.h"

namespace stn_emulator {

void Worker::check_shared(const Block &block) {
    unsigned padded = (block.shared_bytes + 127) / 128 * 128;
    for (unsigned i = block.shared_bytes; i < padded; i++)
        if (block.shared[i] != POISON) {
            set_error(ERROR_ILLEGAL_ADDRESS, block.rank * stride, "wrote just past the end of shared memory",
                      {nullptr, 0});
            return;
        }
}

void Worker::place_blocks(dim3 grid, dim3 shape, dim3 cluster, uint3 first, unsigned shared) {
    const unsigned padded = (shared + 127) / 128 * 128;
    for (unsigned b = 0; b < size; b++) {
        Block &block = blocks[b];
        block.index = {first.x + b % cluster.x, first.y + b / cluster.x % cluster.y,
                       first.z + b / cluster.x / cluster.y};
        block.grid = grid;
        block.threads = shape;
        block.rank = b;
        block.shared_bytes = shared;
        block.shared = shared_region + (b + 1) * (SHARED_BYTES + PAGE) - padded;
        memset(block.shared, POISON, padded);
    }
}

LaunchError Worker::begin_cluster(const Kernel &k, void *const *v, dim3 grid, dim3 shape, dim3 cluster, uint3 first,
                                  unsigned shared, uint64_t s, bool before_end) {
    kernel = &k;
    values = v;
    seed = s;
    ahead = before_end;
    // The random sequence depends on the cluster alone, not on the OS thread.
    random = (s + 1) * 0x9e3779b97f4a7c15ull ^
             (first.x + 0x10001ull * first.y + 0x100000003ull * first.z) * 0xbf58476d1ce4e5b9ull;
    if (random == 0) random = 1;
    next_random();
    const unsigned threads = shape.x * shape.y * shape.z;
    size = cluster.x * cluster.y * cluster.z;
    stride = (threads + WARP - 1) / WARP * WARP;
    place_blocks(grid, shape, cluster, first, shared);
    for (unsigned b = 0; b < size; b++) shareds[b] = blocks[b].shared;
    alive = threads * size;
    cluster_barriers = 0;
    races.begin();
    if (traffic.looking) traffic.begin(shareds, shared, size, stride);
    error = ERROR_NONE;
    message.clear();
    for (unsigned i = 0; i < size * stride; i++) {
        if (i % stride < threads)
            start_lane(i);
        else
            lanes[i].state = State::DONE;
    }
    for (unsigned b = 0; b < size; b++) living[b] = threads;
    return guarded_schedule();
}

LaunchError Worker::guarded_schedule() {
    Worker *outer = worker;
    worker = this;
    if (sigsetjmp(escape, 0) == 0) schedule();  // A fault in a kernel returns here.
    in_fiber = false;
    if (races.found()) message += " (" + races.describe() + ")";
    worker = outer;
    return error;
}

LaunchError Worker::end_cluster() {
    if (ahead && error == ERROR_NONE) {
        ahead = false;
        for (unsigned i = 0; i < size * stride; i++)
            if (lanes[i].state == State::LAUNCH) lanes[i].state = State::READY;
        guarded_schedule();
    }
    for (unsigned b = 0; b < size && error == ERROR_NONE; b++) check_shared(blocks[b]);
    return error;
}

LaunchError Worker::run_cluster(const Kernel &k, void *const *v, dim3 grid, dim3 shape, dim3 cluster, uint3 first,
                                unsigned shared, uint64_t s) {
    begin_cluster(k, v, grid, shape, cluster, first, shared, s, false);
    return end_cluster();
}

}  // namespace stn_emulator
