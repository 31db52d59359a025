// Decayed modes of `spectral` in 3D: columns whose points have decayed, K^T = 0, so that only a
// constant source b next to the faces contributes. The result h with (1 - K) h = b is computed by a
// recursion along the column and one backwards, without FFTs.
//
// On a column, at fixed frequencies of the other axes, 1 - K is D - p (S - 2 + 1/S), S being the
// shift by one point (symbol_power.cuh: D + p s), and
//
//     1 / (1 - K) = (lambda / p) / ((1 - lambda S) (1 - lambda / S))
//     lambda / p = 2 / (D + 2 p + sqrt(D (D + 4 p)))
//
//     forward    f[z] = b[z] + lambda f[z - 1]         b includes the factor lambda / p
//     backward   h[z] = f[z] + lambda h[z + 1]
//
// K^T = 0 implies 0 < D and 0 < D + 4 p, so |lambda| < 1 for either sign of p. A thread has
// DECAYED_EACH points of one of DECAYED_COLUMNS columns in registers. The value lambda f that
// enters at its first point is a sum over the last points of preceding threads, weighted by powers
// of lambda^DECAYED_EACH, so that only few threads matter. At its last point lambda g enters
// likewise, g[z] = b[z] + lambda g[z + 1], and the backward recursion begins with h[z] = (f[z] +
// lambda g[z + 1]) / (1 - lambda^2).
//
//     column    |  thread 0  |  thread 1  |  thread 2  | ..     neighbouring lanes have
//               |b b b .. b b|b b b .. b b|                     neighbouring columns
//                   lambda f ->|<- lambda g
//
// Columns form rows. Below, the faces `across` are normal to the axis from row to row (faces[0]),
// and the faces `along` to the axis within a row (faces[1]).
//
// DECAYED_ROWS: a block computes the same columns of several rows. Shared memory keeps the values
// of the faces across at a thread's points, which are the same for all rows, and lambda with the
// factors derived from it for each row. DECAYED_PREFETCH: the values of the next row's faces are
// prefetched to shared memory.
//
// All inputs are older than the previous launch, which may still read the memory that is written
// here; so the kernel waits for it only before the first store. Past the column's ends b is
// mirrored, so the value f that enters at the low end is g there, and the g that enters at the high
// end is f there.
//
// Reads REAL, BLOCKS, EXTEND_*, DECAYED_*.
#include "device/complex.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"
#include "spectral/faces.cuh"

constexpr int N = DECAYED_POINTS, EACH = DECAYED_EACH, COLUMNS = DECAYED_COLUMNS, PARTS = (N + EACH - 1) / EACH;
constexpr int LAST = N - (PARTS - 1) * EACH;  // Points of a column's last thread.
constexpr int THREADS = PARTS * COLUMNS;
// Shared memory in complex numbers: the ends; the kept values of the faces across; two buffers of a
// row's source; three real factors for all rows and columns; the faces along, for the columns.
constexpr int ENDS = (2 * PARTS + 2) * COLUMNS, KEPT = DECAYED_ROWS ? 2 * EACH * THREADS : 0;
constexpr int STAGE = DECAYED_PREFETCH ? 2 * N + 2 * COLUMNS + 2 : 0;
constexpr int FACTORS = DECAYED_ROWS * COLUMNS, OF_COLUMNS = DECAYED_ROWS ? 2 * COLUMNS : 0;
constexpr int CELLS = ENDS + KEPT + 2 * STAGE + (3 * FACTORS + 1) / 2 + OF_COLUMNS;
static_assert(!DECAYED_PREFETCH || DECAYED_ROWS, "rows after rows");
static_assert(N >= 4 && THREADS <= 1024, "a block holds its columns");
static_assert(EXTEND_LOW_SIGN >= -1 && EXTEND_LOW >= 0 && EXTEND_LOW <= 2 && EXTEND_HIGH <= 2,
              "mirrors, extension.cuh");
using value = complex<REAL>;

struct spectral_decayed_arguments {
    REAL *spectrum;
    const double *parts;    // D and p of each column.
    long long point, grid;  // Strides of points and grids in the spectrum, in complex numbers.
    // For each column and both faces that it meets: the source's frequency there.
    const REAL *row;
    long long row_grid, row_next;
    // Faces normal to the slower and to the faster of the other axes: their values at each point.
    source_faces faces[2];
    double scale;  // Of all results.
    // Columns lie in rows of `width`; of each row, columns first to columns - 1 are computed.
    int width, first, columns;
    int held_width;     // Columns of each row in the spectrum, from `first` on.
    int across, tiles;  // Rows; blocks per row.
    // Rows from_across to to_across - 1 are computed; rows of a block, at most DECAYED_ROWS.
    int from_across, to_across, rows_per_block;
    // spectral_columns.cu computes the columns with points: those below `with_points` in rows below
    // +- with_points_across.
    int with_points, with_points_across;
    int adjacent[2];  // The points at which the column's own faces act; -1: none.
};
static_assert(layout_matches(sizeof(spectral_decayed_arguments)), "the arguments that are launched");
static_assert(shared_bytes_match(sizeof(value) * CELLS), "the shared memory that is given");

template <int E, class T>
__device__ __forceinline__ T power(T x) {
    if constexpr (E == 0)
        return T(1);
    else if constexpr (E == 1)
        return x;
    else {
        const T half = power<E / 2>(x);
        return E % 2 ? half * half * x : half * half;
    }
}
__device__ __forceinline__ value plus(value a, REAL factor, value b) {
    return {a.re + factor * b.re, a.im + factor * b.im};
}

// a + b c, with one rounding per product.
__device__ __forceinline__ value plus(value a, value b, value c) {
    return {a.re + b.re * c.re - b.im * c.im, a.im + b.re * c.im + b.im * c.re};
}

// The constants of a column.
struct own_column {
    REAL lambda, scale, rest;  // lambda; lambda / p, scaled; 1 / (1 - lambda^2).
};
__device__ __forceinline__ own_column column_of(const double *parts, double scale, bool active) {
    if (!active) return {REAL(0), REAL(0), REAL(1)};
    const double one_minus_k = parts[0], p = parts[1];
    const double each = 2.0 / (one_minus_k + 2.0 * p + sqrt(one_minus_k * (one_minus_k + 4.0 * p)));
    const REAL lambda = static_cast<REAL>(p * each);
    return {lambda, static_cast<REAL>(scale * each), REAL(1) / (REAL(1) - lambda * lambda)};
}
// The value of face j across at point i of this thread.
__device__ __forceinline__ value across_at(const spectral_decayed_arguments &a, const REAL *across, int i, int j) {
    return load_pair(across + 2 * (i * a.faces[0].frequency_stride + j * a.faces[0].face_stride));
}
__device__ __forceinline__ const REAL *across_of(const spectral_decayed_arguments &a, long long grid, int fast,
                                                 int from) {
    return a.faces[0].values + 2 * (grid * a.faces[0].grid + fast + from * a.faces[0].frequency_stride);
}
__device__ __forceinline__ void keep_across(const spectral_decayed_arguments &a, value *kept, const REAL *across,
                                            int from) {
#pragma unroll
    for (int i = 0; i < EACH; i++)
#pragma unroll
        for (int j = 0; j < 2; j++)
            if (!(N % EACH) || from + i < N) kept[(2 * i + j) * THREADS] = across_at(a, across, i, j);
}
// The source of a row of columns: the factors of each face for the row or the column, and the
// values along the row's points.
struct row_source {
    value across[2], fast[2], row[2];
    const value *along;  // In shared memory, both faces of a point adjacent; or NULL.
};
__device__ __forceinline__ const REAL *along_of(const spectral_decayed_arguments &a, long long grid, int slow) {
    return a.faces[1].values + 2 * (grid * a.faces[1].grid + 2 * static_cast<long long>(slow));
}
__device__ __forceinline__ const REAL *row_of(const spectral_decayed_arguments &a, long long grid, int slow, int fast,
                                              int j) {
    return a.row + 2 * (grid * a.row_grid + j * a.row_next + static_cast<long long>(slow) * a.width + fast);
}
__device__ __forceinline__ const REAL *unit_response_of(const source_faces &face, int at, int j) {
    return face.unit_response + 2 * (2 * static_cast<long long>(at) + j);
}
__device__ __forceinline__ row_source source_of(const spectral_decayed_arguments &a, long long grid, int slow,
                                                int fast) {
    row_source s;
#pragma unroll
    for (int j = 0; j < 2; j++) {
        s.across[j] = load_pair(unit_response_of(a.faces[0], slow, j));
        s.fast[j] = load_pair(unit_response_of(a.faces[1], fast, j));
        s.row[j] = load_pair(row_of(a, grid, slow, fast, j));
    }
    s.along = nullptr;
    return s;
}
// DECAYED_PREFETCH: copies to a buffer in shared memory. `slow` and `fast` must be valid.
__device__ __forceinline__ void copy_value(value *to, const REAL *from) {
    if constexpr (sizeof(REAL) == 8)
        copy_async_16(to, from);
    else
        copy_async_8(to, from);
}
__device__ __forceinline__ void prefetch_row(const spectral_decayed_arguments &a, value *stage, long long grid,
                                             int slow, int fast) {
    const REAL *const along = along_of(a, grid, slow);
    for (int i = static_cast<int>(threadIdx.x); i < 2 * N; i += THREADS)
        copy_value(stage + i, along + 2 * (i / 2 * a.faces[1].frequency_stride + i % 2 * a.faces[1].face_stride));
    const int lane = static_cast<int>(threadIdx.x) % COLUMNS, part = static_cast<int>(threadIdx.x) / COLUMNS;
    for (int j = part; j < 2; j += PARTS) copy_value(stage + 2 * N + 2 * lane + j, row_of(a, grid, slow, fast, j));
    if (part == 0 && lane < 2) copy_value(stage + 2 * N + 2 * COLUMNS + lane, unit_response_of(a.faces[0], slow, lane));
    copy_async_commit();
}
__device__ __forceinline__ row_source source_of(const value *stage, const value *fast) {
    const int lane = static_cast<int>(threadIdx.x) % COLUMNS;
    row_source s;
#pragma unroll
    for (int j = 0; j < 2; j++) {
        s.across[j] = stage[2 * N + 2 * COLUMNS + j];
        s.fast[j] = fast[2 * lane + j];
        s.row[j] = stage[2 * N + 2 * lane + j];
    }
    s.along = stage;
    return s;
}
// Loads the source at this thread's points.
__device__ __forceinline__ void load_source(const spectral_decayed_arguments &a, value (&b)[EACH], REAL factor,
                                            long long grid, int slow, int fast, int from, const row_source &source,
                                            const value *kept) {
    value unit_response[2][2], row[2];
#pragma unroll
    for (int j = 0; j < 2; j++)
        unit_response[0][j] = factor * source.across[j], unit_response[1][j] = factor * source.fast[j],
        row[j] = factor * source.row[j];
    const REAL *const across = across_of(a, grid, fast, from);
    const REAL *const along = along_of(a, grid, slow) + 2 * from * a.faces[1].frequency_stride;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        b[i] = {REAL(0), REAL(0)};
        if (N % EACH && from + i >= N) continue;
#pragma unroll
        for (int j = 0; j < 2; j++) {
            b[i] = plus(b[i], DECAYED_ROWS ? kept[(2 * i + j) * THREADS] : across_at(a, across, i, j),
                        unit_response[0][j]);
            b[i] = plus(b[i],
                        DECAYED_PREFETCH
                            ? source.along[2 * (from + i) + j]
                            : load_pair(along + 2 * (i * a.faces[1].frequency_stride + j * a.faces[1].face_stride)),
                        unit_response[1][j]);
        }
    }
#pragma unroll
    for (int j = 0; j < 2; j++) {
        const int at = a.adjacent[j] - from;
        if (a.adjacent[j] < 0 || at < 0 || at >= EACH) continue;
#pragma unroll
        for (int i = 0; i < EACH; i++)
            if (i == at) b[i] = b[i] + row[j];
    }
}

// ---- values that enter from other threads
constexpr double NEGLIGIBLE = sizeof(REAL) == 8 ? 0x1p-64 : 0x1p-36;
struct incoming {
    value sum;
    REAL end;  // The factor by which a value entering at the column's end is multiplied here.
};
// ends: of this lane's column, in order of the parts. WAY 1: sums those before part q; -1: those
// after.
template <int WAY>
__device__ __forceinline__ incoming gather(const value *ends, int q, REAL lambda) {
    const int count = WAY > 0 ? q : PARTS - 1 - q;
    const REAL each = power<EACH>(lambda), last = power<LAST>(lambda);
    incoming in = {{REAL(0), REAL(0)}, REAL(1)};
#pragma unroll 1
    for (int d = 1; d <= count; d++) {
        in.sum = plus(in.sum, in.end, ends[(q - WAY * d) * COLUMNS]);
        in.end = in.end * (WAY < 0 && d == count ? last : each);
        if (!(in.end > REAL(NEGLIGIBLE) || in.end < REAL(-NEGLIGIBLE))) {
            in.end = REAL(0);
            break;
        }
    }
    return in;
}
// The value that enters at an end of a column, from its mirror image: at the low end lambda g[1] if
// point 1 is the image of -1 (EXTEND_LOW 0), lambda^2 g[0] (EXTEND_LOW 2), otherwise lambda g[0];
// likewise f at the high end. `in` is the value that enters this thread from the column's other
// threads. What enters at the opposite end of the column is not included: see close().
template <int FROM, int WAY, int COUNT, int BEYOND>
__device__ __forceinline__ value seen_at_end(const value (&b)[EACH], value in, REAL lambda) {
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        if (BEYOND == 0 && i == COUNT - 1) break;
        in = lambda * (b[FROM + WAY * i] + in);
    }
    return BEYOND == 2 ? lambda * in : in;
}
// The values that enter at both ends. Each also contributes to the other one, which close() adds.
struct both_ends {
    value low, high;  // lambda f[-1], lambda g[N].
};
__device__ __forceinline__ both_ends close(value low, value high, REAL lambda) {
    if (EXTEND_REPEATS) {
        const REAL rest = REAL(1) / (REAL(1) - power<N>(lambda));
        return {rest * high, rest * low};
    }
    constexpr int SIGN = EXTEND_LOW_SIGN * EXTEND_HIGH_SIGN;
    const REAL over = REAL(SIGN) * power<N - 1 + EXTEND_LOW>(lambda),
               under = REAL(SIGN) * power<N - 1 + EXTEND_HIGH>(lambda);
    const REAL rest = REAL(1) / (REAL(1) - REAL(SIGN) * over * under);
    return {rest * plus(REAL(EXTEND_LOW_SIGN) * low, over, high),
            rest * plus(REAL(EXTEND_HIGH_SIGN) * high, under, low)};
}

__device__ __forceinline__ void store_solution(value (&b)[EACH], value low, value high, REAL lambda, REAL rest,
                                               int from, REAL *to, long long point) {
    const int count = N - from < EACH ? N - from : EACH;
    value f = low, h = high;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (N % EACH && i >= count) continue;
        b[i] = f = i ? plus(b[i], lambda, f) : b[i] + f;
    }
#pragma unroll
    for (int i = EACH - 1; i >= 0; i--) {
        if (N % EACH && i >= count) continue;
        const bool first = N % EACH ? i == count - 1 : i == EACH - 1;
        h = first ? rest * (b[i] + h) : plus(b[i], lambda, h);
        store_pair(to + 2 * i * point, h);
    }
}

// A thread's columns, independent of the row.
struct own_thread {
    int q, from, fast;
    long long grid;
    value *ends;        // Of this lane's column.
    const value *kept;  // Of this thread.
};
__device__ __forceinline__ void solve_row(const spectral_decayed_arguments &a, const own_thread &own,
                                          const own_column &column, const row_source &source, int slow, bool active) {
    const int q = own.q, from = own.from;
    value *const ends = own.ends;
    const REAL lambda = column.lambda;

    value b[EACH];
    load_source(a, b, column.scale, own.grid, active ? slow : 0, active ? own.fast : 0, from, source, own.kept);
    value f = {REAL(0), REAL(0)}, g = f;
#pragma unroll
    for (int i = 0; i < EACH; i++) {
        if (!(N % EACH) || from + i < N) f = plus(b[i], lambda, f);
        g = plus(b[EACH - 1 - i], lambda, g);
    }
    ends[q * COLUMNS] = lambda * f, ends[(PARTS + q) * COLUMNS] = lambda * g;
    __syncthreads();
    const incoming low = gather<1>(ends, q, lambda), high = gather<-1>(ends + PARTS * COLUMNS, q, lambda);
    constexpr int BELOW = EXTEND_REPEATS ? 1 : EXTEND_LOW, ABOVE = EXTEND_REPEATS ? 1 : EXTEND_HIGH;
    if (q == 0)
        ends[2 * PARTS * COLUMNS] = seen_at_end < PARTS == 1 ? LAST - 1 : EACH - 1, -1, PARTS == 1 ? LAST : EACH,
                         BELOW > (b, high.sum, lambda);
    if (q == PARTS - 1) ends[(2 * PARTS + 1) * COLUMNS] = seen_at_end<0, 1, LAST, ABOVE>(b, low.sum, lambda);
    __syncthreads();
    value before = low.sum, after = high.sum;
    if (low.end != REAL(0) || high.end != REAL(0)) {
        const both_ends past = close(ends[2 * PARTS * COLUMNS], ends[(2 * PARTS + 1) * COLUMNS], lambda);
        before = plus(before, low.end, past.low), after = plus(after, high.end, past.high);
    }
    if (active)
        store_solution(b, before, after, lambda, column.rest, from,
                       a.spectrum + 2 * (own.grid * a.grid + static_cast<long long>(slow) * a.held_width + own.fast -
                                         a.first + from * a.point),
                       a.point);
}

// row_has_points: whether a row has columns with points. row_from: the first row from `slow` on,
// before `end`, of which this block computes any column. is_decayed: whether a column is computed
// here.
__device__ __forceinline__ bool row_has_points(const spectral_decayed_arguments &a, int slow) {
    return slow < a.with_points_across || slow > a.across - a.with_points_across;
}
__device__ __forceinline__ int row_from(const spectral_decayed_arguments &a, int slow, int end, int tile) {
    if (a.first + (tile + 1) * COLUMNS > a.with_points) return slow;
    while (slow < end && row_has_points(a, slow)) slow++;
    return slow;
}
__device__ __forceinline__ bool is_decayed(const spectral_decayed_arguments &a, int slow, int fast) {
    return fast < a.columns && !(row_has_points(a, slow) && fast < a.with_points);
}
__device__ __forceinline__ own_column column_at(const spectral_decayed_arguments &a, int slow, int fast) {
    const bool active = is_decayed(a, slow, fast);
    return column_of(a.parts + 2 * (active ? static_cast<long long>(slow) * a.width + fast : 0), a.scale, active);
}

// DECAYED_ROWS: fills the factors in shared memory for all rows of a block.
__device__ __forceinline__ void fill_factors(const spectral_decayed_arguments &a, REAL *factors, value *of_columns,
                                             int first, int end, int from) {
    for (int i = static_cast<int>(threadIdx.x); i < (end - first) * COLUMNS; i += THREADS) {
        const own_column column = column_at(a, first + i / COLUMNS, from + i % COLUMNS);
        factors[i] = column.lambda, factors[FACTORS + i] = column.scale, factors[2 * FACTORS + i] = column.rest;
    }
    for (int i = static_cast<int>(threadIdx.x); i < 2 * COLUMNS; i += THREADS) {
        const int fast = from + i / 2;
        of_columns[i] = load_pair(unit_response_of(a.faces[1], fast < a.columns ? fast : 0, i % 2));
    }
}
__device__ __forceinline__ void solve_rows(const spectral_decayed_arguments &a, const own_thread &own, value *shared,
                                           int first, int end, int tile) {
    const int lane = static_cast<int>(threadIdx.x) % COLUMNS, fast = own.fast < a.columns ? own.fast : 0;
    value *const stages = shared + ENDS + KEPT, *const of_columns = stages + 2 * STAGE;
    REAL *const factors = reinterpret_cast<REAL *>(of_columns + OF_COLUMNS);
    int slow = row_from(a, first, end, tile), parity = 0;
    if (slow >= end) {
        wait_for_previous_launch();
        return;
    }
    if constexpr (DECAYED_PREFETCH) prefetch_row(a, stages, own.grid, slow, fast);
    keep_across(a, shared + ENDS + threadIdx.x, across_of(a, own.grid, fast, own.from), own.from);
    fill_factors(a, factors, of_columns, first, end, own.fast - lane);
    if constexpr (!DECAYED_PREFETCH) __syncthreads();
    wait_for_previous_launch();
#pragma unroll 1
    while (slow < end) {
        const int next = row_from(a, slow + 1, end, tile), i = (slow - first) * COLUMNS + lane;
        const bool active = is_decayed(a, slow, own.fast);
        if constexpr (DECAYED_PREFETCH) {
            copy_async_wait<0>();
            __syncthreads();  // The row has arrived, and the previous one is finished.
            if (next < end) prefetch_row(a, stages + (parity ^ 1) * STAGE, own.grid, next, fast);
        }
        const own_column column = {factors[i], factors[FACTORS + i], factors[2 * FACTORS + i]};
        row_source source;
        if constexpr (DECAYED_PREFETCH)
            source = source_of(stages + parity * STAGE, of_columns);
        else
            source = source_of(a, own.grid, slow, fast);
        solve_row(a, own, column, source, slow, active);
        slow = next, parity ^= 1;
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    spectral_decayed_modes(const __grid_constant__ spectral_decayed_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    value *const shared = reinterpret_cast<value *>(stn_shared);
    const int lane = static_cast<int>(threadIdx.x) % COLUMNS, q = static_cast<int>(threadIdx.x) / COLUMNS;
    // Neighbouring blocks have the same columns of different rows, so they read the same values of
    // the faces across.
    const int each = DECAYED_ROWS ? a.rows_per_block : 1;
    const unsigned row_groups = static_cast<unsigned>((a.to_across - a.from_across + each - 1) / each);
    const int first = a.from_across + static_cast<int>(blockIdx.x % row_groups) * each,
              tile = static_cast<int>(blockIdx.x / row_groups) % a.tiles;
    const int end = first + each < a.to_across ? first + each : a.to_across;
    const own_thread own = {q,
                            q * EACH,
                            a.first + tile * COLUMNS + lane,
                            blockIdx.x / row_groups / a.tiles,
                            shared + lane,
                            shared + ENDS + threadIdx.x};
    if constexpr (DECAYED_ROWS > 0) {
        solve_rows(a, own, shared, first, end, tile);
    } else {
        wait_for_previous_launch();
        if (row_from(a, first, end, tile) >= end) return;
        const bool active = is_decayed(a, first, own.fast);
        solve_row(a, own, column_at(a, first, own.fast),
                  source_of(a, own.grid, active ? first : 0, active ? own.fast : 0), first, active);
    }
}
