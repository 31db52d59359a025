// Shared-memory FFT: in-place FFTs of lines in shared memory. The forward transform is decimation
// in frequency and leaves digit-reversed order; the inverse runs the same stages backwards.
//
//     forward:  stage S of radix R does N / R butterflies on points STRIDE apart, then multiplies
//               output r by the twiddle factor w_BLOCK^(q r), where w_n = exp(-2 pi i / n) and
//               butterfly q of a block begins at its point q
//     inverse:  the same stages from the last to the first, twiddle factors first; without a scale
//
//     stage 0  |<------------ BLOCK = N ------------->|   STRIDE = N / R_0, butterfly q: points q,
//                                                         q + STRIDE, ..
//     stage 1  |<-- BLOCK = N/R_0 -->|            |   |   the same within each part
//     ..
//     last     |R|R|R|R|R| ..                             STRIDE = 1, no twiddle factors
//
// Every butterfly writes to the points that it read, so a stage needs one barrier and works with
// any number of threads. After the last stage, position p = d_0 N/R_0 + d_1 N/(R_0 R_1) + .. holds
// frequency k = d_0 + R_0 (d_1 + R_1 (d_2 + ..)). The butterflies of the last stage are numbered by
// their lowest frequency t, so neighbouring threads hold neighbouring frequencies t + r N/R.
//
// The inverse works on swapped points (re and im exchanged): then an inverse butterfly is a forward
// one, and a product with a conjugate twiddle factor is a product with the factor itself. The
// caller swaps before and after the inverse.
//
// A kernel describes its lines by a type LINE: N, STAGES, radix(s), THREADS (per line), LINES
// (interleaved in a block: neighbouring threads work on neighbouring lines), PAD (one index is
// skipped after every PAD points to avoid bank conflicts; 0: none), TABLE (a stage with more
// twiddles than this computes powers from fewer of them), SHARES (1, or the number of blocks in the
// cluster).
//
// A line too long for one block is split over SHARES blocks of a cluster: block b holds the b-th
// part of the positions and does the b-th part of the butterflies of stage 0, whose results it
// stores into the blocks that hold them (store_butterfly_in_cluster). All other stages are local to
// a block.
//
// twiddles: for each stage but the last, w_BLOCK^(q r) as [r - 1][q], or, where those are more than
// TABLE, w_BLOCK^q as [q].
#pragma once
#include "device/fft.cuh"

template <class LINE>
constexpr int radices_before(int stage) {
    int product = 1;
    for (int s = 0; s < stage; s++) product *= LINE::radix(s);
    return product;
}
template <class LINE, int S>
struct fft_stage {
    static constexpr int R = LINE::radix(S), BLOCK = LINE::N / radices_before<LINE>(S), STRIDE = BLOCK / R;
    static constexpr int COUNT = LINE::N / R / LINE::SHARES;  // butterflies of this block
    static constexpr bool WHOLE_TABLE = STRIDE * (R - 1) <= LINE::TABLE;
    static constexpr int ROOTS = WHOLE_TABLE ? STRIDE * (R - 1) : STRIDE;
    static_assert(STRIDE * R * radices_before<LINE>(S) == LINE::N, "the radices make up the length");
    // the first point of butterfly j
    static __device__ __forceinline__ int first(int j) { return j / STRIDE * BLOCK + j % STRIDE; }
};
template <class LINE, int S>
struct twiddle_offset {  // index in the table of the first root of stage S
    static constexpr int value = twiddle_offset<LINE, S - 1>::value + fft_stage<LINE, S - 1>::ROOTS;
};
template <class LINE>
struct twiddle_offset<LINE, 0> {
    static constexpr int value = 0;
};

// ---- indices in shared memory
template <class LINE>
__device__ __forceinline__ constexpr int padded(int p) {
    return LINE::PAD ? p + p / (LINE::PAD ? LINE::PAD : 1) : p;
}
template <class LINE>
constexpr int padded_points() {  // points of all lines, with padding
    return (padded<LINE>(LINE::N / LINE::SHARES - 1) + 1) * LINE::LINES;
}
// Index of point first + r STRIDE of stage S.
template <class LINE, int S>
__device__ __forceinline__ int shared_index(int first, int r) {
    constexpr int STRIDE = fft_stage<LINE, S>::STRIDE, PAD = LINE::PAD ? LINE::PAD : 1;
    if constexpr (!LINE::PAD || STRIDE % PAD == 0 || PAD % fft_stage<LINE, S>::BLOCK == 0)
        return (padded<LINE>(first) + padded<LINE>(r * STRIDE)) * LINE::LINES;
    else
        return padded<LINE>(first + r * STRIDE) * LINE::LINES;
}
template <class LINE, int S, class T>
__device__ __forceinline__ void load_butterfly(complex<T> (&x)[fft_stage<LINE, S>::R], const complex<T> *line,
                                               int first) {
#pragma unroll
    for (int r = 0; r < fft_stage<LINE, S>::R; r++) x[r] = line[shared_index<LINE, S>(first, r)];
}
template <class LINE, int S, class T>
__device__ __forceinline__ void store_butterfly(const complex<T> (&x)[fft_stage<LINE, S>::R], complex<T> *line,
                                                int first) {
#pragma unroll
    for (int r = 0; r < fft_stage<LINE, S>::R; r++) line[shared_index<LINE, S>(first, r)] = x[r];
}

// ---- stage 0 of a line that a cluster shares; q numbers the butterflies of all blocks
template <class LINE>
struct cluster_stage {
    using stage0 = fft_stage<LINE, 0>;
    static_assert(stage0::R % LINE::SHARES == 0, "each block holds as many of a butterfly's results");
    static_assert(stage0::STRIDE % LINE::SHARES == 0, "and does as many of the butterflies");
    static constexpr int EACH = stage0::R / LINE::SHARES;
    // The block that holds result r, and its index there.
    static __device__ __forceinline__ unsigned block(int r) { return static_cast<unsigned>(r / EACH); }
    static __device__ __forceinline__ int index(int q, int r) { return shared_index<LINE, 0>(q, r % EACH); }
};
template <class T>
struct words_of {
    unsigned word[sizeof(complex<T>) / 4];
};
template <class LINE, class T>
__device__ __forceinline__ void store_butterfly_in_cluster(const complex<T> (&x)[fft_stage<LINE, 0>::R],
                                                           complex<T> *line, int q) {
    using stage0 = cluster_stage<LINE>;
    if constexpr (LINE::SHARES == 1)
        store_butterfly<LINE, 0>(x, line, q);
    else
#pragma unroll
        for (int r = 0; r < fft_stage<LINE, 0>::R; r++) {
            words_of<T> words;
            to_words(x[r], words.word);
            cluster_store(reinterpret_cast<unsigned *>(line + stage0::index(q, r)), words.word, stage0::block(r));
        }
}
template <class LINE, class T>
__device__ __forceinline__ void load_butterfly_in_cluster(complex<T> (&x)[fft_stage<LINE, 0>::R],
                                                          const complex<T> *line, int q) {
    using stage0 = cluster_stage<LINE>;
    if constexpr (LINE::SHARES == 1)
        load_butterfly<LINE, 0>(x, line, q);
    else
#pragma unroll
        for (int r = 0; r < fft_stage<LINE, 0>::R; r++) {
            words_of<T> words;
            cluster_load(words.word, reinterpret_cast<const unsigned *>(line + stage0::index(q, r)), stage0::block(r));
            x[r] = from_words<T>(words.word);
        }
}
// Barrier of all blocks that share a line.
template <class LINE>
__device__ __forceinline__ void line_barrier_in_cluster() {
    if constexpr (LINE::SHARES == 1)
        __syncthreads();
    else
        cluster_barrier();
}

// ---- stages
// x[r] *= w_BLOCK^(q r), for the butterfly that begins at first.
template <class LINE, int S, class T>
__device__ __forceinline__ void apply_twiddles(complex<T> (&x)[fft_stage<LINE, S>::R], int first, const T *twiddles) {
    using this_stage = fft_stage<LINE, S>;
    if constexpr (this_stage::STRIDE > 1) {
        const T *const of_stage = twiddles + 2 * (twiddle_offset<LINE, S>::value + first % this_stage::STRIDE);
        if constexpr (this_stage::WHOLE_TABLE)
            times_table<this_stage::R>(x, of_stage, this_stage::STRIDE);
        else
            times_powers<this_stage::R>(x, load_pair(of_stage));
    }
}
// Computes a butterfly of a forward stage from its points x and stores it.
template <class LINE, int S, class T>
__device__ __forceinline__ void forward_butterfly(complex<T> (&x)[fft_stage<LINE, S>::R], complex<T> *line, int first,
                                                  const T *twiddles) {
    dft<fft_stage<LINE, S>::R>(x);
    apply_twiddles<LINE, S>(x, first, twiddles);
    store_butterfly<LINE, S>(x, line, first);
}
// Loads a butterfly of an inverse stage and computes its points x.
template <class LINE, int S, class T>
__device__ __forceinline__ void inverse_butterfly(complex<T> (&x)[fft_stage<LINE, S>::R], const complex<T> *line,
                                                  int first, const T *twiddles) {
    load_butterfly<LINE, S>(x, line, first);
    apply_twiddles<LINE, S>(x, first, twiddles);
    dft<fft_stage<LINE, S>::R>(x);
}
// One stage from and to shared memory, with a barrier after it.
template <class LINE, int S, class T>
__device__ __forceinline__ void forward_stage(complex<T> *line, int t, const T *twiddles) {
    using this_stage = fft_stage<LINE, S>;
#pragma unroll 1
    for (int j = t; j < this_stage::COUNT; j += LINE::THREADS) {
        complex<T> x[this_stage::R];
        const int first = this_stage::first(j);
        load_butterfly<LINE, S>(x, line, first);
        forward_butterfly<LINE, S>(x, line, first, twiddles);
    }
    __syncthreads();
}
template <class LINE, int S, class T>
__device__ __forceinline__ void inverse_stage(complex<T> *line, int t, const T *twiddles) {
    using this_stage = fft_stage<LINE, S>;
#pragma unroll 1
    for (int j = t; j < this_stage::COUNT; j += LINE::THREADS) {
        complex<T> x[this_stage::R];
        const int first = this_stage::first(j);
        inverse_butterfly<LINE, S>(x, line, first, twiddles);
        store_butterfly<LINE, S>(x, line, first);
    }
    __syncthreads();
}
// Forward stages FROM to TO - 1.
template <class LINE, int FROM, int TO, class T>
__device__ __forceinline__ void forward_stages(complex<T> *line, int t, const T *twiddles) {
    if constexpr (FROM < TO) {
        forward_stage<LINE, FROM>(line, t, twiddles);
        forward_stages<LINE, FROM + 1, TO>(line, t, twiddles);
    }
}
// Inverse stages FROM - 1 down to TO, on swapped points.
template <class LINE, int FROM, int TO, class T>
__device__ __forceinline__ void inverse_stages(complex<T> *line, int t, const T *twiddles) {
    if constexpr (FROM > TO) {
        inverse_stage<LINE, FROM - 1>(line, t, twiddles);
        inverse_stages<LINE, FROM - 1, TO>(line, t, twiddles);
    }
}

// ---- the last stage
// Position in its block of the butterfly that has the frequencies t + r N/R: t with its digits
// reversed.
template <class LINE, int S = 0>
__device__ __forceinline__ int digit_reversed_first(int t) {
    if constexpr (S == LINE::STAGES - 1)
        return 0;
    else if constexpr (S == 0 && LINE::SHARES > 1)
        return t % cluster_stage<LINE>::EACH * fft_stage<LINE, 0>::STRIDE +
               digit_reversed_first<LINE, 1>(t / LINE::radix(0));
    else
        return t % LINE::radix(S) * fft_stage<LINE, S>::STRIDE + digit_reversed_first<LINE, S + 1>(t / LINE::radix(S));
}
// The t of this block's butterfly j.
template <class LINE>
__device__ __forceinline__ int frequency_of(int j, unsigned rank) {
    if constexpr (LINE::SHARES == 1) return j;
    constexpr int EACH = LINE::radix(0) / LINE::SHARES;
    return static_cast<int>(rank) * EACH + j % EACH + j / EACH * LINE::radix(0);
}
// Transforms of real data combine frequencies k and N - k. If k = t + r N/R belongs to butterfly t
// of the last stage, N - k belongs to its partner, butterfly N/R - t; butterflies 0 and N/(2R) are
// their own partners. load_partners gives the frequencies x of butterfly t and y of its partner.
template <class LINE, int R, class T>
__device__ __forceinline__ void load_partners(complex<T> (&x)[R], complex<T> (&y)[R], const complex<T> *line, int t) {
    constexpr int LAST = LINE::STAGES - 1, P = LINE::N / R;
    load_butterfly<LINE, LAST>(x, line, digit_reversed_first<LINE>(t));
    dft<R>(x);
    load_butterfly<LINE, LAST>(y, line, digit_reversed_first<LINE>(t ? P - t : 0));
    dft<R>(y);
}
// If t is 0, moves y[0] to the end, so that for all t y[R - 1 - r] is the partner of x[r].
template <int R, class T>
__device__ __forceinline__ void align_partners(complex<T> (&y)[R], int t) {
    if (t) return;
    const complex<T> first = y[0];
#pragma unroll
    for (int r = 0; r < R - 1; r++) y[r] = y[r + 1];
    y[R - 1] = first;
}
// Computes and stores butterfly t and its partner in the last stage of an inverse transform.
template <class LINE, int R, class T>
__device__ __forceinline__ void store_partners(complex<T> (&x)[R], complex<T> (&y)[R], complex<T> *line, int t) {
    constexpr int LAST = LINE::STAGES - 1, P = LINE::N / R;
    dft<R>(x);
    store_butterfly<LINE, LAST>(x, line, digit_reversed_first<LINE>(t));
    if (t == 0 || 2 * t == P) return;
    dft<R>(y);
    store_butterfly<LINE, LAST>(y, line, digit_reversed_first<LINE>(P - t));
}
// exp(-pi i (t + r N/R) / N) from the table of exp(-pi i k / N)
template <class LINE, int R, class T>
__device__ __forceinline__ complex<T> half_twiddle(const T *half, int t, int r) {
    if constexpr (32 % R == 0)
        return times_root64(load_pair(half + 2 * t), 32 / R * r);
    else
        return load_pair(half + 2 * (t + r * (LINE::N / R)));
}
