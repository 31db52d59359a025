/* A list of problems in JSON: what `stentor pack build` compiles kernels for. */
#ifndef STN_CLI_PROBLEM_LIST_H
#define STN_CLI_PROBLEM_LIST_H
#include "cli/fft_job.h"
#include "cli/settings.h"

#define CLI_PROBLEMS_MOST 10000

typedef struct cli_listed_problem { /* texts are borrowed from the list */
    bool is_transform;
    cli_problem_settings settings; /* of a stencil */
    fft_settings transform;        /* or of a transform */
    const char *strategy;          /* NULL: auto */
    char label[200];               /* "heat-2d, 1024x1024, reflect, f64": for messages */
} cli_listed_problem;

typedef struct cli_problem_list { /* zero is empty */
    cli_listed_problem *list;
    size_t count;
    void *json; /* what the texts are borrowed from */
} cli_problem_list;

/* An array of objects with the keys stencil, taps, size, boundary, dtype, steps and strategy, whose values are those of
 * the options of `stentor run`. A list instead of a value means one problem for each (and all combinations with other
 * lists): {"stencil": ["heat-2d", "box-2d9p"], "dtype": ["f64", "f32"], "size": "1024x1024"} are four problems. Objects with
 * the key transform, one of forward, inverse, real and real-inverse, are for `stentor fft`; their other keys are size, axes,
 * norm, dtype and strategy. `name` is for messages. */
stn_status cli_problem_list_parse(const char *name, const char *bytes, size_t size, cli_problem_list *problems,
                                  stn_error *error);
stn_status cli_problem_list_read(const char *path, cli_problem_list *problems, stn_error *error);
void cli_problem_list_clear(cli_problem_list *problems);
#endif
