// Emulated device memory: host pages between guard pages, filled with POISON when new.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace stn_emulator {

constexpr unsigned char POISON = 0xff;  // NaN as f64, f32 and f16; -1 as an integer
constexpr size_t PAGE = 4096;

void memory_limit(uint64_t bytes);  // Sets the size of the device's memory.
void memory_info(uint64_t *free, uint64_t *total);
// 256-byte aligned; nullptr: out of memory. A guard page follows the last 256-byte unit.
void *memory_alloc(size_t bytes, int device);
bool memory_free(void *pointer);  // False: not the start of an allocation.
// A module's variables are device memory while it is loaded.
void memory_add_global(void *pointer, size_t bytes);
void memory_remove_global(void *pointer);
// Does one allocation hold all of [pointer, pointer + bytes)?
bool memory_holds(const void *pointer, size_t bytes);
bool memory_starts(const void *pointer, void **start, size_t *bytes);
int memory_device(const void *start);
// Names an allocation that was written out of bounds, once; empty: none.
std::string memory_damage();
// "12 bytes past the end of the 400 bytes at 0x...", or "far from any allocation".
std::string memory_describe(const void *address);
size_t memory_count();

}  // namespace stn_emulator
