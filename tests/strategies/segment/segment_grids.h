/* Grids and symmetric separable weights for segment's tests. */
#ifndef STN_TESTS_SEGMENT_SEGMENT_GRIDS_H
#define STN_TESTS_SEGMENT_SEGMENT_GRIDS_H
#include <math.h>
#include <stdlib.h>

#include "../suite.h"

static inline stn_problem grid_of(const stn_stencil *stencil, int n0, int n1, int n2, uint64_t steps) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.extent[0] = (size_t)n0, p.extent[1] = (size_t)n1;
    if (stn_stencil_rank(stencil) > 2) p.extent[2] = (size_t)n2;
    p.steps = steps;
    for (int axis = 0; axis < 3; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_WRAP;
    return p;
}

/* Symmetric factors, of one sign each or of both; radius 0: a factor of one tap. */
static inline stn_stencil *even_product(dice *d, int rank, const int radius[3]) {
    int size[3];
    double factor[3][MOST_FACTORS];
    for (int axis = 0; axis < rank; axis++) {
        double sum = 0;
        size[axis] = 2 * radius[axis] + 1;
        for (int k = 0; k <= radius[axis]; k++) {
            double weight = (0.1 + fabs(dice_real(d))) * (dice_int(d, 0, 3) ? 1 : -1);
            factor[axis][radius[axis] - k] = factor[axis][radius[axis] + k] = weight;
            sum += fabs(weight) * (k ? 2 : 1);
        }
        for (int i = 0; i < size[axis]; i++) factor[axis][i] /= sum;
    }
    return stencil_of_factors(rank, radius, size, factor);
}
#endif
