// Several steps of a stencil on planes and solids in one pass over memory, whatever its weights (FlashFFTStencil in 2D and 3D): tiles that
// overlap by what the steps' taps reach, each convolved with them in shared memory.
//
// A tile (tori.cuh) is the torus of product.cuh as it stands. Two tiles that follow each other are transformed together.
//
//     N3 = 1   inputs of the next pair are on their way to a room of their own; all threads have the only slice
//     N3 > 1   a warp has its slices, from the inputs to the outputs, in one place; other inputs follow as soon as outputs are given, and are waited
//              for slice by slice. Only what lies along z is exchanged between warps. Other blocks of the multiprocessor work while these wait
//     TURNED   a slice's outputs go from registers: its place is free for other inputs as soon as it has been read
//
// Registers are all taken in solids, and what does not fit comes back from far (inputs stream through the first-level cache): so where tiles lie
// and the symbol are in shared memory, and a thread's place is found anew for each slice. Measured: bench/results/2026-11-25-products.md.
#include "segment/product.cuh"
#include "segment/tori.cuh"

constexpr bool IN_PLACE = N3 > 1;
static_assert(is_given(((IN_PLACE ? 2 : 4) * ROOM + TOPS) * sizeof(REAL)), "segment_torus_shared of segment/product.c");
constexpr int TEAM = IN_PLACE ? 32 : THREADS;  // threads of a slice
constexpr int ROWS_AT_ONCE = TEAM / (2 * N2);  // of both tiles side by side
// There are cells that are read and are no points: of f16 all are, for the largest.
constexpr bool PADDED = SCALED || N1 % 16 || N2 % 8 || (N3 > 1 && N3 % 8);
static_assert(ROWS_AT_ONCE > 0 && N1 % ROWS_AT_ONCE == 0, "a team has rows of two tiles");

// A warp's slices, or a turn without one: then all have as many groups of copies under way.
constexpr int SLICES_OF_WARP = IN_PLACE ? (N3 + WARPS - 1) / WARPS : 1;
constexpr int LAST_SLICE = IN_PLACE ? SLICES_OF_WARP * WARPS : 1;

// ---- where a pair of tiles lies: a block's threads find it together

constexpr bool ODD = is_odd(Z_SIDE_LOW) || is_odd(Z_SIDE_HIGH) || is_odd(Y_SIDE_LOW) || is_odd(Y_SIDE_HIGH) ||
                     is_odd(X_SIDE_LOW) || is_odd(X_SIDE_HIGH);
constexpr bool ends(int side) { return side == NEAREST || is_odd(side); }  // points past it, or on it, are 0
constexpr bool ENDS = ends(Z_SIDE_LOW) || ends(Z_SIDE_HIGH) || ends(Y_SIDE_LOW) || ends(Y_SIDE_HIGH) ||
                      ends(X_SIDE_LOW) || ends(X_SIDE_HIGH);
constexpr int NONE = -1, PLACES = N3 + N1 + N2;
struct spot {
    long long from;  // elements to its first point in the input; NONE: it sees past a side, or is no tile
    long long to;    // in the output
    long long grid;  // to its grid's first point in the input
    long long rows_from;  // and from there to the tile's first row; NONE: rows lie past a side
    int left, right, rows, slices;  // outputs are columns from left on, and end before the others; no tile has none
};
// Where a lane's outputs of an access go, see give_held.
struct place {
    long long to;  // elements to slice 0, row 0; of a lane that has none no slice is an output
    int rows, slices;
};
constexpr int EIGHT = 8, GIVEN = TURNED ? 4 * EIGHT : 1;  // lanes of four accesses
struct pair {
    spot at[2];
    unsigned tile;  // the first one's number
    place given[GIVEN];
    // Of a tile that sees past a side: where the grid's extension has its slices, rows and columns, in elements. NONE: it is 0. Below
    // that: minus what lies at -2 less this.
    long long sources[2][PLACES];
};
__device__ __forceinline__ long long index_of(long long source) { return ODD && source < 0 ? -2 - source : source; }
__device__ __forceinline__ bool is_point(long long source) { return !ENDS || source != NONE; }
__device__ __forceinline__ bool is_minus(long long source) { return ODD && source < NONE; }
__device__ __forceinline__ long long find_source(const tile_arguments &a, const area &s, int i) {
    folded to;
    long long far = 1;
    if (i < N3)
        to = extend_by<Z_SIDE_LOW, Z_SIDE_HIGH>(s.z + i, a.n[0]), far = a.in_far[0];
    else if (i < N3 + N1)
        to = extend_by<Y_SIDE_LOW, Y_SIDE_HIGH>(s.y + i - N3, a.n[1]), far = a.in_far[1];
    else
        to = extend_by<X_SIDE_LOW, X_SIDE_HIGH>(s.x + i - N3 - N1, a.n[2]);
    return to.index < 0 ? NONE : to.minus ? -2 - to.index * far : to.index * far;
}
__device__ __forceinline__ spot find_spot(const tile_arguments &a, const area &s) {
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
// Columns of a turned solid's tiles lie turned around in its slices, see give_held.
struct turns {
    int first, second;  // the columns that come first in the tiles' slices
    int last, next;     // lanes g below this write the last columns of the first tile; of the second one
};
constexpr int SECTOR = 32 / static_cast<int>(sizeof(STORE));
__device__ __forceinline__ turns find_turns(const tile_arguments &a) {
    const int half = (a.before[2] - a.lead[2]) % SECTOR, last = min(max(a.useful[2] - half - 8, 0), 8);
    return {a.lead[2] + half, a.lead[2] - last, last, 8 - half};
}
// Lane g of access k: the tile whose column it writes, and which one, around.
struct column_of {
    bool second;
    int column;
};
__device__ __forceinline__ column_of find_column(const turns &at, int k, int g) {
    const bool last = g < at.last, next = g < at.next;
    const bool second = k == 1 ? !last : k == 2 ? next : k == 3 && (last || !next);
    const int right = k == 1 ? last : k == 2 ? 1 : k == 3 && !last;  // columns g + 8
    return {second, ((second ? at.second : at.first) + g + 8 * right) & (N2 - 1)};
}
__device__ __forceinline__ bool is_pair(const pair &p) { return p.at[0].slices > 0; }
// Of a turned solid one warp does so: the one that comes first to where all wait for each other.
constexpr int FINDERS = TURNED ? 32 : THREADS, FINDERS_OF_TILE = FINDERS / 2;
__device__ __forceinline__ void find_pair(const tile_arguments &a, unsigned tile, pair &to) {
    const int finder = threadIdx.x % FINDERS, second = finder / FINDERS_OF_TILE, first = finder % FINDERS_OF_TILE;
    const bool there = tile + second < a.all;
    const area s = find(a, there ? tile + second : 0);
#pragma unroll 1
    for (int k = there && !inside(a, s) ? first : PLACES; k < PLACES; k += FINDERS_OF_TILE)
        to.sources[second][k] = find_source(a, s, k);
    if (first == 0) to.at[second] = there ? find_spot(a, s) : spot{NONE, 0, 0, NONE, 0, 0, 0, 0};
    if (finder == 0) to.tile = tile;
    if (!TURNED) return;
    __syncwarp();
    const column_of c = find_column(find_turns(a), finder / EIGHT, finder % EIGHT);
    const spot &of = to.at[c.second];
    to.given[finder] = {of.to + c.column, of.rows, c.column >= of.left && c.column < of.right ? of.slices : 0};
}

// A thread's column of a pair of tiles.
struct inputs {
    const spot *tile;
    const long long *sources;  // the tile's
    int row, x, room, column;  // its first row, past the last one where it has none; its column; its tile's room, and where in it
};
__device__ __forceinline__ inputs find_inputs(const tile_arguments &a, const pair &p, int t) {
    const int row = t / (2 * N2), second = t % (2 * N2) >= N2, x = t % (2 * N2) - second * N2;
    return {&p.at[second], p.sources[second], row < ROWS_AT_ONCE ? row : N1, x, second * ROOM,
            TURNED ? (x - (second ? find_turns(a).second : find_turns(a).first)) & (N2 - 1) : x};
}
constexpr int ROWS_OF_THREAD = N1 / ROWS_AT_ONCE, ROWS_LOOKED_UP = ROWS_OF_THREAD % 8 ? 1 : 8;
// A slice's inputs start on their way to its place in both rooms; their sign is for later.
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
        long long y[ROWS_LOOKED_UP];  // all of them are read before the first copy: a load waits long
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
// Past an odd side the grid is minus its mirror image; less what is past constant sides. A thread changes what it has fetched itself.
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

// A thread's column of outputs. Of two neighbours a row's lie side by side in memory: threads have them so.
struct outputs {
    long long to;     // elements to slice 0, this thread's first row of all
    unsigned rows;    // FEW_ROWS: bit k: row k of this thread is one of them
    int first, last;  // else rows from first to before last, counted from that one
    int last_slice, room, row, column;
    bool sees_side;
};
constexpr bool FEW_ROWS = ROWS_OF_THREAD <= 16;  // all of them are read before the first is written: a load waits long
// Bits of a thread's rows before this one.
__device__ __forceinline__ unsigned rows_before(int row) {
    return (1u << min(max(row + ROWS_AT_ONCE - 1, 0) / ROWS_AT_ONCE, ROWS_OF_THREAD)) - 1;
}
__device__ __forceinline__ outputs find_outputs(const tile_arguments &a, const pair &p, int t) {
    const int width = IN_PLACE ? N2 : a.useful[2], row = t / (2 * N2), second = t % (2 * N2) >= width,
              column = a.lead[2] + t % (2 * N2) - second * width;
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
    for (int row = c.first; row < c.last; row += ROWS_AT_ONCE, to += far) give_one(from[point_at(first + row, c.column, slice)]);
}

// Of a turned solid outputs go straight from registers: lane (g, t) of a fragment has rows 2t and 2t+1, and columns g and g + 8, of both tiles. So that
// eight lanes write whole sectors, a tile's columns lie turned around in its slices, and lanes write the last ones of a tile with the first ones of the next. Of
// tiles of 12 outputs, whose first one is the second half of a sector (each digit: a pair of columns, the bars: sectors):
//
//     outputs in memory   .0|12|34|50|12|34|5.         the first tile's, the second one's
//     first access         |12|34|                     columns g of the first tile
//     second                    |50|12|                columns g + 8 of the first tile where g < 2, else g of the second one
//     third               .0|             |34|5.       columns g + 8 of the second tile where g < 6, else of the first one
//     fourth                                           what is left; of 12 outputs nothing
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
        if (TORUS_SHIFTED) value += sees_side ? a.past : REAL(0);  // sums of f64 wait for its products
        store_if(first + row >= a.lead[1] && first + row < end, to + row * a.out_far[1], narrow<STORE>(value));
    }
}
__device__ __forceinline__ void give_held(const tile_arguments &a, const pair &p, const tile (&c)[BLOCKS_2], int slice,
                                          int lane, REAL scale) {
    if (slice < a.lead[0] || slice >= a.lead[0] + a.useful[0]) return;
    const turns at = find_turns(a);
    const bool last = lane / 4 < at.last, next = lane / 4 < at.next;
    const quad right = quad_of(c, &tile::re, 2), left = quad_of(c, &tile::im, 0), beyond = quad_of(c, &tile::im, 2);
    const auto give_one = [&](int access, bool of_second, const quad &values) {
        give_quad(a, p, access, of_second, values, slice, lane, scale);
    };
    give_one(0, false, quad_of(c, &tile::re, 0));
    give_one(1, !last, either(last, right, left));
    give_one(2, next, either(next, beyond, right));
    if (SECTOR != 4 || a.useful[2] > 12)
        give_one(3, last || !next, either(last, left, either(next, right, beyond)));
}

// ---- a pair of tiles

__device__ __forceinline__ void wait_for_team() {
    if (TEAM > 32)
        __syncthreads();
    else
        __syncwarp();
}
// A slice's inputs have landed; other slices' may still be under way.
__device__ __forceinline__ void receive(const tile_arguments &a, const pair &p, REAL *place, int slice, int t) {
    if (slice < WARPS)
        copy_async_wait<SLICES_OF_WARP - 1>();
    else
        copy_async_wait<0>();
    if (ODD || TORUS_SHIFTED) change(a, find_inputs(a, p, t), place, slice);
}
__device__ __forceinline__ void fetch_slice(const tile_arguments &a, const pair &p, REAL *rooms, int slice, int t) {
    if (slice < N3) fetch(a, find_inputs(a, p, t), rooms + slice_at(slice), slice);
    copy_async_commit();
}
__device__ __forceinline__ void fetch_all(const tile_arguments &a, const pair &p, REAL *rooms, int warp, int t) {
#pragma unroll 1
    for (int slice = first_slice(warp); slice < LAST_SLICE; slice += WARPS) fetch_slice(a, p, rooms, slice, t);
}
// Back from frequencies to the outputs of a slice, whose place the next pair's inputs take.
__device__ __forceinline__ void finish_slice(const tile_arguments &a, const pair &p, const pair &next, matrices &f,
                                             REAL *rooms, tile (&held)[BLOCKS_2], int slice, int lane, REAL scale) {
    REAL *const place = rooms + slice_at(slice);
    transform_rows(held, place, place + ROOM, f.first, slice, lane, REAL(1));
    __syncwarp();
    fetch_slice(a, next, rooms, slice, lane);
    transform_second(held, f);
    keep_here(lane);
    give_held(a, p, held, slice, lane, scale);
}

constexpr int TURNS = 3;  // pairs that are described: this turn's, the next one, and what others may still give, of the turn before
__device__ __forceinline__ unsigned after(unsigned here) { return here == TURNS - 1 ? 0 : here + 1; }

// Is this warp the first one of its block that comes here in this turn? `arrived` counts from 0 on.
__device__ __forceinline__ bool comes_first(unsigned &arrived) {
    unsigned before = 0;
    if (threadIdx.x % 32 == 0) before = atomicAdd(&arrived, 1u);
    return __shfl_sync(~0u, before, 0) % WARPS == 0;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_torus(const tile_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    __shared__ pair pairs[TURNS];
    __shared__ REAL eighth[TURNED ? EIGHTH : 1];
    REAL *const raw = reinterpret_cast<REAL *>(stn_shared), *const work = IN_PLACE ? raw : raw + 2 * ROOM;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int t = IN_PLACE ? lane : threadIdx.x;
    for (int i = threadIdx.x; PADDED && i < 2 * ROOM; i += THREADS) raw[i] = REAL(0);  // what no point lies in stays 0
    if (TURNED) load_eighth(eighth, a.symbol);
    __shared__ unsigned arrived;
    if (threadIdx.x == 0) arrived = 0;
    if (!TURNED || warp == 0) find_pair(a, 2 * blockIdx.x, pairs[0]);
    __syncthreads();
    tile held[BLOCKS_2];
    matrices f = find_matrices(a.operands, warp, lane);
    unsigned here = 0;
    fetch_all(a, pairs[0], raw, warp, t);
#pragma unroll 1
    for (; is_pair(pairs[here]); here = after(here)) {
        scales scale = {REAL(1), REAL(1)};
        keep_here(t);
        if (SCALED) {  // all look for the largest
            for (int slice = first_slice(warp); slice < N3; slice += WARPS)
                receive(a, pairs[here], raw + slice_at(slice), slice, t);
            __syncthreads();
            scale = find_scales(a.operands, raw, work + 2 * ROOM, threadIdx.x);
        }
        before_slices(f, strip_of(warp), lane);
#pragma unroll 1
        for (int slice = first_slice(warp); slice < N3; slice += WARPS) {
            const int place = slice_at(slice);
            if (!SCALED) {
                receive(a, pairs[here], raw + place, slice, t);
                wait_for_team();  // and the last outputs are given
            }
            forward_slice(f, a.symbol, raw + place, work + place, held, slice, lane, warp, scale.in);
        }
        if (IN_PLACE) before_middle(f, lane);
        if (!TURNED || comes_first(arrived)) find_pair(a, pairs[here].tile + 2 * gridDim.x, pairs[after(here)]);
        wait_for_all();
        if (IN_PLACE) {
            middle(f, TURNED ? eighth : a.symbol, work, lane, warp);
            __syncthreads();
        } else {
            fetch_all(a, pairs[after(here)], raw, warp, t);
        }
        before_slices(f, strip_of(warp), lane);
#pragma unroll 1
        for (int slice = first_slice(warp); slice < LAST_SLICE; slice += WARPS) {
            if constexpr (TURNED) {
                finish_slice(a, pairs[here], pairs[after(here)], f, work, held, slice, lane, scale.out);
                continue;
            }
            const int place = slice_at(slice);
            if (slice < N3) {
                back_slice(f, a.symbol, work + place, held, slice, lane, warp);
                wait_for_team();
                keep_here(t);
                give(a, find_outputs(a, pairs[here], t), work + place, slice, scale.out);
            }
            if (!IN_PLACE) continue;
            __syncwarp();
            fetch_slice(a, pairs[after(here)], raw, slice, t);
        }
    }
}
