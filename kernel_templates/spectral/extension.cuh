// Infinite extension of an axis past its sides: periodic (wrap), or mirrored at each side with a
// sign. BEYOND is the distance of the mirror from the outer point, in half points outwards.
//
//     even, about half a step outside (BEYOND 1)   .. b a | a b c      reflect
//     even, about the outer point     (BEYOND 0)   .. c b | a b c      mirror
//     odd, about the point outside    (BEYOND 2)   .. -a 0 | a b c     constant
//     odd, about the outer point      (BEYOND 0)   .. -c -b | 0 b c    fixed (outer point 0)
//
// A transform's line holds points -before .. length - before - 1 of the extension.
#pragma once

struct extension {
    int n, before;  // Points of the grid; points of the line before the first of them.
};

// The grid point shown at point i of the extension, and its sign; sign 0: the value is 0. INDEX:
// int, or long long for lines of any length.
template <class INDEX>
struct image {
    INDEX at;
    int sign;
};

template <int REPEATS, int LOW_BEYOND, int LOW_SIGN, int HIGH_BEYOND, int HIGH_SIGN, class INDEX>
__device__ __forceinline__ image<INDEX> image_of(INDEX i, INDEX n) {
    int sign = 1;
#pragma unroll 1
    while (i < 0 || i >= n) {
        const bool low = i < 0;
        if (REPEATS) {
            i += low ? n : -n;
            continue;
        }
        // The point about which the mirror image is odd: it is its own image, so it is 0.
        if ((LOW_SIGN < 0 && LOW_BEYOND == 2 && i == -1) || (HIGH_SIGN < 0 && HIGH_BEYOND == 2 && i == n))
            return {0, 0};
        i = (low ? -LOW_BEYOND : 2 * (n - 1) + HIGH_BEYOND) - i;
        sign = (low ? LOW_SIGN : HIGH_SIGN) < 0 ? -sign : sign;
    }
    if ((LOW_SIGN < 0 && LOW_BEYOND == 0 && i == 0) || (HIGH_SIGN < 0 && HIGH_BEYOND == 0 && i == n - 1)) return {0, 0};
    return {i, sign};
}

// Whether points first to first + length - 1 of the extension lie less than n points past the ends.
__device__ __forceinline__ bool is_near(int first, int length, int n) {
    return first > 1 - n && first + length < 2 * n;
}

// image_of for such a point, without a loop.
template <int REPEATS, int LOW_BEYOND, int LOW_SIGN, int HIGH_BEYOND, int HIGH_SIGN>
__device__ __forceinline__ image<int> near_image_of(int i, int n) {
    const bool low = i < 0, high = i >= n;
    if (REPEATS) return {low ? i + n : high ? i - n : i, 1};
    const int at = low ? -LOW_BEYOND - i : high ? 2 * (n - 1) + HIGH_BEYOND - i : i;
    const bool zero = (LOW_SIGN < 0 && LOW_BEYOND == 2 && at < 0) || (HIGH_SIGN < 0 && HIGH_BEYOND == 2 && at >= n) ||
                      (LOW_SIGN < 0 && LOW_BEYOND == 0 && at == 0) ||
                      (HIGH_SIGN < 0 && HIGH_BEYOND == 0 && at == n - 1);
    return {zero ? 0 : at, zero ? 0 : low ? LOW_SIGN : high ? HIGH_SIGN : 1};
}
