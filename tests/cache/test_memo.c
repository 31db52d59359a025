/* The memo: each key is made once for all that ask; a failure is given to all waiters and not
 * kept. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "helpers.h"

enum { THREADS = 16, KEYS = 8 };

typedef struct maker {
    atomic_int calls, frees;
    stn_status answer;
    unsigned pause_us;
} maker;

static stn_status make(void *user, const stn_key *key, void **value, stn_error *error) {
    maker *m = user;
    atomic_fetch_add(&m->calls, 1);
    usleep(m->pause_us);
    if (m->answer != STN_OK) return stn_fail(error, m->answer, "made to fail");
    *value = malloc(sizeof *key);
    memcpy(*value, key, sizeof *key);
    return STN_OK;
}

static void free_value(void *user, void *value) {
    atomic_fetch_add(&((maker *)user)->frees, 1);
    free(value);
}

Test(memo, makes_once_and_keeps) {
    maker m = {0};
    stn_memo *memo;
    cr_assert_eq(stn_memo_create(free_value, &m, &memo, NULL), STN_OK);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 1000; i++) {
            stn_key key = key_of_number(i);
            void *value = NULL;
            bool hit;
            cr_assert_eq(stn_memo_get(memo, &key, make, &m, &value, &hit, NULL), STN_OK);
            cr_assert_eq(hit, round == 1);
            cr_assert(!memcmp(value, &key, sizeof key));
            cr_assert_not(stn_memo_is_making(memo, &key), "it is made");
        }
    cr_assert_eq(m.calls, 1000);
    stn_memo_destroy(memo);
    cr_assert_eq(m.frees, 1000);
    stn_memo_destroy(NULL);
}

static void *get_number(stn_memo *memo, maker *m, unsigned number, bool *hit) {
    const stn_key key = key_of_number(number);
    void *value = NULL;
    cr_assert_eq(stn_memo_get(memo, &key, make, m, &value, hit, NULL), STN_OK);
    return value;
}

Test(memo, trims_what_was_released_first) {
    maker m = {0};
    stn_memo *memo;
    bool hit;
    void *value[6];
    cr_assert_eq(stn_memo_create(free_value, &m, &memo, NULL), STN_OK);
    for (unsigned i = 0; i < 6; i++) value[i] = get_number(memo, &m, i, &hit);
    (void)get_number(memo, &m, 0, &hit); /* two holds */
    for (unsigned i = 0; i < 5; i++) stn_memo_release(memo, value[i]);
    cr_expect_eq(stn_memo_unheld(memo), 4, "1 to 4");
    (void)get_number(memo, &m, 1, &hit);
    stn_memo_release(memo, value[1]);
    (void)get_number(memo, &m, 2, &hit); /* held again */
    stn_memo_trim(memo, 1);
    cr_expect(m.frees == 2 && stn_memo_unheld(memo) == 1, "3 and 4");
    const bool kept[] = {true, true, true, false, false, true};
    for (unsigned i = 0; i < 6; i++) {
        (void)get_number(memo, &m, i, &hit);
        cr_expect_eq(hit, kept[i], "%u", i);
    }
    stn_memo_destroy(memo);
    cr_expect_eq(m.frees, 8);
}

typedef struct asking {
    stn_memo *memo;
    maker *maker;
    pthread_barrier_t *start;
    int good, bad;
} asking;

static void *ask(void *user) {
    asking *a = user;
    pthread_barrier_wait(a->start);
    for (unsigned i = 0; i < KEYS; i++) {
        stn_key key = key_of_number(i);
        void *value = NULL;
        stn_error error = {0};
        stn_status status = stn_memo_get(a->memo, &key, make, a->maker, &value, NULL, &error);
        if (status == STN_OK && !memcmp(value, &key, sizeof key))
            a->good++;
        else if (status == a->maker->answer && !strcmp(error.message, "made to fail") && !value)
            a->bad++;
    }
    return NULL;
}

static void crowd(stn_memo *memo, maker *m, int *good, int *bad) {
    pthread_t threads[THREADS];
    pthread_barrier_t start;
    asking each[THREADS];
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        each[i] = (asking){memo, m, &start, 0, 0};
        cr_assert_eq(pthread_create(&threads[i], NULL, ask, &each[i]), 0);
    }
    *good = *bad = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        *good += each[i].good;
        *bad += each[i].bad;
    }
}

Test(memo, sixteen_threads_make_each_key_once) {
    maker m = {.pause_us = 3000};
    stn_memo *memo;
    int good, bad;
    cr_assert_eq(stn_memo_create(free_value, &m, &memo, NULL), STN_OK);
    crowd(memo, &m, &good, &bad);
    cr_assert_eq(good, THREADS * KEYS);
    cr_assert_eq(m.calls, KEYS);
    stn_memo_destroy(memo);
    cr_assert_eq(m.frees, KEYS);
}

Test(memo, a_failure_is_given_to_all_and_not_kept) {
    maker m = {.pause_us = 3000, .answer = STN_ERROR_COMPILE};
    stn_memo *memo;
    int good, bad;
    cr_assert_eq(stn_memo_create(free_value, &m, &memo, NULL), STN_OK);
    crowd(memo, &m, &good, &bad);
    cr_assert_eq(bad, THREADS * KEYS);
    cr_assert(m.calls >= KEYS && m.calls < THREADS * KEYS, "%d calls: waiters share the maker's failure", m.calls);
    m.answer = STN_OK;
    crowd(memo, &m, &good, &bad);
    cr_assert_eq(good, THREADS * KEYS);
    stn_memo_destroy(memo);
    cr_assert_eq(m.frees, KEYS);
}
