// Sectors and bank cycles of a warp's memory request; see requests.h.
#include "requests.h"

#include <algorithm>
#include <set>

namespace stn_emulator {

constexpr unsigned WARP = 32;

unsigned distinct_bytes(const uint64_t *at, const unsigned *bytes, unsigned lanes) {
    std::set<uint64_t> all;
    for (unsigned l = 0; l < WARP; l++)
        for (unsigned b = 0; (lanes >> l & 1) && b < bytes[l]; b++) all.insert(at[l] + b);
    return (unsigned)all.size();
}

unsigned answered_sectors(const uint64_t *at, const uint64_t *to, const unsigned *bytes, unsigned lanes) {
    constexpr unsigned SECTOR = 32, STEP = 4;  // Asynchronous copies have at least 4 bytes.
    std::set<std::pair<uint64_t, uint64_t>> sectors;
    for (unsigned l = 0; l < WARP; l++)
        for (unsigned b = 0; (lanes >> l & 1) && b < bytes[l]; b += STEP) {
            const unsigned last = std::min(b + STEP, bytes[l]) - 1;
            sectors.insert({(at[l] + b) / SECTOR, (to[l] + b) / SECTOR});
            sectors.insert({(at[l] + last) / SECTOR, (to[l] + last) / SECTOR});
        }
    return (unsigned)sectors.size();
}

unsigned bank_cycles(const uint64_t *at, const unsigned *bytes, unsigned lanes) {
    unsigned widest = 4, cycles = 0;
    for (unsigned l = 0; l < WARP; l++)
        if (lanes >> l & 1) widest = std::max(widest, bytes[l]);
    const unsigned together = widest >= 16 ? 8 : widest >= 8 ? 16 : 32;
    for (unsigned first = 0; first < WARP; first += together) {
        std::set<uint64_t> words[32];
        size_t most = 0;
        for (unsigned l = first; l < first + together; l++)
            for (uint64_t w = at[l] / 4; (lanes >> l & 1) && w <= (at[l] + bytes[l] - 1) / 4; w++)
                words[w % 32].insert(w);
        for (const auto &bank : words) most = std::max(most, bank.size());
        cycles += (unsigned)most;
    }
    return cycles;
}

}  // namespace stn_emulator
