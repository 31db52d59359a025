// All steps of a linear system at once, between two transforms of real data: the state at each
// frequency is multiplied by the power of the matrix of a step,
//
//     y(k) = scale M(k)^steps x(k),   M(k) = the step's matrix (modes_matrix in params.cuh)
//
// x(k) has MODES_WIDTH complex numbers: of each field the backward differences of its levels.
// MODES_AFFINE: a step also adds constants, which act at frequency 0 alone; the state has one more
// number there, 1.
//
//                 MODES_ROWS rows of frequencies (kz, ky), THREADS_Y at a time
//               +------------------------------------------------+
//               | THREADS_X   | THREADS_X   | ...                |   along kx
//               +------------------------------------------------+
//                 a block       a block
//
// A stencil's symbol is a sum of terms, each of all taps with the same offset x along the rows:
//
//     S(k) = sum over x of term_x(kz, ky) exp(i x theta),  theta = 2 pi kx / n
//
// A block computes the terms of its rows once, in shared memory; a thread keeps the cosines and
// sines of its kx. Where a stencil is even or odd along the rows and as a whole, terms of x and -x
// are merged, and are real or imaginary numbers. Rows of which some axis' frequency is -k share the
// power where the matrix is the same (mirrored axes of the frequency domain: MODES_EVEN).
//
// Powers of f64 data are squared in 106 bits, but for the last MODES_PLAIN squarings, after which a
// rounding error is not doubled often; those of other data in float64.
//
// Reads REAL, MODES_*, THREADS_X, THREADS_Y, modes_matrix.
#include "device/complex.cuh"
#include "device/launch_checks.cuh"
#include "device/unroll.cuh"
#include "modes/wide.cuh"
#include "params.cuh"

constexpr int SLOTS = MODES_TERMS > 0 ? MODES_TERMS : 1;  // C++ has no empty arrays.
constexpr int THREADS = THREADS_X * THREADS_Y, SIZE = MODES_WIDTH + MODES_AFFINE;
// Large matrices are multiplied by loops, in local memory.
constexpr int UNROLLED_SIZE = SIZE * SIZE * SIZE * (MODES_REAL ? 1 : 4) <= 128 ? SIZE : 1;

// exp(2 pi i j / n) = coarse[j >> low] * fine[j's low bits].
struct roots {
    const wide_complex *coarse, *fine;
    long long n;
    long long low;
};
struct tap {
    double weight;
    long long z, y;  // Offsets modulo the lengths of the axes.
};
struct power_arguments {
    REAL *spectrum;   // [number of the state][grid][z][y][x], rows of `pitch` complex numbers.
    REAL *to;         // In the same layout; may be `spectrum`.
    const tap *taps;  // Of all terms, in their order.
    roots axis[3];
    long long rows[2];             // Rows whose matrices differ.
    long long pitch, grids, grid;  // grid: complex numbers of one.
    long long chunks;              // Blocks along a row.
    unsigned long long steps;
    double scale;
    int keeps;                  // 1: the result is stored to `spectrum` too.
    int levels;                 // 1: `to` gets the levels, not their differences.
    wide values[MODES_VALUES];  // Constant factors, then what a step adds to each field.
};
static_assert(layout_matches(sizeof(power_arguments)), "the arguments that are launched");

__device__ __forceinline__ wide_complex root(const roots &r, unsigned long long j) {
    return times(r.coarse[j >> r.low], r.fine[j & ((1ull << r.low) - 1)]);
}

// ---- the matrix of a step

// Term `slot` of row (z, y): its real or its imaginary part.
__device__ __forceinline__ wide term_of(const power_arguments &a, int slot, long long z, long long y) {
    wide_complex sum = {{0, 0}, {0, 0}};
    for (int i = MODES_FIRST[slot]; i < MODES_FIRST[slot + 1]; i++) {
        const tap t = a.taps[i];
        const wide_complex turn = times(root(a.axis[0], static_cast<unsigned long long>(z * t.z) % a.axis[0].n),
                                        root(a.axis[1], static_cast<unsigned long long>(y * t.y) % a.axis[1].n));
        sum = plus(sum, times(wide{t.weight, 0.0}, turn));
    }
    return MODES_PART[slot] ? sum.im : sum.re;
}

// A loop whose index is constant if it is short.
template <int FROM, int TO, class BODY>
__device__ __forceinline__ void each(const BODY &body) {
    if constexpr (TO - FROM <= 16)
        unroll<FROM, TO>(body);
    else
        for (int i = FROM; i < TO; i++) body(i);
}

struct frequency {
    const wide *terms;                                    // Of its row.
    wide cosine[MODES_REACH + 1], sine[MODES_REACH + 1];  // Of the multiples of theta.
    const wide *values;
    bool first;  // It is frequency 0.

    // The symbol of stencil S, as a real, an imaginary or a complex number.
    template <int S>
    __device__ __forceinline__ auto symbol() const {
        constexpr int KIND = MODES_KIND[S], FROM = MODES_SLOT[S], TO = MODES_SLOT[S + 1];
        if constexpr (KIND == 4) {
            wide_sum re, im;
            each<0, (TO - FROM) / 2>([&](int pair) {
                const int s = FROM + 2 * pair, o = MODES_OFFSET[s];
                const wide c = cosine[o < 0 ? -o : o], i = o < 0 ? negated(sine[-o]) : sine[o];
                re.add(terms[s], c), re.subtract(terms[s + 1], i);
                im.add(terms[s], i), im.add(terms[s + 1], c);
            });
            return wide_complex{re.value(), im.value()};
        } else {
            wide_sum sum;
            each<FROM, TO>([&](int s) {
                const int o = MODES_OFFSET[s];
                sum.add(terms[s], KIND & 2 ? sine[o] : cosine[o]);
            });
            if constexpr (KIND & 1)
                return wide_imaginary{sum.value()};
            else
                return sum.value();
        }
    }
    template <int V>
    __device__ __forceinline__ wide value() const {
        return values[V];
    }
};

__device__ __forceinline__ void put(wide &to, wide re, wide) { to = re; }
__device__ __forceinline__ void put(wide_complex &to, wide re, wide im) { to = {re, im}; }

template <class T>
struct matrix {
    T at[SIZE][SIZE];

    template <class A>
    __device__ __forceinline__ void set(int row, int column, A a) {
        put(at[row][column], real_part(a), imaginary_part(a));
    }
    // A row of a difference: the row of the next lower order, minus that order at present.
    __device__ __forceinline__ void difference(int row) {
#pragma unroll UNROLLED_SIZE
        for (int j = 0; j < SIZE; j++) at[row][j] = at[row - 1][j];
        const wide minus = plus(real_part(at[row][row - 1]), wide{-1.0, 0.0});
        put(at[row][row - 1], minus, imaginary_part(at[row][row - 1]));
    }
};

using exact = matrix<typename chosen<MODES_REAL, wide, wide_complex>::type>;
using plain = matrix<typename chosen<MODES_REAL, double, complex<double>>::type>;

// ---- its power

__device__ __forceinline__ double narrowed(wide a) { return a.top; }
__device__ __forceinline__ complex<double> narrowed(wide_complex a) { return {a.re.top, a.im.top}; }
__device__ __forceinline__ plain narrowed(const exact &a) {
    plain to;
#pragma unroll UNROLLED_SIZE
    for (int i = 0; i < SIZE; i++)
#pragma unroll UNROLLED_SIZE
        for (int j = 0; j < SIZE; j++) to.at[i][j] = narrowed(a.at[i][j]);
    return to;
}

__device__ __forceinline__ void dot(const matrix<wide> &a, const matrix<wide> &b, int i, int j, wide &to) {
    wide_sum sum;
#pragma unroll UNROLLED_SIZE
    for (int m = 0; m < SIZE; m++) sum.add(a.at[i][m], b.at[m][j]);
    to = sum.value();
}
__device__ __forceinline__ void dot(const matrix<wide_complex> &a, const matrix<wide_complex> &b, int i, int j,
                                    wide_complex &to) {
    wide_sum re, im;
#pragma unroll UNROLLED_SIZE
    for (int m = 0; m < SIZE; m++) {
        const wide_complex x = a.at[i][m], y = b.at[m][j];
        re.add(x.re, y.re), re.subtract(x.im, y.im);
        im.add(x.re, y.im), im.add(x.im, y.re);
    }
    to = {re.value(), im.value()};
}
template <class T>
__device__ __forceinline__ void dot(const matrix<T> &a, const matrix<T> &b, int i, int j, T &to) {
    T sum = a.at[i][0] * b.at[0][j];
#pragma unroll UNROLLED_SIZE
    for (int m = 1; m < SIZE; m++) sum = sum + a.at[i][m] * b.at[m][j];
    to = sum;
}
template <class T>
__device__ __forceinline__ matrix<T> product(const matrix<T> &a, const matrix<T> &b) {
    matrix<T> to;
#pragma unroll UNROLLED_SIZE
    for (int i = 0; i < SIZE; i++)
#pragma unroll UNROLLED_SIZE
        for (int j = 0; j < SIZE; j++) dot(a, b, i, j, to.at[i][j]);
    return to;
}
// Squares for each bit `from` down to `to` of `steps`, and multiplies by the matrix if it is set.
template <class M>
__device__ __forceinline__ void raise(M &power, const M &step, unsigned long long steps, int from, int to) {
#pragma unroll 1
    for (int bit = from; bit >= to; bit--) {
        power = product(power, power);
        if (steps >> bit & 1) power = product(power, step);
    }
}
__device__ __forceinline__ plain power_of(const exact &step, unsigned long long steps) {
    const int from = 62 - __clzll(static_cast<long long>(steps));
    const plain rounded = narrowed(step);
    if (!MODES_EXACT) {
        plain power = rounded;
        raise(power, rounded, steps, from, 0);
        return power;
    }
    exact power = step;
    raise(power, step, steps, from, MODES_PLAIN);
    plain last = narrowed(power);
    raise(last, rounded, steps, from < MODES_PLAIN ? from : MODES_PLAIN - 1, 0);
    return last;
}

// ---- applying it

__device__ __forceinline__ complex<double> in_double(complex<double> a) { return a; }
__device__ __forceinline__ complex<double> in_double(complex<float> a) { return {a.re, a.im}; }

__device__ __forceinline__ complex<REAL> rounded(complex<double> a) {
    return {static_cast<REAL>(a.re), static_cast<REAL>(a.im)};
}

__device__ __forceinline__ void apply(const power_arguments &a, const plain &power, long long at, bool first) {
    complex<double> in[MODES_WIDTH];
    const long long next = a.grids * a.grid;
#pragma unroll UNROLLED_SIZE
    for (int i = 0; i < MODES_WIDTH; i++) in[i] = in_double(load_pair(a.spectrum + 2 * (at + i * next)));
    complex<double> made[MODES_WIDTH];
#pragma unroll UNROLLED_SIZE
    for (int i = 0; i < MODES_WIDTH; i++) {
        complex<double> sum = power.at[i][0] * in[0];
#pragma unroll UNROLLED_SIZE
        for (int j = 1; j < MODES_WIDTH; j++) sum = sum + power.at[i][j] * in[j];
        made[i] = a.scale * sum;
        if constexpr (MODES_AFFINE)
            if (first) made[i] = made[i] + power.at[i][MODES_WIDTH] * complex<double>{1.0, 0.0};
        if (a.keeps) store_pair(a.spectrum + 2 * (at + i * next), rounded(made[i]));
    }
    if (a.levels)
#pragma unroll
        for (int f = 0; f < MODES_FIELDS; f++)
#pragma unroll
            for (int j = MODES_FIELD[f + 1] - 1; j > MODES_FIELD[f]; j--)
#pragma unroll
                for (int i = j; i < MODES_FIELD[f + 1]; i++) made[i] = made[i - 1] - made[i];
#pragma unroll UNROLLED_SIZE
    for (int i = 0; i < MODES_WIDTH; i++) store_pair(a.to + 2 * (at + i * next), rounded(made[i]));
}

extern "C" __global__ void __launch_bounds__(THREADS) modes_power(const __grid_constant__ power_arguments a) {
    __shared__ wide terms[MODES_ROWS][SLOTS];
    const int x = static_cast<int>(threadIdx.x) % THREADS_X, y = static_cast<int>(threadIdx.x) / THREADS_X;
    const long long group = blockIdx.x / a.chunks, chunk = blockIdx.x - group * a.chunks;
    const long long begin = group * MODES_ROWS, all = a.rows[0] * a.rows[1], kx = chunk * THREADS_X + x;
    for (int i = static_cast<int>(threadIdx.x); i < MODES_ROWS * MODES_TERMS; i += THREADS) {
        const int own = i / SLOTS;
        const long long row = begin + own;
        if (row < all) terms[own][i % SLOTS] = term_of(a, i % SLOTS, row / a.rows[1], row % a.rows[1]);
    }
    __syncthreads();
    if (kx >= a.pitch) return;
    frequency f;
    f.values = a.values;
    for (int o = 0; o <= MODES_REACH; o++) {
        const wide_complex turn = root(a.axis[2], static_cast<unsigned long long>(kx * o) % a.axis[2].n);
        f.cosine[o] = turn.re, f.sine[o] = turn.im;
    }
    for (int own = y; own < MODES_ROWS && begin + own < all; own += THREADS_Y) {
        const long long row = begin + own, z = row / a.rows[1], y0 = row - z * a.rows[1];
        f.terms = terms[own];
        f.first = !row && !kx;
        exact step = {};
        modes_matrix(f, step);
        const plain power = power_of(step, a.steps);
        const long long mirror_z = MODES_EVEN[0] && z ? a.axis[0].n - z : z;
        const long long mirror_y = MODES_EVEN[1] && y0 ? a.axis[1].n - y0 : y0;
        for (long long g = 0; g < a.grids; g++)
            for (int each = 0; each < 4; each++) {
                if ((each & 1 && mirror_y == y0) || (each & 2 && mirror_z == z)) continue;
                const long long to = (each & 2 ? mirror_z : z) * a.axis[1].n + (each & 1 ? mirror_y : y0);
                apply(a, power, g * a.grid + to * a.pitch + kx, f.first);
            }
    }
}
