/* See compile_cost.h. */
#include "context/compile_cost.h"

#include <string.h>

#include "context/context.h"

typedef struct cost {
    const char *name;  /* of templates that begin so, */
    const char *holds; /* and whose parameters hold this: the first that fits */
    double seconds;
} cost;

/* Medians of NVRTC 13.0 for sm_90 on one busy CPU core, over bench/planner_problems.json: bench/results/2026-11-22-compile-times.md.
 * Estimates: one template's kernels differ by up to nine times, other CPUs by two. */
static const cost costs[] = {{"direct_any", "", 0.08},       {"direct_gather", "", 0.14},
                             {"direct_line", "", 0.09},      {"direct_tile", "UNROLL = 1;", 0.2},
                             {"direct_tile", "", 0.28},      {"direct_time", "", 0.4},
                             {"faces_copy", "", 0.09},       {"faces_tile", "", 0.5},
                             {"lowrank", "", 0.6},           {"segment", "", 0.77},
                             {"spectral_columns", "", 0.53}, {"spectral_rows", "", 0.35},
                             {"spectral_source", "", 0.27},  {"", "", 0.5}};

double stn_compile_guess(const char *template_name, const char *params) {
    const cost *each = costs;
    while (strncmp(template_name, each->name, strlen(each->name)) != 0 || !strstr(params, each->holds))
        each++; /* the last one fits all */
    return each->seconds;
}

int stn_compile_threads(const stn_context *context) { return context->threads ? context->threads : stn_pool_allowed(); }
