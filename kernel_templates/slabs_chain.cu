// FUSED steps of the margins at the faces of a grid, for weights that are products of one factor an axis, as chains of products
// on the tensor cores: the parts of the margins from which FUSED steps reach no other face (slabs_tile takes the others).
//
// With K = Kn K1 K2, steps normal to the face (Kn) and along it (K1, K2), all of K1 and K2 can come first, whatever lies past the
// face: v(t) = (K1 K2)^(FUSED - t) u(t) makes steps of Kn alone. So, with matrices that the host multiplies out,
//
//     out(y) = sum over rows i of  M(y, i) * (K1 K2)^FUSED in(i)               y, i: rows counted from the face inwards
//            + sum over frozen rows j, l = 1 .. FUSED-1 of  N(y, j, l) * (K1 K2)^l in(j)
//            + what constants past the face add
//
//         the face    ----+--------------+----   A warp owns 16 points of axis 1, as many rows as the margin has, and
//                         |   outputs    |       walks along axis 2 (in 3D):
//                       / |              | \.
//                      /  +--------------+  \.       Z = K1^FUSED X M'      bands of K1 times blocks of 8 rows, times M'
//                     /                      \.        + H L                columns from ROWS on: rows j, smoothed l times,
//                    +------------------------+.                            as a Hankel matrix of their points times L
//                                                   sum over axis 2         each column of Z by its own taps of K2
//                                                   out = Z F               columns past ROWS by N; the others as they are
//
// Every product's accumulator is the left factor of the next one as it stands (device/fragment.cuh). Matrices come in blocks
// of 8 x 8, a lane's two elements side by side: strategies/slabs_chain.c writes them, in the order of `chain`'s offsets.
#include "device/band.cuh"
#include "params.cuh"

constexpr int FACES = 6, LEVELS = FUSED - 1;  // at least 1: a frozen row has as many columns
constexpr int SIDE[3][2] = {{Z_SIDE_LOW, Z_SIDE_HIGH}, {Y_SIDE_LOW, Y_SIDE_HIGH}, {X_SIDE_LOW, X_SIDE_HIGH}};
constexpr int TAPS_REACH[3][2] = {{Z_LOW, Z_HIGH}, {Y_LOW, Y_HIGH}, {X_LOW, X_HIGH}};
__device__ constexpr bool has_face(int axis, int side) {
    return SIDE[axis][side] != WRAP && TAPS_REACH[axis][side] > 0;
}
__device__ constexpr int most(int a, int b) { return a > b ? a : b; }
__device__ constexpr int blocks_of(int count) { return (count + 7) / 8; }

struct chain_face {
    const double *tables;
    long long first, tiles, segment;  // of its warps, among those of a grid; along axis 1; points of a walk along axis 2
    int axis, side, rows, frozen;
};
struct chain_arguments {
    const double *in;
    double *out;
    long long in_stride[3], out_stride[3], in_batch, out_batch;
    long long n[3], low[3], high[3];  // the points that no other face reaches: low <= index < high
    long long warps, batch, faces;    // warps of a grid
    chain_face at[FACES];
};

// The chain for faces normal to AXIS: extents of its matrices, and where they lie among the tables.
template <int AXIS>
struct chain {
    static constexpr int AXIS_1 = AXIS == 2 ? 1 : 2, AXIS_2 = 3 - AXIS - AXIS_1;
    static constexpr int LOW_1 = TAPS_REACH[AXIS_1][0], HIGH_1 = TAPS_REACH[AXIS_1][1];
    static constexpr int LOW_2 = TAPS_REACH[AXIS_2][0], HIGH_2 = TAPS_REACH[AXIS_2][1];
    static constexpr int LEAD = FUSED * LOW_1 + (!has_face(AXIS_1, 0) ? FUSED * LOW_1 % 2 : 0);  // tiles begin at pairs
    static constexpr int BANDS = blocks_of(16 + LEAD + FUSED * HIGH_1);                          // of 8 points of axis 1
    static constexpr int DEPTH = FUSED * (TAPS_REACH[AXIS][0] + TAPS_REACH[AXIS][1]), DEPTHS = blocks_of(DEPTH);
    static constexpr int ROWS = FUSED * most(has_face(AXIS, 0) ? TAPS_REACH[AXIS][0] : 0,
                                             has_face(AXIS, 1) ? TAPS_REACH[AXIS][1] : 0);
    static constexpr int OUTS = blocks_of(ROWS);
    static constexpr int FROZEN = most(SIDE[AXIS][0] == FIXED ? TAPS_REACH[AXIS][0] : 0, SIDE[AXIS][1] == FIXED ? TAPS_REACH[AXIS][1] : 0);
    static constexpr int COLUMNS = blocks_of(ROWS + FROZEN * LEVELS);  // of Z, in blocks
    static constexpr int MIXED = FROZEN ? ROWS / 8 : OUTS;             // the first one that not only has rows
    static constexpr int TAPS_L = LEVELS * (LOW_1 + HIGH_1) + 1, HANKEL = blocks_of(TAPS_L);
    static constexpr int TAPS_2 = FUSED * (LOW_2 + HIGH_2) + 1;
    static constexpr bool WALKS = TAPS_2 > 1, CONSTANTS = SIDE[AXIS][0] == CONSTANT || SIDE[AXIS][1] == CONSTANT;
    static_assert(!WALKS || COLUMNS == 1, "a walk keeps one block of columns for every tap along axis 2");
    // Among the tables:
    static constexpr int BAND_AT = 0, TAPS_AT = BAND_AT + 8 * BANDS + 16, VALUE_AT = TAPS_AT + (WALKS ? 8 * TAPS_2 : 0);
    static constexpr int M_AT = VALUE_AT + 8 * OUTS, F_AT = M_AT + 64 * DEPTHS * OUTS;
    static constexpr int L_AT = F_AT + (FROZEN ? 64 * COLUMNS * OUTS : 0);
};

// Two elements of a block of a right factor.
struct pair {
    double e[2];
};
__device__ __forceinline__ pair read_pair(const double *at) {
    pair p;
    load_run(p.e, at);
    return p;
}
__device__ __forceinline__ void multiply(double (&sum)[4], const pair &top, const pair &bottom, const pair &right) {
    const double left[4] = {top.e[0], bottom.e[0], top.e[1], bottom.e[1]};
    product(sum, left, right.e);
}
__device__ __forceinline__ void multiply(double (&sum)[4], const double (&left)[4], const pair &right) {
    const double a[4] = {left[0], left[2], left[1], left[3]};
    product(sum, a, right.e);
}

// Whether a block of M, F or L holds anything: what does not is skipped, so that a NaN stays near.
template <int AXIS>
__device__ constexpr bool m_used(int depth, int out) {  // no row looks further from the face than so many
    return 8 * depth <= 8 * out + 7 + FUSED * most(TAPS_REACH[AXIS][0], TAPS_REACH[AXIS][1]);
}
template <int AXIS>
__device__ constexpr int first_column(int frozen, int column) {  // of a frozen row's levels within a block of columns
    return most(8 * column, chain<AXIS>::ROWS + frozen * LEVELS);
}
template <int AXIS>
__device__ constexpr int end_column(int frozen, int column) {
    const int end = chain<AXIS>::ROWS + (frozen + 1) * LEVELS;
    return end < 8 * column + 8 ? end : 8 * column + 8;
}
template <int AXIS>
__device__ constexpr bool l_used(int frozen, int column, int k) {
    const int end = end_column<AXIS>(frozen, column), level = end - chain<AXIS>::ROWS - frozen * LEVELS;
    return first_column<AXIS>(frozen, column) < end && 8 * k + 7 >= (LEVELS - level) * chain<AXIS>::LOW_1 &&
           8 * k <= LEVELS * chain<AXIS>::LOW_1 + level * chain<AXIS>::HIGH_1;
}

// Where a warp works.
struct spot {
    const double *in;  // of its batch
    double *out;
    long long x, z, count;  // first point along axis 1, along axis 2, how many of these
    int g, t;               // of its lane
};

// Points along axis 1, from where a lane's part of a block begins; those of block k lie 8 k further. Past an end they are folded,
// or, where nobody needs them, the last one.
template <int AXIS, int COUNT, bool PAIRED>
__device__ __forceinline__ void read_blocks(pair (&to)[COUNT], const chain_arguments &a, const double *row, long long first,
                                            int lane) {
    typedef chain<AXIS> own;
    const long long stride = AXIS == 2 ? a.in_stride[1] : 1;
    const int n = static_cast<int>(a.n[own::AXIS_1]), at = static_cast<int>(first) + lane;
    if (first >= 0 && first + 8 * COUNT + (PAIRED ? 0 : 8) <= n) {
        const double *from = row + at * stride;
#pragma unroll
        for (int k = 0; k < COUNT; k++, from += 8 * stride)
            if (PAIRED && AXIS != 2 && VECTOR > 1)
                load_run(to[k].e, from);
            else
                to[k].e[0] = from[0], to[k].e[1] = from[stride];
    } else {
#pragma unroll
        for (int k = 0; k < COUNT; k++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int x = at + 8 * k + e;
                const bool wraps = SIDE[own::AXIS_1][0] == WRAP;
                to[k].e[e] = row[(!wraps ? min(x, n - 1) : x < 0 ? x + n : x < n ? x : x - n) * stride];
            }
    }
}

// Row i of the margin at point z of axis 2.
template <int AXIS>
__device__ __forceinline__ const double *row_of(const chain_arguments &a, const chain_face &f, const spot &s, int i,
                                                long long z) {
    constexpr int AXIS_2 = chain<AXIS>::AXIS_2;
    const long long n = a.n[AXIS_2], y = f.side ? a.n[AXIS] - 1 - i : i;
    if (SIDE[AXIS_2][0] == WRAP) z = z < 0 ? z + n : z >= n ? z - n : z;
    return s.in + y * a.in_stride[AXIS] + z * a.in_stride[AXIS_2];
}

// What a warp reads of the grid: a block of rows; a frozen row as a Hankel matrix, where block k of the lower half is block
// k + 1 of the upper one.
template <int AXIS>
struct rows {
    pair block[chain<AXIS>::BANDS];
    __device__ __forceinline__ void read(const chain_arguments &a, const chain_face &f, const spot &s, int depth,
                                         long long z) {
        typedef chain<AXIS> own;
        const int i = 8 * depth + s.g < own::DEPTH ? 8 * depth + s.g : own::DEPTH - 1;
        read_blocks<AXIS, own::BANDS, true>(block, a, row_of<AXIS>(a, f, s, i, z), s.x - own::LEAD, 2 * s.t);
    }
};
template <int AXIS>
struct hankel {
    pair block[chain<AXIS>::HANKEL + 1];
    __device__ __forceinline__ void read(const chain_arguments &a, const chain_face &f, const spot &s, int frozen,
                                         long long z) {
        typedef chain<AXIS> own;
        read_blocks<AXIS, own::HANKEL + 1, false>(block, a, row_of<AXIS>(a, f, s, frozen, z),
                                                  s.x - LEVELS * own::LOW_1, s.g + 2 * s.t);
    }
};

// Z += K1^FUSED X M' for one block of rows.
template <int AXIS>
__device__ __forceinline__ void add_rows(double (&z)[chain<AXIS>::OUTS][4], const pair (&band)[chain<AXIS>::BANDS],
                                         const rows<AXIS> &x, int depth, const double *tables, int lane) {
    typedef chain<AXIS> own;
    double smooth[2][4] = {};  // two, that do not wait for each other
#pragma unroll
    for (int k = 0; k < own::BANDS; k++)  // rows 8 to 15 of a block of the band are rows 0 to 7 of the one before
        multiply(smooth[k % 2], band[k], band[k ? k - 1 : own::BANDS - 1], x.block[k]);
    add_tile(smooth[0], smooth[1]);
#pragma unroll
    for (int out = 0; out < own::OUTS; out++)
        if (m_used<AXIS>(depth, out))
            multiply(z[out], smooth[0], read_pair(tables + own::M_AT + 64 * (depth * own::OUTS + out) + 2 * lane));
}

template <int AXIS>
__device__ __forceinline__ void multiply_levels(double (&sum)[4], const hankel<AXIS> &points, int frozen, int column,
                                                const double *tables, int lane) {
    typedef chain<AXIS> own;
#pragma unroll
    for (int k = 0; k < own::HANKEL; k++)
        if (l_used<AXIS>(frozen, column, k))
            multiply(sum, points.block[k], points.block[k + 1],
                     read_pair(tables + own::L_AT + 64 * ((frozen * own::COLUMNS + column) * own::HANKEL + k) + 2 * lane));
}

// Z gets its columns of a frozen row, those of whole blocks right through F.
template <int AXIS>
__device__ __forceinline__ void add_frozen(double (&z)[chain<AXIS>::OUTS][4], const hankel<AXIS> &points, int frozen,
                                           const double *tables, int lane) {
    typedef chain<AXIS> own;
#pragma unroll
    for (int column = own::MIXED; column < own::COLUMNS; column++) {
        if (first_column<AXIS>(frozen, column) >= end_column<AXIS>(frozen, column)) continue;
        if (column < own::OUTS) {
            multiply_levels<AXIS>(z[column < own::OUTS ? column : 0], points, frozen, column, tables, lane);
            continue;
        }
        double levels[4] = {};
        multiply_levels<AXIS>(levels, points, frozen, column, tables, lane);
#pragma unroll
        for (int out = 0; out < own::OUTS; out++)
            multiply(z[out], levels, read_pair(tables + own::F_AT + 64 * (column * own::OUTS + out) + 2 * lane));
    }
}

// The block of columns that has both, through F.
template <int AXIS>
__device__ __forceinline__ void resolve_mixed(double (&z)[chain<AXIS>::OUTS][4], const double *tables, int lane) {
    typedef chain<AXIS> own;
    if (own::MIXED >= own::OUTS) return;
    double mixed[4];
#pragma unroll
    for (int e = 0; e < 4; e++) mixed[e] = z[own::OUTS - 1][e], z[own::OUTS - 1][e] = 0;
#pragma unroll
    for (int out = 0; out < own::OUTS; out++)
        multiply(z[out], mixed,
                 read_pair(tables + own::F_AT + 64 * ((own::OUTS - 1) * own::OUTS + out) + 2 * lane));
}

template <int AXIS>
__device__ __forceinline__ void store_rows(const chain_arguments &a, const chain_face &f, const spot &s, long long at,
                                           const double (&z)[chain<AXIS>::OUTS][4]) {
    typedef chain<AXIS> own;
    const long long y0 = f.side ? a.n[AXIS] - 1 : 0;
    const double *const in = s.in + y0 * a.in_stride[AXIS] + at * a.in_stride[own::AXIS_2];
    double *const out = s.out + y0 * a.out_stride[AXIS] + at * a.out_stride[own::AXIS_2];
#pragma unroll
    for (int column = 0; column < own::OUTS; column++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int y = 8 * column + 2 * s.t + e % 2, inwards = f.side ? -y : y;
            const long long x = s.x + s.g + e / 2 * 8;
            if (y >= f.rows || x >= a.high[own::AXIS_1]) continue;
            double value = z[column][e];
            if (own::CONSTANTS) value += f.tables[own::VALUE_AT + y];
            if (y < f.frozen) value = in[inwards * a.in_stride[AXIS] + x * a.in_stride[own::AXIS_1]];
            out[inwards * a.out_stride[AXIS] + x * a.out_stride[own::AXIS_1]] = value;
        }
}

// Without an axis 2: block by block of rows, each asked for one block ahead.
template <int AXIS>
__device__ __forceinline__ void margin_of_lines(const chain_arguments &a, const chain_face &f, const spot &s,
                                                const pair (&band)[chain<AXIS>::BANDS], int lane) {
    typedef chain<AXIS> own;
    rows<AXIS> x[2];
    hankel<AXIS> points[own::FROZEN ? 2 : 1];
    double z[own::OUTS][4] = {};
    x[0].read(a, f, s, 0, s.z);
#pragma unroll 1
    for (int depth = 0; depth < own::DEPTHS; depth += 2) {
        if (depth + 1 < own::DEPTHS) x[1].read(a, f, s, depth + 1, s.z);
        add_rows<AXIS>(z, band, x[0], depth, f.tables, lane);
        if (depth + 2 < own::DEPTHS) x[0].read(a, f, s, depth + 2, s.z);
        if (depth + 1 < own::DEPTHS) add_rows<AXIS>(z, band, x[1], depth + 1, f.tables, lane);
    }
    if (own::FROZEN && f.frozen) points[0].read(a, f, s, 0, s.z);
#pragma unroll
    for (int j = 0; j < own::FROZEN; j++) {
        if (j >= f.frozen) break;
        if (j + 1 < f.frozen) points[(j + 1) % 2].read(a, f, s, j + 1, s.z);
        add_frozen<AXIS>(z, points[j % 2], j, f.tables, lane);
    }
    resolve_mixed<AXIS>(z, f.tables, lane);
    wait_for_launch_before();  // which may write nonsense where the margins are
    store_rows<AXIS>(a, f, s, s.z, z);
}

// All that a walk reads at one point of axis 2.
template <int AXIS>
struct slice {
    rows<AXIS> x[chain<AXIS>::DEPTHS];
    hankel<AXIS> points[chain<AXIS>::FROZEN ? chain<AXIS>::FROZEN : 1];
    __device__ __forceinline__ void read(const chain_arguments &a, const chain_face &f, const spot &s, long long z) {
#pragma unroll
        for (int depth = 0; depth < chain<AXIS>::DEPTHS; depth++) x[depth].read(a, f, s, depth, z);
#pragma unroll
        for (int j = 0; j < chain<AXIS>::FROZEN; j++)
            if (j < f.frozen) points[j].read(a, f, s, j, z);
    }
};

// With an axis 2: a walk along it, which reads AHEAD points ahead.
template <int AXIS>
__device__ __forceinline__ void margin_of_walks(const chain_arguments &a, const chain_face &f, const spot &s,
                                                const pair (&band)[chain<AXIS>::BANDS], int lane) {
    typedef chain<AXIS> own;
    constexpr int AHEAD = 1;
    double sum[own::TAPS_2][4] = {};
    pair tap[own::TAPS_2];
#pragma unroll
    for (int k = 0; k < own::TAPS_2; k++) tap[k] = read_pair(f.tables + own::TAPS_AT + 8 * k + 2 * s.t);
    slice<AXIS> next[AHEAD + 1];
    const long long first = 1 - own::TAPS_2, shift = s.z + FUSED * own::HIGH_2;
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        if (first + k < s.count) next[k].read(a, f, s, shift + first + k);
    bool waited = false;
#pragma unroll 1
    for (long long i = first; i < s.count; i++) {
        if (i + AHEAD < s.count) next[AHEAD].read(a, f, s, shift + i + AHEAD);
        double z[1][4] = {};
#pragma unroll
        for (int depth = 0; depth < own::DEPTHS; depth++)
            add_rows<AXIS>(z, band, next[0].x[depth], depth, f.tables, lane);
#pragma unroll
        for (int j = 0; j < own::FROZEN; j++)
            if (j < f.frozen) add_frozen<AXIS>(z, next[0].points[j], j, f.tables, lane);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) next[k] = next[k + 1];
#pragma unroll
        for (int k = 0; k < own::TAPS_2; k++)  // sum k goes on as sum k - 1
#pragma unroll
            for (int e = 0; e < 4; e++)
                sum[k][e] = tap[own::TAPS_2 - 1 - k].e[e % 2] * z[0][e] +
                            (k + 1 < own::TAPS_2 ? sum[k + 1 < own::TAPS_2 ? k + 1 : 0][e] : 0);
        if (i < 0) continue;
#pragma unroll
        for (int e = 0; e < 4; e++) z[0][e] = sum[0][e];
        resolve_mixed<AXIS>(z, f.tables, lane);
        if (!waited) wait_for_launch_before();
        waited = true;
        store_rows<AXIS>(a, f, s, s.z + i, z);
    }
}

template <int AXIS>
__device__ __forceinline__ void margin(const chain_arguments &a, const chain_face &f, const spot &s) {
    typedef chain<AXIS> own;
    const int lane = 4 * s.g + s.t;
    pair band[own::BANDS];
#pragma unroll
    for (int k = 0; k < own::BANDS; k++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            band[k].e[e] = k + 1 < own::BANDS ? f.tables[own::BAND_AT + 8 + 8 * k + 2 * s.t - s.g + e] : 0;
    if constexpr (own::WALKS)
        margin_of_walks<AXIS>(a, f, s, band, lane);
    else
        margin_of_lines<AXIS>(a, f, s, band, lane);
}

extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS) slabs_chain(const __grid_constant__ chain_arguments a) {
    const long long warp = static_cast<long long>(blockIdx.x) * WARPS + threadIdx.x / 32, batch = warp / a.warps;
    if (batch >= a.batch) return;
    long long number = warp - batch * a.warps;
    int which = 0;
    while (which + 1 < a.faces && number >= a.at[which + 1].first) which++;
    const chain_face &f = a.at[which];
    number -= f.first;
    const int axis_1 = f.axis == 2 ? 1 : 2, axis_2 = 3 - f.axis - axis_1;
    spot s;
    s.in = a.in + batch * a.in_batch, s.out = a.out + batch * a.out_batch;
    s.x = a.low[axis_1] + number % f.tiles * 16;
    s.z = a.low[axis_2] + number / f.tiles * f.segment;
    s.count = a.high[axis_2] - s.z < f.segment ? a.high[axis_2] - s.z : f.segment;
    s.g = threadIdx.x % 32 / 4, s.t = threadIdx.x % 4;
    if constexpr (has_face(0, 0) || has_face(0, 1))
        if (f.axis == 0) margin<0>(a, f, s);
    if constexpr (has_face(1, 0) || has_face(1, 1))
        if (f.axis == 1) margin<1>(a, f, s);
    if constexpr (has_face(2, 0) || has_face(2, 1))
        if (f.axis == 2) margin<2>(a, f, s);
}
