/* Splits a transform into passes (four-step FFT).
 *
 * An axis of N = N1 N2 points, n = N2 n1 + n2, k = k1 + N1 k2, with w_N = exp(-+ 2 pi i / N):
 *
 *     pass 1, over n1, for each n2:  y[k1, n2] = w_N^(k1 n2) sum over n1 of x[n1, n2] w_N1^(n1 k1)
 *                                    in place
 *     pass 2, over n2, for each k1:  X[k1 + N1 k2] = sum over n2 of y[k1, n2] w_N2^(n2 k2)
 *                                    to natural order
 *
 * With N = N1 (N2 N3), the second pass is split again. A tile of pass 1 has lines of neighbouring
 * n2, and a tile of pass 2 has lines of neighbouring k1. These are contiguous where the tile is
 * read or written across its lines, so that every such access is as long as the tile is wide.
 *
 * Rows of a half spectrum have an odd number of elements, so that its columns are not aligned to
 * cache lines. With `padded`, only the first pass of a C2R or the last of an R2C reads or writes
 * such rows: in between, the half spectrum is in the workspace with padded rows. Columns of a C2R
 * in two passes then stay in place there, X[k1 + N1 k2] at row N2 k1 + k2, and the pass along x
 * restores the order. */
#include "strategies/fft/fft_passes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"

int64_t fft_longest(stn_dtype dtype, bool across) {
    if (across) return 1024;
    return dtype == STN_F64 ? 8192 : 16384;
}

/* Where complex data are: strides of the three axes and of the batch, in complex elements. */
typedef struct layout {
    fft_place place;
    int64_t stride[3], batch;
} layout;

/* The transform along one axis. */
typedef struct step {
    const stn_fft *fft;
    const fft_lengths *lengths;
    int axis;
    int64_t length; /* complex points */
    int64_t n[3];   /* extents of the axes in complex elements */
    /* N1 if frequencies k1 + N1 k2 are at N2 k1 + k2 in the workspace; 0: in order */
    int64_t mixed[3];
    layout from, to;
} step;

static const char *const uneven = "its axes and batches need more than the kernel's three loops over lines";

static bool refuse(char *reason, size_t size, const char *why) {
    snprintf(reason, size, "%s", why);
    return false;
}

/* A side in complex elements; false if rows of a real side do not start at whole complex
 * elements. */
static bool complex_layout(const stn_fft *fft, const stn_fft_side *side, fft_place place, layout *l) {
    int64_t unit = side->real ? 2 : 1;
    l->place = place;
    l->batch = side->batch_stride / unit;
    bool whole = fft->batch == 1 || side->batch_stride % unit == 0;
    for (int axis = 0; axis < 3; axis++) {
        l->stride[axis] = side->stride[axis] / unit;
        if (axis < 2) whole = whole && (side->n[axis] == 1 || side->stride[axis] % unit == 0);
    }
    if (side->real) {
        whole = whole && side->stride[2] == 1 && fft->n[2] % 2 == 0;
        l->stride[2] = 1;
    }
    return whole;
}

/* Dense rows, or rows padded to whole cache lines. */
static layout work_layout(const step *s) {
    enum { LINE = 128 }; /* bytes */
    int64_t row = s->n[2], unit = LINE / 2 / (int64_t)stn_dtype_size(s->fft->dtype);
    if (s->lengths->padded) row = stn_round_up(row, unit);
    layout l = {FFT_WORK, {s->n[1] * row, row, 1}, s->n[0] * s->n[1] * row};
    return l;
}

/* ---- the loops over lines */

typedef struct loops {
    fft_loop loop[6];
    int count;
} loops;

static void add_loop(loops *l, int64_t n, int64_t in, int64_t out) {
    if (n > 1) l->loop[l->count++] = (fft_loop){n, in, out};
}

/* Adds loops over an axis that is not transformed; if its frequencies are mixed in the workspace,
 * they restore the order. */
static void add_axis(loops *l, const step *s, int axis) {
    int64_t n = s->n[axis], n1 = s->mixed[axis], in = s->from.stride[axis], out = s->to.stride[axis];
    if (!n1 || s->to.place == FFT_WORK) {
        add_loop(l, n, in, out);
        return;
    }
    add_loop(l, n / n1, in, n1 * out);
    add_loop(l, n1, n / n1 * in, out);
}

/* Loops over the other axes and the batch; loops that continue each other are merged. */
static loops other_loops(const step *s) {
    loops all = {.count = 0}, merged = {.count = 0};
    for (int axis = 2; axis >= 0; axis--)
        if (axis != s->axis) add_axis(&all, s, axis);
    add_loop(&all, s->fft->batch, s->from.batch, s->to.batch);
    for (int i = 1; i < all.count; i++) /* insertion sort by stride */
        for (int j = i; j > 0 && all.loop[j].in < all.loop[j - 1].in; j--) {
            fft_loop t = all.loop[j];
            all.loop[j] = all.loop[j - 1], all.loop[j - 1] = t;
        }
    for (int i = 0; i < all.count; i++) {
        fft_loop *last = merged.count ? &merged.loop[merged.count - 1] : NULL;
        const fft_loop *next = &all.loop[i];
        if (last && last->n * last->in == next->in && last->n * last->out == next->out)
            last->n *= next->n;
        else
            merged.loop[merged.count++] = *next;
    }
    return merged;
}

/* Stores the loops in a pass, loop `tile` first; false if they are more than three. */
static bool set_loops(fft_pass *pass, const loops *l, int tile) {
    if (l->count > 3) return false;
    for (int i = 0; i < 3; i++) pass->loop[i] = (fft_loop){1, 0, 0};
    int next = 1;
    for (int i = 0; i < l->count; i++) pass->loop[i == tile ? 0 : next++] = l->loop[i];
    pass->loops = l->count > 1 ? l->count : 1;
    return true;
}

/* The same for the loops over other axes and a loop over n elements of the pass's own axis. The
 * latter comes first; if `across`, it comes second, after the first of the others. */
static bool set_loops_with(fft_pass *pass, const loops *others, bool across, int64_t n, int64_t in, int64_t out) {
    loops l = {.count = 0};
    if (across) add_loop(&l, others->loop[0].n, others->loop[0].in, others->loop[0].out);
    add_loop(&l, n, in, out);
    for (int i = across; i < others->count; i++)
        add_loop(&l, others->loop[i].n, others->loop[i].in, others->loop[i].out);
    return set_loops(pass, &l, 0);
}

/* ---- passes */

static fft_pass *add_pass(fft_passes *passes, const step *s, int64_t length) {
    fft_pass *pass = &passes->pass[passes->count++];
    *pass = (fft_pass){.from = s->from.place, .to = s->to.place, .length = length, .scale = 1};
    pass->inverse = s->fft->inverse;
    return pass;
}

/* A single pass. Contiguous lines: tiles are made along the longest loop; strided lines: along the
 * innermost one. */
static bool one_pass(const step *s, fft_passes *passes) {
    loops l = other_loops(s);
    fft_pass *pass = add_pass(passes, s, s->length);
    pass->in_stride = s->from.stride[s->axis];
    pass->out_stride = s->to.stride[s->axis];
    pass->load_real = s->fft->kind == STN_C2R && s->axis == 2;
    pass->store_real = s->fft->kind == STN_R2C && s->axis == 2;
    int tile = 0;
    if (l.count && pass->in_stride <= l.loop[0].in)
        for (int i = 1; i < l.count; i++)
            if (l.loop[i].n > l.loop[tile].n) tile = i;
    return set_loops(pass, &l, tile);
}

/* The first pass of a split axis: over n1, to the same positions in the workspace. */
static bool first_pass(const step *s, const layout *work, int64_t n1, fft_passes *passes) {
    step here = *s;
    here.to = *work;
    int64_t n2 = s->length / n1, in = s->from.stride[s->axis], out = work->stride[s->axis];
    fft_pass *pass = add_pass(passes, &here, n1);
    pass->in_stride = n2 * in, pass->out_stride = n2 * out;
    pass->outer = s->length;
    const loops others = other_loops(&here);
    /* Does another axis have a smaller stride? */
    const bool across = others.count && others.loop[0].in < in;
    pass->outer_loop = across;
    return set_loops_with(pass, &others, across, n2, in, out);
}

/* The last pass: over n2, to the output. */
static bool last_pass(const step *s, const layout *work, int64_t n1, fft_passes *passes) {
    step here = *s;
    here.from = *work;
    int64_t n2 = s->length / n1, in = work->stride[s->axis], out = s->to.stride[s->axis];
    fft_pass *pass = add_pass(passes, &here, n2);
    pass->in_stride = in, pass->out_stride = n1 * out;
    const loops others = other_loops(&here);
    return set_loops_with(pass, &others, others.count && others.loop[0].out < out, n1, n2 * in, out);
}

/* The same in place in the workspace: X[k1 + N1 k2] replaces y[k1, n2 = k2]. */
static bool last_pass_in_place(const step *s, const layout *work, int64_t n1, fft_passes *passes) {
    step here = *s;
    here.from = here.to = *work;
    int64_t n2 = s->length / n1, w = work->stride[s->axis];
    fft_pass *pass = add_pass(passes, &here, n2);
    pass->in_stride = pass->out_stride = w;
    const loops others = other_loops(&here);
    return set_loops_with(pass, &others, others.count && others.loop[0].in < w, n1, n2 * w, n2 * w);
}

/* Three passes, n = n1 N2 N3 + n2 N3 + n3, k = k1 + N1 k2 + N1 N2 k3: the first as above, the
 * second over n2 for each k1 and n3, the third over n3 for each k1 and k2. There may be at most one
 * further loop. */
static bool three_passes(const step *s, const layout *work, int64_t n1, int64_t n2, fft_passes *passes) {
    int64_t n3 = s->length / n1 / n2, w = work->stride[s->axis];
    if (!first_pass(s, work, n1, passes)) return false;
    step here = *s;
    here.from = here.to = *work;
    loops l = {.count = 0}, others = other_loops(&here);
    if (others.count > 1) return false;
    fft_pass *pass = add_pass(passes, &here, n2);
    pass->in_stride = pass->out_stride = n3 * w;
    pass->outer = n2 * n3;
    add_loop(&l, n3, w, w);
    add_loop(&l, n1, n2 * n3 * w, n2 * n3 * w);
    for (int i = 0; i < others.count; i++) add_loop(&l, others.loop[i].n, others.loop[i].in, others.loop[i].out);
    if (!set_loops(pass, &l, 0)) return false;

    here.to = s->to;
    loops to_out = other_loops(&here);
    if (to_out.count > 1) return false;
    int64_t out = s->to.stride[s->axis];
    pass = add_pass(passes, &here, n3);
    pass->in_stride = w, pass->out_stride = n1 * n2 * out;
    l.count = 0;
    add_loop(&l, n1, n2 * n3 * w, out);
    add_loop(&l, n2, n3 * w, n1 * out);
    for (int i = 0; i < to_out.count; i++) add_loop(&l, to_out.loop[i].n, to_out.loop[i].in, to_out.loop[i].out);
    return set_loops(pass, &l, 0);
}

/* The largest factor of n that is at most `wish`. */
static int64_t factor_below(int64_t n, int64_t wish) {
    int64_t f = stn_min(n, wish);
    while (n % f) f--;
    return f;
}

static bool smooth(int64_t n) {
    for (int p = 2; p <= 7; p++)
        while (n % p == 0) n /= p;
    return n == 1;
}

/* The least r with r^power >= n. */
static int64_t root_up(int64_t n, int power) {
    int64_t r = (int64_t)floor(power == 2 ? sqrt((double)n) : cbrt((double)n));
    while ((power == 2 ? r * r : r * r * r) < n) r++;
    return r;
}

/* The conversion between a half spectrum and the transform of a line's pairs of real numbers, for
 * lines of several passes. */
static bool real_pass(const step *s, const layout *from, const layout *to, fft_passes *passes) {
    step here = *s;
    here.from = *from, here.to = *to;
    loops l = other_loops(&here);
    fft_pass *pass = add_pass(passes, &here, s->length);
    pass->only_real = true;
    pass->load_real = s->fft->kind == STN_C2R, pass->store_real = !pass->load_real;
    pass->in_stride = from->stride[2], pass->out_stride = to->stride[2];
    return set_loops(pass, &l, 0);
}

static bool two_or_three_passes(const step *s, const layout *work, fft_passes *passes, char *reason, size_t size) {
    int64_t longest = fft_longest(s->fft->dtype, true), n1 = factor_below(s->length, root_up(s->length, 2));
    int64_t first_length = s->lengths->first;
    int64_t other = first_length && s->length % first_length == 0 ? s->length / first_length : 0;
    bool fits = true, first = other && (other <= longest || other == first_length);
    if (first) n1 = first_length;
    if (s->length / n1 <= longest || first) {
        fits = first_pass(s, work, n1, passes) && last_pass(s, work, n1, passes);
    } else {
        n1 = s->length / factor_below(s->length, s->length / root_up(s->length, 3));
        int64_t rest = s->length / n1, n2 = rest / factor_below(rest, root_up(rest, 2));
        if (n1 > longest || n2 > longest || rest / n2 > longest)
            return refuse(reason, size, "an axis is longer than three passes serve");
        fits = three_passes(s, work, n1, n2, passes);
    }
    return fits || refuse(reason, size, uneven);
}

/* Columns that stay in the workspace, in two passes. */
static bool two_passes_in_place(step *s, fft_passes *passes, char *reason, size_t size) {
    int64_t n1 = factor_below(s->length, root_up(s->length, 2));
    if (s->axis == 2 || s->length / n1 > fft_longest(s->fft->dtype, true))
        return refuse(reason, size, "two of its axes need a workspace at a time");
    s->mixed[s->axis] = n1;
    layout work = s->to;
    return (first_pass(s, &work, n1, passes) && last_pass_in_place(s, &work, n1, passes)) ||
           refuse(reason, size, uneven);
}

/* The pass along one axis, split if no block can hold a line. */
static bool add_step(step *s, fft_passes *passes, char *reason, size_t size) {
    loops others = other_loops(s);
    bool across = others.count && s->from.stride[s->axis] > others.loop[0].in;
    bool fits = s->length <= (across ? s->lengths->longest_column : s->lengths->longest) && smooth(s->length);
    if (fits || s->length <= fft_longest(s->fft->dtype, across))
        return one_pass(s, passes) || refuse(reason, size, uneven);
    if (!smooth(s->length) || s->length > INT64_C(1) << 30)
        return refuse(reason, size, "an axis is longer than its kernels serve");
    if (s->to.place == FFT_WORK && s->fft->kind == STN_C2R && s->lengths->padded)
        return two_passes_in_place(s, passes, reason, size);
    if (s->to.place == FFT_WORK) return refuse(reason, size, "two of its axes need a workspace at a time");
    layout work = work_layout(s);
    passes->work = work.batch * s->fft->batch;
    step inner = *s;
    bool real = s->fft->kind != STN_C2C && s->axis == 2;
    if (real && s->fft->inverse) {
        if (!real_pass(s, &s->from, &work, passes)) return refuse(reason, size, uneven);
        inner.from = work;
    }
    if (!two_or_three_passes(&inner, &work, passes, reason, size)) return false;
    return !real || s->fft->inverse || real_pass(s, &s->to, &s->to, passes) || refuse(reason, size, uneven);
}

/* Distributes the scale over the passes, so that half precision neither overflows nor underflows in
 * between. */
static void share_scale(double scale, fft_passes *passes) {
    double all = 0;
    fft_pass *last = NULL;
    for (int i = 0; i < passes->count; i++) {
        if (passes->pass[i].only_real) continue;
        last = &passes->pass[i];
        all += log((double)last->length);
    }
    for (int i = 0; i < passes->count && scale > 0; i++)
        if (!passes->pass[i].only_real) passes->pass[i].scale = pow(scale, log((double)passes->pass[i].length) / all);
    if (last && (scale <= 0 || (double)last->length > exp(all * 0.999))) last->scale = scale;
}

bool fft_passes_of(const stn_fft *fft, const fft_lengths *lengths, fft_passes *passes, char *reason, size_t size) {
    memset(passes, 0, sizeof *passes);
    layout in, out;
    if (!complex_layout(fft, &fft->in, FFT_IN, &in) || !complex_layout(fft, &fft->out, FFT_OUT, &out))
        return refuse(reason, size, "its real rows are odd or do not start at even places");
    bool real = fft->kind != STN_C2C;
    step s = {.fft = fft, .lengths = lengths};
    for (int axis = 0; axis < 3; axis++) s.n[axis] = fft->n[axis];
    if (real) s.n[2] = fft->n[2] / 2 + 1;
    int order[3], count = 0;
    for (int i = 0; i < 3; i++) { /* the axis of the real side is first for R2C, last for C2R */
        int axis = fft->kind == STN_C2R ? i : 2 - i;
        if (fft->n[axis] > 1) order[count++] = axis;
    }
    if (!count || (real && fft->n[2] < 4)) return refuse(reason, size, "it is too short");
    if (lengths->padded && (!real || count < 2)) return refuse(reason, size, "it has no half spectrum between passes");
    for (int i = 0; i < count; i++) {
        s.axis = order[i];
        s.length = real && s.axis == 2 ? fft->n[2] / 2 : fft->n[s.axis];
        s.from = i == 0 ? in : s.to;
        s.to = out;
        if (i + 1 < count && (lengths->padded || fft->kind == STN_C2R)) {
            bool work = lengths->padded || !fft->in_place;
            s.to = work ? work_layout(&s) : in;
            if (work) passes->work = s.to.batch * fft->batch;
        }
        if (!add_step(&s, passes, reason, size)) return false;
    }
    share_scale(fft->scale, passes);
    return true;
}

/* ---- cosine and sine transforms */

/* Finds the axis, or 3 for the batch, along which adjacent numbers are paired; -1 if there is
 * none. */
static int paired_axis(const stn_fft *fft) {
    int paired = -1;
    for (int i = 3; i >= 0; i--) {
        const int64_t n = i < 3 ? fft->n[i] : fft->batch;
        const int64_t in = i < 3 ? fft->in.stride[i] : fft->in.batch_stride;
        const int64_t out = i < 3 ? fft->out.stride[i] : fft->out.batch_stride;
        if (n == 1) continue;
        if (paired < 0 && in == 1 && out == 1 && n % 2 == 0)
            paired = i;
        else if (in % 2 || out % 2)
            return -1;
    }
    return paired;
}

/* A side in pairs of numbers. */
static layout paired_layout(const stn_fft_side *side, fft_place place, int paired) {
    layout l = {.place = place, .batch = paired == 3 ? 1 : side->batch_stride / 2};
    for (int axis = 0; axis < 3; axis++) l.stride[axis] = axis == paired ? 1 : side->stride[axis] / 2;
    return l;
}

bool fft_cosine_passes_of(const stn_fft *fft, fft_passes *passes, char *reason, size_t size) {
    memset(passes, 0, sizeof *passes);
    const int paired = paired_axis(fft);
    if (fft->kind > STN_DST3) return refuse(reason, size, "it has no cosine and sine transforms of types 1 and 4");
    if (paired < 0) return refuse(reason, size, "its numbers are not adjacent in pairs");
    stn_fft pairs = *fft; /* as a Fourier transform of as many complex numbers */
    pairs.kind = STN_C2C;
    if (paired == 3) pairs.batch /= 2;
    step s = {.fft = &pairs, .from = paired_layout(&fft->in, FFT_IN, paired)};
    s.to = paired_layout(&fft->out, FFT_OUT, paired);
    for (int axis = 0; axis < 3; axis++) s.n[axis] = fft->n[axis] / (axis == paired ? 2 : 1);
    for (s.axis = 2; s.axis >= 3 - fft->rank; s.axis--) {
        s.length = s.n[s.axis];
        if (s.length < 2) return refuse(reason, size, "it is too short");
        if (!one_pass(&s, passes)) return refuse(reason, size, uneven);
        fft_pass *pass = &passes->pass[passes->count - 1];
        pass->cosine = fft->kind == STN_DCT2 || fft->kind == STN_DST2 ? 2 : 3;
        pass->sine = fft->kind == STN_DST2 || fft->kind == STN_DST3;
        pass->orthogonal = fft->orthogonal, pass->rows = s.axis == paired;
        s.from = s.to;
    }
    share_scale(fft->scale, passes);
    return true;
}

double fft_pass_bytes(const fft_pass *pass, stn_dtype dtype) {
    double lines = (double)pass->loop[0].n * (double)pass->loop[1].n * (double)pass->loop[2].n;
    return lines * (double)(2 * pass->length + pass->load_real + pass->store_real) * 2 * (double)stn_dtype_size(dtype);
}

int64_t fft_times_loops(const fft_pass *pass, int64_t tiles, int first, int last) {
    for (int i = first; i < last; i++)
        if (stn_mul_overflows(tiles, pass->loop[i].n, &tiles)) return INT64_MAX;
    return tiles;
}
