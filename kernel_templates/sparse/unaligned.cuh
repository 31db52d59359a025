// For sparse_chain: copies of grid lines, which may begin at any element, into shared memory in
// words of 4 bytes, and stores of such lines in slots of 16 bytes.
//
// In f16 a line's first column may be the second half of a word. The line is then copied as whole
// words, beginning with the element before it, and V has another window for it, one element
// further:
//
//     offset 0  | x0 x1 | x2 x3 | ..         offset 1  | .  x0 | x1 x2 | ..
//
// Words that hold no column of the grid are not copied but remain 0, and other elements past sides
// are filled: they must be finite numbers, because weights of 0 do not remove infinity or NaN from
// sums.
//
// Where the axis wraps, the points past a side lie at the line's other end. In f16, if the line has
// an odd number of points, they are the other halves of their words. These words are copied with
// the line, next to its columns, and the points are then moved to their columns:
//
//     points past the side | points of the grid | words of the line's other end
//
// A warp copies and fills LINES / warps adjacent lines of a stage, so that it waits only for its
// own copies.
#pragma once
#include "device/boundary.cuh"
#include "device/element.cuh"
#include "device/sparse.cuh"

// The element's index within its word of 4 bytes: 0 or 1, in f32 always 0.
template <class STORED>
__device__ __forceinline__ int offset_in_word(const STORED *at) {
    return static_cast<int>(reinterpret_cast<unsigned long long>(at) / sizeof(STORED) % (4 / sizeof(STORED)));
}

// Lines y0, y0 + 1, .. of a grid of ny x nx points. Its lines are `pitch` elements apart; line 0
// begins at `grid`.
template <class STORED, int LOW, int HIGH>
struct grid_lines {
    const STORED *grid;
    long long pitch, ny, nx, y0;

    // The line's index in the grid: folded where the axis repeats, otherwise one of the two lines
    // at the side, which begins at the same offset in a word as the line past the side would.
    __device__ __forceinline__ long long index(int line) const {
        const long long y = y0 + line;
        if (repeats<LOW, HIGH>() || (y >= 0 && y < ny) || ny < 2) return fold_far<LOW, HIGH>(y, ny);
        return y < 0 ? y & 1 : ny - 1 - ((ny - 1 - y) & 1);
    }
    __device__ __forceinline__ const STORED *line(int line) const { return grid + index(line) * pitch; }
};

// Columns x0 .. x0 + COLUMNS - 1 of LINES lines. A word has POINTS elements, and x0 is a multiple
// of POINTS; a slot has SLOT elements. LOW, HIGH: sides of the axis along x; LEFT, RIGHT: columns
// past them that taps reach.
template <class STORED, int COLUMNS, int LINES, int THREADS, int LEFT, int RIGHT, int LOW, int HIGH>
struct unaligned_lines {
    static constexpr int POINTS = 4 / sizeof(STORED), BLOCK_WARPS = THREADS / 32, WARP_LINES = LINES / BLOCK_WARPS;
    static constexpr bool REPEATS = repeats<LOW, HIGH>(), WRAPS = LOW == WRAP;
    static constexpr int WORDS = COLUMNS / POINTS, SLOT = 16 / sizeof(STORED), REACH = LEFT > RIGHT ? LEFT : RIGHT;
    // Words of the line's other end: in f16 two elements may precede the points, and one follow.
    static constexpr int END_WORDS = !WRAPS ? 0 : POINTS == 1 ? REACH : (REACH + 3) / 2;
    static constexpr int ELEMENTS = COLUMNS + POINTS * END_WORDS;  // of a line in shared memory
    static constexpr int COPIES = (WORDS + END_WORDS + 31) / 32;
    static_assert(LINES % BLOCK_WARPS == 0 && WARP_LINES % 2 == 0 && COLUMNS % SLOT == 0,
                  "each warp has as many lines, an even number, of whole slots");
    static_assert(2 * COPIES <= 32, "flags of copies");
    static_assert(POINTS == 1 || WARP_LINES <= 16, "a lane for either end of each line");

    // For the stage that is copied next: an element, in the grid, of the lane's first word of the
    // warp's first line.
    const STORED *next;
    // In all stages, offset_in_word() of the first columns of even lines; and whether that of odd
    // lines differs, 0 or 1.
    int even_offset, alternates;
    bool inside;      // no column lies past a side
    unsigned copied;  // bit COPIES * offset + k: the lane's word k holds points that are read
    // Words, in the grid, from the end of the line's COLUMNS to the copied words of its other end.
    long long to_end;
    // Element of a stage that the lane sets to 0, or -1: the other element of a word that holds the
    // first or the last column of a line.
    int cleared_element;

    // offset_in_word() of the first column of a line.
    __device__ __forceinline__ int offset_of(int line) const { return even_offset ^ (line & alternates); }
    // g: the lines of stage 0.
    template <int PITCH, class GRID>
    __device__ __forceinline__ void begin(const GRID &g, long long x0) {
        const int low = low_of(x0), end = end_of(x0, g.nx);
        inside = x0 > 0 && end == COLUMNS;
        next = g.grid + (g.y0 + threadIdx.x / 32 * WARP_LINES) * g.pitch + x0;
        even_offset = offset_in_word(next), alternates = static_cast<int>(g.pitch) & (POINTS - 1);
        next += POINTS * (threadIdx.x % 32);
        // Four bits of the lane's number tell the line, the fifth one the side.
        const int line = threadIdx.x % 16, column = threadIdx.x % 32 < 16 ? low - 1 : end;
        const bool is_past = threadIdx.x % 32 < 16 ? x0 <= 0 : end < COLUMNS;
        cleared_element = -1;
        if (line < WARP_LINES && is_past && (column + offset_of(line)) % POINTS == (column < low ? 0 : POINTS - 1))
            cleared_element = (threadIdx.x / 32 * WARP_LINES + line) * PITCH + column + offset_of(line);
        const int left = min(low, LEFT), right = min(COLUMNS - end, RIGHT), before = before_end(left, g.nx);
        to_end = ((left ? g.nx - left - before : 0) - x0 - COLUMNS) / POINTS;
        copied = 0;
#pragma unroll
        for (int p = 0; p < POINTS; p++)
#pragma unroll
            for (int k = 0; k < COPIES; k++) {
                const int word = threadIdx.x % 32 + 32 * k, column = POINTS * word - p;
                const int point = column - COLUMNS - before;  // of the points past the side
                if (word < WORDS ? column + POINTS > low && column < end
                                 : copies_end(g.nx) && point + POINTS > 0 && point < left + right)
                    copied |= 1u << (COPIES * p + k);
            }
    }
    // Whether the line's other end is copied: then columns lie past one side only, by less than nx.
    static __device__ __forceinline__ bool copies_end(long long nx) { return WRAPS && nx >= COLUMNS; }
    // Elements from the start of the other end's first word, in an even line, to the point that is
    // `left` columns past the low side; 0 if `left` is 0.
    static __device__ __forceinline__ int before_end(int left, long long nx) {
        return left ? static_cast<int>(nx - left) & (POINTS - 1) : 0;
    }
    // Whether the lane's word k belongs to the line's other end.
    static __device__ __forceinline__ bool is_end(int k) {
        return 32 * (k + 1) > WORDS && static_cast<int>(threadIdx.x % 32) + 32 * k >= WORDS;
    }
    // Columns low to end - 1 lie in the grid.
    static __device__ __forceinline__ int low_of(long long x0) { return x0 < 0 ? static_cast<int>(-x0) : 0; }
    static __device__ __forceinline__ int end_of(long long x0, long long nx) {
        return static_cast<int>(nx - x0 < COLUMNS ? nx - x0 : COLUMNS);
    }
    // Whether no line needs a fold and all copied words lie in the grid's memory. The first word of
    // the grid's first line may begin before this memory, and the last word of its last line may
    // end past it.
    template <class GRID>
    __device__ __forceinline__ bool is_whole(const GRID &g) const {
        return g.y0 >= !inside && g.y0 + LINES <= g.ny - !inside;
    }
    // Sets the warp's lines of all stages to 0, if columns of them lie past sides, before copies
    // are started.
    template <int PITCH, int STAGES>
    __device__ __forceinline__ void clear(STORED *stages) const {
        static_assert(PITCH % SLOT == 0, "lines of whole slots");
        if (inside) return;
#pragma unroll 1
        for (int i = threadIdx.x % 32; i < STAGES * WARP_LINES * PITCH / SLOT; i += 32) {
            const int stage = i / (WARP_LINES * PITCH / SLOT), slot = i % (WARP_LINES * PITCH / SLOT);
            *reinterpret_cast<word_run<4> *>(stages + (stage * LINES + threadIdx.x / 32 * WARP_LINES) * PITCH +
                                             SLOT * slot) = {};
        }
        __syncwarp();
    }
    // Copies the next stage, whose lines are those of g. Line i goes to stage + i * PITCH.
    template <int PITCH, class GRID>
    __device__ __forceinline__ void copy(STORED *stage, const GRID &g, long long x0) {
        const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * WARP_LINES;
        const STORED *at = next;
        next += LINES * g.pitch;
        if (is_whole(g)) {
            STORED *const to = stage + first * PITCH + POINTS * lane;
            const auto copy_lines = [&](auto copy_word) {
#pragma unroll
                for (int i = 0; i < WARP_LINES; i++, at += g.pitch) {
                    const unsigned *const from =
                        reinterpret_cast<const unsigned *>(reinterpret_cast<unsigned long long>(at) & ~3ull);
#pragma unroll
                    for (int k = 0; k < COPIES; k++) copy_word(i, k, to + i * PITCH + POINTS * 32 * k, from + 32 * k);
                }
            };
            if (inside)
                copy_lines([&](int, int k, STORED *word, const unsigned *from) {
                    if (!is_end(k)) copy_async_4(word, from);
                });
            else {
                const unsigned flags[2] = {copied >> COPIES * offset_of(0), copied >> COPIES * offset_of(1)};
                copy_lines([&](int i, int k, STORED *word, const unsigned *from) {
                    copy_async_if<4>(flags[i % 2], 1u << k, word, from + (WRAPS && is_end(k) ? to_end : 0));
                });
            }
            return;
        }
#pragma unroll 1
        for (int i = 0; i < WARP_LINES; i++) {
            const long long index = g.index(first + i), line = index * g.pitch + x0;
            const int offset = offset_of(i);
            const bool same_offset = offset_in_word(g.grid + line) == offset;
            // The words of all lines but the grid's first and last one lie in its memory.
            const bool plain = same_offset && (inside || (index > 0 && index < g.ny - 1));
            const unsigned flags = copied >> COPIES * offset;
            STORED *const to = stage + (first + i) * PITCH + POINTS * lane;
            const STORED *const from = g.grid + line + POINTS * lane - offset;
#pragma unroll
            for (int k = 0; k < COPIES; k++)
                copy_async_if<4>(plain ? flags : 0, 1u << k, to + POINTS * 32 * k,
                                 from + POINTS * (32 * k + (WRAPS && is_end(k) ? to_end : 0)));
            if (plain) continue;
            const long long memory = (g.ny - 1) * g.pitch + g.nx;
#pragma unroll 1
            for (int k = 0; k < COPIES; k++) {
                if (!(flags >> k & 1)) continue;
                const long long element = line + POINTS * (lane + 32 * k + (is_end(k) ? to_end : 0)) - offset;
                STORED *const word = stage + (first + i) * PITCH + POINTS * (lane + 32 * k);
                if (same_offset && element >= 0 && element + POINTS <= memory)
                    copy_async_4(word, g.grid + element);
                else
                    for (int e = 0; e < POINTS; e++)
                        if (element + e >= 0 && element + e < memory) word[e] = g.grid[element + e];
            }
        }
    }
    // Fills columns past sides in this warp's lines of a stage, whose copies have arrived.
    template <int PITCH, class GRID>
    __device__ __forceinline__ void fill(STORED *stage, const GRID &g, long long x0) const {
        __syncwarp();
        if (POINTS > 1 && cleared_element >= 0) stage[cleared_element] = 0;
        if (!REPEATS) return;
        __syncwarp();
        fold<PITCH>(stage + threadIdx.x / 32 * WARP_LINES * PITCH, g, threadIdx.x / 32 * WARP_LINES, x0);
    }
    // Columns past sides that taps reach get the points to which they fold.
    template <int PITCH, class GRID>
    __device__ __forceinline__ void fold(STORED *lines, const GRID &g, int first, long long x0) const {
        const int low = low_of(x0), end = end_of(x0, g.nx);
        const int left = min(low, LEFT), right = min(COLUMNS - end, RIGHT);
#pragma unroll 1
        for (int n = threadIdx.x % 32; n < left + right; n += 32) {
            const int column = n < left ? low - 1 - n : end + n - left;
            long long from = 0, element = COLUMNS + (n < left ? before_end(left, g.nx) + left - 1 - n : n);
            if (!copies_end(g.nx)) from = fold_far<LOW, HIGH>(x0 + column, g.nx), element = from - x0;
            const bool copied = copies_end(g.nx) || (element >= 0 && element < COLUMNS - (POINTS - 1));
#pragma unroll
            for (int i = 0; i < WARP_LINES; i++) {
                STORED *const line = lines + i * PITCH + offset_of(i);
                if (column + offset_of(i) < COLUMNS) line[column] = copied ? line[element] : g.line(first + i)[from];
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
    static constexpr int SLOT = 16 / sizeof(STORED), LANES = 16, LANE_SLOTS = (WIDE / SLOT + LANES - 1) / LANES;
    static constexpr int POINTS = 4 / sizeof(STORED);  // elements of a word
    static_assert(2 * SLOT <= LANES, "a lane for each single element");
    static_assert(POINTS == 1 || LANE_SLOTS == 1, "the word before a lane's slot is the preceding lane's");
    STORED *words;      // the lane's first slot of the next line in the grid
    int single;         // elements from there to the lane's single element
    int single_shared;  // elements from the line's first slot in shared memory to that element
    // The five low bits: the number of bits, 0 or 16, from the start of a word of the grid to the
    // first element of the line; a funnel shift ignores the other bits. Bit FIRST_FLAG + k: the
    // lane's slot k is stored. Bit FIRST_FLAG + LANE_SLOTS: the single element is stored.
    unsigned flags;
    static constexpr int FIRST_FLAG = 5;

    // The index of an element in its slot.
    static __device__ __forceinline__ int offset_in_slot(const STORED *at) {
        return static_cast<int>(reinterpret_cast<unsigned long long>(at) / sizeof(STORED) % SLOT);
    }
    // The first element of its word, in the same slot.
    static __device__ __forceinline__ int word_offset_in_slot(const STORED *at) {
        return offset_in_slot(at) / POINTS * POINTS;
    }
    // `to`: the first line; `count`: elements of each that are stored.
    __device__ __forceinline__ void begin(STORED *to, int count) {
        const int lane = threadIdx.x % LANES, before = offset_in_slot(to), first = SLOT * lane - before;
        // The first element after whole slots.
        const int rest = (count + before) / SLOT * SLOT - before;
        const int n = lane < SLOT ? lane : rest + lane - SLOT;
        words = to + first, single = n - first, single_shared = word_offset_in_slot(to) + n;
        flags = before % POINTS * 16;
        if ((lane < SLOT ? before && n < SLOT - before : lane < 2 * SLOT && n >= 0) && n < count)
            flags |= 1u << (FIRST_FLAG + LANE_SLOTS);
#pragma unroll
        for (int k = 0; k < LANE_SLOTS; k++)
            if ((k > 0 || first >= 0) && first + (LANES * k + 1) * SLOT <= count) flags |= 1u << (FIRST_FLAG + k);
    }
    // Stores the next LINES lines, which are rows `row`, row + STEP, .. of the block, except rows
    // below 0 and from `end` on. The lines are `pitch` elements apart in the grid, and APART
    // elements in shared memory, from `from` on.
    template <int LINES, int STEP, int APART>
    __device__ __forceinline__ void store(const STORED *from, long long pitch, int row, int end) {
        word_run<4> word[LINES][LANE_SLOTS];
        STORED point[LINES];
#pragma unroll
        for (int i = 0; i < LINES; i++) {
#pragma unroll
            for (int k = 0; k < LANE_SLOTS; k++)
                word[i][k] =
                    *reinterpret_cast<const word_run<4> *>(from + i * APART + SLOT * (threadIdx.x % LANES + LANES * k));
            point[i] = from[i * APART + single_shared];
            if constexpr (POINTS > 1) {
                unsigned before = __shfl_up_sync(0xffffffffu, word[i][0].e[3], 1);
#pragma unroll
                for (int e = 0; e < 4; e++) {
                    const unsigned own = word[i][0].e[e];
                    word[i][0].e[e] = __funnelshift_l(before, own, flags);
                    before = own;
                }
            }
        }
#pragma unroll
        for (int i = 0; i < LINES; i++, words += pitch) {
            const unsigned stored = row + STEP * i >= 0 && row + STEP * i < end ? flags : 0;
#pragma unroll
            for (int k = 0; k < LANE_SLOTS; k++)
                store_run_if(stored, 1u << (FIRST_FLAG + k), reinterpret_cast<unsigned *>(words + LANES * SLOT * k),
                             word[i][k].e);
            store_if(stored, 1u << (FIRST_FLAG + LANE_SLOTS), words + single, point[i]);
        }
    }
};
