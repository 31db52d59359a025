// The two left factors of a term in sparse_chain: V along x and U along y. The sums of V's products
// are the words of U's right factor (drawn in sparse_chain.cu).
#pragma once
#include "device/sparse.cuh"
#include "device/unroll.cuh"
#include "sparse/stage.cuh"

// A lane's metadata, which are the same for all left factors with a window of HALVES halves.
template <int HALVES>
struct places {
    // Registers of metadata of a lane, and their words in the table.
    static constexpr int REGISTERS = (HALVES / 2 + 1) / 2 + HALVES % 2, WORDS = 32 * REGISTERS;
    unsigned meta[REGISTERS];

    __device__ __forceinline__ void read(const unsigned *table, int lane) {
#pragma unroll
        for (int i = 0; i < REGISTERS; i++) meta[i] = table[32 * i + lane];
    }
};
template <class STORED, int HALVES, int PARTS>
struct factor {
    // FRAGMENT: words of the left factor of one product and part. WORDS: words of the whole factor
    // in the table.
    static constexpr int FRAGMENT = 128, PRODUCTS = HALVES / 2, WORDS = PRODUCTS * PARTS * FRAGMENT;
    static_assert(HALVES % 2 == 0, "products of one size");
    unsigned word[PRODUCTS][PARTS][4];

    __device__ __forceinline__ void read(const unsigned *table, int lane) {
#pragma unroll
        for (int k = 0; k < PRODUCTS; k++)
#pragma unroll
            for (int part = 0; part < PARTS; part++)
                load_run(word[k][part], table + (k * PARTS + part) * FRAGMENT + 4 * lane);
    }
    // sum += product K of this factor and b.
    template <int K>
    __device__ __forceinline__ void add(float (&sum)[4], const places<HALVES> &at, const unsigned (&b)[4]) const {
#pragma unroll
        for (int part = PARTS - 1; part >= 0; part--)
            sparse_product<K % 2>(static_cast<const STORED *>(nullptr), sum, word[K][part], b, at.meta[K / 2]);
    }
};

// The factors V of all terms. Their results are words of the right factor of U; a set is all words
// that one product of U reads. WINDOWS: 2 where every second line may begin within a word, else 1.
template <class STORED, int HALVES, int PARTS, int TERMS, int WINDOWS>
struct row_factors {
    static constexpr int POINTS_OF_WORD = sparse_words<STORED>::POINTS;
    static constexpr int EIGHTS = 2 * POINTS_OF_WORD;  // groups of eight rows that make a set
    places<HALVES> at[WINDOWS];                        // of even and of odd lines
    factor<STORED, HALVES, PARTS> v[WINDOWS][TERMS];

    // Computes a lane's words of a set: words[q][0] of columns 0, 1, 4, 5, .., words[q][1] of the
    // other columns. `from`: the lane's first word in shared memory, where lines are PITCH apart.
    template <int PITCH>
    __device__ __forceinline__ void make_set(unsigned (&words)[TERMS][2][4], const STORED *from) const {
        unroll<0, EIGHTS>([&](auto eight) {
            constexpr int AT = eight * (4 / EIGHTS), W = eight % WINDOWS;
            constexpr int LINE = WINDOWS > 1 ? eight / 2 * 4 + eight % 2 : 2 * eight;
            float sum[TERMS][4] = {};
            unroll<0, HALVES / 2>([&](auto product) {
                constexpr int K = product;
                unsigned b[4];
                load_words(b, from + LINE * PITCH + 8 * K * POINTS_OF_WORD);
#pragma unroll
                for (int q = 0; q < TERMS; q++) v[W][q].template add<K>(sum[q], at[W], b);
            });
#pragma unroll
            for (int q = 0; q < TERMS; q++)
#pragma unroll
                for (int i = 0; i < 2; i++)
                    take_words(words[q][i], AT, sum[q][2 * i], sum[q][2 * i + 1], static_cast<const STORED *>(nullptr));
        });
    }
    // Converts the sums of two lines of a column to words, from register `at` on.
    static __device__ __forceinline__ void take_words(unsigned (&to)[4], int at, float first, float second,
                                                      const half_t *) {
        to[at] = floats_to_half2(first, second);
    }
    static __device__ __forceinline__ void take_words(unsigned (&to)[4], int at, float first, float second,
                                                      const float *) {
        to[at] = float_to_tf32(first), to[at + 1] = float_to_tf32(second);
    }
};

// The line and the column in shared memory of a lane's first word of the first set.
template <class STORED>
__device__ __forceinline__ int first_line(int g, int halves_y, int windows) {
    return (4 * (g / 4) + g / 2 % 2 * 4 * halves_y) * sparse_words<STORED>::POINTS + g % 2 * windows;
}
template <class STORED>
__device__ __forceinline__ int first_column(int t, int halves) {
    return (4 * (t / 2) + t % 2 * 4 * halves) * sparse_words<STORED>::POINTS;
}

__device__ __forceinline__ four_outputs<half_t> gather(const half_t *, float c0, float c1, float c2, float c3) {
    return {{floats_to_half2(c0, c1), floats_to_half2(c2, c3)}};
}
__device__ __forceinline__ four_outputs<float> gather(const float *, float c0, float c1, float c2, float c3) {
    return {{__float_as_uint(c0), __float_as_uint(c1), __float_as_uint(c2), __float_as_uint(c3)}};
}

// Stores a warp's block: 16 rows from y on of a grid with ny rows, 16 columns from x on of nx.
template <int VECTOR, class STORED>
__device__ __forceinline__ void store_block(STORED *grid, long long pitch, long long ny, long long nx, float scale,
                                            long long y, long long x, int g, int t, const float (&sum)[2][4]) {
    const bool inside = VECTOR > 1 && y + 16 <= ny && x + 16 <= nx;
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const long long row = y + g + 8 * half;
        STORED *const to = grid + row * pitch + x + 4 * t;
        const four_outputs<STORED> four = gather(grid, sum[0][2 * half] * scale, sum[0][2 * half + 1] * scale,
                                                 sum[1][2 * half] * scale, sum[1][2 * half + 1] * scale);
        if (inside)
            store_four(to, four);
        else if (row < ny)
            store_some(to, four, nx - x - 4 * t);
    }
}
