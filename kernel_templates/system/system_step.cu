// One assignment of a system, at every point: out(p) = system_value(around p).
//
//     rows along x     |<- THREADS_X ->|<- THREADS_X ->| ...
//     blocks           x fastest, then THREADS_Y rows, then SYSTEM_PLANES planes, then the batch
//
// A thread has one point of each of SYSTEM_PLANES planes. system_value is rendered from the
// assignment's text as a sequence of `const REAL tN = ...;`, which reads arrays by
// around.field<A>(z, y, x) and around.shared<A>(z, y, x) (a coefficient that all grids of a batch
// share), and numbers by around.number(I). It is compiled twice: where a block and all its reads
// lie inside the grid, reads are plain offsets; otherwise each axis with an offset is folded by the
// array's own boundary rules, axis 0 first.
//
// SYSTEM_PLANES > 1: a block marches along z. Values at offsets along z only, of arrays with
// SYSTEM_QUEUE > 0, stay in registers: a thread loads each plane of the array once, and only
// neighbours along x and y read it again, from a cache.
//
// Reads STORE, REAL, SYSTEM_ARRAYS, SYSTEM_VALUES, SYSTEM_REACH, SYSTEM_FREEZES, SYSTEM_SIDES,
// SYSTEM_PAST, SYSTEM_SHARED, SYSTEM_QUEUE_LOW, SYSTEM_QUEUE, THREADS_X, THREADS_Y, SYSTEM_PLANES,
// BLOCKS, system_value.
#include "device/element.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"
#include "system/fold.cuh"

constexpr int THREADS = THREADS_X * THREADS_Y;

struct system_arguments {
    const STORE *array[SYSTEM_ARRAYS];
    STORE *out;
    const STORE *present;    // the value that frozen points keep
    long long n[3], points;  // points of one grid; axes z, y, x
    long long live_low[3], live_high[3];
    unsigned tiles_x, tiles_y, chunks, unused;  // blocks along x, y and z
    REAL values[SYSTEM_VALUES];                 // numbers, then the sides' constants
};
static_assert(layout_matches(sizeof(system_arguments), sizeof(system_arguments::values)),
              "the launcher's mirrored struct of the arguments");

template <int A>
struct load {
    const system_arguments &a;
    long long grid;
    __device__ __forceinline__ REAL operator()(int z, int y, int x) const {
        return widen(a.array[A][grid + (z * a.n[1] + y) * a.n[2] + x]);
    }
};

struct near_side {
    const system_arguments &a;
    long long grid;
    int z, y, x;

    template <int A>
    __device__ __forceinline__ REAL shared(int dz, int dy, int dx) const {
        return read_folded<A, false>(a.n, a.values, z, y, x, dz, dy, dx, load<A>{a, 0});
    }
    template <int A>
    __device__ __forceinline__ REAL field(int dz, int dy, int dx) const {
        return read_folded<A, false>(a.n, a.values, z, y, x, dz, dy, dx, load<A>{a, grid});
    }
    __device__ __forceinline__ REAL number(int i) const { return a.values[i]; }
};

// Register queues of arrays 0 to A: the values along z, beginning SYSTEM_QUEUE_LOW planes below the
// point.
template <int A>
struct queues : queues<A - 1> {
    REAL held[SYSTEM_QUEUE[A] > 0 ? SYSTEM_QUEUE[A] : 1];
};
template <>
struct queues<-1> {};
using all_queues = queues<SYSTEM_ARRAYS - 1>;

struct inside {
    const system_arguments &a;
    long long grid, at;  // elements before the grid; elements before the point within the grid
    const all_queues &queued;

    template <int A>
    __device__ __forceinline__ REAL read(long long before, int z, int y, int x) const {
        if (SYSTEM_QUEUE[A] && !y && !x) return static_cast<const queues<A> &>(queued).held[z + SYSTEM_QUEUE_LOW[A]];
        return widen(a.array[A][before + at + (z * a.n[1] + y) * a.n[2] + x]);
    }
    template <int A>
    __device__ __forceinline__ REAL shared(int z, int y, int x) const {
        return read<A>(0, z, y, x);
    }
    template <int A>
    __device__ __forceinline__ REAL field(int z, int y, int x) const {
        return read<A>(grid, z, y, x);
    }
    __device__ __forceinline__ REAL number(int i) const { return a.values[i]; }
};

// Advances the queues by one plane. FIRST: fills them for the plane before the first one, all but
// the last entry.
template <int A>
__device__ __forceinline__ void advance(const system_arguments &a, long long grid, long long at, bool first,
                                        queues<A> &q) {
    advance(a, grid, at, first, static_cast<queues<A - 1> &>(q));
    if (!SYSTEM_QUEUE[A]) return;
    const STORE *const from = a.array[A] + (SYSTEM_SHARED[A] ? 0 : grid) + at - SYSTEM_QUEUE_LOW[A] * a.n[1] * a.n[2];
    if (first) {
#pragma unroll
        for (int k = 1; k < SYSTEM_QUEUE[A]; k++) q.held[k] = widen(from[(k - 1) * a.n[1] * a.n[2]]);
        return;
    }
#pragma unroll
    for (int k = 0; k + 1 < SYSTEM_QUEUE[A]; k++) q.held[k] = q.held[k + 1];
    q.held[SYSTEM_QUEUE[A] - 1] = widen(from[(SYSTEM_QUEUE[A] - 1) * a.n[1] * a.n[2]]);
}
__device__ __forceinline__ void advance(const system_arguments &, long long, long long, bool, queues<-1> &) {}

__device__ __forceinline__ bool holds(int low, long long first, int count, long long n, int high) {
    return first >= low && first + count <= n - high;
}

__device__ __forceinline__ bool is_live(const system_arguments &a, long long z, long long y, long long x) {
    return !SYSTEM_FREEZES || (z >= a.live_low[0] && z < a.live_high[0] && y >= a.live_low[1] && y < a.live_high[1] &&
                               x >= a.live_low[2] && x < a.live_high[2]);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) system_step(const __grid_constant__ system_arguments a) {
    const unsigned row = blockIdx.x / a.tiles_x, tile_x = blockIdx.x - row * a.tiles_x;
    const unsigned chunk = row / a.tiles_y, tile_y = row - chunk * a.tiles_y;
    const unsigned batch = chunk / a.chunks;
    const int first_y = tile_y * THREADS_Y, first_x = tile_x * THREADS_X;
    const int y = first_y + threadIdx.y, x = first_x + threadIdx.x, n = static_cast<int>(a.n[0]);
    const int first = (chunk - batch * a.chunks) * SYSTEM_PLANES,
              end = n - first < SYSTEM_PLANES ? n : first + SYSTEM_PLANES;
    if (y >= a.n[1] || x >= a.n[2]) return;
    const long long grid = batch * a.points, plane = a.n[1] * a.n[2];
    const bool whole = holds(SYSTEM_REACH[2], first_y, THREADS_Y, a.n[1], SYSTEM_REACH[3]) &&
                       holds(SYSTEM_REACH[4], first_x, THREADS_X, a.n[2], SYSTEM_REACH[5]);
    // Planes [low, high) read nothing past sides.
    const int low = whole ? (first > SYSTEM_REACH[0] ? first : SYSTEM_REACH[0]) : end;
    const int high = whole ? (end < n - SYSTEM_REACH[1] ? end : n - SYSTEM_REACH[1]) : end;
    all_queues queued;
    long long at = first * plane + y * a.n[2] + x;
#pragma unroll 1
    for (int z = first; z < end; z++, at += plane) {
        REAL value;
        if (z < low || z >= high) {
            value = system_value(near_side{a, grid, z, y, x});
        } else {
            if (z == low) advance(a, grid, at, true, queued);
            advance(a, grid, at, false, queued);
            value = system_value(inside{a, grid, at, queued});
        }
        a.out[grid + at] = is_live(a, z, y, x) ? narrow<STORE>(value) : a.present[grid + at];
    }
}
