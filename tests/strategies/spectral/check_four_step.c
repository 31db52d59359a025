/* Tests of the four-step FFT; see check_four_step.h. */
#include "check_four_step.h"

#include <math.h>
#include <stdio.h>

typedef struct line_case {
    int n, batch;
    stn_dtype dtype;
    bool symmetric; /* Symmetric taps; fixed and constant sides permit reach 1. */
    int radius;     /* Radius of asymmetric taps. */
    stn_boundary_kind low, high;
    uint64_t steps, every;
    bool in_place;
    int pick; /* COMPARE_MEASURED + i: candidate i. */
} line_case;

static stn_problem line_problem(const line_case *c, stn_stencil *stencil) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil, p.dtype = c->dtype, p.steps = c->steps, p.batch = (size_t)c->batch, p.in_place = c->in_place;
    p.extent[0] = (size_t)c->n;
    p.boundary[0][0] = (stn_boundary){c->low, c->low == STN_CONSTANT ? 0.7 : 0};
    p.boundary[0][1] = (stn_boundary){c->high, c->high == STN_CONSTANT ? -1.3 : 0};
    return p;
}

static void one_line(suite *s, const line_case *c, uint64_t seed) {
    static const double even[3] = {0.3, 0.38, 0.3};
    dice d = {seed};
    stn_stencil *stencil = NULL;
    if (c->symmetric)
        stn_stencil_create(1, 3, (stn_tap[3]){{{-1}, even[0]}, {{0}, even[1]}, {{1}, even[2]}}, &stencil, NULL);
    else
        stencil = random_stencil(&d, 1, TAPS_BOX, c->radius);
    const stn_problem p = line_problem(c, stencil);
    char what[200];
    snprintf(what, sizeof what, "four-step FFT: %d x %d, %s, %s:%s, %llu steps%s, candidate %d", c->batch, c->n,
             stn_dtype_name(c->dtype), side_names[c->low], side_names[c->high], (unsigned long long)c->steps,
             c->in_place ? ", in place" : "", c->pick);
    comparison result;
    const stn_problem typed = suite_problem(s, &p);
    bool good = compare_candidate_with_host(s->context, s->pool, &typed, "spectral", c->pick, true, d.state, &result);
    suite_report_compared(s, good, what, &result);
    stn_stencil_destroy(stencil);
}

/* Lines longer than a block holds: good and prime lengths, whole periods and windows, taps that
 * drift, mirroring sides and sides with a source, outside of inner windows. */
void four_step(suite *s) {
    enum { WINDOWS = COMPARE_MEASURED + 1 };
    static const line_case list[] = {
        {32768, 1, STN_F64, false, 2, STN_WRAP, STN_WRAP, 30, 0, false, -1},
        {30011, 1, STN_F64, false, 1, STN_WRAP, STN_WRAP, 30, 0, false, -1},
        {60014, 1, STN_F32, false, 1, STN_WRAP, STN_WRAP, 20, 0, true, -1},
        {30011, 2, STN_F64, true, 0, STN_REFLECT, STN_MIRROR, 50, 0, false, -1},
        {28001, 2, STN_F64, true, 0, STN_FIXED, STN_CONSTANT, 50, 0, false, -1},
        {28002, 1, STN_F64, true, 0, STN_NEAREST, STN_FIXED, 40, 0, true, -1},
        {61000, 1, STN_F16, true, 0, STN_CONSTANT, STN_REFLECT, 4, 0, false, -1},
        {30013, 2, STN_F64, true, 0, STN_FIXED, STN_FIXED, 40, 0, false, WINDOWS},
        {30015, 1, STN_F64, false, 2, STN_WRAP, STN_WRAP, 20, 0, false, WINDOWS + 4},
        {62001, 2, STN_F32, true, 0, STN_CONSTANT, STN_CONSTANT, 20, 0, false, WINDOWS + 4},
        {65536, 1, STN_F32, false, 1, STN_WRAP, STN_WRAP, 1, 0, false, -1},
        {40000, 1, STN_F64, true, 0, STN_MIRROR, STN_FIXED, 7, 0, false, WINDOWS},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) one_line(s, &list[i], 100 * i + 77);
}
