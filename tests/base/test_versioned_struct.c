/* Versioned structs, with those of an invented library with three releases. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/versioned_struct.h"

typedef struct newest {
    size_t struct_size, one, two, three, four;
} newest;

static const stn_layout layout = {"newest", {2 * sizeof(size_t), 4 * sizeof(size_t), sizeof(newest)}};
static const newest full = {sizeof(newest), 11, 12, 13, 14};

/* Reads a struct of `bytes` bytes whose struct_size says `size`. */
static stn_status read_of(size_t bytes, size_t size, newest *into, stn_error *error) {
    char *given = malloc(bytes); /* sanitizers detect reads past it */
    memcpy(given, &full, bytes);
    memcpy(given, &size, sizeof size);
    memset(into, 0xff, sizeof *into);
    const stn_status status = stn_read_versioned_struct(&layout, given, into, error);
    free(given);
    return status;
}

Test(versioned_struct, every_release_is_read_to_its_end_and_no_further) {
    const size_t members[] = {2, 4, 5};
    for (int release = 0; release < 3; release++) {
        newest got;
        size_t values[5], size = members[release] * sizeof(size_t);
        cr_assert_eq(read_of(size, size, &got, NULL), STN_OK);
        memcpy(values, &got, sizeof values);
        for (size_t i = 1; i < 5; i++) cr_expect_eq(values[i], i < members[release] ? 10 + i : 0);
    }
}

Test(versioned_struct, size_0_is_the_first_release) {
    newest got;
    cr_assert_eq(read_of(layout.sizes[0], 0, &got, NULL), STN_OK);
    cr_expect(got.one == 11 && got.two == 0 && got.four == 0);
    cr_assert_eq(stn_read_versioned_struct(&layout, NULL, &got, NULL), STN_OK);
    cr_expect(got.one == 0 && got.four == 0);
}

Test(versioned_struct, sizes_of_no_release_are_refused) {
    for (size_t size = 1; size <= sizeof(newest) + 24; size++) {
        newest got;
        stn_error error = {0};
        const stn_status status = read_of(sizeof full, size, &got, &error);
        if (size == layout.sizes[0] || size == layout.sizes[1] || size == layout.sizes[2])
            cr_expect_eq(status, STN_OK);
        else {
            cr_expect_eq(status, STN_ERROR_INVALID_ARGUMENT);
            const char *why = size > sizeof(newest) ? "knows only" : "in no release";
            cr_expect(strstr(error.message, "newest.struct_size is ") && strstr(error.message, why), "%s",
                      error.message);
        }
    }
}

Test(versioned_struct, one_release_and_members_since_then) {
    const stn_layout *same[] = {&stn_layout_spectral_conv, &stn_layout_context_options, &stn_layout_plan_options,
                                &stn_layout_execution,     &stn_layout_system_problem,  &stn_layout_system_arrays};
    const stn_layout *longer[] = {&stn_layout_problem, &stn_layout_transform, &stn_layout_box_filter};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) cr_expect(same[i]->sizes[0] && !same[i]->sizes[1]);
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
        cr_expect(longer[i]->sizes[0] < longer[i]->sizes[1] && !longer[i]->sizes[2]);
}
