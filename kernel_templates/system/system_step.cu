// One assignment of a system, at every point: out(p) = system_value(around p).
//
//     rows along x     |<- THREADS_X ->|<- THREADS_X ->| ...      one thread a point; a block has THREADS_Y rows of one plane
//     blocks           x fastest, then rows, planes, grids of the batch
//
// system_value is rendered from the assignment's text: a straight line of `const REAL tN = ...;`, which reads arrays by
// around.field<A>(z, y, x) and around.shared<A>(z, y, x) (a coefficient, which all grids of a batch share), and numbers by
// around.number(I). Where a block and all that it reads lie inside the grid, `inside` reads at plain offsets; else `near_side`
// folds each axis by the array's own rules, axis 0 first.
//
// Reads STORE, REAL, SYSTEM_ARRAYS, SYSTEM_VALUES, SYSTEM_REACH, SYSTEM_FREEZES, THREADS_X, THREADS_Y, system_value.
#include "device/element.cuh"
#include "device/index.cuh"
#include "device/twins.cuh"
#include "params.cuh"

constexpr int THREADS = THREADS_X * THREADS_Y;

struct system_arguments {
    const STORE *array[SYSTEM_ARRAYS];
    STORE *out;
    const STORE *present;    // what frozen points keep
    long long n[3], points;  // of a grid; axes z, y, x
    long long live_low[3], live_high[3];
    unsigned tiles_x, tiles_y;
    unsigned sides[SYSTEM_ARRAYS +
                   SYSTEM_ARRAYS % 2];      // 4 bits a side from the lowest: boundary_kind, and 8 where it is odd
    unsigned char past[8 * SYSTEM_ARRAYS];  // of each side, which of the values lies past it, where that is constant
    REAL values[SYSTEM_VALUES];             // numbers, then constants of sides
};
static_assert(is_twin(sizeof(system_arguments), sizeof(system_arguments::values)),
              "the launcher's twin of the arguments");

__device__ __noinline__ REAL read_folded(const system_arguments &a, int array, const STORE *grid, long long z,
                                         long long y, long long x) {
    const long long at[3] = {z, y, x};
    long long offset = 0;
    REAL sign = 1;
#pragma unroll
    for (int axis = 0; axis < 3; axis++) {
        long long i = at[axis];
        const long long n = a.n[axis];
        if (i < 0 || i >= n) {
            const bool high = i >= 0;
            const int side = 2 * axis + high, rule = a.sides[array] >> 4 * side & 15, kind = rule & 7;
            if (kind == CONSTANT) return sign * a.values[a.past[8 * array + side]];
            if (rule & 8) sign = -sign;
            if (kind == WRAP)
                i += high ? -n : n;
            else if (kind == REFLECT)
                i = (high ? 2 * n : 0) - 1 - i;
            else if (kind == MIRROR)
                i = (high ? 2 * (n - 1) : 0) - i;
            else
                i = high ? n - 1 : 0;
        }
        offset = offset * n + i;
    }
    return sign * widen(grid[offset]);
}

struct inside {
    const system_arguments &a;
    long long grid, at;  // elements before the grid, and before the point in it

    template <int A>
    __device__ __forceinline__ REAL shared(int z, int y, int x) const {
        return widen(a.array[A][at + (z * a.n[1] + y) * a.n[2] + x]);
    }
    template <int A>
    __device__ __forceinline__ REAL field(int z, int y, int x) const {
        return widen(a.array[A][grid + at + (z * a.n[1] + y) * a.n[2] + x]);
    }
    __device__ __forceinline__ REAL number(int i) const { return a.values[i]; }
};

struct near_side {
    const system_arguments &a;
    long long grid, place[3];

    template <int A>
    __device__ __forceinline__ REAL shared(int z, int y, int x) const {
        return read_folded(a, A, a.array[A], place[0] + z, place[1] + y, place[2] + x);
    }
    template <int A>
    __device__ __forceinline__ REAL field(int z, int y, int x) const {
        return read_folded(a, A, a.array[A] + grid, place[0] + z, place[1] + y, place[2] + x);
    }
    __device__ __forceinline__ REAL number(int i) const { return a.values[i]; }
};

__device__ __forceinline__ bool holds(long long low, long long first, long long last, long long n, long long high) {
    return first >= low && last < n - high;
}

extern "C" __global__ void __launch_bounds__(THREADS) system_step(const __grid_constant__ system_arguments a) {
    const unsigned row = blockIdx.x / a.tiles_x, tile_x = blockIdx.x - row * a.tiles_x;
    const unsigned plane = row / a.tiles_y, tile_y = row - plane * a.tiles_y;
    const unsigned depth = static_cast<unsigned>(a.n[0]), batch = plane / depth;
    const long long z = plane - batch * depth;
    const long long first_y = static_cast<long long>(tile_y) * THREADS_Y,
                    first_x = static_cast<long long>(tile_x) * THREADS_X;
    const long long y = first_y + threadIdx.y, x = first_x + threadIdx.x;
    if (y >= a.n[1] || x >= a.n[2]) return;
    const long long grid = batch * a.points, at = (z * a.n[1] + y) * a.n[2] + x;
    if (SYSTEM_FREEZES) {
        const bool live = z >= a.live_low[0] && z < a.live_high[0] && y >= a.live_low[1] && y < a.live_high[1] &&
                          x >= a.live_low[2] && x < a.live_high[2];
        if (!live) {
            a.out[grid + at] = a.present[grid + at];
            return;
        }
    }
    const bool whole = holds(SYSTEM_REACH[0], z, z, a.n[0], SYSTEM_REACH[1]) &&
                       holds(SYSTEM_REACH[2], first_y, first_y + THREADS_Y - 1, a.n[1], SYSTEM_REACH[3]) &&
                       holds(SYSTEM_REACH[4], first_x, first_x + THREADS_X - 1, a.n[2], SYSTEM_REACH[5]);
    const REAL value = whole ? system_value(inside{a, grid, at}) : system_value(near_side{a, grid, {z, y, x}});
    a.out[grid + at] = narrow<STORE>(value);
}
