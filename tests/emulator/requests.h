// Cost of one memory request of a warp. Lane l, if bit l of `lanes` is set, accesses bytes[l] bytes
// at address at[l].
#pragma once
#include <cstdint>

namespace stn_emulator {

// Number of different bytes accessed.
unsigned distinct_bytes(const uint64_t *at, const unsigned *bytes, unsigned lanes);
// Number of 32-byte sectors of global memory in the answer. Asynchronous copies write lane l's
// bytes to to[l] of shared memory (otherwise to is at): a sector that goes to two sectors of shared
// memory counts twice, as measured on an H200.
unsigned answered_sectors(const uint64_t *at, const uint64_t *to, const unsigned *bytes, unsigned lanes);
// Cycles of the 32 banks (4 bytes each) of shared memory. With 8 bytes a lane, a half-warp is
// served at a time; with 16 bytes, a quarter.
unsigned bank_cycles(const uint64_t *at, const unsigned *bytes, unsigned lanes);

}  // namespace stn_emulator
