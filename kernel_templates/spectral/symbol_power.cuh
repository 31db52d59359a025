// The factor K^T of a frequency after T steps. The symbol is K(k) = sum over taps o of
// w_o exp(i k.o). Along a line it depends on z = exp(i theta), theta = 2 pi k / N, and 1 - K is
// computed from the line's coefficients:
//
//     SYMBOL 0   1 - K = D + s (p_1 + s (p_2 + ..)),  s = 4 sin^2(theta / 2)
//                if K is real and even in theta
//     SYMBOL 1   1 - K = D + (1 - z) A(z) + (1 - 1/z) B(1/z)
//                A, B: polynomials whose coefficients are sums of weights
//     SYMBOL 2   one step of many taps: K is the FFT of the line of taps, made by the kernel
//
// D, A, B and p belong to the line (they depend on the other axes' frequencies). 1 - z and s are
// computed from half-angle sines. So 1 - K has a small *relative* error where K is near 1, which
// powers preserve: with K^m = 1 - a and K^n = 1 - b, K^(m + n) = 1 - (a + b - a b). Factors are
// computed in double for every data type.
//
// SYMBOL_ANGLE_SUM: lines are rows of a four-step FFT (spectral_four_step.cu), and theta = 2 pi (k1
// / L + k / N), where k1 belongs to the row. Sine and cosine of the half angle are computed from
// those of the row and of k, -N / 2 < k <= N / 2, by the addition theorem. k1 / L is less than half
// the distance between two k / N, so the sine of the sum has a small relative error too.
//
// SYMBOL_SUM: the factor is 1 + K + .. + K^(T-1) = (1 - K^T) / (1 - K), or T where K = 1: the total
// contribution of a constant source.
//
// Reads SYMBOL, SYMBOL_ANGLE_SUM, SYMBOL_SUM, SYMBOL_HIGH (terms of A, or of p) and SYMBOL_LOW (of
// B).
#pragma once
#include "device/complex.cuh"
#include "params.cuh"

struct symbol_arguments {
    const double *parts;  // For each line: D, p_1, p_2 ..; or complex D, A_0, A_1 .., B_0, B_1 ..
    // For each k <= N / 2: s, or (1 - cos(theta), sin(theta)). SYMBOL_ANGLE_SUM: for each k < N,
    // cos and sin of pi k / N.
    const double *angles;
    unsigned long long steps;
    // If 1 - |K| exceeds it, K^T counts as 0: it is negligible relative to the largest |K|^T.
    double decay_bound;
    double scale;  // Multiplied into all factors.
};

struct symbol_line {
    const double *parts;
    complex<double> half_angle;  // SYMBOL_ANGLE_SUM: cosine and sine of the row's half angle.
};

// Doubles per line.
constexpr int SYMBOL_PARTS = SYMBOL == 0 ? 1 + SYMBOL_HIGH : 2 * (1 + SYMBOL_HIGH + SYMBOL_LOW);
constexpr bool SYMBOL_FEW = SYMBOL == 0 && SYMBOL_PARTS <= 3;

// SYMBOL 2: input point p of the transform of N points: the weight of the tap with offset -p along
// the line, or 0 if there is none. `taps` are those of the line.
template <int N, class T>
__device__ __forceinline__ complex<T> tap_at(const T *taps, int p) {
    if (p <= SYMBOL_LOW) return load_pair(taps + 2 * (SYMBOL_LOW - p));
    if (p >= N - SYMBOL_HIGH) return load_pair(taps + 2 * (SYMBOL_LOW + N - p));
    return {T(0), T(0)};
}

// K^T from 1 - K, by binary exponentiation from the highest bit of T. While the magnitude of the
// partial power is at least 1/2, its difference from 1 is stored, and from then on the power
// itself. Each has a small relative error.
template <class V>
struct power {
    V value, one_minus;  // K^T, 1 - K^T
};
__device__ __forceinline__ power<double> power_of(double one_minus_k, const symbol_arguments &a) {
    if (fmin(one_minus_k, 2.0 - one_minus_k) > a.decay_bound) return {0.0, 1.0};
    const double k = 1.0 - one_minus_k;
    double one_minus = one_minus_k, value = k;
    bool is_large = !(fabs(k) < 0.5);
#pragma unroll 1
    for (int bit = 62 - __clzll(static_cast<long long>(a.steps)); bit >= 0; bit--) {
        const bool more = a.steps >> bit & 1;
        if (is_large) {
            one_minus = one_minus * (2.0 - one_minus);
            if (more) one_minus = one_minus * k + one_minus_k;
            value = 1.0 - one_minus;
            is_large = !(fabs(value) < 0.5);
        } else {
            value = value * value;
            if (more) value = value * k;
        }
    }
    return {value, is_large ? one_minus : 1.0 - value};
}
__device__ __forceinline__ double squared_magnitude(complex<double> z) { return z.re * z.re + z.im * z.im; }
__device__ __forceinline__ power<complex<double>> power_of(complex<double> one_minus_k, const symbol_arguments &a) {
    // 1 - |K|^2 <= 2 (1 - |K|)
    if (2.0 * one_minus_k.re - squared_magnitude(one_minus_k) > 2.0 * a.decay_bound) return {{0.0, 0.0}, {1.0, 0.0}};
    const complex<double> k = {1.0 - one_minus_k.re, -one_minus_k.im};
    complex<double> one_minus = one_minus_k, value = k;
    bool is_large = !(squared_magnitude(k) < 0.25);
#pragma unroll 1
    for (int bit = 62 - __clzll(static_cast<long long>(a.steps)); bit >= 0; bit--) {
        const bool more = a.steps >> bit & 1;
        if (is_large) {
            one_minus = one_minus * complex<double>{2.0 - one_minus.re, -one_minus.im};
            if (more) one_minus = one_minus * k + one_minus_k;
            value = {1.0 - one_minus.re, -one_minus.im};
            is_large = !(squared_magnitude(value) < 0.25);
        } else {
            value = value * value;
            if (more) value = value * k;
        }
    }
    if (!is_large) one_minus = {1.0 - value.re, -value.im};
    return {value, one_minus};
}
// K^T without 1 - K^T. Few steps are multiplied one by one: the rounding error is no larger than
// that of power_of.
constexpr unsigned long long FEW_STEPS = 8;
__device__ __forceinline__ double k_of(double one_minus_k) { return 1.0 - one_minus_k; }
__device__ __forceinline__ complex<double> k_of(complex<double> one_minus_k) {
    return {1.0 - one_minus_k.re, -one_minus_k.im};
}
template <class V>
__device__ __forceinline__ V power_only(V one_minus_k, const symbol_arguments &a) {
    if (a.steps > FEW_STEPS) return power_of(one_minus_k, a).value;
    const V k = k_of(one_minus_k);
    V value = k;
#pragma unroll 1
    for (int left = static_cast<int>(a.steps) - 1; left > 0; left--) value = value * k;
    return value;
}
__device__ __forceinline__ double inverse_of(double one_minus_k) { return 1.0 / one_minus_k; }
__device__ __forceinline__ complex<double> inverse_of(complex<double> one_minus_k) {
    return (1.0 / squared_magnitude(one_minus_k)) * conjugate(one_minus_k);
}
// 1 + K + .. + K^(T-1)
__device__ __forceinline__ double sum_of(double one_minus, double one_minus_k, const symbol_arguments &a) {
    return one_minus_k == 0.0 ? static_cast<double>(a.steps) : one_minus / one_minus_k;
}
__device__ __forceinline__ complex<double> sum_of(complex<double> one_minus, complex<double> one_minus_k,
                                                  const symbol_arguments &a) {
    if (squared_magnitude(one_minus_k) == 0.0) return {static_cast<double>(a.steps), 0.0};
    return one_minus * inverse_of(one_minus_k);
}
// The factor of a frequency.
template <class V>
__device__ __forceinline__ V factor_of(V one_minus_k, const symbol_arguments &a) {
    if constexpr (SYMBOL_SUM) {
        const power<V> all = power_of(one_minus_k, a);
        return sum_of(all.one_minus, one_minus_k, a);
    } else {
        return power_only(one_minus_k, a);
    }
}

// ---- 1 - K at frequency k of a line of N
__device__ __forceinline__ double one_minus_k_from(const double *parts, double s) {
    double sum = SYMBOL_HIGH ? parts[SYMBOL_HIGH] : 0.0;
#pragma unroll
    for (int j = SYMBOL_HIGH - 1; j >= 1; j--) sum = sum * s + parts[j];
    return parts[0] + (SYMBOL_HIGH ? s * sum : 0.0);
}
// one_minus_inverse_z = 1 - 1/z.
__device__ __forceinline__ complex<double> one_minus_k_from(const double *parts, complex<double> one_minus_inverse_z) {
    complex<double> low = {0.0, 0.0}, high = {0.0, 0.0};
    const complex<double> z = {1.0 - one_minus_inverse_z.re, one_minus_inverse_z.im}, back = conjugate(z);
#pragma unroll 1
    for (int j = SYMBOL_HIGH - 1; j >= 0; j--) high = high * z + load_pair(parts + 2 * (1 + j));
#pragma unroll 1
    for (int j = SYMBOL_LOW - 1; j >= 0; j--) low = low * back + load_pair(parts + 2 * (1 + SYMBOL_HIGH + j));
    return load_pair(parts) + conjugate(one_minus_inverse_z) * high + one_minus_inverse_z * low;
}
template <int N>
__device__ __forceinline__ auto one_minus_k_of(const symbol_line &line, const double *angles, int k) {
    if constexpr (SYMBOL_ANGLE_SUM) {
        const complex<double> half_angle = line.half_angle * load_pair(angles + 2 * k);
        if constexpr (SYMBOL == 0)
            return one_minus_k_from(line.parts, 4.0 * half_angle.im * half_angle.im);
        else
            return one_minus_k_from(
                line.parts, complex<double>{2.0 * half_angle.im * half_angle.im, 2.0 * half_angle.im * half_angle.re});
    } else {
        const bool mirrored = k > N / 2;
        const int at = mirrored ? N - k : k;
        if constexpr (SYMBOL == 0) {
            return one_minus_k_from(line.parts, angles[at]);
        } else {
            complex<double> one_minus_inverse_z = load_pair(angles + 2 * at);
            if (mirrored) one_minus_inverse_z.im = -one_minus_inverse_z.im;
            return one_minus_k_from(line.parts, one_minus_inverse_z);
        }
    }
}

template <class T>
__device__ __forceinline__ complex<T> times_factor(complex<T> x, double factor) {
    return static_cast<T>(factor) * x;
}
template <class T>
__device__ __forceinline__ complex<T> times_factor(complex<T> x, complex<double> factor) {
    return x * complex<T>{static_cast<T>(factor.re), static_cast<T>(factor.im)};
}
// Multiplies x, at frequency k of a line, by K^T or by the sum.
template <int N, class T>
__device__ __forceinline__ complex<T> times_symbol(complex<T> x, const symbol_line &line, int k,
                                                   const symbol_arguments &a) {
    return times_factor(x, a.scale * factor_of(one_minus_k_of<N>(line, a.angles, k), a));
}
// The same, and adds the total contribution of a source at the same frequency.
template <int N, class T>
__device__ __forceinline__ complex<T> times_symbol_with(complex<T> x, complex<T> source, const symbol_line &line, int k,
                                                        const symbol_arguments &a) {
    const auto one_minus_k = one_minus_k_of<N>(line, a.angles, k);
    const auto power = power_of(one_minus_k, a);
    return times_factor(x, a.scale * power.value) +
           times_factor(source, a.scale * sum_of(power.one_minus, one_minus_k, a));
}
// The total contribution of a source to a decayed mode, where K^T is 0.
template <int N, class T>
__device__ __forceinline__ complex<T> decayed(complex<T> source, const symbol_line &line, int k,
                                              const symbol_arguments &a) {
    const auto one_minus_k = one_minus_k_of<N>(line, a.angles, k);
    return times_factor(source, a.scale * inverse_of(one_minus_k));
}
