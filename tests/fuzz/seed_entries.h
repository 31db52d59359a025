/* Cache entries that are seeds of fuzz targets. */
#ifndef STN_TESTS_CACHE_SEED_ENTRIES_H
#define STN_TESTS_CACHE_SEED_ENTRIES_H
#include "cache/cache.h"
#include "fuzz.h"

/* Seed entry 0, 1, ...; its members must not be freed. */
static inline stn_entry fuzz_entry(unsigned number, stn_key *key) {
    static char cubin[] =
        "\x7f"
        "ELF and some code";
    memset(key, (int)(17 + number), sizeof *key);
    stn_entry entry = {.metadata = "kernel: fuzz\narch: sm_90\n",
                       .params = "constexpr int RADIUS = 1;\n",
                       .ptx = ".version 8.0\n",
                       .ptx_size = 13};
    if (number % 2) {
        entry.cubin = cubin;
        entry.cubin_size = sizeof cubin;
    }
    if (number % 3) memset(&entry.source, (int)(99 - number), sizeof entry.source);
    return entry;
}
#endif
