// What one request of a warp costs: lane l, if bit l of `lanes` is set, asks for bytes[l] bytes at
// address at[l].
#pragma once
#include <cstdint>

namespace stn_emulator {

// How many different bytes it touches.
unsigned distinct_bytes(const uint64_t *at, const unsigned *bytes, unsigned lanes);
// Sectors of 32 bytes of global memory that it is answered with, where what a lane asks for goes to
// to[l] of shared memory (an asynchronous copy; else to is at): a sector that goes to two sectors
// there is answered twice, as counted on an H200 (bench/results/2026-11-23-sparse-5.md).
unsigned answered_sectors(const uint64_t *at, const uint64_t *to, const unsigned *bytes, unsigned lanes);
// Cycles of the 32 banks of shared memory, 4 bytes each: of 8 bytes a lane a half of the warp at a
// time, of 16 a quarter.
unsigned bank_cycles(const uint64_t *at, const unsigned *bytes, unsigned lanes);

}  // namespace stn_emulator
