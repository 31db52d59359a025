// Several steps of a stencil on planes and solids in one pass over memory, whatever its weights
// (FlashFFTStencil in 2D and 3D): tiles that overlap by what the steps' taps reach, each convolved
// with them in shared memory.
//
// A tile (tori.cuh) is the torus of product.cuh as it stands. Two tiles that follow each other are
// transformed together.
//
//     N3 = 1   inputs of the next pair are on their way to a room of their own; all threads have the only slice
//     N3 > 1   a warp has its slices, from the inputs to the outputs, in one place; other inputs follow as soon as outputs are given, and are waited
//              for slice by slice. Only what lies along z is exchanged between warps. Other blocks of the multiprocessor work while these wait
//     TURNED   a slice's outputs go from registers: its place is free for other inputs as soon as it has been read
//
// Registers are nearly all taken in solids, and what does not fit comes back from far (inputs
// stream through the first-level cache): so where tiles lie and the symbol are in shared memory,
// and a thread's place is found anew for each slice. Measured: bench/results/2026-11-26-solids.md.
#include "segment/carry.cuh"

static_assert(is_given(((IN_PLACE ? 2 : 4) * ROOM + TOPS) * sizeof(REAL)), "segment_torus_shared of segment/product.c");
// There are cells that are read and are no points: of f16 all are, for the largest.
constexpr bool PADDED = SCALED || N1 % 16 || N2 % 8 || (N3 > 1 && N3 % 8);

// A warp's slices, or a turn without one: then all have as many groups of copies under way.
constexpr int SLICES_OF_WARP = IN_PLACE ? (N3 + WARPS - 1) / WARPS : 1;
constexpr int LAST_SLICE = IN_PLACE ? SLICES_OF_WARP * WARPS : 1;

__device__ __forceinline__ void wait_for_team() {
    if (TEAM > 32)
        __syncthreads();
    else
        __syncwarp();
}
// A slice's inputs have landed; other slices' may still be under way.
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
// Back from frequencies to the outputs of a slice, whose place the next pair's inputs take.
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

constexpr int TURNS =
    3;  // pairs that are described: this turn's, the next one, and what others may still give, of the turn before
__device__ __forceinline__ unsigned after(unsigned here) { return here == TURNS - 1 ? 0 : here + 1; }

// Is this warp the first one of its block that comes here in this turn? `arrived` counts from 0 on.
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
    for (int i = threadIdx.x; PADDED && i < 2 * ROOM; i += THREADS) raw[i] = REAL(0);  // what no point lies in stays 0
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
        if (SCALED) {  // all look for the largest
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
                wait_for_team();  // and the last outputs are given
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
