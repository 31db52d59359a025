// One step of any stencil with few enough taps to unroll, in 2D and 3D, on rows of any length.
//
//     out(z, y, x) = sum over taps k of  w[k] * in(z + TAP_Z[k], y + TAP_Y[k], x + TAP_X[k])
//
// Rows may begin at any element of a 16-byte word. From one row to the next, and from one plane to
// the next, this place within the word moves by constants, SKEW_Y and SKEW_Z elements. In skewed
// columns
//
//     X = x + SKEW_Z z + SKEW_Y y
//
// the same memory is a grid whose pitches, in_z - SKEW_Z and in_y - SKEW_Y, are multiples of 16
// bytes, and the taps' skewed offsets TAP_X + SKEW_Z TAP_Z + SKEW_Y TAP_Y are constants too. So
// every access of VECTOR elements is aligned, and no element is shifted in registers.
//
//     X =         0       4       8             rows of 9 points, VECTOR 4, SKEW_Z 1;
//     z = 0      |0 1 2 3|4 5 6 7|8 . . .|      numbers are x, dots the rows before and after
//     z = 1      |. 0 1 2|3 4 5 6|7 8 . .|
//     z = 2      |. . 0 1|2 3 4 5|6 7 8 .|
//
// A word is VECTOR elements from an aligned address on. A thread computes one word of each of ROWS
// rows and CHUNK planes, as in direct_tile: plane z contributes to the outputs z-Z_HIGH .. z+Z_LOW,
// whose partial sums stay in registers. A word is stored if no tap of any of its points reaches
// past a side. A loaded word may also hold elements of the rows before and after its own; these
// contribute only to points that are not stored.
//
// SHIFTED: the strides of `out` differ from those of `in` by numbers that are not multiples
// of VECTOR. The words of a warp are adjacent, and all of them begin at the same element of a
// word of `out`. A word of `out` therefore holds elements that two adjacent lanes computed: each
// lane takes the first ones from the lane before it.
//
//     computed   |a0 a1 a2 a3|b0 b1 b2 b3|..     stored, 1 element on   |.  a0 a1 a2|a3 b0 b1 b2|..
//
// Points near sides, whose taps reach past one or whose word is not stored as a whole, are computed
// one by one, by blocks of their own. Each of their threads computes points at one place in several
// planes: those in all faces normal to z, or those in SIDE_RUN planes between the faces.
//
//     blocks of a grid   | faces normal to z | tile of planes | tile of planes | ..
//     blocks of a tile   | points near the other sides | tiles of words | rests of rows |
//
// The threads of a block cover THREADS_X words by THREADS_Y groups of ROWS rows, so that they share
// rows in L1. A rest of few words of a row has blocks of its own, whose threads are numbered along
// the rest, then along the groups of rows.
#include "device/divide.cuh"
#include "direct/plane_sums.cuh"

constexpr int PLANE_THREADS = THREADS_X * THREADS_Y;

struct skewed_taps {
    int x[NTAPS];   // skewed offset along x
    int low, high;  // the least and the greatest, or 0
    // Range [from, past) of skewed offsets that each line of a window needs
    int from[LINES], past[LINES];
};
constexpr skewed_taps skew_taps() {
    skewed_taps t{};
    for (int i = 0; i < LINES; i++) t.from[i] = 1 << 20, t.past[i] = -(1 << 20);
    for (int k = 0; k < NTAPS; k++) {
        const int x = TAP_X[k] + SKEW_Z * TAP_Z[k] + SKEW_Y * TAP_Y[k];
        t.x[k] = x;
        for (int r = 0; r < ROWS; r++) {
            // A thread's words have the same skewed columns in all rows, so x is the same for each,
            // and the row only selects the line: line i of the window is row i - Y_LOW, counted
            // from the thread's first one.
            const int line = r + TAP_Y[k] + Y_LOW;
            if (x < t.from[line]) t.from[line] = x;
            if (x + VECTOR > t.past[line]) t.past[line] = x + VECTOR;
        }
        if (x < t.low) t.low = x;
        if (x > t.high) t.high = x;
    }
    return t;
}
constexpr skewed_taps TAPS = skew_taps();
constexpr int LOW_SLOTS = (-TAPS.low + VECTOR - 1) / VECTOR, HIGH_SLOTS = (TAPS.high + VECTOR - 1) / VECTOR;
constexpr int SLOTS = LOW_SLOTS + 1 + HIGH_SLOTS, SPAN = SLOTS * VECTOR, CENTRE = LOW_SLOTS * VECTOR;
static_assert(VECTOR * sizeof(STORE) <= 16 && SKEW_ALIGN % VECTOR == 0, "a word is one access");
static_assert(!SHIFTED || (THREADS_X == 32 && VECTOR * sizeof(STORE) % 4 == 0), "a warp has adjacent words");

struct skew_arguments {
    const STORE *in;
    STORE *out;
    // Strides in elements; along x they are 1. Unless SHIFTED, those of `out` differ from those of
    // `in` by multiples of VECTOR.
    long long in_z, in_y, out_z, out_y;
    long long in_batch, out_batch;
    int nz, ny, nx;  // each at least as long as the taps reach to both sides
    // A row, wherever it begins, has tiles_x tiles of THREADS_X words and `rest` further words.
    int tiles_x, rest;
    int tiles_z;
    // Blocks for points of the faces normal to z; then for each tile of planes: those for points
    // near the other sides, those for tiles of words, and those for all words, with the rests.
    int face_blocks, side_blocks, tile_blocks, word_blocks;
    // Divisors: blocks of a grid, of a tile of planes, tiles_x, rest, nx, and the points of a plane
    // that are near sides along y and x.
    divisor of_grid, of_tile, of_row, of_rest, of_nx, of_sides;
    REAL constant[3][2];  // value past each side, axes z, y, x
    REAL weight[NTAPS];
};
static_assert(layout_matches(sizeof(skew_arguments), sizeof(skew_arguments::constant) + sizeof(skew_arguments::weight)),
              "the launcher's mirrored struct of the arguments");

// ---- points near a side

constexpr bool any_side(int kind) {
    return (Z_LOW && Z_SIDE_LOW == kind) || (Z_HIGH && Z_SIDE_HIGH == kind) || (Y_LOW && Y_SIDE_LOW == kind) ||
           (Y_HIGH && Y_SIDE_HIGH == kind) || (X_LOW && X_SIDE_LOW == kind) || (X_HIGH && X_SIDE_HIGH == kind);
}
// Points of a row at its low and its high end that words stored as a whole may lack.
constexpr int ROW_LOW = X_LOW + (SHIFTED ? 0 : VECTOR - 1), ROW_HIGH = X_HIGH + (SHIFTED ? 0 : VECTOR - 1);
// Planes of a run whose values are loaded before the first of them is stored.
constexpr int AT_ONCE = SIDE_RUN == 1 || NTAPS > 16 ? 1 : NTAPS > 8 ? 2 : 4;
static_assert(SIDE_RUN == 1 || SIDE_RUN == BZ, "a tile of planes has whole runs");

// Where a tap at `offset` from i reads, or PAST_LOW, PAST_HIGH at constant sides. Values past fixed
// sides are not used; any point is read.
template <int LOW, int HIGH>
__device__ __forceinline__ int place_of(int i, int offset, int n) {
    const int at = i + offset;
    if (offset < 0) return at < 0 ? static_cast<int>(fold_low < LOW == FIXED ? NEAREST : LOW > (at, n)) : at;
    return offset > 0 && at >= n ? static_cast<int>(fold_high < HIGH == FIXED ? NEAREST : HIGH > (at, n)) : at;
}
// Whether i is among the points near a fixed side, which keep their values.
template <int LOW, int HIGH>
__device__ __forceinline__ bool is_fixed(int i, int low, int high, int n) {
    return (LOW == FIXED && i < low) || (HIGH == FIXED && i >= n - high);
}

__device__ __forceinline__ STORE load_point(const STORE *from) {
    STORE one[1];
    load_run(one, from);
    return one[0];
}

// The i-th index among the first LOW and the last HIGH ones of an axis of n points.
template <int LOW, int HIGH>
__device__ __forceinline__ int near_side(int i, int n) {
    return i < LOW ? i : n - LOW - HIGH + i;
}

// Points (y, x) of `count` planes: those of the faces normal to z, or those from plane z on.
struct point_run {
    int z, y, x, count;
    bool of_faces;
    __device__ __forceinline__ int plane(const skew_arguments &a, int i) const {
        return of_faces ? near_side<Z_LOW, Z_HIGH>(i, a.nz) : z + i;
    }
};
constexpr point_run NO_POINTS = {};

// Whether another thread stores the point's word as a whole. own: the address of the point.
__device__ __forceinline__ bool is_in_stored_word(const skew_arguments &a, const STORE *own, const point_run &run) {
    const int first = run.x - static_cast<int>(reinterpret_cast<unsigned long long>(own) / sizeof(STORE) % VECTOR);
    return !SHIFTED && !run.of_faces && run.y >= Y_LOW && run.y < a.ny - Y_HIGH && first >= X_LOW &&
           first + VECTOR <= a.nx - X_HIGH;
}

// The new value of the run's point in plane z. There is no branch, so that loads of several points
// need not wait for each other.
__device__ __forceinline__ STORE side_value(const skew_arguments &a, const STORE *grid, const point_run &run, int z) {
    const STORE *const own = grid + z * a.in_z + (run.y * a.in_y + run.x);
    const STORE *plane[DEPTH];
    int fold_z[DEPTH];
    REAL sum = 0;
#pragma unroll
    for (int d = 0; d < DEPTH; d++) {
        fold_z[d] = place_of<Z_SIDE_LOW, Z_SIDE_HIGH>(z, d - Z_LOW, a.nz);
        plane[d] = grid + fold_z[d] * a.in_z;
        hide_from_optimizer(plane[d]);  // so that each tap adds one offset to it
    }
#pragma unroll
    for (int k = 0; k < NTAPS; k++) {
        const int fz = fold_z[TAP_Z[k] + Z_LOW], fy = place_of<Y_SIDE_LOW, Y_SIDE_HIGH>(run.y, TAP_Y[k], a.ny),
                  fx = place_of<X_SIDE_LOW, X_SIDE_HIGH>(run.x, TAP_X[k], a.nx);
        const bool past = any_side(CONSTANT) && (fz | fy | fx) < 0;
        const REAL read = widen(load_point(past ? own : plane[TAP_Z[k] + Z_LOW] + (fy * a.in_y + fx)));
        const REAL constant = fz < 0   ? a.constant[0][TAP_Z[k] > 0]
                              : fy < 0 ? a.constant[1][TAP_Y[k] > 0]
                                       : a.constant[2][TAP_X[k] > 0];
        sum += a.weight[k] * (past ? constant : read);
    }
    return is_fixed<Z_SIDE_LOW, Z_SIDE_HIGH>(z, Z_LOW, Z_HIGH, a.nz) ? load_point(own) : narrow<STORE>(sum);
}

// The only call of this long function is in the kernel, so that it is compiled once.
__device__ __forceinline__ void save_run(const skew_arguments &a, const STORE *grid, STORE *out, const point_run &run) {
    const bool keeps = (Z_SIDE_LOW == FIXED && Z_SIDE_HIGH == FIXED && run.of_faces) ||
                       is_fixed<Y_SIDE_LOW, Y_SIDE_HIGH>(run.y, Y_LOW, Y_HIGH, a.ny) ||
                       is_fixed<X_SIDE_LOW, X_SIDE_HIGH>(run.x, X_LOW, X_HIGH, a.nx);
    const STORE *const in_plane = grid + (run.y * a.in_y + run.x);
    STORE *const to = out + (run.y * a.out_y + run.x);
#pragma unroll 1
    for (int first = 0; first < run.count; first += AT_ONCE) {
        STORE result[AT_ONCE];
        int z[AT_ONCE];
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) z[i] = run.plane(a, min(first + i, run.count - 1));
        if (keeps)
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) result[i] = load_point(in_plane + z[i] * a.in_z);
        else
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) result[i] = side_value(a, grid, run, z[i]);
#pragma unroll
        for (int i = 0; i < AT_ONCE; i++) {
            const unsigned stored = !is_in_stored_word(a, in_plane + z[i] * a.in_z, run);
            store_if(first + i < run.count ? stored : 0, 1, to + z[i] * a.out_z, result[i]);
        }
    }
}

// Run i of the faces normal to z.
__device__ __forceinline__ point_run face_run(const skew_arguments &a, unsigned i) {
    const int y = i / a.of_nx;
    return {0, y, static_cast<int>(i) - y * a.nx, y < a.ny ? Z_LOW + Z_HIGH : 0, true};
}

// Run `number` of a tile of planes among those near the sides along y and x. Rows near a side along
// y come first.
__device__ __forceinline__ point_run side_run(const skew_arguments &a, int z0, unsigned number) {
    constexpr int OF_Y = Y_LOW + Y_HIGH, OF_X = ROW_LOW + ROW_HIGH;
    const int whole = OF_Y * a.nx, group = number / a.of_sides, z = z0 + group * SIDE_RUN;
    const int i = static_cast<int>(number) - group * (whole + (a.ny - OF_Y) * OF_X);
    if (group >= BZ / SIDE_RUN) return NO_POINTS;
    point_run run = {max(z, Z_LOW), 0, 0, 0, false};
    run.count = min(z + SIDE_RUN, a.nz - Z_HIGH) - run.z;
    if (i < whole) {
        const int row = i / a.of_nx;
        run.y = near_side<Y_LOW, Y_HIGH>(row, a.ny), run.x = i - row * a.nx;
        return run;
    }
    if (!OF_X) return NO_POINTS;
    run.y = Y_LOW + (i - whole) / (OF_X ? OF_X : 1);
    run.x = near_side<ROW_LOW, ROW_HIGH>((i - whole) % (OF_X ? OF_X : 1), a.nx);
    return run;
}

// ---- words

// A thread's position: its first plane and row, and its skewed column.
struct thread_word {
    const STORE *grid;
    long long end;  // index after the last element of the grid, counted from its first one
    int z, y, column;
    bool adjacent;  // SHIFTED: the lanes of the warp have adjacent words
};

// Adds the taps that read plane z to sum[d][r][v]. first: element at which its window begins.
// CHECKED: words may lie outside of the grid, wholly or in part. Instead of elements outside, the
// grid's first or last element is read, without a branch, so that loads need not wait for each
// other.
template <bool CHECKED>
__device__ __forceinline__ void add_plane(const skew_arguments &a, const thread_word &t, long long first,
                                          plane_sums &sum) {
#pragma unroll
    for (int line = 0; line < LINES; line++) {
        REAL window[SPAN];
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            const int low = s * VECTOR - CENTRE;
            if (low + VECTOR <= TAPS.from[line] || low >= TAPS.past[line]) continue;
            const long long at = first + line * (a.in_y - SKEW_Y) + s * VECTOR;
            STORE run[VECTOR];
            if (!CHECKED) load_run(run, t.grid + at);
#pragma unroll
            for (int e = 0; CHECKED && e < VECTOR; e++) run[e] = t.grid[max(0ll, min(at + e, t.end - 1))];
#pragma unroll
            for (int e = 0; e < VECTOR; e++) window[s * VECTOR + e] = widen(run[e]);
        }
#pragma unroll
        for (int k = 0; k < NTAPS; k++) {
            const int r = line - Y_LOW - TAP_Y[k];  // the row that uses this line through tap k
            if (r < 0 || r >= ROWS) continue;
#pragma unroll
            for (int v = 0; v < VECTOR; v++)
                sum[Z_HIGH - TAP_Z[k]][r][v] += a.weight[k] * window[CENTRE + v + TAPS.x[k]];
        }
    }
}

// SHIFTED: stores a word at any alignment, of which elements low .. end - 1 are stored.
__device__ __forceinline__ void save_shifted(const thread_word &t, STORE *to, const STORE (&word)[VECTOR], int low,
                                             int end) {
    constexpr int WORDS = SHIFTED ? VECTOR * sizeof(STORE) / 4 : 1;
    union {
        unsigned words[2 * WORDS];
        STORE at[2][VECTOR];
    } both;
    const int lane = threadIdx.x % 32;
    const int place = static_cast<int>(reinterpret_cast<unsigned long long>(to) / sizeof(STORE) % VECTOR);
    const int bytes = place * static_cast<int>(sizeof(STORE));
#pragma unroll
    for (int v = 0; v < VECTOR; v++) both.at[1][v] = word[v];
    if (t.adjacent) {
#pragma unroll
        for (int i = 0; i < WORDS; i++) both.words[i] = __shfl_up_sync(~0u, both.words[WORDS + i], 1);
        if (sizeof(STORE) < 4 && bytes & 2)
#pragma unroll
            for (int i = 2 * WORDS - 1; i > 0; i--)
                both.words[i] = __byte_perm(both.words[i - 1], both.words[i], 0x5432);
#pragma unroll
        for (int by = 1; by < WORDS; by *= 2)
            if (bytes & 4 * by)
#pragma unroll
                for (int i = 2 * WORDS - 1; i >= by; i--) both.words[i] = both.words[i - by];
        // The last lane's last elements begin a word that no other lane stores.
        if (lane == 31)
#pragma unroll
            for (int v = 1; v < VECTOR; v++)
                if (v >= VECTOR - place && v >= low && v < end) to[v] = word[v];
        // The first lane receives no elements from another lane.
        to -= place, low = lane ? low + place : max(low, 0) + place, end += place;
    }
    if (t.adjacent && low <= 0 && end >= VECTOR)
        store_run(to, both.at[1]);
    else
#pragma unroll
        for (int v = 0; v < VECTOR; v++)
            if (v >= low && v < end) to[v] = both.at[1][v];
}

// Which of a thread's words in plane z are stored, unless taps reach past sides along z: bit r for
// row r. Without SKEW_Z all planes are alike.
__device__ __forceinline__ unsigned stored_rows(const skew_arguments &a, const thread_word &t, int z) {
    unsigned rows = 0;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int y = t.y + r, x = t.column - SKEW_Z * z - SKEW_Y * y;
        if (x >= X_LOW && x + VECTOR <= a.nx - X_HIGH && y >= Y_LOW && y < a.ny - Y_HIGH) rows |= 1u << r;
    }
    return rows;
}

// Whether a thread stores all its words.
__device__ __forceinline__ bool stores_all(const skew_arguments &a, const thread_word &t) {
    const int x = t.column - SKEW_Z * t.z - SKEW_Y * t.y;
    const int least = x - (SKEW_Z > 0 ? SKEW_Z * (CHUNK - 1) : 0) - (SKEW_Y > 0 ? SKEW_Y * (ROWS - 1) : 0),
              most = x - (SKEW_Z < 0 ? SKEW_Z * (CHUNK - 1) : 0) - (SKEW_Y < 0 ? SKEW_Y * (ROWS - 1) : 0);
    return least >= X_LOW && most + VECTOR <= a.nx - X_HIGH && t.y >= Y_LOW && t.y + ROWS <= a.ny - Y_HIGH &&
           t.z >= Z_LOW && t.z + CHUNK <= a.nz - Z_HIGH;
}

// Stores a word of each row of plane z, where no tap reaches past a side. There is no branch unless
// SHIFTED, so that loads of later planes need not wait. rows: stored_rows().
template <bool ALL>
__device__ __forceinline__ void save_plane(const skew_arguments &a, const thread_word &t, STORE *out, int z,
                                           const REAL (&sum)[ROWS][VECTOR], unsigned rows) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        const int y = t.y + r, x = t.column - SKEW_Z * z - SKEW_Y * y;
        STORE *const to = out + z * (a.out_z - SKEW_Z) + y * (a.out_y - SKEW_Y) + t.column;
        union {
            STORE at[VECTOR];
            unsigned words[VECTOR * sizeof(STORE) / 4];
        } result;
#pragma unroll
        for (int v = 0; v < VECTOR; v++) result.at[v] = narrow<STORE>(sum[r][v]);
        if constexpr (SHIFTED) {
            if (z >= Z_LOW && z < a.nz - Z_HIGH && y >= Y_LOW && y < a.ny - Y_HIGH)
                save_shifted(t, to, result.at, X_LOW - x, a.nx - X_HIGH - x);
        } else if constexpr (ALL)
            store_run(to, result.at);
        else
            store_run_if(z >= Z_LOW && z < a.nz - Z_HIGH ? rows : 0, 1u << r, reinterpret_cast<unsigned *>(to),
                         result.words);
    }
}

// The number of planes that a marching loop unrolls: UNROLL if all words are stored, 1 if CHECKED.
// The third loop, in which some words are not stored, takes longer to compile, and few warps run
// it. It unrolls MIN_PLANES planes: those that share partial sums, but at least two, because a
// thread's registers hold the loads of two planes at most. If SHIFTED, all warps run it, and it may
// unroll a single plane, because the loads of later planes wait for its branches anyway. A loop
// that is not unrolled as a whole also computes sums of planes before and after the chunk, which
// are not stored; so MIN_PLANES is used only if these are FEW.
template <bool CHECKED, bool ALL>
constexpr int planes_at_once() {
    constexpr bool FEW = SHIFTED ? DEPTH == 1 : CHUNK >= 8 * (DEPTH - 1);
    constexpr int MIN_PLANES = DEPTH > 1 || SHIFTED ? DEPTH : 2;
    return CHECKED ? 1 : ALL || !FEW || UNROLL < MIN_PLANES ? UNROLL : MIN_PLANES;
}

// CHECKED: words may lie outside of the grid. ALL: all words are stored. first: element at which
// the window begins in the first plane that is read. Instead of planes past a side, the plane at
// that side is read again: only outputs that are not stored depend on them.
template <bool CHECKED, bool ALL>
__device__ __forceinline__ void march(const skew_arguments &a, const thread_word &t, long long first, STORE *out) {
    constexpr int AT_ONCE = planes_at_once<CHECKED, ALL>();
    plane_sums sum = {};
    unsigned rows = 0;
#pragma unroll(AT_ONCE)
    for (int p = 0; p < CHUNK + Z_LOW + Z_HIGH; p++) {
        const int read = t.z + p - Z_LOW;
        add_plane<CHECKED>(a, t, ALL ? first + p * (a.in_z - SKEW_Z) : first, sum);
        if (!ALL && read >= 0 && read < a.nz - 1) first += a.in_z - SKEW_Z;
        if (p >= Z_LOW + Z_HIGH) {
            const int z = t.z + p - Z_LOW - Z_HIGH;
            if (!ALL && !SHIFTED && (SKEW_Z || p == Z_LOW + Z_HIGH)) rows = stored_rows(a, t, z);
            save_plane<ALL>(a, t, out, z, sum[0], rows);
        }
        next_plane(sum);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) direct_skew(const __grid_constant__ skew_arguments a) {
    const unsigned of_tile = a.side_blocks + a.word_blocks, batch = blockIdx.x / a.of_grid;
    unsigned block = blockIdx.x - batch * (a.face_blocks + a.tiles_z * of_tile);
    thread_word t;
    t.grid = a.in + batch * a.in_batch;
    STORE *const out = a.out + batch * a.out_batch;
    const bool of_face = block < a.face_blocks;
    if (!of_face) block -= a.face_blocks;
    // The last tile comes first: it has warps whose words lie outside of the grid, which take
    // longest and would run alone at the end of the launch.
    const unsigned tile = block / a.of_tile;
    const int z0 = (tile ? tile - 1 : a.tiles_z - 1) * BZ;
    if (!of_face) block -= tile * of_tile;
    if (of_face || block < a.side_blocks) {
        const unsigned i = block * THREADS + threadIdx.x;
        save_run(a, t.grid, out, of_face ? face_run(a, i) : side_run(a, z0, i));
        return;
    }
    block -= a.side_blocks;
    int group, word;
    const bool is_whole = block < a.tile_blocks;
    if (is_whole) {
        const unsigned row = block / a.of_row;
        group = row * THREADS_Y + threadIdx.x / THREADS_X % THREADS_Y;
        word = (block - row * a.tiles_x) * THREADS_X + threadIdx.x % THREADS_X;
    } else {
        const unsigned number = (block - a.tile_blocks) * PLANE_THREADS + threadIdx.x % PLANE_THREADS;
        group = number / a.of_rest;
        word = a.tiles_x * THREADS_X + number - group * a.rest;
    }
    t.y = group * ROWS;
    t.z = z0 + threadIdx.x / PLANE_THREADS * CHUNK;
    if (t.y >= a.ny || t.z >= a.nz) return;
    // The least skewed column at which a row of this thread's group begins in any of its planes; it
    // is then moved back to an aligned address.
    const int origin =
        SKEW_Z * t.z + SKEW_Y * t.y + (SKEW_Z < 0 ? SKEW_Z * (CHUNK - 1) : 0) + (SKEW_Y < 0 ? SKEW_Y * (ROWS - 1) : 0);
    const int aligned = static_cast<int>(reinterpret_cast<unsigned long long>(t.grid) / sizeof(STORE) % SKEW_ALIGN);
    t.column = origin - ((origin + aligned) & (SKEW_ALIGN - 1)) + word * VECTOR;
    t.end = (a.nz - 1) * a.in_z + (a.ny - 1) * a.in_y + a.nx;
    const int first_z = max(t.z - Z_LOW, 0), last_z = min(t.z + CHUNK - 1 + Z_HIGH, a.nz - 1);
    const long long first = first_z * (a.in_z - SKEW_Z) + (t.y - Y_LOW) * (a.in_y - SKEW_Y) + t.column - CENTRE;
    const long long past = first + (last_z - first_z) * (a.in_z - SKEW_Z) + (LINES - 1) * (a.in_y - SKEW_Y) + SPAN;
    bool inside = first >= 0 && past <= t.end;
    if constexpr (SHIFTED) {
        t.adjacent = is_whole;
        inside = is_whole && __all_sync(~0u, inside);
    }
    // All lanes of a warp take the same branch.
    const bool all = THREADS_X % 32 == 0 && !SHIFTED && is_whole && __all_sync(~0u, inside && stores_all(a, t));
    if (all)
        march<false, true>(a, t, first, out);
    else if (inside)
        march<false, false>(a, t, first, out);
    else
        march<true, false>(a, t, first, out);
}
