/* Rounds the weights of sparse's kernels to parts of 11 bits and predicts the error by comparing
 * symbols. */
#include "strategies/sparse/weight_rounding.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "plan/error_bound.h"

#define BITS 11

/* The nearest number of 11 bits; in f16 limited by its smallest unit. */
static float nearest(stn_dtype dtype, double number) {
    int exponent;
    if (dtype == STN_F16) return stn_half_to_float(stn_float_to_half((float)number));
    double part = frexp(number, &exponent);
    return (float)ldexp(rint(ldexp(part, BITS)), exponent - BITS);
}

double sparse_scale(const stn_task *task, const stn_power *power, bool bounded) {
    double largest = 0, sum = 0;
    int exponent = 0;
    for (size_t i = 0; i < stn_power_count(power); i++) {
        largest = fmax(largest, fabs((double)power->weight[i]));
        sum += fabs((double)power->weight[i]);
    }
    if (bounded) largest = sum;
    if ((task->dtype != STN_F16 && !bounded) || !(largest > 0) || !isfinite(largest)) return 1;
    return frexp(largest, &exponent) == 0.5 ? ldexp(1, exponent - 1) : ldexp(1, exponent);
}

bool sparse_any_weight(const stn_power *power) {
    for (size_t i = 0; i < stn_power_count(power); i++)
        if (power->weight[i] != 0) return true;
    return false;
}

/* The spacing of 11-bit numbers around a number, computed from the bits of its exponent, because
 * frexp and ldexp dominated the time of keep_sum. */
static double unit_of(stn_dtype dtype, float number) {
    uint32_t bits;
    uint64_t wide;
    double unit;
    memcpy(&bits, &number, sizeof bits);
    wide = (uint64_t)((bits >> 23 & 0xff) + 1023 - 126 - BITS) << 52;
    memcpy(&unit, &wide, sizeof unit);
    return dtype == STN_F16 ? fmax(unit, 0x1p-24) : unit;
}

/* The weight that stays nearest to its exact value when it moves by one unit to reduce the
 * remainder of the sum. `pairs`: mirrored weights move together. */
static size_t find_move(stn_dtype dtype, const stn_power *power, double scale, const float *part, double rest,
                        bool pairs) {
    size_t count = stn_power_count(power), best = count;
    double most = -0.6; /* in units: no weight may be off by more than 1.6 */
    for (size_t i = 0; i < (pairs ? (count + 1) / 2 : count); i++) {
        if (part[i] == 0) continue;
        double times = pairs && i != count - 1 - i ? 2 : 1, step = copysign(unit_of(dtype, part[i]), rest);
        if (fabs(rest - times * step) >= fabs(rest)) continue;
        double gain = ((double)power->weight[i] / scale - part[i]) / step;
        if (gain <= most) continue;
        most = gain;
        best = i;
    }
    return best;
}

/* Distributes the rounding remainder of the sum over the weights, one unit at a time, each to the
 * weight whose error grows least. Point-symmetric weights stay symmetric, because a drift would
 * accumulate too. */
static void keep_sum(stn_dtype dtype, const stn_power *power, double scale, float *part) {
    size_t count = stn_power_count(power);
    double rest = 0;
    bool pairs = true;
    for (size_t i = 0; i < count; i++) {
        rest += (double)power->weight[i] / scale - part[i];
        pairs = pairs && part[i] == part[count - 1 - i];
    }
    for (size_t move = 0; move < count && isfinite(rest); move++) {
        size_t i = find_move(dtype, power, scale, part, rest, pairs);
        if (i == count) return;
        float moved = (float)(part[i] + copysign(unit_of(dtype, part[i]), rest));
        rest -= (pairs && i != count - 1 - i ? 2 : 1) * ((double)moved - part[i]);
        part[i] = moved;
        if (pairs) part[count - 1 - i] = moved;
    }
}

void sparse_round(const stn_task *task, const stn_power *power, double scale, int parts, float *to) {
    size_t count = stn_power_count(power);
    for (size_t i = 0; i < count; i++) {
        double exact = (double)power->weight[i] / scale;
        to[i] = nearest(task->dtype, exact);
        if (parts == 2) to[count + i] = nearest(task->dtype, exact - to[i]);
    }
    if (parts == 1) keep_sum(task->dtype, power, scale, to);
}

/* ---- symbols */

#define OCTAVES 11   /* angles pi, pi / 2, .. and 0 */
#define EVEN 8       /* further angles, evenly spaced over half a circle */
#define DECAYED 1e-9 /* relative to the largest: smaller powers do not affect the error */
static_assert(1 + 2 * (OCTAVES + EVEN) <= SPARSE_MAX_FREQUENCIES, "an axis of all frequencies");

/* Each angle's share of [first, pi]: half the distance to either neighbour. */
static void fill_shares(const double *angle, int count, double first, double *share) {
    for (int i = 0; i < count; i++) {
        double below = -INFINITY, above = INFINITY;
        for (int k = 0; k < count; k++) {
            if (angle[k] < angle[i]) below = fmax(below, angle[k]);
            if (angle[k] > angle[i]) above = fmin(above, angle[k]);
        }
        double low = isfinite(below) ? (angle[i] + below) / 2 : first,
               high = isfinite(above) ? (angle[i] + above) / 2 : acos(-1);
        share[i] = (high - low) / (acos(-1) - first);
    }
}

/* Frequencies have both signs, except along the last axis: there the symbols of negative
 * frequencies are the complex conjugates. */
void sparse_frequencies_of(const stn_power *power, int axis, sparse_frequencies *f) {
    double angle[SPARSE_MAX_FREQUENCIES] = {0};
    f->count = 1;
    for (int sign = 1; power->size[axis] > 1 && sign >= (axis == 2 ? 1 : -1); sign -= 2) {
        for (int i = 0; i < OCTAVES; i++) angle[f->count++] = sign * ldexp(acos(-1), -i);
        for (int i = 1; i < EVEN && power->size[0] == 1; i++) angle[f->count++] = sign * acos(-1) * (i - 0.37) / EVEN;
    }
    fill_shares(angle, f->count, axis == 2 ? 0 : -acos(-1), f->share);
    for (int i = 0; i < f->count; i++) f->root[i] = cexp(I * angle[i]);
}

/* Complex sums of exact and of rounded weights, which the same instructions compute. */
typedef double both __attribute__((vector_size(2 * sizeof(double))));
typedef struct sums {
    both real, imaginary;
} sums;
static sums times(sums a, double complex root) {
    return (sums){a.real * creal(root) - a.imaginary * cimag(root), a.real * cimag(root) + a.imaginary * creal(root)};
}

/* The symbol's partial sums of weights along one axis, for each row of the remaining axes. */
static void sum_rows(const stn_power *power, const float *part, double scale, double complex root, sums *rows) {
    size_t columns = (size_t)power->size[2], count = stn_power_count(power) / columns;
    for (size_t r = 0; r < count; r++) {
        rows[r] = (sums){{0}, {0}};
        for (size_t x = columns; x-- > 0;) { /* Horner's scheme */
            rows[r] = times(rows[r], root);
            rows[r].real += (both){(double)power->weight[r * columns + x], part ? part[r * columns + x] * scale : 0};
        }
    }
}
static sums sum_of(const sums *parts, int count, double complex root) {
    sums sum = {{0}, {0}};
    for (int i = count; i-- > 0;) {
        sum = times(sum, root);
        sum.real += parts[i].real, sum.imaginary += parts[i].imaginary;
    }
    return sum;
}

sparse_symbol *sparse_symbols_make(const stn_power *power, const float *rounded, double scale,
                                   const sparse_frequencies along[3]) {
    const size_t all = sparse_frequencies_count(along), planes = (size_t)power->size[0],
                 rows = planes * (size_t)power->size[1];
    sparse_symbol *symbols = calloc(all, sizeof *symbols), *to = symbols;
    sums *row = malloc((rows + planes) * sizeof *row), *plane = row + (row ? rows : 0);
    if (!row || !symbols) {
        free(row);
        free(symbols);
        return NULL;
    }
    for (int x = 0; x < along[2].count; x++) {
        sum_rows(power, rounded, scale, along[2].root[x], row);
        for (int y = 0; y < along[1].count; y++) {
            for (size_t z = 0; z < planes; z++)
                plane[z] = sum_of(row + z * (size_t)power->size[1], power->size[1], along[1].root[y]);
            for (int z = 0; z < along[0].count; z++, to++) {
                const sums whole = sum_of(plane, power->size[0], along[0].root[z]);
                __real__ to->exact = whole.real[0], __imag__ to->exact = whole.imaginary[0];
                __real__ to->rounded = whole.real[1], __imag__ to->rounded = whole.imaginary[1];
                to->share = along[0].share[z] * along[1].share[y] * along[2].share[x];
            }
        }
    }
    free(row);
    return symbols;
}

/* Returns |a - b|^2 for a = exact^launches and b = rounded^launches, both divided by the power of a
 * symbol whose square is `largest`, without overflow: from their lengths and the angle between
 * them, a b 2 (1 - cos angle) = 4 a b sin^2(angle / 2). Complex logarithms would take five times as
 * long. */
static double powers_differ(const sparse_symbol *s, double launches, double largest, double *exact) {
    const double one = exp(0.5 * launches * log(sparse_square(s->exact) / largest));
    const double other = exp(0.5 * launches * log(sparse_square(s->rounded) / largest));
    const double angle = launches * carg(s->rounded * conj(s->exact)), half_sine = angle == 0 ? 0 : sin(angle / 2);
    *exact = one * one;
    return (one - other) * (one - other) + 4 * one * other * half_sine * half_sine;
}

double sparse_symbols_differ(const sparse_symbol *symbols, size_t count, double launches) {
    double largest = 0, difference = 0, squares = 0, all = 0, zero_difference = 0, zero_exact = 0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, sparse_square(symbols[i].exact));
    if (!(largest > 0) || !isfinite(largest)) return INFINITY;
    /* Squares below this have decayed. */
    const double decayed = largest * pow(DECAYED, 2 / launches);
    for (size_t i = 0; i < count; i++) {
        const sparse_symbol *s = &symbols[i];
        if (sparse_square(s->exact) < decayed && sparse_square(s->rounded) < decayed) continue;
        double exact, differ = powers_differ(s, launches, largest, &exact);
        if (isnan(differ)) return INFINITY;
        difference = fmax(difference, differ);
        squares += s->share * differ;
        all += s->share * exact;
        if (i == 0) zero_difference = differ, zero_exact = exact; /* frequency 0 */
    }
    if (!(all > 0)) return sqrt(difference);
    /* The squared mean of random numbers in [0, 1) is three times their variance; it is at
     * frequency 0. */
    const double positive = (squares + 3 * zero_difference) / (all + 3 * zero_exact);
    return sqrt(fmax(difference, fmax(squares / all, positive)));
}

double sparse_difference(const stn_power *power, const float *rounded, double scale, double launches) {
    sparse_frequencies along[3];
    for (int axis = 0; axis < 3; axis++) sparse_frequencies_of(power, axis, &along[axis]);
    sparse_symbol *symbols = sparse_symbols_make(power, rounded, scale, along);
    const double error = symbols ? sparse_symbols_differ(symbols, sparse_frequencies_count(along), launches) : INFINITY;
    free(symbols);
    return error;
}

double sparse_rounding(const stn_task *task, const stn_power *power, bool bounded, int parts, double launches) {
    /* 22 bits or more remain, with random rounding errors. */
    if (parts == 2) return launches * 0x1p-23;
    double error = INFINITY, scale = sparse_scale(task, power, bounded);
    float *rounded = calloc(stn_power_count(power) + 1, sizeof *rounded);
    if (rounded) {
        sparse_round(task, power, scale, parts, rounded);
        error = sparse_difference(power, rounded, scale, launches);
    }
    free(rounded);
    return error;
}

double sparse_error(const sparse_shape *shape) { return hypot(shape->rounding, shape->noise); }

bool sparse_is_accurate(const stn_task *task, const sparse_shape *shape, double part) {
    const stn_task all = stn_task_whole_run(task);
    return (double)task->snapshots * sparse_error(shape) <= part * stn_error_bound(&all);
}
