// Runs a grid of blocks on a few OS threads.
#pragma once
#include "emulator_settings.h"
#include "scheduler.h"

namespace stn_emulator {

struct GridLaunch {
    const Kernel *kernel;
    dim3 grid, block, cluster;
    unsigned shared;
    // Programmatic dependent launch: may begin once the blocks of the previous launch have begun.
    bool early;
    std::vector<unsigned char> arguments;  // each at a multiple of 64 bytes
    std::vector<size_t> offsets;
};

// Runs all blocks; an error's text goes to stderr. `next` (may be null) is a programmatic dependent
// launch that follows directly. Some of its blocks begin before this launch, run until they wait
// for its end, and finish when `next` is run. This reveals kernels that do not wait for their
// input.
LaunchError run_grid(const GridLaunch &launch, const Settings &settings, const GridLaunch *next = nullptr);

}  // namespace stn_emulator
