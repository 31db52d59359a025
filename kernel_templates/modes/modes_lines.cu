// All steps of a linear system at once on a periodic 3D grid of an even number of planes, in passes
// along one axis each. Two neighbouring planes of real numbers are the real and imaginary parts of
// one plane of complex numbers, so that the spectrum of a number of the state is as large as its
// grid, and its rows are aligned:
//
//     c[s] = u[2 s] + i u[2 s + 1],   Z = the transform of c
//     MODES_PASS 0: levels -> differences c -> transform along x
//                1: transform along y
//                2: transform along z -> power of a step's matrix -> levels -> inverse
//                3: inverse of 1
//                4: inverse of 0
//
// Pass 2 has columns of N points in pairs, at (kx, ky) and (-kx, -ky). It conjugates the points of
// the second column, so that point q of the two transforms is Z(k) and Z*(-k), where k = (q, ky,
// kx). With w = exp(-pi i q / N),
//
//     even = (Z(k) + Z*(-k)) / 2,  odd = (Z(k) - Z*(-k)) / 2i
//     U(q) = even + w odd,  U(q + N) = even - w odd
//
// are frequencies q and q + N of a number of the state. A thread has these of all numbers, and
// multiplies them by the power of the step's matrix (matrix.cuh). The inverse of these formulas
// gives both columns.
//
//     block of pass 2:  MODES_COLUMNS neighbouring columns of each number, and their mirror images
//     other passes:     LINE_COUNT neighbouring lines
//
// Reads REAL, BLOCKS, THREADS_X, LINE_*, MODES_*, modes_matrix.
#include "modes/line_blocks.cuh"

static_assert(LINE_SHARES == 1, "a line lies in one block");
static_assert(!MIDDLE || LINE_COUNT == 2 * W * MODES_COLUMNS, "columns, and their mirror images");

struct lines_arguments {
    const REAL *in[W];
    REAL *out[W];
    REAL *spectrum;             // [number][grid][half][across][width]
    const REAL *twiddles;       // Twiddle factors of the FFT stages.
    const REAL *half_twiddles;  // exp(-pi i q / N)
    long long grids, half;      // Grids of a number; complex planes.
    long long across, width;
    long long tiles;  // Blocks of a grid in passes 0 and 4, of a plane in 1 and 3, of a row in 2.
    symbol_tables tables;
    unsigned long long steps;
    double scale;
    wide values[MODES_VALUES];  // As in modes_power.cu.
};
static_assert(layout_matches(sizeof(lines_arguments)), "the arguments that are launched");

// A line: its first point in the spectrum, and its stride there. Lines past the last one load what
// another line does, and store nothing, so that all loads are unconditional.
struct spectrum_line {
    value *first;
    long long stride;
    long long row;  // Passes 0 and 4: elements of an array before the real parts.
    int number;
    bool conjugate, stores;
};
__device__ __forceinline__ value *point_at(const lines_arguments &a, long long grid, long long s, long long y,
                                           long long x) {
    value *const spectrum = reinterpret_cast<value *>(a.spectrum);
    return spectrum + ((grid * a.half + s) * a.across + y) * a.width + x;
}
__device__ __forceinline__ spectrum_line line_of(const lines_arguments &a, int lane, long long tile) {
    spectrum_line p = {};
    if constexpr (MIDDLE) {
        const long long x = tile % a.tiles * MODES_COLUMNS + lane % MODES_COLUMNS, rest = tile / a.tiles;
        const long long y = rest % a.across, grid = rest / a.across, own_x = min(x, a.width / 2);
        const int copy = lane / MODES_COLUMNS;
        // At x = 0 and width / 2, rows y and across - y load the same pair of columns; the one with
        // 2 y > across does not store it. A column that is its own mirror image is stored once.
        const bool edge = x == 0 || 2 * x == a.width, self = edge && (y == 0 || 2 * y == a.across);
        p.number = copy / 2, p.conjugate = copy % 2;
        p.stores = 2 * x <= a.width && !(edge && 2 * y > a.across) && !(p.conjugate && self);
        const long long at_y = p.conjugate && y ? a.across - y : y,
                        at_x = p.conjugate && own_x ? a.width - own_x : own_x;
        p.first = point_at(a, p.number * a.grids + grid, 0, at_y, at_x), p.stride = a.across * a.width;
    } else if constexpr (MODES_PASS == 1 || MODES_PASS == 3) {
        const long long x = tile % a.tiles * LINE_COUNT + lane, plane = tile / a.tiles;
        p.stores = x < a.width;
        p.first = point_at(a, 0, plane, 0, min(x, a.width - 1)), p.stride = a.width;
    } else {
        // Blocks of the same rows and other numbers of the state are adjacent, so that the levels
        // that they share are read from L2.
        const long long rest = tile / W, line = rest % a.tiles * LINE_COUNT + lane, grid = rest / a.tiles;
        const long long s = min(line / a.across, a.half - 1), y = line % a.across;
        p.number = static_cast<int>(tile % W);
        p.stores = line < a.half * a.across;
        p.first = point_at(a, p.number * a.grids + grid, s, y, 0), p.stride = 1;
        p.row = ((grid * a.half + s) * 2 * a.across + y) * a.width;
    }
    return p;
}

// Which level of its field a number of the state is.
constexpr int level_of(int number) {
    int first = 0;
    for (int f = 0; f < MODES_FIELDS; f++)
        if (number >= MODES_FIELD[f]) first = MODES_FIELD[f];
    return number - first;
}
// The difference of a number at an element of the levels' arrays.
template <int NUMBER>
__device__ __forceinline__ REAL difference_at(const lines_arguments &a, long long at) {
    constexpr int LEVEL = level_of(NUMBER);
    REAL level[LEVEL + 1];
#pragma unroll
    for (int l = 0; l <= LEVEL; l++) level[l] = a.in[NUMBER - LEVEL + l][at];
#pragma unroll
    for (int j = 1; j <= LEVEL; j++)
#pragma unroll
        for (int l = LEVEL; l >= j; l--) level[l] = level[l - 1] - level[l];
    return level[LEVEL];
}
template <int NUMBER>
__device__ __forceinline__ void load_differences(const lines_arguments &a, const spectrum_line &p, int j,
                                                 value (&x)[first_stage::R]) {
    if (p.number != NUMBER) {
        if constexpr (NUMBER + 1 < W) load_differences<NUMBER + 1>(a, p, j, x);
        return;
    }
#pragma unroll
    for (int r = 0; r < first_stage::R; r++) {
        const long long at = p.row + j + r * first_stage::STRIDE;
        x[r] = {difference_at<NUMBER>(a, at), difference_at<NUMBER>(a, at + a.across * a.width)};
    }
}
__device__ __forceinline__ value load_point(const spectrum_line &p, int i) {
    return load_pair(reinterpret_cast<const REAL *>(p.first + i * p.stride));
}
// The points of butterfly j of stage 0.
__device__ __forceinline__ void load_points(const lines_arguments &a, const spectrum_line &p, int j,
                                            value (&x)[first_stage::R]) {
    if constexpr (MODES_PASS == 0) {
        load_differences<0>(a, p, j, x);
    } else {
#pragma unroll
        for (int r = 0; r < first_stage::R; r++) x[r] = load_point(p, j + r * first_stage::STRIDE);
        if constexpr (MIDDLE) {
            const REAL sign = p.conjugate ? REAL(-1) : REAL(1);
#pragma unroll
            for (int r = 0; r < first_stage::R; r++) x[r].im *= sign;
        }
    }
}
__device__ __forceinline__ void store_point(const lines_arguments &a, const spectrum_line &p, int i, value z) {
    if (!p.stores) return;
    if constexpr (MODES_PASS == 4) {
        if (!a.out[p.number]) return;
        REAL *const to = a.out[p.number] + p.row + i;
        to[0] = z.re, to[a.across * a.width] = z.im;
    } else
        store_pair(reinterpret_cast<REAL *>(p.first + i * p.stride), MIDDLE && p.conjugate ? conjugate(z) : z);
}

// ---- the power, at the last stage of all lines of a column

// The states at frequencies q and q + N.
__device__ __forceinline__ void step_at(const lines_arguments &a, frequency &f, int q, value (&state)[2][W]) {
    double_matrix power[2];
    powers_at<2 * N, 2>(a.tables, a.steps, f, q, power);
#pragma unroll
    for (int half = 0; half < 2; half++) {
        complex<applied> in[W], made[W];
#pragma unroll
        for (int i = 0; i < W; i++)
            in[i] = {static_cast<applied>(state[half][i].re), static_cast<applied>(state[half][i].im)};
        apply(scaled(power[half], a.scale), in, false, made);
        to_levels(made);
#pragma unroll
        for (int i = 0; i < W; i++) state[half][i] = rounded(made[i]);
    }
}

__device__ __forceinline__ void apply_powers(const lines_arguments &a, value *lines, const wide *terms) {
    frequency f;
    f.values = a.values, f.first = false;
#pragma unroll 1
    for (int j = static_cast<int>(threadIdx.x); j < MODES_COLUMNS * last_stage::COUNT; j += THREADS) {
        const int c = j % MODES_COLUMNS, t = j / MODES_COLUMNS, first = digit_reversed_first<line_shape>(t);
        value *const column = lines + c;
        value x[2 * W][R];
        f.terms = terms + c * SLOTS;
#pragma unroll
        for (int i = 0; i < 2 * W; i++) {
            load_butterfly<line_shape, LAST>(x[i], column + i * MODES_COLUMNS, first);
            dft<R>(x[i]);
        }
#pragma unroll 1
        for (int r = 0; r < R; r++) {
            const int q = t + r * P;
            const value w = load_pair(a.half_twiddles + 2 * q);
            value state[2][W];
#pragma unroll
            for (int i = 0; i < W; i++) {
                const value even = REAL(0.5) * (x[2 * i][0] + x[2 * i + 1][0]),
                            odd = w * minus_i(REAL(0.5) * (x[2 * i][0] - x[2 * i + 1][0]));
                state[0][i] = even + odd, state[1][i] = even - odd;
            }
            step_at(a, f, q, state);
            // The results are appended and the other points move down by one index, so that all
            // indices are constants.
#pragma unroll
            for (int i = 0; i < W; i++) {
                const value even = REAL(0.5) * (state[0][i] + state[1][i]),
                            odd = minus_i(conjugate(w) * (REAL(0.5) * (state[0][i] - state[1][i])));
#pragma unroll
                for (int s = 0; s + 1 < R; s++) x[2 * i][s] = x[2 * i][s + 1], x[2 * i + 1][s] = x[2 * i + 1][s + 1];
                x[2 * i][R - 1] = swapped(even - odd), x[2 * i + 1][R - 1] = swapped(even + odd);
            }
        }
#pragma unroll
        for (int i = 0; i < 2 * W; i++) {
            dft<R>(x[i]);
            store_butterfly<line_shape, LAST>(x[i], column + i * MODES_COLUMNS, first);
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) modes_lines(const __grid_constant__ lines_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const int lane = static_cast<int>(threadIdx.x) % LINE_COUNT, t0 = static_cast<int>(threadIdx.x) / LINE_COUNT;
    value *const lines = reinterpret_cast<value *>(stn_shared), *const line = lines + lane;
    wide *const terms = reinterpret_cast<wide *>(lines + padded_points<line_shape>());
    const long long tile = blockIdx.x;
    const spectrum_line place = line_of(a, lane, tile);
    if constexpr (MODES_PASS <= 2) {
#pragma unroll 1
        for (int j = t0; j < first_stage::COUNT; j += THREADS_X) {
            value x[first_stage::R];
            load_points(a, place, j, x);
            forward_butterfly<line_shape, 0>(x, line, j, a.twiddles);
        }
        if constexpr (MIDDLE)
            for (int i = static_cast<int>(threadIdx.x); i < MODES_COLUMNS * MODES_TERMS; i += THREADS) {
                const long long x = min(tile % a.tiles * MODES_COLUMNS + i / SLOTS, a.width / 2);
                terms[i] = term_of(a.tables, i % SLOTS, tile / a.tiles % a.across, x);
            }
        __syncthreads();
        forward_stages<line_shape, 1, LAST>(line, t0, a.twiddles);
    }
    if constexpr (MIDDLE) {
        apply_powers(a, lines, terms);
    } else {
#pragma unroll 1
        for (int t = t0; t < last_stage::COUNT; t += THREADS_X) {
            value x[R];
            const int first = digit_reversed_first<line_shape>(t);
            if constexpr (MODES_PASS < 2)
                load_butterfly<line_shape, LAST>(x, line, first);
            else
#pragma unroll
                for (int r = 0; r < R; r++) x[r] = swapped(load_point(place, t + r * P));
            dft<R>(x);
            if constexpr (MODES_PASS < 2)
#pragma unroll
                for (int r = 0; r < R; r++) store_point(a, place, t + r * P, x[r]);
            else
                store_butterfly<line_shape, LAST>(x, line, first);
        }
    }
    if constexpr (MODES_PASS >= 2) {
        __syncthreads();
        inverse_stages<line_shape, LAST, 1>(line, t0, a.twiddles);
#pragma unroll 1
        for (int j = t0; j < first_stage::COUNT; j += THREADS_X) {
            value x[first_stage::R];
            inverse_butterfly<line_shape, 0>(x, line, j, a.twiddles);
#pragma unroll
            for (int r = 0; r < first_stage::R; r++) store_point(a, place, j + r * first_stage::STRIDE, swapped(x[r]));
        }
    }
}
