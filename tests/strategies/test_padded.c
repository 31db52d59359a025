/* Strategy padded with so many taps that another strategy than `direct` makes the steps, with any
 * pair of sides: one and several steps, in place, and batches. Long axes. Prints TAP. */
#include <stdio.h>
#include <string.h>

#include "suite.h"

enum { MAX_TAPS = 63 * 63 };

typedef struct form {
    int rank, n[3], taps[3]; /* taps: the extents of the box */
} form;
static const form forms[] = {
    {1, {5003}, {129}},       {2, {261, 301}, {41, 63}},       {3, {12, 14, 203}, {1, 3, 127}},
    {2, {31, 301}, {63, 63}}, {3, {40, 46, 50}, {15, 15, 17}},
};
static const stn_dtype dtypes[] = {STN_F32, STN_F64, STN_F16};

static stn_stencil *stencil_of(const form *f, dice *d) {
    static double weights[MAX_TAPS];
    size_t size[3], count = 1;
    double sum = 0;
    stn_stencil *stencil = NULL;
    for (int axis = 0; axis < f->rank; axis++) size[axis] = (size_t)f->taps[axis], count *= size[axis];
    for (size_t i = 0; i < count; i++) sum += weights[i] = dice_positive(d);
    for (size_t i = 0; i < count; i++) weights[i] /= sum;
    stn_stencil_create_dense(f->rank, size, weights, &stencil, NULL);
    return stencil;
}

/* Whether a plan of this strategy computes the steps by another one than `direct`. */
static bool steps_by_another(stn_context *context, const stn_problem *p, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    char *text = NULL;
    options.strategy = "padded";
    const bool made = stn_plan_create(context, p, &options, &plan, error) == STN_OK &&
                      stn_plan_describe(plan, STN_JSON, &text, error) == STN_OK;
    const bool other = made && strstr(text, "\"step\":\"") && !strstr(text, "\"step\":\"direct\"");
    if (made) snprintf(error->message, sizeof error->message, "%s", text);
    stn_text_free(text);
    stn_plan_destroy(plan);
    return other;
}

static void dense(suite *s) {
    const int count = (int)(sizeof forms / sizeof *forms);
    for (int i = 0; i < (s->full ? 20 * count : 5 * count); i++) {
        const form *f = &forms[i % count];
        dice d = {(uint64_t)i + 70};
        stn_stencil *stencil = stencil_of(f, &d);
        stn_problem p = grid_problem(stencil, f->n, dtypes[i / count % 3], (uint64_t)dice_int(&d, 1, 3));
        char what[160];
        do random_sides(&d, &p, f->rank);
        while (p.boundary[f->rank - 1][0].kind == STN_WRAP);
        if (i % 4 == 1) p.batch = 2;
        if (i % 4 == 2) p.in_place = 1;
        suite_name("dense", &p, -1, what, sizeof what);
        stn_error error = {0};
        if (!steps_by_another(s->context, &p, &error)) suite_report(s, false, what, error.message);
        suite_compare(s, "padded", true, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Plans for axes of any length are made at once. */
static void long_axes(suite *s) {
    static const size_t n[] = {((size_t)1 << 33) + 5, ((size_t)1 << 37) + 5, ((size_t)1 << 50) + 5, (size_t)1 << 60};
    stn_stencil *stencil = NULL;
    stn_stencil_parse("heat-1d", &stencil, NULL);
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
        stn_problem p = STN_PROBLEM_INIT;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        stn_plan *plan = NULL;
        stn_error error = {0};
        char what[80];
        p.stencil = stencil, p.dtype = STN_F32, p.extent[0] = n[i];
        p.boundary[0][0].kind = p.boundary[0][1].kind = STN_NEAREST;
        options.estimate_only = 1;
        snprintf(what, sizeof what, "%zu points", n[i]);
        suite_report(s, stn_plan_create(s->context, &p, &options, &plan, &error) == STN_OK, what, error.message);
        stn_plan_destroy(plan);
    }
    stn_stencil_destroy(stencil);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"dense", dense}, {"long", long_axes}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
