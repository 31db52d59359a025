/* Tests of the workspace size; see checks.h. Plans are made without a
 * workspace, and are not executed. */
#include <stdio.h>

#include "checks.h"

/* The spectrum of a real grid is as large as the grid, in the arithmetic type (f16: f32); the
 * points past its sides are added:
 *
 *     wrap, small prime factors   a grid, and the last frequencies of rows, padded to memory lines
 *     others, 1D and 2D           the same for the longer lines along x; columns store the grid's
 *                                 points only
 *     tiles                       the same for all strips, and copies at the beginning of chunks
 *     3D                          the same for longer lines along x and y, retained frequencies
 *                                 only; if that exceeds a grid, lines along y exist in slabs, and
 *                                 the output stores a part of those along x
 *     stacks of snapshots         twice that: the shared spectrum, and that of one snapshot
 *     with a source               the same, but frequencies of summed terms decay more slowly; a
 *                                 single step is computed into the output */
typedef struct bound {
    const char *stencil;
    int rank;
    size_t n[3];
    stn_dtype dtype;
    stn_boundary_kind sides;
    uint64_t steps, every;
    bool source;
    double most; /* Grids. */
} bound;

static const bound bounds[] = {
    {"heat-1d", 1, {1 << 24}, STN_F64, STN_WRAP, 1000, 0, false, 1.01},
    {"heat-1d", 1, {1 << 24}, STN_F64, STN_FIXED, 1000, 0, false, 1.05},
    {"heat-1d", 1, {16777213}, STN_F32, STN_WRAP, 1000, 0, false, 1.05},
    {"heat-2d", 2, {10240, 10240}, STN_F64, STN_WRAP, 4, 0, false, 1.04},
    {"heat-2d", 2, {10240, 10240}, STN_F32, STN_WRAP, 1000, 0, false, 1.01},
    {"heat-2d", 2, {4096, 4096}, STN_F16, STN_WRAP, 1000, 0, false, 2.02},
    {"heat-2d", 2, {10239, 10243}, STN_F64, STN_WRAP, 1000, 0, false, 1.1},
    {"heat-2d", 2, {10240, 10240}, STN_F64, STN_REFLECT, 1000, 0, false, 1.1},
    {"heat-2d", 2, {10240, 10240}, STN_F64, STN_FIXED, 1000, 0, false, 1.1},
    {"heat-2d", 2, {10240, 10240}, STN_F32, STN_CONSTANT, 4, 0, false, 1.1},
    {"heat-2d", 2, {4096, 4096}, STN_F64, STN_WRAP, 1000, 100, false, 2.02},
    {"heat-2d", 2, {10240, 10240}, STN_F64, STN_WRAP, 1000, 0, true, 1.06},
    {"heat-2d", 2, {10240, 10240}, STN_F64, STN_FIXED, 1000, 0, true, 1.1},
    {"heat-3d", 3, {512, 512, 512}, STN_F64, STN_WRAP, 4, 0, false, 1.02},
    {"heat-3d", 3, {512, 512, 512}, STN_F64, STN_WRAP, 1000, 0, false, 0.4},
    {"heat-3d", 3, {512, 512, 512}, STN_F64, STN_REFLECT, 1000, 0, false, 0.4},
    {"heat-3d", 3, {512, 512, 512}, STN_F64, STN_FIXED, 1000, 0, false, 1},
    {"heat-3d", 3, {512, 512, 512}, STN_F32, STN_FIXED, 1000, 0, false, 1},
    {"heat-3d", 3, {512, 512, 512}, STN_F64, STN_CONSTANT, 1000, 0, false, 1},
    {"heat-3d", 3, {512, 512, 512}, STN_F64, STN_FIXED, 50, 0, false, 1},
    {"heat-3d", 3, {384, 500, 640}, STN_F64, STN_FIXED, 1000, 0, false, 1},
    {"heat-3d", 3, {500, 501, 502}, STN_F32, STN_REFLECT, 8, 0, false, 1},
    {"heat-3d", 3, {509, 509, 509}, STN_F64, STN_FIXED, 1000, 0, false, 1},
    {"heat-3d", 3, {512, 512, 512}, STN_F64, STN_WRAP, 1000, 0, true, 1.02},
    {"heat-3d", 3, {512, 512, 512}, STN_F64, STN_FIXED, 1000, 0, true, 1.9},
    {"heat-2d", 2, {10240, 10240}, STN_F16, STN_NEAREST, 1, 0, true, 0},
};

static void one(suite *s, const bound *b) {
    stn_error error = {0};
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    char what[160], detail[1200];
    double grid = (double)stn_dtype_size(b->dtype), size = 0;
    stn_status status = stn_stencil_parse(b->stencil, &stencil, &error);
    p.stencil = stencil, p.dtype = b->dtype, p.steps = b->steps, p.every = b->every, p.has_source = b->source;
    for (int axis = 0; axis < b->rank; axis++) {
        p.extent[axis] = b->n[axis], grid *= (double)b->n[axis];
        p.boundary[axis][0].kind = p.boundary[axis][1].kind = b->sides;
    }
    options.strategy = b->source ? "sourced" : "spectral", options.no_auto_workspace = 1;
    if (status == STN_OK) status = stn_plan_create(s->context, &p, &options, &plan, &error);
    if (status == STN_OK) size = (double)stn_plan_workspace_size(plan) / grid;
    snprintf(what, sizeof what, "workspace: %s %zu.., %s, %s, %llu steps%s%s: at most %g grids", b->stencil, b->n[0],
             stn_dtype_name(b->dtype), side_names[b->sides], (unsigned long long)b->steps,
             b->every ? ", snapshots" : "", b->source ? ", a source" : "", b->most);
    snprintf(detail, sizeof detail, "%g grids; %s", size, error.status ? error.message : "no error");
    suite_report(s, status == STN_OK && size >= 0.1 * b->most && size <= b->most, what, detail);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

void workspace(suite *s) {
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) one(s, &bounds[i]);
}
