/* Weights in parts of 11 bits: sums, symmetry, and the predicted error. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "strategies/sparse/weight_rounding.h"

static uint64_t state = 99;
static double draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

#define SIDE 7
#define COUNT (SIDE * SIDE)

/* A plane of weights that sum to 1; `mirrored`: point symmetric. */
static void make_power(bool mirrored, long double *weight, stn_power *power) {
    long double sum = 0;
    for (int i = 0; i < COUNT; i++) {
        weight[i] = mirrored && i > COUNT / 2 ? weight[COUNT - 1 - i] : (long double)exp(4 * draw());
        sum += weight[i];
    }
    for (int i = 0; i < COUNT; i++) weight[i] /= sum;
    *power = (stn_power){.fused = 1, .size = {1, SIDE, SIDE}, .low = {0, SIDE / 2, SIDE / 2}, .weight = weight};
}

Test(sparse_rounding, sums_stay) {
    for (int root = 0; root < 200; root++) {
        long double weight[COUNT];
        float rounded[2 * COUNT];
        stn_power power;
        stn_task task = {.rank = 2, .dtype = root % 2 ? STN_F32 : STN_F16};
        bool mirrored = root / 2 % 2;
        make_power(mirrored, weight, &power);
        double scale = sparse_scale(&task, &power, false), sum = 0, smallest = INFINITY;
        sparse_round(&task, &power, scale, 1, rounded);
        for (int i = 0; i < COUNT; i++) {
            double exact = (double)weight[i] / scale, unit = ldexp(1, ilogb(exact) - 10);
            cr_assert_leq(fabs(rounded[i] - exact), 1.7 * unit, "weight %d errs by %g units", i,
                          (rounded[i] - exact) / unit);
            if (mirrored) cr_assert_eq(rounded[i], rounded[COUNT - 1 - i], "no longer the same turned about");
            sum += rounded[i];
            smallest = fmin(smallest, unit);
        }
        cr_assert_leq(fabs(sum * scale - 1), 2 * smallest * scale, "the sum is %g off", sum * scale - 1);
    }
}

Test(sparse_rounding, two_parts_have_22_bits) {
    long double weight[COUNT];
    float rounded[2 * COUNT];
    stn_power power;
    stn_task task = {.rank = 2, .dtype = STN_F32};
    make_power(false, weight, &power);
    sparse_round(&task, &power, 1, 2, rounded);
    for (int i = 0; i < COUNT; i++)
        cr_expect_leq(fabs((double)rounded[i] + rounded[COUNT + i] - (double)weight[i]), 0x1p-22 * (double)weight[i]);
}

/* Weights that need more than 11 bits have errors, growing with the launches; others have none. */
Test(sparse_rounding, error_is_predicted) {
    long double weight[COUNT];
    stn_power power;
    stn_task task = {.rank = 2, .dtype = STN_F16};
    make_power(true, weight, &power);
    double one = sparse_rounding(&task, &power, false, 1, 1), many = sparse_rounding(&task, &power, false, 1, 200);
    cr_expect(one > 1e-6 && one < 1e-3, "one launch: %g", one);
    cr_expect_gt(many, 1e-6);
    memset(weight, 0, sizeof weight);
    weight[COUNT / 2] = 0.5L, weight[COUNT / 2 - 1] = weight[COUNT / 2 + 1] = 0.25L;
    cr_expect_eq(sparse_rounding(&task, &power, false, 1, 200), 0);
}

/* ---- the effect of rounded weights on a run, from the definition */

static double complex symbol_at(const stn_power *power, const float *rounded, const double complex root[3]) {
    double complex sum = 0;
    for (int i = 0, z = 0; z < power->size[0]; z++)
        for (int y = 0; y < power->size[1]; y++)
            for (int x = 0; x < power->size[2]; x++, i++)
                sum += (rounded ? rounded[i] : (double)power->weight[i]) *
                       cexp(I * (z * carg(root[0]) + y * carg(root[1]) + x * carg(root[2])));
    return sum;
}

static double complex power_of(double complex symbol, int launches) {
    double complex power = 1;
    for (int i = 0; i < launches; i++) power *= symbol;
    return power;
}

/* The largest difference of powers, or the relative remainder of random data of mean 0 or in
 * [0, 1), whose squared mean of 1/4 is at frequency 0, and whose variance is 1/12. */
static double differ(const stn_power *power, const float *rounded, int launches) {
    sparse_frequencies f[3];
    double most = 0, largest = 0, squares = 0, all = 0, mean[2] = {0, 0};
    for (int k = 0; k < 3; k++) sparse_frequencies_of(power, k, &f[k]);
    for (int z = 0; z < f[0].count; z++)
        for (int y = 0; y < f[1].count; y++)
            for (int x = 0; x < f[2].count; x++) {
                const double complex root[3] = {f[0].root[z], f[1].root[y], f[2].root[x]};
                const double complex exact = power_of(symbol_at(power, NULL, root), launches);
                const double off = cabs(power_of(symbol_at(power, rounded, root), launches) - exact);
                const double part = f[0].share[z] * f[1].share[y] * f[2].share[x];
                largest = fmax(largest, cabs(exact)), most = fmax(most, off);
                squares += part * off * off, all += part * cabs(exact) * cabs(exact);
                if (x + y + z == 0) mean[0] = off * off, mean[1] = cabs(exact) * cabs(exact);
            }
    const double positive = (squares / 12 + mean[0] / 4) / (all / 12 + mean[1] / 4);
    return fmax(most / largest, sqrt(fmax(squares / all, positive)));
}

Test(sparse_rounding, differences_of_lopsided_weights_are_those_of_their_powers) {
    static const int sizes[][3] = {{1, 1, 9}, {1, 4, 5}, {3, 2, 4}, {3, 1, 1}};
    for (int root = 0; root < 24; root++) {
        const int *size = sizes[root % 4], launches = 1 + root % 3 * 9;
        long double weight[24], sum = 0;
        float rounded[24];
        stn_power power = {.fused = 1, .size = {size[0], size[1], size[2]}, .weight = weight};
        const size_t count = stn_power_count(&power);
        for (size_t i = 0; i < count; i++) sum += weight[i] = (long double)draw() - 0.2L;
        for (size_t i = 0; i < count; i++) {
            weight[i] /= sum;
            rounded[i] = (float)(weight[i] * (1 + 0.02L * ((long double)draw() - 0.5L)) / 4);
        }
        const double found = sparse_difference(&power, rounded, 4, launches);
        for (size_t i = 0; i < count; i++) rounded[i] *= 4;
        const double wanted = differ(&power, rounded, launches);
        cr_expect_float_eq(found / wanted, 1, 1e-9, "%d x %d x %d, %d launches: %.12g, not %.12g", size[0], size[1],
                           size[2], launches, found, wanted);
    }
}
