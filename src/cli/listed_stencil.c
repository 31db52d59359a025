/* Stencil problems in a list of problems: values as for the options of `stentor run`. */
#include "base/error.h"
#include "cli/problem_list.h"
#include "cli/shared_options.h"

enum { STENCIL, TAPS, BOUNDARY, MODE, STEPS, SIZE, DTYPE, KEYS };
static const cli_listed_key keys[KEYS] = {
    [STENCIL] = {"stencil"},   [TAPS] = {"taps"}, [BOUNDARY] = {"boundary"}, [MODE] = {"mode"},
    [STEPS] = {"steps", true}, [SIZE] = {"size"}, [DTYPE] = {"dtype"},
};

static stn_status make(const cli_listed_value *values, void *job, stn_error *error) {
    cli_problem_settings settings = {
        .stencil = values[STENCIL].text,
        .taps = values[TAPS].text,
        .boundary = values[BOUNDARY].text,
        .mode = values[MODE].text, /* scipy's name for boundary */
        .steps = values[STEPS].count ? values[STEPS].count : 1,
        .size = values[SIZE].text,
        .dtype = values[DTYPE].text,
    };
    STN_TRY(cli_resolve_mode(&settings, NULL, error));
    return cli_job_make(&settings, job, error);
}

static stn_status plan(const void *job, stn_context *context, const stn_plan_options *options, stn_plan **plan,
                       stn_error *error) {
    return stn_plan_create(context, &((const cli_job *)job)->problem, options, plan, error);
}

static void clear(void *job) { cli_job_clear(job); }

const cli_listed_kind cli_listed_stencil = {.name = "stencil",
                                            .keys = keys,
                                            .key_count = KEYS,
                                            .job_size = sizeof(cli_job),
                                            .make = make,
                                            .plan = plan,
                                            .clear = clear};
