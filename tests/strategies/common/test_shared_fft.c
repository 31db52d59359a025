/* Searches find the shape of least cost; those cached by a context equal those of a new search. */
#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>

#include "base/arith.h"
#include "context/search_cache.h"
#include "strategies/common/shared_fft.h"

static stn_search_cache *found;
static void setup(void) { cr_assert_not_null(found = stn_search_cache_create()); }
static void teardown(void) { stn_search_cache_destroy(found); }
TestSuite(shared_fft, .init = setup, .fini = teardown);

static const stn_shared_fft_needs needs = {
    .wide = true, .last = 16, .lines = 1, .shares = 4, .copies = 1, .threads = 512, .shared = 232448, .total = 233472};

static void expect_same(const stn_shared_fft *a, const stn_shared_fft *b) {
    cr_expect(a->points == b->points && a->stages == b->stages && a->threads == b->threads && a->lines == b->lines &&
              a->pad == b->pad && a->copies == b->copies && a->shares == b->shares && a->blocks == b->blocks);
    for (int s = 0; s < a->stages; s++) cr_expect_eq(a->radix[s], b->radix[s]);
}

Test(shared_fft, old_entries_are_replaced) {
    stn_shared_fft line, expected;
    for (int turn = 0; turn < 2; turn++)
        for (int points = 32; points < 400; points++)
            if (stn_shared_fft_is_smooth(points)) {
                stn_shared_fft_make(found, points, &needs, &line);
                stn_shared_fft_search(points, &needs, &expected);
                expect_same(&line, &expected);
            }
}

/* Threads of one context: each gets the result of a search. */
static void *ask(void *user) {
    stn_shared_fft line, expected;
    for (int points = 32; points < 300; points++)
        if (stn_shared_fft_is_smooth(points)) {
            stn_shared_fft_make(found, points, &needs, &line);
            stn_shared_fft_search(points, &needs, &expected);
            expect_same(&line, &expected);
        }
    return user;
}

Test(shared_fft, concurrent_requests) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) cr_assert_eq(pthread_create(&threads[i], NULL, ask, NULL), 0);
    for (int i = 0; i < 4; i++) cr_assert_eq(pthread_join(threads[i], NULL), 0);
}

/* The least cost of two stages, of the numbers of threads that a search offers. */
static double least_of_all(int points, const stn_shared_fft_needs *q) {
    static const int pads[] = {8, 16, 0, 4, 32, 64};
    const int step = 32 / q->lines;
    double least = INFINITY;
    for (int first = 2; first <= 16; first++) {
        if (points % first || points / first < 2 || points / first > q->last || first == 11 || first == 13) continue;
        for (int i = 0; i < 8; i++)
            for (int blocks = 1; blocks <= 4; blocks++)
                for (int p = 0; p < 6; p++) {
                    stn_shared_fft line = {.points = points, .stages = 2, .radix = {first, points / first}};
                    line.lines = q->lines, line.copies = line.shares = 1, line.pad = pads[p], line.blocks = blocks;
                    const int needed = (int)stn_div_up(points / line.radix[i / 4], 1 + i % 4);
                    const int most = q->threads / q->lines / blocks / step * step;
                    line.threads = (int)stn_min(stn_round_up(needed, step), most);
                    const size_t bytes = stn_shared_fft_bytes(&line, q->wide);
                    if (line.threads * line.lines <= 1024 && (bytes + 1024) * (size_t)blocks <= q->total)
                        least = fmin(least, stn_shared_fft_cost(&line, q));
                }
    }
    return least;
}

Test(shared_fft, the_search_finds_the_least_cost) {
    for (int wide = 0; wide < 2; wide++)
        for (int lines = 1; lines <= 16; lines *= 2)
            for (int last = 8; last <= 16; last += 8)
                for (int points = 17; points <= 16 * last; points++) {
                    stn_shared_fft_needs q = needs;
                    stn_shared_fft line;
                    q.wide = wide, q.lines = lines, q.last = last, q.threads = wide ? 512 : 1024;
                    const double least = stn_shared_fft_is_smooth(points) ? least_of_all(points, &q) : INFINITY;
                    if (!(least < INFINITY)) continue;
                    stn_shared_fft_search(points, &q, &line);
                    const double cost = stn_shared_fft_cost(&line, &q);
                    cr_expect(fabs(cost / least - 1) < 1e-5, "%d points, f%d, %d lines, last %d: %g instead of %g",
                              points, wide ? 64 : 32, lines, last, cost, least);
                }
}
