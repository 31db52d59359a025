/* A table of compile times by template: compile_cost.h. */
#include "context/compile_cost.h"

#include <stdlib.h>
#include <string.h>

#include "context/context.h"

typedef struct cost {
    const char *name;        /* a prefix of the template's name */
    const char *lacks;       /* a text that the parameters must not contain */
    double seconds, per_fma; /* per_fma: additional seconds for each unrolled multiplication */
} cost;

/* The first row that matches applies. Seconds of NVRTC 13.0 for sm_90 on one core of an H200's
 * host; other CPUs differ by a factor of up to two. */
static const cost costs[] = {{"direct_any", "", 0.12, 0},
                             {"direct_gather", "", 0.14, 0},
                             {"direct_line", "", 0.08, 1.5e-3},
                             {"direct_tile", "Y_LOW = 0;", 0.15, 1.2e-3},
                             {"direct_tile", "", 0.12, 1.2e-4},
                             {"direct_time_line", "", 0.18, 2.5e-3},
                             {"direct_time_tile", "Y_LOW = 0;", 0.15, 1.8e-3},
                             {"direct_time", "", 0.15, 1.2e-3},
                             {"faces_copy", "", 0.08, 0},
                             {"sourced_add", "", 0.08, 0},
                             {"faces_tile", "", 0.41, 0},
                             {"lowrank_mixed", "", 0.5, 0},
                             {"lowrank", "", 0.6, 0},
                             {"sparse", "", 0.3, 0},
                             {"segment_fft_tile", "", 0.5, 0},
                             {"segment", "", 0.77, 0},
                             {"spectral_columns", "DIRECTION = 2;", 0.25, 0},
                             {"spectral_columns", "", 0.45, 0},
                             {"spectral_rows", "", 0.35, 0},
                             {"spectral_source", "", 0.27, 0},
                             {"", "", 0.5, 0}};

static double value_of(const char *params, const char *name) {
    const char *at = strstr(params, name);
    return at ? strtod(at + strlen(name), NULL) : 1;
}

/* Is the boundary one that folds planes back into the grid? The kernel then has a third copy of its
 * unrolled code, besides those for the interior and the edge. */
static bool folds(const char *params, const char *side) {
    const double kind = value_of(params, side);
    return kind == STN_NEAREST || kind == STN_REFLECT || kind == STN_MIRROR;
}

/* The number of unrolled multiplications in the loop body of direct_time_tile. Opposite taps of an
 * axis with mirrored weights share one multiplication. */
static double unrolled_turn(const char *params) {
    const double taps = value_of(params, " NTAPS = ") / (value_of(params, " MIRROR_X = ") > 0 ? 1.5 : 1) /
                        (value_of(params, " MIRROR_Z = ") > 0 ? 1.5 : 1);
    const double copies = folds(params, " Z_SIDE_LOW = ") || folds(params, " Z_SIDE_HIGH = ") ? 3 : 1;
    return taps * value_of(params, " ROWS = ") * value_of(params, " POINTS = ") * value_of(params, " FUSED = ") *
           copies;
}

/* The number of unrolled multiplications in a thread's loop body. */
static double unrolled(const char *name, const char *params) {
    if (!strcmp(name, "direct_time_tile")) return unrolled_turn(params);
    return value_of(params, " NTAPS = ") * value_of(params, " VECTOR = ") * value_of(params, " ROWS = ") *
           value_of(params, " UNROLL = ");
}

double stn_compile_seconds(const char *template_name, const char *params) {
    const cost *each = costs;
    while (strncmp(template_name, each->name, strlen(each->name)) != 0 || (*each->lacks && strstr(params, each->lacks)))
        each++; /* the last row matches every template */
    return each->seconds + (each->per_fma > 0 ? each->per_fma * unrolled(template_name, params) : 0);
}

int stn_compile_threads(const stn_context *context) { return context->threads ? context->threads : stn_pool_allowed(); }
