/* The size of a symbol, the threshold for decayed modes, and the error of its powers and of
 * transforms; see stencil_symbol.h. */
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "context/search_cache.h"
#include "plan/error_bound.h"
#include "strategies/common/reach.h"
#include "strategies/common/stencil_symbol.h"

#define FEW 1e5 /* largest number of taps times frequencies evaluated one by one: some ms */

/* The taps summed along axes 0 and 1 at one frequency of each, by their offsets along axis 2. */
static void sum_to_line(const stn_task *task, const int64_t length[3], const int64_t k[2], double complex *line) {
    memset(line, 0, (size_t)(task->reach[2][0] + task->reach[2][1] + 1) * sizeof *line);
    for (size_t i = 0; i < task->ntaps; i++) {
        const stn_tap *tap = &task->taps[i];
        double periods = 0;
        for (int axis = 0; axis < 2; axis++)
            periods += (double)(k[axis] * tap->offset[axis] % length[axis]) / (double)length[axis];
        line[tap->offset[2] + task->reach[2][0]] += tap->weight * cexp(2 * M_PI * I * periods);
    }
}

/* |K| at each frequency; K(-k) is the conjugate of K(k). Without memory: the largest over all
 * frequencies. */
static double largest_of_all(const stn_task *task, const int64_t length[3]) {
    const int64_t half = length[2] / 2 + 1, width = task->reach[2][0] + task->reach[2][1] + 1;
    double complex *root = malloc((size_t)(half + width) * sizeof *root), *line = root + (root ? half : 0);
    double most = 0;
    if (!root) return stn_reach_max_symbol(task->searches, task->ntaps, task->taps);
    for (int64_t x = 0; x < half; x++) root[x] = cexp(2 * M_PI * I * (double)x / (double)length[2]);
    for (int64_t z = 0; z < length[0]; z++)
        for (int64_t y = 0; y < length[1]; y++) {
            sum_to_line(task, length, (int64_t[2]){z, y}, line);
            for (int64_t x = 0; x < half; x++) {
                double complex sum = line[width - 1]; /* Horner's scheme */
                for (int64_t i = width - 2; i >= 0; i--) sum = sum * root[x] + line[i];
                most = fmax(most, creal(sum) * creal(sum) + cimag(sum) * cimag(sum));
            }
        }
    free(root);
    return sqrt(most);
}

double stn_symbol_largest(const stn_task *task, const int64_t length[3]) {
    const double points = (double)length[0] * (double)length[1] * (double)length[2];
    stn_text key = STN_TEXT_EMPTY;
    double most;
    if (points * (double)task->ntaps > FEW) return stn_reach_max_symbol(task->searches, task->ntaps, task->taps);
    stn_text_append(&key, (const char *)length, 3 * sizeof *length);
    stn_text_append(&key, (const char *)task->taps, task->ntaps * sizeof *task->taps);
    stn_search_cache *searches = key.failed ? NULL : task->searches;
    if (!stn_search_cache_lookup(searches, STN_SEARCH_CACHE_SYMBOL, key.data, key.size, &most, sizeof most)) {
        most = largest_of_all(task, length);
        stn_search_cache_store(searches, STN_SEARCH_CACHE_SYMBOL, key.data, key.size, &most, sizeof most);
    }
    stn_text_clear(&key);
    return most;
}

double stn_symbol_decay_threshold(double largest, uint64_t steps, int bits) {
    return 1 - largest * exp2(-(double)bits / (double)steps);
}

double stn_symbol_decay_threshold_of_sum(double largest, uint64_t steps, int bits) {
    return stn_symbol_decay_threshold(fmin(largest, 1), steps, bits);
}

/* Factors below 2^-bits of the largest count as 0. */
enum { KEPT_BITS = 64, KEPT_BITS_F32 = 44 };

int stn_symbol_bits(stn_dtype dtype) { return dtype == STN_F64 ? KEPT_BITS : KEPT_BITS_F32; }

/* The least K at the corners of the frequency domain, which is the global minimum for most
 * symmetric taps. */
static double lowest_corner(const stn_task *task) {
    double lowest = INFINITY;
    for (int corner = 0; corner < 8; corner++) {
        double sum = 0;
        for (size_t i = 0; i < task->ntaps; i++) {
            const int64_t *o = task->taps[i].offset;
            int64_t flips = (corner & 1 ? o[0] : 0) + (corner & 2 ? o[1] : 0) + (corner & 4 ? o[2] : 0);
            sum += flips % 2 ? -task->taps[i].weight : task->taps[i].weight;
        }
        lowest = fmin(lowest, sum);
    }
    return lowest;
}

/* A transform's rounding errors are equally large at every frequency, so one step multiplies them
 * by the root mean square of K, the root of the sum of the squared weights. In random data from 0
 * to 1 the mean has three quarters of the sum of squares; a step multiplies it by K(0). */
static double cancelling(const stn_task *task) {
    double sum = 0, squares = 0;
    if (task->steps > 1 || task->snapshots > 1 || task->sum) return stn_error_cancellation(task);
    for (size_t i = 0; i < task->ntaps; i++)
        sum += task->taps[i].weight, squares += task->taps[i].weight * task->taps[i].weight;
    return fmin(stn_error_cancellation(task), fmax(1, 2 / sqrt(1 + 3 * sum * sum / squares)));
}

double stn_symbol_cancellation_error(const stn_task *task) {
    double sum = 0, squares = 0, sizes = 0;
    for (size_t i = 0; i < task->ntaps; i++) {
        const double weight = task->taps[i].weight;
        sum += weight, squares += weight * weight, sizes += fabs(weight);
    }
    const double least = fmax(fabs(sum), sqrt(squares)); /* squares of the smallest underflow */
    const double often = sizes < 0.5 ? (double)task->steps * (double)task->snapshots : 1;
    return sizes > 0 ? stn_error_rounding(STN_F64) * often / least : 0;
}

/* The sum of three errors. Two transforms have log2 N random rounding errors each, and the errors
 * of their roots (largest for long lines in f32; tests/strategies/test_errors.c measures them). The
 * error of the symbol's power grows with the logarithm of T if K is real and above -1, otherwise
 * with T. The result is rounded once when it is stored. */
double stn_symbol_error(const stn_task *task, double points, bool plain) {
    const bool wide = task->dtype == STN_F64;
    double levels = log2(points + 1), steps = (double)task->steps * (double)task->snapshots;
    double real = stn_error_rounding(wide ? STN_F64 : STN_F32), exact = stn_error_rounding(STN_F64);
    bool mild =
        plain && -lowest_corner(task) < 1 - stn_symbol_decay_threshold(1, task->steps, stn_symbol_bits(task->dtype));
    double power = mild ? exact * (4 + 2 * log2(steps)) : exact * (4 + steps);
    const double transforms = (wide ? 2.6 : 3.5) * real * sqrt(levels) * cancelling(task);
    power = fmax(power, stn_symbol_cancellation_error(task));
    return hypot(transforms, hypot(power, stn_error_rounding(task->dtype)));
}
