/* Lists of problems in JSON, for `stentor pack build` and `stentor tune --problems`. */
#ifndef STN_CLI_PROBLEM_LIST_H
#define STN_CLI_PROBLEM_LIST_H
#include <stdbool.h>
#include <stddef.h>

#include "stentor.h"

#define CLI_PROBLEMS_MAX 10000
#define CLI_LISTED_KEYS 8 /* most keys of a kind */

typedef struct cli_listed_key {
    const char *name;
    bool is_count; /* an integer from 1 on, else a text */
} cli_listed_key;

/* the member that the key's type selects; NULL and 0: not given */
typedef struct cli_listed_value {
    const char *text; /* borrowed from the list */
    uint64_t count;
} cli_listed_value;

/* A kind of work in a list: the keys of its objects (besides "strategy", which all have), and how
 * to make jobs and plans of them. An object is of the first kind whose first key it has, else of
 * the last kind. */
typedef struct cli_listed_kind {
    const char *name; /* "transform" */
    const cli_listed_key *keys;
    size_t key_count;
    size_t job_size;
    /* Makes a job, which is zeroed, from one value for each key. */
    stn_status (*make)(const cli_listed_value *values, void *job, stn_error *error);
    stn_status (*plan)(const void *job, stn_context *context, const stn_plan_options *options, stn_plan **plan,
                       stn_error *error);
    void (*clear)(void *job); /* also clears a zeroed job; NULL: nothing to do */
} cli_listed_kind;
/* listed_stencil.c, listed_transform.c */
extern const cli_listed_kind cli_listed_stencil, cli_listed_transform;

typedef struct cli_listed_problem {
    const cli_listed_kind *kind;
    cli_listed_value value[CLI_LISTED_KEYS];
    const char *strategy; /* NULL: auto */
    char label[200];      /* "heat-2d, reflect, 1024x1024, f64", for messages */
} cli_listed_problem;

typedef struct cli_problem_list { /* zeroed: empty */
    cli_listed_problem *list;
    size_t count;
    void *json; /* owns the texts of the values */
} cli_problem_list;

/* Parses an array of objects whose keys are those of one of `kinds` (NULL-terminated). A list in
 * place of a value means one problem for each element, and all combinations with other lists:
 * {"stencil": ["heat-2d", "box-2d9p"], "dtype": ["f64", "f32"], "size": "1024x1024"} are four
 * problems. `name` is for messages. */
stn_status cli_problem_list_parse(const char *name, const char *bytes, size_t size, const cli_listed_kind *const *kinds,
                                  cli_problem_list *problems, stn_error *error);
stn_status cli_problem_list_read(const char *path, const cli_listed_kind *const *kinds, cli_problem_list *problems,
                                 stn_error *error);
void cli_problem_list_clear(cli_problem_list *problems);
#endif
