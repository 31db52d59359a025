/* Frequencies that are retained, and the slabs in which they are computed, against plain loops. */
#include <complex.h>
#include <math.h>

#include "../common/tasks.h"
#include "base/arith.h"
#include "strategies/common/stencil_symbol.h"
#include "strategies/spectral/spectral_shape.h"

enum { LENGTH = 37, TAPS = 60 };

static double complex root_of(const stn_tap *tap, const double angle[3]) {
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) sum += angle[axis] * (double)tap->offset[axis];
    return cexp(I * sum);
}

/* Samples around the circle, as many as the search takes. */
static int samples_of(const stn_task *task, int other, bool both) {
    const int degrees = task->reach[other][0] + task->reach[other][1];
    return degrees ? (both ? 32 : 128) * degrees : 1;
}

/* The largest sampled |K| at frequency k of `axis`, times the bound between samples. */
static double largest_at(const stn_task *task, int axis, int k) {
    const int others[2] = {axis == 0 ? 1 : 0, axis == 2 ? 1 : 2};
    const bool both = samples_of(task, others[0], true) > 1 && samples_of(task, others[1], true) > 1;
    const int m[2] = {samples_of(task, others[0], both), samples_of(task, others[1], both)};
    double most = 0, bound = 1;
    for (int i = 0; i < m[0]; i++)
        for (int j = 0; j < m[1]; j++) {
            double angle[3] = {0};
            angle[axis] = 2 * M_PI * k / LENGTH;
            angle[others[0]] = 2 * M_PI * i / m[0], angle[others[1]] = 2 * M_PI * j / m[1];
            double complex sum = 0;
            for (size_t t = 0; t < task->ntaps; t++) sum += task->taps[t].weight * root_of(&task->taps[t], angle);
            most = fmax(most, cabs(sum));
        }
    for (int o = 0; o < 2; o++)
        bound /= cos(M_PI * (task->reach[others[o]][0] + task->reach[others[o]][1]) / 2.0 / m[o]);
    return most * bound;
}

static int64_t retained_by_loops(const stn_task *task, int axis, double decay_threshold) {
    int64_t kept = LENGTH / 2 + 1;
    while (kept > 1 && largest_at(task, axis, (int)kept - 1) < 1 - decay_threshold) kept--;
    return kept;
}

/* Weights without structure, of either sign, in boxes of several widths. */
Test(retained, as_of_all_samples) {
    static const int widths[][3] = {{3, 3, 3}, {2, 4, 3}, {1, 5, 3}, {3, 1, 4}, {4, 2, 2}};
    static const double thresholds[] = {0.05, 0.2, 0.4, 0.6};
    unsigned long long state = 5;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        stn_tap taps[TAPS];
        size_t count = 0;
        double sum = 0;
        for (int z = 0; z < widths[w][0]; z++)
            for (int y = 0; y < widths[w][1]; y++)
                for (int x = 0; x < widths[w][2]; x++) {
                    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
                    taps[count] = (stn_tap){{z - (widths[w][0] - 1) / 2, y - (widths[w][1] - 1) / 2, x}, 0};
                    taps[count].weight = 0.4 + (double)(long long)state * 0x1p-63;
                    sum += taps[count++].weight;
                }
        for (size_t t = 0; t < count; t++) taps[t].weight /= sum;
        stn_stencil *stencil;
        OK(stn_stencil_create(3, count, taps, &stencil, &error));
        stn_task task = task_of(stencil);
        for (int axis = 0; axis < 3; axis++)
            for (size_t i = 0; i < sizeof thresholds / sizeof *thresholds; i++) {
                const int64_t kept = stn_symbol_retained(&task, axis, LENGTH, thresholds[i]),
                              expected = retained_by_loops(&task, axis, thresholds[i]);
                cr_expect_eq(kept, expected, "box %d, axis %d, threshold %g: %d instead of %d", (int)w, axis,
                             thresholds[i], (int)kept, (int)expected);
            }
        stn_task_clear(&task);
        stn_stencil_destroy(stencil);
    }
}

/* Slabs follow each other without gaps, none has more tiles than are allowed, and none lies across
 * a bound. Between two bounds they differ by one tile at most. */
Test(retained, slabs_cover_all_frequencies) {
    enum { LINE = 16 };
    for (int kept = 1; kept < 700; kept += 13)
        for (int most = 1; most < 9; most++)
            for (int held = 0; held <= kept; held += 5 * LINE) {
                spectral_shape shape = {.choice = {.slab = most, .kept = {1, 1, kept}, .with_points = {1, 1, kept}},
                                        .slabs = {.line = LINE, .held = held}};
                int end = 0, least[2] = {INT32_MAX, INT32_MAX}, largest[2] = {0, 0};
                for (spectral_slab slab = {0}; spectral_next_slab(&shape, false, &slab); end += slab.count) {
                    const int tiles = (int)stn_div_up(slab.count, LINE), at = !slab.held;
                    cr_assert(slab.first == end && slab.count > 0 && tiles <= most, "%d of %d", slab.count, kept);
                    cr_assert(slab.held == (slab.first < held) && (!slab.held || slab.first + slab.count <= held));
                    least[at] = (int)stn_min(least[at], tiles), largest[at] = (int)stn_max(largest[at], tiles);
                }
                cr_expect_eq(end, kept);
                for (int at = 0; at < 2; at++) cr_expect(!largest[at] || largest[at] - least[at] <= 1);
            }
}
