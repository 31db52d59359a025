// The source lines of addresses in kernels' libraries.
#pragma once
#include <string>
#include <vector>

namespace stn_emulator {

// "file:line" of each, "?" where that is not known: the innermost that is not in the words of
// device/ptx.cuh. Each address is asked of addr2line once. Not on a fiber.
std::vector<std::string> source_lines(const std::vector<const void *> &codes);

}  // namespace stn_emulator
