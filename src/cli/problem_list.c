/* Problem lists: JSON objects multiplied out. */
#include "cli/problem_list.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define MOST_BYTES ((size_t)1 << 22)
static const char *const form =
    "write [{\"stencil\": \"heat-2d\", \"size\": \"1024x1024\", \"dtype\": [\"f64\", \"f32\"]}, ...]";

enum { STENCIL, TAPS, BOUNDARY, STEPS, TRANSFORM, AXES, NORM, SIZE, DTYPE, STRATEGY, KEYS };
enum { OF_STENCILS = TRANSFORM, OF_TRANSFORMS = SIZE }; /* before which keys theirs end; the others are of both */
static const char *const keys[KEYS] = {"stencil", "taps", "boundary", "steps", "transform",
                                       "axes",    "norm", "size",     "dtype", "strategy"};

/* One object's values, key by key; a plain value is a list of one. */
typedef struct choices {
    const json_t *value[KEYS];
    size_t count[KEYS];
} choices;

static const json_t *chosen(const choices *all, int key, size_t which) {
    return json_is_array(all->value[key]) ? json_array_get(all->value[key], which) : all->value[key];
}

static stn_status read_choices(const char *name, size_t index, const json_t *object, choices *all, size_t *product,
                               stn_error *error) {
    const char *key;
    json_t *value;
    *all = (choices){0};
    *product = 1;
    if (!json_is_object(object))
        return stn_fail(error, STN_ERROR_FORMAT, "'%s': item %zu is no object: %s", name, index, form);
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        int known = 0;
        while (known < KEYS && strcmp(key, keys[known])) known++;
        if (known == KEYS)
            return stn_fail(error, STN_ERROR_FORMAT,
                            "'%s': item %zu has the key \"%.40s\": known are stencil, taps, size, boundary, dtype, "
                            "steps and strategy, and of transforms transform, size, axes, norm, dtype and strategy",
                            name, index, key);
        all->value[known] = value;
        all->count[known] = json_is_array(value) ? json_array_size(value) : 1;
        for (size_t i = 0; i < all->count[known]; i++) {
            const json_t *one = chosen(all, known, i);
            bool good = known == STEPS ? json_is_integer(one) && json_integer_value(one) > 0 : json_is_string(one);
            if (!good)
                return stn_fail(error, STN_ERROR_FORMAT, "'%s': item %zu: \"%s\" wants %s, or a list of such: %s", name,
                                index, key, known == STEPS ? "a whole number from 1 up" : "a text", form);
        }
        if (!all->count[known] || __builtin_mul_overflow(*product, all->count[known], product) ||
            *product > CLI_PROBLEMS_MOST)
            return stn_fail(error, STN_ERROR_FORMAT, "'%s': item %zu stands for no problem, or for more than %d", name,
                            index, CLI_PROBLEMS_MOST);
    }
    bool is_transform = all->value[TRANSFORM];
    for (int k = is_transform ? 0 : OF_STENCILS; k < (is_transform ? OF_STENCILS : OF_TRANSFORMS); k++)
        if (all->value[k])
            return stn_fail(error, STN_ERROR_FORMAT, "'%s': item %zu is a %s, which have no key \"%s\"", name, index,
                            is_transform ? "transform" : "stencil", keys[k]);
    return STN_OK;
}

static const char *const transforms[] = {"forward", "inverse", "real", "real-inverse"};

static stn_status check_transforms(const char *name, size_t index, const choices *all, stn_error *error) {
    for (size_t i = 0; i < all->count[TRANSFORM]; i++) {
        const char *text = json_string_value(chosen(all, TRANSFORM, i));
        size_t known = 0;
        while (known < 4 && strcmp(text, transforms[known])) known++;
        if (known == 4)
            return stn_fail(
                error, STN_ERROR_FORMAT,
                "'%s': item %zu: there is no transform '%.40s': give forward, inverse, real or real-inverse", name,
                index, text);
    }
    return STN_OK;
}

/* Problem number `which` of all combinations; the last key turns fastest. */
static void choose(const choices *all, size_t which, cli_listed_problem *problem) {
    const char *text[KEYS] = {NULL};
    size_t used = 0;
    *problem = (cli_listed_problem){.settings.steps = 1};
    for (int key = KEYS - 1; key >= 0; key--) {
        if (!all->value[key]) continue;
        const json_t *one = chosen(all, key, which % all->count[key]);
        which /= all->count[key];
        if (key == STEPS)
            problem->settings.steps = (uint64_t)json_integer_value(one);
        else
            text[key] = json_string_value(one);
    }
    problem->is_transform = text[TRANSFORM];
    if (text[TRANSFORM]) {
        problem->transform.inverse = !strcmp(text[TRANSFORM], "inverse") || !strcmp(text[TRANSFORM], "real-inverse");
        problem->transform.real = !strncmp(text[TRANSFORM], "real", 4);
        problem->transform.size = text[SIZE];
        problem->transform.axes = text[AXES];
        problem->transform.norm = text[NORM];
        problem->transform.dtype = text[DTYPE];
    }
    problem->settings.stencil = text[STENCIL];
    problem->settings.taps = text[TAPS];
    problem->settings.size = text[SIZE];
    problem->settings.boundary = text[BOUNDARY];
    problem->settings.dtype = text[DTYPE];
    problem->strategy = text[STRATEGY];
    for (int key = 0; key < KEYS && used < sizeof problem->label; key++)
        if (text[key])
            used += (size_t)snprintf(problem->label + used, sizeof problem->label - used, "%s%s", used ? ", " : "",
                                     text[key]);
}

stn_status cli_problem_list_parse(const char *name, const char *bytes, size_t size, cli_problem_list *problems,
                                  stn_error *error) {
    json_error_t where;
    stn_status status = STN_OK;
    cli_problem_list made = {0};
    json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &where);
    if (!root)
        return stn_fail(error, STN_ERROR_FORMAT, "'%s' is not valid JSON (line %d: %s): %s", name, where.line,
                        where.text, form);
    made.json = root;
    if (!json_array_size(root)) /* 0 as well if it is no array */
        status = stn_fail(error, STN_ERROR_FORMAT, "'%s' is not a list of problems: %s", name, form);
    for (size_t i = 0; i < json_array_size(root) && status == STN_OK; i++) {
        choices all;
        size_t product;
        STN_TRY_GOTO(status, read_choices(name, i, json_array_get(root, i), &all, &product, error), fail);
        STN_TRY_GOTO(status, check_transforms(name, i, &all, error), fail);
        if (made.count + product > CLI_PROBLEMS_MOST) {
            status = stn_fail(error, STN_ERROR_FORMAT, "'%s' holds more than %d problems", name, CLI_PROBLEMS_MOST);
            goto fail;
        }
        cli_listed_problem *grown = realloc(made.list, (made.count + product) * sizeof *grown);
        if (!grown) {
            status = stn_fail_memory(error, "the list of problems", (made.count + product) * sizeof *grown);
            goto fail;
        }
        made.list = grown;
        for (size_t which = 0; which < product; which++) choose(&all, which, &made.list[made.count++]);
    }
fail:
    if (status == STN_OK)
        *problems = made;
    else
        cli_problem_list_clear(&made);
    return status;
}

stn_status cli_problem_list_read(const char *path, cli_problem_list *problems, stn_error *error) {
    FILE *file = fopen(path, "rbe");
    if (!file) return stn_fail(error, STN_ERROR_IO, "cannot open '%s': %s", path, strerror(errno));
    stn_status status;
    char *text = malloc(MOST_BYTES + 1);
    size_t size = text ? fread(text, 1, MOST_BYTES + 1, file) : 0;
    if (!text)
        status = stn_fail_memory(error, "the list of problems", MOST_BYTES + 1);
    else if (ferror(file))
        status = stn_fail(error, STN_ERROR_IO, "cannot read '%s': %s", path, strerror(errno));
    else if (size > MOST_BYTES)
        status = stn_fail(error, STN_ERROR_FORMAT, "'%s' is larger than any list of problems: %s", path, form);
    else
        status = cli_problem_list_parse(path, text, size, problems, error);
    free(text);
    fclose(file);
    return status;
}

void cli_problem_list_clear(cli_problem_list *problems) {
    json_decref(problems->json);
    free(problems->list);
    *problems = (cli_problem_list){0};
}
