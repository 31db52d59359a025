/* See modes.h. If S v = lambda v, and u_0 and b are multiples of v, then for any T
 *
 *     u_T = lambda^T u_0 + (1 - lambda^T) / (1 - lambda) b */
#include "modes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SPREAD 0.2 /* weight of each neighbour */

typedef struct mode_case {
    int rank, n[3], mode[3];
    stn_boundary_kind sides[3];
    stn_dtype dtype;
    uint64_t steps;
} mode_case;

/* Half the phase between neighbouring points of mode m along an axis. */
static long double half_angle(stn_boundary_kind sides, int n, int m) {
    const long double pi = acosl(-1.0L);
    if (sides == STN_WRAP) return pi * m / n;
    return pi * m / (2.0L * (sides == STN_REFLECT ? n : sides == STN_CONSTANT ? n + 1 : n - 1));
}

static long double value_at(stn_boundary_kind sides, int n, int m, int i) {
    const long double step = 2 * half_angle(sides, n, m);
    if (sides == STN_FIXED) return i == n - 1 ? 0 : sinl(step * i); /* fixed at 0 at both ends */
    if (sides == STN_CONSTANT) return sinl(step * (i + 1));
    return cosl(step * (sides == STN_REFLECT ? i + 0.5L : i));
}

/* 1 - lambda of the mode, without cancellation. */
static long double rest_of(const mode_case *c) {
    long double rest = 0;
    for (int axis = 0; axis < c->rank; axis++) {
        const long double s = sinl(half_angle(c->sides[axis], c->n[axis], c->mode[axis]));
        rest += 4 * (long double)SPREAD / c->rank * s * s;
    }
    return rest;
}

static stn_stencil *stencil_of(int rank) {
    stn_tap taps[7] = {{{0}, 1 - 2 * SPREAD}};
    int count = 1;
    for (int axis = 0; axis < rank; axis++)
        for (int way = -1; way <= 1; way += 2) taps[count].offset[axis] = way, taps[count++].weight = SPREAD / rank;
    stn_stencil *stencil = NULL;
    stn_stencil_create(rank, (size_t)count, taps, &stencil, NULL);
    return stencil;
}

static stn_status execute(suite *s, const stn_problem *p, const double *mode, size_t count, void *got,
                          stn_error *error) {
    static const double parts[2] = {0.7, 0.25}; /* u_0, b */
    const size_t bytes = count * stn_dtype_size(p->dtype);
    void *at[3] = {NULL, NULL, NULL};
    comparison c = {.bar = 0};
    stn_plan *plan = NULL;
    stn_status status =
        compare_plan(s->context, p, "sourced", suite_candidate(s, p, "sourced", "all steps"), &plan, &c);
    if (status != STN_OK) *error = c.error;
    for (int i = 0; i < 3 && status == STN_OK; i++) {
        for (size_t k = 0; k < count; k++) set_element(p->dtype, got, (int64_t)k, i < 2 ? parts[i] * mode[k] : NAN);
        status = stn_memory_alloc(s->context, bytes, &at[i], error);
        if (status == STN_OK) status = stn_memory_upload(s->context, at[i], got, bytes, error);
    }
    stn_execution run = STN_EXECUTION_INIT;
    run.in = at[0], run.source = at[1], run.out = at[2];
    if (status == STN_OK) status = stn_plan_run(plan, &run, error);
    if (status == STN_OK) status = stn_synchronize(s->context, NULL, error);
    if (status == STN_OK) status = stn_memory_download(s->context, got, at[2], bytes, error);
    for (int i = 0; i < 3; i++) stn_memory_free(s->context, at[i]);
    stn_plan_destroy(plan);
    return status;
}

static void one(suite *s, const mode_case *c) {
    stn_error error = {0};
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil *stencil = stencil_of(c->rank);
    size_t count = 1;
    p.stencil = stencil, p.dtype = c->dtype, p.steps = c->steps, p.has_source = 1;
    for (int axis = 0; axis < c->rank; axis++) {
        p.extent[axis] = (size_t)c->n[axis], count *= p.extent[axis];
        p.boundary[axis][0].kind = p.boundary[axis][1].kind = c->sides[axis];
    }
    double *mode = malloc(count * sizeof *mode), *got = malloc(count * sizeof *got);
    for (size_t k = 0; k < count; k++) {
        long double value = 1;
        size_t rest = k;
        for (int axis = c->rank - 1; axis >= 0; axis--, rest /= (size_t)c->n[axis + 1])
            value *= value_at(c->sides[axis], c->n[axis], c->mode[axis], (int)(rest % (size_t)c->n[axis]));
        mode[k] = (double)value;
    }
    const long double rest = rest_of(c), power = expl((long double)c->steps * log1pl(-rest));
    const double factor = (double)(0.7L * power + 0.25L * (rest > 0 ? (1 - power) / rest : (long double)c->steps));
    const stn_status status = execute(s, &p, mode, count, got, &error);
    double difference = 0, norm = 0;
    for (size_t k = 0; k < count; k++) {
        const double want = factor * mode[k], d = element(c->dtype, got, (int64_t)k) - want;
        difference += d * d, norm += want * want;
    }
    const double found = sqrt(difference / norm),
                 bar = (c->dtype == STN_F64 ? 1e-13 : 1e-6) * (1 + log2((double)c->steps));
    char what[200], detail[1200];
    snprintf(what, sizeof what, "modes: %dD %d.., %s, %s, mode %d, %llu steps", c->rank, c->n[0],
             stn_dtype_name(c->dtype), side_names[c->sides[0]], c->mode[0], (unsigned long long)c->steps);
    snprintf(detail, sizeof detail, "relative L2 %.3g, bar %.3g; %s", found, bar,
             error.status ? error.message : "no error");
    s->worst = fmax(s->worst, found / bar);
    suite_report(s, status == STN_OK && found <= bar, what, detail);
    free(mode), free(got);
    stn_stencil_destroy(stencil);
}

void modes(suite *s) {
    static const mode_case list[] = {
        {1, {257}, {3}, {STN_WRAP}, STN_F64, 1000000},
        {1, {256}, {0}, {STN_WRAP}, STN_F64, 1000000}, /* K = 1: T b */
        {1, {257}, {0}, {STN_REFLECT}, STN_F32, 100000},
        {1, {120}, {2}, {STN_FIXED}, STN_F64, 100000},
        {1, {113}, {1}, {STN_CONSTANT}, STN_F32, 1000000},
        {2, {48, 53}, {1, 2}, {STN_WRAP, STN_WRAP}, STN_F64, 1000000},
        {2, {48, 53}, {0, 1}, {STN_REFLECT, STN_MIRROR}, STN_F64, 30000},
        {2, {41, 36}, {1, 1}, {STN_FIXED, STN_FIXED}, STN_F64, 1000000},
        {2, {41, 36}, {2, 0}, {STN_CONSTANT, STN_REFLECT}, STN_F32, 3000},
        {2, {40, 36}, {20, 18}, {STN_WRAP, STN_WRAP}, STN_F64, 1000}, /* the fastest decay */
        {3, {12, 13, 16}, {1, 0, 1}, {STN_WRAP, STN_REFLECT, STN_FIXED}, STN_F64, 100000},
        {3, {11, 16, 14}, {1, 1, 0}, {STN_CONSTANT, STN_FIXED, STN_WRAP}, STN_F32, 500},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) one(s, &list[i]);
}
