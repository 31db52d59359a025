// What typed_columns and typed_rows share: taps along one axis of an array of bytes (uint8), by
// products on tensor cores, whose results are the host's to the last bit.
//
//     s(x) = sum over k of  w[k] * (u(x + k) - 128)  +  128 * sum of w
//
// Bytes less 128 are exact in f16; a weight is the sum of two f16 numbers, scaled by a power of
// two; sums are f32, with an error below `doubt`. Where s is closer to an integer than that,
// truncation is decided by the host's own sum in double, computed from memory. With INTEGERS
// weights and sums are integers, exact in f16 and f32, and are divided without doubt.
#pragma once
#include "device/boundary.cuh"
#include "device/launch_checks.cuh"
#include "device/ptx.cuh"
#include "params.cuh"

constexpr int PARTS = INTEGERS ? 1 : 2;

// One term of the host's sum: a tap, or the pair of taps that share a weight.
struct bytes_term {
    double weight;
    int first, second;  // offsets along the axis
};
struct bytes_arguments {
    const unsigned char *in;
    unsigned char *out;
    const unsigned *bands;
    const bytes_term *terms;
    // Axis 2 is contiguous. Axis 1 has the taps in typed_columns, and the rows of a tile in
    // typed_rows. Strides are in bytes.
    long long n[3], in_stride[3], out_stride[3], in_batch, out_batch;
    int tiles_x, tiles_y;
    int singles, terms_all, odd, past[2];  // past: four times the byte past each side
    float scale, offset, doubt;
    double constant[2], divisor;
};
static_assert(layout_matches(sizeof(bytes_arguments)), "the launcher's mirrored struct of the arguments");

struct bytes_tile {
    const unsigned char *in;
    unsigned char *out;
    long long x, y;  // the tile's place, in tiles
};
__device__ __forceinline__ bytes_tile tile_of(const bytes_arguments &a) {
    long long rest = blockIdx.x;
    bytes_tile tile;
    tile.x = rest % a.tiles_x, rest /= a.tiles_x;
    tile.y = rest % a.tiles_y, rest /= a.tiles_y;
    const long long other = rest % a.n[0], batch = rest / a.n[0];
    tile.in = a.in + batch * a.in_batch + other * a.in_stride[0];
    tile.out = a.out + batch * a.out_batch + other * a.out_stride[0];
    return tile;
}

// The bits of two halves, each a byte less 128, from the bits of two halves of 1024 more.
__device__ __forceinline__ unsigned centred(unsigned raised) { return subtract_half2(raised, 0x64806480u); }

// The index along the axis that is read for index i: folded, and no further than the taps reach.
__device__ __forceinline__ long long source_index(long long i, long long n) {
    if (i >= 0 && i < n) return i;
    i = i < -TAPS_LOW ? -TAPS_LOW : i >= n + TAPS_HIGH ? n - 1 + TAPS_HIGH : i;
    return fold<TAPS_SIDE_LOW, TAPS_SIDE_HIGH>(i, n);
}

// The host's sum at point i of a line of n bytes.
__device__ __forceinline__ unsigned exact_byte(const bytes_arguments &a, const unsigned char *line, long long i,
                                               long long n, long long stride) {
    double sum = -0.0;
    auto value = [&](int offset) {
        const long long at = source_index(i + offset, n);
        return at < 0 ? a.constant[at == PAST_HIGH] : static_cast<double>(line[at * stride]);
    };
#pragma unroll 1
    for (int k = 0; k < a.terms_all; k++) {
        const bytes_term term = a.terms[k];
        double u = value(term.first);
        if (k >= a.singles) u = a.odd ? __dsub_rn(u, value(term.second)) : __dadd_rn(u, value(term.second));
        sum = __dadd_rn(sum, __dmul_rn(u, term.weight));
    }
    return static_cast<unsigned>(static_cast<int>(sum));
}

// A sum truncated towards zero, in the lowest 22 bits; `unsure`: it is closer to an integer than
// its error.
__device__ __forceinline__ unsigned truncated(const bytes_arguments &a, float product, bool &unsure) {
    constexpr float MAGIC = 12582912.0f;  // 1.5 * 2^23: its ulp is 1
    const float s = __fmaf_rn(product, a.scale, a.offset), size = fabsf(s);
    if (INTEGERS) {
        // An integer plus a half, divided, is never close to an integer; doubt: 1 / divisor.
        const float quotient = __fmaf_rn(size + 0.5f, a.doubt, -0.5f);
        const unsigned q = __float_as_uint(quotient + MAGIC) & 0x3fffffu;
        return s < 0 ? 0u - q : q;
    }
    const float raised = size + MAGIC, rest = size - (raised - MAGIC);
    const unsigned q = (__float_as_uint(raised) & 0x3fffffu) - (rest < 0);
    unsure = fabsf(rest) < a.doubt;
    return s < 0 ? 0u - q : q;
}

// Whether all bytes of a lane's slices are one number, whose bits are then in `value`.
template <int COUNT, class WORD>
__device__ __forceinline__ bool is_flat(WORD word, unsigned &value) {
    value = word(0);
    unsigned differs = value ^ __byte_perm(value, value, 0x1032);
#pragma unroll
    for (int i = 1; i < COUNT; i++) differs |= word(i) ^ value;
    return !differs;
}

// Stores a lane's 16 sums, 8 bytes of each of rows g and g + 8, and corrects those that are unsure.
// `exact` gives the byte of row h, column i, and `read` word i of the COUNT words of its slices.
// Where the warp's whole window is flat, as in masks and white paper, every sum is unsure, but all
// are the same.
template <int COUNT, class SUM, class WORD, class EXACT>
__device__ __forceinline__ void store_bytes(const bytes_arguments &a, SUM sum, unsigned char *const (&to)[2],
                                            const bool (&stored)[2], WORD read, EXACT exact) {
    constexpr unsigned ALL = 0xffffffffu;
    unsigned unsure = 0;
#pragma unroll
    for (int h = 0; h < 2; h++) {
        unsigned word[2] = {0, 0};
#pragma unroll
        for (int i = 0; i < 8; i++) {
            bool doubted = false;
            word[i / 4] |= (truncated(a, sum(h, i), doubted) & 0xffu) << (i % 4 * 8);
            if (!INTEGERS) unsure |= static_cast<unsigned>(doubted && stored[h]) << (h * 8 + i);
        }
        if (stored[h])
            *reinterpret_cast<unsigned long long *>(to[h]) = word[0] | static_cast<unsigned long long>(word[1]) << 32;
    }
    if (INTEGERS || !__any_sync(ALL, unsure != 0)) return;
    unsigned value;
    const bool flat = is_flat<COUNT>(read, value);
    const unsigned first = __shfl_sync(ALL, value, 0);
    if (__all_sync(ALL, flat && value == first)) {
        if (!stored[0]) return;
        const unsigned long long eight = 0x0101010101010101ull * (exact(0, 0) & 0xffu);
        *reinterpret_cast<unsigned long long *>(to[0]) = eight;
        if (stored[1]) *reinterpret_cast<unsigned long long *>(to[1]) = eight;
        return;
    }
#pragma unroll 1
    while (unsure) {
        const int k = __ffs(static_cast<int>(unsure)) - 1;
        unsure &= unsure - 1;
        (k < 8 ? to[0] : to[1])[k % 8] = static_cast<unsigned char>(exact(k / 8, k % 8));
    }
}
