/* Tests of stacks of snapshots; see check_snapshots.h. */
#include "check_snapshots.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static stn_status run_stack(suite *s, const stn_problem *p, const void *in, void *out, size_t in_size, size_t size,
                            stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    void *from = NULL, *to = NULL;
    options.strategy = "spectral";
    stn_status status = stn_plan_create(s->context, p, &options, &plan, error);
    if (status == STN_OK) status = stn_memory_alloc(s->context, in_size, &from, error);
    if (status == STN_OK) status = stn_memory_alloc(s->context, size, &to, error);
    if (status == STN_OK) status = stn_memory_upload(s->context, from, in, in_size, error);
    if (status == STN_OK) status = stn_memory_upload(s->context, to, out, size, error);
    if (status == STN_OK) status = stn_plan_execute(plan, from, to, NULL, error);
    if (status == STN_OK) status = stn_memory_download(s->context, out, to, size, error);
    stn_memory_free(s->context, from);
    stn_memory_free(s->context, to);
    stn_plan_destroy(plan);
    return status;
}

/* Largest error of a point of snapshot i, relative to the largest value. */
static double snapshot_off(suite *s, const stn_problem *p, uint64_t i, const void *in, const void *stack) {
    stn_problem one = *p;
    stn_task task;
    double off = 0, largest = 0;
    one.steps = p->every * (i + 1), one.every = 0, one.snapshot_stride = 0;
    if (stn_task_make(&one, &task, NULL) != STN_OK) return INFINITY;
    stn_dtype dtype;
    void *expected = compare_answer(&task, s->pool, true, in, &dtype);
    const int64_t count = stn_task_points(&task);
    for (int64_t k = 0; k < count && expected; k++) {
        const double want = element(dtype, expected, k);
        const double got = element(p->dtype, stack, (int64_t)i * (int64_t)p->snapshot_stride + k);
        off = fmax(off, isnan(got) ? INFINITY : fabs(got - want)), largest = fmax(largest, fabs(want));
    }
    stn_task_clear(&task);
    free(expected);
    return expected && largest > 0 ? off / largest : INFINITY;
}

static void check_stack(suite *s, stn_problem *p, uint64_t seed) {
    int64_t points = 1;
    for (int axis = 0; axis < stn_stencil_rank(p->stencil); axis++) points *= (int64_t)p->extent[axis];
    if (p->batch) points *= (int64_t)p->batch;
    p->snapshot_stride = points + 16;
    const uint64_t states = p->steps / p->every;
    const size_t size = stn_dtype_size(p->dtype), all = (size_t)states * (size_t)p->snapshot_stride;
    void *in = malloc((size_t)points * size + 8), *stack = malloc(all * size + 8);
    dice d = {seed};
    stn_error error = {.status = STN_OK};
    for (int64_t i = 0; i < points; i++) set_element(p->dtype, in, i, dice_real(&d));
    for (size_t i = 0; i < all; i++) set_element(p->dtype, stack, (int64_t)i, 77);
    bool good = run_stack(s, p, in, stack, (size_t)points * size, all * size, &error) == STN_OK;
    double worst = 0;
    for (uint64_t i = 0; i < states && good; i++) {
        worst = fmax(worst, snapshot_off(s, p, i, in, stack));
        /* Gaps must not be written. */
        for (int64_t k = points; k < (int64_t)p->snapshot_stride; k++)
            if (element(p->dtype, stack, (int64_t)i * (int64_t)p->snapshot_stride + k) != 77) worst = INFINITY;
    }
    const double bar = 4 * (p->dtype == STN_F64 ? 1e-13 : 1e-6) * (1 + log2((double)p->steps));
    char what[200], detail[400];
    snprintf(what, sizeof what, "snapshots: %dD, %s:%s, %s, %llu of %llu steps", stn_stencil_rank(p->stencil),
             side_names[p->boundary[0][0].kind], side_names[p->boundary[0][1].kind], stn_dtype_name(p->dtype),
             (unsigned long long)states, (unsigned long long)p->every);
    snprintf(detail, sizeof detail, "off by %.3g, bar %.3g; %.250s", worst, bar, error.message);
    suite_report(s, good && worst <= bar, what, detail);
    free(in), free(stack);
}

void snapshots(suite *s) {
    static const int extents[][3] = {{120, 0, 0}, {36, 40, 0},   {12, 10, 18}, {31, 37, 0},
                                     {101, 0, 0}, {28003, 0, 0}, {20, 22, 26}};
    static const char *const named[] = {"heat-1d", "heat-2d", "box-3d27p"};
    static const stn_boundary_kind kinds[][2] = {{STN_WRAP, STN_WRAP}, {STN_FIXED, STN_REFLECT}};
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (int sides = 0; sides < 2; sides++) {
            dice d = {e * 10 + (uint64_t)sides + 6000};
            const int rank = extents[e][2] ? 3 : extents[e][1] ? 2 : 1;
            stn_stencil *stencil = NULL;
            if (sides)
                stn_stencil_parse(named[rank - 1], &stencil, NULL);
            else
                stencil = random_stencil(&d, rank, TAPS_BOX, 1);
            const uint64_t every = e == 3   ? 1
                                   : e == 6 ? 150
                                            : 7, /* 150: not all columns have points. */
                states = e == 4 ? 6 : 3;
            stn_problem p = STN_PROBLEM_INIT;
            p.stencil = stencil, p.dtype = e == 1 && sides ? STN_F32 : STN_F64, p.steps = every * states;
            p.every = every, p.batch = e == 1 ? 2 : 1;
            for (int axis = 0; axis < rank; axis++) p.extent[axis] = (size_t)extents[e][axis];
            for (int axis = 0; axis < rank; axis++)
                for (int side = 0; side < 2; side++) p.boundary[axis][side].kind = kinds[sides][side];
            check_stack(s, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}
