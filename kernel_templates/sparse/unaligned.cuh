// Copies of grid lines that may begin at any element into shared memory, and stores of such lines,
// in words of 4 bytes, for sparse_chain.
//
// In f16 a line's first column may be the second half of a word. Its words are then copied from the
// element before it on, and moved by one element when they have arrived:
//
//     copied   | . x0 | x1 x2 | x3 x4 | ..         moved   | x0 x1 | x2 x3 | x4 x5 | ..
//
// A warp copies and moves LINES / warps adjacent lines of a stage, so that it waits only for its
// own copies, and half of every warp's lines are moved where the pitch is odd.
#pragma once
#include "device/boundary.cuh"
#include "device/element.cuh"
#include "device/sparse.cuh"

// Elements from the beginning of the word that holds *at to it: 0 or 1.
template <class STORED>
__device__ __forceinline__ int place_in_word(const STORED *at) {
    return static_cast<int>(reinterpret_cast<unsigned long long>(at) / sizeof(STORED) % (4 / sizeof(STORED)));
}

// LOW, HIGH: sides of the axis along x.
template <class STORED, int COLUMNS, int LINES, int THREADS, int LOW, int HIGH>
struct unaligned_lines {
    static constexpr int POINTS = 4 / sizeof(STORED), WARPS_OF = THREADS / 32, EACH = LINES / WARPS_OF;
    // Words of a line that begins at the last element of one.
    static constexpr int WORDS = COLUMNS / POINTS + POINTS - 1, UNIT = 16 / sizeof(STORED);
    // Further elements of a line in shared memory.
    static constexpr int SPARE = POINTS > 1 ? POINTS : 0;
    static_assert(LINES % WARPS_OF == 0 && COLUMNS % UNIT == 0, "each warp has as many lines, of whole units");

    // The column from which the word at column x is copied: x, or where all of the word lies past a
    // side at which the axis ends, a column of an inner word; -1 if its elements are loaded singly.
    static __device__ __forceinline__ long long copied_from(long long x, long long nx) {
        if (x >= 0 && x + POINTS <= nx) return x;
        if (repeats<LOW, HIGH>() || nx < 2 * POINTS || (x < 0 && x + POINTS > 0) || (x < nx && x + POINTS > nx))
            return -1;
        const long long odd = x & (POINTS - 1), last = nx - POINTS;
        return x < 0 ? odd : last - ((last - odd) & (POINTS - 1));
    }
    // Copies columns x0 .. x0 + COLUMNS - 1 of nx; line i begins at line(i), and goes to stage +
    // i * PITCH.
    template <int PITCH, class LINE>
    static __device__ __forceinline__ void copy(STORED *stage, LINE line, long long x0, long long nx) {
        const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * EACH;
        STORED *const to = stage + first * PITCH + POINTS * lane;
        const STORED *row[EACH];
#pragma unroll
        for (int i = 0; i < EACH; i++) row[i] = line(first + i);
        if (x0 > 0 && x0 + POINTS * WORDS <= nx) {
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                const STORED *const at = row[i] + x0, *const from = at - place_in_word(at) + POINTS * lane;
#pragma unroll
                for (int k = 0; k < WORDS; k += 32)
                    if (k + 32 <= WORDS || lane < WORDS - k)
                        copy_async_4(to + i * PITCH + POINTS * k, from + POINTS * k);
            }
            return;
        }
#pragma unroll 1
        for (int k = 0; k < WORDS; k += 32) {
            const bool present = lane < WORDS - k;
            const long long column = x0 + POINTS * (lane + k);
            unsigned single = 0;  // bit i: the word of line i
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                const long long from = copied_from(column - place_in_word(row[i] + x0), nx);
                if (present && from >= 0) copy_async_4(to + i * PITCH + POINTS * k, row[i] + from);
                single |= (present && from < 0 ? 1u : 0u) << i;
            }
            if (!__any_sync(0xffffffffu, single)) continue;
            // All loads before the first store, so that they are waited for together.
            long long folded[2 * POINTS - 1];
            STORED run[EACH][POINTS];
#pragma unroll
            for (int e = 0; e < 2 * POINTS - 1; e++) folded[e] = fold_far<LOW, HIGH>(column + e - (POINTS - 1), nx);
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                const bool odd = place_in_word(row[i] + x0) > 0;
#pragma unroll
                for (int e = 0; e < POINTS; e++) run[i][e] = row[i][odd ? folded[e] : folded[POINTS - 1 + e]];
            }
#pragma unroll
            for (int i = 0; i < EACH; i++) {
                if (!(single >> i & 1)) continue;
#pragma unroll
                for (int e = 0; e < POINTS; e++) to[i * PITCH + POINTS * k + e] = run[i][e];
            }
        }
    }
    // Moves the lines of this warp whose copies have arrived.
    template <int PITCH, class LINE>
    static __device__ __forceinline__ void move(STORED *stage, LINE line, long long x0) {
        if constexpr (POINTS > 1) {
            const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * EACH;
            __syncwarp();
#pragma unroll 2
            for (int i = 0; i < EACH; i++) {
                if (!place_in_word(line(first + i) + x0)) continue;  // the same for all lanes
                STORED *const at = stage + (first + i) * PITCH + UNIT * lane;
#pragma unroll
                for (int k = 0; k < COLUMNS; k += 32 * UNIT) {
                    const bool present = UNIT * lane < COLUMNS - k;
                    word_run<4> run = {};
                    unsigned next = 0;
                    if (present) {
                        run = *reinterpret_cast<const word_run<4> *>(at + k);
                        next = *reinterpret_cast<const unsigned *>(at + k + UNIT);
                    }
                    __syncwarp();
#pragma unroll
                    for (int e = 0; e < 4; e++)
                        run.e[e] = __byte_perm(run.e[e], e < 3 ? run.e[e < 3 ? e + 1 : 0] : next, 0x5432);
                    if (present) *reinterpret_cast<word_run<4> *>(at + k) = run;
                }
            }
        }
    }
};

// A warp stores the first `count` of WIDE elements from shared memory to a line of the grid.
template <int WIDE, class STORED>
__device__ __forceinline__ void store_line(STORED *to, const STORED *from, long long count, int lane) {
    constexpr int POINTS = 4 / sizeof(STORED);
    if (count < WIDE) {
        for (int k = lane; k < count; k += 32) to[k] = from[k];
        return;
    }
    const int odd = place_in_word(to);
#pragma unroll
    for (int k = 0; k < WIDE; k += 32 * POINTS) {
        const int at = k + POINTS * lane - odd;
        if (at < 0 || at + POINTS > WIDE) continue;
        STORED run[POINTS];
#pragma unroll
        for (int e = 0; e < POINTS; e++) run[e] = from[at + e];
        store_run(to + at, run);
    }
    if (odd && lane < 2) to[lane ? WIDE - 1 : 0] = from[lane ? WIDE - 1 : 0];
}
