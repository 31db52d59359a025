// Discrete Fourier transforms of R points in the registers of one thread, in natural order:
// X[k] = sum over n of  x[n] * w^(n k),  w = exp(-2 pi i / R). The inverse transform is the same
// between two swaps of re and im.
//
// All indices are constants once the loops are unrolled, so multiplications by 1, -i and
// (1 - i) / sqrt(2) cost nothing or little.
#pragma once
#include "device/complex.cuh"

// cos(2 pi k / 64), k = 0 .. 16: by symmetry these give every 64th root of unity.
constexpr double COS64[17] = {1.0,
                              0.99518472667219688624,
                              0.98078528040323044913,
                              0.95694033573220886494,
                              0.92387953251128675613,
                              0.88192126434835502971,
                              0.83146961230254523708,
                              0.77301045336273696081,
                              0.70710678118654752440,
                              0.63439328416364549822,
                              0.55557023301960222474,
                              0.47139673682599764856,
                              0.38268343236508977173,
                              0.29028467725446236764,
                              0.19509032201612826785,
                              0.09801714032956060199,
                              0.0};
__device__ __forceinline__ double cosine64(int k) {
    k = (k % 64 + 64) % 64;
    k = k > 32 ? 64 - k : k;
    return k > 16 ? -COS64[32 - k] : COS64[k];
}

// z * exp(-2 pi i k / 64)
template <class T>
__device__ __forceinline__ complex<T> times_root64(complex<T> z, int k) {
    const T half = T(COS64[8]);
    k = k % 64;
    if (k == 0) return z;
    if (k == 16) return {z.im, -z.re};
    if (k == 32) return {-z.re, -z.im};
    if (k == 48) return {-z.im, z.re};
    if (k == 8) return {half * (z.re + z.im), half * (z.im - z.re)};
    if (k == 24) return {half * (z.im - z.re), -half * (z.re + z.im)};
    const T c = T(cosine64(k)), s = T(cosine64(k - 16));
    return {z.re * c + z.im * s, z.im * c - z.re * s};
}

// z * exp(-2 pi i k / 9), k = 0, 1, 2, 4
template <class T>
__device__ __forceinline__ complex<T> times_root9(complex<T> z, int k) {
    if (k == 0) return z;
    const T c = T(k == 1 ? 0.76604444311897803520 : k == 2 ? 0.17364817766693034885 : -0.93969262078590838405);
    const T s = T(k == 1 ? 0.64278760968653932632 : k == 2 ? 0.98480775301220805937 : 0.34202014332566873304);
    return {z.re * c + z.im * s, z.im * c - z.re * s};
}

template <class T>
__device__ __forceinline__ void dft3(complex<T> (&x)[3]) {
    const T s = T(0.86602540378443864676);
    const complex<T> sum = x[1] + x[2], rotated = minus_i(s * (x[1] - x[2])), mid = x[0] - T(0.5) * sum;
    x[0] = x[0] + sum, x[1] = mid + rotated, x[2] = mid - rotated;
}

// DFT of an odd prime R: sums and differences of x[n] and x[R - n], times cosines and sines.
template <int R, class T>
__device__ __forceinline__ void dft_odd(complex<T> (&x)[R], const double (&cosine)[R], const double (&sine)[R]) {
    constexpr int H = R / 2;
    complex<T> sum[H], difference[H], out[R];
    out[0] = x[0];
#pragma unroll
    for (int n = 1; n <= H; n++) {
        sum[n - 1] = x[n] + x[R - n], difference[n - 1] = x[n] - x[R - n];
        out[0] = out[0] + sum[n - 1];
    }
#pragma unroll
    for (int k = 1; k <= H; k++) {
        complex<T> even = x[0], odd = {T(0), T(0)};
#pragma unroll
        for (int n = 1; n <= H; n++) {
            even = even + T(cosine[n * k % R]) * sum[n - 1];
            odd = odd + T(sine[n * k % R]) * difference[n - 1];
        }
        out[k] = even + minus_i(odd), out[R - k] = even - minus_i(odd);
    }
#pragma unroll
    for (int k = 0; k < R; k++) x[k] = out[k];
}
constexpr double COS5[5] = {1.0, 0.30901699437494742410, -0.80901699437494742410, -0.80901699437494742410,
                            0.30901699437494742410};
constexpr double SIN5[5] = {0.0, 0.95105651629515357212, 0.58778525229247312917, -0.58778525229247312917,
                            -0.95105651629515357212};
constexpr double COS7[7] = {1.0,
                            0.62348980185873353053,
                            -0.22252093395631440429,
                            -0.90096886790241912624,
                            -0.90096886790241912624,
                            -0.22252093395631440429,
                            0.62348980185873353053};
constexpr double SIN7[7] = {0.0,
                            0.78183148246802980871,
                            0.97492791218182360702,
                            0.43388373911755812048,
                            -0.43388373911755812048,
                            -0.97492791218182360702,
                            -0.78183148246802980871};

template <int R, class T>
__device__ __forceinline__ void dft(complex<T> (&x)[R]);

// Prime-factor algorithm (Good-Thomas) for coprime A and B: with n = B n1 + A n2, k = k1 mod A and
// k = k2 mod B there are no twiddle factors.
template <int A, int B, class T>
__device__ __forceinline__ void dft_prime_factor(complex<T> (&x)[A * B]) {
    complex<T> y[A * B];
#pragma unroll
    for (int n2 = 0; n2 < B; n2++) {
        complex<T> part[A];
#pragma unroll
        for (int n1 = 0; n1 < A; n1++) part[n1] = x[(B * n1 + A * n2) % (A * B)];
        dft<A>(part);
#pragma unroll
        for (int k1 = 0; k1 < A; k1++) y[B * k1 + n2] = part[k1];
    }
#pragma unroll
    for (int k1 = 0; k1 < A; k1++) {
        complex<T> part[B];
#pragma unroll
        for (int n2 = 0; n2 < B; n2++) part[n2] = y[B * k1 + n2];
        dft<B>(part);
#pragma unroll
        for (int k2 = 0; k2 < B; k2++) y[B * k1 + k2] = part[k2];
    }
#pragma unroll
    for (int k = 0; k < A * B; k++) x[k] = y[k % A * B + k % B];
}

// Cooley-Tukey step for 9 = 3 * 3 and the powers of two: n = B n1 + n2, k = k1 + A k2.
template <int A, int B, class T>
__device__ __forceinline__ void dft_split(complex<T> (&x)[A * B]) {
    constexpr int R = A * B;
    complex<T> out[R];
#pragma unroll
    for (int n2 = 0; n2 < B; n2++) {
        complex<T> part[A];
#pragma unroll
        for (int n1 = 0; n1 < A; n1++) part[n1] = x[B * n1 + n2];
        dft<A>(part);
#pragma unroll
        for (int k1 = 0; k1 < A; k1++)
            x[B * k1 + n2] = R == 9 ? times_root9(part[k1], n2 * k1) : times_root64(part[k1], n2 * k1 * (64 / R));
    }
#pragma unroll
    for (int k1 = 0; k1 < A; k1++) {
        complex<T> part[B];
#pragma unroll
        for (int n2 = 0; n2 < B; n2++) part[n2] = x[B * k1 + n2];
        dft<B>(part);
#pragma unroll
        for (int k2 = 0; k2 < B; k2++) out[k1 + A * k2] = part[k2];
    }
#pragma unroll
    for (int k = 0; k < R; k++) x[k] = out[k];
}

template <int R, class T>
__device__ __forceinline__ void dft(complex<T> (&x)[R]) {
    static_assert((R >= 1 && R <= 10) || R == 12 || (R >= 14 && R <= 16) || R == 32, "a radix that has a butterfly");
    if constexpr (R == 2) {
        const complex<T> a = x[0] + x[1], b = x[0] - x[1];
        x[0] = a, x[1] = b;
    } else if constexpr (R == 3) {
        dft3(x);
    } else if constexpr (R == 4) {
        const complex<T> a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = minus_i(x[1] - x[3]);
        x[0] = a + c, x[1] = b + d, x[2] = a - c, x[3] = b - d;
    } else if constexpr (R == 5) {
        dft_odd<5>(x, COS5, SIN5);
    } else if constexpr (R == 7) {
        dft_odd<7>(x, COS7, SIN7);
    } else if constexpr (R == 12) {
        dft_prime_factor<4, 3>(x);
    } else if constexpr (R == 15) {
        dft_prime_factor<3, 5>(x);
    } else if constexpr (R == 6 || R == 10 || R == 14) {
        dft_prime_factor<2, R / 2>(x);
    } else if constexpr (R > 1) {
        constexpr int A = R == 8 ? 2 : R == 9 ? 3 : 4;
        dft_split<A, R / A>(x);
    }
}

// x[r] *= w^r for r = 1 .. R - 1. times_table reads w^r from a table, in which w^r and w^(r + 1)
// are `many` complex numbers apart. times_powers computes w^r from w as a product of few factors,
// so that the error stays at a few roundings.
template <int R, class T>
__device__ __forceinline__ void times_table(complex<T> (&x)[R], const T *table, int many) {
#pragma unroll
    for (int r = 1; r < R; r++) x[r] = x[r] * load_pair(table + 2 * (r - 1) * many);
}
template <int R, class T>
__device__ __forceinline__ void times_powers(complex<T> (&x)[R], complex<T> w) {
    constexpr int LOW = R < 4 ? R : 4;
    complex<T> low[LOW], high;
#pragma unroll
    for (int r = 1; r < LOW; r++) low[r] = r == 1 ? w : low[r / 2] * low[r - r / 2];
    const complex<T> step = R > 4 ? low[LOW / 2] * low[LOW - LOW / 2] : w;
#pragma unroll
    for (int r = 1; r < R; r++) {
        if (r % LOW == 0) high = r == LOW ? step : high * step;
        x[r] = x[r] * (r < LOW ? low[r] : r % LOW == 0 ? high : low[r % LOW] * high);
    }
}
// x[r] *= first * w^r
template <int R, class T>
__device__ __forceinline__ void times_progression(complex<T> (&x)[R], complex<T> first, complex<T> w) {
    constexpr int LOW = R < 4 ? R : 4;
    complex<T> low[LOW], high;
    const complex<T> w2 = w * w, step = w2 * w2;
    low[0] = first;
#pragma unroll
    for (int r = 1; r < LOW; r++) low[r] = r == 1 ? first * w : low[r - 2] * w2;
#pragma unroll
    for (int r = 0; r < R; r++) {
        if (r && r % LOW == 0) high = r == LOW ? step : high * step;
        x[r] = x[r] * (r < LOW ? low[r] : low[r % LOW] * high);
    }
}
