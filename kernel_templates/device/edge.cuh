// Boundary handling along z for kernels that stream along z with several time levels in flight. Row
// (or plane) z of a level is added to the sums of outputs z - Z_REACH .. z + Z_REACH of the next
// level; d numbers these outputs from 0 to 2 * Z_REACH.
//
//   constant          a row past the edge has that value
//   nearest, reflect, mirror   a row past the edge is zero; its image inside is added in its place
//   fixed             a row past the edge is zero; only frozen rows use it, which keep their value
//   wrap              rows past the edge are read from the other end and updated like any other row
#pragma once
#include "device/boundary.cuh"
#include "params.cuh"

constexpr bool folds(int side) { return side == NEAREST || side == REFLECT || side == MIRROR; }
constexpr bool FOLDS_Z = folds(Z_SIDE_LOW) || folds(Z_SIDE_HIGH);
constexpr bool ANY_FIXED_Z = (Z_SIDE_LOW == FIXED && Z_LOW) || (Z_SIDE_HIGH == FIXED && Z_HIGH);

__device__ __forceinline__ bool inside(long long i, long long n) { return i >= 0 && i < n; }

// past_z: whether row z lies past an edge, so that all its points have the same value;
// value_past_z: this value.
__device__ __forceinline__ bool past_z(long long z, long long nz) { return Z_SIDE_LOW != WRAP && !inside(z, nz); }
__device__ __forceinline__ REAL value_past_z(long long z, const REAL (&constant)[2]) {
    return (z < 0 ? Z_SIDE_LOW : Z_SIDE_HIGH) == CONSTANT ? constant[z >= 0] : REAL(0);
}

// Bit d is set if output z - Z_REACH + d is frozen, for d = 0 .. Z_REACH. A frozen row takes its
// own value when it is row z (d = Z_REACH), and keeps it while later rows arrive (smaller d).
__device__ __forceinline__ unsigned frozen_outputs(long long z, long long nz) {
    unsigned found = 0;
    if (!ANY_FIXED_Z) return found;
#pragma unroll
    for (int d = 0; d <= Z_REACH; d++) {
        const long long output = z - Z_REACH + d;
        if ((Z_SIDE_LOW == FIXED && output < Z_LOW) || (Z_SIDE_HIGH == FIXED && output >= nz - Z_HIGH))
            found |= 1u << d;
    }
    return found;
}

// Bit 2 * Z_REACH + g is set if row z + g lies past an edge and folds to row z.
__device__ __forceinline__ unsigned folded_rows(long long z, long long nz) {
    unsigned found = 0;
    if (!FOLDS_Z || !inside(z, nz) || (z > Z_REACH && z < nz - 1 - Z_REACH)) return found;
#pragma unroll 1
    for (int g = -2 * Z_REACH; g <= 2 * Z_REACH; g++) {
        const long long past = z + g;
        if (inside(past, nz)) continue;
        const long long f = past < 0 ? fold_low<Z_SIDE_LOW>(past, nz) : fold_high<Z_SIDE_HIGH>(past, nz);
        if (f == z) found |= 1u << (2 * Z_REACH + g);
    }
    return found;
}
