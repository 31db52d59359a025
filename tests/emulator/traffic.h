// What a kernel asks of memory: for each line of its source, how often warps ask shared memory and
// how many cycles of its banks that takes, how often they ask global memory and how many sectors of
// 32 bytes that touches, each beside the fewest that so many bytes need. A few blocks of each
// launch are looked at. The rules are those of the CUDA programming guide's parts on coalescing and
// on banks.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "shim/engine.h"

namespace stn_emulator {

struct Kernel;

// Where the access is in the source: an address in the kernel's library, or a place.
struct Site {
    const void *code;
    const char *file;
    int line;
    bool operator<(const Site &other) const {
        return code != other.code ? code < other.code : file != other.file ? file < other.file : line < other.line;
    }
};

struct Tally {
    uint64_t requests, cost, least;  // cost: cycles of the banks, or sectors
};

enum Memory { MEMORY_SHARED, MEMORY_GLOBAL };
enum Happening { HAPPENING_BARRIER, HAPPENING_SHUFFLE, HAPPENING_PRODUCT, HAPPENINGS };

// Of one OS thread's blocks.
struct Traffic {
    static std::string &wanted();  // STENTOR_EMULATOR_TRAFFIC: the file that the table is added to at the process's end
    bool looking = false;          // at the blocks that run now

    void begin(const unsigned char *const *shared, unsigned shared_bytes, unsigned blocks, unsigned stride);
    // target: where in shared memory an asynchronous copy puts what it reads; else NULL
    void access(unsigned lane, const void *p, unsigned bytes, bool writes, Site site, const void *target);
    void set_statics(const unsigned char *from, unsigned bytes) { statics = from, static_bytes = bytes; }
    void happens(Happening what) { lanes_at[what] += looking; }
    void end(const Kernel &kernel);  // hands what was counted to the table

   private:
    struct Request {  // of a warp, until all of its lanes have come
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
        std::vector<uint32_t> turns;                    // a lane: how often it was here
        std::unordered_map<uint64_t, Request> waiting;  // by warp and turn
    };

    std::map<Line, Open> lines;
    uint64_t lanes_at[HAPPENINGS] = {}, blocks_seen = 0;
    const unsigned char *const *shared_of = nullptr;
    const unsigned char *statics = nullptr;  // what the kernel declares as static shared memory
    unsigned static_bytes = 0, bytes_of_shared = 0, lanes_of_block = 1, lanes = 0;

    bool in_shared(unsigned lane, const unsigned char *p, uint64_t *at) const;
    static void close(Line const &line, Open *open, const Request &request);
};

}  // namespace stn_emulator
