// The frequencies of a (half) spectrum that a Fourier layer retains, and their indices.
//
//     retained mode j of an axis is frequency first + j, at index (first + j) mod n
//                                                        -n < first <= 0, 1 <= modes <= n
//
//     n = 8, modes 4, first -2     index   0 1 2 3 4 5 6 7
//                                  mode    2 3 . . . . 0 1
#pragma once

struct layer_axes {
    int n[3], modes[3], first[3];  // axes z, y, x
    int length;                    // frequencies along x: n[2], or n[2] / 2 + 1 (half spectrum)
    int spectrum, kept;            // frequencies and retained modes of all axes together
};

__device__ __forceinline__ int index_along(const layer_axes &a, int axis, int mode) {
    const int k = a.first[axis] + mode;
    return k < 0 ? k + a.n[axis] : k;
}
__device__ __forceinline__ int index_of(const layer_axes &a, int mode) {
    const int line = mode / a.modes[2], x = index_along(a, 2, mode - line * a.modes[2]);
    const int plane = line / a.modes[1], y = index_along(a, 1, line - plane * a.modes[1]);
    return (index_along(a, 0, plane) * a.n[1] + y) * a.length + x;
}

// The mode at an index; -1: not retained.
__device__ __forceinline__ int mode_along(const layer_axes &a, int axis, int index) {
    const int from = index - a.first[axis], mode = from >= a.n[axis] ? from - a.n[axis] : from;
    return mode < a.modes[axis] ? mode : -1;
}
__device__ __forceinline__ int mode_at(const layer_axes &a, int z, int y, int x) {
    const int i = mode_along(a, 0, z), j = mode_along(a, 1, y), k = mode_along(a, 2, x);
    return i < 0 || j < 0 || k < 0 ? -1 : (i * a.modes[1] + j) * a.modes[2] + k;
}
// Whether frequency x of the last axis equals its negative (0 and n/2). All others represent -x,
// too, in a half spectrum.
__device__ __forceinline__ bool is_self_conjugate(const layer_axes &a, int x) { return x == 0 || 2 * x == a.n[2]; }
