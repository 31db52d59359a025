// For sparse_chain: copies of grid lines, which may begin at any element, into shared memory in
// words of 4 bytes, and stores of such lines in slots of 16 bytes.
//
// In f16 a line's first column may be the second half of a word. The line is then copied as whole
// words, beginning with the element before it, and moved by one element once they have arrived:
//
//     copied   | . x0 | x1 x2 | x3 x4 | ..         moved   | x0 x1 | x2 x3 | x4 x5 | ..
//
// All words that lie in the grid's memory are copied, whether their elements belong to the line, to
// another one or to none. Then columns past sides are filled: they must hold finite numbers,
// because weights of 0 do not remove infinity or NaN from sums.
//
// A warp copies, moves and fills LINES / warps adjacent lines of a stage, so that it waits only for
// its own copies.
#pragma once
#include "device/boundary.cuh"
#include "device/element.cuh"
#include "device/sparse.cuh"

// The element's index within its word of 4 bytes: 0 or 1, in f32 always 0.
template <class STORED>
__device__ __forceinline__ int place_in_word(const STORED *at) {
    return static_cast<int>(reinterpret_cast<unsigned long long>(at) / sizeof(STORED) % (4 / sizeof(STORED)));
}

// Lines y0, y0 + 1, .. of a grid of ny x nx points. Its lines are `pitch` elements apart; line 0
// begins at `grid`.
template <class STORED, int LOW, int HIGH>
struct grid_lines {
    const STORED *grid;
    long long pitch, ny, nx, y0;

    __device__ __forceinline__ long long index(int line) const { return fold_far<LOW, HIGH>(y0 + line, ny); }
    __device__ __forceinline__ const STORED *line(int line) const { return grid + index(line) * pitch; }
};

// Columns x0 .. x0 + COLUMNS - 1 of LINES lines. A word has POINTS elements, and x0 is a multiple
// of POINTS; a slot has SLOT elements. WINDOW: columns that 16 outputs read. LOW, HIGH: sides of
// the axis along x; RIGHT: columns past its high side that taps reach.
template <class STORED, int COLUMNS, int LINES, int THREADS, int WINDOW, int RIGHT, int LOW, int HIGH>
struct unaligned_lines {
    static constexpr int POINTS = 4 / sizeof(STORED), BLOCK_WARPS = THREADS / 32, WARP_LINES = LINES / BLOCK_WARPS;
    // The most words that COLUMNS columns span: those of a line that begins within a word.
    static constexpr int WORDS = COLUMNS / POINTS + POINTS - 1, SLOT = 16 / sizeof(STORED);
    // Elements of shared memory that a line takes in addition to COLUMNS, because it may span one
    // word more.
    static constexpr int SPARE = POINTS > 1 ? POINTS : 0;
    static_assert(LINES % BLOCK_WARPS == 0 && WARP_LINES % 2 == 0 && COLUMNS % SLOT == 0,
                  "each warp has as many lines, an even number, of whole slots");

    // In the stage that is copied next, an element of the lane's first word of the warp's first
    // line.
    const STORED *next;
    int place;  // place_in_word() of that line's first column, in all stages
    // Stages whole_begin to whole_end - 1: their lines need no fold, and their words lie in the
    // grid's memory.
    int whole_begin, whole_end;
    bool inside;  // no column lies past a side

    // g: the lines of stage 0.
    template <class GRID>
    __device__ __forceinline__ void begin(const GRID &g, long long x0) {
        const long long before = POINTS - 1 - x0, after = x0 + POINTS * WORDS - g.nx;
        // Lines at the grid's low end whose words may begin before its memory, and lines at its
        // high end whose words may end past it.
        const long long low = before > 0 ? (before + g.pitch - 1) / g.pitch : 0;
        const long long high = after > 0 ? (after + g.pitch - 1) / g.pitch : 0;
        const long long end = g.ny - high - g.y0;
        whole_begin = static_cast<int>(g.y0 < low ? (low - g.y0 + LINES - 1) / LINES : 0);
        whole_end = static_cast<int>(end < 0 ? 0 : end < 1LL << 32 ? end / LINES : 1 << 27);
        inside = x0 >= 0 && x0 + COLUMNS <= g.nx;
        next = g.grid + (g.y0 + threadIdx.x / 32 * WARP_LINES) * g.pitch + x0;
        place = place_in_word(next);
        next += POINTS * (threadIdx.x % 32);
    }
    __device__ __forceinline__ bool is_whole(int number) const { return number >= whole_begin && number < whole_end; }
    // Copies stage `number`, whose lines are those of g. Line i goes to stage + i * PITCH.
    template <int PITCH, class GRID>
    __device__ __forceinline__ void copy(STORED *stage, const GRID &g, int number, long long x0) {
        const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * WARP_LINES;
        const STORED *at = next;
        next += LINES * g.pitch;
        if (is_whole(number)) {
            STORED *const to = stage + first * PITCH + POINTS * lane;
#pragma unroll
            for (int i = 0; i < WARP_LINES; i++, at += g.pitch) {
                const unsigned *const from =
                    reinterpret_cast<const unsigned *>(reinterpret_cast<unsigned long long>(at) & ~3ull);
#pragma unroll
                for (int k = 0; k < WORDS; k += 32)
                    if (k + 32 <= WORDS || lane < WORDS - k) copy_async_4(to + i * PITCH + POINTS * k, from + k);
            }
            return;
        }
#pragma unroll 1
        for (int i = 0; i < WARP_LINES; i++) {
            const long long index = g.index(first + i), line = index * g.pitch + x0;
            const long long end = (g.ny - 1) * g.pitch + g.nx;
            const int from = place_in_word(g.grid + line);
#pragma unroll 1
            for (int k = lane; k < WORDS; k += 32) {
                const long long element = line + POINTS * k - from;
                STORED *const word = stage + (first + i) * PITCH + POINTS * k;
                if (element >= 0 && element + POINTS <= end)
                    copy_async_4(word, g.grid + element);
                else
                    for (int e = 0; e < POINTS; e++)
                        if (element + e >= 0 && element + e < end) word[e] = g.grid[element + e];
            }
        }
    }
    // Moves the lines of this warp in stage `number`, whose copies have arrived, and fills columns
    // past sides.
    template <int PITCH, class GRID>
    __device__ __forceinline__ void arrange(STORED *stage, const GRID &g, int number, long long x0) const {
        const int first = threadIdx.x / 32 * WARP_LINES;
        STORED *const lines = stage + first * PITCH;
        if constexpr (POINTS > 1) {
            __syncwarp();
            if (is_whole(number)) {
                // With an odd pitch every second line begins within a word, else all lines or none.
                if (static_cast<int>(g.pitch) & 1)
                    move<WARP_LINES / 2, 2 * PITCH>(lines + (1 - place) * PITCH);
                else if (place)
                    move<WARP_LINES, PITCH>(lines);
            } else
#pragma unroll 1
                for (int i = 0; i < WARP_LINES; i++)
                    if (place_in_word(g.line(first + i) + x0)) move<1, PITCH>(lines + i * PITCH);
        }
        if (inside) return;
        __syncwarp();
        fill<PITCH>(lines, g, first, x0);
    }
    // Moves COUNT lines, APART elements apart, by one element.
    template <int COUNT, int APART>
    static __device__ __forceinline__ void move(STORED *lines) {
        const int lane = threadIdx.x % 32;
        STORED *const at = lines + SLOT * lane;
#pragma unroll
        for (int k = 0; k < COLUMNS; k += 32 * SLOT) {
            const bool present = SLOT * lane < COLUMNS - k;
            word_run<4> run[COUNT] = {};
            unsigned next[COUNT] = {};
            if (present)
#pragma unroll
                for (int i = 0; i < COUNT; i++) {
                    run[i] = *reinterpret_cast<const word_run<4> *>(at + i * APART + k);
                    next[i] = *reinterpret_cast<const unsigned *>(at + i * APART + k + SLOT);
                }
            __syncwarp();
#pragma unroll
            for (int i = 0; i < COUNT; i++)
#pragma unroll
                for (int e = 0; e < 4; e++)
                    run[i].e[e] = __byte_perm(run[i].e[e], e < 3 ? run[i].e[e < 3 ? e + 1 : 0] : next[i], 0x5432);
            if (present)
#pragma unroll
                for (int i = 0; i < COUNT; i++) *reinterpret_cast<word_run<4> *>(at + i * APART + k) = run[i];
        }
    }
    // Fills all columns past the low side, and WINDOW columns past the high side. If the axis
    // repeats, the columns that taps may reach get the points to which they fold; all others get 0.
    template <int PITCH, class GRID>
    static __device__ __forceinline__ void fill(STORED *lines, const GRID &g, int first, long long x0) {
        const int low = x0 < 0 ? static_cast<int>(-x0) : 0;
        const int end = static_cast<int>(g.nx - x0 < COLUMNS ? g.nx - x0 : COLUMNS);
        const int filled = low + min(COLUMNS - end, WINDOW);
#pragma unroll 1
        for (int n = threadIdx.x % 32; n < filled; n += 32) {
            const int column = n < low ? n : end + n - low;
            const bool folds = repeats<LOW, HIGH>() && column < end + RIGHT;
            const long long from = folds ? fold_far<LOW, HIGH>(x0 + column, g.nx) : 0;
            const bool copied = from >= x0 && from - x0 < COLUMNS;
#pragma unroll
            for (int i = 0; i < WARP_LINES; i++) {
                STORED *const line = lines + i * PITCH;
                line[column] = !folds ? STORED(0) : copied ? line[from - x0] : g.line(first + i)[from];
            }
        }
    }
};

// Stores lines of a block's outputs from shared memory to the grid, a line by half a warp: slots of
// 16 bytes, and single elements where a line begins or ends within a slot. All lines that a thread
// stores begin at the same element of a slot, in the grid as in shared memory. WIDE: elements of a
// line.
template <class STORED, int WIDE>
struct line_stores {
    static constexpr int SLOT = 16 / sizeof(STORED), LANES = 16, TURNS = (WIDE / SLOT + LANES - 1) / LANES;
    static_assert(2 * SLOT <= LANES, "a lane for each single element");
    STORED *words;   // the lane's first slot of the next line in the grid
    int single;      // elements from there to the lane's single element
    int alone;       // elements from the line's first slot in shared memory to that element
    unsigned flags;  // bit k: the lane's slot k is stored; bit TURNS: the single element is stored

    // The index of an element in its slot.
    static __device__ __forceinline__ int place(const STORED *at) {
        return static_cast<int>(reinterpret_cast<unsigned long long>(at) / sizeof(STORED) % SLOT);
    }
    // `to`: the first line; `count`: elements of each that are stored.
    __device__ __forceinline__ void begin(STORED *to, int count) {
        const int lane = threadIdx.x % LANES, before = place(to), first = SLOT * lane - before;
        // The first element after whole slots.
        const int rest = (count + before) / SLOT * SLOT - before;
        const int n = lane < SLOT ? lane : rest + lane - SLOT;
        words = to + first, single = n - first, alone = before + n;
        flags = (lane < SLOT ? before && n < SLOT - before : lane < 2 * SLOT && n >= 0) && n < count ? 1u << TURNS : 0;
#pragma unroll
        for (int k = 0; k < TURNS; k++)
            if ((k > 0 || first >= 0) && first + (LANES * k + 1) * SLOT <= count) flags |= 1u << k;
    }
    // Stores the next LINES lines, which are rows `row`, row + STEP, .. of the block, except rows
    // below 0 and from `end` on. The lines are `pitch` elements apart in the grid, and APART
    // elements in shared memory, from `from` on.
    template <int LINES, int STEP, int APART>
    __device__ __forceinline__ void store(const STORED *from, long long pitch, int row, int end) {
        word_run<4> word[LINES][TURNS];
        STORED point[LINES];
#pragma unroll
        for (int i = 0; i < LINES; i++) {
#pragma unroll
            for (int k = 0; k < TURNS; k++)
                word[i][k] =
                    *reinterpret_cast<const word_run<4> *>(from + i * APART + SLOT * (threadIdx.x % LANES + LANES * k));
            point[i] = from[i * APART + alone];
        }
#pragma unroll
        for (int i = 0; i < LINES; i++, words += pitch) {
            const unsigned stored = row + STEP * i >= 0 && row + STEP * i < end ? flags : 0;
#pragma unroll
            for (int k = 0; k < TURNS; k++)
                store_run_if(stored, 1u << k, reinterpret_cast<unsigned *>(words + LANES * SLOT * k), word[i][k].e);
            store_if(stored, 1u << TURNS, words + single, point[i]);
        }
    }
};
