/* See accuracy.h. */
#include "strategies/sparse/accuracy.h"

#include <math.h>
#include <stdlib.h>

#include "base/half.h"
#include "plan/accuracy.h"

#define BITS 11

size_t sparse_weights(const stn_power *power) {
    return (size_t)power->size[0] * (size_t)power->size[1] * (size_t)power->size[2];
}

/* The nearest number of 11 bits; of f16, no smaller unit than its own. */
static float nearest(stn_dtype dtype, double number) {
    int exponent;
    if (dtype == STN_F16) return stn_half_to_float(stn_float_to_half((float)number));
    double part = frexp(number, &exponent);
    return (float)ldexp(rint(ldexp(part, BITS)), exponent - BITS);
}

double sparse_scale(const stn_task *task, const stn_power *power, bool bounded) {
    double largest = 0, sum = 0;
    int exponent = 0;
    for (size_t i = 0; i < sparse_weights(power); i++) {
        largest = fmax(largest, fabs((double)power->weight[i]));
        sum += fabs((double)power->weight[i]);
    }
    if (bounded) largest = sum;
    if (task->dtype != STN_F16 || !(largest > 0) || !isfinite(largest)) return 1;
    return frexp(largest, &exponent) == 0.5 ? ldexp(1, exponent - 1) : ldexp(1, exponent);
}

bool sparse_any_weight(const stn_power *power) {
    for (size_t i = 0; i < sparse_weights(power); i++)
        if (power->weight[i] != 0) return true;
    return false;
}

/* The distance to a number's neighbours among those of 11 bits. */
static double unit_of(stn_dtype dtype, double number) {
    int exponent;
    frexp(number, &exponent);
    double unit = ldexp(1, exponent - BITS);
    return dtype == STN_F16 ? fmax(unit, 0x1p-24) : unit;
}

/* The weight that comes nearest to its own value when it moves by one unit to lessen what is left of the sum; `pairs`: weights that
 * mirror each other move together. */
static size_t find_move(stn_dtype dtype, const stn_power *power, double scale, const float *part, double rest,
                        bool pairs) {
    size_t count = sparse_weights(power), best = count;
    double most = -0.6; /* units: no weight errs by more than 1.6 */
    for (size_t i = 0; i < (pairs ? (count + 1) / 2 : count); i++) {
        double times = pairs && i != count - 1 - i ? 2 : 1, step = copysign(unit_of(dtype, part[i]), rest);
        if (part[i] == 0 || fabs(rest - times * step) >= fabs(rest)) continue;
        double gain = ((double)power->weight[i] / scale - part[i]) / step;
        if (gain <= most) continue;
        most = gain;
        best = i;
    }
    return best;
}

/* What rounding leaves of the sum goes to the weights that it costs least, a unit each. Where they are the same turned about, they
 * stay so: a drift would add up too. */
static void keep_sum(stn_dtype dtype, const stn_power *power, double scale, float *part) {
    size_t count = sparse_weights(power);
    double rest = 0;
    bool pairs = true;
    for (size_t i = 0; i < count; i++) {
        rest += (double)power->weight[i] / scale - part[i];
        pairs = pairs && part[i] == part[count - 1 - i];
    }
    for (size_t turn = 0; turn < count && isfinite(rest); turn++) {
        size_t i = find_move(dtype, power, scale, part, rest, pairs);
        if (i == count) return;
        float moved = (float)(part[i] + copysign(unit_of(dtype, part[i]), rest));
        rest -= (pairs && i != count - 1 - i ? 2 : 1) * ((double)moved - part[i]);
        part[i] = moved;
        if (pairs) part[count - 1 - i] = moved;
    }
}

void sparse_round(const stn_task *task, const stn_power *power, double scale, int parts, float *to) {
    size_t count = sparse_weights(power);
    for (size_t i = 0; i < count; i++) {
        double exact = (double)power->weight[i] / scale;
        to[i] = nearest(task->dtype, exact);
        if (parts == 2) to[count + i] = nearest(task->dtype, exact - to[i]);
    }
    if (parts == 1) keep_sum(task->dtype, power, scale, to);
}

/* ---- symbols ---------------------------------------------------------------------------------------------------- */

#define OCTAVES SPARSE_OCTAVES
#define EVEN SPARSE_EVEN
#define DEAD 1e-9 /* a part of the largest that changes no error */

/* Half the way to either neighbour, of angles from `first` to pi. */
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

/* Angles of one axis, both signs but for the last axis, whose other half is conjugate. */
int sparse_angles(const stn_power *power, int axis, double angle[SPARSE_MOST_ANGLES],
                  double share[SPARSE_MOST_ANGLES]) {
    int count = 0;
    angle[count++] = 0;
    share[0] = 1;
    if (power->size[axis] == 1) return count;
    for (int sign = 1; sign >= (axis == 2 ? 1 : -1); sign -= 2) {
        for (int i = 0; i < OCTAVES; i++) angle[count++] = sign * ldexp(acos(-1), -i);
        for (int i = 1; i < EVEN && power->size[0] == 1; i++) angle[count++] = sign * acos(-1) * (i - 0.37) / EVEN;
    }
    fill_shares(angle, count, axis == 2 ? 0 : -acos(-1), share);
    return count;
}

/* Sums over x of each row at one angle along x. */
static void sum_rows(const stn_power *power, const float *part, double scale, double angle, sparse_symbol *rows) {
    double complex turn = cexp(I * angle);
    size_t columns = (size_t)power->size[2], count = sparse_weights(power) / columns;
    for (size_t r = 0; r < count; r++) {
        rows[r] = (sparse_symbol){0, 0, 0};
        for (size_t x = columns; x-- > 0;) { /* Horner */
            rows[r].exact = rows[r].exact * turn + (double)power->weight[r * columns + x];
            rows[r].rounded = rows[r].rounded * turn + part[r * columns + x] * scale;
        }
    }
}

static sparse_symbol sum_planes(const stn_power *power, const sparse_symbol *rows, double angle_z, double angle_y) {
    double complex turn_z = cexp(I * angle_z), turn_y = cexp(I * angle_y);
    sparse_symbol sum = {0, 0, 0};
    for (int z = power->size[0]; z-- > 0;) {
        sparse_symbol plane = {0, 0, 0};
        for (int y = power->size[1]; y-- > 0;) {
            const sparse_symbol *row = &rows[(size_t)z * (size_t)power->size[1] + (size_t)y];
            plane.exact = plane.exact * turn_y + row->exact;
            plane.rounded = plane.rounded * turn_y + row->rounded;
        }
        sum.exact = sum.exact * turn_z + plane.exact;
        sum.rounded = sum.rounded * turn_z + plane.rounded;
    }
    return sum;
}

/* Powers of symbols over the largest of them: numbers of any size. */
static double complex power_of(double complex symbol, double launches, double log_largest) {
    if (cabs(symbol) == 0) return 0;
    return cexp(launches * (clog(symbol) - log_largest));
}

static double square(double complex z) { return creal(z) * creal(z) + cimag(z) * cimag(z); }

double sparse_symbols_differ(const sparse_symbol *symbols, size_t count, double launches) {
    double largest = 0, difference = 0, squares = 0, all = 0;
    for (size_t i = 0; i < count; i++) largest = fmax(largest, square(symbols[i].exact));
    if (!(largest > 0) || !isfinite(largest)) return INFINITY;
    const double log_largest = 0.5 * log(largest);
    const double dead = largest * pow(DEAD, 2 / launches); /* squares of what nothing is left of */
    for (size_t i = 0; i < count; i++) {
        const sparse_symbol *s = &symbols[i];
        if (square(s->exact) < dead && square(s->rounded) < dead) continue;
        const double complex exact = power_of(s->exact, launches, log_largest);
        const double differ = square(power_of(s->rounded, launches, log_largest) - exact);
        difference = fmax(difference, differ);
        squares += s->share * differ;
        all += s->share * square(exact);
    }
    return sqrt(fmax(difference, all > 0 ? squares / all : 0));
}

double sparse_difference(const stn_power *power, const float *rounded, double scale, double launches) {
    double angle[3][SPARSE_MOST_ANGLES], share[3][SPARSE_MOST_ANGLES], error = INFINITY;
    int angles[3];
    for (int axis = 0; axis < 3; axis++) angles[axis] = sparse_angles(power, axis, angle[axis], share[axis]);
    size_t all = (size_t)angles[0] * (size_t)angles[1] * (size_t)angles[2], at = 0;
    sparse_symbol *pairs = calloc(all, sizeof *pairs), *rows = calloc(sparse_weights(power) + 1, sizeof *rows);
    if (pairs && rows) {
        for (int x = 0; x < angles[2]; x++) {
            sum_rows(power, rounded, scale, angle[2][x], rows);
            for (int z = 0; z < angles[0]; z++)
                for (int y = 0; y < angles[1]; y++) {
                    pairs[at] = sum_planes(power, rows, angle[0][z], angle[1][y]);
                    pairs[at++].share = share[0][z] * share[1][y] * share[2][x];
                }
        }
        error = sparse_symbols_differ(pairs, all, launches);
    }
    free(pairs);
    free(rows);
    return error;
}

double sparse_rounding(const stn_task *task, const stn_power *power, bool bounded, int parts, double launches) {
    if (parts == 2) return launches * 0x1p-23; /* 22 bits and more are left, which err by chance */
    double error = INFINITY, scale = sparse_scale(task, power, bounded);
    float *rounded = calloc(sparse_weights(power) + 1, sizeof *rounded);
    if (rounded) {
        sparse_round(task, power, scale, parts, rounded);
        error = sparse_difference(power, rounded, scale, launches);
    }
    free(rounded);
    return error;
}

double sparse_error(const sparse_shape *shape) { return hypot(shape->rounding, shape->noise); }
