// The planes of few steps of what a solid's sides add (segment_solid.cu, src/strategies/segment/terms.h), by taking these steps:
//
//     plane_j = R^p C^p source      p: power j, rising;  R, C: a step along the plane's rows and along its columns, each of symmetric taps
//
//        HALO | TILE points | HALO      a block: a tile with what so many steps reach, in shared memory; past the plane's ends its
//        -----+-------------+-----      extension (fold.cuh)
//             | written     |
//
// A step goes along every column and then along every row of the tile, in place: a thread has one of them, of which it keeps what the next point needs
// as it was. What is wrong at the ends of the tile comes as much nearer with each step as a step reaches, so not to what is written. Reads REAL,
// STEPS_SPAN, STEPS_HALO, and of y (rows follow each other along it) and x Y_LOW, X_LOW, Y_SIDE_*, X_SIDE_*.
#include "device/element.cuh"
#include "device/twins.cuh"
#include "segment/fold.cuh"

constexpr int HALO = STEPS_HALO, SPAN = STEPS_SPAN, TILE = SPAN - 2 * HALO, MOST = STEPS_HALO + 1;
constexpr int REACH = Y_LOW > X_LOW ? Y_LOW : X_LOW, AHEAD = 8;
static_assert(TILE > 0 && TILE % 32 == 0, "warps write whole rows");

struct steps_arguments {
    const REAL *source;
    REAL *out;                // of the first power
    long long ny, nx, pitch;  // of a plane
    long long source_next, next,
        planes;           // from plane to plane; from one power's plane to the next one's; from those of one source on
    double weight[2][4];  // along y, along x: of offset 0, 1, ..
    int power[MOST], count;  // rising
    unsigned tiles_y, tiles_x;
};

static_assert(is_twin(sizeof(steps_arguments)), "steps_header of segment/steps.c");
constexpr int PITCH = SPAN + 1;
static_assert(is_given(SPAN * PITCH * sizeof(REAL)), "shared_of of segment/steps.c");

// One step along SPAN points of a line, STEP apart in memory.
template <int LOW, int STEP>
__device__ __forceinline__ void step_along(REAL *line, const REAL (&weight)[LOW + 1]) {
    REAL seen[AHEAD + 2 * LOW];  // points from the one LOW before on, as they were
#pragma unroll
    for (int i = 0; i < 2 * LOW; i++) seen[i] = line[i * STEP];
#pragma unroll 1
    for (int i = LOW; i + LOW < SPAN; i += AHEAD) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) seen[2 * LOW + k] = i + LOW + k < SPAN ? line[(i + LOW + k) * STEP] : REAL(0);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            REAL sum = weight[0] * seen[LOW + k];
#pragma unroll
            for (int o = 1; o <= LOW; o++) sum += weight[o] * (seen[LOW + k - o] + seen[LOW + k + o]);
            if (i + k + LOW < SPAN) line[(i + k) * STEP] = sum;
        }
#pragma unroll
        for (int k = 0; k < 2 * LOW; k++) seen[k] = seen[AHEAD + k];
    }
}

extern "C" __global__ void __launch_bounds__(STEPS_SPAN) segment_steps(const steps_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    REAL *const points = reinterpret_cast<REAL *>(stn_shared);
    const int t = threadIdx.x;
    unsigned tile = blockIdx.x;
    const long long x0 = static_cast<long long>(tile % a.tiles_x) * TILE - HALO;
    tile /= a.tiles_x;
    const long long y0 = static_cast<long long>(tile % a.tiles_y) * TILE - HALO, plane = tile / a.tiles_y;
    const REAL *const source = a.source + plane * a.source_next;
    const folded column = extend_by<X_SIDE_LOW, X_SIDE_HIGH>(x0 + t, a.nx);
#pragma unroll 4
    for (int i = 0; i < SPAN; i++) {
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
    REAL *out = a.out + plane * a.planes;
#pragma unroll 1
    for (int j = 0; j < a.count; j++, out -= a.next) {
#pragma unroll 1
        for (; taken < a.power[j]; taken++) {
            step_along<Y_LOW, PITCH>(points + t, along_y);
            __syncthreads();
            step_along<X_LOW, 1>(points + t * PITCH, along_x);
            __syncthreads();
        }
#pragma unroll 4
        for (int k = t; k < TILE * TILE; k += SPAN) {
            const int y = k / TILE, x = k % TILE;
            if (y0 + HALO + y < a.ny && x0 + HALO + x < a.nx)
                out[(y0 + HALO + y) * a.pitch + x0 + HALO + x] = points[(HALO + y) * PITCH + HALO + x];
        }
        __syncthreads();
    }
}
