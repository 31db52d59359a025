/* Transforms in a list of problems: "transform" selects the kind, other values are as for the
 * options of `stentor fft`. */
#include <string.h>

#include "base/error.h"
#include "cli/fft_job.h"
#include "cli/problem_list.h"

enum { TRANSFORM, AXES, NORM, SIZE, DTYPE, KEYS };
static const cli_listed_key keys[KEYS] = {
    [TRANSFORM] = {"transform"}, [AXES] = {"axes"}, [NORM] = {"norm"}, [SIZE] = {"size"}, [DTYPE] = {"dtype"},
};

static const struct {
    const char *name;
    bool real, inverse;
} transforms[] = {
    {"forward", false, false}, {"inverse", false, true}, {"real", true, false}, {"real-inverse", true, true}};

static stn_status make(const cli_listed_value *values, void *job, stn_error *error) {
    const size_t count = sizeof transforms / sizeof *transforms;
    size_t known = 0;
    while (known < count && strcmp(values[TRANSFORM].text, transforms[known].name)) known++;
    if (known == count)
        return stn_fail(error, STN_ERROR_FORMAT,
                        "there is no transform '%.40s': give forward, inverse, real or real-inverse",
                        values[TRANSFORM].text);
    const fft_settings settings = {
        .real = transforms[known].real,
        .inverse = transforms[known].inverse,
        .axes = values[AXES].text,
        .norm = values[NORM].text,
        .size = values[SIZE].text,
        .dtype = values[DTYPE].text,
    };
    return fft_job_make(&settings, job, error);
}

static stn_status plan(const void *job, stn_context *context, const stn_plan_options *options, stn_plan **plan,
                       stn_error *error) {
    return stn_plan_create_fft(context, &((const fft_job *)job)->transform, options, plan, error);
}

const cli_listed_kind cli_listed_transform = {
    .name = "transform", .keys = keys, .key_count = KEYS, .job_size = sizeof(fft_job), .make = make, .plan = plan};
