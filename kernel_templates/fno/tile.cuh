// Modes of channels in shared memory, tile[mode][channel], between transforms and products.
//
// Channels 2c and 2c+1 form a chunk, 16 bytes in f32. Chunks of a row are swizzled by the lowest
// bits of the row, so that neither the fragments of a product (two rows of four chunks at once) nor
// the last FFT stage (four rows of two chunks) have bank conflicts:
//
//     row 0  |0 1 2 3 4 5 6 7|     row 1  |4 5 6 7 0 1 2 3|
//     row 2  |2 3 0 1 6 7 4 5|     row 3  |6 7 4 5 2 3 0 1|
//
// Two real channels a, b form one line a + i b. The tile holds Z[k] and conj Z[-k] of its transform
// Z as the two channels' modes, and the reader separates them:
//
//     A[k] = (Z[k] + conj Z[-k]) / 2,   B[k] = (Z[k] - conj Z[-k]) / 2i
//     back:  Z[k] = A + iB,  Z[-k] = conj A + i conj B
//
// Reads REAL, FNO_REAL.
#pragma once
#include "device/arith.cuh"
#include "device/complex.cuh"
#include "params.cuh"

using value = complex<REAL>;
constexpr int PER = FNO_REAL ? 2 : 1;  // channels per line

constexpr int tile_pitch(int channels) { return round_up(channels, 16); }
__device__ __forceinline__ int tile_index(int pitch, int mode, int channel) {
    const int swizzle = (mode & 1) << 2 | (mode & 2);
    return mode * pitch + 2 * (channel / 2 ^ swizzle) + channel % 2;
}
struct alignas(16) chunk {  // loaded and stored in one access
    value of[2];
};
__device__ __forceinline__ chunk *chunk_at(value *tile, int pitch, int mode, int channel) {
    return reinterpret_cast<chunk *>(tile + tile_index(pitch, mode, channel));
}
// Separates the modes of two real channels (twice as large) from the transform of their line, and
// combines them again. own: the frequency is its own negative, where the modes of real data have no
// imaginary part.
__device__ __forceinline__ chunk separate_channels(chunk c) {
    if (!FNO_REAL) return c;
    return {{c.of[0] + c.of[1], minus_i(c.of[0] - c.of[1])}};
}
__device__ __forceinline__ chunk combine_channels(chunk c, bool own) {
    if (!FNO_REAL) return c;
    const value a = c.of[0], b = c.of[1];
    if (own) return {{{a.re, b.re}, {a.re, b.re}}};
    return {{{a.re - b.im, a.im + b.re}, {a.re + b.im, b.re - a.im}}};
}

// ---- real and complex numbers in memory, of any storage type
template <class T>
__device__ __forceinline__ REAL load_number(const T *from) {
    T one[1];
    load_run(one, from);
    return widen(one[0]);
}
template <class T>
__device__ __forceinline__ void store_number(T *to, REAL v) {
    const T one[1] = {narrow<T>(v)};
    store_run(to, one);
}
template <class T>
__device__ __forceinline__ value load_value(const T *from) {
    const auto z = load_pair(from);
    return {REAL(z.re), REAL(z.im)};
}
__device__ __forceinline__ void store_value(double *to, value z) {
    store_pair(to, complex<double>{double(z.re), double(z.im)});
}
template <class T>
__device__ __forceinline__ void store_value(T *to, value z) {
    store_pair(to, complex<float>{float(z.re), float(z.im)});
}
// Two channels at an address that is a multiple of their size.
template <class T>
__device__ __forceinline__ chunk load_chunk(const T *from) {
    return {{load_value(from), load_value(from + 2)}};
}
__device__ __forceinline__ chunk load_chunk(const float *from) {
    float v[4];
    load_run(v, from);
    return {{{REAL(v[0]), REAL(v[1])}, {REAL(v[2]), REAL(v[3])}}};
}
template <class T>
__device__ __forceinline__ void store_chunk(T *to, chunk c) {
    store_value(to, c.of[0]);
    store_value(to + 2, c.of[1]);
}
__device__ __forceinline__ void store_chunk(float *to, chunk c) {
    const float v[4] = {float(c.of[0].re), float(c.of[0].im), float(c.of[1].re), float(c.of[1].im)};
    store_run(to, v);
}
// Copies to shared memory, asynchronously where no conversion is needed.
__device__ __forceinline__ void copy_value(complex<float> *to, const float *from) { copy_async_8(to, from); }
__device__ __forceinline__ void copy_value(complex<double> *to, const double *from) { copy_async_16(to, from); }
__device__ __forceinline__ void copy_value(complex<float> *to, const half_t *from) { *to = load_pair(from); }
