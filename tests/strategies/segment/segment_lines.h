/* Lines and their taps for segment's tests. */
#ifndef STN_TESTS_SEGMENT_SEGMENT_LINES_H
#define STN_TESTS_SEGMENT_SEGMENT_LINES_H
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

/* Asymmetric weights of the given radius, for wrap or between stepped margins. */
static inline stn_stencil *uneven_line(dice *d, int radius) { return random_stencil(d, 1, TAPS_BOX, radius); }

/* Symmetric weights whose absolute values sum to 1. */
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
/* The same taps divided by their largest |symbol|, so that no number of steps makes all of a result
 * underflow. Weights of both signs whose absolute values sum to 1 leave 1e-300 of it after 2000
 * steps. */
static inline stn_stencil *lasting(stn_stencil *stencil) {
    stn_tap taps[2 * 8 + 1];
    size_t count = stn_stencil_tap_count(stencil);
    double most = 0;
    memcpy(taps, stn_stencil_taps(stencil), count * sizeof *taps);
    for (int i = 0; i <= 4096; i++) {
        double real = 0, imaginary = 0;
        for (size_t k = 0; k < count; k++) {
            real += taps[k].weight * cos(acos(-1) * i / 4096 * (double)taps[k].offset[0]);
            imaginary += taps[k].weight * sin(acos(-1) * i / 4096 * (double)taps[k].offset[0]);
        }
        most = fmax(most, hypot(real, imaginary));
    }
    for (size_t k = 0; k < count; k++) taps[k].weight /= most;
    stn_stencil_destroy(stencil);
    stn_stencil_create(1, count, taps, &stencil, NULL);
    return stencil;
}
#endif
