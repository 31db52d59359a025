/* See problem_list.h: parsing, and the Cartesian product of lists of values. */
#include "cli/problem_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sanitize.h"
#include "io/json.h"

#define MAX_BYTES ((size_t)1 << 22)
static const char *const form =
    "write [{\"stencil\": \"heat-2d\", \"size\": \"1024x1024\", \"dtype\": [\"f64\", \"f32\"]}, ...]";

static const cli_listed_key strategy_key = {"strategy", false}; /* follows each kind's own keys */

/* One object's values for each key; a plain value counts as a list of one. */
typedef struct choices {
    const cli_listed_kind *kind;
    const json_t *value[CLI_LISTED_KEYS + 1];
    size_t count[CLI_LISTED_KEYS + 1];
} choices;

static const cli_listed_key *key_of(const cli_listed_kind *kind, size_t i) {
    return i < kind->key_count ? &kind->keys[i] : &strategy_key;
}

static const cli_listed_kind *kind_of(const cli_listed_kind *const *kinds, const json_t *object) {
    while (kinds[1] && !json_object_get(object, kinds[0]->keys[0].name)) kinds++;
    return kinds[0];
}

static const json_t *chosen(const choices *all, size_t key, size_t which) {
    return json_is_array(all->value[key]) ? json_array_get(all->value[key], which) : all->value[key];
}

static stn_status fail_key(const char *name, size_t index, const char *key, const cli_listed_kind *kind,
                           stn_error *error) {
    char known[200] = "";
    for (size_t i = 0; i < kind->key_count; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s, ", kind->keys[i].name);
    }
    return stn_fail(error, STN_ERROR_FORMAT, "'%s': item %zu is a %s, which has no key \"%.40s\": known are %sstrategy",
                    name, index, kind->name, key, known);
}

static stn_status check_values(const char *name, size_t index, const choices *all, size_t which, stn_error *error) {
    const cli_listed_key *key = key_of(all->kind, which);
    for (size_t i = 0; i < all->count[which]; i++) {
        const json_t *one = chosen(all, which, i);
        bool good = key->is_count ? json_is_integer(one) && json_integer_value(one) > 0 : json_is_string(one);
        if (!good)
            return stn_fail(error, STN_ERROR_FORMAT, "'%s': item %zu: \"%s\" must be %s, or a list of such: %s", name,
                            index, key->name, key->is_count ? "a whole number from 1 up" : "a text", form);
    }
    return STN_OK;
}

static stn_status read_choices(const char *name, size_t index, const json_t *object,
                               const cli_listed_kind *const *kinds, choices *all, size_t *product, stn_error *error) {
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return stn_fail(error, STN_ERROR_FORMAT, "'%s': item %zu is no object: %s", name, index, form);
    const cli_listed_kind *kind = kind_of(kinds, object);
    *all = (choices){.kind = kind};
    *product = 1;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        size_t known = 0;
        while (known <= kind->key_count && strcmp(key, key_of(kind, known)->name)) known++;
        if (known > kind->key_count) return fail_key(name, index, key, kind, error);
        all->value[known] = value;
        all->count[known] = json_is_array(value) ? json_array_size(value) : 1;
        STN_TRY(check_values(name, index, all, known, error));
        if (!all->count[known] || __builtin_mul_overflow(*product, all->count[known], product) ||
            *product > CLI_PROBLEMS_MAX)
            return stn_fail(error, STN_ERROR_FORMAT, "'%s': item %zu stands for no problem, or for more than %d", name,
                            index, CLI_PROBLEMS_MAX);
    }
    return STN_OK;
}

/* Problem number `which` of all combinations; the last key varies fastest. */
static void choose(const choices *all, size_t which, cli_listed_problem *problem) {
    cli_listed_value value[CLI_LISTED_KEYS + 1] = {{0}};
    const size_t keys = all->kind->key_count + 1;
    size_t used = 0;
    for (size_t key = keys; key-- > 0;) {
        if (!all->value[key]) continue;
        const json_t *one = chosen(all, key, which % all->count[key]);
        which /= all->count[key];
        if (key_of(all->kind, key)->is_count)
            value[key].count = (uint64_t)json_integer_value(one);
        else
            value[key].text = json_string_value(one);
    }
    *problem = (cli_listed_problem){.kind = all->kind, .strategy = value[keys - 1].text};
    memcpy(problem->value, value, sizeof problem->value);
    for (size_t key = 0; key < keys && used < sizeof problem->label; key++)
        if (value[key].text)
            used += (size_t)snprintf(problem->label + used, sizeof problem->label - used, "%s%s", used ? ", " : "",
                                     value[key].text);
    stn_text_sanitize(problem->label);
}

stn_status cli_problem_list_parse(const char *name, const char *bytes, size_t size, const cli_listed_kind *const *kinds,
                                  cli_problem_list *problems, stn_error *error) {
    json_t *root;
    stn_status status = STN_OK;
    cli_problem_list made = {0};
    STN_TRY(stn_json_parse(name, bytes, size, form, &root, error));
    made.json = root;
    if (!json_array_size(root)) /* also 0 if it is not an array */
        status = stn_fail(error, STN_ERROR_FORMAT, "'%s' is not a list of problems: %s", name, form);
    for (size_t i = 0; i < json_array_size(root) && status == STN_OK; i++) {
        choices all = {0};
        size_t product = 0;
        STN_TRY_GOTO(status, read_choices(name, i, json_array_get(root, i), kinds, &all, &product, error), fail);
        if (made.count + product > CLI_PROBLEMS_MAX) {
            status = stn_fail(error, STN_ERROR_FORMAT, "'%s' holds more than %d problems", name, CLI_PROBLEMS_MAX);
            goto fail;
        }
        cli_listed_problem *resized = realloc(made.list, (made.count + product) * sizeof *resized);
        if (!resized) {
            status = stn_fail_memory(error, "the list of problems", (made.count + product) * sizeof *resized);
            goto fail;
        }
        made.list = resized;
        for (size_t which = 0; which < product; which++) choose(&all, which, &made.list[made.count++]);
    }
fail:
    if (status == STN_OK)
        *problems = made;
    else
        cli_problem_list_clear(&made);
    return status;
}

stn_status cli_problem_list_read(const char *path, const cli_listed_kind *const *kinds, cli_problem_list *problems,
                                 stn_error *error) {
    FILE *file = fopen(path, "rbe");
    if (!file) return stn_fail(error, STN_ERROR_IO, "cannot open '%s': %s", path, strerror(errno));
    stn_status status;
    char *text = malloc(MAX_BYTES + 1);
    size_t size = text ? fread(text, 1, MAX_BYTES + 1, file) : 0;
    if (!text)
        status = stn_fail_memory(error, "the list of problems", MAX_BYTES + 1);
    else if (ferror(file))
        status = stn_fail(error, STN_ERROR_IO, "cannot read '%s': %s", path, strerror(errno));
    else if (size > MAX_BYTES)
        status = stn_fail(error, STN_ERROR_FORMAT, "'%s' is larger than any list of problems: %s", path, form);
    else
        status = cli_problem_list_parse(path, text, size, kinds, problems, error);
    free(text);
    fclose(file);
    return status;
}

void cli_problem_list_clear(cli_problem_list *problems) {
    json_decref(problems->json);
    free(problems->list);
    *problems = (cli_problem_list){0};
}
