/* sparse's kernels for few rows of taps, for long windows of lines, and for f32 to its own
 * accuracy, against the host, on any device. Prints TAP. Usage: test_sparse_kernels [--full]
 * [--only PART]. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "base/arith.h"

#define TOLERANCE 1e-3 /* for f32, by tf32 */

/* Planes by sparse_march, with one tile a block (f16) and with several: all sides, edges that cut a
 * tile, unaligned rows. */
static void rings(suite *s) {
    static const char *const ways[] = {"ring of 1 stages", "ring of 3 stages", "ring of 2 stages"};
    int seen[2][3] = {{0}};
    for (int variant = 0; variant < (s->full ? 120 : 18); variant++) {
        dice d = {(uint64_t)(1700 + variant)};
        int n[3] = {dice_int(&d, 20, 700), dice_int(&d, 20, 1200), 0}, radius = dice_int(&d, 1, 3);
        if (variant % 2) n[1] = (int)stn_round_up(n[1], 16);
        stn_stencil *stencil = random_stencil(&d, 2, (taps_kind)dice_int(&d, 0, 2), radius);
        stn_problem p = grid_problem(stencil, n, STN_F64, (uint64_t)dice_int(&d, 1, 3));
        if (variant % 4) random_sides(&d, &p, 2);
        if (variant % 5 == 0) p.batch = 3;
        if (variant % 11 == 10) p.alignment = 4;
        p.dtype = variant / 3 % 2 ? STN_F32 : STN_F16;
        p.tolerance = TOLERANCE;
        comparison c;
        int pick = suite_candidate(s, &p, "sparse", ways[variant % 3]);
        bool good = compare_candidate_with_host(s->context, s->pool, &p, "sparse", pick, true, d.state, &c);
        bool none = !good && c.error.status == STN_ERROR_INVALID_ARGUMENT;
        char what[400], detail[1200];
        snprintf(what, sizeof what, "%d x %d, %s, radius %d, %llu steps: %s", n[0], n[1], stn_dtype_name(p.dtype),
                 radius, (unsigned long long)p.steps, none ? "none" : c.parameters);
        suite_detail(&c, detail, sizeof detail);
        s->worst = fmax(s->worst, good ? c.relative_l2 / c.bar : 0);
        seen[p.dtype == STN_F16][variant % 3] += strstr(c.parameters, "sparse_march") != NULL;
        suite_report(s, good || none, what, detail);
        stn_stencil_destroy(stencil);
    }
    const bool all = seen[1][0] && seen[1][1] && seen[0][1] + seen[0][2];
    suite_report(s, all, "a tile a block, and several in both types", NULL);
}

/* Lines in windows too long for adjacent columns: random windows, sides and sizes. */
static void lines(suite *s) {
    int seen[2] = {0};
    for (int variant = 0; variant < (s->full ? 120 : 8); variant++) {
        dice d = {(uint64_t)(2900 + variant)};
        int radius = dice_int(&d, 1, 6), n[3] = {dice_int(&d, 1500, 70000), 0, 0};
        if (variant % 2) n[0] = (int)stn_round_up(n[0], 16);
        stn_stencil *stencil = random_stencil(&d, 1, (taps_kind)dice_int(&d, 0, 2), radius);
        stn_problem p = grid_problem(stencil, n, STN_F64, (uint64_t)dice_int(&d, 8, 200) / (uint64_t)radius + 2);
        if (variant % 4) random_sides(&d, &p, 1);
        if (variant % 5 == 0) p.batch = 3;
        if (variant % 7 == 6) p.alignment = 4;
        p.dtype = variant % 2 ? STN_F16 : STN_F32;
        p.tolerance = TOLERANCE;
        comparison c;
        int pick = suite_candidate(s, &p, "sparse", "2 columns side by side");
        bool good = compare_candidate_with_host(s->context, s->pool, &p, "sparse", pick, true, d.state, &c);
        bool none = !good && c.error.status == STN_ERROR_INVALID_ARGUMENT;
        char what[400], detail[1200];
        snprintf(what, sizeof what, "%d points, %s, radius %d, %llu steps: %s", n[0], stn_dtype_name(p.dtype), radius,
                 (unsigned long long)p.steps, none ? "none" : c.parameters);
        suite_detail(&c, detail, sizeof detail);
        s->worst = fmax(s->worst, good ? c.relative_l2 / c.bar : 0);
        seen[variant % 2] += !none;
        suite_report(s, good || none, what, detail);
        stn_stencil_destroy(stencil);
    }
    suite_report(s, seen[0] && seen[1], "two columns of both types", NULL);
}

/* f32 to its own accuracy, in 2D: elements in two parts. */
static void split(suite *s) {
    int seen = 0;
    for (int variant = 0; variant < (s->full ? 80 : 8); variant++) {
        dice d = {(uint64_t)(8100 + variant)};
        int radius = dice_int(&d, 1, 6), n[3] = {dice_int(&d, 20, 300), dice_int(&d, 20, 300), 0};
        if (variant % 2) n[1] = (int)stn_round_up(n[1], 16);
        stn_stencil *stencil = random_stencil(&d, 2, (taps_kind)dice_int(&d, 0, 2), radius);
        stn_problem p = grid_problem(stencil, n, STN_F64, (uint64_t)dice_int(&d, 1, radius > 2 ? 3 : 12));
        p.dtype = STN_F32;
        if (variant % 4) random_sides(&d, &p, 2);
        comparison c;
        bool good = compare_candidate_with_host(s->context, s->pool, &p, "sparse", -1, true, d.state, &c);
        char what[400], detail[1200];
        snprintf(what, sizeof what, "%d x %d, f32, radius %d, %llu steps: %s", n[0], n[1], radius,
                 (unsigned long long)p.steps, c.parameters);
        suite_detail(&c, detail, sizeof detail);
        s->worst = fmax(s->worst, good ? c.relative_l2 / c.bar : 0);
        seen += good && strstr(c.parameters, "tf32 x 3") != NULL;
        suite_report(s, good, what, detail);
        stn_stencil_destroy(stencil);
    }
    suite_report(s, seen > 3, "three products", NULL);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"rings", rings}, {"lines", lines}, {"split", split}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
