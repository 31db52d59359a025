/* segment with its longest segments, compared with host on any device. Prints TAP. Usage:
 * test_segment_long [--full] [--only PART] [--dtype T]. */
#include <stdio.h>

#include "segment_lines.h"

/* Segments of 8192 and 16384 points: every kind of side, whole periods, asymmetric weights,
 * margins, 1 to 4096 steps and more, batches, unaligned layouts. */
static void longest(suite *s) {
    static const struct {
        int points, n, low, high, radius;
        uint64_t steps;
        bool uneven, odd;
    } cases[] = {{8192, 20011, STN_WRAP, STN_WRAP, 1, 1000, false, false},
                 {16384, 30011, STN_WRAP, STN_WRAP, 2, 3000, true, false},
                 {8192, 9001, STN_FIXED, STN_CONSTANT, 1, 4096, false, false},
                 {16384, 20023, STN_CONSTANT, STN_MIRROR, 1, 4096, false, true},
                 {8192, 15013, STN_WRAP, STN_WRAP, 3, 17, true, true},
                 {16384, 16384, STN_WRAP, STN_WRAP, 2, 4096, true, false},
                 {8192, 8192, STN_WRAP, STN_WRAP, 1, 100000, false, false},
                 {16384, 257, STN_REFLECT, STN_FIXED, 1, 20000, false, false},
                 {8192, 12345, STN_REFLECT, STN_MIRROR, 3, 1, false, true},
                 {16384, 33333, STN_FIXED, STN_REFLECT, 1, 30000, false, false},
                 {8192, 10007, STN_NEAREST, STN_CONSTANT, 2, 5, true, false},
                 {16384, 15000, STN_WRAP, STN_WRAP, 3, 3000, true, true},
                 {8192, 101, STN_CONSTANT, STN_CONSTANT, 1, 3000, false, true},
                 {8192, 4096, STN_REFLECT, STN_REFLECT, 2, 3000, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!s->full && i > 9) continue;
        dice d = {(uint64_t)i + 900};
        stn_stencil *stencil = (cases[i].uneven ? uneven_line : even_line)(&d, cases[i].radius);
        if (cases[i].uneven && cases[i].steps > 60) stencil = lasting(stencil);
        stn_problem p = line_of(stencil, cases[i].n, cases[i].steps);
        const bool wrapped = cases[i].low == STN_WRAP || cases[i].high == STN_WRAP;
        set_sides(&p, 0, wrapped ? STN_WRAP : cases[i].low, wrapped ? STN_WRAP : cases[i].high);
        p.batch = 1 + i % 3;
        p.in_place = i % 4 == 1;
        if (cases[i].odd) p.alignment = s->dtype_given ? 4 : 8;
        p = suite_problem(s, &p);
        char what[240], words[100], detail[1200];
        comparison c;
        snprintf(words, sizeof words, "segments of %d points", cases[i].points);
        const int pick = suite_candidate(s, &p, "segment", words);
        const bool good = compare_candidate_with_host(s->context, s->pool, &p, "segment", pick, true, d.state, &c);
        snprintf(what, sizeof what, "%s, %d points, %s:%s, %d steps", words, cases[i].n, side_names[cases[i].low],
                 side_names[cases[i].high], (int)p.steps);
        suite_detail(&c, detail, sizeof detail);
        suite_report(s, good, what, detail);
        stn_stencil_destroy(stencil);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"longest", longest}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
