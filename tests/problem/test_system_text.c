/* The text of systems: its meaning, its canonical form, every error with its line and column. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "problem/system_state.h"
#include "refusal.h"

static const char *const wave =
    "field u(2)\n"
    "coefficient c2\n"
    "stencil lap = laplace-3d:order=8\n"
    "u.next = 2*u - u.prev + c2*lap(u)\n";
static const char *const staggered =
    "field p, vx, vy   # in order\n"
    "coefficient bx, by, k = 0.25; stencil dxf = taps x [0,1] (-1 1), dxb = taps x [-1,0] (-2/2 .5/.5)\n"
    "stencil dyf = taps y [0, 1] (-1 1), dyb = taps [-1 0, 0 0] (-1, 1)\n"
    "boundary p = odd-reflect:mirror, constant=0.5:nearest; boundary vx = constant=1, constant=2\n"
    "vx.next = vx - bx*dxf(p)\n"
    "vy.next = vy - by*dyf(p)\n"
    "p.next  = p - k*(dxb(vx.next) +\n      dyb(vy.next))\n";

static stn_system *parsed(const char *text) {
    stn_error error = {STN_OK, ""};
    stn_system *system = NULL;
    cr_assert_eq(stn_system_parse(text, &system, &error), STN_OK, "%s: %s", text, error.message);
    return system;
}

static char *printed(const stn_system *system) {
    char *text = NULL;
    cr_assert_eq(stn_system_print(system, &text, NULL), STN_OK);
    return text;
}

Test(system, a_wave_is_looked_at) {
    stn_system *system = parsed(wave);
    cr_expect_eq(stn_system_rank(system), 3);
    cr_expect_eq(stn_system_field_count(system), 1);
    cr_expect_str_eq(stn_system_field_name(system, 0), "u");
    cr_expect_eq(stn_system_field_levels(system, 0), 2);
    cr_expect_eq(stn_system_coefficient_count(system), 1);
    cr_expect_str_eq(stn_system_coefficient_name(system, 0), "c2");
    cr_expect_not(stn_system_coefficient_value(system, 0, NULL));
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) cr_expect_eq(stn_system_reach(system, 3, axis, side), 4);
    cr_expect_str_eq(stn_system_field_name(system, 1), "");
    stn_system_destroy(system);
}

Test(system, staggered_fields) {
    double k = 0;
    stn_system *system = parsed(staggered);
    cr_expect_eq(stn_system_rank(system), 2);
    cr_expect(stn_system_coefficient_value(system, 2, &k) && k == 0.25);
    cr_expect_eq(stn_system_reach(system, 2, 1, 0), 1);
    cr_expect_eq(stn_system_reach(system, 2, 1, 1), 1);
    char *text = printed(system);
    cr_expect_str_eq(text,
                     "field p\nfield vx\nfield vy\ncoefficient bx\ncoefficient by\ncoefficient k = 0.25\n"
                     "stencil dxf = taps x [0, 1] (-1 1)\nstencil dxb = taps x [-1, 0] (-1 1)\n"
                     "stencil dyf = taps y [0, 1] (-1 1)\nstencil dyb = taps [-1 0, 0 0] (-1 1)\n"
                     "boundary p = odd-reflect:mirror, constant=0.5:nearest\n"
                     "boundary vx = constant=1, constant=2\n"
                     "vx.next = vx - bx * dxf(p)\nvy.next = vy - by * dyf(p)\n"
                     "p.next = p - k * (dxb(vx.next) + dyb(vy.next))\n");
    stn_text_free(text);
    stn_system_destroy(system);
}

/* left: a text; right: the last line of its canonical form */
Test(system, brackets_are_kept_where_they_matter) {
    const char *const pairs[][2] = {
        {"a-(b-c)", "a - (b - c)"},
        {"(a-b)-c", "a - b - c"},
        {"a*(b+c)/2", "a * (b + c) / 2"},
        {"a/(b*c)", "a / (b * c)"},
        {"-(a+b)*--c", "-(a + b) * --c"},
        {"(a<b)==(b<=c)", "(a < b) == (b <= c)"},
        {"where(a>b, min(a,-1.50e1), pow(sqrt(abs(c)),2))", "where(a > b, min(a, -15), pow(sqrt(abs(c)), 2))"},
        {"a+b<c*2", "a + b < c * 2"},
        {"((((a))))", "a"},
        {"a +\n  # a comment\n b", "a + b"},
        {"exp(log(sin(cos(tanh(max(a, b!=c))))))", "exp(log(sin(cos(tanh(max(a, b != c))))))"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        char text[400], expected[400];
        snprintf(text, sizeof text, "field a, b, c\nb.next = b; c.next = c\na.next = %s", pairs[i][0]);
        snprintf(expected, sizeof expected, "a.next = %s\n", pairs[i][1]);
        stn_system *system = parsed(text);
        char *canonical = printed(system);
        const char *last = strstr(canonical, "a.next");
        cr_expect(last && !strcmp(last, expected), "%s became %s", pairs[i][0], last);
        stn_system *again = parsed(canonical);
        char *twice = printed(again);
        cr_expect_str_eq(canonical, twice);
        stn_text_free(twice);
        stn_text_free(canonical);
        stn_system_destroy(again);
        stn_system_destroy(system);
    }
}

static void refused(const char *text, const char *place, const char *why) {
    stn_error error = {STN_OK, ""};
    stn_system *system = (stn_system *)(uintptr_t)1;
    cr_expect_eq(stn_system_parse(text, &system, &error), STN_ERROR_INVALID_ARGUMENT, "%.200s is taken", text);
    cr_expect_null(system);
    cr_expect(strstr(error.message, place) && strstr(error.message, why), "%.200s: %s", text, error.message);
}

Test(system, refusals_name_line_and_column) {
    refused("field u\nu.next = u + w", "line 2, column 14: ", "\"w\" is not declared");
    refused("field u\nu.next = u + ", "line 2, column 14: ", "the end of the line");
    refused("field u\nu.next = u u", "line 2, column 12: ", "should end here");
    refused("field u\nu.next = (u + 2", "line 2, column 10: ", "not closed");
    refused("field u, v\nu.next = v.next; v.next = u", "line 2, column 10: ", "used before it is assigned");
    refused("field u\nu.next = u.next", "line 2, column 10: ", "depends on itself");
    refused("field u\nu.next = u.prev", "line 2, column 10: ", "declare \"field u(2)\"");
    refused("field u(5)\nu.next = u", "line 1, column 9: ", "1 to 4 levels");
    refused("field u(2)\nu.next = u.old", "line 2, column 12: ", "has no \"old\"");
    refused("field u\nu.next = 1 < u < 3", "line 2, column 16: ", "do not chain");
    refused("field u\nu.next = u\nu.next = 2", "line 3, column 1: ", "a second time");
    refused("field u\nu = u", "line 2, column 2: ", "only u.next");
    refused("field u, u\nu.next = u", "line 1, column 10: ", "a second time");
    refused("field where", "line 1, column 7: ", "a word of the language");
    refused("field u\nstencil s = heat-4d\nu.next = s(u)", "line 2, column 13: ", "heat-4d");
    refused("field u\nstencil s = heat-2d, t = heat-3d\nu.next = s(u)", "line 2, column 26: ", "rank 3");
    refused("field u\nstencil t = taps z [1] (1), s = heat-2d\nu.next = s(u)", "line 2, column 33: ", "along z");
    refused("field u\nstencil s = heat-2d, t = taps z [1] (1)\nu.next = s(u)", "line 2, column 31: ", "no axis z");
    refused("field u\nstencil s = taps [0, 1] (1)\nu.next = s(u)", "line 2, column 26: ", "1 weights for 2 offsets");
    refused("field u\nstencil s = taps [0 1, 1] (1 2)\nu.next = s(u)", "line 2, column 23: ", "one for each axis");
    refused("field u\nstencil s = taps [] ()\nu.next = s(u)", "line 2, column 19: ", "an offset is expected here");
    refused("field u\nstencil s = taps [1, ] (1 2)\nu.next = s(u)",
            "line 2, column 21: ", "an offset is expected here");
    refused("field u\nstencil s = taps [0, 0] (1 2)\nu.next = s(u)", "line 2, column 17: ", "both at offset");
    refused("field u\nstencil s = taps [65] (1)\nu.next = s(u)", "line 2, column 19: ", "at most 64");
    refused("field u\nstencil s = taps [60] (1)\nu.next = s(s(u))", "line 3, column 1: ", "reach 120 points along x");
    refused("field u\nboundary u = odd-wrap\nu.next = u", "line 2, column 14: ", "odd-reflect and odd-mirror");
    refused("field u\nboundary u = wrap:nearest\nu.next = u", "line 2, column 14: ", "one side only");
    refused("field u\nboundary w = wrap\nu.next = u", "line 2, column 10: ", "declared before");
    refused("field u\ncoefficient c\nboundary c = fixed\nu.next = u", "line 3, column 9: ", "c has a fixed side");
    refused("field u, v\nu.next = u", "the field v", "not assigned");
    refused("", "", "declares no field");
    refused("field u\nu.next = u @ 2", "line 2, column 12: ", "should end here");
    refused("field u\nu.next = min(u)", "line 2, column 15: ", "takes 2 operands");
    refused("field u\nu.next = 1e999", "line 2, column 10: ", "no finite number");
}

/* `before`, `count` times `piece`, `after`. */
static char *repeated(const char *before, const char *piece, size_t count, const char *after) {
    const size_t size = strlen(piece);
    char *text = malloc(strlen(before) + count * size + strlen(after) + 1), *end = text + strlen(before);
    strcpy(text, before);
    for (size_t i = 0; i < count; i++, end += size) memcpy(end, piece, size);
    strcpy(end, after);
    return text;
}

Test(system, long_and_deep_texts_are_refused) {
    const struct {
        const char *piece;
        size_t count;
        const char *place, *why;
    } cases[] = {{"u+", 500000, "", "more than 65536 characters"},
                 {"(", 60000, "line 2, column ", "nested deeper"},
                 {"-", 60000, "line 2, column ", "nested deeper"},
                 {"abs(", 16000, "line 2, column ", "nested deeper"},
                 {"(", 100000, "", "more than 65536 characters"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = repeated("field u\nu.next = ", cases[i].piece, cases[i].count, "u");
        refused(text, cases[i].place, cases[i].why);
        free(text);
    }
}

/* The nodes of a sum of 16000 different terms form a chain, which must not be processed by
 * recursion. */
Test(system, a_long_chain_is_printed_and_parsed_again) {
    char *text = repeated("field u\nu.next = u", " + u*2", 10000, "");
    stn_system *system = parsed(text);
    char *canonical = printed(system);
    cr_expect_eq(strlen(canonical), strlen("field u\nu.next = u\n") + 10000 * strlen(" + u * 2"));
    stn_text_free(canonical);
    stn_system_destroy(system);
    free(text);
}

static stn_status make(const char *text, stn_system_problem *problem, stn_system_task *task, stn_error *error) {
    stn_system *system = parsed(text);
    problem->struct_size = sizeof *problem;
    problem->system = system;
    const stn_status status = stn_system_task_make(problem, task, error);
    stn_system_destroy(system);
    return status;
}

Test(system, problems_that_cannot_be_are_refused) {
    const stn_system_point out = {0, 0, {0, 0, 7}, 1}, no_field = {0, 3, {0}, 1};
    const struct {
        stn_system_problem problem;
        const char *why;
    } cases[] = {{{.extent = {4, 9, 9}}, "reads 4 points past its own along axis 0, which has 4"},
                 {{.extent = {9, 0, 9}}, "extent[1] is 0"},
                 {{.rank = 2, .extent = {9, 9}}, "the rank is 2, and the system's stencils need 3"},
                 {{.extent = {9, 9, 9}, .steps = 10, .every = 3}, "does not divide"},
                 {{.extent = {9, 9, 9}, .steps = 10, .every = 5, .in_place = 1}, "does not fit in place"},
                 {{.extent = {9, 9, 9}, .dtype = (stn_dtype)9}, "dtype 9"},
                 {{.extent = {9, 9, 9}, .alignment = 3}, "alignment is 3"},
                 {{.extent = {9, 9, 7}, .source_count = 1, .sources = &out}, "source 0 is at 7 along axis 2"},
                 {{.extent = {9, 9, 9}, .receiver_count = 1, .receivers = &no_field}, "names field 3"},
                 {{.extent = {9, 9, 9}, .receiver_count = 1}, "receivers is NULL"},
                 {{.extent = {(size_t)1 << 40, 9, 9}}, "at most"},
                 {{.extent = {1 << 30, 1 << 30, 1 << 30}}, "63 bits"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_system_problem problem = cases[i].problem;
        stn_system_task task;
        stn_error error = {STN_OK, ""};
        cr_expect_eq(make(wave, &problem, &task, &error), STN_ERROR_INVALID_ARGUMENT);
        cr_expect(strstr(error.message, cases[i].why), "%s, not %s", error.message, cases[i].why);
    }
}

/* The oldest level is overwritten if nothing reads it afterwards or inside a stencil. */
Test(system, spare_buffers) {
    const struct {
        const char *text;
        bool spare[2];
    } cases[] = {
        {"field u(2)\nstencil s = taps x [-1, 1] (1 1)\nu.next = s(u) - u.prev", {false}},
        {"field u\nstencil s = taps x [-1, 1] (1 1)\nu.next = s(u)", {true}},
        {"field u(2)\nstencil s = taps x [-1, 1] (1 1)\nu.next = u + s(2*u.prev)", {true}},
        {"field u, v\nstencil s = taps x [-1, 1] (1 1)\nu.next = u - s(v); v.next = v + s(u.next)", {false, false}},
        {"field u, v\nstencil s = taps x [-1, 1] (1 1)\nu.next = u - s(v); v.next = v + u", {true, false}},
        {"field u, v\nstencil s = taps x [-1, 1] (1 1)\nv.next = v + s(u); u.next = u - s(v)", {false, true}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_system_problem problem = {.rank = 1, .extent = {20}, .steps = 7};
        stn_system_task task;
        stn_error error = {STN_OK, ""};
        cr_assert_eq(make(cases[i].text, &problem, &task, &error), STN_OK, "%s", error.message);
        for (int f = 0; f < task.system->nfields; f++)
            cr_expect_eq(task.spare[f], cases[i].spare[f], "field %d of %s", f, cases[i].text);
        for (int f = 0; f < task.system->nfields; f++)
            for (int level = 0; level < task.system->fields[f].levels; level++)
                cr_expect_eq(stn_system_buffer_of(&task, f, 7 - level), level);
        stn_system_task_clear(&task);
    }
}

static double growth_of(const char *text, int rank, const double *low, const double *high) {
    stn_system *system = parsed(text);
    double growth = -1;
    stn_error error = {STN_OK, ""};
    cr_assert_eq(stn_system_growth(system, rank, low, high, &growth, &error), STN_OK, "%s", error.message);
    stn_system_destroy(system);
    return growth;
}

/* Closed forms: the leapfrog scheme is neutral up to its Courant number, and beyond it multiplies
 * the shortest wave by the larger root of g^2 - (2 - s) g + 1; the heat equation multiplies it by 1
 * - 4 rank alpha. */
Test(system, growth_has_closed_forms) {
    static const char leapfrog[] =
        "field u(2)\ncoefficient c2\nstencil lap = laplace-2d\nu.next = 2*u - u.prev + c2*lap(u)";
    static const char heat[] = "field u\ncoefficient k\nstencil lap = laplace-3d\nu.next = u + k*lap(u)";
    const double stable = 0.5, fast = 0.6, slow = 0.1, k = 0.2;
    cr_expect_float_eq(growth_of(leapfrog, 2, &stable, &stable), 1, 1e-5);
    const double half = 1 - 4 * fast, root = fabs(half) + sqrt(half * half - 1);
    cr_expect_float_eq(growth_of(leapfrog, 2, &fast, &fast), root, 1e-5);
    cr_expect_float_eq(growth_of(leapfrog, 2, &slow, &fast), root, 1e-5);
    cr_expect_float_eq(growth_of(heat, 3, &k, &k), 12 * k - 1, 1e-5);
    cr_expect(isnan(growth_of(heat, 3, NULL, NULL)));
    cr_expect(isnan(growth_of("field u\nu.next = u*u", 1, NULL, NULL)));
    cr_expect_float_eq(growth_of("field u\ncoefficient a = 3\nu.next = where(a > 2, u/2, u*u) + a*a", 1, NULL, NULL),
                       0.5, 1e-5);
}

/* Along an axis, |.5 + .3 z - .2 z^2|^2 of z = exp(i k) is .38 + .18 c - .2 (2 c^2 - 1) with c =
 * cos k: largest at c = .225, which is not among the samples. */
Test(system, growth_is_found_between_samples) {
    static const char *const steps[] = {"a(u)", "a(b(u))", "a(b(c(u)))"};
    for (int rank = 1; rank <= 3; rank++) {
        char text[200];
        snprintf(text, sizeof text, "field u; stencil a = taps x [0, 1, 2] (.5 .3 -.2)%s%s\nu.next = %s",
                 rank > 1 ? "; stencil b = taps y [0, 1, 2] (.5 .3 -.2)" : "",
                 rank > 2 ? "; stencil c = taps z [0, 1, 2] (.5 .3 -.2)" : "", steps[rank - 1]);
        cr_expect_float_eq(growth_of(text, rank, NULL, NULL), pow(0.60025, rank / 2.0), 1e-5);
    }
}

/* A staggered wave scheme is neutral up to k b = 1/2 in 2D. */
Test(system, growth_uses_next_states) {
    const double stable[] = {0.5, 0.5, 1}, unstable[] = {0.5, 0.5, 1.1};
    cr_expect_float_eq(growth_of(staggered, 2, stable, stable), 1, 1e-5);
    cr_expect_gt(growth_of(staggered, 2, unstable, unstable), 1.01);
}
