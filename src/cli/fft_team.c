/* See fft_team.h. */
#include "cli/fft_team.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/command_output.h"
#include "cli/forecast.h"
#include "cli/progress.h"
#include "cli/rank_run.h"
#include "cli/row_files.h"
#include "cli/team_run.h"
#include "io/result.h"
#include "team/team_fft.h"

typedef struct team_job {
    fft_job job;
    cli_team_run run;
    stn_array in, out;
} team_job;

/* ---- report ---------------------------------------------------------------------------------- */

static stn_status report(const fft_settings *settings, const team_job *all, stn_error *error) {
    char *words = NULL;
    const size_t nonfinite = stn_array_nonfinite(&all->out);
    cli_warn_nonfinite(nonfinite, stn_array_numbers(&all->out), &settings->report);
    if (stn_team_rank(all->run.team)) return STN_OK;
    if (settings->report.json) {
        stn_text text = STN_TEXT_EMPTY;
        stn_text_printf(&text, "{\"members\":%d,\"seconds\":", stn_team_size(all->run.team));
        stn_json_number(&text, all->run.seconds);
        stn_json_key(&text, "nonfinite"), stn_text_printf(&text, "%zu", nonfinite);
        stn_json_key(&text, "out"), stn_json_string(&text, settings->out);
        stn_text_printf(&text, "}");
        STN_TRY(stn_text_take(&text, &words, error));
        printf("%s\n", words);
    } else if (!settings->report.quiet) {
        STN_TRY(stn_team_plan_describe(all->run.plan, &words, error));
        printf("%s\ntime       %.4g s%s\n", words, all->run.seconds,
               settings->devices ? ", with the array's way to the devices and back" : "");
        printf(settings->out ? "wrote      %s\n" : "kept       nothing: name a file with --out%s\n",
               settings->out ? settings->out : "");
    }
    stn_text_free(words);
    return STN_OK;
}

static stn_status check(const fft_settings *settings, stn_error *error) {
    if (settings->repeat < 1 || settings->repeat > 1000000)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--repeat must be 1 to 1000000");
    if (settings->explain || settings->device.arch)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s is not offered %s: leave it out",
                        settings->explain ? "--explain" : "--arch",
                        settings->devices ? "with --devices" : "by several processes");
    if (!settings->devices && (settings->pairs || (settings->in && !strcmp(settings->in, "-"))))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s is not offered by several processes: name a file of %s",
                        settings->pairs ? "--pairs" : "--in -", settings->pairs ? "complex numbers" : "numbers");
    return STN_OK;
}

/* ---- several devices of this process --------------------------------------------------------- */

static stn_status on_devices(const fft_settings *settings, team_job *all, stn_error *error) {
    STN_TRY(fft_job_make(settings, &all->job, error));
    if (settings->out) STN_TRY(stn_result_check("--out", settings->out, all->job.rank, all->job.out_complex, error));
    STN_TRY(cli_team_run_make(settings->devices, NULL, &all->job.transform, &settings->device, &settings->report,
                              &all->run, error));
    STN_TRY(fft_job_input(settings, &all->job, &all->in, error));
    cli_warn_rounded(&all->in, settings->in, &settings->report);
    STN_TRY(fft_job_output(&all->job, &all->out, error));
    STN_TRY(
        cli_team_run_execute(&all->run, CLI_SHOW_NEVER, settings->repeat, all->in.data, NULL, all->out.data, error));
    STN_TRY(fft_job_restore_axes(&all->job, &all->out, error));
    if (settings->out) STN_TRY(cli_result_write(settings->out, &all->out, &settings->report, error));
    return report(settings, all, error);
}

/* ---- processes ------------------------------------------------------------------------------- */

static stn_status check_rows(const fft_settings *settings, const fft_job *job, stn_error *error) {
    stn_file_format form;
    bool in_order = true;
    for (int axis = 0; axis < job->rank; axis++) in_order = in_order && job->order[axis] == axis;
    if (!in_order)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "several processes transform the last axes, in their order, and --axes %s are others",
                        settings->axes);
    if (!settings->out) return STN_OK;
    if (!strcmp(settings->out, "-"))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--out - is not offered by several processes: name a file");
    STN_TRY(stn_file_format_of("--out", settings->out, &form, error));
    return form == STN_FILE_NPY ? STN_OK
                                : stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                                           "--out '%s': several processes write .npy only", settings->out);
}

/* This process's rows of the input (or the output). The batch is cut if the plan divides it. */
static stn_status rows_of(const team_job *all, bool of_input, cli_rows *rows, stn_error *error) {
    const fft_job *job = &all->job;
    const stn_team_plan *plan = all->run.plan;
    const int batch_axes = job->rank - plan->rank;
    const size_t *extent = of_input ? job->in_extent : job->out_extent;
    *rows = (cli_rows){.team = all->run.team, .axis = batch_axes};
    rows->whole = (stn_array){
        .rank = job->rank, .dtype = job->transform.dtype, .is_complex = of_input ? job->in_complex : job->out_complex};
    memcpy(rows->whole.extent, extent, sizeof job->in_extent);
    STN_TRY(stn_team_plan_local(plan, stn_team_rank(all->run.team), &rows->first, &rows->rows, error));
    if (!plan->fft->by_batch) return STN_OK;
    if (batch_axes > 1)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "several processes divide one axis of a batch, and this array has %d: merge them", batch_axes);
    if (batch_axes)
        rows->axis = 0;
    else /* one transform of one member */
        rows->first = rows->rows ? 0 : extent[0], rows->rows = rows->rows ? extent[0] : 0;
    return STN_OK;
}

/* Reads this process's rows; real numbers of a complex transform become complex. */
static stn_status read_rows(const fft_settings *settings, team_job *all, cli_rows *rows, stn_error *error) {
    const stn_raw *raw = all->job.is_raw ? &all->job.raw : NULL;
    const bool is_complex = rows->whole.is_complex;
    stn_npy_header header;
    if (settings->in) {
        STN_TRY(stn_input_header(settings->in, raw, true, &header, error));
        rows->whole.is_complex = header.per == 2;
    }
    STN_TRY(cli_rows_read(rows, settings->in, raw, settings->random, &all->in, error));
    rows->whole.is_complex = is_complex;
    cli_warn_rounded(&all->in, settings->in, &settings->report);
    return is_complex && !all->in.is_complex ? fft_job_to_complex(&all->in, error) : STN_OK;
}

static stn_status execute(const fft_settings *settings, team_job *all, stn_error *error) {
    double *seconds = calloc(settings->repeat, sizeof *seconds);
    stn_status status = seconds ? STN_OK : stn_fail_memory(error, "the times", settings->repeat * sizeof *seconds);
    status = team_agree(all->run.team, status, settings->repeat, "another --repeat", NULL, 0, error);
    const void *const in = all->in.data;
    void *const out = all->out.data;
    for (uint64_t i = 0; seconds && i < settings->repeat && status == STN_OK; i++) {
        const double begin = stn_clock_seconds();
        status = stn_team_plan_execute_host(all->run.plan, in, out, NULL, error);
        seconds[i] = stn_clock_seconds() - begin;
    }
    if (status == STN_OK) all->run.seconds = cli_median(seconds, settings->repeat);
    free(seconds);
    return status;
}

static stn_status run_by_rows(const fft_settings *settings, team_job *all, stn_error *error) {
    stn_team *const team = all->run.team;
    stn_plan_options options;
    cli_rows in, out;
    stn_status status = fft_job_make(settings, &all->job, error);
    if (status == STN_OK) status = check_rows(settings, &all->job, error);
    if (status == STN_OK) status = cli_plan_options(&settings->device, &options, error);
    if (status == STN_OK && settings->out && !stn_team_rank(team))
        status = stn_result_check("--out", settings->out, all->job.rank, all->job.out_complex, error);
    STN_TRY(team_agree(team, status, 0, "a transform", NULL, 0, error));
    STN_TRY(stn_team_plan_create_fft(team, &all->job.transform, &options, &all->run.plan, error));
    status = rows_of(all, true, &in, error);
    if (status == STN_OK) status = rows_of(all, false, &out, error);
    if (status == STN_OK) status = read_rows(settings, all, &in, error);
    if (status == STN_OK) status = cli_rows_make(&out, &all->out, error);
    STN_TRY(team_agree(team, status, 0, "its rows", NULL, 0, error));
    STN_TRY(execute(settings, all, error));
    if (settings->out) STN_TRY(cli_rows_write(&out, settings->out, NULL, &all->out, error));
    return report(settings, all, error);
}

static stn_status by_processes(const fft_settings *settings, team_job *all, stn_error *error) {
    stn_context_options options;
    STN_TRY(cli_context_options(&settings->device, &settings->report, &options, error));
    STN_TRY(stn_team_create_mpi(&options, NULL, 0, &all->run.team, error));
    const stn_status status = run_by_rows(settings, all, error);
    if (status != STN_OK) cli_ranks_choose_part(all->run.team);
    return status;
}

stn_status fft_team(const fft_settings *settings, stn_error *error) {
    team_job all = {.in = {0}};
    STN_TRY(check(settings, error));
    if (settings->devices && cli_ranks_launched())
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--devices is not offered by several processes: leave it out");
    const stn_status status =
        settings->devices ? on_devices(settings, &all, error) : by_processes(settings, &all, error);
    cli_team_run_clear(&all.run);
    stn_array_clear(&all.in), stn_array_clear(&all.out);
    return status;
}
