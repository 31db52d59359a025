// Memory traffic of a kernel, per source line: requests of warps to shared memory and the bank
// cycles that they take; requests to global memory and the 32-byte sectors that they touch; each
// with the minimum for so many bytes. A few blocks of each launch are sampled. The rules are those
// of the CUDA programming guide on coalescing and bank conflicts.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "shim/engine.h"

namespace stn_emulator {

struct Kernel;

// Source location of an access: a return address in the kernel's library, or a file and line.
struct Site {
    const void *code;
    const char *file;
    int line;
    bool operator<(const Site &other) const {
        return code != other.code ? code < other.code : file != other.file ? file < other.file : line < other.line;
    }
};

struct Tally {
    uint64_t requests, cost, least;  // cost: bank cycles, or sectors
};

enum Memory { MEMORY_SHARED, MEMORY_GLOBAL };
enum Happening { HAPPENING_BARRIER, HAPPENING_SHUFFLE, HAPPENING_PRODUCT, HAPPENINGS };

// The counts of one OS thread's blocks.
struct Traffic {
    // STENTOR_EMULATOR_TRAFFIC: the table is appended to this file when the process ends.
    static std::string &wanted();
    bool looking = false;  // True while the running blocks are sampled.

    void begin(const unsigned char *const *shared, unsigned shared_bytes, unsigned blocks, unsigned stride);
    // target: destination in shared memory of an asynchronous copy; else NULL.
    void access(unsigned lane, const void *p, unsigned bytes, bool writes, Site site, const void *target);
    void set_statics(const unsigned char *from, unsigned bytes) { statics = from, static_bytes = bytes; }
    void happens(Happening what) { lanes_at[what] += looking; }
    void end(const Kernel &kernel);  // adds the counts to the table

   private:
    struct Request {  // of a warp, until all of its lanes have made it
        unsigned lanes = 0, bytes[32] = {};
        uint64_t at[32] = {}, to[32] = {};
    };
    struct Line {
        Site site;
        bool writes;
        unsigned bytes;
        Memory memory;
        bool operator<(const Line &other) const {
            if (site < other.site || other.site < site) return site < other.site;
            return writes != other.writes ? writes < other.writes
                   : bytes != other.bytes ? bytes < other.bytes
                                          : memory < other.memory;
        }
    };
    struct Open {
        Tally tally = {};
        std::vector<uint32_t> visits;                   // per lane: how often it was here
        std::unordered_map<uint64_t, Request> waiting;  // by warp and turn
    };

    std::map<Line, Open> lines;
    uint64_t lanes_at[HAPPENINGS] = {}, blocks_seen = 0;
    const unsigned char *const *shared_of = nullptr;
    const unsigned char *statics = nullptr;  // the kernel's static shared memory
    unsigned static_bytes = 0, bytes_of_shared = 0, lanes_of_block = 1, lanes = 0;

    bool in_shared(unsigned lane, const unsigned char *p, uint64_t *at) const;
    static void close(Line const &line, Open *open, const Request &request);
};

}  // namespace stn_emulator
