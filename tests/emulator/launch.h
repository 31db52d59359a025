// Running a grid of blocks on a few OS threads.
#pragma once
#include "engine.h"
#include "settings.h"

namespace stn_emulator {

struct GridLaunch {
    const Kernel *kernel;
    dim3 grid, block, cluster;
    unsigned shared;
    std::vector<unsigned char> arguments;  // each at a multiple of 64
    std::vector<size_t> offsets;
};

// Blocks until done. An error's story goes to stderr.
LaunchError run_grid(const GridLaunch &launch, const Settings &settings);

}  // namespace stn_emulator
