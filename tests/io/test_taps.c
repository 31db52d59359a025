/* Stencils from files. */
#include <stdio.h>
#include <stdlib.h>

#include "../expect.h"
#include "files.h"
#include "io/npy.h"
#include "io/taps_file.h"

TestSuite(taps, .init = files_enter, .fini = files_leave);

static stn_status parse(const char *text, stn_error *error) {
    int rank;
    size_t count;
    stn_tap *taps = NULL;
    stn_status status = stn_taps_parse_json("t.json", text, strlen(text), &rank, &count, &taps, error);
    free(taps);
    return status;
}

Test(taps, json_and_dense_npy_give_the_same_stencil) {
    static const char json[] = "[{\"offset\": [0, 1], \"weight\": 0.5}, {\"offset\": [-1, 0], \"weight\": 2}]";
    double dense[9] = {0, 2, 0, 0, 0, 0.5, 0, 0, 0};
    stn_array array = {.rank = 2, .extent = {3, 3}, .count = 9, .dtype = STN_F64, .data = dense};
    stn_stencil *a = NULL, *b = NULL;
    file_put("t.json", json, sizeof json - 1);
    cr_assert_eq(stn_npy_write("t.npy", &array, NULL), STN_OK);
    OK(stn_taps_read("t.json", &a, &error));
    OK(stn_taps_read("t.npy", &b, &error));
    cr_assert_eq(stn_stencil_tap_count(a), 2);
    cr_assert_eq(stn_stencil_tap_count(b), 2);
    for (size_t i = 0; i < 2; i++) {
        const stn_tap *ours = &stn_stencil_taps(a)[i], *theirs = &stn_stencil_taps(b)[i];
        for (int axis = 0; axis < 3; axis++) cr_assert_eq(ours->offset[axis], theirs->offset[axis]);
        cr_assert_eq(ours->weight, theirs->weight);
    }
    stn_stencil_destroy(a);
    stn_stencil_destroy(b);
}

/* Weights are read exactly, to the last bit. */
Test(taps, json_weights_keep_every_digit) {
    static const double weights[] = {0.1, 1.0 / 3, -2.718281828459045, 1e-300, 1.7976931348623157e308, 16777217};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        char text[120];
        int rank;
        size_t count;
        stn_tap *taps = NULL;
        snprintf(text, sizeof text, "[{\"offset\": [1], \"weight\": %.17g}]", weights[i]);
        cr_assert_eq(stn_taps_parse_json("t.json", text, strlen(text), &rank, &count, &taps, NULL), STN_OK);
        cr_expect_eq(taps[0].weight, weights[i], "%s became %.17g", text, taps[0].weight);
        free(taps);
    }
}

Test(taps, bad_json_is_refused_with_a_reason) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "not valid JSON"},
        {"[", "not valid JSON"},
        {"[]", "list of 1 to"},
        {"{}", "list of 1 to"},
        {"[1]", "tap 0 is not an object"},
        {"[{\"offset\": [0]}]", "tap 0 is not an object"},
        {"[{\"offset\": 0, \"weight\": 1}]", "tap 0 is not an object"},
        {"[{\"offset\": [0], \"weight\": \"1\"}]", "tap 0 is not an object"},
        {"[{\"offset\": [0], \"weight\": 1, \"name\": 1}]", "tap 0 is not an object"},
        {"[{\"offset\": [], \"weight\": 1}]", "offset of 0 numbers"},
        {"[{\"offset\": [0,0,0,0], \"weight\": 1}]", "offset of 4 numbers"},
        {"[{\"offset\": [0], \"weight\": 1}, {\"offset\": [0, 1], \"weight\": 1}]", "tap 1"},
        {"[{\"offset\": [0.5], \"weight\": 1}]", "whole number"},
        {"[{\"offset\": [0], \"offset\": [1], \"weight\": 1}]", "not valid JSON"},
        {"[{\"offset\": [99999999999999999999], \"weight\": 1}]", "not valid JSON"},
        {"[{\"offset\": [0], \"weight\": 1e999}]", "not valid JSON"},
        {"[{\"offset\": [0], \"weight\": NaN}]", "not valid JSON"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cr_expect_eq(parse(cases[i].text, &error), STN_ERROR_FORMAT, "%s", cases[i].text);
        cr_expect_not_null(strstr(error.message, cases[i].says), "%s: %s", cases[i].text, error.message);
    }
}

Test(taps, every_truncation_of_a_list_is_refused) {
    static const char json[] = "[{\"offset\": [0, 1], \"weight\": 0.5}]";
    for (size_t cut = 0; cut + 1 < sizeof json - 1; cut++) {
        char *copy = strndup(json, cut);
        cr_assert_eq(parse(copy, NULL), STN_ERROR_FORMAT, "cut at %zu", cut);
        free(copy);
    }
}

Test(taps, files_that_cannot_be_read_are_named) {
    stn_stencil *stencil = NULL;
    FAILS(stn_taps_read("absent.json", &stencil, &error), STN_ERROR_IO, "absent.json");
    cr_assert_eq(stn_taps_read(".", &stencil, &error), STN_ERROR_IO);
    double even[4] = {1, 1, 1, 1};
    stn_array array = {.rank = 2, .extent = {2, 2}, .count = 4, .dtype = STN_F64, .data = even};
    stn_npy_write("even.npy", &array, NULL);
    cr_assert_eq(stn_taps_read("even.npy", &stencil, &error), STN_ERROR_INVALID_ARGUMENT);
    cr_assert_null(stencil);
}
