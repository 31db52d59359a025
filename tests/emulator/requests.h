// What one request of a warp costs: lane l, if bit l of `lanes` is set, asks for bytes[l] bytes at address at[l].
#pragma once
#include <cstdint>

namespace stn_emulator {

// How many different units of so many bytes it touches: 1 for the bytes, 32 for the sectors of global memory.
unsigned distinct_units(const uint64_t *at, const unsigned *bytes, unsigned lanes, unsigned unit);
// Cycles of the 32 banks of shared memory, 4 bytes each: of 8 bytes a lane a half of the warp at a time, of 16 a quarter.
unsigned bank_cycles(const uint64_t *at, const unsigned *bytes, unsigned lanes);

}  // namespace stn_emulator
