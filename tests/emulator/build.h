// Programs of the emulator: the image format that NVRTC's stand-in writes and the driver's reads,
// and their compilation to shared libraries.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace stn_emulator {

struct Program {
    int sm = 0;           // 90 for sm_90 and compute_90
    bool ptx = false;     // PTX runs on newer chips too, a cubin only on its own family
    int ptx_version = 0;  // version of the NVRTC that made it: 13000
    std::string name, source;
    std::vector<std::pair<std::string, std::string>> headers;  // name, text
    std::vector<std::string> defines;                          // -D options
};

std::string pack(const Program &program);
// False: not an emulator image, truncated or damaged.
bool unpack(const void *image, Program *program);

// Compiles the program, or finds it in the cache of compiled programs, and returns the library's
// path; empty, with `log`, if it does not compile. Safe to call from several threads and processes.
// The library exports
//   void stn_bind(const Engine *)            must be called first
//   const KernelEntry stn_kernels[]          its __global__ functions; the last one's name is null
std::string build(const Program &program, std::string *log);

}  // namespace stn_emulator
