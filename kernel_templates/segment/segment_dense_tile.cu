// Overlap-save convolution of 2D and 3D grids by dense-DFT tiles (FlashFFTStencil): several steps
// of a stencil of any weights in one pass over memory. Tiles overlap by the reach of the steps'
// taps.
//
// Each tile (overlapping_tiles.cuh) is transformed as a periodic domain by dense_convolution.cuh,
// two consecutive tiles together.
//
//     N3 = 1   the next pair's inputs are prefetched to a buffer of their own; all threads share
//              the only slice
//     N3 > 1   each warp has its own slices from input to output, in place. The next inputs are
//              copied as soon as outputs are written, and awaited slice by slice. Warps exchange
//              data only for the transforms along z. Meanwhile other blocks of the multiprocessor
//              compute
//     TRANSPOSED   outputs are written from registers, so a slice's memory is free for the next
//              inputs as soon as it has been read
//
// 3D tiles use nearly all registers, and spilled ones are slow to reload because inputs evict them
// from L1. So the tiles' descriptors and the symbol are in shared memory, and a thread's addresses
// are recomputed for each slice.
#include "segment/tile_io.cuh"

static_assert(shared_bytes_match(((IN_PLACE ? 2 : 4) * BUFFER + MAXIMA) * sizeof(REAL)),
              "segment_dense_tile_shared of segment/dense_dft.c");
// Some padding elements are read; in f16 all are, to find the largest value.
constexpr bool PADDED = SCALED || N1 % 16 || N2 % 8 || (N3 > 1 && N3 % 8);

// A warp's slices, including empty ones, so that all warps have the same number of pending copies.
constexpr int SLICES_OF_WARP = IN_PLACE ? (N3 + WARPS - 1) / WARPS : 1;
constexpr int LAST_SLICE = IN_PLACE ? SLICES_OF_WARP * WARPS : 1;

__device__ __forceinline__ void wait_for_team() {
    if (TEAM > 32)
        __syncthreads();
    else
        __syncwarp();
}
// Waits until a slice's inputs have arrived, and applies their signs. Copies of other slices may
// still be pending.
__device__ __forceinline__ void receive(const tile_arguments &a, const pair &p, REAL *place, int slice, int t) {
    if (slice < WARPS)
        copy_async_wait<SLICES_OF_WARP - 1>();
    else
        copy_async_wait<0>();
    if (ODD || TILE_SHIFTED) apply_signs(a, find_inputs(a, p, t), place, slice);
}
__device__ __forceinline__ void fetch_slice(const tile_arguments &a, const pair &p, REAL *buffers, int slice, int t) {
    if (slice < N3) fetch(a, find_inputs(a, p, t), buffers + slice_at(slice), slice);
    copy_async_commit();
}
__device__ __forceinline__ void fetch_all(const tile_arguments &a, const pair &p, REAL *buffers, int warp, int t) {
#pragma unroll 1
    for (int slice = first_slice(warp); slice < LAST_SLICE; slice += WARPS) fetch_slice(a, p, buffers, slice, t);
}
// Inverse transform and output of a slice, whose memory then receives the next pair's inputs.
// Unless `begun` it only receives inputs.
__device__ __forceinline__ void finish_slice(const tile_arguments &a, const pair &p, const pair &next, matrices &f,
                                             REAL *buffers, int slice, int lane, REAL scale, bool begun) {
    REAL *const place = buffers + slice_at(slice);
    tile c[BLOCKS_2] = {};
    if (begun) {
        transform_rows(c, place, place + BUFFER, f.first, slice, lane, REAL(1));
        __syncwarp();
    }
    fetch_slice(a, next, buffers, slice, lane);
    if (!begun) return;
    transform_second(c, f);
    hide_from_optimizer(lane);
    store_held(a, p, c, slice, lane, scale);
}

// There are three descriptors: of the current pair, of the next one, and of the previous one, whose
// outputs other warps may still be writing.
constexpr int DESCRIPTORS = 3;
__device__ __forceinline__ unsigned next_descriptor(unsigned current) {
    return current == DESCRIPTORS - 1 ? 0 : current + 1;
}

// Whether this warp is the first of its block to arrive here in this iteration. `arrived` is
// initially 0.
__device__ __forceinline__ bool arrives_first(unsigned &arrived) {
    unsigned before = 0;
    if (threadIdx.x % 32 == 0) before = atomicAdd(&arrived, 1u);
    return __shfl_sync(~0u, before, 0) % WARPS == 0;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_dense_tile(const tile_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    __shared__ pair pairs[DESCRIPTORS];
    __shared__ REAL octant[TRANSPOSED ? OCTANT : 1];
    REAL *const raw = reinterpret_cast<REAL *>(stn_shared), *const work = IN_PLACE ? raw : raw + 2 * BUFFER;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int t = IN_PLACE ? lane : threadIdx.x;
    // Padding stays 0.
    for (int i = threadIdx.x; PADDED && i < 2 * BUFFER; i += THREADS) raw[i] = REAL(0);
    if (TRANSPOSED) load_octant(octant, a.symbol);
    __shared__ unsigned arrived;
    if (threadIdx.x == 0) arrived = 0;
    matrices f = find_matrices(a.operands, warp, lane);
    // The first iteration only describes and fetches the first pair, so that this long code is
    // compiled once.
    bool begun = false;
    unsigned current = DESCRIPTORS - 1;
#pragma unroll 1
    do {
        const unsigned next = next_descriptor(current);
        tile held[BLOCKS_2] = {};  // Frees the registers of the previous iteration's values.
        scales scale = {REAL(1), REAL(1)};
        hide_from_optimizer(t);
        if (SCALED && begun) {  // All threads search for the largest value.
            for (int slice = first_slice(warp); slice < N3; slice += WARPS)
                receive(a, pairs[current], raw + slice_at(slice), slice, t);
            __syncthreads();
            scale = find_scales(a.operands, raw, work + 2 * BUFFER, threadIdx.x);
        }
        prepare_slices(f, strip_of(warp), lane);
#pragma unroll 1
        for (int slice = begun ? first_slice(warp) : N3; slice < N3; slice += WARPS) {
            const int at = slice_at(slice);
            if (!SCALED) {
                receive(a, pairs[current], raw + at, slice, t);
                wait_for_team();  // Also waits until the previous outputs are written.
            }
            forward_slice(f, a.symbol, raw + at, work + at, held, slice, lane, warp, scale.in);
        }
        if (IN_PLACE) prepare_third(f, lane);
        if (!TRANSPOSED || (begun ? arrives_first(arrived) : warp == 0))
            describe_pair(a, begun ? pairs[current].tile + 2 * gridDim.x : 2 * blockIdx.x, pairs[next]);
        wait_for_all();
        if (IN_PLACE && begun) {
            transform_third(f, TRANSPOSED ? octant : a.symbol, work, lane, warp);
            __syncthreads();
        }
        if (!IN_PLACE) fetch_all(a, pairs[next], raw, warp, t);
        prepare_slices(f, strip_of(warp), lane);
#pragma unroll 1
        for (int slice = first_slice(warp); slice < LAST_SLICE; slice += WARPS) {
            if constexpr (TRANSPOSED) {
                finish_slice(a, pairs[current], pairs[next], f, work, slice, lane, scale.out, begun);
                continue;
            }
            const int at = slice_at(slice);
            if (begun && slice < N3) {
                back_slice(f, a.symbol, work + at, held, slice, lane, warp);
                wait_for_team();
                hide_from_optimizer(t);
                store_outputs(a, find_outputs(a, pairs[current], t), work + at, slice, scale.out);
            }
            if (!IN_PLACE) continue;
            __syncwarp();
            fetch_slice(a, pairs[next], raw, slice, t);
        }
        begun = true, current = next;
    } while (is_pair(pairs[current]));
}
