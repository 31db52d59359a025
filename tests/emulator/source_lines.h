// Finds the source lines of code addresses in kernels' libraries.
#pragma once
#include <string>
#include <vector>

namespace stn_emulator {

// "file:line" of each address, "?" if unknown: of the innermost inlined function outside of
// device/ptx.cuh. Results of addr2line are kept. Must not be called on a fiber.
std::vector<std::string> source_lines(const std::vector<const void *> &codes);

}  // namespace stn_emulator
