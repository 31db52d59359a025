/* Lists further shapes near the best estimated ones, for measuring. */
#include "strategies/direct/direct_variants.h"

#include <string.h>

#include "base/cheapest.h"
#include "strategies/direct/one_step.h"
#include "strategies/direct/remaining_steps.h"
#include "strategies/direct/temporal_blocking.h"

/* MAX_UNROLLED: instructions of one iteration of a multi-step kernel, about 0.3 s of compiling */
enum { FIRST = 3, MAX_UNROLLED = 3000 };

/* The FIRST shapes with the lowest estimates. */
static size_t best_of(const stn_task *task, const stn_machine *machine, const direct_shape *shapes, size_t count,
                      const direct_shape *best[FIRST]) {
    double seconds[FIRST];
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        stn_estimate e = {0};
        (shapes[i].fused > 1 ? direct_time_cost : direct_cost)(task, machine, &shapes[i], &e);
        const direct_shape **place = stn_cheapest_insert(best, seconds, sizeof *best, &found, FIRST, e.seconds);
        if (place) *place = &shapes[i];
    }
    return found;
}

typedef struct change {
    int blocks;        /* added */
    int points, chunk; /* exponents of 2 by which they are multiplied */
} change;

static int times_power(int value, int power) { return power < 0 ? value >> -power : value << power; }

/* Applies a change to a shape; false when nothing changes or no kernel takes the result. */
static bool make_variant(const stn_task *task, const stn_machine *machine, const direct_shape *from, change by,
                         direct_shape *to) {
    *to = *from;
    bool one_step = from->fused == 1, is_block = from->kernel == DIRECT_TIME_TILE && from->threads[1] > 1;
    /* The smallest change of the number of blocks that has an effect. */
    int some = one_step ? (from->blocks + 3) / 4 : is_block ? 1 : 4;
    to->blocks += by.blocks * some;
    to->chunk = times_power(from->chunk, by.chunk);
    if (one_step) return !by.points && direct_refit(task, machine, to);
    to->points = times_power(from->points, by.points);
    /* Half of the steps with twice the points need as many partial sums. */
    if (by.points > 0 && from->kernel != DIRECT_TIME_LINE) to->fused /= 2;
    if (from->kernel == DIRECT_TIME_LINE && by.chunk) return false;
    int turn = to->fused * to->points * to->rows * to->operations;
    return turn <= MAX_UNROLLED && direct_time_refit(task, machine, to, !by.chunk);
}

static bool is_among(const direct_shape *shape, const direct_shape *shapes, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!memcmp(shape, &shapes[i], sizeof *shape)) return true;
    return false;
}

size_t direct_variants(const stn_task *task, const stn_machine *machine, const direct_shape *shapes, size_t count,
                       direct_shape *variants, size_t most) {
    static const change changes[] = {{1, 0, 0}, {-1, 0, 0}, {0, 0, -1}, {0, 0, 1}, {0, -1, 0}, {0, 1, 0}, {2, -1, 0}};
    const direct_shape *best[FIRST];
    size_t made = 0, found = best_of(task, machine, shapes, count, best);
    for (size_t i = 0; i < found; i++)
        for (size_t c = 0; c < sizeof changes / sizeof *changes && made < most; c++)
            made += make_variant(task, machine, best[i], changes[c], &variants[made]) &&
                    !is_among(&variants[made], shapes, count) && !is_among(&variants[made], variants, made);
    return made;
}
