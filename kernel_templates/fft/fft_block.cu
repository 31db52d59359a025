// Fourier transforms of small grids of up to three axes, entirely in shared memory: a block holds
// GRIDS grids, each read once and written once, in one launch instead of one launch per axis.
//
//     X[k] = scale * sum over n of  x[n] * exp(-+ 2 pi i (n0 k0 / N0 + n1 k1 / N1 + n2 k2 / N2))
//
//     memory -> | grid 0 | grid 1 | .. |  -> stages of axis 2 -> of axis 1 -> of axis 0 -> memory
//
// A stage is that of device/shared_fft.cuh: in-place butterflies of radix R on points STRIDE apart
// of a line of N, then twiddle factors; here on the lines of all axes of all grids, by any number
// of threads. AFTER is the product of the extents of the faster axes. `lane` counts the lines that
// differ along these axes, and `line` those that differ along slower axes and between grids:
//
//     index = (line * N + point) * AFTER + lane      | lane 0 .. AFTER-1 | point 1's lanes | ..
//
// One index is skipped after every PAD to avoid bank conflicts. Frequency k = d_0 + R_0 (d_1 + R_1
// (d_2 + ..)) ends at point d_0 STRIDE_0 + d_1 STRIDE_1 + .. (digit-reversed order).
//
// Real data are transformed as complex ones, because the time of such small transforms is that of
// the launch, not of the arithmetic. A C2R transform reconstructs the missing half of the spectrum
// as conjugates of the points mirrored through the origin, and stores only the real part of the
// result.
//
// Reads STORE, REAL, BLOCKS, THREADS_X, GRID_EXTENT, GRID_STAGES, GRID_RADIX, GRID_RADICES, GRIDS,
// FFT_INVERSE, FFT_SCALE, FFT_LOAD_REAL, FFT_STORE_REAL.
#include "device/fft.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

using value = complex<REAL>;
enum { PAD = 32 };
constexpr int GRID_POINTS = GRID_EXTENT[0] * GRID_EXTENT[1] * GRID_EXTENT[2], BLOCK_POINTS = GRIDS * GRID_POINTS;
constexpr bool FROM_HALF = FFT_LOAD_REAL, TO_HALF = FFT_STORE_REAL, FROM_NUMBERS = TO_HALF, TO_NUMBERS = FROM_HALF;

struct block_arguments {
    const STORE *in;
    STORE *out;
    const REAL *twiddles;                   // exp(-2 pi i j / N), j < N, of axis 0, then 1, then 2
    long long in_stride[3], out_stride[3];  // elements, real or complex as stored on that side
    long long in_grid, out_grid, grids;
    REAL scale;
};
static_assert(layout_matches(sizeof(block_arguments), sizeof(REAL)), "the arguments match the launcher's struct");

template <int AXIS>
struct axis {
    static constexpr int N = GRID_EXTENT[AXIS],
                         AFTER = AXIS == 2   ? 1
                                 : AXIS == 1 ? GRID_EXTENT[2]
                                             : GRID_EXTENT[1] * GRID_EXTENT[2],
                         ROOTS = AXIS == 0   ? 0
                                 : AXIS == 1 ? GRID_EXTENT[0]
                                             : GRID_EXTENT[0] + GRID_EXTENT[1];
    static constexpr int radix(int s) { return GRID_RADIX[AXIS * GRID_RADICES + s]; }
    static constexpr int before(int s) { return s ? radix(s - 1) * before(s - 1) : 1; }
};
template <int AXIS, int S>
struct fft_stage {
    static constexpr int R = axis<AXIS>::radix(S), BEFORE = axis<AXIS>::before(S), BLOCK = axis<AXIS>::N / BEFORE,
                         STRIDE = BLOCK / R;
};

__device__ __forceinline__ int padded_index(int index) { return index + index / PAD; }
static_assert(shared_bytes_match((BLOCK_POINTS - 1 + (BLOCK_POINTS - 1) / PAD + 1) * sizeof(value)),
              "the launcher gives what this takes");

// ---- stages
template <int AXIS, int S>
__device__ __forceinline__ void butterfly(value *points, int lane, int j, int line, const REAL *twiddles) {
    using stage = fft_stage<AXIS, S>;
    constexpr int AFTER = axis<AXIS>::AFTER;
    const int q = j % stage::STRIDE,
              first = (line * axis<AXIS>::N + j / stage::STRIDE * stage::BLOCK + q) * AFTER + lane;
    value x[stage::R];
#pragma unroll
    for (int r = 0; r < stage::R; r++) x[r] = points[padded_index(first + r * stage::STRIDE * AFTER)];
    dft<stage::R>(x);
    if constexpr (stage::STRIDE > 1)
#pragma unroll
        for (int r = 1; r < stage::R; r++)
            x[r] = x[r] * load_pair(twiddles + 2 * (axis<AXIS>::ROOTS + q * r * stage::BEFORE));
#pragma unroll
    for (int r = 0; r < stage::R; r++) points[padded_index(first + r * stage::STRIDE * AFTER)] = x[r];
}
template <int AXIS, int S = 0>
__device__ __forceinline__ void transform_axis(value *points, const REAL *twiddles) {
    if constexpr (S < GRID_STAGES[AXIS]) {
        constexpr int COUNT = axis<AXIS>::N / fft_stage<AXIS, S>::R, AFTER = axis<AXIS>::AFTER;
#pragma unroll 1
        for (int b = static_cast<int>(threadIdx.x); b < BLOCK_POINTS / fft_stage<AXIS, S>::R; b += THREADS_X)
            butterfly<AXIS, S>(points, b % AFTER, b / AFTER % COUNT, b / AFTER / COUNT, twiddles);
        __syncthreads();
        transform_axis<AXIS, S + 1>(points, twiddles);
    }
}
// The point of a line at which frequency k ends.
template <int AXIS, int S = 0>
__device__ __forceinline__ int point_of(int k) {
    if constexpr (S >= GRID_STAGES[AXIS])
        return 0;
    else
        return k % fft_stage<AXIS, S>::R * fft_stage<AXIS, S>::STRIDE +
               point_of<AXIS, S + 1>(k / fft_stage<AXIS, S>::R);
}

// ---- global memory
struct point {
    int grid, n[3];  // grid: index among the block's grids
};
__device__ __forceinline__ point point_at(int index) {
    return {index / GRID_POINTS,
            {index / (GRID_EXTENT[1] * GRID_EXTENT[2]) % GRID_EXTENT[0], index / GRID_EXTENT[2] % GRID_EXTENT[1],
             index % GRID_EXTENT[2]}};
}
__device__ __forceinline__ long long offset_of(const int (&n)[3], const long long (&stride)[3]) {
    return n[0] * stride[0] + n[1] * stride[1] + n[2] * stride[2];
}
__device__ __forceinline__ value load_value(const block_arguments &a, const STORE *in, const point &p) {
    if constexpr (FROM_NUMBERS) return {static_cast<REAL>(widen(in[offset_of(p.n, a.in_stride)])), REAL(0)};
    if (!FROM_HALF || p.n[2] <= GRID_EXTENT[2] / 2) return load_pair(in + 2 * offset_of(p.n, a.in_stride));
    const int mirrored[3] = {p.n[0] ? GRID_EXTENT[0] - p.n[0] : 0, p.n[1] ? GRID_EXTENT[1] - p.n[1] : 0,
                             GRID_EXTENT[2] - p.n[2]};
    return conjugate(load_pair(in + 2 * offset_of(mirrored, a.in_stride)));
}
__device__ __forceinline__ void store_value(const block_arguments &a, STORE *out, const point &p, value z) {
    if (FFT_INVERSE) z = swapped(z);
    if (FFT_SCALE) z = a.scale * z;
    if constexpr (TO_NUMBERS)
        out[offset_of(p.n, a.out_stride)] = narrow<STORE>(z.re);
    else if (!TO_HALF || p.n[2] <= GRID_EXTENT[2] / 2)
        store_pair(out + 2 * offset_of(p.n, a.out_stride), z);
}

extern "C" __global__ void __launch_bounds__(THREADS_X, BLOCKS) fft_block(const __grid_constant__ block_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    value *const points = reinterpret_cast<value *>(stn_shared);
    const long long first = static_cast<long long>(blockIdx.x) * GRIDS;
#pragma unroll 1
    for (int c = static_cast<int>(threadIdx.x); c < BLOCK_POINTS; c += THREADS_X) {
        const point p = point_at(c);
        value z = {REAL(0), REAL(0)};
        if (first + p.grid < a.grids)
            z = load_value(a, a.in + (FROM_NUMBERS ? 1 : 2) * (first + p.grid) * a.in_grid, p);
        points[padded_index(c)] = FFT_INVERSE ? swapped(z) : z;
    }
    __syncthreads();
    transform_axis<2>(points, a.twiddles);
    transform_axis<1>(points, a.twiddles);
    transform_axis<0>(points, a.twiddles);
#pragma unroll 1
    for (int c = static_cast<int>(threadIdx.x); c < BLOCK_POINTS; c += THREADS_X) {
        const point p = point_at(c);
        if (first + p.grid >= a.grids) continue;
        const int line = p.grid * GRID_EXTENT[0] + point_of<0>(p.n[0]),
                  row = line * GRID_EXTENT[1] + point_of<1>(p.n[1]);
        store_value(a, a.out + (TO_NUMBERS ? 1 : 2) * (first + p.grid) * a.out_grid, p,
                    points[padded_index(row * GRID_EXTENT[2] + point_of<2>(p.n[2]))]);
    }
}
