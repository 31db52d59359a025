// The matrix of a step of a linear system at a frequency, and its power; used by modes_power.cu,
// modes_lines.cu and modes_plane.cu.
//
// A stencil's symbol is a sum of terms, each of all taps with the same offset x along the lines of
// frequencies that a kernel processes:
//
//     S(k) = sum over x of  term_x exp(i x theta),  theta = 2 pi k / n
//
// The terms belong to the line: they depend on the frequencies along z and y. Where a stencil is
// even or odd along the lines and as a whole, terms of x and -x are merged, and are real or
// imaginary numbers.
//
// Numbers have 106 bits with MODES_WIDE (wide.cuh), else those of float64. The last MODES_PLAIN
// squarings are in float64 in any case: each later squaring at most doubles a rounding error
// (quadruples it where two eigenvalues meet).
//
// Reads MODES_*, modes_matrix.
#pragma once
#include "device/complex.cuh"
#include "device/unroll.cuh"
#include "modes/wide.cuh"  // After params.cuh, whose modes_matrix includes it.
#include "params.cuh"

constexpr int SLOTS = MODES_TERMS > 0 ? MODES_TERMS : 1;  // C++ has no empty arrays.
constexpr int SIZE = MODES_WIDTH + MODES_AFFINE;
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
struct symbol_tables {
    const tap *taps;  // Of all terms, in their order.
    roots axis[3];    // z, y, x
};

__device__ __forceinline__ wide_complex root(const roots &r, unsigned long long j) {
    return times(r.coarse[j >> r.low], r.fine[j & ((1ull << r.low) - 1)]);
}

// ---- the matrix of a step

// Term `slot` of row (z, y): its real or its imaginary part.
__device__ __forceinline__ wide term_of(const symbol_tables &a, int slot, long long z, long long y) {
    wide_complex sum = {{0, 0}, {0, 0}};
    for (int i = MODES_FIRST[slot]; i < MODES_FIRST[slot + 1]; i++) {
        const tap t = a.taps[i];
        const wide_complex turn = times(root(a.axis[0], static_cast<unsigned long long>(z * t.z) % a.axis[0].n),
                                        root(a.axis[1], static_cast<unsigned long long>(y * t.y) % a.axis[1].n));
        sum = plus(sum, times(wide{t.weight, 0.0}, turn));
    }
    return MODES_PART[slot] ? sum.im : sum.re;
}

// A loop. It is unrolled, with constant indices, if it has at most 16 iterations.
template <int FROM, int TO, class BODY>
__device__ __forceinline__ void each(const BODY &body) {
    if constexpr (TO - FROM <= 16)
        unroll<FROM, TO>(body);
    else
        for (int i = FROM; i < TO; i++) body(i);
}

struct frequency {
    const wide *terms;                                    // Of its line.
    wide cosine[MODES_REACH + 1], sine[MODES_REACH + 1];  // Of the multiples of theta.
    const wide *values;                                   // As in the kernel's arguments.
    bool first;                                           // It is frequency 0.

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
    // Fills the row of a difference of order j: the next state's difference of order j - 1 (the
    // row above) minus the present one.
    __device__ __forceinline__ void difference(int row) {
#pragma unroll UNROLLED_SIZE
        for (int j = 0; j < SIZE; j++) at[row][j] = at[row - 1][j];
        const wide minus = plus(real_part(at[row][row - 1]), wide{-1.0, 0.0});
        put(at[row][row - 1], minus, imaginary_part(at[row][row - 1]));
    }
};

using wide_matrix = matrix<typename chosen<MODES_REAL, wide, wide_complex>::type>;
using double_matrix = matrix<typename chosen<MODES_REAL, double, complex<double>>::type>;

// ---- its power

__device__ __forceinline__ double narrowed(wide a) { return a.top; }
__device__ __forceinline__ complex<double> narrowed(wide_complex a) { return {a.re.top, a.im.top}; }
__device__ __forceinline__ double_matrix narrowed(const wide_matrix &a) {
    double_matrix to;
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
// The power of a matrix A of two rows by its trace. With the trace t of A^m, its determinant d, and
// h = t / 2,
//
//     A^m = h I + alpha (A - tr(A) / 2 I)
//     A^2m has the trace t^2 - 2 d, the determinant d^2, and alpha t in place of alpha
//     A^(m + n) has h = h_m h_n + D alpha_m alpha_n and alpha = alpha_m h_n + h_m alpha_n
//
// where D = tr(A)^2 / 4 - det(A). Only squares of t and d amplify rounding errors, so that only
// these are wide. The error of an element is relative to the norm of the power. This suffices for
// the levels of one field, but not for two fields of which one grows and the other decays.
template <class T>
struct power_by_trace {
    wide trace, determinant = {1.0, 0.0};       // Of A^(2^j).
    double half, upper, lower, quarter;         // A - tr(A) / 2 I, with -half at the end; D.
    double h = 1.0, alpha = 0.0, square = 1.0;  // Of the power so far; square: alpha of A^(2^j).

    __device__ __forceinline__ explicit power_by_trace(const matrix<T> &step) {
        trace = plus(step.at[0][0], step.at[1][1]);
        if constexpr (!MODES_UNIT) {
            wide_sum sum;
            sum.add(step.at[0][0], step.at[1][1]), sum.subtract(step.at[0][1], step.at[1][0]);
            determinant = sum.value();
        }
        half = 0.5 * plus(step.at[0][0], negated(step.at[1][1])).top;
        upper = step.at[0][1].top, lower = step.at[1][0].top, quarter = half * half + upper * lower;
    }
    // Multiplies the power by A^(2^j), whose h is `own`.
    __device__ __forceinline__ void multiply() {
        const double own = 0.5 * trace.top, product = alpha * square;
        alpha = alpha * own + h * square;
        h = h * own + quarter * product;
    }
    // From A^(2^j) to A^(2^(j + 1)).
    __device__ __forceinline__ void double_exponent(int squarings) {
        square *= trace.top;
        if (MODES_WIDE && squarings > MODES_PLAIN) {
            wide_sum sum;
            sum.sum = -2.0 * determinant.top, sum.error = -2.0 * determinant.rest;
            sum.add(trace, trace);
            trace = sum.value();
            if constexpr (!MODES_UNIT) determinant = times(determinant, determinant);
        } else {
            trace = {trace.top * trace.top - 2.0 * determinant.top, 0.0};
            if constexpr (!MODES_UNIT) determinant = {determinant.top * determinant.top, 0.0};
        }
    }
    __device__ __forceinline__ void store(matrix<double> &to) const {
        to.at[0][0] = h + half * alpha, to.at[0][1] = upper * alpha;
        to.at[1][0] = lower * alpha, to.at[1][1] = h - half * alpha;
    }
};

template <class T>
__device__ __forceinline__ double_matrix power_of(const matrix<T> &step, unsigned long long steps) {
    if constexpr (MODES_TRACE) {
        double_matrix power;
        power_by_trace<T> made(step);
        int squarings = 63 - __clzll(static_cast<long long>(steps));
#pragma unroll 1
        for (unsigned long long left = steps;; left >>= 1, squarings--) {
            if (left & 1) made.multiply();
            if (left == 1) break;
            made.double_exponent(squarings);
        }
        made.store(power);
        return power;
    } else {
        const int from = 62 - __clzll(static_cast<long long>(steps));
        const double_matrix rounded = narrowed(step);
        if constexpr (MODES_PLAIN >= 64) {
            double_matrix power = rounded;
            raise(power, rounded, steps, from, 0);
            return power;
        } else {
            matrix<T> power = step;
            raise(power, step, steps, from, MODES_PLAIN);
            double_matrix last = narrowed(power);
            raise(last, rounded, steps, from < MODES_PLAIN ? from : MODES_PLAIN - 1, 0);
            return last;
        }
    }
}

// Two powers at once, whose operations fill each other's latencies.
template <class T>
__device__ __forceinline__ void powers_of(const matrix<T> (&step)[2], unsigned long long steps,
                                          double_matrix (&power)[2]) {
    if constexpr (MODES_TRACE) {
        power_by_trace<T> low(step[0]), high(step[1]);
        int squarings = 63 - __clzll(static_cast<long long>(steps));
#pragma unroll 1
        for (unsigned long long left = steps;; left >>= 1, squarings--) {
            if (left & 1) low.multiply(), high.multiply();
            if (left == 1) break;
            low.double_exponent(squarings), high.double_exponent(squarings);
        }
        low.store(power[0]), high.store(power[1]);
    } else {
        power[0] = power_of(step[0], steps), power[1] = power_of(step[1], steps);
    }
}

// ---- applying it

// Powers for the levels of one field, whose products do not cancel, are applied in the data's type.
using applied = chosen<MODES_TRACE, REAL, double>::type;
using factors = matrix<chosen<MODES_REAL, applied, complex<applied>>::type>;

__device__ __forceinline__ complex<REAL> rounded(complex<applied> a) {
    return {static_cast<REAL>(a.re), static_cast<REAL>(a.im)};
}
__device__ __forceinline__ void round_to(double from, applied &to) { to = static_cast<applied>(from); }
__device__ __forceinline__ void round_to(complex<double> from, complex<applied> &to) {
    to = {static_cast<applied>(from.re), static_cast<applied>(from.im)};
}

// The power times `scale`, except for the constants that steps add.
__device__ __forceinline__ factors scaled(const double_matrix &power, double scale) {
    factors to;
#pragma unroll UNROLLED_SIZE
    for (int i = 0; i < SIZE; i++)
#pragma unroll UNROLLED_SIZE
        for (int j = 0; j < SIZE; j++) round_to(j < MODES_WIDTH ? scale * power.at[i][j] : power.at[i][j], to.at[i][j]);
    return to;
}
// The state after the steps. first: of frequency 0, where steps add constants.
__device__ __forceinline__ void apply(const factors &power, const complex<applied> (&in)[MODES_WIDTH], bool first,
                                      complex<applied> (&made)[MODES_WIDTH]) {
#pragma unroll UNROLLED_SIZE
    for (int i = 0; i < MODES_WIDTH; i++) {
        made[i] = power.at[i][0] * in[0];
#pragma unroll UNROLLED_SIZE
        for (int j = 1; j < MODES_WIDTH; j++) made[i] = made[i] + power.at[i][j] * in[j];
        if constexpr (MODES_AFFINE)
            if (first) made[i] = made[i] + power.at[i][MODES_WIDTH] * complex<applied>{1, 0};
    }
}
// Replaces differences by levels.
__device__ __forceinline__ void to_levels(complex<applied> (&state)[MODES_WIDTH]) {
#pragma unroll
    for (int f = 0; f < MODES_FIELDS; f++)
#pragma unroll
        for (int j = MODES_FIELD[f + 1] - 1; j > MODES_FIELD[f]; j--)
#pragma unroll
            for (int i = j; i < MODES_FIELD[f + 1]; i++) state[i] = state[i - 1] - state[i];
}
