/* Dense test weights of a given structure. */
#include "structure.h"

#include <math.h>
#include <stdlib.h>

const char *const structure_names[STRUCTURES] = {"separable",
                                                 "symmetric in both axes",
                                                 "uniform",
                                                 "zero corners",
                                                 "zero centre",
                                                 "symmetric, zero corners",
                                                 "symmetric, zero centre",
                                                 "symmetric, tiny corners",
                                                 "symmetric, of rank 2",
                                                 "one-sided",
                                                 "symmetric along y only",
                                                 "symmetric along x only",
                                                 "ill-conditioned",
                                                 "one tap off centre",
                                                 "all zero"};

void fill_weights(dice *d, structure kind, int side, double *w) {
    double u[7], v[7], sum = 0;
    int half = side / 2;
    for (int i = 0; i < side; i++) u[i] = 0.2 + fabs(dice_real(d)), v[i] = 0.2 + fabs(dice_real(d));
    for (int i = 0; i < side * side; i++) {
        int y = i / side - half, x = i % side - half;
        double value = dice_real(d);
        if (kind == SEPARABLE) value = u[y + half] * v[x + half];
        bool corner = abs(y) == half && abs(x) == half, even = kind >= EVEN_ZERO_CORNERS && kind <= EVEN_RANK_TWO;
        if (kind == SYMMETRIC || even) value = cos(abs(y) * 2 + abs(x) * abs(x) + abs(x) * abs(y));
        if (kind == UNIFORM) value = 1;
        if (kind == EVEN_RANK_TWO) value = 1 / (1.0 + abs(y)) + cos(abs(x)) * (abs(y) - 0.3);
        if ((kind == ZERO_CORNERS || kind == EVEN_ZERO_CORNERS) && corner) value = 0;
        if ((kind == ZERO_CENTRE || kind == EVEN_ZERO_CENTRE) && !y && !x) value = 0;
        if (kind == EVEN_TINY_CORNERS && corner) value = 1e-15;
        if (kind == ONE_SIDED && (y > 0 || x > 0)) value = 0;
        if (kind == EVEN_ROWS) value = cos(abs(y) * 2 + x * x + 0.7 * x + abs(y) * x);
        if (kind == EVEN_COLUMNS) value = cos(abs(x) * 2 + y * y + 0.7 * y + abs(x) * y);
        if (kind == ILL) value = u[y + half] * v[x + half] + 1e-13 * value;
        if (kind == ONE_TAP) value = y == -half && x == half;
        if (kind == ZERO) value = 0;
        w[i] = value;
        sum += fabs(value);
    }
    for (int i = 0; i < side * side && sum > 0; i++) w[i] /= sum;
}
