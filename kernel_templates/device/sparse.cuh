// 2:4 sparse products by element type; the host encodes the left factor
// (src/strategies/sparse/encode.h).
//
//   STORE    product of 16 words     of 8 words       right factor: a register is one 32-bit word
//   float    tf32 m16n8k16           tf32 m16n8k8     one point, rounded to 11 bits
//   half_t   f16 m16n8k32            f16 m16n8k16     two neighbouring points
//
// A column of the right factor is a window: the points that 16 outputs read. A lane (g = lane / 4,
// t = lane % 4) holds consecutive words of window g: lanes of even t in the first half of the
// window, lanes of odd t in the second half, so that the words of two lanes together form a 2:4
// group:
//
//     window   | t 0 | t 2 | next product .. | t 1 | t 3 | next product .. |
//              4 words of each lane; 2 in a product of 8 words
#pragma once
#include "device/element.cuh"

template <class STORE>
struct sparse_words;
template <>
struct sparse_words<float> {
    static constexpr int POINTS = 1;  // per word
    static __device__ __forceinline__ unsigned read(unsigned word) { return float_to_tf32(__uint_as_float(word)); }
    // The rounding error of `high`, the rounded word, itself rounded.
    static __device__ __forceinline__ unsigned rest(unsigned word, unsigned high) {
        return float_to_tf32(__uint_as_float(word) - __uint_as_float(high));
    }
};
template <>
struct sparse_words<half_t> {
    static constexpr int POINTS = 2;
    static __device__ __forceinline__ unsigned read(unsigned word) { return word; }
    static __device__ __forceinline__ unsigned rest(unsigned, unsigned) { return 0; }
};

// A lane's 2 or 4 words, in one access of shared memory.
template <int COUNT>
struct alignas(4 * COUNT) word_run {
    unsigned e[COUNT];
};
template <int COUNT, class STORE>
__device__ __forceinline__ void load_words(unsigned (&to)[COUNT], const STORE *from) {
    const word_run<COUNT> run = *reinterpret_cast<const word_run<COUNT> *>(from);
#pragma unroll
    for (int i = 0; i < COUNT; i++) to[i] = sparse_words<STORE>::read(run.e[i]);
}

// Loads words that are rounded already.
template <class STORE>
__device__ __forceinline__ void load_rounded(unsigned (&to)[4], const STORE *from) {
    const word_run<4> run = *reinterpret_cast<const word_run<4> *>(from);
#pragma unroll
    for (int i = 0; i < 4; i++) to[i] = run.e[i];
}
// Rounds 16 bytes of elements in place in shared memory.
template <class STORE>
__device__ __forceinline__ void round_words(STORE *at) {
    word_run<4> run;
    load_words(run.e, at);
    *reinterpret_cast<word_run<4> *>(at) = run;
}

// load_words for f32, in two parts of 11 bits.
template <int COUNT>
__device__ __forceinline__ void load_parts(unsigned (&high)[COUNT], unsigned (&low)[COUNT], const float *from) {
    const word_run<COUNT> run = *reinterpret_cast<const word_run<COUNT> *>(from);
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        high[i] = sparse_words<float>::read(run.e[i]);
        low[i] = sparse_words<float>::rest(run.e[i], high[i]);
    }
}

// c += a b
template <int SELECTOR>
__device__ __forceinline__ void sparse_product(const float *, float (&c)[4], const unsigned (&a)[4],
                                               const unsigned (&b)[4], unsigned meta) {
    mma_sp_tf32_m16n8k16<SELECTOR>(c, a, b, meta);
}
template <int SELECTOR>
__device__ __forceinline__ void sparse_product(const half_t *, float (&c)[4], const unsigned (&a)[4],
                                               const unsigned (&b)[4], unsigned meta) {
    mma_sp_f16_m16n8k32<SELECTOR>(c, a, b, meta);
}
template <int SELECTOR>
__device__ __forceinline__ void sparse_product(const float *, float (&c)[4], const unsigned (&a)[4],
                                               const unsigned (&b)[2], unsigned meta) {
    const unsigned low[2] = {a[0], a[1]};
    mma_sp_tf32_m16n8k8<SELECTOR>(c, low, b, meta);
}
template <int SELECTOR>
__device__ __forceinline__ void sparse_product(const half_t *, float (&c)[4], const unsigned (&a)[4],
                                               const unsigned (&b)[2], unsigned meta) {
    const unsigned low[2] = {a[0], a[1]};
    mma_sp_f16_m16n8k16<SELECTOR>(c, low, b, meta);
}

// c += a b for product k of a window. Two products share a register of metadata; the selector tells
// which lanes have those of the product. k is constant once the caller's loops are unrolled. As a
// template argument, each of its values would be a function of its own, which compiles much slower.
template <class STORE, int COUNT>
__device__ __forceinline__ void add_product(const STORE *type, float (&c)[4], const unsigned (&a)[4],
                                            const unsigned (&b)[COUNT], unsigned meta, int k) {
    if (COUNT == 4 && k % 2)
        sparse_product<1>(type, c, a, b, meta);
    else
        sparse_product<0>(type, c, a, b, meta);
}
