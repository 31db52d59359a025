/* The cases. Bars are those of an H200; a host is only asked for half of its copy bandwidth on heat-2d (main.c). */
#include "cases.h"

#include <string.h>

// clang-format off
#define LINE(log2)    1, {(size_t)1 << (log2)}
#define SQUARE(side)  2, {side, side}
#define CUBE(side)    3, {side, side, side}
#define STEP(name, stencil, shape, bar) \
    {"step", name, stencil, NULL, shape, 1, BAR_PERCENT_OF_COPY, bar, bar, NULL, 0}
#define TIME(name, stencil, shape, bar, peer, figure) \
    {"time", name, stencil, "direct", shape, 1000, BAR_GSTENCILS, bar, 1.8 * (bar), peer, figure}
#define LOWRANK(name, stencil, shape, bar, peer, figure) \
    {"lowrank", name, stencil, "lowrank", shape, 1000, BAR_GSTENCILS, bar, 0, peer, figure}

const bench_case bench_cases[] = {
    STEP("heat-1d",    "heat-1d",    LINE(29),      95),
    STEP("heat-2d",    "heat-2d",    SQUARE(16384), 92),
    STEP("heat-3d",    "heat-3d",    CUBE(768),     88),
    STEP("box-2d9p",   "box-2d9p",   SQUARE(16384), 92),
    STEP("star-2d13p", "star-2d13p", SQUARE(16384), 88),
    STEP("box-2d49p",  "box-2d49p",  SQUARE(16384), 75),
    STEP("box-3d27p",  "box-3d27p",  CUBE(768),     78),

    TIME("heat-1d",    "heat-1d",    LINE(27),      2500, NULL,    0),
    TIME("heat-2d",    "heat-2d",    SQUARE(10240), 1100, "EBISU", 902),
    TIME("box-2d9p",   "box-2d9p",   SQUARE(10240), 800,  "EBISU", 658),
    TIME("star-2d13p", "star-2d13p", SQUARE(10240), 300,  "EBISU", 218),
    TIME("box-2d49p",  "box-2d49p",  SQUARE(10240), 215,  "EBISU", 175),
    TIME("heat-3d",    "heat-3d",    CUBE(512),     350,  "AN5D",  212),
    TIME("box-3d27p",  "box-3d27p",  CUBE(512),     180,  "AN5D",  120),

    LOWRANK("heat-1d",              "heat-1d",                          LINE(27),      8500, "FlashFFTStencil", 1127),
    LOWRANK("1d5p",                 "1d5p",                             LINE(27),      4000, "LoRAStencil",     443),
    LOWRANK("heat-2d",              "heat-2d",                          SQUARE(10240), 600,  "EBISU",           902),
    LOWRANK("box-2d9p",             "box-2d9p",                         SQUARE(10240), 650,  "EBISU",           658),
    LOWRANK("box-2d9p-separable",   "gaussian-2d:sigma=1,truncate=1",   SQUARE(10240), 3500, "EBISU",           658),
    LOWRANK("star-2d13p",           "star-2d13p",                       SQUARE(10240), 330,  "EBISU",           218),
    LOWRANK("box-2d49p",            "box-2d49p",                        SQUARE(10240), 220,  "EBISU",           175),
    LOWRANK("box-2d49p-separable",  "gaussian-2d:sigma=1,truncate=3",   SQUARE(10240), 600,  "EBISU",           175),
    LOWRANK("heat-3d",              "heat-3d",                          CUBE(512),     240,  "AN5D",            212),
    LOWRANK("box-3d27p",            "box-3d27p",                        CUBE(512),     150,  "AN5D",            120),
    LOWRANK("box-3d27p-separable",  "gaussian-3d:sigma=1,truncate=1",   CUBE(512),     240,  "AN5D",            120),
};
// clang-format on
const size_t bench_case_count = sizeof bench_cases / sizeof *bench_cases;

void bench_extent_host(int rank, size_t extent[STN_MAX_RANK]) {
    static const size_t sizes[STN_MAX_RANK][STN_MAX_RANK] = {{(size_t)1 << 26}, {8192, 8192}, {400, 400, 400}};
    memcpy(extent, sizes[rank - 1], sizeof sizes[0]);
}

void bench_extent_quick(int rank, size_t extent[STN_MAX_RANK]) {
    static const size_t sizes[STN_MAX_RANK][STN_MAX_RANK] = {{100003}, {301, 288}, {45, 47, 64}};
    memcpy(extent, sizes[rank - 1], sizeof sizes[0]);
}
