/* See compile_cost.h. */
#include "context/compile_cost.h"

#include <stdlib.h>
#include <string.h>

#include "context/context.h"

typedef struct cost {
    const char *name;        /* of templates that begin so, */
    const char *lacks;       /* and whose parameters do not hold this: the first that fits */
    double seconds, per_fma; /* per_fma: for each unrolled multiplication beside that */
    double hurried;          /* in a hurry, where nothing is unrolled */
} cost;

/* Medians of NVRTC 13.0 for sm_90 on one busy CPU core, over bench/planner_problems.json: bench/results/2026-11-22-compile-times.md; what
 * unrolled code takes, and a hurry: bench/results/2026-11-23-compile-times.md. Estimates: other CPUs differ by two. */
static const cost costs[] = {{"direct_any", "", 0.08, 0, 0.07},
                             {"direct_gather", "", 0.14, 0, 0.1},
                             {"direct_line", "", 0.09, 3e-3, 0.08},
                             {"direct_tile", "Y_LOW = 0;", 0.15, 1.2e-3, 0.12},
                             {"direct_tile", "", 0.15, 1.5e-4, 0.12},
                             {"direct_time", "", 0.4, 0, 0.2},
                             {"faces_copy", "", 0.09, 0, 0.08},
                             {"sourced_add", "", 0.08, 0, 0.07},
                             {"faces_tile", "", 0.5, 0, 0.4},
                             {"lowrank", "", 0.6, 0, 0.3},
                             {"sparse", "", 0.5, 0, 0.5},
                             {"segment", "", 0.77, 0, 0.5},
                             {"spectral_columns", "", 0.53, 0, 0.22},
                             {"spectral_rows", "", 0.35, 0, 0.27},
                             {"spectral_source", "", 0.27, 0, 0.15},
                             {"", "", 0.5, 0, 0.25}};

static double value_of(const char *params, const char *name) {
    const char *at = strstr(params, name);
    return at ? strtod(at + strlen(name), NULL) : 1;
}

static double unrolled(const char *params) {
    return value_of(params, " NTAPS = ") * value_of(params, " VECTOR = ") * value_of(params, " ROWS = ") *
           value_of(params, " UNROLL = ");
}

double stn_compile_guess(const char *template_name, const char *params, bool hurried) {
    const cost *each = costs;
    while (strncmp(template_name, each->name, strlen(each->name)) != 0 || (*each->lacks && strstr(params, each->lacks)))
        each++; /* the last one fits all */
    return hurried ? each->hurried : each->seconds + (each->per_fma > 0 ? each->per_fma * unrolled(params) : 0);
}

int stn_compile_threads(const stn_context *context) { return context->threads ? context->threads : stn_pool_allowed(); }
