// Reads of a system's arrays past the sides of the grid.
//
// Reads REAL, SYSTEM_ARRAYS, SYSTEM_VALUES, SYSTEM_SIDES, SYSTEM_PAST.
#pragma once
#include "device/boundary.cuh"
#include "params.cuh"

// Folding of reads past a side of array A along one axis: SYSTEM_SIDES has 4 bits for each side,
// boundary_kind plus 8 where the side is odd.
template <int A, int AXIS>
struct rule {
    static constexpr int LOW = SYSTEM_SIDES[A] >> 8 * AXIS & 15, HIGH = SYSTEM_SIDES[A] >> (8 * AXIS + 4) & 15;
    static constexpr bool WRAPS = (LOW & 7) == WRAP;  // then the high side wraps too
    // Same as fold_once, but past a fixed side it gives the outermost point, which other fields'
    // assignments read there.
    __device__ __forceinline__ static int fold(int i, int n) {
        constexpr int L = (LOW & 7) == FIXED ? NEAREST : LOW & 7, H = (HIGH & 7) == FIXED ? NEAREST : HIGH & 7;
        return fold_once<L, H>(i, n);
    }
    __device__ __forceinline__ static REAL sign(int i, int n) {
        if (!((LOW | HIGH) & 8)) return 1;
        return ((LOW & 8) && i < 0) || ((HIGH & 8) && i >= n) ? -1 : 1;
    }
};

// The value of array A at point (z, y, x) of the grid plus an offset: axes are folded by the
// array's own rules, axis 0 first, and `load` reads the resulting point. CONTINUES: `load` also
// reads points past sides that wrap, which then are not folded.
template <int A, bool CONTINUES, class LOAD>
__device__ __forceinline__ REAL read_folded(const long long (&n)[3], const REAL (&values)[SYSTEM_VALUES], int z, int y,
                                            int x, int dz, int dy, int dx, const LOAD &load) {
    const int nz = static_cast<int>(n[0]), ny = static_cast<int>(n[1]), nx = static_cast<int>(n[2]);
    const int *const past = SYSTEM_PAST[A];
    REAL sign = 1;
    if (CONTINUES && rule<A, 0>::WRAPS) {
        z += dz;
    } else if (dz) {
        const int i = z + dz;
        sign *= rule<A, 0>::sign(i, nz);
        z = rule<A, 0>::fold(i, nz);
        if (z < 0) return values[z == PAST_LOW ? past[0] : past[1]];
    }
    if (CONTINUES && rule<A, 1>::WRAPS) {
        y += dy;
    } else if (dy) {
        const int i = y + dy;
        y = rule<A, 1>::fold(i, ny);
        if (y < 0) return sign * values[y == PAST_LOW ? past[2] : past[3]];
        sign *= rule<A, 1>::sign(i, ny);
    }
    if (CONTINUES && rule<A, 2>::WRAPS) {
        x += dx;
    } else if (dx) {
        const int i = x + dx;
        x = rule<A, 2>::fold(i, nx);
        if (x < 0) return sign * values[x == PAST_LOW ? past[4] : past[5]];
        sign *= rule<A, 2>::sign(i, nx);
    }
    return sign * load(z, y, x);
}
