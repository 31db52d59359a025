// A tile of direct_time_tile: its layout, its shared memory, loads and stores of planes, and the
// exchange of neighbours' points.
#pragma once
#include "device/arith.cuh"
#include "device/boundary.cuh"
#include "device/edge.cuh"
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int LANES_X = THREADS_X, STACK = THREADS_Y;  // lanes along x and y
constexpr int THREADS = LANES_X * STACK;
constexpr int WIDTH = LANES_X * POINTS, HEIGHT = STACK * ROWS;
constexpr int MARGIN_X = round_up(SPANS ? X_REACH : FUSED * X_REACH, VECTOR), MARGIN_Y = FUSED * Y_REACH;
// Rows of f16 may begin at any element, but the shortest access of a copy is a word of two. Where
// the tile's first point in a row is the second element of its word (the row's place is 1), the
// words of the row hold points -1 and 0, 1 and 2, .., and the tile's last point is not read:
//
//     place 0    | 0 1 | 2 3 | ..        place 1    |-1 0 | 1 2 | ..
constexpr bool WORDS = VECTOR * sizeof(STORE) < 4;
// Points that a tile stores.
constexpr int OWN_X = WIDTH - WORDS - 2 * MARGIN_X, OWN_Y = HEIGHT - 2 * MARGIN_Y;
constexpr int DEPTH = 2 * Z_REACH + 1, SIDE_Y = 2 * Y_REACH + 1, SIDE_X = 2 * X_REACH + 1;

struct tile_arguments {
    const STORE *in;
    STORE *out;
    long long nz, ny, nx;
    long long in_z, in_y, out_z, out_y;
    long long in_batch, out_batch;
    // Tiles of all grids of the batch: first those at the ends along x, then the others, x fastest.
    long long tiles;
    int tiles_x, tiles_y, tiles_z;
    int chunk;                           // planes along z of a tile
    REAL constant[3][2];                 // value past each side, axes z, y, x
    REAL weight[DEPTH][SIDE_Y][SIDE_X];  // of every offset, 0 where there is no tap
};
static_assert(layout_matches(sizeof(tile_arguments), sizeof(tile_arguments::constant) + sizeof(tile_arguments::weight)),
              "the launcher's mirrored struct of the arguments");

// The offsets that are taps; only those are computed.
static_assert(DEPTH <= 32, "a bit for each plane");
struct tap_map {
    bool has[DEPTH][SIDE_Y][SIDE_X];
    unsigned planes[SIDE_Y][SIDE_X];  // bit d: a tap in plane d
    bool plane[DEPTH];                // the plane has a tap
    bool corner;                      // a tap has offsets along both x and y
    bool axis;                        // every tap with a z offset is on the z axis
};
constexpr tap_map find_taps() {
    tap_map m{};
    m.axis = true;
    for (int k = 0; k < NTAPS; k++) {
        m.has[TAP_Z[k] + Z_REACH][TAP_Y[k] + Y_REACH][TAP_X[k] + X_REACH] = true;
        m.planes[TAP_Y[k] + Y_REACH][TAP_X[k] + X_REACH] |= 1u << (TAP_Z[k] + Z_REACH);
        m.plane[TAP_Z[k] + Z_REACH] = true;
        if (TAP_Y[k] && TAP_X[k]) m.corner = true;
        if (TAP_Z[k] && (TAP_Y[k] || TAP_X[k])) m.axis = false;
    }
    return m;
}
constexpr tap_map TAPS = find_taps();
constexpr bool ONE_BARRIER = Y_REACH > 0 && TAPS.axis && !MIRROR_Z;
constexpr bool REFRESH = folds(Y_SIDE_LOW) || folds(Y_SIDE_HIGH) || folds(X_SIDE_LOW) || folds(X_SIDE_HIGH) ||
                         Y_SIDE_LOW == CONSTANT || Y_SIDE_HIGH == CONSTANT || X_SIDE_LOW == CONSTANT ||
                         X_SIDE_HIGH == CONSTANT;
constexpr bool FREEZES_XY = (X_SIDE_LOW == FIXED && X_LOW) || (X_SIDE_HIGH == FIXED && X_HIGH) ||
                            (Y_SIDE_LOW == FIXED && Y_LOW) || (Y_SIDE_HIGH == FIXED && Y_HIGH);

typedef REAL patch[ROWS][POINTS];
typedef patch sums_type[DEPTH - 1];  // of one stage
typedef REAL window_type[ROWS + 2 * Y_REACH][POINTS + 2 * X_REACH];

// ---- Shared memory: lanes' elements are ordered by access, so that no access has bank conflicts.
//
//     unit     points               what it is
//     run      VECTOR (WORDS: 2)    one access of global memory, at most 16 bytes
//     group    GROUP                one access of a lane's points in shared memory
//     piece    PIECE                one access of the values in REAL that lanes exchange (rows)
//     slot     ROWS * POINTS        a lane's part of a plane; SLOTS planes are in flight
//
// If the points of a lane are several runs (TRANSPOSED), adjacent lanes copy adjacent runs, and
// each lane later reads its own points from shared memory. If each lane copied its own runs, one
// access of a warp would touch more sectors. COPY_LANES lanes of a warp copy one of its rows
// together, each COPIES runs, which are RUN_STEP elements apart.
//
// If WORDS, and for two runs of at most 4 bytes in 3D, each lane copies its own runs. This takes
// fewer instructions, which limit such tiles more than sectors do. With runs of 8 bytes it would be
// slower.
constexpr int PIECE = POINTS * sizeof(REAL) > 16 ? 16 / sizeof(REAL) : POINTS;
constexpr int PIECES = POINTS / PIECE, RUN = WORDS ? 2 : VECTOR, RUNS = POINTS / RUN, SLOTS = PREFETCH + 1;
struct alignas(PIECE * sizeof(REAL)) piece {
    REAL at[PIECE];
};
struct alignas(RUN * sizeof(STORE)) run {
    STORE at[RUN];
};
constexpr bool NARROW = Y_REACH && RUNS > 1 && sizeof(run) <= 4;
constexpr bool TRANSPOSED = RUNS > (NARROW ? 2 : 1) && !WORDS;
// A lane reads its part of the next plane from shared memory before it stores this one, so that the
// store hides the latency of the read.
constexpr bool READS_EARLY = NARROW;
// A lane reads and writes its points in shared memory by groups of at most 16 bytes.
constexpr int GROUP = POINTS * sizeof(STORE) > 16 ? 16 / sizeof(STORE) : POINTS, GROUPS = POINTS / GROUP;
struct alignas(GROUP * sizeof(STORE)) group {
    run at[GROUP / RUN];
};
// Number of unused groups after those of all lanes, so that a lane's groups are in different banks.
constexpr int BANKS = 32, GAP = GROUPS > 1 ? BANKS * 4 / (POINTS * sizeof(STORE)) : 0;
constexpr int COPY_LANES = !TRANSPOSED ? LANES_X : LANES_X * RUNS < 32 ? LANES_X * RUNS : 32;
constexpr int COPY_ROWS = ROWS * COPY_LANES / LANES_X, COPIES = LANES_X * RUNS / COPY_LANES;
constexpr int RUN_STEP = TRANSPOSED ? COPY_LANES * RUN : RUN;
static_assert(!TRANSPOSED || COPY_LANES % RUNS == 0,
              "all runs that a lane copies have the same index among a lane's runs");
// WORDS: bit PLACE_BIT + 5 r of a lane's `places` is the place of row r. So places >> 5 r, modulo
// 32, is the shift of that row's words: 0 or 16 bits.
constexpr int PLACE_BIT = 4;
constexpr unsigned ALL_PLACES = 1u << PLACE_BIT | 1u << 9 | 1u << 14 | 1u << 19 | 1u << 24;
static_assert(!WORDS || (ROWS <= 5 && GROUPS == 1), "places of all rows are in one register");
// WORDS: the first and the last stored point of a row may share their words with points that are
// not stored; they are then stored by themselves. In all tiles but the last along x they are points
// FIRST_POINT and LAST_POINT of their lanes. Bits of tile::stored: FIRST_ALONE + r, LAST_ALONE + r,
// if this lane has such a first or last point of row r; END_ALONE + r, if it is the grid's last
// one.
constexpr int FIRST_POINT = MARGIN_X % POINTS, LAST_POINT = (MARGIN_X + OWN_X - 1) % POINTS;
constexpr int FIRST_ALONE = 16, LAST_ALONE = 21, END_ALONE = 26;
static_assert(!WORDS || ROWS * RUNS <= FIRST_ALONE, "bits of tile::stored");
// A plane: group g of row r of every lane.
typedef group slot_type[ROWS][GROUPS][THREADS + GAP];
// Every lane's first and last rows.
typedef piece rows_type[STACK][Y_REACH ? 2 * Y_REACH : 1][PIECES][LANES_X];
struct shared_type {
    // Planes of level 0; if TRANSPOSED, the last one is the plane that is being stored.
    slot_type slot[SLOTS + TRANSPOSED];
    // A plane in row-major order, then the values past its four sides.
    REAL exchange[REFRESH ? HEIGHT * WIDTH + 4 : 2];
    // Rows of each stage; if ONE_BARRIER, those of this iteration and those of the previous one,
    // which may still be read.
    rows_type rows[ONE_BARRIER ? 2 : 1][Y_REACH ? FUSED : 1];
    // Index in `exchange` of every point's source.
    unsigned short source[REFRESH ? ROWS * POINTS : 1][REFRESH ? THREADS : 1];
};

constexpr bool WRAPS_X = X_SIDE_LOW == WRAP, WRAPS_Y = Y_REACH && Y_SIDE_LOW == WRAP;
constexpr bool WRAPPED = WRAPS_X || WRAPS_Y, OTHER_ROWS = WORDS && WRAPS_Y;
// WORDS: where rows wrap, a word past a side has two points that are seldom one word of the row's
// other end. A side has FAR_WORDS such words; a lane loads their points, FAR words for all rows of
// its warp, and stores them in shared memory an iteration later.
constexpr int FAR_WORDS = MARGIN_X / 2 + 1;
constexpr int WARP_ROWS = ROWS * 32 / LANES_X;
constexpr int FAR = WORDS && WRAPS_X ? (WARP_ROWS * 2 * FAR_WORDS + 31) / 32 : 0;
static_assert(!FAR || PREFETCH >= 2, "far words of a plane are stored before the iteration that reads them");
struct far_words {
    STORE low[FAR ? FAR : 1], high[FAR ? FAR : 1];
    int index[FAR ? FAR : 1];  // in a slot, in words; -1 if there is no such word
};

struct tile {
    int y, x;  // position of this lane's first point
    // No point of the tile lies past an edge along x or y, or is frozen because of one.
    bool inside;
    unsigned frozen;  // bit r * POINTS + v: this lane's point (r, v) is frozen
    // Position of the first run that this lane copies; its others in a row follow RUN_STEP elements
    // apart.
    int run_y, run_x;
    // WRAPPED and not WORDS, in a tile that is not inside: the rows of the grid that this lane
    // copies, and the columns at which its runs in a row begin. Past a side that wraps, those of
    // the other end.
    int source_y[WRAPPED && !WORDS ? COPY_ROWS : 1], source_x[WRAPPED && !WORDS ? COPIES : 1];
    // OTHER_ROWS: the distances of the rows that this lane copies from its first row, in elements.
    long long source_row[OTHER_ROWS ? ROWS : 1];
    // Bit r * COPIES + s is for run s of row r that this lane copies: the run lies in the grid as a
    // whole (exists) or in part (partial); it is stored as a whole (stored) or in part
    // (partial_stored). WORDS: [1] is for planes whose rows begin in the other half of a word than
    // in plane 0.
    unsigned exists[1 + WORDS], partial[1 + WORDS], stored[1 + WORDS], partial_stored[1 + WORDS];
    // WORDS. places: those of the rows that this lane computes, in plane 0. store_shift: the shift,
    // 0 or 16 bits, of the even rows that this lane stores, in plane 0; the shift of odd rows is
    // store_shift ^ odd_row_shift. in_odd, out_odd: 1 if planes of `in`, or of `out`, are an odd
    // number of elements apart.
    unsigned places, store_shift, odd_row_shift;
    int in_odd, out_odd;
};

__device__ __forceinline__ bool lies_in(int i, int n) { return i >= 0 && i < n; }
__device__ __forceinline__ int wrapped(int i, int n) {
    while (i < 0) i += n;
    while (i >= n) i -= n;
    return i;
}
// The same for an index less than n points outside, without a branch.
__device__ __forceinline__ int wrapped_once(int i, int n) { return i < 0 ? i + n : i >= n ? i - n : i; }
__device__ __forceinline__ void synchronize() {
    if (THREADS == 32)
        __syncwarp();
    else
        __syncthreads();
}

// ---- loads and stores of planes

// WORDS: the place of an element in its word, and the first element of that word.
__device__ __forceinline__ unsigned place_of(const STORE *at) {
    return WORDS ? static_cast<unsigned>(reinterpret_cast<unsigned long long>(at) / sizeof(STORE) & 1) : 0;
}
template <class T>
__device__ __forceinline__ T *word_of(T *at) {
    return WORDS ? reinterpret_cast<T *>(reinterpret_cast<unsigned long long>(at) & ~3ull) : at;
}
// 1 if rows of plane z have the other place than in plane 0. `odd`: 1 if planes are an odd number
// of elements apart.
__device__ __forceinline__ unsigned changes_place(int z, int odd) { return WORDS ? z & odd : 0; }
// Selects the flags of a tile that are valid in a plane. changed: changes_place() of the plane.
__device__ __forceinline__ unsigned flags_of(const unsigned (&flags)[1 + WORDS], unsigned changed) {
    return WORDS && changed ? flags[WORDS] : flags[0];
}

// Copies those points of a run at x that lie in the grid, one by one; if the axis wraps, also those
// past its end, which continue at the beginning.
__device__ __forceinline__ void copy_points(run &to, const STORE *row, int x, int nx) {
#pragma unroll
    for (int e = 0; e < RUN; e++) {
        if (lies_in(x, nx)) copy_element(&to.at[e], row + x);
        x = WRAPS_X && x + 1 == nx ? 0 : x + 1;
    }
}

// The s-th run of row r that this lane copies, in shared memory. If TRANSPOSED, it is run
// s * COPY_LANES + lane of the row.
__device__ __forceinline__ run &copied_run(slot_type &slot, int r, int s) {
    constexpr int EACH = GROUP / RUN;
    if (!TRANSPOSED) return slot[r][s / EACH][threadIdx.x].at[s % EACH];
    const int lane = threadIdx.x % COPY_LANES, number = lane % RUNS;
    group *const first = &slot[r % ROWS][number / EACH][threadIdx.x - lane + lane / RUNS];
    return first[r / ROWS * LANES_X + s * (COPY_LANES / RUNS)].at[number % EACH];
}

// WRAPPED: fetch_plane in a tile that is not inside; `plane` is the grid's first point in plane z.
__device__ __forceinline__ void fetch_wrapped_plane(const tile_arguments &a, const tile &t, const STORE *plane,
                                                    slot_type &slot) {
    const int ny = static_cast<int>(a.ny), nx = static_cast<int>(a.nx);
#pragma unroll
    for (int r = 0; r < COPY_ROWS; r++) {
        const int y = t.source_y[WRAPPED && !WORDS ? r : 0];
        const STORE *const row = plane + y * a.in_y;
#pragma unroll
        for (int s = 0; s < COPIES; s++) {
            run &to = copied_run(slot, r, s);
            const int x = t.source_x[WRAPPED && !WORDS ? s : 0];
            const bool whole = x >= 0 && x + RUN <= nx;
            if (!PARTIAL)
                // All indices along an axis that wraps lie in the grid.
                copy_async_if<sizeof(run)>((WRAPS_Y || lies_in(y, ny)) && (WRAPS_X || whole), 1, &to, row + x);
            else if (lies_in(y, ny)) {
                if (whole && reinterpret_cast<unsigned long long>(row + x) % sizeof(run) == 0)
                    copy_async_if<sizeof(run)>(1, 1, &to, row + x);
                else
                    copy_points(to, row, x, nx);
            }
        }
    }
}

// FAR: loads the far words of this warp's rows, which are stored later, so that no lane waits for
// them.
__device__ __forceinline__ void load_far(const tile_arguments &a, const tile &t, const STORE *plane, far_words &far) {
    const int ny = static_cast<int>(a.ny), nx = static_cast<int>(a.nx), lane = threadIdx.x % 32;
    const int first_x = t.x - lane % LANES_X * POINTS, first_y = t.y - lane / LANES_X * ROWS;
    const bool has_far = first_x < 0 || first_x + WIDTH > nx;
#pragma unroll
    for (int i = 0; i < FAR; i++) {
        far.index[i] = -1;
        if (!has_far) continue;
        const int number = i * 32 + lane, r = number / (2 * FAR_WORDS), k = number % (2 * FAR_WORDS);
        const int y = WRAPS_Y ? wrapped_once(first_y + r, ny) : first_y + r;
        const STORE *const row = plane + y * a.in_y;
        const int from_first = static_cast<int>(place_of(row + first_x)) - first_x;  // of column 0
        const int word = k < FAR_WORDS ? k : (nx + from_first) / RUN + k - FAR_WORDS, x = word * RUN - from_first;
        if (r >= WARP_ROWS || !lies_in(y, ny) || word >= WIDTH / RUN || (k < FAR_WORDS && x >= 0)) continue;
        far.low[i] = row[wrapped_once(x, nx)], far.high[i] = row[wrapped_once(x + 1, nx)];
        far.index[i] = (r % ROWS * THREADS + threadIdx.x - lane + r / ROWS * LANES_X) * RUNS + word;
    }
}
__device__ __forceinline__ void store_far(const far_words &far, slot_type &slot) {
#pragma unroll
    for (int i = 0; i < FAR; i++) {
        run word;
        word.at[0] = far.low[i], word.at[RUN - 1] = far.high[i];
        if (far.index[i] >= 0) reinterpret_cast<run *>(&slot)[far.index[i]] = word;
    }
}

// Starts the copies of a level 0 plane into its slot; `from` is this lane's first run of plane z.
// Points outside of the grid are copied only past sides that wrap.
__device__ __forceinline__ void fetch_plane(const tile_arguments &a, const tile &t, int z, const STORE *from,
                                            slot_type &slot, far_words &far) {
    const int nz = static_cast<int>(a.nz), ny = static_cast<int>(a.ny), nx = static_cast<int>(a.nx);
    if (!lies_in(z, nz)) {
        if (Z_SIDE_LOW != WRAP) return;
        from += (wrapped(z, nz) - z) * a.in_z;
        z = wrapped(z, nz);
    }
    const STORE *const plane = from - t.run_x - t.run_y * a.in_y;
    if constexpr (WRAPPED && !WORDS)
        if (!t.inside) {
            fetch_wrapped_plane(a, t, plane, slot);
            return;
        }
    if (FAR && !t.inside) load_far(a, t, plane, far);
    const unsigned changed = changes_place(z, t.in_odd);
    unsigned exists = flags_of(t.exists, changed), partial = FAR ? 0 : flags_of(t.partial, changed);
    // In all planes but the first and the last, the elements before and after a row also belong to
    // the array, so that partial runs are copied as a whole. The further elements arrive at points
    // past an edge, whose values are replaced or not used.
    if (WORDS && z > 0 && z < nz - 1) exists |= partial, partial = 0;
    const auto copy_row = [&](int r, const STORE *&row) {
        hide_from_optimizer(row);  // all runs of a row have constant offsets from one address
#pragma unroll
        for (int s = 0; s < COPIES; s++) {
            run &to = copied_run(slot, r, s);
            copy_async_if<sizeof(run)>(exists, 1u << (r * COPIES + s), &to, word_of(row) + s * RUN_STEP);
        }
    };
#pragma unroll
    for (int r = 0; r < COPY_ROWS; r++) {
        if (OTHER_ROWS) {
            const STORE *row = from + t.source_row[OTHER_ROWS ? r : 0];
            copy_row(r, row);
        } else {
            copy_row(r, from);
            from += a.in_y;
        }
    }
    if (!(PARTIAL || WORDS) || !partial) return;
    hide_from_optimizer(from);  // no address of this branch is computed outside of it
#pragma unroll 1
    for (int r = 0; r < COPY_ROWS; r++) {
        const STORE *const row =
            OTHER_ROWS ? plane + wrapped_once(t.run_y + r, ny) * a.in_y : from + (r - COPY_ROWS) * a.in_y - t.run_x;
        const int x = t.run_x - static_cast<int>(place_of(row + t.run_x));
#pragma unroll
        for (int s = 0; s < COPIES; s++)
            if (partial >> (r * COPIES + s) & 1) copy_points(copied_run(slot, r, s), row, x + s * RUN_STEP, nx);
    }
}

// What a lane reads of a plane in its slot: its own points, and if WORDS, the word that follows
// those of each row.
struct held_plane {
    group own[ROWS][GROUPS];
    unsigned next[WORDS ? ROWS : 1];
};
__device__ __forceinline__ void read_slot(const slot_type &slot, held_plane &held) {
    // The word after those of a warp's last lane belongs to another warp, which may be writing it.
    // Only the last point of the tile's row needs it, and no point that is stored needs that point.
    const int following = threadIdx.x % 32 == 31 ? 0 : RUNS;
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int g = 0; g < GROUPS; g++) held.own[r][g] = slot[r][g][threadIdx.x];
        if (WORDS) held.next[WORDS ? r : 0] = reinterpret_cast<const unsigned *>(&slot[r][0][threadIdx.x])[following];
    }
}

// The points of a plane. changed: changes_place() of that plane.
__device__ __forceinline__ void widen_plane(const tile &t, const held_plane &held, unsigned changed, patch &plane) {
    const unsigned places = changed ? t.places ^ ALL_PLACES : t.places;
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {
            if constexpr (WORDS) {
                union {
                    group points;
                    unsigned words[RUNS];
                } row = {held.own[r][g]};
#pragma unroll
                for (int i = 0; i < RUNS; i++) {
                    const unsigned after = i + 1 < RUNS ? row.words[(i + 1) % RUNS] : held.next[r];
                    const unsigned both = __funnelshift_r(row.words[i], after, places >> 5 * r);
                    plane[r][2 * i] = half2_low(both), plane[r][2 * i + 1] = half2_high(both);
                }
            } else {
                const group got = held.own[r][g];
#pragma unroll
                for (int e = 0; e < GROUP; e++) plane[r][g * GROUP + e] = widen(got.at[e / RUN].at[e % RUN]);
            }
        }
}

// store_plane if WORDS.
__device__ __forceinline__ void store_words(const tile_arguments &a, const tile &t, int z, STORE *to,
                                            const patch &plane) {
    const unsigned changed = changes_place(z, t.out_odd), stored = flags_of(t.stored, changed);
    const unsigned by = t.store_shift ^ changed << PLACE_BIT, next_by = by ^ t.odd_row_shift;
    STORE *row = to;
#pragma unroll
    for (int r = 0; r < ROWS; r++, row += a.out_y) {
        hide_from_optimizer(row);  // all words of a row have constant offsets from one address
        // The element before a lane's is the preceding lane's last. The first lane of a row has
        // none, and does not store that element.
        unsigned word[RUNS + 1];
#pragma unroll
        for (int i = 0; i < RUNS; i++)
            word[i + 1] = floats_to_half2(plane[r][RUN * i], plane[r][(RUN * i + 1) % POINTS]);
        word[0] = __shfl_up_sync(0xffffffffu, word[RUNS], 1);
#pragma unroll
        for (int i = 0; i < RUNS; i++) {
            const unsigned shifted[1] = {__funnelshift_l(word[i], word[i + 1], r % 2 ? next_by : by)};
            store_run_if(stored, 1u << (r * RUNS + i), reinterpret_cast<unsigned *>(word_of(row) + i * RUN), shifted);
        }
        const auto packed = [&](int v) { return static_cast<STORE>(word[1 + v / 2] >> 16 * (v % 2)); };
        constexpr bool SAME = FIRST_POINT == LAST_POINT;
        store_if(stored, 1u << (FIRST_ALONE + r) | (SAME ? 1u << (LAST_ALONE + r) : 0), row + FIRST_POINT,
                 packed(FIRST_POINT));
        if (!SAME) store_if(stored, 1u << (LAST_ALONE + r), row + LAST_POINT, packed(LAST_POINT));
    }
    if (!(stored >> END_ALONE)) return;
    const int end = static_cast<int>(a.nx) - 1 - t.x;
#pragma unroll
    for (int v = 0; v < POINTS; v++)
        if (v == end)
#pragma unroll
            for (int r = 0; r < ROWS; r++)
                store_if(stored, 1u << (END_ALONE + r), to + r * a.out_y + v, narrow<STORE>(plane[r][v]));
}

// Stores plane z of the last level; `to` is this lane's first run.
__device__ __forceinline__ void store_plane(const tile_arguments &a, const tile &t, int z, STORE *to, slot_type &slot,
                                            const patch &plane) {
    if constexpr (WORDS) {
        store_words(a, t, z, to, plane);
        return;
    }
    group own[ROWS][GROUPS];
#pragma unroll
    for (int r = 0; r < ROWS; r++)
#pragma unroll
        for (int g = 0; g < GROUPS; g++) {
#pragma unroll
            for (int e = 0; e < GROUP; e++) own[r][g].at[e / RUN].at[e % RUN] = narrow<STORE>(plane[r][g * GROUP + e]);
            if (TRANSPOSED) slot[r][g][threadIdx.x] = own[r][g];
        }
    if (TRANSPOSED) __syncwarp();
    const auto leaving_run = [&](int r, int s) {
        constexpr int EACH = GROUP / RUN;
        return TRANSPOSED ? copied_run(slot, r, s) : own[r % ROWS][s / EACH % GROUPS].at[s % EACH];
    };
    STORE *row = to;
#pragma unroll
    for (int r = 0; r < COPY_ROWS; r++, row += a.out_y) {
        hide_from_optimizer(row);  // all runs of a row have constant offsets from one address
#pragma unroll
        for (int s = 0; s < COPIES; s++) {
            union {
                run whole;
                unsigned words[sizeof(run) / sizeof(unsigned)];
            } leaving = {leaving_run(r, s)};
            store_run_if(t.stored[0], 1u << (r * COPIES + s), reinterpret_cast<unsigned *>(row + s * RUN_STEP),
                         leaving.words);
        }
    }
    const unsigned partial = t.partial_stored[0];
    if (!PARTIAL || !partial) return;
#pragma unroll
    for (int r = 0; r < COPY_ROWS; r++)
#pragma unroll
        for (int s = 0; s < COPIES; s++) {
            if (!(partial >> (r * COPIES + s) & 1)) continue;
            const run leaving = leaving_run(r, s);
            STORE *const first = to + r * a.out_y + s * RUN_STEP;
#pragma unroll
            for (int e = 0; e < RUN - 1; e++)
                if (e < static_cast<int>(a.nx) % VECTOR) first[e] = leaving.at[e];
        }
}

// ---- neighbours' points

// Leaves this lane's first rows for the lane above it, and its last rows for the lane below.
__device__ __forceinline__ void publish_rows(const patch &plane, rows_type &rows) {
    const int lane_x = threadIdx.x % LANES_X, lane_y = threadIdx.x / LANES_X;
#pragma unroll
    for (int k = 0; k < Y_REACH; k++)
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            piece first, last;
#pragma unroll
            for (int e = 0; e < PIECE; e++) {
                first.at[e] = plane[k][p * PIECE + e];
                last.at[e] = plane[ROWS - Y_REACH + k][p * PIECE + e];
            }
            rows[lane_y][k][p][lane_x] = first;
            rows[lane_y][Y_REACH + k][p][lane_x] = last;
        }
}

// Fetches a row's neighbours along x.
__device__ __forceinline__ void widen_row(REAL (&row)[POINTS + 2 * X_REACH]) {
#pragma unroll
    for (int k = 0; k < X_REACH; k++) {
        row[k] = __shfl_up_sync(0xffffffffu, row[POINTS + k], 1);
        row[X_REACH + POINTS + k] = __shfl_down_sync(0xffffffffu, row[X_REACH + k], 1);
    }
}

__device__ __forceinline__ void own_rows(const patch &plane, window_type &window) {
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
#pragma unroll
        for (int v = 0; v < POINTS; v++) window[Y_REACH + r][X_REACH + v] = plane[r][v];
        widen_row(window[Y_REACH + r]);
    }
}

// Fetches the rows above and below; the outermost lanes take their own, which only invalidates
// margins.
__device__ __forceinline__ void fetch_rows(const rows_type &rows, window_type &window) {
    const int lane_x = threadIdx.x % LANES_X, lane_y = threadIdx.x / LANES_X;
    const int above = lane_y > 0 ? lane_y - 1 : 0, below = lane_y < STACK - 1 ? lane_y + 1 : lane_y;
#pragma unroll
    for (int k = 0; k < Y_REACH; k++) {
#pragma unroll
        for (int p = 0; p < PIECES; p++) {
            const piece last = rows[above][Y_REACH + k][p][lane_x], first = rows[below][k][p][lane_x];
#pragma unroll
            for (int e = 0; e < PIECE; e++) {
                window[k][X_REACH + p * PIECE + e] = last.at[e];
                window[Y_REACH + ROWS + k][X_REACH + p * PIECE + e] = first.at[e];
            }
        }
        if (TAPS.corner) {
            widen_row(window[k]);
            widen_row(window[Y_REACH + ROWS + k]);
        }
    }
}
