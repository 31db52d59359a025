// Banded Toeplitz operands for products of 16 x 8 x 8: out(i) = sum over j of  w[j] * in(i + j - LOW)  as a matrix.
//
//     16 outputs i        8k ..          the band is the same for every tile, so a block of it is told by w alone:
//        | w0 w1 w2 ..        |              band(i, j) = w[j - i],  0 outside of w
//        |    w0 w1 w2 ..     |          Rows 8 to 15 of block k are rows 0 to 7 of block k - 1: half of a fragment
//        |       w0 w1 w2 ..  |          is enough.
#pragma once
#include "device/fragment.cuh"
#include "device/index.cuh"

// A vector of weights with zeros before and after, so that every block of the band can be read: block k, element e of
// a lane, is padded[BAND_PAD + 8k + 2t + e - g]. (The padding is enough for 16 rows.)
constexpr int BAND_PAD = 15;
constexpr int band_size(int blocks) { return 8 * blocks + 2 * BAND_PAD; }

// All threads of the block fill `padded`; `skip` zeros stand before the weights. Of EVEN weights, the same from either
// end, only the first half is given, the one in the middle included. Follow it by a barrier.
template <int EVEN, class REAL>
__device__ __forceinline__ void fill_band(REAL *padded, int size, const REAL *weight, int count, int skip, int thread,
                                          int threads) {
    for (int i = thread; i < size; i += threads) {
        const int j = i - BAND_PAD - skip;
        padded[i] = j >= 0 && j < count ? weight[EVEN && j > count / 2 ? count - 1 - j : j] : 0;
    }
}

// The left factor of block k, out of the halves of blocks k and k - 1.
__device__ __forceinline__ void join_halves(double (&a)[4], const double (&block)[2], const double (&before)[2]) {
    a[0] = block[0], a[1] = before[0], a[2] = block[1], a[3] = before[1];
}
