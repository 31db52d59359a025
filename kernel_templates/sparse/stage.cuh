// Copies of lines (rows of the grid) into shared memory, 16 bytes at a time, and stores of outputs,
// for the sparse kernels.
//
// At the bandwidth of an H200's memory, a multiprocessor has 220 cycles, or 880 issue slots, for a
// warp's tile of 1024 points in f16. The tile's 10 windows and 24 products take
//
//     290 instructions, 76 of them for copies and 95 for stores; 820 if each copy and each store of
//         a thread tests for the ends of the grid, instead of one test for all copies and one for
//         all stores
//     60 cycles of shared memory, 40 for reads and 20 for copies, without bank conflicts. In f32
//         windows of 24 points have two-way conflicts in sparse_tile: 120 cycles of 440
//
//     line 0  | threads 0 .. SLOTS - 1            |
//     line 1  | threads SLOTS .. 2 SLOTS - 1      |
//
// A thread copies the same slot of 16 bytes in every AT_ONCE-th line; a line has SLOTS slots. The
// remaining threads copy nothing.
#pragma once
#include "device/boundary.cuh"
#include "device/element.cuh"

template <class STORED, int SLOTS, int THREADS>
struct line_copies {
    static constexpr int SLOT = 16 / sizeof(STORED), AT_ONCE = THREADS / SLOTS;
    static_assert(AT_ONCE > 0, "a line has no more slots than the block has threads");
    int line, column;  // the first line and column of the stage that this thread copies
    long long x;       // column of the grid where it reads, if `whole`
    bool whole;        // the 16 bytes of each thread of the block are contiguous in the grid

    // Prepares columns x0 .. x0 + SLOTS * SLOT - 1 of a grid with nx columns.
    template <int VECTOR, int LOW, int HIGH>
    __device__ __forceinline__ void begin(long long x0, long long nx) {
        line = threadIdx.x / SLOTS, column = threadIdx.x % SLOTS * SLOT, x = x0 + column;
        const bool inside = x0 >= 0 && x0 + SLOTS * SLOT <= nx;
        whole = VECTOR > 1 && (inside || (!mirrors<LOW, HIGH>() && nx % SLOT == 0));
        if (whole && (x < 0 || x >= nx)) x = repeats<LOW, HIGH>() ? fold_far<LOW, HIGH>(x, nx) : x < 0 ? 0 : nx - SLOT;
    }
    template <int LINES, class COPY>
    __device__ __forceinline__ void each(COPY copy) const {
        if (line < AT_ONCE)
#pragma unroll
            for (int i = 0; i < LINES; i += AT_ONCE)
                if (i + AT_ONCE <= LINES || line < LINES - i) copy(line + i);
    }
    // Copies LINES lines `pitch` elements apart, the first one at `from`: line i goes to stage +
    // place(i).
    template <int LINES, class PLACE>
    __device__ __forceinline__ void take(STORED *stage, PLACE place, const STORED *from, long long pitch) const {
        const STORED *at = from + x + line * pitch;
        each<LINES>([&](int i) {
            copy_async_16(stage + place(i) + column, at);
            at += AT_ONCE * pitch;
        });
    }
    // Copies lines y to y + LINES - 1, folded, of a grid of ny lines that begins at `from`; |y| and
    // the excess past the end must be less than ny.
    template <int LINES, int LOW, int HIGH, class PLACE>
    __device__ __forceinline__ void take_folded(STORED *stage, PLACE place, const STORED *from, long long pitch, int y,
                                                int ny) const {
        each<LINES>([&](int i) {
            copy_async_16(stage + place(i) + column, from + x + fold_near<LOW, HIGH>(y + i, ny) * pitch);
        });
    }
};

// Copies lines y0 to y0 + LINES - 1 of a grid with the block's prepared copies. Returns false if
// these cannot do it; the caller then uses load_lines.
template <int LINES, int LOW, int HIGH, class COPIES, class STORED, class PLACE>
__device__ __forceinline__ bool take_lines(const COPIES &copies, STORED *stage, PLACE place, const STORED *grid,
                                           long long pitch, long long y0, long long ny) {
    if (!copies.whole) return false;
    if (y0 >= 0 && y0 + LINES <= ny)
        copies.template take<LINES>(stage, place, grid + y0 * pitch, pitch);
    else if (ny < 1 << 30 && y0 > -ny && y0 + LINES < 2 * ny)
        copies.template take_folded<LINES, LOW, HIGH>(stage, place, grid, pitch, static_cast<int>(y0),
                                                      static_cast<int>(ny));
    else
        return false;
    return true;
}

// Copies LINES lines of SLOTS * 16 bytes from column x0 on: line i of the grid begins at line(i)
// and goes to stage + place(i). Where rows are unaligned (VECTOR 1), past mirrors, and where a grid
// ends within 16 bytes, single elements are copied: a thread loads all elements of 16 bytes before
// it stores the first.
template <int LINES, int SLOTS, int THREADS, int VECTOR, int LOW, int HIGH, class STORED, class PLACE, class LINE>
__device__ __forceinline__ void load_lines(STORED *stage, PLACE place, LINE line, long long x0, long long nx) {
    constexpr int SLOT = 16 / sizeof(STORED);
    // Whether 16 bytes past a side are contiguous in the grid.
    const bool whole = !mirrors<LOW, HIGH>() && nx % SLOT == 0;
#pragma unroll 1
    for (int i = threadIdx.x; i < LINES * SLOTS; i += THREADS) {
        const int row = i / SLOTS, column = i % SLOTS * SLOT;
        const long long x = x0 + column;
        const STORED *const from = line(row);
        STORED *const to = stage + place(row) + column;
        if (VECTOR > 1 && x >= 0 && x + SLOT <= nx)
            copy_async_16(to, from + x);
        else if (VECTOR > 1 && whole)
            copy_async_16(to, from + (repeats<LOW, HIGH>() ? fold_far<LOW, HIGH>(x, nx) : x < 0 ? 0 : nx - SLOT));
        else {
            STORED run[SLOT];
#pragma unroll
            for (int e = 0; e < SLOT; e++) run[e] = from[fold_far<LOW, HIGH>(x + e, nx)];
#pragma unroll
            for (int e = 0; e < SLOT; e++) to[e] = run[e];
        }
    }
}

// Four adjacent outputs of a row: two words of f16, four of f32.
template <class STORED>
struct four_outputs {
    unsigned word[sizeof(STORED)];
    __device__ __forceinline__ STORED element(int e) const;
};
template <>
__device__ __forceinline__ half_t four_outputs<half_t>::element(int e) const {
    return static_cast<half_t>(word[e / 2] >> 16 * (e % 2));
}
template <>
__device__ __forceinline__ float four_outputs<float>::element(int e) const {
    return __uint_as_float(word[e]);
}

// store_four stores the four in one access; store_some stores the first `left` of them.
template <class STORED>
__device__ __forceinline__ void store_four(STORED *to, const four_outputs<STORED> &four) {
    store_run(reinterpret_cast<unsigned *>(to), four.word);
}
template <class STORED>
__device__ __forceinline__ void store_some(STORED *to, const four_outputs<STORED> &four, long long left) {
#pragma unroll
    for (int e = 0; e < 4; e++)
        if (e < left) to[e] = four.element(e);
}

// A lane stores four adjacent sums of a product: outputs 4 q to 4 q + 3 of column c of the right
// factor; c = column_of(g, t), q = four_of(g, t). In f32, lanes of odd and even g exchange columns.
template <class STORED>
__device__ __forceinline__ int column_of(int g, int t) {
    return sizeof(STORED) == 2 ? g : 2 * t + g % 2;
}
template <class STORED>
__device__ __forceinline__ int four_of(int g, int t) {
    return sizeof(STORED) == 2 ? t : g / 2;
}
__device__ __forceinline__ four_outputs<half_t> gather(const half_t *, const float (&sum)[4], float scale, int) {
    return {{transpose_halves(floats_to_half2(sum[0] * scale, sum[1] * scale)),
             transpose_halves(floats_to_half2(sum[2] * scale, sum[3] * scale))}};
}
__device__ __forceinline__ four_outputs<float> gather(const float *, const float (&sum)[4], float, int g) {
    four_outputs<float> four;
    const bool odd = g % 2;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const float even_row = sum[2 * half], odd_row = sum[2 * half + 1];
        const float theirs = __shfl_xor_sync(0xffffffffu, odd ? even_row : odd_row, 4);
        four.word[2 * half] = __float_as_uint(odd ? theirs : even_row);
        four.word[2 * half + 1] = __float_as_uint(odd ? odd_row : theirs);
    }
    return four;
}
