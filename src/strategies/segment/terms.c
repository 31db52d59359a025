/* See terms.h. */
#include "strategies/segment/terms.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "strategies/segment/tables.h"

/* Values of m, ever closer to both ends of their range: powers change most there. As far as 0.003 / f from the end, where all are 1. */
enum { SAMPLES_HIGH = 260, SAMPLES_LOW = 100, SAMPLES = SAMPLES_HIGH + SAMPLES_LOW + 2 };
/* Powers that are looked at: all of the first, and of the others so many at even ratios. */
enum { FIRST_POWERS = 24, OTHER_POWERS = 140, POWERS = FIRST_POWERS + OTHER_POWERS + 1 };
#define NEAREST_END 0.003
#define MOST_GROWTH 4.0
#define ANGLES 1024 /* of a symbol that are looked at */

double segment_terms_tail(stn_dtype dtype) { return dtype == STN_F64 ? 2e-13 : dtype == STN_F32 ? 3e-7 : 1e-5; }

double segment_terms_error(stn_dtype dtype) { return (dtype == STN_F64 ? 1 : 2.5) * segment_terms_tail(dtype); }

/* ---- what m may be ------------------------------------------------------------------------------------------------- */

static double symbol_of(const segment_axis *a, double angle) {
    double sum = (double)a->weight[a->low];
    for (int i = a->low + 1; i < a->count; i++) sum += 2 * (double)a->weight[i] * cos((i - a->low) * angle);
    return sum;
}

static double angle_of(int i) { return acos(-1.0) * i / ANGLES; }

static void find_range(const segment_axis *a, double range[2]) {
    range[0] = INFINITY, range[1] = -INFINITY;
    for (int i = 0; i <= ANGLES; i++) {
        const double symbol = symbol_of(a, angle_of(i));
        range[0] = fmin(range[0], symbol), range[1] = fmax(range[1], symbol);
    }
}

static void find_product(const segment_axis *const along[2], segment_terms *terms) {
    double a[2], b[2];
    find_range(along[0], a), find_range(along[1], b);
    terms->low = INFINITY, terms->high = -INFINITY;
    for (int i = 0; i < 4; i++) {
        const double product = a[i % 2] * b[i / 2];
        terms->low = fmin(terms->low, product), terms->high = fmax(terms->high, product);
    }
}

/* Returns how many. */
static int list_samples(const segment_terms *terms, uint64_t steps, long double *sample) {
    const double ends[2] = {terms->high, terms->low}, nearest = log(NEAREST_END / (double)steps);
    int count = 0;
    for (int end = 0; end < 2; end++) {
        const int each = end ? SAMPLES_LOW : SAMPLES_HIGH;
        sample[count++] = ends[end];
        for (int i = 0; i < each; i++) {
            const double at = ends[end] * (1 - exp(nearest * i / (each - 1)));
            if (at >= terms->low && at <= terms->high) sample[count++] = at;
        }
    }
    return count;
}

static long double power_of(long double base, uint64_t exponent) {
    long double result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
    return result;
}

/* ---- which powers -------------------------------------------------------------------------------------------------- */

static int list_powers(uint64_t steps, uint32_t *power) {
    int count = 0;
    for (uint64_t k = 0; k < steps && k < FIRST_POWERS; k++) power[count++] = (uint32_t)k;
    for (int i = 0; i <= OTHER_POWERS && steps > FIRST_POWERS; i++) {
        const uint32_t k = (uint32_t)lround(pow((double)(steps - 1), (double)i / OTHER_POWERS));
        if (k > power[count - 1] && k < steps) power[count++] = k;
    }
    return count;
}

/* About as much is left anywhere of a one beside a side after k steps, times the powers that one stands for. */
static double size_of(const segment_axis *deep, const uint32_t *power, int count, int i) {
    const double from = power[i ? i - 1 : 0], to = power[i + 1 < count ? i + 1 : i];
    double sum = 0;
    for (int k = 0; k < ANGLES; k++)
        sum += sin(angle_of(k)) * pow(fabs(symbol_of(deep, angle_of(k))), (double)power[i]);
    return 2 * sum / ANGLES * fmax(1, (to - from) / 2);
}

static double dot(const double *a, const double *b, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static double largest_of(const double *column, int count) {
    double most = 0;
    for (int i = 0; i < count; i++) most = fmax(most, fabs(column[i]));
    return most;
}

/* Of all columns one after the other that which those before leave most of, until nothing is left. */
static bool take_largest(double *columns, int samples, const uint32_t *power, int count, double tail,
                         segment_terms *terms) {
    for (terms->count = 0;;) {
        int best = 0;
        double most = -1;
        for (int j = 0; j < count; j++) {
            const double size = largest_of(columns + j * samples, samples);
            if (size > most) most = size, best = j;
        }
        if (most < tail) return true;
        if (terms->count == SEGMENT_TERMS) return false;
        terms->power[terms->count++] = power[best];
        double own[SAMPLES] = {0};
        const double norm = sqrt(dot(columns + best * samples, columns + best * samples, samples));
        for (int i = 0; i < samples; i++) own[i] = columns[best * samples + i] / norm;
        for (int j = 0; j < count; j++) {
            double *const column = columns + j * samples;
            const double part = dot(own, column, samples);
            for (int i = 0; i < samples; i++) column[i] -= part * own[i];
        }
        memset(columns + best * samples, 0, (size_t)samples * sizeof *columns);
    }
}

static int by_power(const void *a, const void *b) {
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

bool segment_terms_find(const segment_axis *deep, const segment_axis *const along[2], uint64_t steps, stn_dtype dtype,
                        segment_terms *terms) {
    long double sample[SAMPLES];
    uint32_t power[POWERS];
    double range[2];
    *terms = (segment_terms){0};
    find_product(along, terms);
    find_range(deep, range);
    const double growth = fmax(fabs(range[0]), fabs(range[1])) * fmax(fabs(terms->low), fabs(terms->high));
    if (pow(growth, (double)steps) > MOST_GROWTH) return false;
    const int samples = list_samples(terms, steps, sample), count = list_powers(steps, power);
    double *columns = calloc((size_t)SAMPLES * POWERS, sizeof *columns);
    for (int j = 0; j < count && columns; j++) {
        const double size = size_of(deep, power, count, j);
        for (int i = 0; i < samples; i++) columns[j * samples + i] = size * (double)power_of(sample[i], power[j]);
    }
    const bool good = columns && take_largest(columns, samples, power, count, segment_terms_tail(dtype), terms);
    free(columns);
    if (good) qsort(terms->power, (size_t)terms->count, sizeof *terms->power, by_power);
    return good;
}

/* ---- what they are multiplied by ----------------------------------------------------------------------------------- */

typedef struct factors { /* the powers, orthogonal: power j is the sum over i <= j of q[i] times r[i][j] */
    int samples, count;
    long double q[SEGMENT_TERMS][SAMPLES], r[SEGMENT_TERMS][SEGMENT_TERMS];
} factors;

static long double dot_long(const long double *a, const long double *b, int count) {
    long double sum = 0;
    for (int i = 0; i < count; i++) sum += a[i] * b[i];
    return sum;
}

static void factorise(const segment_terms *terms, const long double *sample, factors *f) {
    f->count = terms->count;
    for (int j = 0; j < f->count; j++) {
        for (int i = 0; i < f->samples; i++) f->q[j][i] = power_of(sample[i], terms->power[j]);
        for (int again = 0; again < 2; again++) /* what rounding left of the others */
            for (int l = 0; l < j; l++) {
                const long double part = dot_long(f->q[l], f->q[j], f->samples);
                f->r[l][j] += part;
                for (int i = 0; i < f->samples; i++) f->q[j][i] -= part * f->q[l][i];
            }
        f->r[j][j] = sqrtl(dot_long(f->q[j], f->q[j], f->samples));
        for (int i = 0; i < f->samples && f->r[j][j] > 0; i++) f->q[j][i] /= f->r[j][j];
    }
}

/* One depth: as many of the first terms as leave less than `tail` of the samples in `rest`, or `least` of them; what is left in *off. */
static int fit_depth(const factors *f, long double *rest, int least, double tail, long double *factor, double *off) {
    int count = 0;
    for (;; count++) {
        *off = 0;
        for (int i = 0; i < f->samples; i++) *off = fmax(*off, (double)fabsl(rest[i]));
        if (count == f->count || (count >= least && *off < tail)) break;
        factor[count] = dot_long(f->q[count], rest, f->samples);
        for (int i = 0; i < f->samples; i++) rest[i] -= factor[count] * f->q[count][i];
    }
    for (int j = count - 1; j >= 0; j--) {
        for (int l = j + 1; l < count; l++) factor[j] -= f->r[j][l] * factor[l];
        factor[j] = f->r[j][j] > 0 ? factor[j] / f->r[j][j] : 0;
    }
    return count;
}

stn_status segment_terms_fit(const segment_axis *deep, int side, uint64_t steps, stn_dtype dtype,
                             const segment_terms *terms, int width, double *depth, int32_t *counts, double *off,
                             stn_error *error) {
    long double sample[SAMPLES], rest[SAMPLES], factor[SEGMENT_TERMS];
    factors *f = calloc(1, sizeof *f);
    double *sums = malloc(SAMPLES * (size_t)width * sizeof *sums);
    stn_status status = f && sums ? STN_OK : stn_fail_memory(error, "a side's terms", sizeof *f);
    *off = 0;
    if (status == STN_OK) {
        f->samples = list_samples(terms, steps, sample);
        factorise(terms, sample, f);
        status = segment_depths_make(deep, side, steps, width, sample, (size_t)f->samples, sums, error);
    }
    for (int d = width - 1, least = 0; status == STN_OK && d >= 0; d--) { /* ever more of them */
        double left;
        for (int i = 0; i < f->samples; i++) rest[i] = sums[(size_t)i * (size_t)width + (size_t)d];
        counts[d] = least = fit_depth(f, rest, least, segment_terms_tail(dtype), factor, &left);
        *off = fmax(*off, left);
        for (int j = 0; j < terms->count; j++) depth[j * width + d] = j < least ? (double)factor[j] : 0;
    }
    free(f), free(sums);
    return status;
}
