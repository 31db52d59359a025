// One assignment of a system, at every point: out(p) = system_value(around p).
//
//     a thread         VECTOR points along x (one access each), which divides the rows' length
//     rows along x     |<- THREADS_X * VECTOR ->|<- THREADS_X * VECTOR ->| ...
//     blocks           x fastest, then THREADS_Y rows, then SYSTEM_PLANES planes, then the batch
//
// system_value is rendered from the assignment's text as a sequence of `const REAL tN = ...;`,
// which reads arrays by around.field<A>(z, y, x) and around.shared<A>(z, y, x) (a coefficient that
// all grids of a batch share), and numbers by around.number(I). Points near a thread's own come
// from slots of VECTOR points:
//
//     slot     -1      |       0       |       1
//            . . . .   | x . . .       | . . . .
//
// The compiler joins the reads of the same slot by the VECTOR points. system_value is compiled
// three times: for threads whose reads lie inside the grid; for threads near a side along y or x
// (FOLDS), which fold rows and the single points of slots -1 and 1; and, point by point, for planes
// near a side along z.
//
// SYSTEM_PLANES > 1: a block marches along z. Values in a thread's own columns, of arrays with
// SYSTEM_QUEUE > 0, stay in registers: a thread loads each plane of its columns once, and only
// neighbours along x and y read it again, from a cache.
//
// Reads STORE, REAL, VECTOR, SYSTEM_ARRAYS, SYSTEM_VALUES, SYSTEM_REACH, SYSTEM_FREEZES,
// SYSTEM_SIDES, SYSTEM_PAST, SYSTEM_SHARED, SYSTEM_QUEUE_LOW, SYSTEM_QUEUE, THREADS_X, THREADS_Y,
// SYSTEM_PLANES, BLOCKS, system_value.
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

// The values of a slot.
struct slot_values {
    REAL of[VECTOR];
};
__device__ __forceinline__ slot_values load_slot(const STORE *from) {
    STORE words[VECTOR];
    slot_values values;
    load_own_run(words, from);
#pragma unroll
    for (int i = 0; i < VECTOR; i++) values.of[i] = widen(words[i]);
    return values;
}

// ---- planes near a side along z

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

// ---- other planes

// Register queues of arrays 0 to A: the slots along z, beginning SYSTEM_QUEUE_LOW planes below the
// point.
template <int A>
struct queues : queues<A - 1> {
    slot_values held[SYSTEM_QUEUE[A] > 0 ? SYSTEM_QUEUE[A] : 1];
};
template <>
struct queues<-1> {};
using all_queues = queues<SYSTEM_ARRAYS - 1>;

// Around point V of a thread's VECTOR points, the first of which is (z, y, x).
template <bool FOLDS, int V>
struct inside {
    const system_arguments &a;
    long long grid, at;  // elements before the grid; those before the first point within the grid
    int y, x;
    const all_queues &queued;

    // before: elements before the array's grid.
    template <int A>
    __device__ __forceinline__ REAL read(long long before, int dz, int dy, int dx) const {
        const int slot = (V + dx + 64 * VECTOR) / VECTOR - 64, i = V + dx - slot * VECTOR;
        if (SYSTEM_QUEUE[A] && !dy && !slot)
            return static_cast<const queues<A> &>(queued).held[dz + SYSTEM_QUEUE_LOW[A]].of[i];
        const STORE *const plane = a.array[A] + before + at + dz * a.n[1] * a.n[2];
        if (!FOLDS) return load_slot(plane + dy * a.n[2] + slot * VECTOR).of[i];
        // No branches, so that the compiler joins equal loads.
        const int *const past = SYSTEM_PAST[A];
        const int row = dy ? rule<A, 1>::fold(y + dy, static_cast<int>(a.n[1])) : y;
        const STORE *const line = plane + ((row < 0 ? y : row) - y) * a.n[2];
        REAL value;
        if (!slot) {
            value = load_slot(line).of[i];
        } else {
            const int nx = static_cast<int>(a.n[2]), column = rule<A, 2>::fold(x + V + dx, nx);
            value = rule<A, 2>::sign(x + V + dx, nx) * widen(line[column < 0 ? 0 : column - x]);
            if (column < 0) value = a.values[column == PAST_LOW ? past[4] : past[5]];
        }
        if (row < 0) return a.values[row == PAST_LOW ? past[2] : past[3]];
        return dy ? rule<A, 1>::sign(y + dy, static_cast<int>(a.n[1])) * value : value;
    }
    template <int A>
    __device__ __forceinline__ REAL shared(int dz, int dy, int dx) const {
        return read<A>(0, dz, dy, dx);
    }
    template <int A>
    __device__ __forceinline__ REAL field(int dz, int dy, int dx) const {
        return read<A>(grid, dz, dy, dx);
    }
    __device__ __forceinline__ REAL number(int i) const { return a.values[i]; }
};

// The assigned values of points V to VECTOR - 1.
template <bool FOLDS, int V>
struct evaluate {
    __device__ __forceinline__ static void run(const system_arguments &a, long long grid, long long at, int y, int x,
                                               const all_queues &queued, slot_values &values) {
        values.of[V] = system_value(inside<FOLDS, V>{a, grid, at, y, x, queued});
        evaluate<FOLDS, V + 1>::run(a, grid, at, y, x, queued, values);
    }
};
template <bool FOLDS>
struct evaluate<FOLDS, VECTOR> {
    __device__ __forceinline__ static void run(const system_arguments &, long long, long long, int, int,
                                               const all_queues &, slot_values &) {}
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
        for (int k = 1; k < SYSTEM_QUEUE[A]; k++) q.held[k] = load_slot(from + (k - 1) * a.n[1] * a.n[2]);
        return;
    }
#pragma unroll
    for (int k = 0; k + 1 < SYSTEM_QUEUE[A]; k++) q.held[k] = q.held[k + 1];
    q.held[SYSTEM_QUEUE[A] - 1] = load_slot(from + (SYSTEM_QUEUE[A] - 1) * a.n[1] * a.n[2]);
}
__device__ __forceinline__ void advance(const system_arguments &, long long, long long, bool, queues<-1> &) {}

__device__ __forceinline__ bool is_live(const system_arguments &a, long long z, long long y, long long x) {
    return !SYSTEM_FREEZES || (z >= a.live_low[0] && z < a.live_high[0] && y >= a.live_low[1] && y < a.live_high[1] &&
                               x >= a.live_low[2] && x < a.live_high[2]);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) system_step(const __grid_constant__ system_arguments a) {
    constexpr int WIDTH = THREADS_X * VECTOR;
    const unsigned row = blockIdx.x / a.tiles_x, tile_x = blockIdx.x - row * a.tiles_x;
    const unsigned chunk = row / a.tiles_y, tile_y = row - chunk * a.tiles_y;
    const unsigned batch = chunk / a.chunks;
    const int y = tile_y * THREADS_Y + threadIdx.y, x = tile_x * WIDTH + threadIdx.x * VECTOR;
    const int n = static_cast<int>(a.n[0]), first = (chunk - batch * a.chunks) * SYSTEM_PLANES,
              end = n - first < SYSTEM_PLANES ? n : first + SYSTEM_PLANES;
    if (y >= a.n[1] || x >= a.n[2]) return;
    const long long grid = batch * a.points, plane = a.n[1] * a.n[2];
    // The same for a warp, if it lies in a row.
    const bool folds = y < SYSTEM_REACH[2] || y >= a.n[1] - SYSTEM_REACH[3] ||
                       static_cast<int>(tile_x * WIDTH) < SYSTEM_REACH[4] ||
                       static_cast<long long>(tile_x + 1) * WIDTH > a.n[2] - SYSTEM_REACH[5];
    // Planes [low, high) read nothing past sides along z.
    const int low = first > SYSTEM_REACH[0] ? first : SYSTEM_REACH[0];
    const int high = end < n - SYSTEM_REACH[1] ? end : n - SYSTEM_REACH[1];
    all_queues queued;
    long long at = first * plane + y * a.n[2] + x;
#pragma unroll 1
    for (int z = first; z < end; z++, at += plane) {
        STORE *const out = a.out + grid + at;
        const STORE *const present = a.present + grid + at;
        if (z < low || z >= high) {
#pragma unroll 1
            for (int v = 0; v < VECTOR; v++) {
                const REAL value = system_value(near_side{a, grid, z, y, x + v});
                out[v] = is_live(a, z, y, x + v) ? narrow<STORE>(value) : present[v];
            }
            continue;
        }
        if (z == low) advance(a, grid, at, true, queued);
        advance(a, grid, at, false, queued);
        slot_values values;
        if (folds)
            evaluate<true, 0>::run(a, grid, at, y, x, queued, values);
        else
            evaluate<false, 0>::run(a, grid, at, y, x, queued, values);
        STORE result[VECTOR];
#pragma unroll
        for (int v = 0; v < VECTOR; v++) result[v] = narrow<STORE>(values.of[v]);
        if (SYSTEM_FREEZES) {
            STORE frozen[VECTOR];
            load_own_run(frozen, present);
#pragma unroll
            for (int v = 0; v < VECTOR; v++)
                if (!is_live(a, z, y, x + v)) result[v] = frozen[v];
        }
        store_run(out, result);
    }
}
