// Running a grid of blocks on a few OS threads.
#pragma once
#include "engine.h"
#include "settings.h"

namespace stn_emulator {

struct GridLaunch {
    const Kernel *kernel;
    dim3 grid, block, cluster;
    unsigned shared;
    bool early;                            // it may begin when the blocks of the launch before have begun
    std::vector<unsigned char> arguments;  // each at a multiple of 64
    std::vector<size_t> offsets;
};

// Blocks until done. An error's story goes to stderr. `next`, unless null, is an early launch that
// comes right after it: some of its blocks begin before this one, go on until they wait for its
// end, and end when the next one is run. So a kernel that does not wait for what it needs is found.
LaunchError run_grid(const GridLaunch &launch, const Settings &settings, const GridLaunch *next = nullptr);

}  // namespace stn_emulator
