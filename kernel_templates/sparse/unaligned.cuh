// For sparse_chain: copies of grid lines, which may begin at any element, into shared memory, and
// stores of such lines.
//
// A line's first column may lie anywhere in a sector of 32 bytes, the unit of accesses to memory.
// The line is copied in words of 16 bytes, from the begin of its first sector on, and moved by its
// place in that sector once they have arrived:
//
//     copied   | .  .  .  x0 | x1 x2 x3 x4 | ..         moved   | x0 x1 x2 x3 | x4 x5 x6 x7 | ..
//
// Columns past a side become 0, or are filled afterwards where the axis repeats, mostly from shared
// memory, where no thread waits for a load. A word that holds a line's first or last point may hold
// elements beside the line (of a neighbouring one, or between them), which are read too; elements
// before the grid's first line and after its last one are never read.
//
// A warp copies, moves and fills every n-th line of a stage, n being the number of warps, so that
// it waits only for its own copies. With eight warps all of them begin at the same place in a word
// of 16 bytes.
#pragma once
#include "device/boundary.cuh"
#include "device/element.cuh"
#include "device/sparse.cuh"
#include "device/unroll.cuh"

// The element's index within its aligned word of BYTES bytes.
template <int BYTES, class STORED>
__device__ __forceinline__ int place_in_word(const STORED *at) {
    return static_cast<int>(reinterpret_cast<unsigned long long>(at) / sizeof(STORED) % (BYTES / sizeof(STORED)));
}

constexpr int SECTOR = 32;  // bytes

// Lines y0, y0 + 1, .. of a grid of ny x nx points, `pitch` elements apart, the first at `grid`.
template <class STORED, int LOW, int HIGH>
struct grid_lines {
    const STORED *grid;
    long long pitch, ny, nx, y0;

    // Whether `count` lines from y0 on need no fold; the same for all threads.
    __device__ __forceinline__ bool inside(int count) const { return y0 >= 0 && y0 + count <= ny; }
    __device__ __forceinline__ long long index(int line) const { return fold_far<LOW, HIGH>(y0 + line, ny); }
    __device__ __forceinline__ const STORED *line(int line) const { return grid + index(line) * pitch; }
    // The place of column x of line `index` in its sector, of which the lowest bits of the address
    // suffice.
    __device__ __forceinline__ int place(long long index, long long x) const {
        return (place_in_word<SECTOR>(grid) + static_cast<int>(index) * static_cast<int>(pitch) + static_cast<int>(x)) &
               (SECTOR / sizeof(STORED) - 1);
    }
};

// Columns x0 .. x0 + COLUMNS - 1 of stages of LINES lines; x0 is a multiple of the elements of 16
// bytes. LOW, HIGH: sides of the axis along x; RIGHT: columns past its high side that taps reach.
template <class STORED, int COLUMNS, int LINES, int THREADS, int RIGHT, int LOW, int HIGH>
struct unaligned_lines {
    static constexpr int BLOCK_WARPS = THREADS / 32, WARP_LINES = LINES / BLOCK_WARPS;
    // Elements of words of 4 and of 16 bytes, and of a sector.
    static constexpr int POINTS = 4 / sizeof(STORED), SLOT = 16 / sizeof(STORED), PLACES = SECTOR / sizeof(STORED);
    // The most words of 16 bytes that COLUMNS columns span from the begin of their first sector on.
    static constexpr int SLOTS = (COLUMNS + PLACES) / SLOT;
    // Elements of shared memory that a line takes in addition to COLUMNS for the last of them.
    static constexpr int SPARE = PLACES;
    // Lines that are moved together, by registers: they have the same place in a word of 16 bytes.
    static constexpr int TOGETHER = BLOCK_WARPS % SLOT ? 1 : WARP_LINES < 4 ? WARP_LINES : 4;
    static_assert(LINES % BLOCK_WARPS == 0 && WARP_LINES % TOGETHER == 0 && COLUMNS % SLOT == 0,
                  "each warp has as many lines, of whole slots");
    static_assert(LINES % PLACES == 0, "a warp's lines have the same places in all stages");

    // The point of the warp's first line, in the stage that is copied next, from which the lane's
    // first word lies `place` elements before.
    const STORED *next;
    int place;  // of that line in its word
    // Stages whose lines need no fold, and are neither the grid's first nor its last line.
    int middle_begin, middle_end;
    bool inside;  // no word that is copied lies past a side

    // g: the lines of the first stage.
    template <class GRID>
    __device__ __forceinline__ void begin(const GRID &g, long long x0) {
        const long long end = (g.ny - 1 - g.y0) / LINES;
        next = g.grid + (g.y0 + threadIdx.x / 32) * g.pitch + x0;
        place = place_in_word<SECTOR>(next);
        next += SLOT * (threadIdx.x % 32);
        middle_begin = g.y0 <= 0 ? static_cast<int>(-g.y0) / LINES + 1 : 0;
        middle_end = static_cast<int>(g.ny <= g.y0 || short_lines(g.nx) ? 0 : end < 1 << 30 ? end : 1 << 30);
        inside = x0 >= PLACES && x0 + SLOT * SLOTS <= g.nx;
    }
    __device__ __forceinline__ bool is_middle(int number) const {
        return number >= middle_begin && number < middle_end;
    }
    // The place of the warp's line i of such a stage.
    template <class GRID>
    __device__ __forceinline__ int place_of(const GRID &g, int i) const {
        return (place + i * BLOCK_WARPS % PLACES * static_cast<int>(g.pitch)) & (PLACES - 1);
    }
    // Whether words of several lines may reach past the grid: all columns are filled then.
    static __device__ __forceinline__ bool short_lines(long long nx) { return nx < 2 * PLACES; }
    // The grid's first column and the one after its last, relative to x0; nearer ones instead of
    // columns outside of the copied words.
    static __device__ __forceinline__ int begin_of(long long x0) {
        return static_cast<int>(x0 < 2 * PLACES ? -x0 : -2 * PLACES);
    }
    static __device__ __forceinline__ int end_of(long long x0, long long nx) {
        constexpr int FAR = SLOT * (SLOTS + 2);
        return static_cast<int>(nx - x0 < FAR ? nx - x0 : FAR);
    }
    // Copies stage `number`, whose lines are those of g. Line i goes to stage + i * PITCH.
    template <int PITCH, class GRID>
    __device__ __forceinline__ void copy(STORED *stage, const GRID &g, int number, long long x0) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
        STORED *const to = stage + warp * PITCH + SLOT * lane;
        const STORED *at = next;
        next += LINES * g.pitch;
        const int begin = begin_of(x0), end = end_of(x0, g.nx);
        // Copies the words that hold points of a line. bare_begin, bare_end: the grid begins, or
        // ends, with this line, so that no elements before, or after, the line are read.
        const auto copy_line = [&](int i, const STORED *from, int before, bool bare_begin, bool bare_end) {
            const int column = SLOT * lane - before;
            const int least = bare_begin ? begin : begin - SLOT + 1, most = bare_end ? end - SLOT : end - 1;
#pragma unroll
            for (int k = 0; k < SLOTS; k += 32)
                if ((k + 32 <= SLOTS || lane < SLOTS - k) && column + SLOT * k >= least && column + SLOT * k <= most)
                    copy_async_16(to + i * BLOCK_WARPS * PITCH + SLOT * k, from - before + SLOT * k);
        };
        if (is_middle(number)) {
#pragma unroll
            for (int i = 0; i < WARP_LINES; i++, at += BLOCK_WARPS * g.pitch)
                copy_line(i, at, place_of(g, i), false, false);
        } else if (!short_lines(g.nx))
#pragma unroll 1
            for (int i = 0; i < WARP_LINES; i++) {
                const long long index = g.index(warp + i * BLOCK_WARPS);
                copy_line(i, g.grid + index * g.pitch + x0 + SLOT * lane, g.place(index, x0), index == 0,
                          index + 1 == g.ny);
            }
    }
    // Moves the lines of this warp, whose copies have arrived, and fills columns past sides.
    template <int PITCH, class GRID>
    __device__ __forceinline__ void arrange(STORED *stage, const GRID &g, int number, long long x0) const {
        constexpr int APART = BLOCK_WARPS * PITCH;
        const int warp = threadIdx.x / 32;
        STORED *const lines = stage + warp * PITCH;
        __syncwarp();
        if (is_middle(number)) {
            if (inside)
                move_all<APART, false>(lines, g, x0);
            else
                move_all<APART, true>(lines, g, x0);
        } else
#pragma unroll 1
            for (int i = 0; i < WARP_LINES && !short_lines(g.nx); i++)
                move<1, APART, true>(lines + i * APART, g.nx, x0,
                                     [&](int) { return g.place(g.index(warp + i * BLOCK_WARPS), x0); });
        if (inside || (is_middle(number) && !repeats<LOW, HIGH>())) return;
        __syncwarp();
        fill<APART>(lines, g, x0);
    }
    // Moves the lines of a warp, none of which is folded.
    template <int APART, bool AT_SIDE, class GRID>
    __device__ __forceinline__ void move_all(STORED *lines, const GRID &g, long long x0) const {
#pragma unroll 1
        for (int i = 0; i < WARP_LINES; i += TOGETHER)
            move<TOGETHER, APART, AT_SIDE>(lines + i * APART, g.nx, x0,
                                           [&](int line) { return place_of(g, i + line); });
    }
    // Moves COUNT lines by their places, which are the same in words of 16 bytes. AT_SIDE: columns
    // past sides, whose words were not copied or hold elements beside a line, become 0; weights of
    // 0 would not remove infinity or NaN from sums.
    template <int COUNT, int APART, bool AT_SIDE, class PLACE>
    static __device__ __forceinline__ void move(STORED *lines, long long nx, long long x0, const PLACE &place) {
        const int lane = threadIdx.x % 32, by = place(0) % SLOT;
        const unsigned halves = by % POINTS ? 0x5432 : 0x3210;
#pragma unroll
        for (int k = 0; k < COLUMNS / SLOT; k += 32) {
            const bool present = lane < COLUMNS / SLOT - k;
            unsigned words[COUNT][8], moved[COUNT][4] = {};
#pragma unroll
            for (int i = 0; i < COUNT; i++)
#pragma unroll
                for (int half = 0; half < 2; half++) {
                    word_run<4> run = {};
                    const int at = place(i) / SLOT + lane + k + half;
                    if (present) run = *reinterpret_cast<const word_run<4> *>(lines + i * APART + SLOT * at);
#pragma unroll
                    for (int e = 0; e < 4; e++) words[i][4 * half + e] = run.e[e];
                }
            unroll<0, 4>([&](auto first) {
                constexpr int FIRST = first;
                if (by / POINTS == FIRST)
#pragma unroll
                    for (int i = 0; i < COUNT; i++)
#pragma unroll
                        for (int e = 0; e < 4; e++) {
                            const unsigned low = words[i][FIRST + e],
                                           high = words[i][e + FIRST < 7 ? e + FIRST + 1 : 7];
                            moved[i][e] = POINTS > 1 ? __byte_perm(low, high, halves) : low;
                        }
            });
            __syncwarp();
#pragma unroll
            for (int e = 0; AT_SIDE && e < 4; e++) {
                const int column = SLOT * (lane + k) + POINTS * e, begin = begin_of(x0), end = end_of(x0, nx);
                const unsigned kept = column < begin || column >= end ? 0 : column + POINTS > end ? 0xffff : ~0u;
#pragma unroll
                for (int i = 0; i < COUNT; i++) moved[i][e] &= kept;
            }
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                if (present)
                    *reinterpret_cast<word_run<4> *>(lines + i * APART + SLOT * (lane + k)) = {
                        {moved[i][0], moved[i][1], moved[i][2], moved[i][3]}};
        }
    }
    // Fills the points of the grid's first and last word that copy() left out, and the columns past
    // sides that taps reach where the axis repeats.
    template <int APART, class GRID>
    static __device__ __forceinline__ void fill(STORED *lines, const GRID &g, long long x0) {
        const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, begin = begin_of(x0), end = end_of(x0, g.nx);
        const bool all = short_lines(g.nx);
        if (!all && (g.y0 <= 0 || g.y0 + LINES >= g.ny)) {
#pragma unroll 1
            for (int i = 0; i < WARP_LINES; i++) {
                const long long index = g.index(warp + i * BLOCK_WARPS);
                const STORED *const row = g.grid + index * g.pitch;
                // Points before the line's first aligned word, and in its last one.
                const int of_first = -g.place(index, 0) & (SLOT - 1), of_last = g.place(index, g.nx) & (SLOT - 1);
                if (index == 0 && x0 <= 0 && lane < of_first && begin + lane < COLUMNS)
                    lines[i * APART + begin + lane] = row[lane];
                const int column = end - of_last + lane;
                if (index + 1 == g.ny && lane < of_last && column >= 0 && column < COLUMNS)
                    lines[i * APART + column] = row[g.nx - of_last + lane];
            }
            __syncwarp();
        }
        if (!repeats<LOW, HIGH>() && !all) return;
        const int last = min(end, COLUMNS), low = all ? last : max(begin, 0),
                  each = low + min(all ? COLUMNS : RIGHT, COLUMNS - last);
        // A column lies less than nx columns past a side.
        const bool near = g.nx >= COLUMNS && g.nx < 1 << 30;
#pragma unroll 1
        for (int n = lane; n < each; n += 32) {
            const int column = n < low ? n : last + n - low;
            const long long from = near ? fold_near<LOW, HIGH>(static_cast<int>(x0) + column, static_cast<int>(g.nx))
                                        : fold_far<LOW, HIGH>(x0 + column, g.nx);
            const bool copied = from >= x0 && from - x0 < COLUMNS && !all;
            STORED point[WARP_LINES];
#pragma unroll
            for (int i = 0; i < WARP_LINES; i++)
                point[i] = copied ? lines[i * APART + from - x0] : g.line(warp + i * BLOCK_WARPS)[from];
#pragma unroll
            for (int i = 0; i < WARP_LINES; i++) lines[i * APART + column] = point[i];
        }
    }
};

// Stores lines of a block's outputs from shared memory to the grid, a line in a warp: words of 4
// bytes, and single elements where a line begins or ends within a word. All lines that a warp
// stores begin at the same place in a word. WIDE: elements of a line.
template <class STORED, int WIDE>
struct line_stores {
    static constexpr int POINTS = 4 / sizeof(STORED), TURNS = (WIDE / POINTS + 31) / 32;
    unsigned *words;  // the lane's first word of the next line in the grid
    int alone;        // index in the line of the lane's single element
    int apart;        // elements from `words` to the single element
    // Selector of __byte_perm: which bytes of two adjacent words of shared memory make a word.
    unsigned halves;
    bool whole[TURNS], stores_single;

    // `to`: the first line; `count`: elements of each that are stored.
    __device__ __forceinline__ void begin(STORED *to, int count, int lane) {
        // element: index in the line of the first element of `words`.
        const int place = place_in_word<4>(to), element = POINTS * lane - place;
        words = reinterpret_cast<unsigned *>(to - place) + lane;
        alone = lane ? count - 1 : 0, apart = alone - element;
        halves = place ? 0x5432 : 0x7654;
#pragma unroll
        for (int k = 0; k < TURNS; k++) whole[k] = (k > 0 || element >= 0) && element + (32 * k + 1) * POINTS <= count;
        stores_single = POINTS > 1 && lane < 2 && (lane ? count + place & 1 : place);
    }
    // Stores those of the next LINES lines, `pitch` elements apart in the grid, whose rows first,
    // first + STEP, .. are at least 0 and below `end`. They are APART elements apart in shared
    // memory, the first at `from`; in f16 the word before each is read too.
    template <int LINES, int STEP, int APART>
    __device__ __forceinline__ void store(const STORED *from, long long pitch, int first, int end) {
        if (first >= 0 && first + STEP * (LINES - 1) < end)
            store_all<LINES, APART>(from, pitch);
        else
#pragma unroll 1
            for (int i = 0; i < LINES; i++, from += APART, first += STEP) {
                unsigned *const at = words;
                if (first >= 0 && first < end) store_all<1, APART>(from, pitch);
                words = reinterpret_cast<unsigned *>(reinterpret_cast<STORED *>(at) + pitch);
            }
    }
    // Stores the next LINES lines, all of which are read before the first is stored.
    template <int LINES, int APART>
    __device__ __forceinline__ void store_all(const STORED *from, long long pitch) {
        unsigned word[LINES][TURNS];
        STORED single[LINES];
        STORED *to = reinterpret_cast<STORED *>(words), *to_single = to + apart;
#pragma unroll
        for (int i = 0; i < LINES; i++) {
            const unsigned *const left = reinterpret_cast<const unsigned *>(from + i * APART) + threadIdx.x % 32;
#pragma unroll
            for (int k = 0; k < TURNS; k++)
                word[i][k] = POINTS > 1 ? __byte_perm(left[32 * k - 1], left[32 * k], halves) : left[32 * k];
        }
        if (stores_single)
#pragma unroll
            for (int i = 0; i < LINES; i++) single[i] = from[i * APART + alone];
#pragma unroll
        for (int i = 0; i < LINES; i++, to += pitch)
#pragma unroll
            for (int k = 0; k < TURNS; k++)
                if (whole[k]) reinterpret_cast<unsigned *>(to)[32 * k] = word[i][k];
        if (stores_single)
#pragma unroll
            for (int i = 0; i < LINES; i++, to_single += pitch) *to_single = single[i];
        words = reinterpret_cast<unsigned *>(to);
    }
};
