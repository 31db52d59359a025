// The planes of few steps of what a solid's sides add (segment_solid.cu, src/strategies/segment/terms.h), by taking these steps:
//
//     plane_j = R^p C^p source      p: power j, rising;  R, C: a step along the plane's rows and along its columns, each of symmetric taps
//
//        HALO | TILE points | HALO      a block: a tile with what so many steps reach, in shared memory; past the plane's ends its
//        -----+-------------+-----      extension (fold.cuh)
//             | written     |
//
// A step goes along every column and then along every row of the tile, in place: PARTS threads have one of them, of which each reads its part, and writes it
// when all have. What is wrong at the ends of the tile comes as much nearer with each step as a step reaches, so not to what is written. Reads REAL,
// STEPS_SPAN, STEPS_HALO, and of y (rows follow each other along it) and x Y_LOW, X_LOW, Y_SIDE_*, X_SIDE_*.
#include "device/element.cuh"
#include "device/twins.cuh"
#include "segment/fold.cuh"

constexpr int HALO = STEPS_HALO, SPAN = STEPS_SPAN, TILE = SPAN - 2 * HALO, MOST = STEPS_HALO + 1;
constexpr int PARTS = 4, EACH = SPAN / PARTS, THREADS = SPAN * PARTS;  // threads of a line, and their points
static_assert(TILE > 0 && TILE % 32 == 0 && SPAN % 32 == 0, "warps write whole rows, and take whole parts");

struct steps_arguments {
    const REAL *source[3];    // of sides across one axis, or more that are alike
    REAL *out[3];             // of the first power
    long long ny, nx, pitch;  // of a plane
    long long source_next, next,
        planes;           // from plane to plane; from one power's plane to the next one's; from those of one source on
    double weight[2][4];  // along y, along x: of offset 0, 1, ..
    int power[MOST], count;                    // rising
    unsigned tiles_y, tiles_x, sources, rest;  // sources: of one axis
};

static_assert(is_twin(sizeof(steps_arguments)), "steps_header of segment/steps.c");
constexpr int PITCH = SPAN + 1;
static_assert(is_given(SPAN * PITCH * sizeof(REAL)), "shared_of of segment/steps.c");

// One step along a line of SPAN points, STEP apart in memory, of which this thread has those from `first` on. All threads of the block take part.
template <int LOW, int STEP>
__device__ __forceinline__ void step_along(REAL *line, int first, const REAL (&weight)[LOW + 1]) {
    REAL seen[EACH + 2 * LOW];  // as they were
#pragma unroll
    for (int i = 0; i < EACH + 2 * LOW; i++) {
        const int at = first + i - LOW;
        const bool there = (i >= LOW || at >= 0) && (i < EACH + LOW || at < SPAN);
        seen[i] = there ? line[at * STEP] : REAL(0);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        REAL sum = weight[0] * seen[LOW + k];
#pragma unroll
        for (int o = 1; o <= LOW; o++) sum += weight[o] * (seen[LOW + k - o] + seen[LOW + k + o]);
        line[(first + k) * STEP] = sum;
    }
    __syncthreads();
}

extern "C" __global__ void __launch_bounds__(THREADS) segment_steps(const steps_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    REAL *const points = reinterpret_cast<REAL *>(stn_shared);
    const int t = threadIdx.x % SPAN, part = threadIdx.x / SPAN;  // its line, and the part of that
    unsigned tile = blockIdx.x;
    const long long x0 = static_cast<long long>(tile % a.tiles_x) * TILE - HALO;
    tile /= a.tiles_x;
    const long long y0 = static_cast<long long>(tile % a.tiles_y) * TILE - HALO, plane = tile / a.tiles_y % a.sources;
    const unsigned axis = tile / a.tiles_y / a.sources;
    const REAL *const source = a.source[axis] + plane * a.source_next;
    const folded column = extend_by<X_SIDE_LOW, X_SIDE_HIGH>(x0 + t, a.nx);
#pragma unroll 4
    for (int i = part; i < SPAN; i += PARTS) {
        const folded row = extend_by<Y_SIDE_LOW, Y_SIDE_HIGH>(y0 + i, a.ny);
        const bool none = row.index < 0 || column.index < 0;
        const REAL value = none ? REAL(0) : source[row.index * a.pitch + column.index];
        points[i * PITCH + t] = row.minus != column.minus ? -value : value;
    }
    REAL along_y[Y_LOW + 1], along_x[X_LOW + 1];
#pragma unroll
    for (int o = 0; o <= Y_LOW; o++) along_y[o] = static_cast<REAL>(a.weight[0][o]);
#pragma unroll
    for (int o = 0; o <= X_LOW; o++) along_x[o] = static_cast<REAL>(a.weight[1][o]);
    __syncthreads();
    int taken = 0;
    REAL *out = a.out[axis] + plane * a.planes;
#pragma unroll 1
    for (int j = 0; j < a.count; j++, out -= a.next) {
#pragma unroll 1
        for (; taken < a.power[j]; taken++) {
            step_along<Y_LOW, PITCH>(points + t, EACH * part, along_y);
            step_along<X_LOW, 1>(points + t * PITCH, EACH * part, along_x);
        }
#pragma unroll 4
        for (int k = threadIdx.x; k < TILE * TILE; k += THREADS) {
            const int y = k / TILE, x = k % TILE;
            if (y0 + HALO + y < a.ny && x0 + HALO + x < a.nx)
                out[(y0 + HALO + y) * a.pitch + x0 + HALO + x] = points[(HALO + y) * PITCH + HALO + x];
        }
        __syncthreads();
    }
}
