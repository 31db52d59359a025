/* The generic kernels: see generic_kernels.h. */
#include "cli/generic_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "context/context.h"
#include "plan/plan.h"

stn_status cli_make_generic_kernels(stn_context *context, bool with_source, stn_error *error) {
    static const stn_dtype types[] = {STN_F64, STN_F32, STN_F16};
    /* Several steps with a source copy an input that is not packed. */
    static const struct {
        uint64_t steps;
        int source;
        ptrdiff_t stride;
    } runs[] = {{1, 0, 1}, {1, 1, 1}, {2, 1, 2}};
    const size_t count = with_source ? sizeof runs / sizeof *runs : 1;
    stn_stencil *stencil;
    stn_status status = STN_OK;
    /* any stencil: taps are data of these kernels */
    STN_TRY(stn_stencil_parse("heat-1d", &stencil, error));
    for (size_t i = 0; i < count * sizeof types / sizeof *types && status == STN_OK; i++) {
        stn_problem problem = STN_PROBLEM_INIT;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        stn_plan *plan = NULL, *any = NULL;
        stn_ranked row;
        problem.stencil = stencil, problem.extent[0] = 4096;
        problem.dtype = types[i / count], problem.in_stride[0] = runs[i % count].stride;
        problem.steps = runs[i % count].steps, problem.has_source = runs[i % count].source;
        options.estimate_only = 1;
        status = stn_plan_create(context, &problem, &options, &plan, error);
        if (status == STN_OK && stn_plan_generic(plan, &row))
            status = stn_plan_build(plan, problem.steps, row.strategy, &row.candidate, NULL, &any, error);
        stn_plan_destroy(any);
        stn_plan_destroy(plan);
    }
    stn_stencil_destroy(stencil);
    return status;
}

static stn_status record_arch(stn_pack_writer *writer, const char *arch, const char *cache_dir, stn_error *error) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_context *context;
    options.arch = arch, options.cache_dir = cache_dir;
    STN_TRY(stn_context_create(&options, &context, error));
    stn_cache_record(context->cache, writer);
    const stn_status status = cli_make_generic_kernels(context, false, error);
    stn_context_destroy(context);
    return status;
}

static int sm_of(const char *arch) {
    int sm = 0;
    (void)sscanf(arch, "sm_%d", &sm);
    return sm;
}
static int compare_archs(const void *a, const void *b) {
    return sm_of(*(const char *const *)a) - sm_of(*(const char *const *)b);
}

stn_status cli_record_embedded_kernels(stn_pack_writer *writer, const char *const *archs, size_t count,
                                       const char *cache_dir, stn_error *error) {
    stn_status failed = STN_OK;
    bool has_ptx = false;
    const char **sorted = malloc(count * sizeof *sorted);
    if (!sorted) return stn_fail_memory(error, "the architectures", count * sizeof *sorted);
    memcpy(sorted, archs, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_archs);
    for (size_t i = 0; i < count; i++) {
        /* The PTX is that of the oldest architecture that NVRTC compiles for. */
        if (!has_ptx) stn_pack_writer_keep_ptx(writer, sm_of(sorted[i]));
        const stn_status status = record_arch(writer, sorted[i], cache_dir, error);
        if (status == STN_OK)
            has_ptx = true;
        else
            failed = status;
    }
    free(sorted);
    return failed;
}
