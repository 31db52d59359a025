// One step of a normalized convolution with any taps.
//
//     value(p) = sum over taps k of  w[k] * value(p + tap k)
//     share(p) = (sum over taps k of  w[k] * share(p + tap k)) * scale         scale = 1 / sum of w
//
// One thread a point, as in typed_point: x fastest, then y, z, batch; a grid-stride loop covers the
// rest.
//
// Reads STORE (of in) and WRITTEN (of out), numbers or pairs, REAL, NAN_IS_MISSING, THREADS_X.
#include "device/launch_checks.cuh"
#include "device/point_place.cuh"
#include "normalized/pair.cuh"

struct point_tap {
    long long offset;  // elements from the point to the tap's point
    alignas(8) REAL weight;
    alignas(8) int z;
    int y, x, unused;
};
struct point_arguments {
    const STORE *in;
    WRITTEN *out;
    const point_tap *taps;
    long long n[3], in_stride[3], out_stride[3];  // axes z, y, x; strides in elements
    long long in_batch, out_batch;
    long long points, ntaps;         // points in all grids of the batch; taps
    int reach[3][2];                 // reach of the taps towards each side
    int side[3][2];                  // boundary_kind
    normalized_pair constant[3][2];  // past each side
    REAL scale, unused;
};
static_assert(layout_matches(sizeof(point_arguments), sizeof(REAL) * 14),
              "the launcher's mirrored struct of the arguments");

extern "C" __global__ void __launch_bounds__(THREADS_X) normalized_point(const __grid_constant__ point_arguments a) {
    long long i = static_cast<long long>(blockIdx.x) * THREADS_X + threadIdx.x;
    const long long step = static_cast<long long>(gridDim.x) * THREADS_X;
    for (; i < a.points; i += step) {
        const point_place p = place_of(a, i);
        const STORE *const grid = a.in + p.grid_number * a.in_batch;
        normalized_pair sum = {};
        for (int k = 0; k < a.ntaps; k++) {
            const point_tap &tap = a.taps[k];
            const long long at[3] = {p.at[0] + tap.z, p.at[1] + tap.y, p.at[2] + tap.x};
            add_tap(sum, tap.weight,
                    p.inside ? pair_of(grid[p.from + tap.offset])
                             : read_past_sides<normalized_pair>(
                                   a, at, [&](long long offset) { return pair_of(grid[offset]); }));
        }
        sum.share *= a.scale;
        put_pair(a.out + p.grid_number * a.out_batch + p.to, sum);
    }
}
