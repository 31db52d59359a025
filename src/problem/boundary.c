/* Boundary conditions of stencils. Parsing: stn_boundary_parse (one axis), stn_boundary_parse_axes
 * (the value of the command's --boundary). Index folding, which maps an index outside of the grid
 * to a point inside of it: stn_fold. Kernels fold in kernel_templates/device/boundary.cuh, systems
 * of fields in system_boundary.c. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "problem/task.h"

static const char *const kinds[] = {
    [STN_WRAP] = "wrap",       [STN_CONSTANT] = "constant", [STN_NEAREST] = "nearest",
    [STN_REFLECT] = "reflect", [STN_MIRROR] = "mirror",     [STN_FIXED] = "fixed",
};
#define KINDS (sizeof kinds / sizeof kinds[0])

const char *stn_boundary_name(stn_boundary_kind kind) { return (size_t)kind < KINDS ? kinds[kind] : "unknown"; }

/* Names of scipy.ndimage that differ from ours. */
static const struct {
    const char *name;
    stn_boundary_kind kind;
} grid_names[] = {{"grid-wrap", STN_WRAP}, {"grid-constant", STN_CONSTANT}, {"grid-mirror", STN_REFLECT}};

static bool is_name(const char *name, const char *text, size_t size) {
    return strlen(name) == size && memcmp(name, text, size) == 0;
}

/* A finite number, nan, inf or -inf. */
static bool parse_value(const char *text, size_t size, double *value) {
    static const struct {
        const char *word;
        double value;
    } words[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (is_name(words[i].word, text, size)) {
            *value = words[i].value;
            return true;
        }
    return stn_number_parse(text, size, value);
}

static stn_status parse_side(const char *text, size_t size, stn_boundary *side, stn_error *error) {
    const char *equals = memchr(text, '=', size);
    size_t name_size = equals ? (size_t)(equals - text) : size, kind = 0;
    while (kind < KINDS && !is_name(kinds[kind], text, name_size)) kind++;
    for (size_t i = 0; kind == KINDS && i < sizeof grid_names / sizeof *grid_names; i++)
        if (is_name(grid_names[i].name, text, name_size)) kind = grid_names[i].kind;
    int shown = (int)(size < 60 ? size : 60); /* characters of the text in messages */
    if (kind == KINDS)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the boundary \"%.*s\" is unknown: use wrap, constant, constant=VALUE, nearest, reflect, "
                        "mirror or fixed (grid-wrap, grid-constant and grid-mirror are scipy's names of wrap, constant "
                        "and reflect)",
                        shown, text);
    *side = (stn_boundary){(stn_boundary_kind)kind, 0};
    if (!equals) return STN_OK;
    if (kind != STN_CONSTANT)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the boundary \"%.*s\" has a value: only constant takes one",
                        shown, text);
    if (!parse_value(equals + 1, size - name_size - 1, &side->value))
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "the boundary \"%.*s\" has no number after the equals sign: write constant=0.5, or nan, inf, -inf", shown,
            text);
    return STN_OK;
}

stn_status stn_boundary_parse(const char *spec, stn_boundary sides[2], stn_error *error) {
    if (!spec || !sides)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the boundary's %s is NULL: pass %s",
                        spec ? "place" : "text", spec ? "two stn_boundary" : "wrap, reflect or another rule");
    const char *colon = strchr(spec, ':');
    stn_boundary parsed[2];
    STN_TRY(parse_side(spec, colon ? (size_t)(colon - spec) : strlen(spec), &parsed[0], error));
    parsed[1] = parsed[0];
    if (colon) STN_TRY(parse_side(colon + 1, strlen(colon + 1), &parsed[1], error));
    if ((parsed[0].kind == STN_WRAP) != (parsed[1].kind == STN_WRAP))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the boundary \"%.60s\" wraps on one side only: an axis wraps on both sides or on none", spec);
    memcpy(sides, parsed, sizeof parsed);
    return STN_OK;
}

stn_status stn_boundary_parse_axes(const char *text, int rank, stn_boundary boundary[][2], stn_error *error) {
    int axis = 0;
    for (const char *at = text;; at++) {
        char rule[128];
        const size_t length = strcspn(at, ",");
        if (length >= sizeof rule)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the boundary \"%.40s...\" is too long", at);
        memcpy(rule, at, length);
        rule[length] = '\0';
        if (axis < rank) STN_TRY(stn_boundary_parse(rule, boundary[axis], error));
        axis++;
        at += length;
        if (!*at) break;
    }
    if (axis == 1)
        for (; axis < rank; axis++) memcpy(boundary[axis], boundary[0], sizeof boundary[0]);
    if (axis != rank)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "there are boundaries for %d axes but the stencil has %d: give one for all, or one for each",
                        axis, rank);
    return STN_OK;
}

static int64_t fold_low(int64_t i, int64_t n, stn_boundary_kind kind) {
    switch (kind) {
        case STN_WRAP:
            return i + n;
        case STN_NEAREST:
            return 0;
        case STN_REFLECT:
            return -1 - i;
        case STN_MIRROR:
            return n == 1 ? 0 : -i;
        case STN_CONSTANT:
        case STN_FIXED:
            break;
    }
    return -1;
}

static int64_t fold_high(int64_t i, int64_t n, stn_boundary_kind kind) {
    switch (kind) {
        case STN_WRAP:
            return i - n;
        case STN_NEAREST:
            return n - 1;
        case STN_REFLECT:
            return 2 * n - 1 - i;
        case STN_MIRROR:
            return n == 1 ? 0 : 2 * (n - 1) - i;
        case STN_CONSTANT:
        case STN_FIXED:
            break;
    }
    return -2;
}

int64_t stn_fold(int64_t i, int64_t n, const stn_boundary sides[2]) {
    /* An index is folded several times if taps reach n points or further past a side. */
    while (i < 0 || i >= n) {
        stn_boundary_kind kind = sides[i >= n].kind;
        if (kind == STN_CONSTANT || kind == STN_FIXED) return i < 0 ? -1 : -2;
        i = i < 0 ? fold_low(i, n, kind) : fold_high(i, n, kind);
    }
    return i;
}

bool stn_task_is_frozen(const stn_task *task, const int64_t index[3]) {
    for (int axis = 0; axis < 3; axis++) {
        const stn_boundary *sides = task->boundary[axis];
        if (sides[0].kind == STN_FIXED && index[axis] < task->reach[axis][0]) return true;
        if (sides[1].kind == STN_FIXED && index[axis] >= task->n[axis] - task->reach[axis][1]) return true;
    }
    return false;
}
