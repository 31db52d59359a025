// Overlap-save convolution of 2D and 3D grids by dense-DFT tiles (FlashFFTStencil): several steps
// of a stencil of any weights in one pass over memory. Tiles overlap by the reach of the steps'
// taps.
//
// Each tile (tori.cuh) is transformed as a periodic domain by product.cuh, two consecutive tiles
// together.
//
//     N3 = 1   the next pair's inputs are prefetched to a buffer of their own; all threads share
//              the only slice
//     N3 > 1   each warp has its own slices from input to output, in place. The next inputs are
//              copied as soon as outputs are written, and awaited slice by slice. Only data along
//              z are exchanged between warps. Other blocks of the multiprocessor work meanwhile
//     TURNED   outputs are written from registers, so a slice's memory is free for the next
//              inputs as soon as it has been read
//
// 3D tiles use nearly all registers, and spilled ones are slow to reload because inputs evict them
// from L1. So the tiles' descriptors and the symbol are in shared memory, and a thread's addresses
// are recomputed for each slice.
#include "segment/carry.cuh"

static_assert(is_given(((IN_PLACE ? 2 : 4) * ROOM + TOPS) * sizeof(REAL)), "segment_torus_shared of segment/product.c");
// There are padding elements that are read; with f16 all are read, to find the largest value.
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
// A slice's inputs have arrived; those of other slices may be pending.
__device__ __forceinline__ void receive(const tile_arguments &a, const pair &p, REAL *place, int slice, int t) {
    if (slice < WARPS)
        copy_async_wait<SLICES_OF_WARP - 1>();
    else
        copy_async_wait<0>();
    if (ODD || TORUS_SHIFTED) change(a, find_inputs(a, p, t), place, slice);
}
__device__ __forceinline__ void fetch_slice(const tile_arguments &a, const pair &p, REAL *rooms, int slice, int t) {
    if (slice < N3) fetch(a, find_inputs(a, p, t), rooms + slice_at(slice), slice);
    copy_async_commit();
}
__device__ __forceinline__ void fetch_all(const tile_arguments &a, const pair &p, REAL *rooms, int warp, int t) {
#pragma unroll 1
    for (int slice = first_slice(warp); slice < LAST_SLICE; slice += WARPS) fetch_slice(a, p, rooms, slice, t);
}
// Inverse transform and output of a slice, whose memory then receives the next pair's inputs.
__device__ __forceinline__ void finish_slice(const tile_arguments &a, const pair &p, const pair &next, matrices &f,
                                             REAL *rooms, tile (&held)[BLOCKS_2], int slice, int lane, REAL scale) {
    REAL *const place = rooms + slice_at(slice);
    transform_rows(held, place, place + ROOM, f.first, slice, lane, REAL(1));
    __syncwarp();
    fetch_slice(a, next, rooms, slice, lane);
    transform_second(held, f);
    keep_here(lane);
    give_held(a, p, held, slice, lane, scale);
}

// Descriptors: the current pair's, the next one's, and the previous one's, whose outputs other
// warps may still be writing.
constexpr int TURNS = 3;
__device__ __forceinline__ unsigned after(unsigned here) { return here == TURNS - 1 ? 0 : here + 1; }

// Whether this warp is the first of its block to arrive here in this iteration. `arrived` starts at
// 0.
__device__ __forceinline__ bool comes_first(unsigned &arrived) {
    unsigned before = 0;
    if (threadIdx.x % 32 == 0) before = atomicAdd(&arrived, 1u);
    return __shfl_sync(~0u, before, 0) % WARPS == 0;
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_torus(const tile_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    __shared__ pair pairs[TURNS];
    __shared__ REAL eighth[TURNED ? EIGHTH : 1];
    REAL *const raw = reinterpret_cast<REAL *>(stn_shared), *const work = IN_PLACE ? raw : raw + 2 * ROOM;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int t = IN_PLACE ? lane : threadIdx.x;
    // Padding stays 0.
    for (int i = threadIdx.x; PADDED && i < 2 * ROOM; i += THREADS) raw[i] = REAL(0);
    if (TURNED) load_eighth(eighth, a.symbol);
    __shared__ unsigned arrived;
    if (threadIdx.x == 0) arrived = 0;
    if (!TURNED || warp == 0) find_pair(a, 2 * blockIdx.x, pairs[0]);
    __syncthreads();
    tile held[BLOCKS_2];
    matrices f = find_matrices(a.operands, warp, lane);
    unsigned here = 0;
    fetch_all(a, pairs[0], raw, warp, t);
#pragma unroll 1
    for (; is_pair(pairs[here]); here = after(here)) {
        scales scale = {REAL(1), REAL(1)};
        keep_here(t);
        if (SCALED) {  // All threads search the largest value.
            for (int slice = first_slice(warp); slice < N3; slice += WARPS)
                receive(a, pairs[here], raw + slice_at(slice), slice, t);
            __syncthreads();
            scale = find_scales(a.operands, raw, work + 2 * ROOM, threadIdx.x);
        }
        before_slices(f, strip_of(warp), lane);
#pragma unroll 1
        for (int slice = first_slice(warp); slice < N3; slice += WARPS) {
            const int at = slice_at(slice);
            if (!SCALED) {
                receive(a, pairs[here], raw + at, slice, t);
                wait_for_team();  // And the last outputs are written.
            }
            forward_slice(f, a.symbol, raw + at, work + at, held, slice, lane, warp, scale.in);
        }
        if (IN_PLACE) before_middle(f, lane);
        if (!TURNED || comes_first(arrived)) find_pair(a, pairs[here].tile + 2 * gridDim.x, pairs[after(here)]);
        wait_for_all();
        if (IN_PLACE) {
            middle(f, TURNED ? eighth : a.symbol, work, lane, warp);
            __syncthreads();
        } else {
            fetch_all(a, pairs[after(here)], raw, warp, t);
        }
        before_slices(f, strip_of(warp), lane);
#pragma unroll 1
        for (int slice = first_slice(warp); slice < LAST_SLICE; slice += WARPS) {
            if constexpr (TURNED) {
                finish_slice(a, pairs[here], pairs[after(here)], f, work, held, slice, lane, scale.out);
                continue;
            }
            const int at = slice_at(slice);
            if (slice < N3) {
                back_slice(f, a.symbol, work + at, held, slice, lane, warp);
                wait_for_team();
                keep_here(t);
                give(a, find_outputs(a, pairs[here], t), work + at, slice, scale.out);
            }
            if (!IN_PLACE) continue;
            __syncwarp();
            fetch_slice(a, pairs[after(here)], raw, slice, t);
        }
    }
}
