/* Finds the frequencies that have not decayed after all steps; see stencil_symbol.h.
 *
 * With one axis's frequency fixed, |K| is bounded over all frequencies of the other axes by
 * samples: the largest of m samples around the circle of a trigonometric polynomial of degree d is
 * at least cos(pi d / m) times its maximum. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/text.h"
#include "context/search_cache.h"
#include "strategies/common/stencil_symbol.h"

#define WIDEST (2 * STN_MAX_RADIUS + 1)
#define BUDGET 3e7   /* complex products, about 50 ms */
enum { STRIDE = 8 }; /* of the samples that are computed first */

typedef struct scan {
    const stn_task *task;
    int axis, others[2];
    int low[3], width[3];
    int samples[2];
    double complex *roots[2]; /* for each other axis: exp(2 pi i j / samples) */
    double complex *coarse;   /* each STRIDE-th root of the second of the other axes */
    /* Weights summed along the axis, by their offsets along the others, [width][width]. */
    double complex *sums;
    double bound;           /* ratio of the maximum to the largest sample, at most */
    double coarse_bound[2]; /* the same of each STRIDE-th sample along one axis */
} scan;

static double degree(const scan *s, int other) { return (s->width[s->others[other]] - 1) / 2.0; }

static int coarse_samples(const scan *s, int other) { return (s->samples[other] + STRIDE - 1) / STRIDE; }

static bool open_scan(scan *s, const stn_task *task, int axis, int64_t length) {
    *s = (scan){.task = task, .axis = axis, .others = {axis == 0 ? 1 : 0, axis == 2 ? 1 : 2}, .bound = 1};
    double work = (double)length / 2;
    bool both = true;
    for (int k = 0; k < 3; k++) {
        s->low[k] = task->reach[k][0];
        s->width[k] = task->reach[k][0] + task->reach[k][1] + 1;
        both = both && (k == axis || s->width[k] > 1);
    }
    for (int o = 0; o < 2; o++) {
        s->samples[o] = s->width[s->others[o]] == 1 ? 1 : (int)ceil((both ? 64 : 256) * degree(s, o));
        s->bound /= cos(M_PI * degree(s, o) / s->samples[o]);
        s->coarse_bound[o] = 1 / cos(M_PI * degree(s, o) / coarse_samples(s, o));
        work *= s->samples[o];
    }
    work = work * s->width[s->others[1]] / 2 + (double)length / 2 * (double)task->ntaps;
    if (work > BUDGET) return false;
    s->sums = malloc((size_t)(s->width[s->others[0]] * s->width[s->others[1]]) * sizeof *s->sums);
    for (int o = 0; o < 2; o++) {
        s->roots[o] = malloc((size_t)s->samples[o] * sizeof *s->roots[o]);
        for (int j = 0; s->roots[o] && j < s->samples[o]; j++) s->roots[o][j] = cexp(2 * M_PI * I * j / s->samples[o]);
    }
    s->coarse = malloc((size_t)coarse_samples(s, 1) * sizeof *s->coarse);
    for (int k = 0; s->coarse && s->roots[1] && k < coarse_samples(s, 1); k++) s->coarse[k] = s->roots[1][k * STRIDE];
    return s->sums && s->roots[0] && s->roots[1] && s->coarse;
}

static void close_scan(scan *s) { free(s->sums), free(s->roots[0]), free(s->roots[1]), free(s->coarse); }

static void sum_others(scan *s, double angle) {
    const int *o = s->others, width = s->width[o[1]];
    /* Uses powers of the root: a plan evaluates thousands of frequencies. */
    double complex roots[WIDEST], root = cexp(I * angle);
    roots[0] = cexp(-I * angle * (double)s->low[s->axis]);
    for (int i = 1; i < s->width[s->axis]; i++) roots[i] = roots[i - 1] * root;
    memset(s->sums, 0, (size_t)(s->width[o[0]] * width) * sizeof *s->sums);
    for (size_t i = 0; i < s->task->ntaps; i++) {
        const stn_tap *tap = &s->task->taps[i];
        int64_t at = (tap->offset[o[0]] + s->low[o[0]]) * width + tap->offset[o[1]] + s->low[o[1]];
        s->sums[at] += tap->weight * roots[tap->offset[s->axis] + s->low[s->axis]];
    }
}

/* The largest |line[0] + line[1] z + ..|^2 of `count` values z, at most CHUNK. Horner's scheme is
 * computed for all of them together, in loops that compilers vectorise. */
enum { CHUNK = 64 };
static double largest_square(const double complex *line, int width, const double complex *z, int64_t count) {
    double re[CHUNK], im[CHUNK], z_re[CHUNK], z_im[CHUNK], most = 0;
    for (int64_t k = 0; k < count; k++) {
        z_re[k] = creal(z[k]), z_im[k] = cimag(z[k]);
        re[k] = creal(line[width - 1]), im[k] = cimag(line[width - 1]);
    }
    for (int i = width - 2; i >= 0; i--) {
        const double own_re = creal(line[i]), own_im = cimag(line[i]);
        for (int64_t k = 0; k < count; k++) {
            const double x = re[k], y = im[k];
            re[k] = own_re + (x * z_re[k] - y * z_im[k]);
            im[k] = own_im + (x * z_im[k] + y * z_re[k]);
        }
    }
    for (int64_t k = 0; k < count; k++) {
        const double square = re[k] * re[k] + im[k] * im[k];
        most = square > most ? square : most;
    }
    return most;
}

static double largest_at(const double complex *line, int width, const double complex *z, int64_t count) {
    double most = 0;
    for (int64_t k = 0; k < count; k += CHUNK)
        most = fmax(most, largest_square(line, width, z + k, stn_min(CHUNK, count - k)));
    return sqrt(most);
}

static double sum_of_magnitudes(const double complex *values, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += cabs(values[i]);
    return sum;
}

/* The sums along the second of the other axes at sample j of the first one. */
static void sum_row(const scan *s, int64_t j, double complex line[WIDEST]) {
    const int rows = s->width[s->others[0]], width = s->width[s->others[1]];
    memset(line, 0, (size_t)width * sizeof *line);
    for (int r = 0; r < rows; r++) {
        const double complex root = s->roots[0][j * r % s->samples[0]];
        for (int i = 0; i < width; i++) line[i] += root * s->sums[r * width + i];
    }
}

/* An upper bound on |K| at one frequency of the axis from few samples. */
static double coarse_bound(const scan *s) {
    const int width = s->width[s->others[1]];
    double complex line[WIDEST];
    double most = 0;
    for (int j = 0; j < s->samples[0]; j += STRIDE) {
        sum_row(s, j, line);
        most = fmax(most, largest_at(line, width, s->coarse, coarse_samples(s, 1)));
    }
    return most * s->coarse_bound[0] * s->coarse_bound[1];
}

/* The largest sampled |K| at one frequency of the axis if that times `bound` is at least `enough`,
 * else an upper bound on it below that. Sampling ends once a sample is large enough, which is most
 * often soon, and rows that are bounded below it are not sampled. K(-k) is the conjugate of K(k),
 * but the axis's frequency is fixed here, so the others are sampled around the whole circle. */
static double largest_sample(const scan *s, double enough) {
    const int width = s->width[s->others[1]];
    double complex line[WIDEST];
    double most = 0;
    for (int j = 0; j < s->samples[0] && most * s->bound < enough; j++) {
        sum_row(s, j, line);
        double row = sum_of_magnitudes(line, width);
        if (row * s->bound >= enough)
            row = fmin(row, largest_at(line, width, s->coarse, coarse_samples(s, 1)) * s->coarse_bound[1]);
        if (row * s->bound >= enough) row = largest_at(line, width, s->roots[1], s->samples[1]);
        most = fmax(most, row);
    }
    return most;
}

/* An upper bound on |K| at one frequency of the axis; for weights of one sign it is the maximum,
 * without samples. */
static double most_possible(const scan *s) {
    return sum_of_magnitudes(s->sums, s->width[s->others[0]] * s->width[s->others[1]]);
}

/* The largest possible change of that bound, and of a sample, between adjacent frequencies of the
 * axis. */
static double most_change(const stn_task *task, int axis, int64_t length) {
    double slope = 0;
    for (size_t i = 0; i < task->ntaps; i++) slope += fabs(task->taps[i].weight * (double)task->taps[i].offset[axis]);
    return 2 * M_PI / (double)length * slope;
}

/* The number of retained frequencies, found from the highest frequency downwards. A frequency has
 * decayed if the largest sample times s.bound is below the threshold; two cheaper upper bounds are
 * tried first. `slack` is how much the value that was compared may grow: it changes by at most
 * `change` from one frequency to the next, so frequencies within slack / change are skipped. */
static int64_t search_retained(const stn_task *task, int axis, int64_t length, double decay_threshold) {
    scan s;
    int64_t kept = length / 2 + 1;
    const double change = 1.001 * most_change(task, axis, length), threshold = 1 - decay_threshold;
    if (open_scan(&s, task, axis, length))
        while (kept > 1) {
            sum_others(&s, 2 * M_PI * (double)(kept - 1) / (double)length);
            double slack = threshold - most_possible(&s);
            if (!(slack > 0)) slack = (threshold - coarse_bound(&s) * s.bound) / s.bound;
            if (!(slack > 0)) slack = (threshold - largest_sample(&s, threshold) * s.bound) / s.bound;
            if (!(slack > 0)) break;
            kept = stn_max(1, kept - 1 - (int64_t)fmin(slack / change, (double)length));
        }
    close_scan(&s);
    return kept;
}

int64_t stn_symbol_retained(const stn_task *task, int axis, int64_t length, double decay_threshold) {
    const double numbers[] = {axis, (double)length, decay_threshold};
    stn_text key = STN_TEXT_EMPTY;
    int64_t kept;
    stn_text_append(&key, (const char *)numbers, sizeof numbers);
    stn_text_append(&key, (const char *)task->taps, task->ntaps * sizeof *task->taps);
    stn_search_cache *searches = key.failed ? NULL : task->searches;
    if (!stn_search_cache_lookup(searches, STN_SEARCH_CACHE_RETAINED, key.data, key.size, &kept, sizeof kept)) {
        kept = search_retained(task, axis, length, decay_threshold);
        stn_search_cache_store(searches, STN_SEARCH_CACHE_RETAINED, key.data, key.size, &kept, sizeof kept);
    }
    stn_text_clear(&key);
    return kept;
}
