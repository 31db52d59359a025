// What a pass along an axis is told, and what it does to points that go out: of fno_line and
// fno_dense.
//
// Reads REAL, STORE, FNO_FROM, FNO_TO, FNO_ACTIVATION.
#pragma once
#include "device/twins.cuh"
#include "fno/tile.cuh"

struct line_arguments {
    const FNO_FROM *in;
    FNO_TO *out;
    const STORE *weight, *bias;
    const FNO_TO *added;  // may be where the output goes
    const REAL *roots;    // of the ladder; of fno_dense its table
    // numbers (real points) or pairs of numbers: item i is i / inner in an outer loop, i % inner in
    // an inner one
    long long in_outer, in_inner,
        in_apart;  // from channel to channel of points, from mode to mode; the others lie side by side
    long long out_outer, out_inner, out_apart;
    long long weight_in, weight_out;  // from channel to channel, output to output
    long long items;
    int inner, each;  // items that a block takes one after the other (with the product)
    int channels, outputs;
    REAL scale;
};
static_assert(is_twin(sizeof(line_arguments), sizeof(REAL)), "the launcher's twin of the arguments");

__device__ __forceinline__ REAL activated(REAL v) {
    if (FNO_ACTIVATION == 1) return REAL(0.5) * v * (REAL(1) + erf(v * REAL(0.70710678118654752440)));
    if (FNO_ACTIVATION == 2) return v > REAL(0) || v != v ? v : REAL(0);
    return v;
}
__device__ __forceinline__ value activated(value z) { return {activated(z.re), activated(z.im)}; }
