// Segments of lines along x: where they lie, and what a constant or a fixed side adds to their
// outputs.
#pragma once
#include "device/divide.cuh"
#include "device/element.cuh"
#include "segment/extend.cuh"

struct line_arguments {
    const STORE *in;
    STORE *out;
    const REAL *roots;    // as root_of reads them; segment_product: its operands
    const REAL *symbol;   // over LENGTH, as times_symbol reads it
    const REAL *profile;  // of the low side from its first point on, of the high side from the last one back
    long long n;          // points of a line
    long long in_far[3];  // elements from line to line along y, along z, from grid to grid
    long long out_far[3];
    unsigned lines_y, lines_z;  // of a grid
    unsigned segments, all;     // of a line, of all lines
    int lead, useful;
    int width;  // of a profile
    int rest;
    divisor by_segments, by_y, by_z;  // segments, lines_y, lines_z
    REAL past[2];                     // past a constant side
};

struct place {
    const STORE *in;  // the line
    STORE *out;
    long long start;  // of the segment's first input on it
    run plain;        // those of its inputs that are points as they are
};

__device__ __forceinline__ place find(const line_arguments &a, unsigned segment, int length) {
    unsigned line = 0;
    if (SEGMENT_LINES) line = segment / a.by_segments, segment -= line * a.segments;
    place s = {a.in, a.out, static_cast<long long>(segment) * a.useful - a.lead, {0, 0}};
    if (SEGMENT_LINES) {
        const unsigned plane = line / a.by_y, grid = plane / a.by_z;
        const unsigned y = line - plane * a.lines_y, z = plane - grid * a.lines_z;
        s.in += y * a.in_far[0] + z * a.in_far[1] + grid * a.in_far[2];
        s.out += y * a.out_far[0] + z * a.out_far[1] + grid * a.out_far[2];
    }
    s.plain = plain(s.start, length, a.n);
    return s;
}

__device__ __forceinline__ bool inside(const place &s, int length) { return s.plain.last - s.plain.first == length; }

// What is added to a segment's outputs near odd sides: numbers from the segment's first input on.
struct sides {
    bool low, high;
    int ahead, behind;  // input j is ahead + j points from the low side, behind - j from the high one
    REAL at_low, at_high;
};
__device__ __forceinline__ sides find_sides(const line_arguments &a, const place &s, unsigned count) {
    const long long first = s.start + a.lead;  // output
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
// A side's value times its profile; points that a fixed side freezes keep theirs.
__device__ __forceinline__ REAL with_sides(const line_arguments &a, const sides &at, REAL value, int j) {
    if (at.low && at.ahead + j < a.width) value += a.profile[at.ahead + j] * at.at_low;
    if (at.high && at.behind - j < a.width) value += a.profile[a.width + at.behind - j] * at.at_high;
    if (X_SIDE_LOW == FIXED && at.low && at.ahead + j == 0) value = at.at_low;
    if (X_SIDE_HIGH == FIXED && at.high && at.behind - j == 0) value = at.at_high;
    return value;
}
