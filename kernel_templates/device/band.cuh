// Banded Toeplitz operands for products of 16 x 8 x 8: out(i) = sum over j of  w[j] * in(i + j - LOW)  as a matrix.
//
//     16 outputs i        8k ..          the band is the same for every tile, so a block of it is told by w alone:
//        | w0 w1 w2 ..        |              band(i, j) = w[j - i],  0 outside of w
//        |    w0 w1 w2 ..     |          Rows 8 to 15 of block k are rows 0 to 7 of block k - 1: half of a fragment
//        |       w0 w1 w2 ..  |          is enough.
#pragma once
#include "device/fragment.cuh"
#include "device/index.cuh"

// A vector of weights with zeros before and after, so that every block of the band can be read:
// block k of a lane is pair BAND_PAD + 8k + 2t - g of it, an element and the next. In f64 these are
// two reads; other types are kept as pairs, in their parts. (The padding is enough for 16 rows.)
constexpr int BAND_PAD = 15;
constexpr int band_size(int blocks) { return 8 * blocks + 2 * BAND_PAD; }
template <class STORE, int PARTS>
struct band {
    using entry = operand<STORE, PARTS>;
};
template <int PARTS>
struct band<double, PARTS> {
    using entry = double;
};
__device__ __forceinline__ void set_entry(double &to, double value, double) { to = value; }
template <class STORE, int PARTS>
__device__ __forceinline__ void set_entry(operand<STORE, PARTS> &to, float value, float next) {
    to = make_operand<STORE, PARTS>(value, next);
}
__device__ __forceinline__ operand<double, 1> band_pair(const double *band) {
    return make_operand<double, 1>(band[0], band[1]);
}
template <class STORE, int PARTS>
__device__ __forceinline__ operand<STORE, PARTS> band_pair(const operand<STORE, PARTS> *band) {
    return *band;
}

// All threads of the block fill `padded`; `skip` zeros stand before the weights. Of EVEN weights,
// the same from either end, only the first half is given, the one in the middle included. Follow it
// by a barrier.
template <int EVEN, class ENTRY, class REAL>
__device__ __forceinline__ void fill_band(ENTRY *padded, int size, const REAL *weight, int count, int skip, int thread,
                                          int threads) {
    const auto at = [&](int j) -> REAL {
        return j >= 0 && j < count ? weight[EVEN && j > count / 2 ? count - 1 - j : j] : 0;
    };
    for (int i = thread; i < size; i += threads) {
        const int j = i - BAND_PAD - skip;
        set_entry(padded[i], at(j), at(j + 1));
    }
}

// ---- products of what is left of data when a number of their own size is taken from them. Tensor cores cut off what they do
// not hold (device/fragment.cuh), so what they sum up is too small, and so is, launch after launch,
// what a smooth grid holds. Here a block of 8 points gives up its own middle, which most of a
// smooth block is:
//
//     sum over j of  in(j) band(j, i)  =  sum over j of  (in(j) - middle) band(j, i)  +  middle * (sum over j of  band(j, i))
//
// The last sum is known from w alone, and its product is an ordinary one, with rounding. (APART,
// f32 of three products.)
constexpr int MIDDLE = 4;  // of a block
constexpr int sums_size(bool apart, int blocks) { return apart ? 8 * blocks : 1; }

// sums[8 k + i]: of the weights that output i meets in block k. As fill_band has it; follow it by a
// barrier.
template <int EVEN, class REAL>
__device__ __forceinline__ void fill_sums(float *sums, int size, const REAL *weight, int count, int skip, int thread,
                                          int threads) {
    for (int i = thread; i < size; i += threads) {
        double sum = 0;
        for (int j = 0; j < 8; j++) {
            const int at = i / 8 * 8 + j - i % 8 - skip;
            if (at >= 0 && at < count) sum += weight[EVEN && at > count / 2 ? count - 1 - at : at];
        }
        sums[i] = static_cast<float>(sum);
    }
}
// sum += product + middle * weights, of rows g and g + 8 and columns 2t and 2t + 1.
__device__ __forceinline__ void add_middles(float (&sum)[4], const float (&middle)[4], const float (&weights)[4]) {
#pragma unroll
    for (int e = 0; e < 4; e++) sum[e] += middle[e] * weights[e];
}
__device__ __forceinline__ void add_middles(double (&)[4], const double (&)[4], const float (&)[4]) {}
