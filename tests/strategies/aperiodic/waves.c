/* See waves.h. A wave along y (periodic) that is constant along x remains a wave under taps that
 * are asymmetric along x, with mirrored sides: it is multiplied by K^T with K = (sum of the factors
 * along x) (1 - p (1 - cos)). With constant sides it does not, but a grid that equals the constant
 * remains unchanged. */
#include "waves.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct wave {
    int ny, nx, m; /* m: the wave number along y; 0: a constant grid */
    stn_boundary_kind low, high;
    stn_dtype dtype;
    double drift; /* points by which a run shifts the data, a third of them backwards */
} wave;

#define SIDE 1.25 /* the value past a constant side, exact in all types */

/* Taps at y -1, 0, 1 and x -1, 0, 1 on the axes, whose weights sum to 1. */
static stn_stencil *stencil_of(const wave *w, uint64_t steps) {
    const double far = w->drift / (double)steps, back = far / 3, along = 0.1 / (double)steps * w->ny;
    const stn_tap taps[5] = {
        {{-1, 0}, along}, {{0, -1}, far}, {{0, 0}, 1 - 2 * along - far - back}, {{0, 1}, back}, {{1, 0}, along}};
    stn_stencil *stencil = NULL;
    stn_stencil_create(2, 5, taps, &stencil, NULL);
    return stencil;
}

/* K^T of the actual (rounded) weights. */
static double factor_after(const stn_stencil *stencil, double angle, uint64_t steps) {
    long double away = 1;
    for (size_t i = 0; i < 5; i++) away -= stn_stencil_taps(stencil)[i].weight;
    for (size_t i = 0; i < 5; i++) {
        const stn_tap *tap = &stn_stencil_taps(stencil)[i];
        const long double half = sinl((long double)tap->offset[0] * angle / 2);
        away += 2 * tap->weight * half * half;
    }
    return (double)expl((long double)steps * log1pl(-away));
}

static void one_wave(suite *s, const wave *w, uint64_t steps) {
    stn_stencil *stencil = stencil_of(w, steps);
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil, p.dtype = w->dtype, p.steps = steps;
    p.extent[0] = (size_t)w->ny, p.extent[1] = (size_t)w->nx;
    p.boundary[1][0] = (stn_boundary){w->low, w->low == STN_CONSTANT ? SIDE : 0};
    p.boundary[1][1] = (stn_boundary){w->high, w->high == STN_CONSTANT ? SIDE : 0};
    const int count = w->ny * w->nx;
    const size_t bytes = (size_t)count * stn_dtype_size(w->dtype);
    void *in = malloc(bytes), *out = malloc(bytes);
    const double angle = 2 * M_PI * w->m / w->ny, factor = factor_after(stencil, angle, steps);
    double off = 0, size = 0;
    for (int i = 0; i < count; i++) {
        const int row = i / w->nx;
        set_element(w->dtype, in, i, w->m ? cos(angle * row) : SIDE);
        set_element(w->dtype, out, i, NAN);
    }
    comparison c = {.bar = 0};
    const bool good = compare_run(s->context, &p, "aperiodic", -1, in, bytes, out, bytes, &c) == STN_OK;
    for (int i = 0; i < count; i++) {
        const double expected = factor * element(w->dtype, in, i), difference = element(w->dtype, out, i) - expected;
        off += difference * difference, size += expected * expected;
    }
    /* bands are computed in the data's type */
    const double bar = w->dtype == STN_F64 ? 1e-13 * (1 + log2((double)steps)) : 1e-6 * sqrt((double)steps);
    char what[200], detail[500];
    snprintf(what, sizeof what, "waves: %d of %d x %d, %s:%s, %s, %llu steps, factor %.2g", w->m, w->ny, w->nx,
             side_names[w->low], side_names[w->high], stn_dtype_name(w->dtype), (unsigned long long)steps, factor);
    snprintf(detail, sizeof detail, "relative L2 %.3g, bar %.3g, %.300s", sqrt(off / size), bar, c.error.message);
    s->worst = fmax(s->worst, good ? sqrt(off / size) / bar : 0);
    suite_report(s, good && sqrt(off / size) <= bar, what, detail);
    free(in), free(out);
    stn_stencil_destroy(stencil);
}

void waves_until(suite *s, uint64_t steps) {
    static const wave list[] = {{24, 500, 1, STN_REFLECT, STN_MIRROR, STN_F64, 20},
                                {20, 420, 2, STN_NEAREST, STN_REFLECT, STN_F64, 12},
                                {18, 390, 1, STN_MIRROR, STN_NEAREST, STN_F32, 9},
                                {16, 400, 0, STN_CONSTANT, STN_FIXED, STN_F64, 14},
                                {16, 400, 0, STN_FIXED, STN_CONSTANT, STN_F32, 14}};
    /* Longer runs in f32 have errors due to rounded weights. */
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (uint64_t t = 100; t <= steps; t *= 10)
            if (list[i].dtype == STN_F64 || t <= 10000) one_wave(s, &list[i], t);
}
