// Access to rows that begin at any element, by aligned accesses of 16 bytes and a shift in
// registers.
//
//   row in memory   | . . . a | b c d e | f g h i |     16-byte words; the row begins at a
//   a thread reads  | . . . a | b c d e |               the words that hold its points
//   and shifts         [ a b c d ]                      by a distance that is the same in all lanes
//
// A store is the reverse: each lane joins the last points of the previous lane to its own first
// ones.
#pragma once
#include "device/element.cuh"
#include "device/ptx.cuh"

// Bytes from the last 16-byte boundary to an address.
__device__ __forceinline__ int bytes_past_boundary(const void *p) {
    return static_cast<int>(reinterpret_cast<unsigned long long>(p) & 15);
}

// Shifts N 32-bit words down by `bytes` (less than 16, and a multiple of SIZE, the element size).
template <int SIZE, int N>
__device__ __forceinline__ void begin_later(unsigned (&w)[N], int bytes) {
#pragma unroll
    for (int i = 0; i + 2 < N; i++) w[i] = bytes & 8 ? w[i + 2] : w[i];
    if (SIZE <= 4)
#pragma unroll
        for (int i = 0; i + 1 < N; i++) w[i] = bytes & 4 ? w[i + 1] : w[i];
    if (SIZE <= 2)
#pragma unroll
        for (int i = 0; i + 1 < N; i++) w[i] = shift_pair(w[i], w[i + 1], (bytes & 2) * 8);
}

// The reverse shift; the words in front shift in, so the last four of eight words are the result.
template <int SIZE, int N>
__device__ __forceinline__ void begin_earlier(unsigned (&w)[N], int bytes) {
#pragma unroll
    for (int i = N - 1; i >= 2; i--) w[i] = bytes & 8 ? w[i - 2] : w[i];
    if (SIZE <= 4)
#pragma unroll
        for (int i = N - 1; i >= 1; i--) w[i] = bytes & 4 ? w[i - 1] : w[i];
    if (SIZE <= 2)
#pragma unroll
        for (int i = N - 1; i >= 1; i--) w[i] = bytes & 2 ? shift_pair(w[i - 1], w[i], 16) : w[i];
}

// Element i of a run of words; words from elements.
__device__ __forceinline__ void take_element(double &to, const unsigned *w, int i) {
    to = __longlong_as_double(w[2 * i] | static_cast<long long>(w[2 * i + 1]) << 32);
}
__device__ __forceinline__ void take_element(float &to, const unsigned *w, int i) { to = __uint_as_float(w[i]); }
__device__ __forceinline__ void take_element(half_t &to, const unsigned *w, int i) {
    to = static_cast<half_t>(w[i / 2] >> (i % 2 * 16));
}
__device__ __forceinline__ void put_elements(unsigned (&w)[4], const double (&from)[2]) {
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = static_cast<unsigned>(__double_as_longlong(from[i / 2]) >> (i % 2 * 32));
}
__device__ __forceinline__ void put_elements(unsigned (&w)[4], const float (&from)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = __float_as_uint(from[i]);
}
__device__ __forceinline__ void put_elements(unsigned (&w)[4], const half_t (&from)[8]) {
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = from[2 * i] | static_cast<unsigned>(from[2 * i + 1]) << 16;
}

// The range of elements [first, last) of a row that lies in 16-byte words that belong wholly to the
// row.
struct whole_words {
    int first, last;
};
template <class T>
__device__ __forceinline__ whole_words words_of_row(const T *row, int n) {
    const int size = sizeof(T);
    return {(-bytes_past_boundary(row) & 15) / size, n - bytes_past_boundary(row + n) / size};
}

// Number of 16-byte words that hold `count` elements of SIZE bytes, at any alignment.
template <int SIZE>
__device__ constexpr int words_of(int count) {
    constexpr int EACH = 16 / SIZE;
    return (EACH - 1 + count + EACH - 1) / EACH;
}

// The lanes of a warp store consecutive runs that begin at any element. `to` is the lane's own
// address; elements `left` and later, counted from it, lie past the row's end. Every lane writes
// one whole word, except the first, which writes the elements of the partial words at both ends.
template <class T, int N>
__device__ __forceinline__ void store_shifted(T *to, const T (&run)[N], int left) {
    static_assert(N * sizeof(T) == 16, "a lane's run is as long as a word");
    const int lane = threadIdx.x % 32, bytes = bytes_past_boundary(to), offset = bytes / static_cast<int>(sizeof(T));
    unsigned own[4], both[8], word[4];
    put_elements(own, run);
#pragma unroll
    for (int i = 0; i < 4; i++) {
        both[i] = 4 * i + 4 > sizeof(T) ? __shfl_sync(0xffffffffu, own[i], (lane + 31) % 32) : 0u;
        both[4 + i] = own[i];
    }
    begin_earlier<sizeof(T)>(both, bytes);
#pragma unroll
    for (int i = 0; i < 4; i++) word[i] = both[4 + i];
    if ((lane || !bytes) && N - offset <= left) {
        store_run(reinterpret_cast<unsigned *>(to - offset), word);
        return;
    }
#pragma unroll
    for (int e = 0; e < N; e++) {
        const int place = e - offset + (lane == 0 && e < offset ? 32 * N : 0);
        T value;
        take_element(value, word, e);
        if (place < left) to[place] = value;
    }
}
