// Race detector for shared memory; see races.h.
#include "races.h"

#include <sys/mman.h>

#include "scheduler.h"
#include "source_lines.h"

namespace stn_emulator {

bool Races::wanted;

constexpr unsigned CELL_BYTES = 1;  // Bytes per cell: the smallest element of any template.
// At most as much static memory.
constexpr size_t BLOCK_CELLS = SHARED_BYTES / CELL_BYTES, STATIC_CELLS = BLOCK_CELLS;

void Races::begin() {
    theirs = {};
    if (!wanted) return;
    if (!cells) {
        // Zero pages, few of which are ever touched.
        void *p = mmap(nullptr, (MAX_BLOCKS * BLOCK_CELLS + STATIC_CELLS) * sizeof(Cell), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p != MAP_FAILED) cells = static_cast<Cell *>(p);
    }
    clock++;
    for (uint64_t &turn : warp_sync) turn = clock;
    for (uint64_t &turn : block_sync) turn = clock;
}

void Races::sync_warp(unsigned warp) { warp_sync[warp] = ++clock; }

void Races::sync_block(unsigned block, unsigned warps) {
    block_sync[block] = ++clock;
    for (unsigned w = 0; w < warps; w++) warp_sync[block * warps + w] = clock;
}

void Races::set_statics(const unsigned char *from, unsigned bytes) {
    statics = from;
    static_bytes = bytes < STATIC_CELLS * CELL_BYTES ? bytes : STATIC_CELLS * CELL_BYTES;
}

bool Races::orders(const Access &before, const Access &access, unsigned block) const {
    if (!before.code || before.lane == access.lane) return true;
    const bool same_warp = before.lane / WARP == access.lane / WARP;
    return before.when < (same_warp ? warp_sync[access.lane / WARP] : block_sync[block]);
}

bool Races::meets(Cell &cell, bool writes, const Access &access, unsigned block) {
    for (const Access *before : {&cell.write, &cell.read, &cell.mate, &cell.other}) {
        if ((!writes && before != &cell.write) || orders(*before, access, block)) continue;
        mine = access;
        theirs = *before;
        return true;
    }
    if (writes) {
        cell.write = access;
        return false;
    }
    if (cell.read.code && cell.read.lane / WARP != access.lane / WARP) {
        cell.other = cell.read;
        cell.mate = {};
    } else if (cell.read.lane != access.lane)
        cell.mate = cell.read;
    cell.read = access;
    return false;
}

bool Races::touch(const unsigned char *shared, unsigned shared_bytes, const void *p, unsigned bytes, bool writes,
                  Access access, unsigned block) {
    if (!cells) return false;
    const size_t at = static_cast<size_t>(static_cast<const unsigned char *>(p) - shared),
                 in_statics = static_cast<size_t>(static_cast<const unsigned char *>(p) - statics);
    Cell *first = at < shared_bytes           ? cells + block * BLOCK_CELLS + at / CELL_BYTES
                  : in_statics < static_bytes ? cells + MAX_BLOCKS * BLOCK_CELLS + in_statics / CELL_BYTES
                                              : nullptr;
    if (!first) return false;
    const size_t within = at < shared_bytes ? at : in_statics;
    access.when = clock;
    for (size_t i = 0; i <= (within + bytes - 1) / CELL_BYTES - within / CELL_BYTES; i++)
        if (meets(first[i], writes, access, block)) return true;
    return false;
}

std::string Races::describe() const {
    std::vector<std::string> lines = source_lines({mine.code, theirs.code});
    for (std::string &line : lines) line = line.substr(line.rfind('/') + 1);
    return lines[0] + ", the other at " + lines[1];
}

}  // namespace stn_emulator
