// Points of grids in kernels that get extents, strides, reaches and sides as arguments: direct_any,
// typed_point. Their ARGUMENTS have n, in_stride, out_stride, reach, side, constant and points.
#pragma once
#include "device/boundary.cuh"

// The same as fold() of device/boundary.cuh, for boundary kinds known at run time.
__device__ long long fold_by(const int (&side)[2], long long i, long long n) {
#pragma unroll 1
    for (int turn = 0; turn < 3 && (i < 0 || i >= n); turn++) {
        const bool high = i >= 0;
        const int kind = side[high];
        if (kind == WRAP)
            i += high ? -n : n;
        else if (kind == NEAREST)
            i = high ? n - 1 : 0;
        else if (kind == REFLECT)
            i = (high ? 2 * n : 0) - 1 - i;
        else if (kind == MIRROR)
            i = n == 1 ? 0 : (high ? 2 * (n - 1) : 0) - i;
        else
            return high ? PAST_HIGH : PAST_LOW;
    }
    return i;
}

// The value at a point that may lie past sides; load(offset) reads an element of the grid.
template <class VALUE, class ARGUMENTS, class LOAD>
__device__ VALUE read_past_sides(const ARGUMENTS &a, const long long (&at)[3], const LOAD &load) {
    long long offset = 0;
#pragma unroll 1
    for (int axis = 0; axis < 3; axis++) {
        const long long i = fold_by(a.side[axis], at[axis], a.n[axis]);
        if (i < 0) return a.constant[axis][i == PAST_HIGH];
        offset += i * a.in_stride[axis];
    }
    return load(offset);
}

// The indices of point number i along each axis, and the number of its grid in the batch. 64-bit
// divisions take four times as long as 32-bit ones.
template <class ARGUMENTS>
__device__ void places(const ARGUMENTS &a, long long i, long long (&at)[3], long long &grid_number) {
    if (a.points >> 32) {
#pragma unroll
        for (int axis = 2; axis >= 0; axis--) at[axis] = i % a.n[axis], i /= a.n[axis];
        grid_number = i;
        return;
    }
    unsigned rest = static_cast<unsigned>(i);
#pragma unroll
    for (int axis = 2; axis >= 0; axis--) {
        const unsigned n = static_cast<unsigned>(a.n[axis]);
        at[axis] = rest % n, rest /= n;
    }
    grid_number = rest;
}

// Point number i. at: its indices; grid_number: its grid in the batch; from, to: its elements in
// the input and the output grid; inside: all its taps lie in the grid; frozen: a fixed side keeps
// it.
struct point_place {
    long long at[3], grid_number, from, to;
    bool inside, frozen;
};
template <class ARGUMENTS>
__device__ __forceinline__ point_place place_of(const ARGUMENTS &a, long long i) {
    point_place p;
    places(a, i, p.at, p.grid_number);
    p.from = p.to = 0, p.inside = true, p.frozen = false;
#pragma unroll
    for (int axis = 2; axis >= 0; axis--) {
        p.from += p.at[axis] * a.in_stride[axis];
        p.to += p.at[axis] * a.out_stride[axis];
        const bool low = p.at[axis] < a.reach[axis][0], high = p.at[axis] >= a.n[axis] - a.reach[axis][1];
        p.inside = p.inside && !low && !high;
        p.frozen = p.frozen || (low && a.side[axis][0] == FIXED) || (high && a.side[axis][1] == FIXED);
    }
    return p;
}
