/* Predicts the error of rounding elements to 11 bits in every launch.
 *
 * A launch's rounding errors e are white noise: n later launches multiply their square by P(n f),
 * where P(m) is the mean of |K|^2m over all frequencies. They multiply the square of random data by
 * the same number. The squared error after all L launches, relative to the result, is
 *
 *     for random data       e^2 (1 + sum over 0 < i < L of  P(i f) P((L - i) f) / P(L f))
 *     for data with a mean  e^2 (1 + sum over 0 < i < L of  P(i f))
 *
 * The first and the last terms dominate the first sum, the first terms the second. These are means
 * over all frequencies; a grid of few points has few of them: see common/rounding_on_few_points.h.
 */
#include "strategies/sparse/rounding_noise.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

#include "plan/error_bound.h"
#include "strategies/common/rounding_on_few_points.h"
#include "strategies/sparse/weight_rounding.h"

/* Number of angles of an axis by rank; they are denser near 0, where the result of long runs is
 * concentrated. */
static const int angles_of_rank[] = {0, SPARSE_MAX_FREQUENCIES, 24, 10};

/* Angles pi u^2 for u evenly in 0 .. 1, and the share of each; both signs except on the last axis.
 */
static void find_frequencies(const stn_task *task, int axis, sparse_frequencies *f) {
    const int each = angles_of_rank[task->rank];
    *f = (sparse_frequencies){.count = 1, .share = {1}, .root = {1}};
    if (axis < 3 - task->rank) return;
    f->count = 0;
    for (int sign = 1; sign >= (axis == 2 ? 1 : -1); sign -= 2)
        for (int i = 0; i < each; i++, f->count++) {
            const double u = (i + 0.5) / each;
            f->root[f->count] = cexp(I * sign * acos(-1) * u * u);
            f->share[f->count] = 2 * u / each / (axis == 2 ? 1 : 2);
        }
}

static bool fill_spectrum(const sparse_symbol *symbols, size_t count, double sum, sparse_spectrum *spectrum) {
    double largest = sum * sum;
    spectrum->log_square = malloc((2 * count + 1) * sizeof(double));
    if (!spectrum->log_square) return false;
    spectrum->count = count;
    spectrum->share = spectrum->log_square + count;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, sparse_square(symbols[i].exact));
    for (size_t i = 0; i < count; i++) {
        const double square = sparse_square(symbols[i].exact);
        spectrum->log_square[i] = square > 0 ? log(square / largest) : -INFINITY;
        spectrum->share[i] = symbols[i].share;
    }
    spectrum->log_largest = 0.5 * log(largest);
    return true;
}

bool sparse_spectrum_make(const stn_task *task, sparse_spectrum *spectrum) {
    sparse_frequencies along[3];
    stn_power taps;
    double sum = 0;
    *spectrum = (sparse_spectrum){0};
    if (stn_power_make(task, &taps, NULL) != STN_OK) return false;
    for (int axis = 0; axis < 3; axis++) find_frequencies(task, axis, &along[axis]);
    for (size_t k = 0; k < task->ntaps; k++) sum += task->taps[k].weight;
    sparse_symbol *symbols = sparse_symbols_make(&taps, NULL, 1, along);
    const bool good = symbols && fill_spectrum(symbols, sparse_frequencies_count(along), sum, spectrum);
    free(symbols);
    stn_power_clear(&taps);
    return good;
}

void sparse_spectrum_clear(sparse_spectrum *spectrum) {
    free(spectrum->log_square);
    *spectrum = (sparse_spectrum){0};
}

/* Returns |K|^2 to a power, from its logarithm; much faster than pow where that underflows. Values
 * below e^-80 do not change a sum with a term of 1. */
static double raised(double log_square, double steps) {
    const double at = steps > 0 ? log_square * steps : 0;
    return at < -80 ? 0 : exp(at);
}

/* The geometric sum is evaluated in closed form. */
const sparse_damping *sparse_spectrum_damping(sparse_spectrum *s, double fused, double launches) {
    const double half = ceil(launches / 2);
    if (s->left.fused == fused && s->left.launches == launches) return &s->left;
    sparse_damping left = {.fused = fused, .launches = launches};
    for (size_t i = 0; i < s->count; i++) {
        const double one = raised(s->log_square[i], fused), middle = raised(s->log_square[i], fused * half),
                     last = raised(s->log_square[i], fused * (launches - 1));
        left.one += s->share[i] * one;
        left.half += s->share[i] * middle;
        left.last += s->share[i] * last;
        left.all += s->share[i] * one * last;
        left.sum_to_half += s->share[i] * (one < 1 - 1e-9 ? one * (1 - middle) / (1 - one) : half);
    }
    s->left = left;
    return &s->left;
}

/* The squared error of all launches relative to that of one launch, on a grid of many points. */
static double growth(const sparse_damping *left) {
    const double launches = left->launches;
    if (launches < 2) return 1;
    const double ratio = left->all > 0 ? fmin(4, left->half / left->all) : 4;
    const double ends = launches > 2 ? 2 * ratio * left->sum_to_half : 0;
    return 1 + fmin(ends, 4 * launches);
}

/* The growth on the task's number of points. The last result is cached, because shapes with the
 * same number of launches follow each other. */
static double few_points_growth(const stn_task *task, sparse_spectrum *s, const sparse_damping *left) {
    if (s->few.fused != left->fused || s->few.launches != left->launches) {
        s->few = (sparse_few_points){.fused = left->fused, .launches = left->launches};
        s->few.growth_factor = stn_rounding_accumulated(task, left->launches, growth(left));
    }
    return s->few.growth_factor;
}

/* ---- rounding between the products of a chain */

typedef struct moments {
    double sum, sizes, squares;
} moments;
static moments moments_of(const stn_power *factor) {
    moments m = {0, 0, 0};
    for (int i = 0; i < factor->size[2]; i++) {
        double weight = (double)factor->weight[i];
        m.sum += weight, m.sizes += fabs(weight), m.squares += weight * weight;
    }
    return m;
}

static double dot(const stn_power *a, const stn_power *b) {
    double sum = 0;
    for (int i = 0; i < a->size[2]; i++) sum += (double)a->weight[i] * (double)b->weight[i];
    return sum;
}

/* The squared error of rounding between the products of one launch, relative to its output, in
 * units of the squared rounding error of an element. first: for random data, whose mean is 0 or
 * whose squared mean is three times the variance; later: for data smoothed by earlier launches. */
typedef struct chain_rounding {
    double first, later;
} chain_rounding;
static chain_rounding chain_rounding_of(const sparse_spectrum *s, const sparse_terms *terms, double fused) {
    double white = 0, mean = 0, smooth = 0, all_white = 0, sum = 0, largest = exp(2 * fused * s->log_largest);
    for (int q = 0; q < terms->count; q++) {
        const stn_power *y = &terms->factor[q][0], *x = &terms->factor[q][1];
        moments u = moments_of(y), v = moments_of(x);
        white += u.squares * v.squares;
        mean += u.squares * v.sum * v.sum;
        smooth += u.squares * v.sizes * v.sizes;
        sum += u.sum * v.sum;
        for (int p = 0; p < terms->count; p++) all_white += dot(y, &terms->factor[p][0]) * dot(x, &terms->factor[p][1]);
    }
    if (!(all_white > 0) || !(largest > 0)) return (chain_rounding){INFINITY, INFINITY};
    return (chain_rounding){fmax(white / all_white, (white + 3 * mean) / (all_white + 3 * sum * sum)),
                            smooth / largest};
}

/* ---- total error */

/* Points that a launch changes by less than half a rounding unit stay constant, so that waves decay
 * too slowly. Fitted to runs of random data of mean 0 by heat-1d, heat-2d, box-2d9p and box-3d27p,
 * of 100 to 2000 launches of 1 to 15 steps, within a factor of 0.95 to 2. */
static double freezing_error(const sparse_damping *left) {
    return left->launches < 2 ? 0 : 0.028 * pow(left->one, 1.3) * pow(left->launches / 334, 1.5);
}

/* The largest relative loss of a sum for each product, by the tensor cores' truncation. Fitted to
 * box-2d49p in 3 steps a launch (38 products), whose other errors are known. The loss is a third of
 * this if the middle rows have most of the weight. */
#define CUT_OFF 6e-8

/* Products that are accumulated into one number. */
static double products_of_sum(const stn_task *task, const sparse_shape *shape) {
    sparse_rows rows = {.all = 1};
    if (!shape->terms && task->rank > 1) sparse_rows_of(task, shape->fused, &rows);
    double along = shape->parts * shape->halves / 2.0;
    if (!shape->terms) return along * rows.all;
    return along + shape->parts * shape->terms * shape->halves_y / 2.0;
}

/* The error if elements are in two parts. The products of one left factor have an accumulator of
 * their own, which loses about one unit in the last place that tensor cores keep, 22 bits below the
 * largest number (see tests/emulator/mma.cpp); the loss is the same in all launches. The sums of
 * these accumulators have random rounding errors. */
#define CUT_OFF_ONE 2e-7
static double split_noise(const stn_task *task, const sparse_shape *shape) {
    sparse_rows rows = {.all = 1};
    sparse_rows_of(task, shape->fused, &rows);
    double chance = stn_error_rounding(STN_F32) * sqrt(rows.all * shape->halves / 2.0);
    return stn_error_accumulated(CUT_OFF_ONE, chance, shape->launches) * stn_error_cancellation(task);
}

/* 1 + FEW / sqrt(points) bounds the ratio of the largest random error to the mean one. Over 110
 * random grids, on the emulator, this ratio was 2.2 for 64 points, 1.35 for 256, 1.2 for 576 and
 * 1.07 for 4096. */
#define FEW 10.0

double sparse_noise(const stn_task *task, sparse_spectrum *s, const sparse_shape *shape, const sparse_terms *terms) {
    const double launches = shape->launches, points = (double)stn_task_points(task);
    if (shape->split) return split_noise(task, shape);
    if (!s->count) return INFINITY;
    const sparse_damping *left = sparse_spectrum_damping(s, shape->fused, launches);
    double growth_factor = few_points_growth(task, s, left), chained = 0;
    if (terms) {
        chain_rounding b = chain_rounding_of(s, terms, shape->fused);
        chained = b.first;
        if (launches > 1) {
            const double ratio = left->all > 0 ? fmin(4, left->last / left->all) : 4;
            chained = ratio * (b.first * fmin(1, left->one) + b.later * growth_factor);
        }
    }
    const double few = 1 + FEW / sqrt(points);
    double chance = few * stn_error_rounding(STN_F16) * sqrt(growth_factor + chained) * stn_error_cancellation(task);
    const double cut = launches * CUT_OFF * products_of_sum(task, shape);
    /* Truncation makes results smaller, freezing makes them larger. */
    return hypot(chance, fmax(cut, freezing_error(left) - cut / 3));
}
