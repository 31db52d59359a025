/* See lanes.h. */
#include "strategies/modes/lanes.h"

#include "base/arith.h"

#define TINY 1e-120 /* smaller entries of a power become 0, so that no product is denormal */

#define SET portable
#define TARGET
#define BYTES 16
#include "strategies/modes/matrix.h"

#if defined(__x86_64__)
#define SET avx2
#define TARGET __attribute__((target("avx2")))
#define BYTES 32
#include "strategies/modes/matrix.h"

#define SET avx512
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl")))
#define BYTES 64
#include "strategies/modes/matrix.h"
#endif

const modes_lanes *modes_lanes_at(int index) {
    if (index == 0) return &lanes_portable;
#if defined(__x86_64__)
    if (index == 1 && __builtin_cpu_supports("avx2")) return &lanes_avx2;
    if (index == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return &lanes_avx512;
#endif
    return NULL;
}

const modes_lanes *modes_lanes_best(void) {
    const modes_lanes *best = &lanes_portable, *next;
    for (int i = 1; (next = modes_lanes_at(i)); i++) best = next;
    return best;
}
