// Segments of lines along x: their addresses, and the terms of constant and fixed sides that are
// added to their outputs.
#pragma once
#include "device/divide.cuh"
#include "device/element.cuh"
#include "segment/extend.cuh"

struct line_arguments {
    const STORE *in;
    STORE *out;
    const REAL *twiddle_table;  // as twiddles_at reads it; segment_prime_factor: DFT matrices
    const REAL *symbol;         // Divided by LENGTH, in the order of times_symbol.
    // The profile of the low side from the first point on, then that of the high side from the last
    // point backwards.
    const REAL *profile;
    long long n;          // Points of a line.
    long long in_far[3];  // Strides, in elements, of lines along y and z, and of grids.
    long long out_far[3];
    unsigned lines_y, lines_z;  // Lines of a grid, counted along y and along z.
    unsigned segments, all;     // Segments of a line, and of all lines.
    int lead, useful;           // Points before a segment's first output; its outputs.
    int width;                  // Points of a profile.
    int padding;
    divisor by_segments, by_y, by_z;  // Divisors segments, lines_y, lines_z.
    REAL past[2];                     // Values past the low and the high side, if constant.
};

struct segment_position {
    const STORE *in;  // The line.
    STORE *out;
    long long start;  // Index on the line of the segment's first input.
    run plain;        // The inputs that are points of the grid, unchanged.
};

__device__ __forceinline__ segment_position find(const line_arguments &a, unsigned segment, int length) {
    unsigned line = 0;
    if (SEGMENT_LINES) line = segment / a.by_segments, segment -= line * a.segments;
    segment_position s = {a.in, a.out, static_cast<long long>(segment) * a.useful - a.lead, {0, 0}};
    if (SEGMENT_LINES) {
        const unsigned plane = line / a.by_y, grid = plane / a.by_z;
        const unsigned y = line - plane * a.lines_y, z = plane - grid * a.lines_z;
        s.in += y * a.in_far[0] + z * a.in_far[1] + grid * a.in_far[2];
        s.out += y * a.out_far[0] + z * a.out_far[1] + grid * a.out_far[2];
    }
    s.plain = plain(s.start, length, a.n);
    return s;
}

__device__ __forceinline__ bool inside(const segment_position &s, int length) {
    return s.plain.last - s.plain.first == length;
}

// The terms added to a segment's outputs near odd sides. Indices count from the segment's first
// input.
struct sides {
    bool low, high;
    // Input j is ahead + j points from the low side, and behind - j from the high one.
    int ahead, behind;
    REAL at_low, at_high;
};
__device__ __forceinline__ sides find_sides(const line_arguments &a, const segment_position &s, unsigned count) {
    const long long first = s.start + a.lead;  // The first output.
    sides at = {PROFILES && ODD_LOW && first < a.width,
                PROFILES && ODD_HIGH && first + count > a.n - a.width,
                0,
                0,
                REAL(0),
                REAL(0)};
    if (at.low) at.ahead = static_cast<int>(s.start), at.at_low = X_SIDE_LOW == FIXED ? widen(s.in[0]) : a.past[0];
    if (at.high) {
        at.behind = static_cast<int>(a.n - 1 - s.start);
        at.at_high = X_SIDE_HIGH == FIXED ? widen(s.in[a.n - 1]) : a.past[1];
    }
    return at;
}
// Adds a side's value times its profile; points frozen by a fixed side keep their value.
__device__ __forceinline__ REAL with_sides(const line_arguments &a, const sides &at, REAL value, int j) {
    if (at.low && at.ahead + j < a.width) value += a.profile[at.ahead + j] * at.at_low;
    if (at.high && at.behind - j < a.width) value += a.profile[a.width + at.behind - j] * at.at_high;
    if (X_SIDE_LOW == FIXED && at.low && at.ahead + j == 0) value = at.at_low;
    if (X_SIDE_HIGH == FIXED && at.high && at.behind - j == 0) value = at.at_high;
    return value;
}
