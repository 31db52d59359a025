// Tile I/O of dense-DFT tiles: descriptors of a pair of tiles, the copies of its inputs into shared
// memory, and the stores of its outputs from shared memory or registers; see segment_dense_tile.cu.
//
// Descriptors in shared memory describe a pair of tiles (overlapping_tiles.cuh) that are
// transformed together. A block's threads compute them before they are needed. For transposed 3D
// tiles (TRANSPOSED in dense_dft.cuh), they include the destination of each lane's outputs.
//
// The outputs of transposed tiles go from registers to memory. Lane 4 g + t has rows 2t and 2t+1,
// and columns g and g + 8, of both tiles. To write whole sectors with eight lanes, the columns of a
// tile are rotated within its slices, and lanes write the last columns of the first tile together
// with the first ones of the second tile. An example with 12 outputs in a row of a tile, of which
// the first ones fill the second half of a sector. A digit is a pair of columns, a bar is a sector
// boundary:
//
//     outputs in memory   .0|12|34|50|12|34|5.   the first tile's, then the second one's
//     access 0             |12|34|               columns g of the first tile
//     access 1                   |50|12|         columns g + 8 of the first tile if g < 2,
//                                                else g of the second one
//     access 2            .0|             |34|5. columns g + 8 of the second tile if g < 6,
//                                                else of the first one
//     access 3                                   the rest; with 12 outputs nothing
#pragma once
#include "segment/dense_convolution.cuh"
#include "segment/overlapping_tiles.cuh"

constexpr bool ODD = is_odd(Z_SIDE_LOW) || is_odd(Z_SIDE_HIGH) || is_odd(Y_SIDE_LOW) || is_odd(Y_SIDE_HIGH) ||
                     is_odd(X_SIDE_LOW) || is_odd(X_SIDE_HIGH);
// Whether points past the side, or the one on it, are 0.
constexpr bool ends(int side) { return side == NEAREST || is_odd(side); }
constexpr bool ENDS = ends(Z_SIDE_LOW) || ends(Z_SIDE_HIGH) || ends(Y_SIDE_LOW) || ends(Y_SIDE_HIGH) ||
                      ends(X_SIDE_LOW) || ends(X_SIDE_HIGH);
constexpr int NONE = -1, PLACES = N3 + N1 + N2;
struct tile_descriptor {
    // Element offset of the tile's first point in the input; NONE: the tile reaches past a side, or
    // there is no tile.
    long long from;
    long long to;    // The same in the output.
    long long grid;  // Element offset of the first point of the tile's grid in the input.
    // Elements from the grid's first point to the tile's first row; NONE: rows reach past a side.
    long long rows_from;
    // Outputs are columns left to right - 1, rows below `rows` and slices below `slices`. All four
    // are 0 if there is no tile.
    int left, right, rows, slices;
};
// Destination of a lane's outputs of one access, see above.
struct destination {
    long long to;      // Element offset of slice 0, row 0.
    int rows, slices;  // The ends of the tile's outputs; slices is 0 if the lane has no outputs.
};
// There is a destination for each of eight lanes in each of four accesses.
constexpr int EIGHT = 8, DESTINATIONS = TRANSPOSED ? 4 * EIGHT : 1;
struct pair {
    tile_descriptor at[2];
    unsigned tile;  // The number of the first tile.
    destination destinations[DESTINATIONS];
    // For a tile that reaches past a side: element offsets in the grid of its slices, rows and
    // columns. NONE: the value is 0. -2 - offset: the value is negated.
    long long sources[2][PLACES];
};
__device__ __forceinline__ long long index_of(long long source) { return ODD && source < 0 ? -2 - source : source; }
__device__ __forceinline__ bool is_point(long long source) { return !ENDS || source != NONE; }
__device__ __forceinline__ bool is_minus(long long source) { return ODD && source < NONE; }
__device__ __forceinline__ long long find_source(const tile_arguments &a, const area &s, int i) {
    // Axes with the same sides share the long code that extends an axis.
    constexpr bool Z_LIKE_X = Z_SIDE_LOW == X_SIDE_LOW && Z_SIDE_HIGH == X_SIDE_HIGH,
                   Y_LIKE_X = Y_SIDE_LOW == X_SIDE_LOW && Y_SIDE_HIGH == X_SIDE_HIGH;
    const bool z = i < N3, y = !z && i < N3 + N1;
    const long long at = z   ? s.z + i
                         : y ? s.y + i - N3
                             : s.x + i - N3 - N1,
                    n = z   ? a.n[0]
                        : y ? a.n[1]
                            : a.n[2],
                    far = z   ? a.in_far[0]
                          : y ? a.in_far[1]
                              : 1;
    folded to;
    if (!Z_LIKE_X && z)
        to = extend_by<Z_SIDE_LOW, Z_SIDE_HIGH>(at, n);
    else if (!Y_LIKE_X && y)
        to = extend_by<Y_SIDE_LOW, Y_SIDE_HIGH>(at, n);
    else
        to = extend_by<X_SIDE_LOW, X_SIDE_HIGH>(at, n);
    return to.index < 0 ? NONE : to.minus ? -2 - to.index * far : to.index * far;
}
__device__ __forceinline__ tile_descriptor describe_tile(const tile_arguments &a, const area &s) {
    const long long grid = s.in - a.in;
    return {inside(a, s) ? grid + s.z * a.in_far[0] + s.y * a.in_far[1] + s.x : NONE,
            s.out - a.out + s.z * a.out_far[0] + s.y * a.out_far[1] + s.x,
            grid,
            inside(s.y, N1, a.n[1]) ? s.y * a.in_far[1] : NONE,
            max(a.lead[2], s.x < 0 ? static_cast<int>(-s.x) : 0),
            outputs_end(a, 2, s.x),
            outputs_end(a, 1, s.y),
            outputs_end(a, 0, s.z)};
}

// ---- transposed 3D tiles: the columns that lanes write

struct rotation {
    int first, second;  // The columns stored first in the slices of the two tiles.
    // Lanes g < last write the last columns of the first tile (access 1), lanes g < next those of
    // the second tile (access 2).
    int last, next;
};
constexpr int SECTOR = 32 / static_cast<int>(sizeof(STORE));
__device__ __forceinline__ rotation find_rotation(const tile_arguments &a) {
    const int half = (a.before[2] - a.lead[2]) % SECTOR, last = min(max(a.useful[2] - half - 8, 0), 8);
    return {a.lead[2] + half, a.lead[2] - last, last, 8 - half};
}
// The tile and the rotated column that lane g writes in access k.
struct column_of {
    bool second;
    int column;
};
__device__ __forceinline__ column_of find_column(const rotation &at, int k, int g) {
    const bool last = g < at.last, next = g < at.next;
    const bool second = k == 1 ? !last : k == 2 ? next : k == 3 && (last || !next);
    const int right = k == 1 ? last : k == 2 ? 1 : k == 3 && !last;  // Columns g + 8.
    return {second, ((second ? at.second : at.first) + g + 8 * right) & (N2 - 1)};
}

// ---- computing the descriptors of a pair

__device__ __forceinline__ bool is_pair(const pair &p) { return p.at[0].slices > 0; }
// For transposed 3D tiles, one warp computes them: the first to arrive at the block's barrier.
constexpr int FINDERS = TRANSPOSED ? 32 : THREADS, FINDERS_OF_TILE = FINDERS / 2;
__device__ __forceinline__ void describe_pair(const tile_arguments &a, unsigned tile, pair &to) {
    const int finder = threadIdx.x % FINDERS, second = finder / FINDERS_OF_TILE, first = finder % FINDERS_OF_TILE;
    const bool there = tile + second < a.all;
    const area s = find(a, there ? tile + second : 0);
#pragma unroll 1
    for (int k = there && !inside(a, s) ? first : PLACES; k < PLACES; k += FINDERS_OF_TILE)
        to.sources[second][k] = find_source(a, s, k);
    if (first == 0) to.at[second] = there ? describe_tile(a, s) : tile_descriptor{NONE, 0, 0, NONE, 0, 0, 0, 0};
    if (finder == 0) to.tile = tile;
    if (!TRANSPOSED) return;
    __syncwarp();
    const column_of c = find_column(find_rotation(a), finder / EIGHT, finder % EIGHT);
    const tile_descriptor &of = to.at[c.second];
    to.destinations[finder] = {of.to + c.column, of.rows, c.column >= of.left && c.column < of.right ? of.slices : 0};
}

constexpr bool IN_PLACE = N3 > 1;
constexpr int TEAM = IN_PLACE ? 32 : THREADS;  // Threads that copy a slice.
// Rows of each of the two tiles that a team copies at once.
constexpr int ROWS_AT_ONCE = TEAM / (2 * N2);
static_assert(ROWS_AT_ONCE > 0 && N1 % ROWS_AT_ONCE == 0, "a team has rows of two tiles");

// ---- inputs

// A thread's column of a pair of tiles.
struct inputs {
    const tile_descriptor *tile;
    const long long *sources;  // Of the tile.
    int row, x;                // row: its first row, N1 if it has none. x: its column.
    int buffer, column;        // Offset of its tile in shared memory, and the column there.
};
__device__ __forceinline__ inputs find_inputs(const tile_arguments &a, const pair &p, int t) {
    const int row = t / (2 * N2), second = t % (2 * N2) >= N2, x = t % (2 * N2) - second * N2;
    return {&p.at[second],
            p.sources[second],
            row < ROWS_AT_ONCE ? row : N1,
            x,
            second * BUFFER,
            TRANSPOSED ? (x - (second ? find_rotation(a).second : find_rotation(a).first)) & (N2 - 1) : x};
}
constexpr int ROWS_OF_THREAD = N1 / ROWS_AT_ONCE, ROWS_LOOKED_UP = ROWS_OF_THREAD % 8 ? 1 : 8;
// Starts asynchronous copies of a slice of both tiles. Signs are applied later.
__device__ __forceinline__ void fetch(const tile_arguments &a, const inputs &c, REAL *slice_data, int slice) {
    if (c.row >= ROWS_AT_ONCE) return;
    const int first = ROWS_AT_ONCE == 1 ? 0 : c.row;
    REAL *const to = slice_data + c.buffer;
    const long long far = ROWS_AT_ONCE * a.in_far[1];
    long long from = c.tile->from, rows_from = 0;
    bool there = true;
    if (from != NONE) {
        from += slice * a.in_far[0] + c.x;
    } else {
        const long long z = c.sources[slice], x = c.sources[N3 + N1 + c.x];
        rows_from = c.tile->rows_from;
        there = c.tile->slices > 0 && is_point(z) && is_point(x);
        from = c.tile->grid + index_of(z) + index_of(x);
    }
    if (there && rows_from != NONE) {
        const STORE *at = a.in + from + rows_from + first * a.in_far[1];
#pragma unroll 16
        for (int row = 0; row < N1; row += ROWS_AT_ONCE, at += far)
            copy_element(to + point_at(first + row, c.column, slice), at);
        return;
    }
#pragma unroll 1
    for (int some = 0; some < ROWS_OF_THREAD; some += ROWS_LOOKED_UP) {
        // All offsets are read before the first copy, to overlap the loads' latency.
        long long y[ROWS_LOOKED_UP];
#pragma unroll
        for (int k = 0; k < ROWS_LOOKED_UP; k++) y[k] = c.sources[N3 + first + (some + k) * ROWS_AT_ONCE];
#pragma unroll
        for (int k = 0; k < ROWS_LOOKED_UP; k++) {
            REAL *const cell = to + point_at(first + (some + k) * ROWS_AT_ONCE, c.column, slice);
            if (there && is_point(y[k]))
                copy_element(cell, a.in + from + index_of(y[k]));
            else
                *cell = REAL(0);
        }
    }
}
// Past an odd side, the grid is its negated mirror image, after subtraction of the constant value.
// A thread changes the elements that it copied itself.
__device__ __forceinline__ void apply_signs(const tile_arguments &a, const inputs &c, REAL *slice_data, int slice) {
    if (c.tile->from != NONE || !c.tile->slices) return;
    const long long z = c.sources[slice], x = c.sources[N3 + N1 + c.x];
    if (!is_point(z) || !is_point(x)) return;
#pragma unroll 1
    for (int row = c.row; row < N1; row += ROWS_AT_ONCE) {
        const long long y = c.sources[N3 + row];
        if (!is_point(y)) continue;
        REAL &at = slice_data[c.buffer + point_at(row, c.column, slice)];
        const REAL value = TILE_SHIFTED ? at - a.past : at;
        at = (is_minus(z) != is_minus(y)) != is_minus(x) ? -value : value;
    }
}

// ---- outputs

// A thread's column of outputs. A row of the second tile's outputs follows that of the first tile
// in memory, so neighbouring threads have the columns of both, one tile after the other.
struct outputs {
    long long to;     // Element offset of slice 0 and this thread's row 0.
    unsigned rows;    // FEW_ROWS: bit k is set if row k of this thread is an output.
    int first, last;  // Without FEW_ROWS: rows first to last - 1, relative to the thread's row.
    int last_slice, buffer, row, column;
    bool sees_side;
};
// A thread reads all of its values before it writes the first, to overlap the loads' latency.
constexpr bool FEW_ROWS = ROWS_OF_THREAD <= 16;
// Bit mask of this thread's rows before `row`.
__device__ __forceinline__ unsigned rows_before(int row) {
    return (1u << min(max(row + ROWS_AT_ONCE - 1, 0) / ROWS_AT_ONCE, ROWS_OF_THREAD)) - 1;
}
__device__ __forceinline__ outputs find_outputs(const tile_arguments &a, const pair &p, int t) {
    const int row = t / (2 * N2), second = t % (2 * N2) >= a.useful[2],
              column = a.lead[2] + t % (2 * N2) - second * a.useful[2];
    const tile_descriptor &s = p.at[second];
    const bool any = row < ROWS_AT_ONCE && column >= s.left && column < s.right;
    return {s.to + row * a.out_far[1] + column,
            FEW_ROWS && any ? rows_before(s.rows - row) & ~rows_before(a.lead[1] - row) : 0,
            a.lead[1],
            s.rows - row,
            any ? s.slices : 0,
            second * BUFFER,
            row,
            column,
            TILE_SHIFTED && s.from < 0};
}
__device__ __forceinline__ void store_outputs(const tile_arguments &a, const outputs &c, const REAL *slice_data,
                                              int slice, REAL scale) {
    if (slice < a.lead[0] || slice >= c.last_slice) return;
    const REAL past = c.sees_side ? a.past : REAL(0);
    const volatile REAL *const from = slice_data + c.buffer;
    const int first = ROWS_AT_ONCE == 1 ? 0 : c.row;
    STORE *to = a.out + c.to + slice * a.out_far[0];
    const long long far = ROWS_AT_ONCE * a.out_far[1];
    const auto store_one = [&](REAL value) {
        if (SCALED) value *= scale;
        *to = narrow<STORE>(TILE_SHIFTED ? value + past : value);
    };
    if (FEW_ROWS) {
        REAL values[ROWS_OF_THREAD];
#pragma unroll
        for (int k = 0; k < ROWS_OF_THREAD; k++) values[k] = from[point_at(first + k * ROWS_AT_ONCE, c.column, slice)];
#pragma unroll
        for (int k = 0; k < ROWS_OF_THREAD; k++, to += far)
            if (c.rows >> k & 1) store_one(values[k]);
        return;
    }
    to += c.first * a.out_far[1];
#pragma unroll 4
    for (int row = c.first; row < c.last; row += ROWS_AT_ONCE, to += far)
        store_one(from[point_at(first + row, c.column, slice)]);
}

// ---- outputs of a transposed 3D tile, from registers: see above

// A lane's outputs of one access: rows 2t, 2t+1, 2t+8, 2t+9.
struct quad {
    REAL row[4];
};
__device__ __forceinline__ quad quad_of(const tile (&c)[BLOCKS_2], REAL (tile::*part)[4], int right) {
    return {(c[0].*part)[right], (c[0].*part)[right + 1], (c[1].*part)[right], (c[1].*part)[right + 1]};
}
__device__ __forceinline__ quad either(bool first, const quad &x, const quad &y) {
    return {first ? x.row[0] : y.row[0], first ? x.row[1] : y.row[1], first ? x.row[2] : y.row[2],
            first ? x.row[3] : y.row[3]};
}
__device__ __forceinline__ void store_quad(const tile_arguments &a, const pair &p, int access, bool of_second,
                                           const quad &values, int slice, int lane, REAL scale) {
    const destination s = p.destinations[access * EIGHT + lane / 4];
    const bool sees_side = TILE_SHIFTED && p.at[of_second].from == NONE;
    const int first = lane % 4 * 2, end = slice < s.slices ? s.rows : 0;
    STORE *const to = a.out + s.to + slice * a.out_far[0] + first * a.out_far[1];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int row = k / 2 * 8 + k % 2;
        REAL value = SCALED ? values.row[k] * scale : values.row[k];
        // Without TILE_SHIFTED not even 0 is added: an addition in f64 waits for pending products.
        if (TILE_SHIFTED) value += sees_side ? a.past : REAL(0);
        store_if(first + row >= a.lead[1] && first + row < end, 1, to + row * a.out_far[1], narrow<STORE>(value));
    }
}
__device__ __forceinline__ void store_held(const tile_arguments &a, const pair &p, const tile (&c)[BLOCKS_2], int slice,
                                           int lane, REAL scale) {
    if (slice < a.lead[0] || slice >= a.lead[0] + a.useful[0]) return;
    const rotation at = find_rotation(a);
    const bool last = lane / 4 < at.last, next = lane / 4 < at.next;
    const quad right = quad_of(c, &tile::re, 2), left = quad_of(c, &tile::im, 0), beyond = quad_of(c, &tile::im, 2);
    const auto store_one = [&](int access, bool of_second, const quad &values) {
        store_quad(a, p, access, of_second, values, slice, lane, scale);
    };
    store_one(0, false, quad_of(c, &tile::re, 0));
    store_one(1, !last, either(last, right, left));
    store_one(2, next, either(next, beyond, right));
    // With sectors of 4 elements and at most 12 outputs, the first three accesses write all.
    if (SECTOR != 4 || a.useful[2] > 12) store_one(3, last || !next, either(last, left, either(next, right, beyond)));
}
