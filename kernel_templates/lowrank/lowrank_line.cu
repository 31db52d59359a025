// Several steps of a 1D stencil at once, as one product with a banded Toeplitz matrix on the tensor
// cores.
//
//     out(x) = sum over j of  w[j] * in(x + j - X_LOW)
//
// w, the stencil convolved with itself, has X_LOW + X_HIGH + 1 weights. A block works on chunks of
// INPUTS consecutive points in shared memory; with two buffers it copies the next chunk while it
// computes. A warp owns 16 neighbouring segments of SEGMENT points, one for each row of the
// product; a tile is WIDTH points of each:
//
//                     tile 0     tile 1
//     segment 0    | x .. x+7 |    ..    |
//     segment 1    | x+S ..   |          |
//        ..
//     segment 15   |          |          |
//
//     out(x + i + S n) = sum over c of  in(x - LEAD + c + S n) * band(i, c)     S: SEGMENT,
//                                                                               n: the segment
//
// Eight adjacent points of a segment are an octet. The octets at the same position of the 16
// segments form one left factor (16 x 8), which is loaded once and multiplied for all tiles that
// depend on it. The band (device/band.cuh) stays in registers. Types and their parts:
// device/fragment.cuh. An octet takes 1/2 (f64), 1/4 (f32) or 1/8 (f16) of a 128-byte line; place()
// puts those of 2, 4 or 8 neighbouring segments at different offsets within a line, which avoids
// bank conflicts. A PAIRED tile has 16 outputs, from two products: columns 2t, 2t+1 of the first
// are outputs 4t, 4t+1, those of the second 4t+2, 4t+3. A lane stores the four at once.
#include "device/arith.cuh"
#include "device/band.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int THREADS = 32 * WARPS, STEP = tensor<STORE>::STEP;
constexpr int SLOT = 16 / sizeof(STORE);  // elements of one copy
// The chunk begins LEAD points before its first output.
constexpr int LEAD = round_up(X_LOW, SLOT < 4 ? 4 : SLOT);
constexpr int OCTETS_OUT = PAIRED ? 2 : 1, WIDTH = 8 * OCTETS_OUT;
// Octets that a tile depends on.
constexpr int OCTETS_IN = round_up((WIDTH + LEAD + X_HIGH + 7) / 8, STEP);
// Tiles of 8 outputs; PAIRED: halves of tiles.
constexpr int SEGMENT_TILES = SEGMENT / 8;
// Octets that a segment depends on.
constexpr int SEEN = SEGMENT_TILES - OCTETS_OUT + OCTETS_IN;
constexpr int OUTPUTS = WARPS * 16 * SEGMENT;                   // outputs of a chunk
constexpr int INPUTS = OUTPUTS + 8 * (OCTETS_IN - OCTETS_OUT);  // inputs of a chunk
constexpr int STAGE = round_up(INPUTS, 8 * SLOT);               // padded to whole memory lines
constexpr int OCTETS_LOADED = 2;                                // octets loaded at once
// Tiles whose products alternate, so that no product waits for the previous one.
constexpr int GROUP = 4;
constexpr bool SEPARATE_SUMS = needs_separate_sums(DATA_PARTS, BAND_PARTS);
static_assert(SEGMENT % (8 * SLOT) == 0 && SEGMENT_TILES % GROUP == 0, "a segment is whole lines and groups of tiles");
static_assert(OCTETS_OUT % STEP == 0, "products of 16 points need tiles of 16");
constexpr int BUFFERS = STAGES > 1 ? 2 : 1;  // chunks in shared memory

struct line_arguments {
    const STORE *in;
    STORE *out;
    long long nx, in_batch, out_batch;
    long long chunks;      // chunks of one grid
    long long all_chunks;  // chunks of the whole batch
    REAL scale;            // common factor of all weights; 1 except in f16
    REAL weight[X_LOW + X_HIGH + 1];
};
static_assert(layout_matches(sizeof(line_arguments), sizeof(line_arguments::scale) + sizeof(line_arguments::weight)),
              "the launcher's mirrored struct of the arguments");

__device__ __forceinline__ int place(int point) { return point ^ (point / SEGMENT % SLOT * 8); }

__device__ __forceinline__ void load_chunk(const line_arguments &a, long long chunk, STORE *stage) {
    const STORE *const line = a.in + chunk / a.chunks * a.in_batch;
    const long long x0 = chunk % a.chunks * OUTPUTS - LEAD;
    if (VECTOR > 1 && x0 >= 0 && x0 + INPUTS <= a.nx) {
        const STORE *from = line + x0;
        for (int slot = threadIdx.x; slot < INPUTS / SLOT; slot += THREADS)
            copy_async_16(stage + place(SLOT * slot), from + SLOT * slot);
    } else
#pragma unroll 1
        for (int i = threadIdx.x; i < INPUTS; i += THREADS)
            copy_element(stage + place(i), line + fold_far<X_SIDE_LOW, X_SIDE_HIGH>(x0 + i, a.nx));
    copy_async_commit();
}

// Reads the octets of the band into registers. The two halves of a PAIRED tile have different
// outputs, so each half has a band of its own.
using band_operand = operand<STORE, BAND_PARTS>;
using band_entry = band<STORE, BAND_PARTS>::entry;
__device__ __forceinline__ void read_band(band_operand (&held)[OCTETS_OUT][OCTETS_IN], const band_entry *band, int g,
                                          int t) {
#pragma unroll
    for (int half = 0; half < OCTETS_OUT; half++)
#pragma unroll
        for (int k = 0; k < OCTETS_IN; k++) {
            const int output = PAIRED ? g / 2 * 4 + 2 * half + g % 2 : g;
            held[half][k] = band_pair(band + BAND_PAD + 8 * k + 2 * t - output);
        }
}

// Multiplies octets `octet` to octet + OCTETS_LOADED - 1 by the band for tiles `first` to first +
// GROUP - 1. `middle`: the middle point of each octet, in segments g and g + 8. `sums`: the values
// of fill_sums, from this lane's first output (column) on.
__device__ __forceinline__ void add_products(REAL (&sum)[SEGMENT_TILES][4], int first, int octet,
                                             const operand<STORE, DATA_PARTS> (&in)[OCTETS_LOADED][2],
                                             const REAL (&middle)[OCTETS_LOADED][2], const float *sums,
                                             const band_operand (&held)[OCTETS_OUT][OCTETS_IN]) {
    REAL separate[GROUP][4] = {};
#pragma unroll
    for (int pass = 0; pass < passes(DATA_PARTS, BAND_PARTS); pass++)
#pragma unroll
        for (int s = 0; s < OCTETS_LOADED; s += STEP)
#pragma unroll
            for (int i = 0; i < GROUP; i++) {
                const int half = (first + i) % OCTETS_OUT, k = octet + s - (first + i - half);
                if (k < 0 || k >= OCTETS_IN) continue;
                operand<STORE, DATA_PARTS> top[STEP], bottom[STEP];
                band_operand right[STEP];
                for (int b = 0; b < STEP; b++)
                    top[b] = in[s + b][0], bottom[b] = in[s + b][1], right[b] = held[half][k + b];
                product_pass(pass, SEPARATE_SUMS ? separate[i] : sum[first + i], top, bottom, right);
            }
    if (SEPARATE_SUMS)
#pragma unroll
        for (int i = 0; i < GROUP; i++) {
            add_tile(sum[first + i], separate[i]);
#pragma unroll
            for (int s = 0; s < OCTETS_LOADED; s++) {
                const int k = octet + s - (first + i);  // tiles of f32 are one octet wide
                if (k < 0 || k >= OCTETS_IN) continue;
                const float even = sums[8 * k], odd = sums[8 * k + 1], weights[4] = {even, odd, even, odd};
                const REAL middles[4] = {middle[s][0], middle[s][0], middle[s][1], middle[s][1]};
                add_middles(sum[first + i], middles, weights);
            }
        }
}

// Stores one row of OCTETS_OUT tiles, from output x on; this lane has two adjacent outputs of each.
__device__ __forceinline__ void store_row(const line_arguments &a, STORE *out, long long x, bool whole,
                                          const REAL (&sum)[SEGMENT_TILES][4], int tile, int row) {
    STORE run[2 * OCTETS_OUT];
    for (int e = 0; e < 2 * OCTETS_OUT; e++) {
        const REAL value = sum[tile + e / 2][2 * row + e % 2];
        run[e] = narrow<STORE>(sizeof(STORE) == 2 ? value * a.scale : value);
    }
    if (VECTOR > 1 && whole)
        store_run(out + x, run);
    else
        for (int e = 0; e < 2 * OCTETS_OUT; e++)
            if (x + e < a.nx) out[x + e] = run[e];
}

__device__ __forceinline__ void compute_chunk(const line_arguments &a, long long chunk, const STORE *stage,
                                              const float *sums, const band_operand (&held)[OCTETS_OUT][OCTETS_IN]) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
    REAL sum[SEGMENT_TILES][4] = {};
#pragma unroll
    for (int octet = 0; octet < SEEN; octet += OCTETS_LOADED) {
        operand<STORE, DATA_PARTS> in[OCTETS_LOADED][2];
        REAL middle[OCTETS_LOADED][2] = {};
#pragma unroll
        for (int s = 0; s < OCTETS_LOADED && octet + s < SEEN; s++)
            for (int h = 0; h < 2; h++) {
                const STORE *const from = stage + place((warp * 16 + 8 * h + g) * SEGMENT + 8 * (octet + s));
                if (SEPARATE_SUMS) middle[s][h] = widen(from[MIDDLE]);
                load_difference(in[s][h], from + 2 * t, middle[s][h]);
            }
#pragma unroll
        for (int n = 0; n < SEGMENT_TILES; n += GROUP)
            if (octet + OCTETS_LOADED > n && octet < n + GROUP + OCTETS_IN)
                add_products(sum, n, octet, in, middle, sums + 2 * t, held);
    }
    STORE *const out = a.out + chunk / a.chunks * a.out_batch;
    const bool whole = (chunk % a.chunks + 1) * OUTPUTS <= a.nx;
#pragma unroll
    for (int row = 0; row < 2; row++) {
        const long long x = chunk % a.chunks * OUTPUTS + (warp * 16 + 8 * row + g) * SEGMENT + 2 * OCTETS_OUT * t;
#pragma unroll
        for (int tile = 0; tile < SEGMENT_TILES; tile += OCTETS_OUT)
            store_row(a, out, x + 8 * tile, whole, sum, tile, row);
    }
}

static_assert(shared_bytes_match(BUFFERS * STAGE * sizeof(STORE)), "the launcher gives as much shared memory");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) lowrank_line(const __grid_constant__ line_arguments a) {
    let_next_launch_begin();  // the faces' launch may start
    extern __shared__ __align__(128) unsigned char stn_shared[];
    STORE *const shared = reinterpret_cast<STORE *>(stn_shared);  // BUFFERS stages
    __shared__ band_entry padded[band_size(OCTETS_IN)];
    __shared__ float sums[sums_size(SEPARATE_SUMS, OCTETS_IN)];
    const int lane = threadIdx.x % 32;

    fill_band<0>(padded, band_size(OCTETS_IN), a.weight, X_LOW + X_HIGH + 1, LEAD - X_LOW, threadIdx.x, THREADS);
    if (SEPARATE_SUMS)
        fill_sums<0>(sums, 8 * OCTETS_IN, a.weight, X_LOW + X_HIGH + 1, LEAD - X_LOW, threadIdx.x, THREADS);
    long long chunk = blockIdx.x;
    if (BUFFERS == 2 && chunk < a.all_chunks) load_chunk(a, chunk, shared);
    __syncthreads();
    band_operand held[OCTETS_OUT][OCTETS_IN];
    read_band(held, padded, lane / 4, lane % 4);
    int stage = 0;
    for (; chunk < a.all_chunks; chunk += gridDim.x) {
        if (BUFFERS == 1) {
            load_chunk(a, chunk, shared);
            copy_async_wait<0>();
        } else if (chunk + gridDim.x < a.all_chunks) {
            load_chunk(a, chunk + gridDim.x, shared + (1 - stage) * STAGE);
            copy_async_wait<1>();
        } else
            copy_async_wait<0>();
        __syncthreads();
        compute_chunk(a, chunk, shared + stage * STAGE, sums, held);
        __syncthreads();  // the next load overwrites what was read here
        stage = (BUFFERS - 1) - stage * (BUFFERS - 1);
    }
}
