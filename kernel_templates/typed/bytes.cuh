// Common parts of typed_lines and typed_box: taps of an array of small integers (8 or 16 bits) as
// integer products on tensor cores. Results equal the host's to the last bit. s(x) is the exact sum
// for point x, and b the number of fraction bits of a scaled weight:
//
//     2^b s(x) = sum over k of  round(2^b w[k]) * u(x + k),  +- an error
//
// A scaled weight is the sum of DIGITS signed bytes times powers of 256. An element is the sum of
// PLANES bytes times powers of 256; its highest byte is signed if the elements are. Products of
// equal power share an exact 32-bit sum; the sums of the lowest DROPPED powers only carry into the
// others.
//
// Without INTEGERS, sums without the dropped powers have f = b - 8 DROPPED bits of fraction, and
// `doubt` bounds their error. If s is so close to an integer that the rounding of the weights may
// change the truncated result, the host's sum in double is computed. With INTEGERS weights are not
// scaled, and sums are divided exactly. With TOP sums are never negative, and f is 32 minus the
// bits of an element, so that the sum modulo 2^32 has the result in its top bytes.
#pragma once
#include "device/boundary.cuh"
#include "device/launch_checks.cuh"
#include "device/number.cuh"
#include "device/ptx.cuh"
#include "params.cuh"

constexpr int PLANES = sizeof(STORE) == 2 ? 2 : 1, LEVELS = DIGITS + PLANES - 1;
constexpr int DROPPED = INTEGERS || (TOP && PLANES == 1) ? 0 : PLANES;
constexpr int FRACTION = 32 - 8 * PLANES;  // bits of a word of results below the element
constexpr unsigned ALL = 0xffffffffu;

// One term of the host's sum: a tap, or the pair of taps at opposite offsets that share a weight.
struct bytes_term {
    double weight;
    int slow, fast;  // offsets along axes 1 and 2; fast: along the axis of the taps, if it is one
};
struct bytes_arguments {
    const STORE *in;
    STORE *out;
    const unsigned *bands;
    const bytes_term *terms;
    const unsigned char *of_value;  // one-byte elements: [v] is the result if all taps read v
    // Axis 2 is contiguous. Strides are in elements.
    long long n[3], in_stride[3], out_stride[3], in_batch, out_batch;
    int tiles_x, tiles_y;
    int singles, terms_all;  // of `terms`: single taps, which come first, and all of them
    int odd;                 // weights of opposite taps differ in their sign
    int fraction;            // bits of a sum below the integers
    int doubt;               // bound of a sum's error, in units of its last bit
    // After the error bound is added, a sum is too close to an integer if the 16 highest bits of
    // its fraction are below this limit, which is in both halves of the word.
    unsigned limit;
    unsigned multiplier, shift;  // of the division by a multiplication
    unsigned past[2][2];         // elements past the sides of axes 1 and 2
};
static_assert(layout_matches(sizeof(bytes_arguments)), "the launcher's mirrored struct of the arguments");

struct bytes_tile {
    const STORE *in;
    STORE *out;
    long long x, y;  // the tile's index along x and y
};
__device__ __forceinline__ bytes_tile tile_of(const bytes_arguments &a) {
    // 32 bits suffice for numbers of blocks, and divide faster.
    const unsigned tiles_x = static_cast<unsigned>(a.tiles_x), tiles_y = static_cast<unsigned>(a.tiles_y),
                   others = static_cast<unsigned>(a.n[0]), row = blockIdx.x / tiles_x;
    unsigned plane = 0, batch = 0;
    if (row >= tiles_y) plane = row / tiles_y, batch = plane / others;
    const long long other = plane - batch * others;
    bytes_tile tile;
    tile.x = blockIdx.x - row * tiles_x, tile.y = row - plane * tiles_y;
    tile.in = a.in + batch * a.in_batch + other * a.in_stride[0];
    tile.out = a.out + batch * a.out_batch + other * a.out_stride[0];
    return tile;
}

// The index along the axis that is read for index i: folded. Indices that no tap reaches are first
// clamped to the nearest one that taps reach.
template <int LOW, int HIGH, int SIDE_LOW, int SIDE_HIGH>
__device__ __forceinline__ long long folded_index(long long i, long long n) {
    if (i >= 0 && i < n) return i;
    i = i < -LOW ? -LOW : i >= n + HIGH ? n - 1 + HIGH : i;
    return fold<SIDE_LOW, SIDE_HIGH>(i, n);
}
__device__ __forceinline__ long long source_row(long long y, long long n) {
    return folded_index<Y_LOW, Y_HIGH, Y_SIDE_LOW, Y_SIDE_HIGH>(y, n);
}
__device__ __forceinline__ long long source_column(long long x, long long n) {
    return folded_index<X_LOW, X_HIGH, X_SIDE_LOW, X_SIDE_HIGH>(x, n);
}

// ---- memory: runs of N elements, in words -------------------------------------------------------

__device__ __forceinline__ unsigned bits_at(const STORE *from) {
    return PLANES == 2 ? *reinterpret_cast<const unsigned short *>(from)
                       : *reinterpret_cast<const unsigned char *>(from);
}
__device__ __forceinline__ void put_bits(STORE *to, unsigned bits) {
    if (PLANES == 2)
        *reinterpret_cast<unsigned short *>(to) = static_cast<unsigned short>(bits);
    else
        *reinterpret_cast<unsigned char *>(to) = static_cast<unsigned char>(bits);
}
template <int WORDS>
__device__ __forceinline__ void load_words(const STORE *from, unsigned (&to)[WORDS]) {
    if (ALIGNED) {
        load_run(to, reinterpret_cast<const unsigned *>(from));
        return;
    }
    constexpr int EACH = 4 / PLANES;
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        to[k] = 0;
#pragma unroll
        for (int i = 0; i < EACH; i++) to[k] |= bits_at(from + k * EACH + i) << (8 * PLANES * i);
    }
}
// Stores the first `count` of the elements.
template <int WORDS>
__device__ __forceinline__ void store_words(STORE *to, const unsigned (&from)[WORDS], long long count) {
    if (ALIGNED) {
        if (count > 0) store_run(reinterpret_cast<unsigned *>(to), from);
        return;
    }
    constexpr int EACH = 4 / PLANES;
#pragma unroll
    for (int i = 0; i < WORDS * EACH; i++) {
        const unsigned bits = from[i / EACH] >> (8 * PLANES * (i % EACH));
        if (i >= count) continue;
        put_bits(to + i, bits);
    }
}

// Appends element i to a run; called for i = 0, 1, 2, ...
template <int WORDS>
__device__ __forceinline__ void append_element(unsigned (&run)[WORDS], int i, unsigned bits) {
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        const unsigned moved = __byte_perm(run[k], bits, PLANES == 2 ? 0x5432 : 0x4321);
        run[k] = i * PLANES / 4 == k ? moved : run[k];
    }
}

// Four elements from (y, x) on.
__device__ __forceinline__ void load_four(const bytes_arguments &a, const STORE *in, long long y, long long x,
                                          unsigned (&to)[PLANES]) {
    const long long at = source_row(y, a.n[1]);
    const STORE *const row = in + at * a.in_stride[1];
    if (at >= 0 && x >= 0 && x + 4 <= a.n[2]) {
        load_words(row + x, to);
        return;
    }
#pragma unroll 1
    for (int i = 0; i < 4; i++) {
        const long long column = source_column(x + i, a.n[2]);
        const unsigned bits = at < 0       ? a.past[0][at == PAST_HIGH]
                              : column < 0 ? a.past[1][column == PAST_HIGH]
                                           : bits_at(row + column);
        append_element(to, i, bits);
    }
}

// Byte `plane` of each of four elements, which are in one or two words.
__device__ __forceinline__ unsigned plane_of(unsigned first, unsigned second, int plane) {
    return PLANES == 1 ? first : __byte_perm(first, second, plane ? 0x7531 : 0x6420);
}

// ---- results ------------------------------------------------------------------------------------

// Products of a plane of elements and a byte of weights.
__device__ __forceinline__ void multiply_bytes(int (&d)[4], int plane, const unsigned (&a)[4], const unsigned (&b)[2],
                                               const int (&c)[4]) {
    if (!UNSIGNED && plane == PLANES - 1)
        mma_s8_m16n8k32(d, a, b, c);
    else
        mma_u8_m16n8k32(d, a, b, c);
}

// The value with which the sum of power `level` of 256 begins: the error bound for the lowest power
// that is not dropped, so that sums too close to an integer have the smallest fractions.
__device__ __forceinline__ int start_of(const bytes_arguments &a, int level) {
    return !INTEGERS && level == DROPPED ? a.doubt : 0;
}

// The result from sum(m), the sum of the products of power m of 256: the truncated element in the
// top bytes of a word, and bits of the fraction below it.
template <class SUM>
__device__ __forceinline__ unsigned result_of(const bytes_arguments &a, SUM sum) {
    int low = 0;
    unsigned total = 0;  // the terms may exceed 32 bits; the total does not
#pragma unroll
    for (int m = 0; m < LEVELS; m++)
        if (m < DROPPED)
            low = (low + sum(m)) >> 8;
        else
            total += static_cast<unsigned>(sum(m)) << (8 * (m - DROPPED));
    total += static_cast<unsigned>(low);
    if (TOP) return total;
    const int s = static_cast<int>(total);
    if (INTEGERS) {
        const unsigned q = __umulhi(2 * static_cast<unsigned>(s < 0 ? -s : s), a.multiplier) >> a.shift;
        return (s < 0 ? 0u - q : q) << FRACTION;
    }
    const int whole = (NEGATIVE && s < 0 ? s + (1 << a.fraction) - 1 : s) >> a.fraction;
    return static_cast<unsigned>(whole) << FRACTION | total << (32 - a.fraction) >> (32 - FRACTION);
}

// Two results in one word; bytes are in its lower half.
__device__ __forceinline__ unsigned two_of(unsigned first, unsigned second) {
    return __byte_perm(first, second, PLANES == 2 ? 0x7632 : 0x0073);
}

// The 16 highest bits of the fractions of two results.
__device__ __forceinline__ unsigned fractions_of(unsigned first, unsigned second) {
    return __byte_perm(first, second, PLANES == 2 ? 0x5410 : 0x6521);
}

// Whether results are in doubt: their sums are too close to an integer.
template <int COUNT>
__device__ __forceinline__ bool in_doubt(const bytes_arguments &a, const unsigned (&result)[COUNT]) {
    unsigned least = a.limit;
#pragma unroll
    for (int i = 0; i < COUNT; i += 2) least = min_u16x2(least, fractions_of(result[i], result[i + 1]));
    return !INTEGERS && least != a.limit;
}

// The host's sum; `value` returns the element at an offset. LOADED terms are loaded before the
// first is added.
template <int LOADED, class VALUE>
__device__ __forceinline__ double exact_sum(const bytes_arguments &a, const bytes_term *terms, VALUE value) {
    double sum = -0.0;
    int k = 0;
#pragma unroll LOADED
    for (; k < a.singles; k++) {
        const bytes_term term = terms[k];
        sum = __dadd_rn(sum, __dmul_rn(value(term.slow, term.fast), term.weight));
    }
#pragma unroll LOADED
    for (; k < a.terms_all; k++) {
        const bytes_term term = terms[k];
        const int first = value(term.slow, term.fast), second = value(-term.slow, -term.fast);
        sum = __dadd_rn(sum, __dmul_rn(a.odd ? first - second : first + second, term.weight));
    }
    return sum;
}

// An element from its bits.
__device__ __forceinline__ int number_of(unsigned bits) {
    return UNSIGNED ? static_cast<int>(bits) : PLANES == 2 ? static_cast<short>(bits) : static_cast<signed char>(bits);
}

// Bit i is set if result i is in doubt.
template <int COUNT>
__device__ __forceinline__ unsigned doubts_of(const bytes_arguments &a, const unsigned (&result)[COUNT]) {
    unsigned doubts = 0;
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        doubts |= static_cast<unsigned>(!INTEGERS && (fractions_of(result[i], 0) & 0xffffu) < (a.limit & 0xffffu)) << i;
    return doubts;
}
