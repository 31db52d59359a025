/* The overlap check of grids, against marking the bytes of all points. */
#include <criterion/criterion.h>
#include <string.h>

#include "problem/overlap.h"

enum { ROOM = 1 << 16, BASE = 1 << 20 };
static unsigned char marks[ROOM];

static uint64_t state = 20240607;
static int64_t any(int64_t least, int64_t most) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return least + (int64_t)((state >> 33) % (uint64_t)(most - least + 1));
}

/* Marks the bytes of all points; true if one of them was marked before. */
static bool mark(const stn_points *points) {
    bool seen = false;
    int64_t total = 1;
    for (int axis = 0; axis < STN_POINTS_AXES; axis++) total *= points->n[axis];
    for (int64_t item = 0; item < total; item++) {
        int64_t rest = item, at = (int64_t)points->first - BASE;
        for (int axis = 0; axis < STN_POINTS_AXES; axis++) {
            at += rest % points->n[axis] * points->stride[axis];
            rest /= points->n[axis];
        }
        cr_assert(at >= 0 && at + points->size <= ROOM);
        for (int64_t byte = 0; byte < points->size; byte++) {
            seen = seen || marks[at + byte];
            marks[at + byte] = 1;
        }
    }
    return seen;
}

/* A random layout whose points do not overlap: axes in random order, each stride at least the span
 * of the axes before it, some with padding. */
static stn_points random_points(int64_t from) {
    stn_points points = {.first = (uintptr_t)(BASE + from * any(1, 2)), .n = {1, 1, 1, 1, 1}, .size = 1 << any(1, 4)};
    int64_t next = points.size;
    int order[] = {0, 1, 2, 3, 4};
    for (int i = 0; i < STN_POINTS_AXES; i++) {
        int other = (int)any(i, STN_POINTS_AXES - 1), axis = order[other];
        order[other] = order[i];
        points.n[axis] = any(0, 2) ? any(1, 3) : 1;
        points.stride[axis] = next + points.size * any(0, 3);
        next = points.n[axis] * points.stride[axis];
    }
    return points;
}

Test(overlap, agrees_with_marking_every_byte) {
    unsigned met = 0, apart = 0, between = 0;
    for (int trial = 0; trial < 20000; trial++) {
        stn_points a = random_points(any(0, 300)), b = random_points(any(0, 300));
        if (!any(0, 2)) { /* the same layout at another address, as users have it */
            uintptr_t first = b.first;
            b = a;
            b.first = first;
        }
        memset(marks, 0, sizeof marks);
        mark(&a);
        bool meets = mark(&b);
        cr_assert_eq(stn_points_overlap(&a, &b, 1 << 20), meets, "trial %d", trial);
        cr_assert_eq(stn_points_overlap(&b, &a, 1 << 20), meets, "trial %d, the other way round", trial);
        if (!stn_points_overlap(&a, &b, 1)) continue;
        cr_assert(meets, "trial %d: one look proves nothing that is not so", trial);
    }
    for (int trial = 0; trial < 20000; trial++) {
        stn_points a = random_points(0), b = random_points(any(0, 200));
        memset(marks, 0, sizeof marks);
        mark(&a);
        bool meets = mark(&b);
        met += meets;
        apart += !meets;
        between += !meets && b.first < a.first + 100;
        cr_assert_eq(stn_points_overlap(&a, &b, 1 << 20), meets, "trial %d", trial);
    }
    cr_assert(met > 2000 && apart > 2000 && between > 200, "%u met, %u apart, %u between", met, apart, between);
}

Test(overlap, needs_few_comparisons_for_usual_layouts) {
    const int64_t row = 4096 * 8;
    stn_points a = {BASE, {512, 4096, 4096, 2, 1}, {4096 * row, row, 8, 512 * 4096 * row, 0}, 8}, b = a;
    b.first += (uintptr_t)(2 * 512 * 4096 * row);
    cr_assert_not(stn_points_overlap(&a, &b, 1), "one behind the other");
    b.first -= 8;
    cr_assert(stn_points_overlap(&a, &b, 64), "by the last number");
    b.first = a.first + 8;
    cr_assert(stn_points_overlap(&a, &b, 64), "by all but one");
    for (int axis = 0; axis < STN_POINTS_AXES; axis++) a.stride[axis] *= 2, b.stride[axis] *= 2;
    cr_assert_not(stn_points_overlap(&a, &b, 1), "every other number");
    stn_points left = {BASE, {1, 4096, 2048, 1, 1}, {0, row, 8, 0, 0}, 8}, right = left;
    right.first += 2048 * 8;
    cr_assert_not(stn_points_overlap(&left, &right, 1 << 16), "the halves of each row");
    right.first -= 8;
    cr_assert(stn_points_overlap(&left, &right, 64), "halves that share a column");
}
