/* See variants.h. */
#include "strategies/direct/variants.h"

#include <string.h>

#include "base/best.h"
#include "strategies/direct/rest.h"
#include "strategies/direct/step.h"
#include "strategies/direct/time.h"

enum { FIRST = 3, UNROLLED_MOST = 3000 }; /* instructions of one turn of a fused kernel: about 0.3 s of compiling */

/* Shapes that the estimate likes best. */
static size_t best_of(const stn_task *task, const stn_machine *machine, const direct_shape *shapes, size_t count,
                      const direct_shape *best[FIRST]) {
    double seconds[FIRST];
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        stn_estimate e = {0};
        (shapes[i].fused > 1 ? direct_time_cost : direct_cost)(task, machine, &shapes[i], &e);
        const direct_shape **place = stn_best_insert(best, seconds, sizeof *best, &found, FIRST, e.seconds);
        if (place) *place = &shapes[i];
    }
    return found;
}

typedef struct change {
    int blocks;        /* added */
    int points, chunk; /* times 2 to this power */
} change;

static int times_power(int value, int power) { return power < 0 ? value >> -power : value << power; }

/* False when nothing changes or no kernel takes it. */
static bool make_variant(const stn_task *task, const stn_machine *machine, const direct_shape *from, change by,
                         direct_shape *to, stn_tally *tally) {
    *to = *from;
    bool one_step = from->fused == 1, brick = from->kernel == DIRECT_TIME_TILE && from->threads[1] > 1;
    int some = one_step ? (from->blocks + 3) / 4 : brick ? 1 : 4; /* blocks that make a difference */
    to->blocks += by.blocks * some;
    to->chunk = times_power(from->chunk, by.chunk);
    if (one_step) return !by.points && direct_refit(task, machine, to, tally);
    to->points = times_power(from->points, by.points);
    if (by.points > 0 && from->kernel != DIRECT_TIME_LINE) to->fused /= 2; /* as many partial sums */
    if (from->kernel == DIRECT_TIME_LINE && by.chunk) return false;
    int turn = to->fused * to->points * to->rows * to->operations;
    return turn <= UNROLLED_MOST && direct_time_refit(task, machine, to, !by.chunk, tally);
}

static bool is_among(const direct_shape *shape, const direct_shape *shapes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!memcmp(shape, &shapes[i], sizeof *shape)) return true;
    return false;
}

size_t direct_variants(const stn_task *task, const stn_machine *machine, const direct_shape *shapes, size_t count,
                       direct_shape *variants, size_t most, stn_tally *tally) {
    static const change changes[] = {{1, 0, 0}, {-1, 0, 0}, {0, 0, -1}, {0, 0, 1}, {0, -1, 0}, {0, 1, 0}, {2, -1, 0}};
    const direct_shape *best[FIRST];
    size_t made = 0, found = best_of(task, machine, shapes, count, best);
    for (size_t i = 0; i < found; i++)
        for (size_t c = 0; c < sizeof changes / sizeof *changes && made < most; c++)
            made += make_variant(task, machine, best[i], changes[c], &variants[made], tally) &&
                    !is_among(&variants[made], shapes, count) && !is_among(&variants[made], variants, made);
    return made;
}
