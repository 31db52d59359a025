/* The largest |K(k)| of a stencil, K(k) = sum over taps o of weight[o] exp(i k.o), k in [0, 2
 * pi)^3: a scan over samples, then a compass search (pattern search) from the largest ones.
 *
 * |K|^2 is a trigonometric polynomial, so samples a few times denser than its degree come within
 * some percent of every maximum. Taps are summed axis by axis: into a plane of sums over axis 0,
 * into a row over axis 1, into K over axis 2, so that a sample costs about as much as one row of
 * taps. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "problem/stencil.h"

#define PEAKS 8
/* Complex multiply-adds of a scan, about 50 ms; limits the time of wide 3D stencils. */
#define SCAN_BUDGET 3e7
/* Complex multiply-adds, a few seconds; a stencil that needs more is not sampled. */
#define MAX_WORK 3e9
#define CLIMB_STEPS 400

typedef struct cplx {
    double re, im;
} cplx;

static cplx madd(cplx sum, cplx a, cplx b) {
    return (cplx){sum.re + a.re * b.re - a.im * b.im, sum.im + a.re * b.im + a.im * b.re};
}

typedef struct peak {
    int at[3]; /* sample index along each axis */
    double value;
    double k[3], scale; /* position and step (in samples) of the search */
} peak;

typedef struct search {
    size_t ntaps;
    const stn_tap *taps;
    int low[3], width[3]; /* the lowest offset along each axis, and the number of offsets */
    int samples[3];       /* samples over [0, 2 pi); 1 if the width is 1 */
    int scanned[3];       /* samples that are scanned: K(-k) is the conjugate of K(k) */
    peak peaks[PEAKS];
    int lowest;              /* the peak of least value */
    cplx *roots[3];          /* exp(2 pi i j / samples), or one number for each offset */
    cplx *row;               /* as long as the largest width */
    cplx *odd;               /* of half a row */
    double *values;          /* |K| at all samples of axis 2 */
    cplx *plane;             /* [width[1]][width[2]] */
    cplx *plane_odd;         /* of half a plane */
    size_t lines, *line_end; /* lines of taps along axis 2; one past the last tap of each */
    cplx *line, *spare;      /* sums of these lines */
} search;

static void find_offset_range(search *s) {
    for (int axis = 0; axis < 3; axis++) {
        int64_t low = s->taps[0].offset[axis], high = low;
        for (size_t i = 1; i < s->ntaps; i++) {
            low = stn_min(low, s->taps[i].offset[axis]);
            high = stn_max(high, s->taps[i].offset[axis]);
        }
        s->low[axis] = (int)low;
        s->width[axis] = (int)(high - low + 1);
    }
}

/* Chooses the samples along each axis: `density` for each offset, and an even number, so that both
 * k = 0 and k = pi are sampled. Returns the cost of a scan. */
static double choose_samples(search *s, double density) {
    bool halved = false;
    for (int axis = 0; axis < 3; axis++) {
        const int samples = 2 * (int)ceil(density * s->width[axis] / 2);
        s->samples[axis] = s->width[axis] == 1 ? 1 : samples < 16 ? 16 : samples;
        s->scanned[axis] = s->samples[axis];
        if (halved || s->samples[axis] == 1) continue;
        s->scanned[axis] = s->samples[axis] / 2 + 1;
        halved = true;
    }
    double rows = (double)s->scanned[0] * s->scanned[1];
    return s->scanned[0] * (double)s->ntaps + rows * s->width[2] * (s->width[1] + (double)s->scanned[2]);
}

/* The number of lines of taps along axis 2; end: one past the last tap of each, or NULL. */
static size_t find_lines(const search *s, size_t *end) {
    size_t count = 0;
    for (size_t i = 1; i <= s->ntaps; i++) {
        const int64_t *a = s->taps[i - 1].offset, *b = i < s->ntaps ? s->taps[i].offset : NULL;
        if (b && a[0] == b[0] && a[1] == b[1]) continue;
        if (end) end[count] = i;
        count++;
    }
    return count;
}

/* Allocates all arrays as one block, which is s->roots[0]. */
static bool allocate(search *s) {
    size_t roots[3], row = 1, plane = (size_t)s->width[1] * (size_t)s->width[2];
    for (int axis = 0; axis < 3; axis++) {
        roots[axis] = (size_t)stn_max(s->samples[axis], s->width[axis]);
        row = stn_max(row, (size_t)s->width[axis]);
    }
    const size_t odd = (size_t)s->width[2] / 2 + 1, values = ((size_t)s->samples[2] + 1) / 2;
    const size_t plane_odd = ((size_t)s->width[1] / 2 + 1) * (size_t)s->width[2], lines = find_lines(s, NULL);
    s->roots[0] =
        malloc((roots[0] + roots[1] + roots[2] + row + odd + values + plane + plane_odd + 3 * lines) * sizeof(cplx));
    if (!s->roots[0]) return false;
    s->roots[1] = s->roots[0] + roots[0];
    s->roots[2] = s->roots[1] + roots[1];
    s->row = s->roots[2] + roots[2];
    s->odd = s->row + row;
    s->values = (double *)(s->odd + odd);
    s->plane = s->odd + odd + values;
    s->plane_odd = s->plane + plane;
    s->line = s->plane_odd + plane_odd, s->spare = s->line + lines;
    s->line_end = (size_t *)(void *)(s->spare + lines);
    s->lines = find_lines(s, s->line_end);
    return true;
}

static void fill_roots(search *s) {
    for (int axis = 0; axis < 3; axis++)
        for (int j = 0; j < s->samples[axis]; j++) {
            double angle = 2 * M_PI * j / s->samples[axis];
            s->roots[axis][j] = (cplx){cos(angle), sin(angle)};
        }
}

/* exp(i k o) at sample j for the offset `place` above the lowest one. Omitting the lowest offset
 * changes only the phase of K. */
static cplx root(const search *s, int axis, int j, int place) {
    return s->roots[axis][(int64_t)j * place % s->samples[axis]];
}

static void fill_plane(search *s, int j0) {
    for (int i = 0; i < s->width[1] * s->width[2]; i++) s->plane[i] = (cplx){0, 0};
    for (size_t i = 0; i < s->ntaps; i++) {
        const int64_t *o = s->taps[i].offset;
        cplx *sum = &s->plane[(o[1] - s->low[1]) * s->width[2] + (o[2] - s->low[2])];
        *sum = madd(*sum, (cplx){s->taps[i].weight, 0}, root(s, 0, j0, (int)o[0] - s->low[0]));
    }
}

/* Replaces `count` sums a at an offset d from the middle, and b at -d, by even = a + b and odd =
 * i (a - b): a exp(i t) + b exp(-i t) is even cos t + odd sin t. b NULL: zeros. */
static void pair(cplx *a, const cplx *b, int count, cplx *odd) {
    for (int i = 0; i < count; i++) {
        const cplx high = a[i], low = b ? b[i] : (cplx){0, 0};
        a[i] = (cplx){high.re + low.re, high.im + low.im};
        odd[i] = (cplx){low.im - high.im, high.re - low.re};
    }
}

/* Pairs the rows of the plane. */
static void pair_plane(search *s) {
    const int width = s->width[2], middle = (s->width[1] - 1) / 2;
    for (int d = 1; middle + d < s->width[1]; d++)
        pair(s->plane + (middle + d) * width, d <= middle ? s->plane + (middle - d) * width : NULL, width,
             s->plane_odd + d * width);
}

static void fill_row(search *s, int j1) {
    const int width = s->width[2], middle = (s->width[1] - 1) / 2;
    memcpy(s->row, s->plane + middle * width, (size_t)width * sizeof *s->row);
    for (int d = 1; middle + d < s->width[1]; d++) {
        const cplx phase = root(s, 1, j1, d), *even = s->plane + (middle + d) * width, *odd = s->plane_odd + d * width;
        for (int o2 = 0; o2 < width; o2++) {
            s->row[o2].re += even[o2].re * phase.re + odd[o2].re * phase.im;
            s->row[o2].im += even[o2].im * phase.re + odd[o2].im * phase.im;
        }
    }
}

static void pair_row(search *s) {
    const int middle = (s->width[2] - 1) / 2;
    for (int d = 1; middle + d < s->width[2]; d++)
        pair(s->row + middle + d, d <= middle ? s->row + middle - d : NULL, 1, s->odd + d);
}

/* |K| at the samples j2 and -j2, from the sums of a paired row. Offsets count from the middle of
 * the row, which changes only the phase of K. */
static void sum_row(search *s, int j2) {
    const cplx *const even = s->row + (s->width[2] - 1) / 2, *const roots = s->roots[2];
    const int n = s->samples[2], pairs = s->width[2] / 2;
    cplx cosines = even[0], sines = {0, 0};
    for (int d = 1, sample = j2 % n; d <= pairs; d++) {
        const cplx root = roots[sample];
        cosines.re += even[d].re * root.re, cosines.im += even[d].im * root.re;
        sines.re += s->odd[d].re * root.im, sines.im += s->odd[d].im * root.im;
        sample += j2;
        if (sample >= n) sample -= n;
    }
    s->values[j2] = hypot(cosines.re + sines.re, cosines.im + sines.im);
    if (j2) s->values[n - j2] = hypot(cosines.re - sines.re, cosines.im - sines.im);
}

static bool adjacent(const search *s, const int a[3], const int b[3]) {
    for (int axis = 0; axis < 3; axis++) {
        int distance = abs(a[axis] - b[axis]);
        if (distance > 1 && distance < s->samples[axis] - 1) return false;
    }
    return true;
}

/* Keeps a sample that is larger than the lowest peak; of adjacent samples, which lead to the same
 * maximum, the larger one. */
static void keep_peak(search *s, peak sample) {
    int at = 0;
    while (at < PEAKS && (s->peaks[at].value < 0 || !adjacent(s, sample.at, s->peaks[at].at))) at++;
    if (at == PEAKS) at = s->lowest;
    if (sample.value > s->peaks[at].value) s->peaks[at] = sample;
    for (int i = s->lowest = 0; i < PEAKS; i++)
        if (s->peaks[i].value < s->peaks[s->lowest].value) s->lowest = i;
}

static void scan(search *s) {
    for (int i = 0; i < PEAKS; i++) s->peaks[i].value = -1;
    for (int j0 = 0; j0 < s->scanned[0]; j0++) {
        fill_plane(s, j0);
        pair_plane(s);
        for (int j1 = 0; j1 < s->scanned[1]; j1++) {
            fill_row(s, j1);
            pair_row(s);
            for (int j2 = 0; 2 * j2 <= s->samples[2] && j2 < s->scanned[2]; j2++) sum_row(s, j2);
            for (int j2 = 0; j2 < s->scanned[2]; j2++)
                if (s->values[j2] > s->peaks[s->lowest].value)
                    keep_peak(s, (peak){.at = {j0, j1, j2}, .value = s->values[j2]});
        }
    }
}

/* After the scan, the first elements of an axis's roots hold exp(i k o) of its offsets, and the row
 * is a buffer. */
static void set_frequency(search *s, int axis, double k) {
    for (int place = 0; place < s->width[axis]; place++) {
        const double angle = k * (s->low[axis] + place);
        s->roots[axis][place] = (cplx){cos(angle), sin(angle)};
    }
}

/* Sums the lines of taps at the frequency that set_frequency set on axis 2. */
static void sum_lines(const search *s, cplx *line) {
    for (size_t l = 0, i = 0; l < s->lines; l++) {
        cplx sum = {0, 0};
        for (; i < s->line_end[l]; i++) {
            const stn_tap *tap = &s->taps[i];
            const cplx phase = s->roots[2][tap->offset[2] - s->low[2]];
            sum.re += tap->weight * phase.re, sum.im += tap->weight * phase.im;
        }
        line[l] = sum;
    }
}

/* |K| at the frequency that set_frequency set on each axis, from the sums of lines. */
static double magnitude(const search *s, const cplx *line) {
    cplx sum = {0, 0};
    for (size_t l = 0; l < s->lines; l++) {
        const int64_t *o = s->taps[s->line_end[l] - 1].offset;
        const cplx along = madd((cplx){0, 0}, line[l], s->roots[1][o[1] - s->low[1]]);
        sum = madd(sum, along, s->roots[0][o[0] - s->low[0]]);
    }
    return hypot(sum.re, sum.im);
}

/* Takes a step of this length along an axis if it increases |K|. */
static bool step_along(search *s, peak *top, int axis, double length) {
    const double before = top->k[axis];
    const size_t bytes = (size_t)s->width[axis] * sizeof *s->row;
    memcpy(s->row, s->roots[axis], bytes);
    top->k[axis] = before + length;
    set_frequency(s, axis, top->k[axis]);
    cplx *const line = axis == 2 ? s->spare : s->line;
    if (axis == 2) sum_lines(s, line);
    const double value = magnitude(s, line);
    if (value > top->value) {
        top->value = value;
        if (axis == 2) s->spare = s->line, s->line = line;
        return true;
    }
    top->k[axis] = before;
    memcpy(s->roots[axis], s->row, bytes);
    return false;
}

/* Compass search from the peak's position: tries a step in each direction, halves the step if none
 * increases |K|, and ends when the step is `finest` samples. */
static void climb(search *s, peak *top, double finest) {
    for (int axis = 0; axis < 3; axis++) set_frequency(s, axis, top->k[axis]);
    sum_lines(s, s->line);
    for (int step = 0; step < CLIMB_STEPS && top->scale > finest; step++) {
        bool moved = false;
        for (int way = 0; way < 6; way++) {
            const int axis = way / 2;
            const double length = top->scale * 2 * M_PI / s->samples[axis];
            if (s->width[axis] > 1 && step_along(s, top, axis, way % 2 ? -length : length)) moved = true;
        }
        if (!moved) top->scale /= 2;
    }
}

/* Searches from all peaks with a coarse final step, then refines those that can still be the
 * largest. */
static double climb_all(search *s) {
    double best = 0;
    for (int i = 0; i < PEAKS && s->peaks[i].value >= 0; i++) {
        peak *top = &s->peaks[i];
        for (int axis = 0; axis < 3; axis++) top->k[axis] = 2 * M_PI * top->at[axis] / s->samples[axis];
        top->scale = 1;
        climb(s, top, 0.2);
        best = fmax(best, top->value);
    }
    for (int i = 0; i < PEAKS && s->peaks[i].value >= 0; i++) {
        if (s->peaks[i].value < 0.95 * best) continue;
        climb(s, &s->peaks[i], 0x1p-14);
        best = fmax(best, s->peaks[i].value);
    }
    return best;
}

/* |K| at the corner where bit a of `corner` says that k along axis a is pi, else 0: the weights
 * with some signs flipped. Summed in long double, as the bound is, so that weights of sum 1 are not
 * reported as growing. */
static double corner_magnitude(size_t ntaps, const stn_tap *taps, int corner) {
    long double sum = 0;
    for (size_t i = 0; i < ntaps; i++) {
        const int64_t *o = taps[i].offset;
        int64_t flips = (corner & 1 ? o[0] : 0) + (corner & 2 ? o[1] : 0) + (corner & 4 ? o[2] : 0);
        sum += flips % 2 ? -taps[i].weight : taps[i].weight;
    }
    return (double)fabsl(sum);
}

double stn_taps_max_symbol(size_t ntaps, const stn_tap *taps) {
    long double sum = 0;
    for (size_t i = 0; i < ntaps; i++) sum += fabs(taps[i].weight);
    double bound = (double)sum, best = 0;
    /* Most stencils attain the upper bound, the sum of |weights|, at a corner. */
    for (int corner = 0; corner < 8; corner++) best = fmax(best, corner_magnitude(ntaps, taps, corner));
    if (best >= bound || !isfinite(bound)) return bound;

    search s = {.ntaps = ntaps, .taps = taps};
    find_offset_range(&s);
    double density = 4, work;
    while ((work = choose_samples(&s, density)) > SCAN_BUDGET && density > 2) density -= 0.5;
    /* Without time or memory, the upper bound is a valid answer. */
    if (work > MAX_WORK || !allocate(&s)) return bound;
    fill_roots(&s);
    scan(&s);
    best = fmax(best, climb_all(&s));
    free(s.roots[0]);
    return best;
}

bool stn_symbol_stable(double max_symbol, uint64_t steps) {
    return max_symbol <= 1 || (max_symbol <= 1 + STN_SYMBOL_ERROR && (double)steps * log2(max_symbol) < 1);
}

double stn_symbol_overflow(double max_symbol, stn_dtype dtype, double magnitude) {
    /* log10 of the largest number */
    static const double range[] = {[STN_F64] = 308.25, [STN_F32] = 38.53, [STN_F16] = 4.816};
    if (!(max_symbol > 1) || !(magnitude > 0)) return INFINITY;
    return fmax(ceil((range[dtype] - log10(magnitude)) / log10(max_symbol)), 1);
}
