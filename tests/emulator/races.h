// Race detector for a block's shared memory. The emulator makes lanes wait for each other at
// warp-wide operations (shuffles, votes, matrix products), where a GPU only exchanges registers and
// orders no memory. So the last accesses to each cell are recorded, and only __syncwarp (within a
// warp) and barriers (for all) order accesses.
#pragma once
#include <cstdint>
#include <string>

namespace stn_emulator {

struct Access {
    const void *code;  // return address of the access; null: none
    uint64_t when;
    unsigned lane;
};

struct Races {
    static bool wanted;  // STENTOR_EMULATOR_RACES

    struct Cell {  // one cell for every two bytes
        // The last accesses. mate, other: earlier reads by another lane, by another warp.
        Access write, read, mate, other;
    };
    static constexpr unsigned MAX_WARPS = 256, MAX_BLOCKS = 8;

    // Starts a cluster's blocks: earlier accesses are ordered before all later ones.
    void begin();
    void sync_warp(unsigned warp);  // `warp` counts over all blocks that run together.
    void sync_block(unsigned block, unsigned warps);
    // Sets the location of the kernel's static shared memory.
    void set_statics(const unsigned char *from, unsigned bytes);
    // Records an access of block `block` with this shared memory; true if it races: describe() has
    // the details.
    bool touch(const unsigned char *shared, unsigned shared_bytes, const void *p, unsigned bytes, bool writes,
               Access access, unsigned block);
    bool found() const { return theirs.code != nullptr; }
    unsigned other_lane() const { return theirs.lane; }
    uint64_t now() const { return clock; }
    std::string describe() const;  // the source lines; must not be called on a fiber

   private:
    Cell *cells = nullptr;  // cells of the blocks' shared memory, then of static memory
    uint64_t clock = 0, warp_sync[MAX_WARPS] = {}, block_sync[MAX_BLOCKS] = {};
    const unsigned char *statics = nullptr;
    unsigned static_bytes = 0;
    Access mine = {}, theirs = {};

    bool orders(const Access &before, const Access &access, unsigned block) const;
    bool meets(Cell &cell, bool writes, const Access &access, unsigned block);
};

}  // namespace stn_emulator
