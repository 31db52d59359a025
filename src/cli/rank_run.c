/* See rank_run.h. */
#include "cli/rank_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/command_output.h"
#include "cli/forecast.h"
#include "cli/progress.h"
#include "cli/team_run.h"
#include "io/result.h"

typedef struct rank_run {
    stn_team *team;
    stn_team_plan *plan; /* plan of all steps, or of the steps between two checkpoints */
    cli_job job;
    cli_rows rows;
    /* This process's rows. Without --repeat the result is the grid itself. */
    stn_array grid, source, result;
    cli_checkpoint checkpoint;
    double seconds;
} rank_run;

/* ---- which process prints an error ----------------------------------------------------------- */

static enum { UNKNOWN, SPEAKS, WAITS, SILENT } part; /* this process, in the team */

bool cli_ranks_launched(void) { return stn_mpi_launched(NULL); }

bool cli_ranks_may_say_why(void) {
    int rank;
    const struct timespec pause = {2, 0};
    if (part == UNKNOWN) part = stn_mpi_launched(&rank) && rank ? WAITS : SPEAKS;
    if (part == WAITS) nanosleep(&pause, NULL);
    return part != SILENT;
}

void cli_ranks_choose_part(const stn_team *team) {
    const bool broken = team->ranks && team_ranks_broken(team->ranks);
    const int speaker = broken && stn_team_failed_rank(team) == 0;
    part = stn_team_rank(team) == speaker ? SPEAKS : broken ? WAITS : SILENT;
}

/* ---- before the run -------------------------------------------------------------------------- */

stn_status cli_ranks_open(const char *devices, const cli_device_settings *settings, const cli_report_settings *report,
                          stn_team **team, stn_error *error) {
    stn_context_options options;
    STN_TRY(cli_context_options(settings, report, &options, error));
    if (cli_ranks_launched()) return stn_team_create_mpi(&options, NULL, 0, team, error);
    if (devices) return cli_team_open(devices, settings, report, team, error);
    int device = options.device == STN_DEVICE_AUTO ? STN_DEVICE_CUDA(0) : options.device;
    const stn_status status = stn_team_create(&options, 1, &device, team, error);
    if (status != STN_ERROR_NO_DEVICE || options.device != STN_DEVICE_AUTO) return status;
    device = STN_DEVICE_HOST;
    return stn_team_create(&options, 1, &device, team, error);
}

static stn_status check_offered(const cli_rank_settings *settings, stn_error *error) {
    const cli_problem_settings *problem = settings->problem;
    const char *where = cli_by_rows();
    stn_file_format form;
    if (settings->files->png)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--png is not offered %s: draw --out afterwards", where);
    if (problem->in && !strcmp(problem->in, "-"))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--in - is not offered %s: name a file", where);
    STN_TRY(cli_checkpoint_check_options(settings->checkpoint, problem->every, error));
    if (problem->every && !settings->checkpoint)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--every is offered %s with --checkpoint FILE alone: snapshots are not kept", where);
    if (settings->checkpoint && settings->repeat != 1)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--repeat is not offered with --checkpoint");
    if (!settings->files->out) return STN_OK;
    if (!strcmp(settings->files->out, "-"))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--out - is not offered %s: name a file", where);
    STN_TRY(stn_file_format_of("--out", settings->files->out, &form, error));
    return form == STN_FILE_NPY ? STN_OK
                                : stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--out '%s': %s only .npy is written",
                                           settings->files->out, where);
}

static stn_status check_checkpoint(const cli_rank_settings *settings, stn_error *error) {
    const char *const others[] = {settings->files->out, settings->problem->in, settings->problem->source,
                                  settings->problem->taps};
    return cli_checkpoint_check_file(settings->checkpoint, sizeof others / sizeof *others, others, error);
}

static stn_status make_job(const cli_rank_settings *settings, rank_run *run, stn_error *error) {
    cli_job *job = &run->job;
    STN_TRY(check_offered(settings, error));
    STN_TRY(cli_job_make(settings->problem, job, error));
    if (settings->repeat < 1 || settings->repeat > 1000000)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--repeat must be 1 to 1000000");
    const cli_forecast forecast = cli_forecast_of(job);
    if (settings->stable && !forecast.stable)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "max |symbol| is %.7g, above 1, so that this run grows: use smaller weights, or leave out "
                        "--stable",
                        forecast.max_symbol);
    job->problem.every = 0, job->snapshots = 1;
    job->problem.in_place = settings->repeat == 1;
    if (stn_team_rank(run->team)) return STN_OK; /* rank 0 writes, and warns */
    if (settings->checkpoint) STN_TRY(check_checkpoint(settings, error));
    STN_TRY(cli_run_files_check(settings->files, settings->problem, job, error));
    const stn_array nothing = {.rank = 0};
    cli_warn_growth(&forecast, job, &nothing, settings->report);
    return STN_OK;
}

static stn_status look_for_checkpoint(const cli_rank_settings *settings, rank_run *run, stn_error *error) {
    cli_checkpoint_add_file(&run->checkpoint, settings->problem->in);
    cli_checkpoint_add_file(&run->checkpoint, settings->problem->source);
    cli_checkpoint_add(&run->checkpoint, settings->problem->random);
    return cli_checkpoint_find(&run->checkpoint, error);
}

static stn_status make_plan(const cli_rank_settings *settings, rank_run *run, stn_error *error) {
    stn_plan_options options;
    char words[8];
    stn_problem problem = run->job.problem;
    STN_TRY(cli_plan_options(settings->device, &options, error)); /* the same on all processes */
    run->checkpoint = (cli_checkpoint){.path = settings->checkpoint,
                                       .every = settings->problem->every,
                                       .steps = settings->problem->steps,
                                       .hash = team_digest(&problem, &options, words, sizeof words)};
    if (settings->checkpoint) {
        problem.steps = settings->problem->every;
        problem.tolerance *= (double)problem.steps / (double)settings->problem->steps;
    }
    return stn_team_plan_create(run->team, &problem, &options, &run->plan, error);
}

static stn_status read_rows(const cli_rank_settings *settings, rank_run *run, stn_error *error) {
    cli_rows *rows = &run->rows;
    const bool goes_on = run->checkpoint.begun > 0;
    const char *path = goes_on ? settings->checkpoint : settings->problem->in;
    STN_TRY(cli_rows_read(rows, path, run->job.is_raw && !goes_on ? &run->job.raw : NULL, settings->problem->random,
                          &run->grid, error));
    if (settings->problem->source)
        STN_TRY(cli_rows_read(rows, settings->problem->source, NULL, 0, &run->source, error));
    cli_warn_rounded(&run->grid, path, settings->report);
    if (settings->repeat > 1) return cli_rows_make(rows, &run->result, error);
    run->result = run->grid; /* the team has grids of its own */
    return STN_OK;
}

static stn_status prepare(const cli_rank_settings *settings, rank_run *run, stn_error *error) {
    stn_status status = make_job(settings, run, error);
    STN_TRY(team_agree(run->team, status, 0, "a job", NULL, 0, error));
    STN_TRY(make_plan(settings, run, error));
    const cli_job *job = &run->job;
    run->rows = (cli_rows){.team = run->team, .axis = job->rank - run->plan->rank};
    run->rows.whole = (stn_array){.rank = job->rank, .count = job->points, .dtype = job->problem.dtype};
    memcpy(run->rows.whole.extent, job->extent, sizeof job->extent);
    status = cli_rows_of_plan(&run->rows, run->plan, error);
    if (status == STN_OK && !stn_team_rank(run->team)) status = look_for_checkpoint(settings, run, error);
    STN_TRY(
        team_agree(run->team, status, 0, "a checkpoint", &run->checkpoint.begun, sizeof run->checkpoint.begun, error));
    status = read_rows(settings, run, error);
    return team_agree(run->team, status, 0, "its rows", NULL, 0, error);
}

/* ---- the run --------------------------------------------------------------------------------- */

static stn_status execute(rank_run *run, bool begins, stn_error *error) {
    const double begin = stn_clock_seconds();
    STN_TRY(stn_team_plan_execute_host(run->plan, begins ? run->grid.data : NULL, run->result.data, run->source.data,
                                       error));
    run->seconds = stn_clock_seconds() - begin;
    return STN_OK;
}

static stn_status run_with_checkpoints(const cli_rank_settings *settings, rank_run *run, stn_error *error) {
    const uint64_t steps = settings->problem->steps, every = settings->problem->every;
    double seconds = 0;
    for (uint64_t done = run->checkpoint.begun; done < steps; done += every) {
        STN_TRY(execute(run, done == run->checkpoint.begun, error));
        STN_TRY(cli_checkpoint_write(&run->checkpoint, done + every, &run->rows, &run->result, error));
        seconds += run->seconds;
    }
    run->seconds = seconds;
    return STN_OK;
}

static stn_status run_repeats(const cli_rank_settings *settings, rank_run *run, stn_error *error) {
    double *seconds = calloc(settings->repeat, sizeof *seconds);
    stn_status status = seconds ? STN_OK : stn_fail_memory(error, "the times", settings->repeat * sizeof *seconds);
    status = team_agree(run->team, status, settings->repeat, "another --repeat", NULL, 0, error);
    if (seconds && status == STN_OK) {
        for (uint64_t i = 0; i < settings->repeat && status == STN_OK; i++) {
            status = execute(run, true, error);
            seconds[i] = run->seconds;
        }
        run->seconds = cli_median(seconds, settings->repeat);
    }
    free(seconds);
    return status;
}

/* ---- after it -------------------------------------------------------------------------------- */

static stn_status report(const cli_rank_settings *settings, const rank_run *run, stn_error *error) {
    char *words = NULL;
    const uint64_t steps = settings->problem->steps - run->checkpoint.begun;
    const size_t nonfinite = stn_array_nonfinite(&run->result);
    const double rate = run->seconds > 0 ? (double)run->job.points * (double)steps / run->seconds / 1e9 : 0;
    if (nonfinite && !settings->report->quiet)
        fprintf(stderr, "stentor: warning: %zu of %zu values of the result's rows %zu to %zu are NaN or infinite\n",
                nonfinite, run->result.count, run->rows.first, run->rows.first + run->rows.rows - 1);
    if (stn_team_rank(run->team)) return STN_OK;
    if (settings->report->json) {
        stn_text text = STN_TEXT_EMPTY;
        stn_text_printf(&text, "{\"members\":%d,\"points\":%zu,\"steps\":%llu,\"begun\":%llu,\"seconds\":",
                        stn_team_size(run->team), run->job.points, (unsigned long long)settings->problem->steps,
                        (unsigned long long)run->checkpoint.begun);
        stn_json_number(&text, run->seconds);
        stn_json_key(&text, "gstencil_per_second"), stn_json_number(&text, rate);
        stn_json_key(&text, "out"), stn_json_string(&text, settings->files->out);
        stn_text_printf(&text, "}");
        STN_TRY(stn_text_take(&text, &words, error));
        printf("%s\n", words);
    } else if (!settings->report->quiet) {
        STN_TRY(stn_team_plan_describe(run->plan, &words, error));
        printf("%s\n", words);
        if (run->checkpoint.begun)
            printf("checkpoint goes on after %llu steps\n", (unsigned long long)run->checkpoint.begun);
        printf("time       %.4g s\nspeed      %.4g GStencil/s\n", run->seconds, rate);
        printf(settings->files->out ? "wrote      %s\n" : "kept       nothing: name a file with --out%s\n",
               settings->files->out ? settings->files->out : "");
    }
    stn_text_free(words);
    return STN_OK;
}

static stn_status run_all(const cli_rank_settings *settings, rank_run *run, stn_error *error) {
    STN_TRY(prepare(settings, run, error));
    if (settings->checkpoint)
        STN_TRY(run_with_checkpoints(settings, run, error));
    else
        STN_TRY(run_repeats(settings, run, error));
    if (settings->files->out) STN_TRY(cli_rows_write(&run->rows, settings->files->out, NULL, &run->result, error));
    cli_checkpoint_remove(&run->checkpoint, run->team, settings->files->out != NULL);
    return report(settings, run, error);
}

stn_status cli_rank_run(const cli_rank_settings *settings, stn_error *error) {
    rank_run run = {.team = NULL};
    stn_status status = cli_ranks_open(settings->devices, settings->device, settings->report, &run.team, error);
    if (status != STN_OK) return status;
    status = run_all(settings, &run, error);
    if (status != STN_OK) cli_ranks_choose_part(run.team);
    stn_team_plan_destroy(run.plan);
    stn_team_destroy(run.team);
    if (run.result.data != run.grid.data) stn_array_clear(&run.result);
    stn_array_clear(&run.grid), stn_array_clear(&run.source);
    cli_job_clear(&run.job);
    return status;
}
