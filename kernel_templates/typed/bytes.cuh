// What typed_columns, typed_rows and typed_box share: taps of an array of small integers (8 or 16
// bits), by integer products on tensor cores, whose results are the host's to the last bit.
//
//     2^f s(x) = sum over k of  round(2^f w[k]) * (u(x + k) - c)  +  2^f c * (sum of w),  +- doubt
//
// A scaled weight is the sum of DIGITS signed bytes times powers of 256, and an element, less the
// middle c of the bytes' ranges, of PLANES signed bytes. Products of equal power share an exact
// 32-bit sum; the lowest DROPPED powers only carry into the others. If s is so close to an integer
// that the rounding of the weights matters, the host's sum in double, computed from memory, decides
// the truncation. With INTEGERS weights are not scaled, and sums are divided exactly.
//
// Taps along one axis: 32 results are a band matrix times SLICES slices of 32 points, of which each
// step loads a new one.
//
//     [w w w . . . . .]      [points pos - PAD ..           ]
//     [. w w w . . . .]  x   [                              ]
//     [. . w w w . . .]      [.. pos - PAD + 32 SLICES - 1  ]
//
// A warp marches along the axis of the taps, 32 x 32 results a step.
#pragma once
#include "device/boundary.cuh"
#include "device/launch_checks.cuh"
#include "device/number.cuh"
#include "device/ptx.cuh"
#include "params.cuh"

constexpr int PLANES = sizeof(STORE) == 2 ? 2 : 1, LEVELS = DIGITS + PLANES - 1, DROPPED = INTEGERS ? 0 : PLANES;
// Bits that differ between an element and its signed bytes.
constexpr unsigned FLIP = UNSIGNED ? 0x80808080u : PLANES == 2 ? 0x00800080u : 0;
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
    // Axis 2 is contiguous. Axis 1 has the taps in typed_columns, and the rows of a tile in
    // typed_rows. Strides are in elements.
    long long n[3], in_stride[3], out_stride[3], in_batch, out_batch;
    int tiles_x, tiles_y, steps;  // steps: of a warp
    int singles, terms_all, odd;
    // offset, limit: in units of 2^-fraction. `offset` includes the doubt; `limit` is twice the
    // doubt.
    int offset, fraction, limit;
    unsigned multiplier, shift;  // of the division by a multiplication
    // Elements past the sides, repeated to a word: of the axis of the taps, or of axes 2 and 1.
    unsigned past[2], past_rows[2], unused;
    double constant[2];
};
static_assert(layout_matches(sizeof(bytes_arguments)), "the launcher's mirrored struct of the arguments");

struct bytes_tile {
    const STORE *in;
    STORE *out;
    long long x, y;  // the tile's place, in tiles
};
__device__ __forceinline__ bytes_tile tile_of(const bytes_arguments &a) {
    // 32 bits suffice for numbers of blocks, and divide faster.
    const unsigned tiles_x = static_cast<unsigned>(a.tiles_x), tiles_y = static_cast<unsigned>(a.tiles_y),
                   others = static_cast<unsigned>(a.n[0]), row = blockIdx.x / tiles_x, plane = row / tiles_y;
    const long long other = plane % others, batch = plane / others;
    bytes_tile tile;
    tile.x = blockIdx.x % tiles_x, tile.y = row % tiles_y;
    tile.in = a.in + batch * a.in_batch + other * a.in_stride[0];
    tile.out = a.out + batch * a.out_batch + other * a.out_stride[0];
    return tile;
}

// Whether the results of a tile of 16 need a slice, where the first one begins PAD before the
// window of 32.
template <int PAD>
__device__ constexpr bool reaches(int tile, int slice) {
    return 32 * slice - PAD <= 16 * tile + 15 + TAPS_HIGH && 32 * slice - PAD + 31 >= 16 * tile - TAPS_LOW;
}

// The index along the axis that is read for index i: folded, and no further than the taps reach.
template <int LOW, int HIGH, int SIDE_LOW, int SIDE_HIGH>
__device__ __forceinline__ long long folded_index(long long i, long long n) {
    if (i >= 0 && i < n) return i;
    i = i < -LOW ? -LOW : i >= n + HIGH ? n - 1 + HIGH : i;
    return fold<SIDE_LOW, SIDE_HIGH>(i, n);
}
__device__ __forceinline__ long long source_index(long long i, long long n) {
    return folded_index<TAPS_LOW, TAPS_HIGH, TAPS_SIDE_LOW, TAPS_SIDE_HIGH>(i, n);
}

// ---- memory: runs of N elements, in words -------------------------------------------------------

__device__ __forceinline__ unsigned bits_at(const STORE *from) {
    return PLANES == 2 ? *reinterpret_cast<const unsigned short *>(from)
                       : *reinterpret_cast<const unsigned char *>(from);
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
        if (PLANES == 2)
            reinterpret_cast<unsigned short *>(to)[i] = static_cast<unsigned short>(bits);
        else
            reinterpret_cast<unsigned char *>(to)[i] = static_cast<unsigned char>(bits);
    }
}

// Replaces element i of a run.
template <int WORDS>
__device__ __forceinline__ void put_element(unsigned (&run)[WORDS], int i, unsigned value) {
    const unsigned kept =
        PLANES == 2 ? i % 2 ? 0x5410u : 0x3254u : 0x3210u - (static_cast<unsigned>(i % 4) << (i % 4 * 4));
    const unsigned taken = PLANES == 2 ? 0 : 4u << (i % 4 * 4);
    unsigned &word = run[i * PLANES / 4];
    word = __byte_perm(word, value, kept + taken);
}

// Appends element i of a run whose elements come in order.
template <int WORDS>
__device__ __forceinline__ void append_element(unsigned (&run)[WORDS], int i, unsigned bits) {
#pragma unroll
    for (int k = 0; k < WORDS; k++) {
        const unsigned moved = __byte_perm(run[k], bits, PLANES == 2 ? 0x5432 : 0x4321);
        run[k] = i * PLANES / 4 == k ? moved : run[k];
    }
}

// One plane of four elements in one or two words.
__device__ __forceinline__ unsigned plane_of(unsigned first, unsigned second, int plane) {
    return PLANES == 1 ? first : __byte_perm(first, second, plane ? 0x7531 : 0x6420);
}

// Four words of bytes (row b, column i) as four words (column i, row b).
__device__ __forceinline__ void transpose_bytes(unsigned (&word)[4]) {
    const unsigned low[2] = {__byte_perm(word[0], word[1], 0x5140), __byte_perm(word[2], word[3], 0x5140)},
                   high[2] = {__byte_perm(word[0], word[1], 0x7362), __byte_perm(word[2], word[3], 0x7362)};
    word[0] = __byte_perm(low[0], low[1], 0x5410), word[1] = __byte_perm(low[0], low[1], 0x7632);
    word[2] = __byte_perm(high[0], high[1], 0x5410), word[3] = __byte_perm(high[0], high[1], 0x7632);
}

// ---- results ------------------------------------------------------------------------------------

// The result of a sum of products by power, truncated towards zero, in the lowest bits. A bit that
// tells whether it is in doubt is appended to `unsure`.
template <class SUM>
__device__ __forceinline__ unsigned truncated(const bytes_arguments &a, SUM sum, unsigned &unsure) {
    int low = 0;
    unsigned total = static_cast<unsigned>(a.offset);  // terms may exceed 32 bits, the sum not
#pragma unroll
    for (int m = 0; m < LEVELS; m++)
        if (m < DROPPED)
            low = (low + sum(m)) >> 8;
        else
            total += static_cast<unsigned>(sum(m)) << (8 * (m - DROPPED));
    const int s = static_cast<int>(total + static_cast<unsigned>(low));
    if (INTEGERS) {
        const unsigned q = __umulhi(2 * static_cast<unsigned>(s < 0 ? -s : s), a.multiplier) >> a.shift;
        return s < 0 ? 0u - q : q;
    }
    const int mask = (1 << a.fraction) - 1, rest = s & mask;
    unsure = __funnelshift_l(static_cast<unsigned>(rest - a.limit), unsure, 1);
    return static_cast<unsigned>((NEGATIVE && s < 0 ? s + mask : s) >> a.fraction);
}

// The host's sum; `value` returns the element at an offset. LOADED terms are loaded before the
// first is added.
template <int LOADED, class VALUE>
__device__ __forceinline__ double exact_sum(const bytes_arguments &a, VALUE value) {
    double sum = -0.0;
    int k = 0;
#pragma unroll LOADED
    for (; k < a.singles; k++) {
        const bytes_term term = a.terms[k];
        sum = __dadd_rn(sum, __dmul_rn(value(term.slow, term.fast), term.weight));
    }
#pragma unroll LOADED
    for (; k < a.terms_all; k++) {
        const bytes_term term = a.terms[k];
        const double first = value(term.slow, term.fast), second = value(-term.slow, -term.fast);
        sum = __dadd_rn(sum, __dmul_rn(a.odd ? __dsub_rn(first, second) : __dadd_rn(first, second), term.weight));
    }
    return sum;
}
// The host's result at point i of a line of n elements.
__device__ __forceinline__ STORE exact_element(const bytes_arguments &a, const STORE *line, long long i, long long n,
                                               long long stride) {
    const STORE *const here = line + i * stride;
    STORE result;
    put(&result, i >= TAPS_LOW && i + TAPS_HIGH < n
                     ? exact_sum<4>(a, [&](int, int offset) { return to_double(here[offset * stride]); })
                     : exact_sum<1>(a, [&](int, int offset) {
                           const long long at = source_index(i + offset, n);
                           return at < 0 ? a.constant[at == PAST_HIGH] : to_double(line[at * stride]);
                       }));
    return result;
}

// Whether all bytes of a plane of a lane's window are one number, which is then in `value`.
template <int COUNT, class WORD>
__device__ __forceinline__ bool is_flat(WORD word, unsigned &value) {
    value = word(0);
    unsigned differs = value ^ __byte_perm(value, value, 0x1032) | value ^ __byte_perm(value, value, 0x2301);
#pragma unroll
    for (int i = 1; i < COUNT; i++) differs |= word(i) ^ value;
    return !differs;
}

// Whether the warp's whole window has one value; `word(plane, i)` gives word i of COUNT.
template <int COUNT, class WORD>
__device__ __forceinline__ bool is_flat_warp(WORD word) {
    bool flat = true;
#pragma unroll
    for (int plane = 0; plane < PLANES; plane++) {
        unsigned value;
        flat = is_flat<COUNT>([&](int i) { return word(plane, i); }, value) && flat;
        flat = value == __shfl_sync(ALL, value, 0) && flat;
    }
    return __all_sync(ALL, flat);
}

// Whether RUNS runs of words have one value, the first element of the first.
template <int WORDS, class LOAD>
__device__ __forceinline__ bool are_flat(int runs, LOAD load) {
    unsigned first = 0, differs = 0;
#pragma unroll 4
    for (int k = 0; k < runs; k++) {
        unsigned word[WORDS];
        load(k, word);
        if (k == 0) first = __byte_perm(word[0], 0, PLANES == 2 ? 0x1010 : 0);
#pragma unroll
        for (int i = 0; i < WORDS; i++) differs |= word[i] ^ first;
    }
    return !differs;
}

// Decides the results in doubt: bit i of `unsure` belongs to element i of a run of WIDTH results at
// `to`, and exact(i) gives the host's result. Results whose windows have one common value, as in
// masks and blank paper, are equal.
template <int WIDTH, class FLAT, class EXACT>
__device__ __forceinline__ void decide(unsigned unsure, STORE *to, FLAT flat, EXACT exact) {
    const bool same = (unsure & (unsure - 1)) && flat();
    unsigned rest = unsure;
#pragma unroll 1
    while (rest) {
        const int i = __ffs(static_cast<int>(rest)) - 1;
        const STORE value = exact(i);
        to[i] = value;
        rest &= rest - 1;
        if (!same) continue;
#pragma unroll
        for (int k = 0; k < WIDTH; k++)
            if (unsure >> k & 1) to[k] = value;
        break;
    }
}
