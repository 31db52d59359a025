// A program as the stand-in NVRTC packs it and the stand-in driver unpacks it, and its way to a
// shared library.
#pragma once
#include <string>
#include <utility>
#include <vector>

namespace stn_emulator {

struct Program {
    int sm = 0;           // 90 for sm_90 and compute_90
    bool ptx = false;     // PTX runs on newer chips too, a cubin on its own family only
    int ptx_version = 0;  // the NVRTC that made it: 13000
    std::string name, source;
    std::vector<std::pair<std::string, std::string>> headers;  // name, text
    std::vector<std::string> defines;                          // -D options
};

std::string pack(const Program &program);
// false: not one of ours, cut short or damaged
bool unpack(const void *image, Program *program);

// Compiles the program, or finds it among those compiled before, and returns the library's path;
// empty and `log` when it does not compile. Safe to call from many threads and processes at once.
// The library exports
//   void stn_bind(const Engine *)            to be called first
//   const KernelEntry stn_kernels[]          its __global__ functions; the last one's name is null
std::string build(const Program &program, std::string *log);

}  // namespace stn_emulator
