// The sides and reaches of params.cuh by axis (z, y, x) and side, and which sides are faces, that
// is, need a margin.
#pragma once
#include "device/boundary.cuh"
#include "params.cuh"

constexpr int SIDE[3][2] = {{Z_SIDE_LOW, Z_SIDE_HIGH}, {Y_SIDE_LOW, Y_SIDE_HIGH}, {X_SIDE_LOW, X_SIDE_HIGH}};
constexpr int TAPS_REACH[3][2] = {{Z_LOW, Z_HIGH}, {Y_LOW, Y_HIGH}, {X_LOW, X_HIGH}};
__device__ constexpr bool has_face(int axis, int side) {
    return SIDE[axis][side] != WRAP && TAPS_REACH[axis][side] > 0;
}
