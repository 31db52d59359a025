// Overlap-save convolution along x: any number of steps of a stencil in one pass over memory:
//
//     out = inverse FFT of (FFT of in, times K^f)      K: the symbol of the taps
//                                                      f: the number of steps
//
//     line      |---------------------------------------------------------|    n points
//     segment 0 .. LEAD | useful      | ..          LENGTH points: the reach of f steps to the
//     segment 1              .. LEAD | useful | ..  low side, outputs, the reach to the high side
//
// Two neighbouring segments are the real and the imaginary part of one convolution
// (fft_convolution.cuh), because the taps are real. A block takes GROUPS pairs at a time, and
// prefetches the next ones to shared memory while it computes. If F (SEGMENT_FIRST) is 1, half a
// warp computes a pair, and no warp waits for another one. Otherwise GROUPS is 1.
//
// SEGMENT_COSINES: a segment is a whole line, mirrored at both ends (multiply_mirrored_line).
// SEGMENT_SINGLE: a block takes single longer segments, whose even and odd points are the two
// parts.
//
// Inputs past a side are the line's extension (extend.cuh). The value of a constant or fixed side
// is multiplied by the side's profile, the effect after f steps of a value of 1, and added to the
// outputs.
#include "device/launch_checks.cuh"
#include "segment/fft_convolution.cuh"
#include "segment/line.cuh"

constexpr int SLOT = 16 / sizeof(STORE), GROUPS = F == 1 ? SEGMENT_GROUPS : 1, ALL_THREADS = GROUPS * TEAMS * THREADS;
constexpr int MEMBERS = TEAMS * THREADS;  // Threads that load a segment's inputs.
constexpr bool STREAMED = SEGMENT_TRANSFER & 1, DIRECT_INPUTS = SEGMENT_TRANSFER & 2,
               WIDE_PREFETCH = SEGMENT_TRANSFER & 4;
static_assert(!DIRECT_INPUTS || F == 1, "only there threads have few enough numbers of each segment");
// Real values of a segment in one complex number.
constexpr int EACH_POINT = SINGLE ? 2 : 1;
constexpr int SPAN = EACH_POINT * TEAMS * LENGTH;  // Points of a segment.
// Elements of a block's inputs in shared memory.
constexpr int BLOCK_INPUTS = (SINGLE ? 1 : DIRECT_INPUTS ? 0 : 2 * GROUPS) * SPAN;

static_assert(layout_matches(sizeof(line_arguments), 2 * sizeof(REAL)), "line_header of segment/overlap_save_pass.c");
static_assert(shared_bytes_match(GROUPS * TEAMS * CELLS * sizeof(cell) + BLOCK_INPUTS * sizeof(STORE)),
              "segment_shared of segment/segment_shape.c");

__device__ __forceinline__ images images_of(const line_arguments &a, const segment_position &s) {
    const long long beyond = s.start + a.lead + a.useful - a.n;  // Outputs past the line's end.
    return find_images(s.plain, s.start, SPAN, a.n, SPAN - static_cast<int>(max(beyond, 0LL)));
}

// SEGMENT_ROTATED: a segment inside its line is stored rotated. Index 0 has input `rotation`, which
// lies at the start of a memory line, and the inputs before it follow the last one. Circular
// convolution commutes with rotation, so outputs are rotated likewise. Neighbouring threads then
// load and store whole memory lines wherever segments begin, except at the ends of the line.
constexpr int MEMORY_LINE = 128 / sizeof(STORE);
__device__ __forceinline__ int rotation_of(const segment_position &s) {
    if (!SEGMENT_ROTATED || !inside(s, SPAN)) return 0;
    const unsigned long long first = reinterpret_cast<unsigned long long>(s.out + s.start) / sizeof(STORE);
    return static_cast<int>((0 - first) % MEMORY_LINE) / (VECTOR > 1 ? SLOT : 1) * (VECTOR > 1 ? SLOT : 1);
}
// Whether register i may wrap around.
__device__ __forceinline__ bool may_wrap(int i) {
    return SEGMENT_ROTATED && EACH_POINT * (point_of(THREADS - 1, i) + 1) - 1 + MEMORY_LINE > EACH_POINT * LENGTH;
}

// ---- inputs

// Copies one by one the inputs of `all` before `first`, and from `last` on, from their images in
// the line's extension. Signs are applied later.
__device__ __forceinline__ void fetch_folded(const line_arguments &a, const segment_position &s, STORE *raw, run all,
                                             int first, int last, int t) {
    const int gap = last - first;
#pragma unroll 1
    for (int k = all.first + t; k < all.last - gap; k += MEMBERS) {
        const int i = k < first ? k : k + gap;
        const long long from = extend(s.start + i, a.n).index;
        if (from < 0)
            raw[i] = narrow<STORE>(REAL(0));
        else
            copy_element(raw + i, s.in + from);
    }
}

// Starts copying the segment's inputs to shared memory. With VECTOR > 1, points of the line are
// copied in units of 16 bytes.
__device__ __forceinline__ void fetch(const line_arguments &a, unsigned segment, STORE *raw, int t) {
    const bool exists = segment < a.all;
    const segment_position s = find(a, exists ? segment : 0, SPAN);
    const STORE *const from = s.in + s.start;
    if (!exists) {
#pragma unroll 1
        for (int i = t; i < SPAN; i += MEMBERS) raw[i] = narrow<STORE>(REAL(0));
    } else if (inside(s, SPAN)) {
        constexpr int EACH = VECTOR > 1 ? SLOT : 1;
        const STORE *const first = from + rotation_of(s);
        const int last = SPAN - rotation_of(s);
#pragma unroll
        for (int k = 0; k < SPAN / MEMBERS / EACH; k++) {
            const int i = EACH * (t + MEMBERS * k);
            const bool may_pass = SEGMENT_ROTATED && EACH * MEMBERS * (k + 1) + MEMORY_LINE > SPAN;
            const STORE *const input = may_pass && i >= last ? first + i - SPAN : first + i;
            if (VECTOR > 1 && WIDE_PREFETCH)
                copy_async_16_of_256(raw + i, input);
            else if (VECTOR > 1)
                copy_async_16(raw + i, input);
            else
                copy_element(raw + i, input);
        }
    } else {
        constexpr int UNIT = VECTOR > 1 ? SLOT : 1;
        const int first = (s.plain.first + UNIT - 1) / UNIT * UNIT, last = max(s.plain.last / UNIT * UNIT, first);
        if (VECTOR > 1)
#pragma unroll 2
            for (int i = first + SLOT * t; i < last; i += SLOT * MEMBERS) copy_async_16(raw + i, from + i);
        else
#pragma unroll 2
            for (int i = first + t; i < last; i += MEMBERS) copy_element(raw + i, from + i);
        const images m = images_of(a, s);
        fetch_folded(a, s, raw, m.own ? held(m, SPAN) : run{0, SPAN}, first, last, t);
    }
    copy_async_commit();
}

// Sets the inputs of a segment that lie past a side, after all copies of fetch() have arrived. If
// the segment contains the points of which they are images (images::own), it copies these points,
// negated past an odd side. Otherwise fetch() has copied all inputs, and those past an odd side are
// negated. Returns whether it did either. A thread of a pair changes only inputs that it reads
// itself. Few segments lie at a side, so this is a loop in shared memory, which compiles faster
// than images in each register.
__device__ __forceinline__ bool place_images(const line_arguments &a, unsigned segment, STORE *raw, int t) {
    if (!MIRRORED || segment >= a.all) return false;
    const segment_position s = find(a, segment, SPAN);
    if (inside(s, SPAN)) return false;
    const images m = images_of(a, s);
    if (!m.own && !ODD_LOW && !ODD_HIGH) return false;
#pragma unroll 1
    for (int i = t; i < SPAN; i += MEMBERS) {
        const source image = find_source(m, i);
        const bool minus = m.own ? image.minus : extend(s.start + i, a.n).minus;
        // The point that is 0 at an odd side is its own image.
        if (m.own ? image.at != i : minus)
            raw[i] = narrow<STORE>(value_of({image.at, minus, image.none}, widen(raw[image.at])));
    }
    return true;
}

// Loads the inputs of a segment from shared memory to registers: as real parts, or with IM as
// imaginary parts.
template <bool IM>
__device__ __forceinline__ void take(const STORE *raw, point (&x)[16], int t) {
#pragma unroll
    for (int i = 0; i < 16; i++) (IM ? x[i].im : x[i].re) = widen(raw[point_of(t, i)]);
}

// DIRECT_INPUTS: a pair whose inputs are all points of the line is loaded directly to registers;
// other warps compute meanwhile.
template <bool IM>
__device__ __forceinline__ void take_points(const segment_position &s, point (&x)[16], int t) {
    const STORE *const from = s.in + s.start;
    const int rotation = rotation_of(s);
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int index = point_of(t, i) + rotation, j = may_wrap(i) && index >= LENGTH ? index - LENGTH : index;
        (IM ? x[i].im : x[i].re) = widen(from[j]);
    }
}
// Loads a pair of segments directly to registers. If any segment of the warp's two pairs reaches
// past its line, it loads nothing and returns false to all lanes.
__device__ __forceinline__ bool take_pair(const line_arguments &a, unsigned segment, point (&x)[16], int t) {
    const bool exist = segment + 1 < a.all;
    const segment_position s = find(a, exist ? segment : 0, SPAN), next = find(a, exist ? segment + 1 : 0, SPAN);
    if (!__all_sync(~0u, exist && inside(s, SPAN) && inside(next, SPAN))) return false;
    take_points<false>(s, x, t), take_points<true>(next, x, t);
    return true;
}

// Loads a single segment. If two teams share it, also computes stage 0.
__device__ __forceinline__ void take_single(const STORE *raw, point (&x)[16], int t, int team) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const STORE *const from = raw + 2 * point_of(t, i);
        x[i] = raw_pair(from);
        if (TEAMS == 1) continue;
        const point far = raw_pair(from + 2 * LENGTH);
        x[i] = team ? x[i] - far : x[i] + far;
    }
}

// ---- outputs

template <class T>
__device__ __forceinline__ void store_output(T *to, T value) {
    if constexpr (STREAMED && sizeof(T) > 2)
        __stcs(to, value);
    else
        *to = value;
}

// Writes registers to the line. SIDES: adds the terms of sides, which only few segments need.
template <bool IM, bool SIDES>
__device__ __forceinline__ void store_to(const line_arguments &a, STORE *to, unsigned count, const sides &at,
                                         int rotation, const point (&x)[16], int t) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int index = point_of(t, i) + rotation, j = may_wrap(i) && index >= LENGTH ? index - LENGTH : index;
        if (static_cast<unsigned>(j - a.lead) >= count) continue;
        const REAL value = IM ? x[i].im : x[i].re;
        store_output(to + j, narrow<STORE>(SIDES ? with_sides(a, at, value, j) : value));
    }
}
// Loads the points of a mirrored line (SEGMENT_COSINES) from shared memory: registers i and 15 - i
// have two neighbouring points.
template <bool IM>
__device__ __forceinline__ void take_line(const STORE *raw, point (&x)[16], int t) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
        if (i % F >= F / 2) continue;
        const point both = raw_pair(raw + 2 * point_of(t, i));
        (IM ? x[i].im : x[i].re) = both.re, (IM ? x[15 - i].im : x[15 - i].re) = both.im;
    }
}
template <bool IM>
__device__ __forceinline__ void store_line(STORE *to, const point (&x)[16], int t) {
#pragma unroll
    for (int i = 0; i < 16; i++) {
        if (i % F >= F / 2) continue;
        STORE *const at = to + 2 * point_of(t, i);
        const point both = IM ? point{x[i].im, x[15 - i].im} : point{x[i].re, x[15 - i].re};
        if (VECTOR > 1)
            store_pair(at, both);
        else
            at[0] = narrow<STORE>(both.re), at[1] = narrow<STORE>(both.im);
    }
}
template <bool IM>
__device__ __forceinline__ void store_outputs(const line_arguments &a, unsigned segment, const point (&x)[16], int t) {
    if (segment >= a.all) return;
    const segment_position s = find(a, segment, LENGTH);
    if constexpr (SEGMENT_COSINES) {
        store_line<IM>(s.out, x, t);
        return;
    }
    const unsigned count = static_cast<unsigned>(min(a.n - s.start - a.lead, static_cast<long long>(a.useful)));
    const sides at = find_sides(a, s, count);
    const int rotation = rotation_of(s);
    if (PROFILES && (at.low || at.high))
        store_to<IM, true>(a, s.out + s.start, count, at, rotation, x, t);
    else
        store_to<IM, false>(a, s.out + s.start, count, at, rotation, x, t);
}

// Stores the outputs of a single segment. convolve() has swapped the two parts of x[i], so `im` is
// the point before `re`.
template <bool SIDES>
__device__ __forceinline__ void store_pairs(const line_arguments &a, STORE *to, unsigned count, const sides &at,
                                            int rotation, const point (&x)[16], int t, int team) {
    const auto value = [&](int i, int e, int j) {
        const REAL plain = e ? x[i].re : x[i].im;
        return SIDES ? with_sides(a, at, plain, j) : plain;
    };
    const auto is_output = [&](int j) { return static_cast<unsigned>(j - a.lead) < count; };
#pragma unroll
    for (int i = 0; i < 16; i++) {
        const int index = 2 * (point_of(t, i) + team * LENGTH) + rotation;
        const auto wrapped = [&](int j) { return may_wrap(i) && j >= SPAN ? j - SPAN : j; };
        const int j = wrapped(index), next = VECTOR > 1 ? j + 1 : wrapped(index + 1);
        if (VECTOR > 1 && is_output(j) && is_output(next)) {
            store_pair(to + j, point{value(i, 0, j), value(i, 1, next)});
            continue;
        }
        if (is_output(j)) to[j] = narrow<STORE>(value(i, 0, j));
        if (is_output(next)) to[next] = narrow<STORE>(value(i, 1, next));
    }
}
__device__ __forceinline__ void store_single(const line_arguments &a, unsigned segment, const point (&x)[16], int t,
                                             int team) {
    const segment_position s = find(a, segment, SPAN);
    const unsigned count = static_cast<unsigned>(min(a.n - s.start - a.lead, static_cast<long long>(a.useful)));
    const sides at = find_sides(a, s, count);
    if (PROFILES && (at.low || at.high))
        store_pairs<true>(a, s.out + s.start, count, at, rotation_of(s), x, t, team);
    else
        store_pairs<false>(a, s.out + s.start, count, at, rotation_of(s), x, t, team);
}

__device__ __forceinline__ void convolve_single(const line_arguments &a, unsigned char *shared) {
    cell *const buffer = reinterpret_cast<cell *>(shared);
    STORE *const raw = reinterpret_cast<STORE *>(shared + TEAMS * CELLS * sizeof(cell));
    // The first iteration only fetches, so that the long code of fetch() is compiled once.
    unsigned segment = blockIdx.x - gridDim.x;
    bool fetched = false;
#pragma unroll 1
    do {
        point x[16] = {};  // Frees the registers of the previous iteration's points.
        int thread = threadIdx.x;
        hide_from_optimizer(thread);
        const int t = thread % THREADS, team = thread / THREADS;
        if (fetched) {
            copy_async_wait<0>();
            __syncthreads();  // All inputs have arrived, and the buffer is free.
            if (place_images(a, segment, raw, thread)) __syncthreads();
            take_single(raw, x, t, team);
            __syncthreads();
        }
        fetch(a, segment + gridDim.x, raw, thread);
        if (fetched) {
            convolve(x, buffer, t, buffer, t, a.twiddle_table, a.symbol, team);
            store_single(a, segment, x, t, team);
        }
        fetched = true, segment += gridDim.x;
    } while (segment < a.all);
}

// Loads the inputs of a pair. DIRECT_INPUTS: if not all are points of the line, they go through the
// exchange buffer, one segment after the other.
__device__ __forceinline__ void take_both(const line_arguments &a, unsigned segment, STORE *raw, point (&x)[16],
                                          int t) {
    if constexpr (DIRECT_INPUTS) {
        if (take_pair(a, segment, x, t)) return;
#pragma unroll 1
        for (int part = 0; part < 2; part++) {
            if (part) synchronize<false>();
            fetch(a, segment + part, raw, t);
            copy_async_wait<0>();
            synchronize<false>();
            place_images(a, segment + part, raw, t);
            point y[16];
            take<true>(raw, y, t);
#pragma unroll
            for (int i = 0; i < 16; i++) x[i].re = part ? x[i].re : y[i].im, x[i].im = y[i].im;
        }
    } else {
        copy_async_wait<0>();
        synchronize<(F > 1)>();  // All inputs have arrived, and the buffer is free.
        if constexpr (SEGMENT_COSINES) {
            take_line<false>(raw, x, t), take_line<true>(raw + LENGTH, x, t);
            return;
        }
#pragma unroll 1
        for (int part = 0; MIRRORED && part < 2; part++) place_images(a, segment + part, raw + part * LENGTH, t);
        take<false>(raw, x, t), take<true>(raw + LENGTH, x, t);
    }
}

__device__ __forceinline__ void convolve_pairs(const line_arguments &a, unsigned char *shared) {
    const unsigned group = threadIdx.x / THREADS, step = 2 * GROUPS * gridDim.x;
    cell *const buffer = reinterpret_cast<cell *>(shared) + group * CELLS;
    STORE *const raw = DIRECT_INPUTS
                           ? reinterpret_cast<STORE *>(buffer)
                           : reinterpret_cast<STORE *>(shared + GROUPS * CELLS * sizeof(cell)) + group * 2 * LENGTH;
    // Unless DIRECT_INPUTS the first iteration only fetches, as in convolve_single.
    bool fetched = DIRECT_INPUTS;
    unsigned segment = 2 * (GROUPS * blockIdx.x + group) - (fetched ? 0 : step);
#pragma unroll 1
    do {
        point x[16] = {};  // Frees the registers of the previous iteration's points.
        int t = threadIdx.x % THREADS;
        hide_from_optimizer(t);
        if (fetched) {
            if (DIRECT_INPUTS) synchronize<false>();  // The buffer is free.
            take_both(a, segment, raw, x, t);
            synchronize<(F > 1)>();
        }
#pragma unroll 1
        for (int part = 0; !DIRECT_INPUTS && part < 2; part++) fetch(a, segment + step + part, raw + part * LENGTH, t);
        if (fetched) {
            convolve(x, buffer, t, buffer, t, a.twiddle_table, a.symbol);
            store_outputs<true>(a, segment, x, t), store_outputs<false>(a, segment + 1, x, t);
        }
        fetched = true, segment += step;
    } while (segment - 2 * group < a.all);
}

extern "C" __global__ void __launch_bounds__(ALL_THREADS, BLOCKS) segment_line(const line_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    if constexpr (SINGLE)
        convolve_single(a, stn_shared);
    else
        convolve_pairs(a, stn_shared);
}
