// Arguments of one pass of a Fourier layer along an axis, and the activation; used by fno_line,
// fno_split, fno_few_modes and fno_dense.
//
// Reads REAL, STORE, FNO_FROM, FNO_TO, FNO_ACTIVATION.
#pragma once
#include "device/launch_checks.cuh"
#include "fno/tile.cuh"

struct line_arguments {
    const FNO_FROM *in;
    FNO_TO *out;
    const STORE *weight, *bias;
    const FNO_TO *added;   // skip connection; may be `out`
    const REAL *twiddles;  // twiddle factors of device/shared_fft.cuh; of fno_dense the table
    // Strides, in numbers (real points) or complex numbers. Item i is i / inner in an outer loop
    // and i % inner in an inner one. in_stride: between channels of points, or between modes; the
    // other of these two dimensions is contiguous.
    long long in_outer, in_inner, in_stride;
    long long out_outer, out_inner, out_stride;
    long long weight_in, weight_out;  // weight strides between input channels, between outputs
    long long items;
    int inner, each;  // each: consecutive items of a block (kernels with the product)
    int channels, outputs;
    REAL scale;
};
static_assert(layout_matches(sizeof(line_arguments), sizeof(REAL)), "the arguments match the launcher's struct");

__device__ __forceinline__ REAL activated(REAL v) {
    if (FNO_ACTIVATION == 1) return REAL(0.5) * v * (REAL(1) + erf(v * REAL(0.70710678118654752440)));
    if (FNO_ACTIVATION == 2) return v > REAL(0) || v != v ? v : REAL(0);
    return v;
}
__device__ __forceinline__ value activated(value z) { return {activated(z.re), activated(z.im)}; }
