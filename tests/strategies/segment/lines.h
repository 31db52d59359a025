/* Lines and their taps, for segment's tests. */
#ifndef STN_TESTS_SEGMENT_LINES_H
#define STN_TESTS_SEGMENT_LINES_H
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"

static inline stn_problem line_of(const stn_stencil *stencil, int n, uint64_t steps) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.extent[0] = (size_t)n;
    p.steps = steps;
    return p;
}

static inline void set_sides(stn_problem *p, int axis, int low, int high) {
    p->boundary[axis][0] = (stn_boundary){(stn_boundary_kind)low, low == STN_CONSTANT ? 0.7 : 0};
    p->boundary[axis][1] = (stn_boundary){(stn_boundary_kind)high, high == STN_CONSTANT ? -1.3 : 0};
}

/* Weights that are no one's mirror image, of radius 1 and more: wrapped, or between stepped margins. */
static inline stn_stencil *uneven_line(dice *d, int radius) { return random_stencil(d, 1, TAPS_BOX, radius); }

/* The same from either end; their |.| add up to 1. */
static inline stn_stencil *even_line(dice *d, int radius) {
    stn_tap taps[2 * 8 + 1];
    double sum = 0;
    for (int k = 0; k <= radius; k++) {
        double weight = (0.1 + fabs(dice_real(d))) * (dice_int(d, 0, 3) ? 1 : -1);
        taps[radius - k] = (stn_tap){{-k, 0, 0}, weight};
        taps[radius + k] = (stn_tap){{k, 0, 0}, weight};
        sum += fabs(weight) * (k ? 2 : 1);
    }
    for (int i = 0; i < 2 * radius + 1; i++) taps[i].weight /= sum;
    stn_stencil *stencil = NULL;
    stn_stencil_create(1, (size_t)(2 * radius + 1), taps, &stencil, NULL);
    return stencil;
}
#endif
