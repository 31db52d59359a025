/* sparse's single steps that read whole lines of memory against host, in f16 and in f32 by tolerance, on whatever device there is (the
 * emulator in CI, a GPU elsewhere). Prints TAP. Usage: test_whole_lines [--full]. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "base/arith.h"

#define TOLERANCE 1e-3 /* of f32: tf32 */

/* One candidate of which the name has `words`, of one step on rows of whole 16 bytes or of a few: its parameters in `c`; false if there is
 * none. */
static bool check(suite *s, const char *words, int rank, bool single, dice d, int turn, comparison *c) {
    int radius = dice_int(&d, 1, rank == 1 ? 8 : 4);
    int n[3] = {rank == 1 ? dice_int(&d, 100, 60000) : dice_int(&d, 20, 700), dice_int(&d, 20, 1200), 0};
    if (turn % 2 || single) n[rank - 1] = (int)stn_round_up(n[rank - 1], 16);
    stn_stencil *stencil = random_stencil(&d, rank, (taps_kind)dice_int(&d, 0, 2), radius);
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil, p.steps = single ? 1 : (uint64_t)dice_int(&d, 1, 3);
    for (int axis = 0; axis < rank; axis++) p.extent[axis] = (size_t)n[axis];
    if (turn % 4) random_sides(&d, &p, rank);
    if (turn % 5 == 0) p.batch = 3;
    if (turn % 11 == 10) p.alignment = 4;
    p.dtype = dice_int(&d, 0, 1) ? STN_F32 : STN_F16;
    p.tolerance = TOLERANCE;
    int pick = suite_candidate(s, &p, "sparse", words);
    bool good = compare_candidate_with_host(s->context, s->pool, &p, "sparse", pick, true, d.state, c);
    bool none = !good && c->error.status == STN_ERROR_INVALID_ARGUMENT;
    char what[400], detail[1200];
    snprintf(what, sizeof what, "%dD, %d x %d, %s, radius %d, %llu steps, %s: %s", rank, n[0], n[1],
             stn_dtype_name(p.dtype), radius, (unsigned long long)p.steps, words, none ? "none" : c->parameters);
    suite_detail(c, detail, sizeof detail);
    s->worst = fmax(s->worst, good ? c->relative_l2 / c->bar : 0);
    suite_report(s, good || none, what, detail);
    stn_stencil_destroy(stencil);
    return !none;
}

/* All sides, walks over several tiles, edges that cut a tile, rows that are not aligned; a step, and a few. */
static void whole_lines(suite *s) {
    int seen[3] = {0};
    for (int turn = 0; turn < (s->full ? 150 : 12); turn++) {
        comparison c;
        int rank = turn % 3 ? 2 : 1;
        bool any = check(s, "whole lines", rank, false, (dice){(uint64_t)(1700 + turn)}, turn, &c);
        seen[0] += any && rank == 1;
        seen[1] += strstr(c.parameters, "sparse_walk") != NULL && strstr(c.parameters, "f16") != NULL;
        seen[2] += strstr(c.parameters, "sparse_walk") != NULL && strstr(c.parameters, "tf32") != NULL;
    }
    suite_report(s, seen[0] && seen[1] && seen[2], "lines, and planes of both types", NULL);
}

/* The same of planes in tiles of four warps side by side, in small blocks of a tile and of a few, and where requests ask for pairs of
 * lines. */
static void wider(suite *s) {
    static const char *const ways[] = {"tiles of 4 warps", "1 stages, walks of 1", "2 stages, walks of 4",
                                       "3 stages, walks of 6", "read by pairs"};
    enum { WAYS = sizeof ways / sizeof *ways };
    int seen[WAYS] = {0};
    bool all = true;
    for (int turn = 0; turn < (s->full ? 240 : 40); turn++) {
        comparison c;
        const int way = (turn + turn / WAYS) % WAYS; /* each of them on all kinds of grids */
        seen[way] += check(s, ways[way], way + 1 < WAYS || turn % 2 ? 2 : 1, turn % 2, (dice){(uint64_t)(5200 + turn)},
                           turn, &c);
    }
    for (int way = 0; way < WAYS; way++) all = all && seen[way];
    suite_report(s, all, "all of them", NULL);
}

/* Without shared memory: lines and planes of both types, and f32 in two parts. */
static void straight(suite *s) {
    int seen[3] = {0};
    for (int turn = 0; turn < (s->full ? 150 : 36); turn++) {
        comparison c;
        const int rank = turn % 3 ? 2 : 1;
        const char *words = rank == 2 && turn / 2 % 2 ? "straight from memory|walks of 4" : "straight from memory";
        const bool any = check(s, words, rank, false, (dice){(uint64_t)(6400 + turn)}, turn, &c);
        seen[0] += any && rank == 1;
        seen[1] += any && rank == 2 && strstr(c.parameters, "f16") != NULL;
        seen[2] += any && rank == 2 && strstr(c.parameters, "tf32") != NULL;
    }
    suite_report(s, seen[0] && seen[1] && seen[2], "lines, and planes of both types", NULL);
}

/* Lines in windows too long to be abreast, whose columns lie beside each other: windows, sides and sizes at random. */
static void beside(suite *s) {
    int seen[3] = {0};
    for (int turn = 0; turn < (s->full ? 120 : 9); turn++) {
        dice d = {(uint64_t)(2900 + turn)};
        int radius = dice_int(&d, 1, 6), by = turn % 3 == 2 ? 4 : 2;
        size_t n = (size_t)dice_int(&d, 1500, 70000);
        if (turn % 2) n = (size_t)stn_round_up((int64_t)n, 16);
        stn_stencil *stencil = random_stencil(&d, 1, (taps_kind)dice_int(&d, 0, 2), radius);
        stn_problem p = STN_PROBLEM_INIT;
        p.stencil = stencil, p.steps = (uint64_t)dice_int(&d, 8, 200) / (uint64_t)radius + 2, p.extent[0] = n;
        if (turn % 4) random_sides(&d, &p, 1);
        if (turn % 5 == 0) p.batch = 3;
        if (turn % 7 == 6) p.alignment = 4;
        p.dtype = turn % 3 ? STN_F16 : STN_F32;
        p.tolerance = TOLERANCE;
        comparison c;
        char words[80], what[400], detail[1200];
        snprintf(words, sizeof words, "beside each other by %d|%s", by,
                 turn % 4 == 3 ? "4 warps, 4 blocks" : "8 warps, 2 blocks");
        int pick = suite_candidate(s, &p, "sparse", words);
        bool good = compare_candidate_with_host(s->context, s->pool, &p, "sparse", pick, true, d.state, &c);
        bool none = !good && c.error.status == STN_ERROR_INVALID_ARGUMENT;
        snprintf(what, sizeof what, "%zu points, %s, radius %d, %llu steps, by %d: %s", n, stn_dtype_name(p.dtype),
                 radius, (unsigned long long)p.steps, by, none ? "none" : c.parameters);
        suite_detail(&c, detail, sizeof detail);
        s->worst = fmax(s->worst, good ? c.relative_l2 / c.bar : 0);
        if (!none) seen[turn % 3]++;
        suite_report(s, good || none, what, detail);
        stn_stencil_destroy(stencil);
    }
    suite_report(s, seen[0] && seen[1] && seen[2], "two columns of both types, and four of f16", NULL);
}

/* f32 to its own accuracy, of planes: elements in two parts, by whichever candidate comes first, reads whole lines, or has no
 * shared memory. */
static void split(suite *s) {
    int seen = 0, straight_ones = 0;
    for (int turn = 0; turn < (s->full ? 120 : 24); turn++) {
        dice d = {(uint64_t)(8100 + turn)};
        int radius = dice_int(&d, 1, 6);
        stn_stencil *stencil = random_stencil(&d, 2, (taps_kind)dice_int(&d, 0, 2), radius);
        stn_problem p = STN_PROBLEM_INIT;
        p.stencil = stencil, p.dtype = STN_F32, p.steps = (uint64_t)dice_int(&d, 1, radius > 2 ? 3 : 12);
        p.extent[0] = (size_t)dice_int(&d, 20, 300), p.extent[1] = (size_t)dice_int(&d, 20, 300);
        if (turn % 2) p.extent[1] = (size_t)stn_round_up((int64_t)p.extent[1], 16);
        if (turn % 4) random_sides(&d, &p, 2);
        comparison c;
        char what[400], detail[1200];
        static const char *const ways[] = {"whole lines", "straight from memory", NULL};
        int pick = ways[turn % 3] ? suite_candidate(s, &p, "sparse", ways[turn % 3]) : -1;
        bool good = compare_candidate_with_host(s->context, s->pool, &p, "sparse", pick, true, d.state, &c);
        bool none = !good && c.error.status == STN_ERROR_INVALID_ARGUMENT;
        snprintf(what, sizeof what, "%zu x %zu, f32, radius %d, %llu steps: %s", p.extent[0], p.extent[1], radius,
                 (unsigned long long)p.steps, none ? "none" : c.parameters);
        suite_detail(&c, detail, sizeof detail);
        s->worst = fmax(s->worst, good ? c.relative_l2 / c.bar : 0);
        seen += !none && strstr(c.parameters, "tf32 x 3") != NULL;
        straight_ones += !none && strstr(c.parameters, "sparse_straight") != NULL;
        suite_report(s, good || none, what, detail);
        stn_stencil_destroy(stencil);
    }
    suite_report(s, seen > 3 && straight_ones, "three products", NULL);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {
        {"whole-lines", whole_lines}, {"wider", wider}, {"straight", straight}, {"beside", beside}, {"split", split}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
