// See requests.h.
#include "requests.h"

#include <algorithm>
#include <set>

namespace stn_emulator {

constexpr unsigned WARP = 32;

unsigned distinct_units(const uint64_t *at, const unsigned *bytes, unsigned lanes, unsigned unit) {
    std::set<uint64_t> units;
    for (unsigned l = 0; l < WARP; l++)
        for (uint64_t u = at[l] / unit; (lanes >> l & 1) && u <= (at[l] + bytes[l] - 1) / unit; u++) units.insert(u);
    return (unsigned)units.size();
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
