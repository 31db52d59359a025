// Tile I/O: copies the inputs of a pair of tiles into shared memory, and writes their outputs from
// shared memory or registers; see segment_torus.cu.
#pragma once
#include "segment/pairs.cuh"

constexpr bool IN_PLACE = N3 > 1;
constexpr int TEAM = IN_PLACE ? 32 : THREADS;  // Threads that copy a slice.
constexpr int ROWS_AT_ONCE = TEAM / (2 * N2);  // Rows of both tiles, side by side.
static_assert(ROWS_AT_ONCE > 0 && N1 % ROWS_AT_ONCE == 0, "a team has rows of two tiles");

// ---- inputs

// A thread's column of a pair of tiles.
struct inputs {
    const spot *tile;
    const long long *sources;  // Of the tile.
    int row, x;                // row: its first row, N1 if it has none. x: its column.
    int room, column;          // Offset of its tile in shared memory, and the column there.
};
__device__ __forceinline__ inputs find_inputs(const tile_arguments &a, const pair &p, int t) {
    const int row = t / (2 * N2), second = t % (2 * N2) >= N2, x = t % (2 * N2) - second * N2;
    return {&p.at[second],
            p.sources[second],
            row < ROWS_AT_ONCE ? row : N1,
            x,
            second * ROOM,
            TURNED ? (x - (second ? find_rotation(a).second : find_rotation(a).first)) & (N2 - 1) : x};
}
constexpr int ROWS_OF_THREAD = N1 / ROWS_AT_ONCE, ROWS_LOOKED_UP = ROWS_OF_THREAD % 8 ? 1 : 8;
// Starts asynchronous copies of a slice of both tiles. Signs are applied later.
__device__ __forceinline__ void fetch(const tile_arguments &a, const inputs &c, REAL *place, int slice) {
    if (c.row >= ROWS_AT_ONCE) return;
    const int first = ROWS_AT_ONCE == 1 ? 0 : c.row;
    REAL *const to = place + c.room;
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
        // All are read before the first copy, to overlap the loads' latency.
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
__device__ __forceinline__ void change(const tile_arguments &a, const inputs &c, REAL *place, int slice) {
    if (c.tile->from != NONE || !c.tile->slices) return;
    const long long z = c.sources[slice], x = c.sources[N3 + N1 + c.x];
    if (!is_point(z) || !is_point(x)) return;
#pragma unroll 1
    for (int row = c.row; row < N1; row += ROWS_AT_ONCE) {
        const long long y = c.sources[N3 + row];
        if (!is_point(y)) continue;
        REAL &at = place[c.room + point_at(row, c.column, slice)];
        const REAL value = TORUS_SHIFTED ? at - a.past : at;
        at = (is_minus(z) != is_minus(y)) != is_minus(x) ? -value : value;
    }
}

// ---- outputs

// A thread's column of outputs. Rows of two neighbouring tiles are adjacent in memory, and threads
// are assigned accordingly.
struct outputs {
    long long to;     // Element offset of slice 0 and this thread's row 0.
    unsigned rows;    // FEW_ROWS: bit k is set if row k of this thread is an output.
    int first, last;  // Else rows first to last - 1, relative to the thread's row.
    int last_slice, room, row, column;
    bool sees_side;
};
// All are read before the first is written, to overlap the loads' latency.
constexpr bool FEW_ROWS = ROWS_OF_THREAD <= 16;
// Bit mask of this thread's rows before `row`.
__device__ __forceinline__ unsigned rows_before(int row) {
    return (1u << min(max(row + ROWS_AT_ONCE - 1, 0) / ROWS_AT_ONCE, ROWS_OF_THREAD)) - 1;
}
__device__ __forceinline__ outputs find_outputs(const tile_arguments &a, const pair &p, int t) {
    const int row = t / (2 * N2), second = t % (2 * N2) >= a.useful[2],
              column = a.lead[2] + t % (2 * N2) - second * a.useful[2];
    const spot &s = p.at[second];
    const bool any = row < ROWS_AT_ONCE && column >= s.left && column < s.right;
    return {s.to + row * a.out_far[1] + column,
            FEW_ROWS && any ? rows_before(s.rows - row) & ~rows_before(a.lead[1] - row) : 0,
            a.lead[1],
            s.rows - row,
            any ? s.slices : 0,
            second * ROOM,
            row,
            column,
            TORUS_SHIFTED && s.from < 0};
}
__device__ __forceinline__ void give(const tile_arguments &a, const outputs &c, const REAL *place, int slice,
                                     REAL scale) {
    if (slice < a.lead[0] || slice >= c.last_slice) return;
    const REAL past = c.sees_side ? a.past : REAL(0);
    const volatile REAL *const from = place + c.room;
    const int first = ROWS_AT_ONCE == 1 ? 0 : c.row;
    STORE *to = a.out + c.to + slice * a.out_far[0];
    const long long far = ROWS_AT_ONCE * a.out_far[1];
    const auto give_one = [&](REAL value) {
        if (SCALED) value *= scale;
        *to = narrow<STORE>(TORUS_SHIFTED ? value + past : value);
    };
    if (FEW_ROWS) {
        REAL values[ROWS_OF_THREAD];
#pragma unroll
        for (int k = 0; k < ROWS_OF_THREAD; k++) values[k] = from[point_at(first + k * ROWS_AT_ONCE, c.column, slice)];
#pragma unroll
        for (int k = 0; k < ROWS_OF_THREAD; k++, to += far)
            if (c.rows >> k & 1) give_one(values[k]);
        return;
    }
    to += c.first * a.out_far[1];
#pragma unroll 4
    for (int row = c.first; row < c.last; row += ROWS_AT_ONCE, to += far)
        give_one(from[point_at(first + row, c.column, slice)]);
}

// ---- outputs of a transposed 3D tile, from registers: see pairs.cuh

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
__device__ __forceinline__ void give_quad(const tile_arguments &a, const pair &p, int access, bool of_second,
                                          const quad &values, int slice, int lane, REAL scale) {
    const place s = p.given[access * EIGHT + lane / 4];
    const bool sees_side = TORUS_SHIFTED && p.at[of_second].from == NONE;
    const int first = lane % 4 * 2, end = slice < s.slices ? s.rows : 0;
    STORE *const to = a.out + s.to + slice * a.out_far[0] + first * a.out_far[1];
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int row = k / 2 * 8 + k % 2;
        REAL value = SCALED ? values.row[k] * scale : values.row[k];
        // Sums of f64 wait for its products.
        if (TORUS_SHIFTED) value += sees_side ? a.past : REAL(0);
        store_if(first + row >= a.lead[1] && first + row < end, to + row * a.out_far[1], narrow<STORE>(value));
    }
}
__device__ __forceinline__ void give_held(const tile_arguments &a, const pair &p, const tile (&c)[BLOCKS_2], int slice,
                                          int lane, REAL scale) {
    if (slice < a.lead[0] || slice >= a.lead[0] + a.useful[0]) return;
    const rotation at = find_rotation(a);
    const bool last = lane / 4 < at.last, next = lane / 4 < at.next;
    const quad right = quad_of(c, &tile::re, 2), left = quad_of(c, &tile::im, 0), beyond = quad_of(c, &tile::im, 2);
    const auto give_one = [&](int access, bool of_second, const quad &values) {
        give_quad(a, p, access, of_second, values, slice, lane, scale);
    };
    give_one(0, false, quad_of(c, &tile::re, 0));
    give_one(1, !last, either(last, right, left));
    give_one(2, next, either(next, beyond, right));
    // With sectors of 4 elements and at most 12 outputs, the first three accesses write all.
    if (SECTOR != 4 || a.useful[2] > 12) give_one(3, last || !next, either(last, left, either(next, right, beyond)));
}
