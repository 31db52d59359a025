// FUSED steps of the margins at the faces of a grid, for weights that are products of one factor an axis, as chains of products
// on the tensor cores: the parts of the margins from which FUSED steps reach no end of another axis (faces_tile takes the rims).
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
// How the matrices come about, for one axis 1 and points x along it:
//
//   X   8 rows i of the margin's input, 16 points and what f steps of K1 reach beside them: a left factor as it is read.
//   M'  M(y, i) transposed: column y holds what row i weighs in output y after FUSED steps of Kn. Kn^FUSED is taken on the host, step by
//       step, folding at the face as the boundary does.
//   Z = band(K1^FUSED) (X M'): smoothing along axis 1 and stepping across the face commute, so each is a product of its own.
//   N   of a fixed side: row j keeps its value, so at step l it enters as a source in(j), and has FUSED - l steps of Kn left: N(y, j, l).
//       Until then it has been smoothed l times along the face: (K1 K2)^l in(j).
//   H L those smoothings along axis 1 at once, for all l: H is the Hankel matrix of row j's points (row p: the points from p on), L has
//       the taps of K1^l in column l. Their product's columns are stored beside Z's, from ROWS on.
//   F   the last product: columns past ROWS by N, and an identity for the others.
//
// Every product's accumulator is the left factor of the next one as it stands (device/fragment.cuh). Matrices come in blocks
// of 8 x 8, a lane's two elements side by side: strategies/faces/chain/tables.c writes them, as chain_shape.cuh has them.
#include "device/twins.cuh"
#include "faces/chain_shape.cuh"

// Blocks of 8 points along axis 1, of which a lane has two. Tiles may reach past the end of what is needed, by up to three
// blocks: there they find the last point.
template <int AXIS, int COUNT>
__device__ __forceinline__ void read_pairs(pair (&to)[COUNT], const warp_tile &s, const double *row, int first) {
#pragma unroll
    for (int k = 0; k < COUNT; k++) {
        const bool ends = k + 3 >= COUNT;
        if (AXIS != 2 && VECTOR > 1)  // rows are padded to pairs
            load_run(to[k].e, row + (ends ? min(first + 8 * k, s.last & ~1) : first + 8 * k));
        else
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int x = ends ? min(first + 8 * k + e, s.last) : first + 8 * k + e;
                to[k].e[e] = AXIS == 2 ? row[x * s.in_x] : row[x];
            }
    }
}

// What a warp reads of the grid: a block of rows; a frozen row as a Hankel matrix, where block k of the lower half is block
// k + 1 of the upper one.
template <int AXIS>
struct rows {
    pair block[chain<AXIS>::BANDS];
    __device__ __forceinline__ void read(const warp_tile &s, const double *in, int depth) {
        read_pairs<AXIS>(block, s, in + min(8 * depth + s.g, chain<AXIS>::DEPTH - 1) * s.in_row, s.window + 2 * s.t);
    }
};
template <int AXIS>
struct hankel {
    pair block[chain<AXIS>::HANKEL + 1];
    __device__ __forceinline__ void read(const warp_tile &s, const double *in, int frozen) {
        const double *const row = in + frozen * s.in_row;
        const int first = s.window + chain<AXIS>::LOW_1 + s.g + 2 * s.t;
#pragma unroll
        for (int k = 0; k <= chain<AXIS>::HANKEL; k++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int x = k + 2 >= chain<AXIS>::HANKEL ? min(first + 8 * k + e, s.last) : first + 8 * k + e;
                block[k].e[e] = AXIS == 2 ? row[x * s.in_x] : row[x];
            }
    }
};

// K1^FUSED X for one block of rows.
template <int AXIS>
__device__ __forceinline__ void smooth(double (&sum)[4], const pair (&band)[chain<AXIS>::BANDS], const rows<AXIS> &x) {
    typedef chain<AXIS> own;
    constexpr int CHAINS = own::BANDS > 4 ? 2 : 1;  // that do not wait for each other
    double part[CHAINS][4] = {};
#pragma unroll
    for (int k = 0; k < own::BANDS; k++)  // rows 8 to 15 of a block of the band are rows 0 to 7 of the one before
        multiply(part[k % CHAINS], band[k], band[k ? k - 1 : own::BANDS - 1], x.block[k]);
#pragma unroll
    for (int e = 0; e < 4; e++) sum[e] = CHAINS > 1 ? part[0][e] + part[CHAINS - 1][e] : part[0][e];
}

// Z += that times M'.
template <int AXIS>
__device__ __forceinline__ void add_rows(double (&z)[chain<AXIS>::OUTS][4], const double (&smoothed)[4], int depth,
                                         const warp_tile &s) {
    typedef chain<AXIS> own;
#pragma unroll
    for (int out = 0; out < own::OUTS; out++)
        if (m_used<AXIS>(depth, out))
            multiply(z[out], smoothed, read_pair(s.tables + own::M_AT + 64 * (depth * own::OUTS + out) + 2 * s.lane));
}

template <int AXIS>
__device__ __forceinline__ void multiply_levels(double (&sum)[4], const hankel<AXIS> &points, int frozen, int column,
                                                const double *tables, int lane) {
    typedef chain<AXIS> own;
#pragma unroll
    for (int k = 0; k < own::HANKEL; k++)
        if (l_used<AXIS>(frozen, column, k))
            multiply(
                sum, points.block[k], points.block[k + 1],
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
    if constexpr (own::MIXED < own::OUTS) {
        double mixed[4];
#pragma unroll
        for (int e = 0; e < 4; e++) mixed[e] = z[own::OUTS - 1][e], z[own::OUTS - 1][e] = 0;
#pragma unroll
        for (int out = 0; out < own::OUTS; out++)
            multiply(z[out], mixed,
                     read_pair(tables + own::F_AT + 64 * ((own::OUTS - 1) * own::OUTS + out) + 2 * lane));
    }
}

// `kept`: what a frozen row holds at a point of axis 1.
template <int AXIS, class KEPT>
__device__ __forceinline__ void store_rows(const warp_tile &s, double *out, const double (&z)[chain<AXIS>::OUTS][4],
                                           const KEPT &kept) {
    typedef chain<AXIS> own;
    double *const to = out + (s.x + s.g) * s.out_x + 2 * s.t * s.out_row;
#pragma unroll
    for (int column = 0; column < own::OUTS; column++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int y = 8 * column + e % 2 + 2 * s.t, x = s.x + s.g + e / 2 * 8;
            if (y >= s.rows || x >= s.end) continue;
            double value = z[column][e];
            if (own::CONSTANTS) value += s.tables[own::VALUE_AT + y];
            if (8 * column < own::FROZEN && y < s.frozen) value = kept(y, x);
            to[(8 * column + e % 2) * s.out_row + e / 2 * 8 * s.out_x] = value;
        }
}

// Without an axis 2: block by block of rows, the next one asked for as soon as there is room for it.
template <int AXIS>
__device__ __forceinline__ void margin_of_lines(const warp_tile &s, const pair (&band)[chain<AXIS>::BANDS]) {
    typedef chain<AXIS> own;
    rows<AXIS> x;
    hankel<AXIS> points[own::FROZEN > 1 ? 2 : 1];
    double z[own::OUTS][4] = {};
    x.read(s, s.in, 0);
#pragma unroll 1
    for (int depth = 0; depth < own::DEPTHS; depth++) {
        double smoothed[4];
        smooth<AXIS>(smoothed, band, x);
        if (depth + 1 < own::DEPTHS) x.read(s, s.in, depth + 1);
        add_rows<AXIS>(z, smoothed, depth, s);
    }
    if (own::FROZEN && s.frozen) points[0].read(s, s.in, 0);
#pragma unroll
    for (int j = 0; j < own::FROZEN; j++) {
        if (j >= s.frozen) break;
        if (j + 1 < own::FROZEN && j + 1 < s.frozen) points[(j + 1) % 2].read(s, s.in, j + 1);
        add_frozen<AXIS>(z, points[own::FROZEN > 1 ? j % 2 : 0], j, s.tables, s.lane);
    }
    resolve_mixed<AXIS>(z, s.tables, s.lane);
    wait_for_launch_before();  // which may write nonsense where the margins are
    store_rows<AXIS>(s, s.out, z, [&](int y, int x) { return s.in[y * s.in_row + x * s.in_x]; });
}

// With an axis 2: what a walk reads at one point of it lies in shared memory, in rows along x, is asked for some points ahead, and
// stays until the frozen rows of its outputs are written. A lane copies the same parts of every line.
template <int AXIS>
struct copier {
    typedef chain<AXIS> own;
    static constexpr int RUN = VECTOR > 1 ? 2 : 1, ROW = (AXIS == 2 ? 8 * own::DEPTHS : 8 * own::BANDS) / RUN;
    static constexpr int COUNT = 2 / RUN * own::DEPTHS * own::BANDS;
    long long from[COUNT];
    int to[COUNT];
    __device__ __forceinline__ explicit copier(const warp_tile &s) {
#pragma unroll
        for (int k = 0; k < COUNT; k++) {
            const int row = (32 * k + s.lane) / ROW, x = (32 * k + s.lane) % ROW * RUN;
            to[k] = row * own::PITCH + x;
            if (AXIS == 2)
                from[k] = min(s.window + row, s.last) * s.in_x +
                          (s.in_row < 0 ? max(x + 1 - 8 * own::DEPTHS, s.deepest) : min(x, s.deepest));
            else
                from[k] = min(row, own::DEPTH - 1) * s.in_row + min(s.window + x, RUN > 1 ? s.last & ~1 : s.last);
        }
    }
    __device__ __forceinline__ void copy(double *line, const double *in) const {
#pragma unroll
        for (int k = 0; k < COUNT; k++)
            if (RUN > 1)
                copy_async_16(line + to[k], in + from[k]);
            else
                copy_async_8(line + to[k], in + from[k]);
    }
};

// Where row i of the margin lies in a line, at point x of axis 1 from the window's first one on.
template <int AXIS>
__device__ __forceinline__ int place(const warp_tile &s, int i, int x) {
    typedef chain<AXIS> own;
    return AXIS == 2 ? x * own::PITCH + (s.in_row < 0 ? 8 * own::DEPTHS - 1 - i : i) : i * own::PITCH + x;
}
template <int AXIS>
__device__ __forceinline__ void take_rows(rows<AXIS> &x, const warp_tile &s, const double *line, int depth) {
#pragma unroll
    for (int k = 0; k < chain<AXIS>::BANDS; k++)
#pragma unroll
        for (int e = 0; e < 2; e++) x.block[k].e[e] = line[place<AXIS>(s, 8 * depth + s.g, 8 * k + 2 * s.t + e)];
}
template <int AXIS>
__device__ __forceinline__ void take_hankel(hankel<AXIS> &points, const warp_tile &s, const double *line, int frozen) {
    typedef chain<AXIS> own;
#pragma unroll
    for (int k = 0; k <= own::HANKEL; k++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            points.block[k].e[e] =
                line[place<AXIS>(s, frozen, min(own::LOW_1 + s.g + 2 * s.t + 8 * k + e, 8 * own::BANDS - 1))];
}

// Z of one line.
template <int AXIS>
__device__ __forceinline__ void find_columns(double (&z)[1][4], const warp_tile &s,
                                             const pair (&band)[chain<AXIS>::BANDS], const double *line) {
    typedef chain<AXIS> own;
#pragma unroll
    for (int depth = 0; depth < own::DEPTHS; depth++) {
        rows<AXIS> x;
        double smoothed[4];
        take_rows<AXIS>(x, s, line, depth);
        smooth<AXIS>(smoothed, band, x);
        add_rows<AXIS>(z, smoothed, depth, s);
    }
#pragma unroll
    for (int j = 0; j < own::FROZEN; j++) {
        if (j >= s.frozen) break;
        hankel<AXIS> points;
        take_hankel<AXIS>(points, s, line, j);
        add_frozen<AXIS>(z, points, j, s.tables, s.lane);
    }
}

template <int AXIS>
__device__ __forceinline__ void margin_of_walks(const warp_tile &s, const pair (&band)[chain<AXIS>::BANDS],
                                                double *lines) {
    typedef chain<AXIS> own;
    double sum[own::TAPS_2][4] = {};
    pair tap[own::TAPS_2];
#pragma unroll
    for (int k = 0; k < own::TAPS_2; k++) tap[k] = read_pair(s.tables + own::TAPS_AT + 8 * k + 2 * s.t);
    const copier<AXIS> copies(s);
    const double *in = s.in - FUSED * own::LOW_2 * s.in_walk;
    double *out = s.out;
    constexpr int KEPT = own::FROZEN ? FUSED * own::HIGH_2 : 0, AT_ONCE = 2, AHEAD = STAGES - AT_ONCE - KEPT;
    static_assert(AHEAD >= AT_ONCE, "lines arrive while others are used");
    const auto line_of = [&](int slot) {
        return lines + (slot < 0 ? slot + STAGES : slot < STAGES ? slot : slot - STAGES) * own::LINE;
    };
    const int all = s.count + own::TAPS_2 - 1;
    int asked = 0, slot = 0;
    const auto ask = [&](int to) {
        if (asked < all) copies.copy(line_of(to), in);
        in += s.in_walk, asked++;
        copy_async_commit();
    };
#pragma unroll
    for (int k = 0; k < AHEAD; k++) ask(k);
    bool waited = false;
#pragma unroll 1
    for (int first = 1 - own::TAPS_2; first < s.count; first += AT_ONCE) {
        copy_async_wait<AHEAD - AT_ONCE>();
        __syncwarp();  // these lines are here for all, and those that make room have been read by all
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) ask(slot + AHEAD + k);
        double z[AT_ONCE][1][4] = {};  // products of one line wait for each other, but not for another's
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) find_columns<AXIS>(z[k], s, band, line_of(slot + k));
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const int i = first + k;
            if (i >= s.count) break;
#pragma unroll
            for (int d = 0; d < own::TAPS_2; d++)  // sum d goes on as sum d - 1
#pragma unroll
                for (int e = 0; e < 4; e++)
                    sum[d][e] = tap[own::TAPS_2 - 1 - d].e[e % 2] * z[k][0][e] +
                                (d + 1 < own::TAPS_2 ? sum[d + 1 < own::TAPS_2 ? d + 1 : 0][e] : 0);
            if (i < 0) continue;
            if (!waited) wait_for_launch_before();  // which may write nonsense where the margins are
            waited = true;
            double done[1][4];
#pragma unroll
            for (int e = 0; e < 4; e++) done[0][e] = sum[0][e];
            resolve_mixed<AXIS>(done, s.tables, s.lane);
            const double *const before = line_of(slot + k - KEPT);
            store_rows<AXIS>(s, out, done, [&](int y, int x) { return before[place<AXIS>(s, y, x - s.window)]; });
            out += s.out_walk;
        }
        slot = slot + AT_ONCE < STAGES ? slot + AT_ONCE : slot + AT_ONCE - STAGES;
    }
}

template <int AXIS>
__device__ __forceinline__ void margin(const chain_arguments &a, const chain_face &f, const double *in, double *out,
                                       long long number) {
    typedef chain<AXIS> own;
    warp_tile s;
    const long long tile = number % f.tiles, walk = a.low[own::AXIS_2] + number / f.tiles * f.segment;
    const long long y = f.side ? a.n[AXIS] - 1 : 0, left = a.high[own::AXIS_2] - walk;
    s.tables = f.tables;
    s.in = in + y * a.in_stride[AXIS] + walk * a.in_stride[own::AXIS_2];
    s.out = out + y * a.out_stride[AXIS] + walk * a.out_stride[own::AXIS_2];
    s.in_row = f.side ? -a.in_stride[AXIS] : a.in_stride[AXIS];
    s.out_row = f.side ? -a.out_stride[AXIS] : a.out_stride[AXIS];
    s.in_walk = a.in_stride[own::AXIS_2], s.out_walk = a.out_stride[own::AXIS_2];
    s.in_x = AXIS == 2 ? a.in_stride[1] : 1, s.out_x = AXIS == 2 ? a.out_stride[1] : 1;
    s.window = static_cast<int>(tile) * 16;  // even: FUSED reaches before the first point written
    s.x = s.window + FUSED * own::LOW_1, s.end = static_cast<int>(a.high[own::AXIS_1]);
    s.last = static_cast<int>(a.n[own::AXIS_1]) - 1;
    const int deepest = static_cast<int>(a.n[AXIS]) - 1;
    s.deepest = f.side ? -deepest : VECTOR > 1 ? deepest & ~1 : deepest;
    s.count = static_cast<int>(left < f.segment ? left : f.segment), s.rows = f.rows, s.frozen = f.frozen;
    s.lane = threadIdx.x % 32, s.g = s.lane / 4, s.t = s.lane % 4;
    pair band[own::BANDS];
#pragma unroll
    for (int k = 0; k < own::BANDS; k++)
#pragma unroll
        for (int e = 0; e < 2; e++)
            band[k].e[e] = k + 1 < own::BANDS ? s.tables[own::BAND_AT + 8 + 8 * k + 2 * s.t - s.g + e] : 0;
    extern __shared__ __align__(16) unsigned char stn_shared[];
    if constexpr (own::WALKS) {
        static_assert(STAGES * own::LINE <= WARP_DOUBLES, "lines fit");
        margin_of_walks<AXIS>(s, band, reinterpret_cast<double *>(stn_shared) + threadIdx.x / 32 * WARP_DOUBLES);
    } else
        margin_of_lines<AXIS>(s, band);
}

static_assert(is_given(WARPS * WARP_DOUBLES * sizeof(double)), "the launcher gives the shared memory that this takes");
extern "C" __global__ void __launch_bounds__(32 * WARPS, BLOCKS)
    faces_chain(const __grid_constant__ chain_arguments a) {
    const long long warp = static_cast<long long>(blockIdx.x) * WARPS + threadIdx.x / 32, batch = warp / a.warps;
    if (batch >= a.batch) return;
    const long long number = warp - batch * a.warps;
    int which = 0;
    while (which + 1 < a.faces && number >= a.at[which + 1].first) which++;
    const chain_face f = a.at[which];
    const double *const in = a.in + batch * a.in_batch;
    double *const out = a.out + batch * a.out_batch;
    if constexpr (has_face(0, 0) || has_face(0, 1))
        if (f.axis == 0) margin<0>(a, f, in, out, number - f.first);
    if constexpr (has_face(1, 0) || has_face(1, 1))
        if (f.axis == 1) margin<1>(a, f, in, out, number - f.first);
    if constexpr (has_face(2, 0) || has_face(2, 1))
        if (f.axis == 2) margin<2>(a, f, in, out, number - f.first);
}
