/* Ladders that a context keeps: what it was asked for last, what it learns instead of searching, and what it refuses to learn. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>

#include "strategies/common/found.h"

static stn_found *found;
static void setup(void) { cr_assert_not_null(found = stn_found_create()); }
static void teardown(void) { stn_found_destroy(found); }
TestSuite(ladder, .init = setup, .fini = teardown);

static const stn_ladder_needs needs = {
    .wide = true, .last = 16, .lines = 1, .shares = 4, .copies = 1, .threads = 512, .shared = 232448, .total = 233472};

static void expect_same(const stn_ladder *a, const stn_ladder *b) {
    cr_expect(a->points == b->points && a->stages == b->stages && a->threads == b->threads && a->lines == b->lines &&
              a->pad == b->pad && a->copies == b->copies && a->shares == b->shares && a->blocks == b->blocks);
    for (int s = 0; s < a->stages; s++) cr_expect_eq(a->radix[s], b->radix[s]);
}

Test(ladder, those_asked_for_last_are_known_the_newest_first) {
    stn_ladder_answer list[STN_LADDERS_KNOWN];
    stn_ladder line;
    cr_expect_eq(stn_ladder_known(found, list), 0u);
    const int points[] = {64, 80, 96, 100, 108, 112, 120, 125, 128, 144};
    enum { COUNT = sizeof points / sizeof *points };
    for (int i = 0; i < COUNT; i++) stn_ladder_make(found, points[i], &needs, &line);
    stn_ladder_make(found, points[4], &needs, &line); /* again: now it is the newest */
    cr_assert_eq(stn_ladder_known(found, list), (size_t)STN_LADDERS_KNOWN);
    const int newest[] = {108, 144, 128, 125, 120, 112, 100, 96};
    for (int i = 0; i < STN_LADDERS_KNOWN; i++) cr_expect_eq(list[i].points, newest[i], "%d", list[i].points);
    stn_ladder_search(108, &needs, &line);
    expect_same(&list[0].line, &line);
}

Test(ladder, so_many_are_asked_for_that_old_ones_go) {
    stn_ladder line, again;
    for (int turn = 0; turn < 2; turn++)
        for (int points = 32; points < 400; points++)
            if (stn_ladder_good(points)) {
                stn_ladder_make(found, points, &needs, &line);
                stn_ladder_search(points, &needs, &again);
                expect_same(&line, &again);
            }
}

/* A ladder with more padding than a search would find. */
Test(ladder, what_is_learned_is_not_searched_for) {
    stn_ladder_answer answer = {.points = 4320, .needs = needs};
    stn_ladder line;
    stn_ladder_search(4320, &needs, &answer.line);
    answer.line.pad = answer.line.pad == 8 ? 16 : 8;
    cr_expect(stn_ladder_learn(found, &answer));
    stn_ladder_make(found, 4320, &needs, &line);
    expect_same(&line, &answer.line);
    stn_ladder_make(NULL, 4320, &needs, &line); /* where nothing is kept */
    cr_expect_neq(line.pad, answer.line.pad);
    stn_ladder_needs others = needs;
    others.threads = 256;
    stn_ladder_make(found, 4320, &others, &line); /* is searched for */
    stn_ladder_search(4320, &others, &answer.line);
    expect_same(&line, &answer.line);
}

/* Threads of one context: each gets what a search finds. */
static void *ask(void *user) {
    stn_ladder line, again;
    for (int points = 32; points < 300; points++)
        if (stn_ladder_good(points)) {
            stn_ladder_make(found, points, &needs, &line);
            stn_ladder_search(points, &needs, &again);
            expect_same(&line, &again);
        }
    return user;
}

Test(ladder, threads_ask_at_once) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) cr_assert_eq(pthread_create(&threads[i], NULL, ask, NULL), 0);
    for (int i = 0; i < 4; i++) cr_assert_eq(pthread_join(threads[i], NULL), 0);
}

Test(ladder, what_is_no_ladder_is_not_learned) {
    stn_ladder_answer good = {.points = 4320, .needs = needs};
    stn_ladder_search(4320, &needs, &good.line);
    const struct {
        size_t field;
        int value;
    } wrong[] = {{offsetof(stn_ladder, points), 4096},    {offsetof(stn_ladder, stages), 0},
                 {offsetof(stn_ladder, stages), 11},      {offsetof(stn_ladder, radix), 17},
                 {offsetof(stn_ladder, radix), 0},        {offsetof(stn_ladder, radix), 7},
                 {offsetof(stn_ladder, threads), 0},      {offsetof(stn_ladder, threads), 1025},
                 {offsetof(stn_ladder, lines), 0},        {offsetof(stn_ladder, lines), 1024},
                 {offsetof(stn_ladder, pad), 3},          {offsetof(stn_ladder, copies), 0},
                 {offsetof(stn_ladder, copies), 1 << 20}, {offsetof(stn_ladder, shares), 0},
                 {offsetof(stn_ladder, shares), 7},       {offsetof(stn_ladder, blocks), 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        stn_ladder_answer bad = good;
        memcpy((char *)&bad.line + wrong[i].field, &wrong[i].value, sizeof wrong[i].value);
        cr_expect(!stn_ladder_learn(found, &bad), "field at %zu: %d", wrong[i].field, wrong[i].value);
    }
    cr_expect(stn_ladder_learn(found, &good));
}
