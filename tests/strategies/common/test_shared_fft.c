/* Factorisations cached by a context equal those of a new search. */
#include <criterion/criterion.h>
#include <pthread.h>

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
            if (stn_shared_fft_good(points)) {
                stn_shared_fft_make(found, points, &needs, &line);
                stn_shared_fft_search(points, &needs, &expected);
                expect_same(&line, &expected);
            }
}

/* Threads of one context: each gets the result of a search. */
static void *ask(void *user) {
    stn_shared_fft line, expected;
    for (int points = 32; points < 300; points++)
        if (stn_shared_fft_good(points)) {
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
