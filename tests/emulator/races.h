// Accesses to a block's shared memory that nothing orders. Warps and lanes run in random order, but
// words that give lanes each other's registers (shuffles, votes, products) make them wait for each
// other here, where a GPU promises no more than the registers. So who touched what is kept: only
// __syncwarp, within a warp, and a barrier, for all, put what was before in order.
#pragma once
#include <cstdint>
#include <string>

namespace stn_emulator {

struct Access {
    const void *code;  // where; null: there was none
    uint64_t when;
    unsigned lane;
};

struct Races {
    static bool wanted;  // STENTOR_EMULATOR_RACES

    struct Cell {  // of two bytes
        Access write, read, mate,
            other;  // the last; mate, other: reads before it by another lane of that warp, by another warp
    };
    static constexpr unsigned MOST_WARPS = 256, MOST_BLOCKS = 8;

    void begin();                   // a cluster's blocks: all that was before is in order
    void sync_warp(unsigned warp);  // of those that run together
    void sync_block(unsigned block, unsigned warps);
    void set_statics(const unsigned char *from, unsigned bytes);  // what the kernel declares as static shared memory
    // Of block `block` with this shared memory; true: it races, and story() says with what.
    bool touch(const unsigned char *shared, unsigned shared_bytes, const void *p, unsigned bytes, bool writes,
               Access access, unsigned block);
    bool found() const { return theirs.code != nullptr; }
    unsigned other_lane() const { return theirs.lane; }
    uint64_t now() const { return clock; }
    std::string story() const;  // the lines; not on a fiber

   private:
    Cell *cells = nullptr;  // of the blocks' shared memory, and after it of static memory
    uint64_t clock = 0, warp_turn[MOST_WARPS] = {}, block_turn[MOST_BLOCKS] = {};
    const unsigned char *statics = nullptr;
    unsigned static_bytes = 0;
    Access mine = {}, theirs = {};

    bool orders(const Access &before, const Access &access, unsigned block) const;
    bool meets(Cell &cell, bool writes, const Access &access, unsigned block);
};

}  // namespace stn_emulator
