/* Predicted times of NVRTC, from a table of templates and the amount of unrolled code. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compiler.h"
#include "stentor.h"

typedef struct cost {
    const char *name;        /* a prefix of the template's name */
    const char *lacks;       /* a text that the parameters must not contain */
    double seconds, per_fma; /* per_fma: additional seconds for each unrolled multiplication */
} cost;

/* The first row that matches a kernel applies. Measured seconds of NVRTC 13.0 for sm_90 on one core
 * of an H200's host, those of direct_any while other kernels are compiled; other CPUs differ by a
 * factor of up to two. The rows of lowrank, sparse and segment are medians over random plans on
 * another CPU, scaled by the time of direct_any there. */
static const cost costs[] = {{"direct_any", "", 0.15, 0},
                             {"direct_gather", "", 0.16, 0},
                             {"direct_skew", "", 0.2, 1.3e-3},
                             {"direct_line", "", 0.08, 1.5e-3},
                             {"direct_tile", "", 0.1, 1e-3},
                             {"direct_time_line", "", 0.35, 0.03},
                             {"direct_time_tile", "Y_LOW = 0;", 0.15, 1.8e-3},
                             {"direct_time", "", 0.15, 1.2e-3},
                             {"faces_copy", "", 0.08, 0},
                             {"sourced_add", "", 0.08, 0},
                             {"faces_tile", "", 0.08, 6e-4},
                             {"lowrank_mixed", "", 0.27, 0},
                             {"lowrank_axis", "", 0.25, 0},
                             {"lowrank_line", "", 0.6, 0},
                             {"lowrank_plane", "", 0.41, 0},
                             {"lowrank", "", 0.27, 0},
                             {"sparse_chain", "", 0.36, 0},
                             {"sparse_line", "", 0.42, 0},
                             {"sparse_tile", "", 1.1, 0},
                             {"sparse", "", 0.78, 0},
                             {"segment_dense_tile", "", 0.6, 0},
                             {"segment_face", "", 0.9, 0},
                             {"segment_fft_tile", "", 0.4, 0},
                             {"segment_source", "", 0.1, 0},
                             {"segment_line", "", 0.62, 0},
                             {"segment", "", 0.67, 0},
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
static double unrolled_time_tile(const char *params) {
    const double taps = value_of(params, " NTAPS = ") / (value_of(params, " MIRROR_X = ") > 0 ? 1.5 : 1) /
                        (value_of(params, " MIRROR_Z = ") > 0 ? 1.5 : 1);
    const double copies = folds(params, " Z_SIDE_LOW = ") || folds(params, " Z_SIDE_HIGH = ") ? 3 : 1;
    return taps * value_of(params, " ROWS = ") * value_of(params, " POINTS = ") * value_of(params, " FUSED = ") *
           copies;
}

/* Unrolled multiplications of faces_tile, which has code for each tiled axis. The rest of an axis's
 * code takes as long to compile as 200 multiplications; separable weights halve the number of
 * multiplications. */
static double unrolled_faces(const char *params, double all) {
    const char *tiled = strstr(params, " TILED[3] = {");
    int axes = 0;
    for (const char *at = tiled ? strchr(tiled, '{') : ""; *at && *at != '}'; at++) axes += *at == '1';
    /* LOOP_OF_PLANES of faces_tile.cu; where it does not hold although the taps fill whole planes,
     * the time is predicted too short. */
    const double planes = value_of(params, " Z_LOW = ") + value_of(params, " Z_HIGH = ") + 1;
    if (all > 200 && fmod(value_of(params, " NTAPS = "), planes) == 0) all /= planes;
    return axes * (200 + all / (value_of(params, " SEPARABLE = ") > 0 ? 2 : 1));
}

/* Unrolled multiplications of a thread's loop body. direct_tile has less code if its COLUMN_LOOP is
 * 0 or 2 than if it is 1; beyond 1000 multiplications its time stays the same. */
static double unrolled(const char *name, const char *params) {
    static const struct { double base, each; } loops[] = {{0, 0.2}, {100, 1}, {0, 0.6}};
    const double taps = value_of(params, " NTAPS = "), all = taps * value_of(params, " ROWS = ");
    if (!strcmp(name, "direct_time_line")) return taps;
    if (!strcmp(name, "direct_time_tile")) return unrolled_time_tile(params);
    if (!strcmp(name, "faces_tile")) return unrolled_faces(params, all * value_of(params, " POINTS = "));
    const double body = all * value_of(params, " VECTOR = ") * value_of(params, " UNROLL = ");
    if (strcmp(name, "direct_tile") != 0) return body;
    const int loop = (int)value_of(params, " COLUMN_LOOP = ") % 3;
    return loops[loop].base + loops[loop].each * fmin(body, 1000);
}

/* Seconds to compile the code that moves rows of f16 of any length through shared memory. */
static double odd_row_seconds(const char *name, const char *params) {
    const bool odd = !strncmp(name, "direct_time", 11) && strstr(params, "STORE = unsigned short;") &&
                     value_of(params, " VECTOR = ") == 1;
    return odd ? 0.5 : 0;
}

double stn_compile_seconds(const char *template_name, const char *params) {
    const cost *each = costs;
    while (strncmp(template_name, each->name, strlen(each->name)) != 0 || (*each->lacks && strstr(params, each->lacks)))
        each++; /* the last row matches every template */
    return each->seconds + odd_row_seconds(template_name, params) +
           (each->per_fma > 0 ? each->per_fma * unrolled(template_name, params) : 0);
}
