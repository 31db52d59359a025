/* See run_files.h: names, checks and output of result files. */
#include "cli/run_files.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command_output.h"
#include "io/output_path.h"
#include "io/result.h"

#define NAME_SIZE (PATH_MAX + 32)

static bool is_stack(const cli_job *job) { return job->problem.every != 0; }

bool cli_picture_name(const cli_run_files *files, const cli_job *job, uint64_t i, char *name, size_t size) {
    const char *slash = strrchr(files->png, '/'), *dot = strrchr(files->png, '.');
    size_t stem =
        dot && (!slash || dot > slash + 1) && dot > files->png ? (size_t)(dot - files->png) : strlen(files->png);
    int used = is_stack(job) ? snprintf(name, size, "%.*s-%04llu%s", (int)stem, files->png, (unsigned long long)(i + 1),
                                        files->png + stem)
                             : snprintf(name, size, "%s", files->png);
    return used >= 0 && (size_t)used < size;
}

/* ---- before the run -------------------------------------------------------------------------- */

stn_status cli_check_not_overwriting(const char *option, const char *path, const char *other, const char *what,
                                     stn_error *error) {
    if (!path || !other || !stn_output_path_same(path, other)) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s '%s' would overwrite %s, '%s': give it a file of its own",
                    option, path, what, other);
}

static stn_status check_picture(const cli_run_files *files, const cli_problem_settings *settings, const cli_job *job,
                                uint64_t i, stn_error *error) {
    char name[NAME_SIZE];
    if (!cli_picture_name(files, job, i, name, sizeof name))
        return stn_fail(error, STN_ERROR_IO, "cannot write '%.60s...': the name is too long", files->png);
    STN_TRY(cli_check_not_overwriting("--png", name, files->out, "the result of --out", error));
    STN_TRY(cli_check_not_overwriting("--png", name, settings->in, "the grid of --in", error));
    STN_TRY(cli_check_not_overwriting("--png", name, settings->source, "the source of --source", error));
    STN_TRY(cli_check_not_overwriting("--png", name, settings->taps, "the taps of --taps", error));
    STN_TRY(stn_file_check_picture("--png", name, error));
    return stn_output_probe(name, error);
}

stn_status cli_run_files_check(const cli_run_files *files, const cli_problem_settings *settings, const cli_job *job,
                               stn_error *error) {
    if (files->png && stn_stencil_rank(job->stencil) < 2)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--png draws grids of two or three axes: this has one");
    if (files->png && job->snapshots > CLI_PICTURES_MAX)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--png would draw %llu snapshots: it draws up to %d, so give a larger --every or no --png",
                        (unsigned long long)job->snapshots, CLI_PICTURES_MAX);
    STN_TRY(cli_check_not_overwriting("--out", files->out, settings->taps, "the taps of --taps", error));
    STN_TRY(cli_check_not_overwriting("--out", files->out, settings->source, "the source of --source", error));
    for (uint64_t i = 0; files->png && i < job->snapshots; i++) STN_TRY(check_picture(files, settings, job, i, error));
    if (!files->out) return STN_OK;
    return stn_result_check("--out", files->out, job->rank + is_stack(job), false, error);
}

/* ---- after it -------------------------------------------------------------------------------- */

/* Snapshot i of the result, as a view of its data. */
static stn_array state_of(const cli_job *job, const stn_array *result, uint64_t i) {
    stn_array state = {.rank = job->rank, .count = job->points, .dtype = result->dtype};
    memcpy(state.extent, job->extent, sizeof job->extent);
    state.data = (char *)result->data + i * job->points * stn_dtype_size(result->dtype);
    return state;
}

static stn_status prepare_picture(const cli_run_files *files, const cli_job *job, const stn_array *result,
                                  const stn_panel *before, uint64_t i, stn_output *output, stn_error *error) {
    const stn_array state = state_of(job, result, i);
    const uint64_t steps = is_stack(job) ? (i + 1) * job->problem.every : job->problem.steps;
    stn_panel after = {0};
    char caption[64], name[NAME_SIZE];
    snprintf(caption, sizeof caption, "after %llu step%s", (unsigned long long)steps, steps == 1 ? "" : "s");
    if (!cli_picture_name(files, job, i, name, sizeof name))
        return stn_fail(error, STN_ERROR_INTERNAL, "a picture's name does not fit");
    STN_TRY(stn_panel_make(&state, job->rank > stn_stencil_rank(job->stencil), &after, error));
    stn_status status = stn_relief_prepare(name, before, &after, "before", caption, output, error);
    stn_panel_clear(&after);
    return status;
}

stn_status cli_run_files_write(const cli_run_files *files, const cli_job *job, const stn_array *result,
                               const stn_panel *before, const cli_report_settings *report, stn_error *error) {
    uint64_t pictures = files->png ? job->snapshots : 0;
    stn_output out = {0}, *picture = calloc(pictures + 1, sizeof *picture);
    stn_status status = STN_OK;
    if (!picture) return stn_fail_memory(error, "the outputs", (pictures + 1) * sizeof *picture);
    for (uint64_t i = 0; i < pictures; i++)
        STN_TRY_GOTO(status, prepare_picture(files, job, result, before, i, &picture[i], error), done);
    size_t changed = 0;
    if (files->out)
        STN_TRY_GOTO(status, stn_result_prepare(files->out, result, job->bits, &changed, &out, error), done);
    cli_warn_changed(files->out, changed, report);
    STN_TRY_GOTO(status, stn_output_commit(&out, error), done);
    for (uint64_t i = 0; i < pictures; i++) STN_TRY_GOTO(status, stn_output_commit(&picture[i], error), done);
done:
    stn_output_abandon(&out);
    for (uint64_t i = 0; i < pictures; i++) stn_output_abandon(&picture[i]);
    free(picture);
    return status;
}
