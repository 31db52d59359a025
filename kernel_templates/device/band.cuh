// Banded Toeplitz matrices as operands of 16 x 8 x 8 tensor-core products:
//
//     out(i) = sum over j of  w[j] * in(i + j - LOW)  =  sum over c of  band(i, c) * in(c - LOW)
//
// with band(i, c) = w[c - i], and 0 where w has no such weight. Block k is columns 8k to 8k + 7 of
// the band, for 16 outputs i:
//
//              c ->
//     i = 0  | w0 w1 w2 ..        |   Every tile has the same band. Rows 8 to 15 of block k equal
//         1  |    w0 w1 w2 ..     |   rows 0 to 7 of block k - 1, so only half of each fragment is
//         2  |       w0 w1 w2 ..  |   loaded.
#pragma once
#include "device/boundary.cuh"
#include "device/fragment.cuh"

// The weights with BAND_PAD zeros before and after, so that every block of the band can be read
// (the padding suffices for 16 rows). In block k, a lane reads two neighbouring elements, beginning
// at element BAND_PAD + 8k + 2t - g. In f64 these are two reads; other types store each such pair
// as one operand, already split into parts.
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

// All threads of the block fill `padded`, with `skip` zeros before the weights. If EVEN, the
// weights are symmetric and only the first half, including the middle one, is given. The caller
// puts a barrier after the call.
template <int EVEN, class ENTRY, class REAL>
__device__ __forceinline__ void fill_band(ENTRY *padded, int size, const REAL *weight, int count, int skip, int thread,
                                          int threads) {
    const auto at = [&](int j) -> REAL {
        return j >= 0 && j < count ? weight[EVEN && j > count / 2 ? count - 1 - j : j] : 0;
    };
#pragma unroll 1
    for (int i = thread; i < size; i += threads) {
        const int j = i - BAND_PAD - skip;
        set_entry(padded[i], at(j), at(j + 1));
    }
}

// ---- products of the data minus a middle value. Tensor cores truncate the f32 sum
// (device/fragment.cuh), so sums of a smooth grid are too small in every launch, and the error
// accumulates. Therefore the value of the middle point of each block of 8 points is subtracted from
// the block, which makes the truncated sum small. With c running over the block:
//
//     sum over c of  band(i, c) in(c)
//         = sum over c of  band(i, c) (in(c) - middle)  +  (sum over c of  band(i, c)) * middle
//
// The last sum depends on w alone, and its product with `middle` is an ordinary multiplication,
// which rounds. Kernels do this for f32 factors that are both in two parts (their SEPARATE_SUMS).
constexpr int MIDDLE = 4;  // index in the block of the point that is subtracted
constexpr int sums_size(bool separate, int blocks) { return separate ? 8 * blocks : 1; }

// sums[8 k + i]: the sum of the weights that block k contributes to output i. Same arguments as
// fill_band; the caller puts a barrier after the call.
template <int EVEN, class REAL>
__device__ __forceinline__ void fill_sums(float *sums, int size, const REAL *weight, int count, int skip, int thread,
                                          int threads) {
#pragma unroll 1
    for (int i = thread; i < size; i += threads) {
        double sum = 0;
        for (int j = 0; j < 8; j++) {
            const int at = i / 8 * 8 + j - i % 8 - skip;
            if (at >= 0 && at < count) sum += weight[EVEN && at > count / 2 ? count - 1 - at : at];
        }
        sums[i] = static_cast<float>(sum);
    }
}
// sum += middle * weights, for the four elements of an accumulator. Does nothing in f64.
__device__ __forceinline__ void add_middles(float (&sum)[4], const float (&middle)[4], const float (&weights)[4]) {
#pragma unroll
    for (int e = 0; e < 4; e++) sum[e] += middle[e] * weights[e];
}
__device__ __forceinline__ void add_middles(double (&)[4], const double (&)[4], const float (&)[4]) {}
