// Blocks of modes_lines.cu and modes_plane.cu, which hold lines in shared memory
// (device/shared_fft.cuh). In the pass that multiplies by the power of the step's matrix, the terms
// of the symbols are stored behind the lines.
//
// Reads REAL, BLOCKS, THREADS_X, LINE_*, MODES_*, modes_matrix.
#pragma once
#include "device/launch_checks.cuh"
#include "device/line_shape.cuh"
#include "device/shared_fft.cuh"
#include "modes/matrix.cuh"
#include "params.cuh"

constexpr int N = LINE_POINTS, LAST = LINE_STAGES - 1, THREADS = THREADS_X * LINE_COUNT, W = MODES_WIDTH;
constexpr bool MIDDLE = MODES_PASS == 2;  // The pass with the power.
static_assert(LINE_STAGES >= 2, "a line comes from memory in one stage and goes back there in another");
using value = complex<REAL>;
using first_stage = fft_stage<line_shape, 0>;
using last_stage = fft_stage<line_shape, LAST>;
constexpr int R = last_stage::R, P = N / R;  // Points of a last butterfly are P frequencies apart.
static_assert(shared_bytes_match(sizeof(value) * padded_points<line_shape>() +
                                 (MIDDLE ? sizeof(wide) * MODES_COLUMNS * SLOTS : 0)),
              "the shared memory that is given");

// The powers of the step's matrix at frequency k of a line of PERIOD frequencies and, if HALVES is
// 2, at frequency k + PERIOD / 2.
template <int PERIOD, int HALVES>
__device__ __forceinline__ void powers_at(const symbol_tables &tables, unsigned long long steps, frequency &f, int k,
                                          double_matrix (&power)[2]) {
    static_assert(HALVES == 1 || PERIOD % 2 == 0, "PERIOD / 2 is a frequency");
    wide_matrix step[2] = {};
    f.cosine[0] = {1.0, 0.0}, f.sine[0] = {0.0, 0.0};
    int multiple = 0;
#pragma unroll
    for (int o = 1; o <= MODES_REACH; o++) {
        multiple += multiple + k < PERIOD ? k : k - PERIOD;
        const wide_complex turn = root(tables.axis[2], static_cast<unsigned>(multiple));
        f.cosine[o] = turn.re, f.sine[o] = turn.im;
    }
    modes_matrix(f, step[0]);
    if constexpr (HALVES == 2) {
#pragma unroll
        for (int o = 1; o <= MODES_REACH; o += 2) f.cosine[o] = negated(f.cosine[o]), f.sine[o] = negated(f.sine[o]);
        modes_matrix(f, step[1]);
        powers_of(step, steps, power);
    } else
        power[0] = power_of(step[0], steps);
}
