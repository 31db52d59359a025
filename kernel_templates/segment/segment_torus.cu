// Several steps of a stencil on planes and solids in one pass over memory, whatever its weights (FlashFFTStencil in 2D and 3D): tiles that
// overlap by what the steps' taps reach, each convolved with them in shared memory.
//
//     |<- lead ->|<----- useful ----->|         a tile has N1 x N2 points of a plane, or N1 x N2 x N3 of a solid (y, x, z), and is the torus of
//     '----------+--------------------+--'      product.cuh as it stands: factors need not be coprime. `useful` of an axis are outputs.
//
// Two tiles that follow each other are transformed together. Past the sides a plane goes on by the rules of fold.cuh, each axis by
// its own; where sides are no such (nearest), the points that see them are not right, and the faces' launch steps them.
//
// TORUS_SHIFTED: what is past all constant sides is one value, and the grid of that value stays as it is: then it is taken away from what comes
// into tiles that see past a side, and added to what goes out of them. (Not of others: they would round relative to that value too.)
#include "device/divide.cuh"
#include "device/element.cuh"
#include "device/twins.cuh"
#include "segment/fold.cuh"
#include "segment/product.cuh"

struct tile_arguments {
    const STORE *in;
    STORE *out;
    const REAL *operands;  // product.cuh's matrices, and the symbol over LENGTH in the order of its fragments
    const REAL *symbol;
    long long n[3];       // points along z, y, x
    long long in_far[3];  // elements from plane to plane, from row to row, from grid to grid
    long long out_far[3];
    unsigned tiles[3];  // along z, y, x
    unsigned all;
    int lead[3], useful[3];
    divisor by_tiles[3];
    REAL past, unused;
};
static_assert(is_twin(sizeof(tile_arguments), 2 * sizeof(REAL)), "tile_header of segment/tile_launch.c");
static_assert(is_given((4 * ROOM + TOPS) * sizeof(REAL)), "segment_product_shared of segment/product.c");

struct area {
    const STORE *in;  // the grid
    STORE *out;
    long long z, y, x;  // of the tile's first input
};
__device__ __forceinline__ area find(const tile_arguments &a, unsigned tile) {
    const unsigned row = tile / a.by_tiles[2], plane = row / a.by_tiles[1], grid = plane / a.by_tiles[0];
    const unsigned x = tile - row * a.tiles[2], y = row - plane * a.tiles[1], z = plane - grid * a.tiles[0];
    return {a.in + grid * a.in_far[2], a.out + grid * a.out_far[2], static_cast<long long>(z) * a.useful[0] - a.lead[0],
            static_cast<long long>(y) * a.useful[1] - a.lead[1], static_cast<long long>(x) * a.useful[2] - a.lead[2]};
}
__device__ __forceinline__ bool inside(long long from, int length, long long n) {
    return from >= 0 && from + length <= n;
}
__device__ __forceinline__ bool inside(const tile_arguments &a, const area &s) {
    return inside(s.z, N3, a.n[0]) && inside(s.y, N1, a.n[1]) && inside(s.x, N2, a.n[2]);
}

struct cell {
    int z, y, x, at;  // in the tile, and in shared memory
};
__device__ __forceinline__ cell cell_of(int i) {
    const int x = i % N2, y = i / N2 % N1, z = i / (N1 * N2);
    return {z, y, x, z * SLICE + y * PITCH + x};
}

// ---- inputs

// Where the grid's extension has an input; below 0: it is 0.
__device__ __forceinline__ folded source_of(const tile_arguments &a, const area &s, const cell &c) {
    const folded z = extend_by<Z_SIDE_LOW, Z_SIDE_HIGH>(s.z + c.z, a.n[0]),
                 y = extend_by<Y_SIDE_LOW, Y_SIDE_HIGH>(s.y + c.y, a.n[1]),
                 x = extend_by<X_SIDE_LOW, X_SIDE_HIGH>(s.x + c.x, a.n[2]);
    if (z.index < 0 || y.index < 0 || x.index < 0) return {-1, false};
    return {z.index * a.in_far[0] + y.index * a.in_far[1] + x.index, (z.minus != y.minus) != x.minus};
}
// A tile's inputs start on their way to its room; their sign is for later.
__device__ __forceinline__ void fetch(const tile_arguments &a, unsigned tile, REAL *room, int t) {
    const bool there = tile < a.all;
    const area s = find(a, there ? tile : 0);
    if (there && inside(a, s)) {
        const STORE *const from = s.in + s.z * a.in_far[0] + s.y * a.in_far[1] + s.x;
#pragma unroll 4
        for (int i = t; i < LENGTH; i += THREADS) {
            const cell c = cell_of(i);
            copy_element(room + c.at, from + c.z * a.in_far[0] + c.y * a.in_far[1] + c.x);
        }
    } else {
#pragma unroll 1
        for (int i = t; i < LENGTH; i += THREADS) {
            const cell c = cell_of(i);
            const folded from = there ? source_of(a, s, c) : folded{-1, false};
            if (from.index < 0)
                room[c.at] = REAL(0);
            else
                copy_element(room + c.at, s.in + from.index);
        }
    }
    copy_async_commit();
}
// Past an odd side the grid is minus its mirror image; less what is past constant sides. A thread changes what it has fetched itself.
constexpr bool ODD = is_odd(Z_SIDE_LOW) || is_odd(Z_SIDE_HIGH) || is_odd(Y_SIDE_LOW) || is_odd(Y_SIDE_HIGH) ||
                     is_odd(X_SIDE_LOW) || is_odd(X_SIDE_HIGH);
__device__ __forceinline__ void change(const tile_arguments &a, unsigned tile, REAL *room, int t) {
    if (!(ODD || TORUS_SHIFTED) || tile >= a.all) return;
    const area s = find(a, tile);
    if (inside(a, s)) return;
#pragma unroll 1
    for (int i = t; i < LENGTH; i += THREADS) {
        const cell c = cell_of(i);
        const folded from = source_of(a, s, c);
        if (from.index < 0) continue;
        const REAL value = TORUS_SHIFTED ? room[c.at] - a.past : room[c.at];
        room[c.at] = from.minus ? -value : value;
    }
}

// ---- outputs

__device__ __forceinline__ bool is_output(const tile_arguments &a, int axis, int i, long long at) {
    return i >= a.lead[axis] && i < a.lead[axis] + a.useful[axis] && at < a.n[axis];
}
__device__ __forceinline__ void give(const tile_arguments &a, unsigned tile, const REAL *room, REAL scale, int t) {
    if (tile >= a.all) return;
    const area s = find(a, tile);
    const REAL past = TORUS_SHIFTED && !inside(a, s) ? a.past : REAL(0);
    STORE *const to = s.out + s.z * a.out_far[0] + s.y * a.out_far[1] + s.x;
#pragma unroll 4
    for (int i = t; i < LENGTH; i += THREADS) {
        const cell c = cell_of(i);
        if (!is_output(a, 0, c.z, s.z + c.z) || !is_output(a, 1, c.y, s.y + c.y) || !is_output(a, 2, c.x, s.x + c.x))
            continue;
        const REAL value = SCALED ? room[c.at] * scale : room[c.at];
        to[c.z * a.out_far[0] + c.y * a.out_far[1] + c.x] = narrow<STORE>(TORUS_SHIFTED ? value + past : value);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) segment_torus(const tile_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    REAL *const raw = reinterpret_cast<REAL *>(stn_shared), *const work = raw + 2 * ROOM;
    const int t = threadIdx.x, lane = t % 32, warp = t / 32;
    for (int i = t; i < 2 * ROOM; i += THREADS) raw[i] = REAL(0);  // what no point lies in stays 0
    __syncthreads();
    unsigned tile = 2 * blockIdx.x;
    fetch(a, tile, raw, t), fetch(a, tile + 1, raw + ROOM, t);
#pragma unroll 1
    for (; tile < a.all; tile += 2 * gridDim.x) {
        copy_async_wait<0>();
        change(a, tile, raw, t), change(a, tile + 1, raw + ROOM, t);
        __syncthreads();  // all inputs have landed, and the last outputs are given
        const scales scale = find_scales(a.operands, raw, work + 2 * ROOM, t);
        forward(a.operands, a.symbol, raw, work, lane, warp, scale.in);
        __syncthreads();
        fetch(a, tile + 2 * gridDim.x, raw, t), fetch(a, tile + 2 * gridDim.x + 1, raw + ROOM, t);
        finish(a.operands, a.symbol, work, lane, warp);
        give(a, tile, work, scale.out, t), give(a, tile + 1, work + ROOM, scale.out, t);
    }
}
