// Loads and stores of a line in global memory: its points (of one complex channel or of two real
// ones) and its modes, of which those of neighbouring channels are contiguous.
//
// Reads FNO_REAL, FNO_BIAS, FNO_ADDED, FNO_MODES, FNO_CHUNKS_OUT, and what fno/arguments.cuh reads.
#pragma once
#include "fno/arguments.cuh"

// ---- input points of the line whose first channel is c; get(j, offset) loads point j + offset
struct line_points {
    const FNO_FROM *first, *second;  // real points: two channels
    bool one, two;                   // whether each channel exists
    __device__ __forceinline__ line_points(const line_arguments &a, const FNO_FROM *in, int c) {
        first = in + (FNO_REAL ? 1 : 2) * (c * a.in_stride), second = first + a.in_stride;
        one = c < a.channels, two = c + 1 < a.channels;
    }
    __device__ __forceinline__ value operator()(int j, int offset) const {
        const long long from = (FNO_REAL ? 1 : 2) * static_cast<long long>(j);
        if (FNO_REAL)
            return {one ? load_number(first + from + offset) : REAL(0),
                    two ? load_number(second + from + offset) : REAL(0)};
        return one ? load_value(first + from + 2 * offset) : value{REAL(0), REAL(0)};
    }
    __device__ __forceinline__ REAL number(int j, int offset) const {  // of the first channel only
        return one ? load_number(first + j + offset) : REAL(0);
    }
};

// ---- output points of the line whose first channel is o; put(j, offset, z) finishes and stores
// point j + offset
struct line_targets {
    static constexpr int NUMBERS = FNO_REAL ? 1 : 2;
    FNO_TO *line;
    const FNO_TO *added;
    long long other;  // stride from the first channel to the second
    bool one, two;
    value bias = {REAL(0), REAL(0)};
    __device__ __forceinline__ line_targets(const line_arguments &a, FNO_TO *out, long long item, int o) {
        one = o < a.outputs, two = o + 1 < a.outputs, other = FNO_REAL ? a.out_stride : 1;
        if (FNO_BIAS && one) {
            const long long b = FNO_BIAS == 1 ? o : item % a.inner;  // by channel, or by item
            const STORE *const from = a.bias + NUMBERS * b;
            bias.re = load_number(from);
            if (!FNO_REAL || two) bias.im = load_number(FNO_REAL && FNO_BIAS == 2 ? from : from + 1);
        }
        line = out + NUMBERS * (o * a.out_stride);
        added = FNO_ADDED ? a.added + (line - a.out) : nullptr;
    }
    __device__ __forceinline__ void operator()(int j, int offset, value z) const {
        if (!one) return;
        const long long at = NUMBERS * static_cast<long long>(j);
        if (FNO_BIAS) z = z + bias;
        if (FNO_ADDED) {
            const FNO_TO *const from = added + at + NUMBERS * offset;
            z = z + value{widen(from[0]), !FNO_REAL || two ? widen(from[other]) : REAL(0)};
        }
        z = activated(z);
        FNO_TO *const to = line + at + NUMBERS * offset;
        if (!FNO_REAL) return store_value(to, z);
        store_number(to, z.re);
        if (two) store_number(to + other, z.im);
    }
    __device__ __forceinline__ void number(int j, int offset, REAL v) const {  // first channel only
        if (!one) return;
        if (FNO_BIAS) v += bias.re;
        if (FNO_ADDED) v += widen(added[j + offset]);
        store_number(line + j + offset, activated(v));
    }
};

// ---- modes of two channels
__device__ __forceinline__ void store_mode_pair(const line_arguments &a, FNO_TO *out, int mode, int o, chunk both) {
    if (mode >= FNO_MODES || o >= a.outputs) return;
    FNO_TO *const to = out + 2 * (mode * a.out_stride + o);
    if (FNO_CHUNKS_OUT) return store_chunk(to, both);
    store_value(to, both.of[0]);
    if (o + 1 < a.outputs) store_value(to + 2, both.of[1]);
}
// Channels that do not exist are zero.
__device__ __forceinline__ chunk load_mode_pair(const line_arguments &a, const FNO_FROM *in, int mode, int c) {
    const FNO_FROM *const from = in + 2 * c + 2 * (mode * a.in_stride);
    chunk both = {{{REAL(0), REAL(0)}, {REAL(0), REAL(0)}}};
    if (FNO_CHUNKS_IN) {
        if (c < a.channels) both = load_chunk(from);
    } else {
        if (c < a.channels) both.of[0] = load_value(from);
        if (c + 1 < a.channels) both.of[1] = load_value(from + 2);
    }
    return both;
}
