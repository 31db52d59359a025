// Environment settings, failure injection and call counts of both stand-ins.
#pragma once
#include <cstdint>
#include <string>

namespace stn_emulator {

// Read again at every cuInit.
struct Settings {
    int sm = 90;                   // STENTOR_EMULATOR_SM: 80, 90, 100, ...
    int multiprocessors = 0;       // 0: as many as the chip has
    int devices = 1;               // STENTOR_EMULATOR_DEVICES
    int driver_version = 13000;    // STENTOR_EMULATOR_DRIVER_VERSION
    uint64_t memory = 4ull << 30;  // STENTOR_EMULATOR_MEMORY, bytes of each device
    uint64_t seed = 1;             // STENTOR_EMULATOR_SEED: a number, or "random"
    bool races = false;            // STENTOR_EMULATOR_RACES: detect races in shared memory
    std::string traffic;           // STENTOR_EMULATOR_TRAFFIC: output file for memory traffic
    int threads = 2;               // STENTOR_EMULATOR_THREADS: OS threads that run blocks
};
Settings read_settings();

// Counts a call; true if STENTOR_EMULATOR_FAIL ("cuMemAlloc_v2:3,nvrtcCompileProgram:1", or ":*"
// for every call) requests its failure. Counts restart when that variable changes. "cuMemAlloc"
// also means "cuMemAlloc_v2".
bool count_call(const char *name);
uint64_t calls_made(const char *name);
void reset_calls();

std::string environment(const char *name, const char *otherwise);
bool compiles_late();  // STENTOR_EMULATOR_LATE: a program is compiled when a kernel is launched

bool has_avx2_and_fma();  // the CPU

}  // namespace stn_emulator
