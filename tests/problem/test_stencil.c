/* Stencils from taps and from dense arrays: order of taps, and every error. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "refusal.h"

Test(stencil, taps_come_back_sorted_and_copied) {
    stn_tap taps[] = {{{1, 0}, 1}, {{0, 1}, 2}, {{0, -1}, 3}, {{-1, 5}, 4}, {{0, 0}, 0}};
    stn_stencil *stencil = NULL;
    cr_assert_eq(stn_stencil_create(2, 5, taps, &stencil, NULL), STN_OK);
    memset(taps, 0xff, sizeof taps);
    const double expected[5][3] = {{-1, 5, 4}, {0, -1, 3}, {0, 0, 0}, {0, 1, 2}, {1, 0, 1}};
    cr_expect_eq(stn_stencil_rank(stencil), 2);
    cr_assert_eq(stn_stencil_tap_count(stencil), 5u);
    for (int i = 0; i < 5; i++) {
        const stn_tap *tap = &stn_stencil_taps(stencil)[i];
        cr_expect(tap->offset[0] == expected[i][0] && tap->offset[1] == expected[i][1] && tap->offset[2] == 0);
        cr_expect_eq(tap->weight, expected[i][2]);
    }
    stn_stencil_destroy(stencil);
    stn_stencil_destroy(NULL);
}

Test(stencil, the_furthest_taps_are_possible) {
    stn_tap taps[] = {{{-STN_MAX_HOST_RADIUS, 0, STN_MAX_HOST_RADIUS}, 1}};
    stn_stencil *stencil = NULL;
    cr_assert_eq(stn_stencil_create(3, 1, taps, &stencil, NULL), STN_OK);
    stn_stencil_destroy(stencil);
}

static void refused(int rank, size_t ntaps, const stn_tap *taps, const char *first, const char *second) {
    stn_error error;
    stn_stencil *stencil = (stn_stencil *)&error;
    expect_refusal(stn_stencil_create(rank, ntaps, taps, &stencil, &error), &error, first, second);
    cr_expect_null(stencil);
    cr_expect_eq(stn_stencil_create(rank, ntaps, taps, &stencil, NULL), STN_ERROR_INVALID_ARGUMENT);
}

Test(stencil, bad_taps_are_refused_by_name) {
    stn_tap one[] = {{{0}, 1}};
    refused(0, 1, one, "rank 0", "1, 2 or 3");
    refused(4, 1, one, "rank 4", "1, 2 or 3");
    refused(-1, 1, one, "rank -1", "1, 2 or 3");
    refused(2, 0, one, "no taps", "at least one");
    refused(2, 3, NULL, "NULL", "3 taps");
    refused(2, STN_MAX_TAPS + 1, one, "35938", "35937");
    refused(2, SIZE_MAX, one, "most possible", "35937");
    refused(1, 2, (stn_tap[]){{{0}, 1}, {{1, 2}, 1}}, "tap 1 ", "(1, 2, 0)");
    refused(2, 2, (stn_tap[]){{{0}, 1}, {{1, 2, -1}, 1}}, "tap 1 ", "rank 2");
    refused(3, 1, (stn_tap[]){{{0, 1025, 0}, 1}}, "tap 0 ", "1025 along axis 1");
    refused(3, 1, (stn_tap[]){{{0, 0, -1025}, 1}}, "tap 0 ", "-1025 along axis 2");
    refused(1, 1, (stn_tap[]){{{INT64_MIN}, 1}}, "-9223372036854775808", "1024 either way");
    refused(2, 2, (stn_tap[]){{{0}, 1}, {{1, -2}, NAN}}, "tap 1 at offset (1, -2)", "nan");
    refused(1, 1, (stn_tap[]){{{3}, -INFINITY}}, "tap 0 at offset (3)", "finite");
    refused(2, 4, (stn_tap[]){{{1, 0}, 1}, {{0, 1}, 1}, {{0, 0}, 1}, {{1, 0}, 2}}, "taps 0 and 3", "(1, 0)");
    stn_error error;
    expect_refusal(stn_stencil_create(1, 1, one, NULL, &error), &error, "no place", "stn_stencil");
}

Test(dense, is_centred_in_c_order_without_its_zeros) {
    const double weights[] = {1, 0, 3, 4, -0.0, 6, 0, 8, 9, 10, 11, 12, 13, 14, 15};
    stn_stencil *stencil = NULL;
    cr_assert_eq(stn_stencil_create_dense(2, (size_t[]){3, 5}, weights, &stencil, NULL), STN_OK);
    cr_assert_eq(stn_stencil_tap_count(stencil), 12u);
    const stn_tap *tap = stn_stencil_taps(stencil);
    for (int i = 0; i < 15; i++) {
        if (weights[i] == 0) continue;
        cr_expect(tap->offset[0] == i / 5 - 1 && tap->offset[1] == i % 5 - 2 && tap->offset[2] == 0, "%d", i);
        cr_expect_eq(tap++->weight, weights[i]);
    }
    stn_stencil_destroy(stencil);
}

Test(dense, three_axes) {
    double weights[3 * 1 * 5];
    for (int i = 0; i < 15; i++) weights[i] = i + 1;
    stn_stencil *stencil = NULL;
    cr_assert_eq(stn_stencil_create_dense(3, (size_t[]){3, 1, 5}, weights, &stencil, NULL), STN_OK);
    const stn_tap *tap = stn_stencil_taps(stencil);
    cr_assert_eq(stn_stencil_tap_count(stencil), 15u);
    cr_expect(tap[13].offset[0] == 1 && tap[13].offset[1] == 0 && tap[13].offset[2] == 1 && tap[13].weight == 14);
    stn_stencil_destroy(stencil);
}

Test(dense, of_zeros_keeps_one_tap) {
    const double weights[9] = {0};
    stn_stencil *stencil = NULL;
    cr_assert_eq(stn_stencil_create_dense(2, (size_t[]){3, 3}, weights, &stencil, NULL), STN_OK);
    cr_assert_eq(stn_stencil_tap_count(stencil), 1u);
    const stn_tap *tap = stn_stencil_taps(stencil);
    cr_expect(tap->offset[0] == 0 && tap->offset[1] == 0 && tap->weight == 0);
    stn_stencil_destroy(stencil);
}

static void dense_refused(int rank, const size_t *extent, const double *weights, const char *first,
                          const char *second) {
    stn_error error;
    stn_stencil *stencil = (stn_stencil *)&error;
    expect_refusal(stn_stencil_create_dense(rank, extent, weights, &stencil, &error), &error, first, second);
    cr_expect_null(stencil);
}

Test(dense, bad_arrays_are_refused_by_name) {
    double weights[25];
    for (int i = 0; i < 25; i++) weights[i] = i;
    dense_refused(0, (size_t[]){1}, weights, "rank 0", "1, 2 or 3");
    dense_refused(2, NULL, weights, "extents", "NULL");
    dense_refused(2, (size_t[]){5, 5}, NULL, "weights", "NULL");
    dense_refused(2, (size_t[]){5, 4}, weights, "4 weights along axis 1", "odd");
    dense_refused(2, (size_t[]){0, 5}, weights, "0 weights along axis 0", "odd");
    dense_refused(1, (size_t[]){2051}, weights, "2051 weights along axis 0", "2049");
    dense_refused(3, (size_t[]){1, 1, SIZE_MAX}, weights, "along axis 2", "2049");
    weights[7] = NAN;
    dense_refused(2, (size_t[]){5, 5}, weights, "element 7, offset (-1, 0)", "nan");
    size_t wide = 35 * 35 * 35;
    double *many = malloc(wide * sizeof *many);
    for (size_t i = 0; i < wide; i++) many[i] = 1;
    dense_refused(3, (size_t[]){35, 35, 35}, many, "42875 taps", "35937");
    free(many);
    stn_error error;
    expect_refusal(stn_stencil_create_dense(1, (size_t[]){1}, weights, NULL, &error), &error, "no place", "stencil");
}
