// For sparse_chain: copies of grid lines, which may begin at any element, into shared memory, and
// stores of such lines, in words of 4 bytes.
//
// In f16 a line's first column may be the second half of a word. The line is then copied as whole
// words, beginning with the element before it, and moved by one element once they have arrived:
//
//     copied   | . x0 | x1 x2 | x3 x4 | ..         moved   | x0 x1 | x2 x3 | x4 x5 | ..
//
// Where a line reaches past a side, words inside of the grid are copied instead, and the columns
// past the side are filled afterwards, mostly from shared memory, where no thread waits for a load.
// A word that holds a line's first or last point may hold an element beside the line (of a
// neighbouring one, or between them), which is read too; elements before the grid's first line and
// after its last one are never read.
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

// Lines y0, y0 + 1, .. of a grid of ny x nx points, `pitch` elements apart, the first at `grid`.
template <class STORED, int LOW, int HIGH>
struct grid_lines {
    const STORED *grid;
    long long pitch, ny, nx, y0;

    // Whether `count` lines from y0 on need no fold; the same for all threads.
    __device__ __forceinline__ bool inside(int count) const { return y0 >= 0 && y0 + count <= ny; }
    __device__ __forceinline__ long long index(int line) const { return fold_far<LOW, HIGH>(y0 + line, ny); }
    __device__ __forceinline__ const STORED *line(int line) const { return grid + index(line) * pitch; }
    // place_in_word() of the first point of line `index`, of which the lowest bits suffice.
    __device__ __forceinline__ int place(long long index) const {
        return (place_in_word(grid) + static_cast<int>(index) * static_cast<int>(pitch)) & (4 / sizeof(STORED) - 1);
    }
};

// Columns x0 .. x0 + COLUMNS - 1 of LINES lines; x0 is a multiple of the elements of a word. LOW,
// HIGH: sides of the axis along x; RIGHT: columns past its high side that taps reach.
template <class STORED, int COLUMNS, int LINES, int THREADS, int RIGHT, int LOW, int HIGH>
struct unaligned_lines {
    static constexpr int POINTS = 4 / sizeof(STORED), BLOCK_WARPS = THREADS / 32, WARP_LINES = LINES / BLOCK_WARPS;
    // The most words that COLUMNS columns span: those of a line that begins within a word.
    static constexpr int WORDS = COLUMNS / POINTS + POINTS - 1, SLOT = 16 / sizeof(STORED);
    // Columns past the high side that are filled: those that taps reach, and at least the column
    // whose word may hold an element beside the line. That element may be infinite or NaN, and
    // weights of 0 do not remove it from sums.
    static constexpr int FILLED = RIGHT > 0 ? RIGHT : POINTS - 1;
    // Elements of shared memory that a line takes in addition to COLUMNS, because it may span one
    // word more.
    static constexpr int SPARE = POINTS > 1 ? POINTS : 0;
    static_assert(LINES % BLOCK_WARPS == 0 && COLUMNS % SLOT == 0, "each warp has as many lines, of whole slots");

    static __device__ __forceinline__ bool inside(long long x0, long long nx) {
        return x0 > 0 && x0 + POINTS * WORDS <= nx;
    }
    // Whether lines may hold no whole word: all of their columns are filled then.
    static __device__ __forceinline__ bool short_lines(long long nx) { return nx < 2 * POINTS; }
    // The columns that one instruction of a warp copies.
    static constexpr int RUN = 32 * POINTS;
    // The grid's first column and the one after its last, relative to x0; columns more than a run
    // outside of the copied words are replaced by nearer ones.
    static __device__ __forceinline__ int begin_of(long long x0) {
        constexpr int FAR = RUN + POINTS;
        return static_cast<int>(x0 < FAR ? -x0 : -FAR);
    }
    static __device__ __forceinline__ int end_of(long long x0, long long nx) {
        constexpr int FAR = POINTS * (WORDS + 2) + RUN;
        return static_cast<int>(nx - x0 < FAR ? nx - x0 : FAR);
    }
    // Whether the word at a column holds the first or last point of a line and an element beside
    // it.
    static __device__ __forceinline__ bool holds_end(int column, int begin, int end) {
        return (column < begin && column + POINTS > begin) || (column < end && column + POINTS > end);
    }
    // Line i goes to stage + i * PITCH.
    template <int PITCH, class GRID>
    static __device__ __forceinline__ void copy(STORED *stage, const GRID &g, long long x0) {
        const int lane = threadIdx.x % 32, first = threadIdx.x / 32 * WARP_LINES;
        STORED *const to = stage + first * PITCH + POINTS * lane;
        if (inside(x0, g.nx) && g.inside(LINES)) {
            const STORED *at = g.grid + (g.y0 + first) * g.pitch + x0;
#pragma unroll
            for (int i = 0; i < WARP_LINES; i++, at += g.pitch) {
                const STORED *const from = at - place_in_word(at) + POINTS * lane;
#pragma unroll
                for (int k = 0; k < WORDS; k += 32)
                    if (k + 32 <= WORDS || lane < WORDS - k)
                        copy_async_4(to + i * PITCH + POINTS * k, from + POINTS * k);
            }
            return;
        }
        if (short_lines(g.nx)) return;
        // column[p]: of lines that begin at place p of a word, the columns, counted from x0, of the
        // words that this lane copies. Words past a side are replaced by words near that side,
        // where possible by a different one for each lane: lanes that read one word may take a turn
        // each.
        constexpr int TURNS = (WORDS + 31) / 32;
        const int begin = begin_of(x0), end = end_of(x0, g.nx);
        int column[POINTS][TURNS];
#pragma unroll
        for (int place = 0; place < POINTS; place++) {
            const int last = end - POINTS - ((end - place) & (POINTS - 1));
#pragma unroll
            for (int k = 0; k < TURNS; k++) {
                const int c = POINTS * (lane + 32 * k) - place;
                const int past = c + POINTS - end;
                const int near = c < begin ? c + begin : past > 0 ? c - (past + RUN - 1) / RUN * RUN : c;
                column[place][k] = holds_end(c, begin, end) ? c : min(max(near, begin + place), last);
            }
        }
        // bare_begin, bare_end: the grid begins, or ends, with this line, so that no elements
        // before, or after, the line are read.
        const auto copy_line = [&](int i, const STORED *at, bool bare_begin, bool bare_end) {
            const int place = place_in_word(at);
#pragma unroll
            for (int k = 0; k < TURNS; k++) {
                const int c = place ? column[POINTS - 1][k] : column[0][k];
                if ((32 * k + 32 <= WORDS || lane < WORDS - 32 * k) && !(bare_begin && c < begin) &&
                    !(bare_end && c + POINTS > end))
                    copy_async_4(to + i * PITCH + 32 * POINTS * k, at + c);
            }
        };
        if (g.y0 > 0 && g.y0 + LINES < g.ny) {
            const STORED *at = g.grid + (g.y0 + first) * g.pitch + x0;
#pragma unroll
            for (int i = 0; i < WARP_LINES; i++, at += g.pitch) copy_line(i, at, false, false);
        } else
#pragma unroll 1
            for (int i = 0; i < WARP_LINES; i++) {
                const long long index = g.index(first + i);
                copy_line(i, g.grid + index * g.pitch + x0, index == 0, index + 1 == g.ny);
            }
    }
    // Moves the lines of this warp, whose copies have arrived, and fills columns past sides.
    template <int PITCH, class GRID>
    static __device__ __forceinline__ void arrange(STORED *stage, const GRID &g, long long x0) {
        const int first = threadIdx.x / 32 * WARP_LINES;
        STORED *const to = stage + first * PITCH;
        if constexpr (POINTS > 1) {
            __syncwarp();
            if (g.inside(LINES)) {
                // With an odd pitch every second line begins within a word, else all lines or none.
                const int place = g.place(g.y0 + first), next = static_cast<int>(g.pitch) & 1;
#pragma unroll 1
                for (int i = next ? 1 - place : place ? 0 : WARP_LINES; i < WARP_LINES; i += 1 + next)
                    move_line(to + i * PITCH);
            } else
#pragma unroll 1
                for (int i = 0; i < WARP_LINES; i++)
                    if (g.place(g.index(first + i))) move_line(to + i * PITCH);
        }
        if (inside(x0, g.nx)) return;
        __syncwarp();
        fill<PITCH>(to, g, first, x0);
    }
    // Moves a line by one element.
    static __device__ __forceinline__ void move_line(STORED *line) {
        const int lane = threadIdx.x % 32;
        STORED *const at = line + SLOT * lane;
#pragma unroll
        for (int k = 0; k < COLUMNS; k += 32 * SLOT) {
            const bool present = SLOT * lane < COLUMNS - k;
            word_run<4> run = {};
            unsigned next = 0;
            if (present) {
                run = *reinterpret_cast<const word_run<4> *>(at + k);
                next = *reinterpret_cast<const unsigned *>(at + k + SLOT);
            }
            __syncwarp();
#pragma unroll
            for (int e = 0; e < 4; e++)
                run.e[e] = __byte_perm(run.e[e], e < 3 ? run.e[e < 3 ? e + 1 : 0] : next, 0x5432);
            if (present) *reinterpret_cast<word_run<4> *>(at + k) = run;
        }
    }
    // Fills the columns past sides, and the grid's first and last point where copy() left them
    // out. Where the axis ends at a side, only the column next to it is set, to the line's first or
    // last point: its word may hold an element of another line. Further columns hold points of the
    // line already.
    template <int PITCH, class GRID>
    static __device__ __forceinline__ void fill(STORED *lines, const GRID &g, int first, long long x0) {
        const int lane = threadIdx.x % 32, begin = begin_of(x0), end = min(end_of(x0, g.nx), COLUMNS);
        const bool all = short_lines(g.nx);
        if (POINTS > 1 && !all && (g.y0 <= 0 || g.y0 + LINES >= g.ny)) {
#pragma unroll 1
            for (int i = lane; i < WARP_LINES; i += 32) {
                const long long index = g.index(first + i);
                const STORED *const row = g.grid + index * g.pitch;
                if (index == 0 && x0 <= 0) lines[i * PITCH + begin] = row[0];
                if (index + 1 == g.ny && g.nx - x0 <= COLUMNS) lines[i * PITCH + end - 1] = row[g.nx - 1];
            }
            __syncwarp();
        }
        if (!repeats<LOW, HIGH>() && !all) {
            static_assert(2 * WARP_LINES <= 32, "a lane for each end of each line");
            const bool high = lane >= WARP_LINES;
            STORED *const line = lines + lane % WARP_LINES * PITCH;
            if (lane < 2 * WARP_LINES && (high ? end < COLUMNS : begin > 0))
                line[high ? end : begin - 1] = line[high ? end - 1 : begin];
            return;
        }
        const int low = all ? end : max(begin, 0), each = low + min(all ? COLUMNS : FILLED, COLUMNS - end);
#pragma unroll 1
        for (int k = lane; k < WARP_LINES * each; k += 32) {
            const int i = k / each, n = k % each, column = n < low ? n : end + n - low;
            STORED *const line = lines + i * PITCH;
            const long long from = fold_far<LOW, HIGH>(x0 + column, g.nx);
            line[column] = from >= x0 && from - x0 < COLUMNS && !all ? line[from - x0] : g.line(first + i)[from];
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
    STORED *single;   // the lane's single element of the next line in the grid
    int element;      // index in the line of the first element of `words`
    int alone;        // index in the line of the single element
    // Selector of __byte_perm: which bytes of two adjacent words of shared memory make a word.
    unsigned halves;
    bool whole[TURNS], stores_single;

    // `to`: the first line; `count`: elements of each that are stored.
    __device__ __forceinline__ void begin(STORED *to, int count, int lane) {
        const int place = place_in_word(to);
        element = POINTS * lane - place, alone = lane ? count - 1 : 0;
        words = reinterpret_cast<unsigned *>(to - place) + lane, single = to + alone;
        halves = place ? 0x5432 : 0x7654;
#pragma unroll
        for (int k = 0; k < TURNS; k++) whole[k] = (k > 0 || element >= 0) && element + (32 * k + 1) * POINTS <= count;
        stores_single = POINTS > 1 && lane < 2 && (lane ? count + place & 1 : place);
    }
    // Stores the next line, which begins at `from` in shared memory; in f16 also reads the word
    // before it.
    __device__ __forceinline__ void store(const STORED *from, int lane) {
        const unsigned *const left = reinterpret_cast<const unsigned *>(from) + lane;
#pragma unroll
        for (int k = 0; k < TURNS; k++) {
            if (whole[k])
                words[32 * k] = POINTS > 1 ? __byte_perm(left[32 * k - 1], left[32 * k], halves) : left[32 * k];
        }
        if (stores_single) *single = from[alone];
    }
    __device__ __forceinline__ void advance(long long elements) {
        words = reinterpret_cast<unsigned *>(reinterpret_cast<STORED *>(words) + elements), single += elements;
    }
};
