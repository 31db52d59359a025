/* See run_system.h: problem, execution and output of a system. */
#include "cli/run_system.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/checkpoint.h"
#include "cli/command_output.h"
#include "cli/progress.h"
#include "cli/rank_run.h"
#include "cli/team_run.h"
#include "io/result.h"

#define AT(member) offsetof(cli_system_settings, member)
const cli_option cli_system_options[4] = {
    {"--system", "FILE", CLI_TEXT, AT(text),
     "instead of --stencil: file of a system (stentor.h, Systems): fields,\ncoefficients, stencils, boundaries, and "
     "the .next of each field"},
    {"--field", "NAME=FILE", CLI_LIST, AT(fields),
     "initial state, u=u0.npy or u.prev=u1.npy; a missing level is a copy of\nthe present one"},
    {"--coefficient", "NAME=X", CLI_LIST, AT(coefficients), "a file with the grid's extents, or a number"},
    {"--keep", "NAME=FILE", CLI_LIST, AT(keep),
     "output file of a field, or of a level such as u.prev; --out and --png\nwrite the first field"},
};
#undef AT

typedef struct system_run { /* all owned */
    cli_system_input input;
    cli_job job; /* describes the first field, for its outputs */
    stn_system_problem problem;
    stn_array out[STN_SYSTEM_MAX_ARRAYS];
    stn_array state; /* with checkpoints: all arrays of `out`, which then do not own their data */
    cli_checkpoint checkpoint;
    void *in_memory[STN_SYSTEM_MAX_ARRAYS], *out_memory[STN_SYSTEM_MAX_ARRAYS];
    void *coefficient_memory[STN_SYSTEM_MAX_COEFFICIENTS];
    stn_panel before;
    stn_context *context;
    stn_plan *plan;
    stn_team *team; /* for several devices or processes, instead of the context and the plan */
    stn_team_plan *team_plan;
    double growth, seconds;
    cli_progress progress;
} system_run;

/* ---- the problem ----------------------------------------------------------------------------- */

static stn_status check_alone(const cli_problem_settings *problem, stn_error *error) {
    const struct {
        const char *name;
        bool given;
    } others[] = {{"--stencil", problem->stencil != NULL}, {"--taps", problem->taps != NULL},
                  {"--in", problem->in != NULL},           {"--size", problem->size != NULL},
                  {"--shape", problem->shape != NULL},     {"--boundary", problem->boundary != NULL},
                  {"--source", problem->source != NULL}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].given)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "--system and --field describe the problem, and so does %s: leave one out", others[i].name);
    return STN_OK;
}

static bool same_extents(const stn_array *a, int rank, const size_t *extent) {
    return a->rank == rank && memcmp(a->extent, extent, (size_t)rank * sizeof *extent) == 0;
}

/* The grid's rank: the system's, else that of a coefficient's file, else the fields'. */
static int find_rank(const system_run *run) {
    if (run->input.system->rank) return run->input.system->rank;
    for (int i = 0; i < run->input.system->ncoefficients; i++)
        if (!run->input.is_number[i] && run->input.coefficients[i].rank) return run->input.coefficients[i].rank;
    return run->input.fields[0].rank;
}

static stn_status make_problem(system_run *run, const cli_problem_settings *problem, stn_error *error) {
    const stn_array *first = &run->input.fields[0];
    const int rank = find_rank(run), batched = first->rank - rank;
    if (rank > STN_MAX_RANK || batched < 0 || batched > 1)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the fields have %d axes and the system %d: give as many, or one more in front for a batch",
                        first->rank, rank);
    if (batched && !first->extent[0])
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the fields hold a batch of no grids");
    for (int i = 0; i < run->input.system->ncoefficients; i++)
        if (!run->input.is_number[i] && !same_extents(&run->input.coefficients[i], rank, first->extent + batched))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "--coefficient %s has other extents than the grid: give one number for each point",
                            run->input.system->coefficients[i].name);
    run->problem = (stn_system_problem)STN_SYSTEM_PROBLEM_INIT;
    run->problem.system = run->input.system, run->problem.rank = rank;
    memcpy(run->problem.extent, first->extent + batched, (size_t)rank * sizeof *first->extent);
    run->problem.batch = batched ? first->extent[0] : 1;
    run->problem.dtype = first->dtype, run->problem.steps = problem->steps, run->problem.every = problem->every;
    run->problem.is_number = run->input.is_number;
    STN_TRY(cli_read_accuracy(problem, &run->problem.tolerance, &run->problem.accuracy, error));
    STN_TRY(stn_system_problem_validate(&run->problem, error));
    const stn_tap centre = {{0}, 1}; /* the job's stencil is used for its rank only */
    STN_TRY(stn_stencil_create(rank, 1, &centre, &run->job.stencil, error));
    run->job.rank = first->rank, run->job.points = first->count, run->job.bits = 16;
    memcpy(run->job.extent, first->extent, sizeof run->job.extent);
    run->job.snapshots = problem->every ? problem->steps / problem->every : 1;
    run->job.problem.every = problem->every, run->job.problem.steps = problem->steps;
    run->job.problem.dtype = first->dtype;
    return STN_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static stn_status warn(system_run *run, const cli_report_settings *report, bool stable, stn_error *error) {
    const double steps = (double)run->problem.steps;
    STN_TRY(
        stn_system_growth(run->input.system, run->problem.rank, run->input.low, run->input.high, &run->growth, error));
    if (!(run->growth > 1 + STN_SYSTEM_GROWTH_ERROR)) return STN_OK;
    if (stable)
        return stn_fail(
            error, STN_ERROR_INVALID_ARGUMENT,
            "a step multiplies some wave by up to %.7g, so that this run grows by up to 10^%.4g: take smaller "
            "steps, or leave out --stable",
            run->growth, steps * log10(run->growth));
    if (!report->quiet)
        fprintf(
            stderr,
            "stentor: warning: a step of this system multiplies some wave by up to %.7g: it grows without bound, by "
            "up to 10^%.4g in %.0f steps\n",
            run->growth, steps * log10(run->growth), steps);
    return STN_OK;
}

static bool is_kept(const system_run *run, const cli_system_settings *given, int i) {
    char name[CLI_ARRAY_NAME];
    cli_system_array_name(run->input.system, i, name);
    return !i || !run->problem.every || cli_system_given(given->keep, name);
}

static stn_status upload(system_run *run, const stn_array *array, void **memory, stn_error *error) {
    const size_t bytes = array->count * stn_dtype_size(array->dtype);
    STN_TRY(stn_memory_alloc(run->context, bytes, memory, error));
    return stn_memory_upload(run->context, *memory, array->data, bytes, error);
}

/* Allocates host memory for `rows` rows of the outputs. */
static stn_status make_outputs(system_run *run, const cli_system_settings *given, size_t rows, stn_error *error) {
    const stn_array *first = &run->input.fields[0];
    size_t extent[STN_ARRAY_RANK + 1] = {run->job.snapshots};
    const int stack = run->problem.every != 0;
    memcpy(extent + stack, first->extent, (size_t)first->rank * sizeof *extent);
    extent[stack + first->rank - run->problem.rank] = rows;
    for (int i = 0; i < run->input.count; i++)
        if (is_kept(run, given, i))
            STN_TRY(stn_array_make(first->rank + stack, extent, first->dtype, &run->out[i], error));
    return STN_OK;
}

static stn_status upload_all(system_run *run, stn_error *error) {
    for (int i = 0; i < run->input.count; i++) {
        const size_t bytes = run->out[i].count * stn_dtype_size(run->out[i].dtype);
        STN_TRY(upload(run, &run->input.fields[i], &run->in_memory[i], error));
        if (run->out[i].data) STN_TRY(stn_memory_alloc(run->context, bytes, &run->out_memory[i], error));
    }
    for (int i = 0; i < run->input.system->ncoefficients; i++)
        if (!run->input.is_number[i])
            STN_TRY(upload(run, &run->input.coefficients[i], &run->coefficient_memory[i], error));
    return STN_OK;
}

static stn_status execute(system_run *run, cli_show show, stn_error *error) {
    stn_system_arrays arrays = STN_SYSTEM_ARRAYS_INIT;
    stn_execution execution = STN_EXECUTION_INIT;
    arrays.in = (const void *const *)run->in_memory;
    arrays.out = run->out_memory;
    arrays.coefficients = (const void *const *)run->coefficient_memory;
    arrays.numbers = run->input.low;
    execution.system = &arrays;
    const bool shown = cli_progress_is_shown(show, stn_plan_predicted_seconds(run->plan));
    if (shown) execution.progress = cli_progress_update, execution.progress_user = &run->progress;
    cli_progress_start(&run->progress, shown);
    const double begin = stn_clock_seconds();
    stn_status status = stn_plan_run(run->plan, &execution, error);
    if (status == STN_OK) status = stn_synchronize(run->context, NULL, error);
    run->seconds = stn_clock_seconds() - begin;
    cli_progress_end(&run->progress);
    for (int i = 0; i < run->input.count && status == STN_OK; i++)
        if (run->out[i].data)
            status = stn_memory_download(run->context, run->out[i].data, run->out_memory[i],
                                         run->out[i].count * stn_dtype_size(run->out[i].dtype), error);
    return status;
}

/* Runs a team on arrays in host memory: whole ones, or the rows of this process. If `begins`, it
 * starts from the fields or from a checkpoint's state, else from the end of the previous run. */
static stn_status execute_team(system_run *run, cli_show show, bool begins, stn_error *error) {
    stn_system_arrays arrays = STN_SYSTEM_ARRAYS_INIT;
    const stn_system_arrays *const own = &arrays;
    const void *in[STN_SYSTEM_MAX_ARRAYS], *coefficients[STN_SYSTEM_MAX_COEFFICIENTS];
    void *out[STN_SYSTEM_MAX_ARRAYS];
    for (int i = 0; i < run->input.count; i++) {
        out[i] = run->out[i].data;
        in[i] = run->checkpoint.begun ? out[i] : run->input.fields[i].data;
    }
    for (int i = 0; i < run->input.system->ncoefficients; i++) coefficients[i] = run->input.coefficients[i].data;
    if (begins) arrays.in = in, arrays.coefficients = coefficients;
    arrays.out = out, arrays.numbers = run->input.low;
    STN_TRY(cli_team_progress_start(&run->progress, stn_team_rank(run->team) ? CLI_SHOW_NEVER : show, run->team_plan,
                                    error));
    const double begin = stn_clock_seconds();
    const stn_status status = run->team->ranks ? stn_team_plan_execute_system(run->team_plan, &own, error)
                                               : stn_team_plan_execute_system_host(run->team_plan, &arrays, error);
    run->seconds += stn_clock_seconds() - begin;
    cli_progress_end(&run->progress);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static stn_status write_kept(const system_run *run, const cli_system_settings *given, const cli_report_settings *report,
                             stn_error *error) {
    for (int i = 0; i < run->input.count; i++) {
        char name[CLI_ARRAY_NAME];
        cli_system_array_name(run->input.system, i, name);
        const char *path = cli_system_given(given->keep, name);
        if (path) STN_TRY(cli_result_write(path, &run->out[i], report, error));
    }
    return STN_OK;
}

static stn_status print_summary(const system_run *run, const cli_report_settings *report, const cli_run_files *files,
                                stn_error *error) {
    char extents[128], *words = NULL;
    const double rate =
        (double)run->job.points * (double)(run->problem.steps - run->checkpoint.begun) / fmax(run->seconds, 1e-9);
    const size_t lost = stn_array_nonfinite(&run->out[0]);
    cli_warn_nonfinite(lost, run->out[0].count, report);
    if (run->team && stn_team_rank(run->team)) return STN_OK;
    if (report->json) {
        stn_text text = STN_TEXT_EMPTY;
        if (run->team)
            stn_text_printf(&text, "{\"members\":%d,\"points\":%zu", stn_team_size(run->team), run->job.points);
        else
            cli_json_begin(&text, run->plan, stn_context_is_device(run->context), run->job.rank, run->job.extent,
                           run->input.fields[0].dtype);
        stn_json_integer(&text, "steps", (int64_t)run->problem.steps);
        stn_json_integer(&text, "every", (int64_t)run->problem.every);
        if (run->checkpoint.path) stn_json_integer(&text, "begun", (int64_t)run->checkpoint.begun);
        stn_json_key(&text, "seconds"), stn_json_number(&text, run->seconds);
        stn_json_key(&text, "gpoint_per_second"), stn_json_number(&text, rate * 1e-9);
        stn_json_key(&text, "step_growth"), stn_json_number(&text, run->growth);
        stn_json_integer(&text, "nonfinite", (int64_t)lost);
        stn_json_key(&text, "out"), stn_json_string(&text, files->out);
        stn_json_key(&text, "png"), stn_json_string(&text, files->png);
        if (!run->team) return cli_json_print(&text, run->context, run->plan, error);
        stn_text_append(&text, "}", 1);
        STN_TRY(stn_text_take(&text, &words, error));
        printf("%s\n", words);
        stn_text_free(words);
        return STN_OK;
    }
    if (report->quiet) return STN_OK;
    cli_format_extents(&run->job, extents, sizeof extents);
    if (run->team) {
        STN_TRY(stn_team_plan_describe(run->team_plan, &words, error));
        printf("%s\n", words);
        stn_text_free(words);
    } else
        printf("strategy   %s, on the %s\n", stn_plan_strategy(run->plan),
               stn_context_is_device(run->context) ? "GPU" : "host");
    printf("points     %zu (%s), %s, %d field%s\n", run->job.points, extents,
           stn_dtype_name(run->input.fields[0].dtype), run->input.system->nfields,
           run->input.system->nfields == 1 ? "" : "s");
    if (run->checkpoint.begun)
        printf("checkpoint goes on after %llu steps\n", (unsigned long long)run->checkpoint.begun);
    printf("steps      %llu\ntime       %.4g s\nspeed      %.4g GPoint/s\n", (unsigned long long)run->problem.steps,
           run->seconds, rate * 1e-9);
    if (isnan(run->growth))
        printf("growth     not known%s\n",
               run->team && (run->team->ranks || run->checkpoint.path) ? "" : ": the system is not linear");
    else
        printf("growth     %s%.7g a step at most\n", run->growth > 1 + STN_SYSTEM_GROWTH_ERROR ? "" : "none: ",
               fmin(run->growth, fmax(1, run->growth - STN_SYSTEM_GROWTH_ERROR)));
    if (!files->out && !files->png) printf("kept       nothing of the first field: name a file with --out\n");
    return STN_OK;
}

static void clear(system_run *run) {
    for (int i = 0; i < STN_SYSTEM_MAX_ARRAYS; i++) {
        if (!run->checkpoint.path) stn_array_clear(&run->out[i]);
        if (run->in_memory[i]) stn_memory_free(run->context, run->in_memory[i]);
        if (run->out_memory[i]) stn_memory_free(run->context, run->out_memory[i]);
    }
    for (int i = 0; i < STN_SYSTEM_MAX_COEFFICIENTS; i++)
        if (run->coefficient_memory[i]) stn_memory_free(run->context, run->coefficient_memory[i]);
    stn_array_clear(&run->state);
    stn_panel_clear(&run->before);
    stn_plan_destroy(run->plan);
    stn_context_destroy(run->context);
    stn_team_plan_destroy(run->team_plan);
    stn_team_destroy(run->team);
    cli_system_input_clear(&run->input);
    cli_job_clear(&run->job);
    free(run);
}

/* An output may replace the file of a field, but no other input. */
static stn_status check_inputs(const cli_system_run_settings *s, const char *option, const char *path,
                               stn_error *error) {
    STN_TRY(cli_check_not_overwriting(option, path, s->system->text, "the system of --system", error));
    for (int i = 0; s->system->coefficients[i]; i++)
        STN_TRY(cli_check_not_overwriting(option, path, strchr(s->system->coefficients[i], '=') + 1,
                                          "a coefficient of --coefficient", error));
    return STN_OK;
}

static stn_status check_files(const cli_system_run_settings *s, const system_run *run, stn_error *error) {
    STN_TRY(cli_run_files_check(s->files, s->problem, &run->job, error));
    STN_TRY(check_inputs(s, "--out", s->files->out, error));
    STN_TRY(check_inputs(s, "--png", s->files->png, error));
    for (int k = 0; s->system->keep[k]; k++) {
        const char *path = strchr(s->system->keep[k], '=') + 1;
        STN_TRY(stn_result_check("--keep", path, run->job.rank + (s->problem->every != 0), false, error));
        STN_TRY(check_inputs(s, "--keep", path, error));
        STN_TRY(cli_check_not_overwriting("--keep", path, s->files->out, "the result of --out", error));
        STN_TRY(cli_check_not_overwriting("--keep", path, s->files->png, "the picture of --png", error));
        for (int before = 0; before < k; before++)
            STN_TRY(cli_check_not_overwriting("--keep", path, strchr(s->system->keep[before], '=') + 1,
                                              "another result of --keep", error));
    }
    return STN_OK;
}

static stn_status check_checkpoint(const cli_system_run_settings *s, const system_run *run, stn_error *error) {
    const char *others[STN_SYSTEM_MAX_ARRAYS + CLI_LIST_MAX + 1] = {s->files->out};
    size_t count = 1;
    for (int i = 0; i < run->input.count; i++) others[count++] = cli_system_field_path(s->system, run->input.system, i);
    for (int k = 0; s->system->keep[k]; k++) others[count++] = strchr(s->system->keep[k], '=') + 1;
    STN_TRY(check_inputs(s, "--checkpoint", s->checkpoint, error));
    return cli_checkpoint_check_file(s->checkpoint, count, others, error);
}

/* Runs the command on one device, or on several of this process. */
static stn_status run_here(const cli_system_run_settings *s, system_run *run, stn_error *error) {
    stn_plan_options options;
    STN_TRY(check_alone(s->problem, error));
    STN_TRY(cli_system_read(s->system, s->problem->dtype, false, &run->input, error));
    STN_TRY(make_problem(run, s->problem, error));
    STN_TRY(check_files(s, run, error));
    STN_TRY(warn(run, s->report, s->stable, error));
    if (s->files->png)
        STN_TRY(stn_panel_make(&run->input.fields[0], run->job.rank > run->problem.rank, &run->before, error));
    STN_TRY(cli_plan_options(s->device, &options, error));
    STN_TRY(make_outputs(run, s->system, run->problem.extent[0], error));
    if (s->devices) {
        STN_TRY(cli_team_open(s->devices, s->device, s->report, &run->team, error));
        STN_TRY(stn_team_plan_create_system(run->team, &run->problem, &options, &run->team_plan, error));
        STN_TRY(execute_team(run, s->show, true, error));
    } else {
        STN_TRY(cli_open_context(s->device, s->report, &run->context, error));
        STN_TRY(stn_plan_create_system(run->context, &run->problem, &options, &run->plan, error));
        STN_TRY(upload_all(run, error));
        STN_TRY(execute(run, s->show, error));
    }
    STN_TRY(cli_run_files_write(s->files, &run->job, &run->out[0], &run->before, s->report, error));
    STN_TRY(write_kept(run, s->system, s->report, error));
    return print_summary(run, s->report, s->files, error);
}

/* ---- by rows --------------------------------------------------------------------------------- */

static stn_status check_row_file(const char *option, const char *path, stn_error *error) {
    stn_file_format form;
    if (!strcmp(path, "-"))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s - is not offered %s: name a file", option,
                        cli_by_rows());
    STN_TRY(stn_file_format_of(option, path, &form, error));
    return form == STN_FILE_NPY ? STN_OK
                                : stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s '%s': %s only .npy is written",
                                           option, path, cli_by_rows());
}

static stn_status prepare_rows(const cli_system_run_settings *s, system_run *run, stn_error *error) {
    STN_TRY(check_alone(s->problem, error));
    if (s->files->png)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--png is not offered %s: draw --out afterwards",
                        cli_by_rows());
    STN_TRY(cli_checkpoint_check_options(s->checkpoint, s->problem->every, error));
    if (s->files->out) STN_TRY(check_row_file("--out", s->files->out, error));
    for (int k = 0; s->system->keep[k]; k++)
        STN_TRY(check_row_file("--keep", strchr(s->system->keep[k], '=') + 1, error));
    STN_TRY(cli_system_read(s->system, s->problem->dtype, true, &run->input, error));
    STN_TRY(make_problem(run, s->problem, error));
    run->checkpoint = (cli_checkpoint){.path = s->checkpoint, .every = s->problem->every, .steps = s->problem->steps};
    if (s->checkpoint) run->problem.every = run->job.problem.every = 0, run->job.snapshots = 1;
    if (stn_team_rank(run->team)) return STN_OK; /* rank 0 writes, and warns */
    STN_TRY(check_files(s, run, error));
    if (s->checkpoint) STN_TRY(check_checkpoint(s, run, error));
    return warn(run, s->report, s->stable, error);
}

/* The rows of all arrays of the state, one after the other. */
static cli_rows rows_of_state(const system_run *run, const cli_rows *rows) {
    cli_rows all = *rows;
    memmove(all.whole.extent + 1, rows->whole.extent, (size_t)rows->whole.rank * sizeof *rows->whole.extent);
    all.whole.extent[0] = (size_t)run->input.count, all.whole.rank++, all.axis++;
    return all;
}

/* Reads the state of a checkpoint, or makes memory for that of the first one. */
static stn_status make_state(system_run *run, const cli_rows *rows, stn_error *error) {
    const cli_rows all = rows_of_state(run, rows);
    if (run->checkpoint.begun)
        STN_TRY(cli_rows_read(&all, run->checkpoint.path, NULL, 0, &run->state, error));
    else
        STN_TRY(cli_rows_make(&all, &run->state, error));
    const size_t count = run->state.count / (size_t)run->input.count;
    for (int i = 0; i < run->input.count; i++) {
        run->out[i] = (stn_array){.rank = rows->whole.rank, .count = count, .dtype = run->state.dtype};
        memcpy(run->out[i].extent, run->state.extent + 1, (size_t)rows->whole.rank * sizeof *run->state.extent);
        run->out[i].data = (char *)run->state.data + (size_t)i * count * stn_dtype_size(run->state.dtype);
    }
    return STN_OK;
}

/* Reads this process's rows of all inputs. */
static stn_status read_rows(const cli_system_run_settings *s, system_run *run, const cli_rows *rows, stn_error *error) {
    cli_rows of_grid = *rows; /* rows of a coefficient */
    of_grid.whole.rank = run->problem.rank, of_grid.axis = 0;
    memcpy(of_grid.whole.extent, run->problem.extent, (size_t)run->problem.rank * sizeof *of_grid.whole.extent);
    for (int i = 0; i < run->input.count && !run->checkpoint.begun; i++)
        STN_TRY(cli_rows_read(rows, cli_system_field_path(s->system, run->input.system, i), NULL, 0,
                              &run->input.fields[i], error));
    for (int i = 0; i < run->input.system->ncoefficients; i++)
        if (!run->input.is_number[i])
            STN_TRY(cli_rows_read(&of_grid,
                                  cli_system_given(s->system->coefficients, run->input.system->coefficients[i].name),
                                  NULL, 0, &run->input.coefficients[i], error));
    return s->checkpoint ? make_state(run, rows, error) : make_outputs(run, s->system, rows->rows, error);
}

/* Writes the outputs by rows, each with its states along a first axis if there are several. */
static stn_status write_rows(const cli_system_run_settings *s, system_run *run, const cli_rows *rows,
                             stn_error *error) {
    cli_rows stacked = *rows;
    if (run->problem.every) {
        stn_array *const whole = &stacked.whole;
        memmove(whole->extent + 1, rows->whole.extent, (size_t)whole->rank * sizeof *whole->extent);
        whole->extent[0] = run->job.snapshots, whole->rank++, stacked.axis++;
    }
    if (s->files->out) STN_TRY(cli_rows_write(&stacked, s->files->out, NULL, &run->out[0], error));
    for (int i = 0; i < run->input.count; i++) {
        char name[CLI_ARRAY_NAME];
        cli_system_array_name(run->input.system, i, name);
        const char *path = cli_system_given(s->system->keep, name);
        if (path) STN_TRY(cli_rows_write(&stacked, path, NULL, &run->out[i], error));
    }
    return STN_OK;
}

/* Finds how far a checkpoint of this problem, with these files, has come. */
static stn_status look_for_checkpoint(const cli_system_run_settings *s, system_run *run,
                                      const stn_plan_options *options, stn_error *error) {
    stn_system_task task;
    char words[8];
    STN_TRY(stn_system_task_make(&run->problem, &task, error));
    run->checkpoint.hash = team_digest_system(&task, options, words, sizeof words);
    stn_system_task_clear(&task);
    for (int i = 0; i < run->input.count; i++)
        cli_checkpoint_add_file(&run->checkpoint, cli_system_field_path(s->system, run->input.system, i));
    for (int i = 0; i < run->input.system->ncoefficients; i++) {
        const char *given = cli_system_given(s->system->coefficients, run->input.system->coefficients[i].name);
        uint64_t bits;
        memcpy(&bits, &run->input.low[i], sizeof bits);
        if (run->input.is_number[i])
            cli_checkpoint_add(&run->checkpoint, bits);
        else
            cli_checkpoint_add_file(&run->checkpoint, given);
    }
    return cli_checkpoint_find(&run->checkpoint, error);
}

/* The plan of all steps, or of those between two checkpoints. */
static stn_status make_team_plan(system_run *run, const stn_plan_options *options, stn_error *error) {
    stn_system_problem problem = run->problem;
    if (run->checkpoint.path) {
        problem.steps = run->checkpoint.every;
        problem.tolerance *= (double)problem.steps / (double)run->problem.steps;
    }
    return stn_team_plan_create_system(run->team, &problem, options, &run->team_plan, error);
}

static stn_status run_with_checkpoints(system_run *run, const cli_rows *rows, stn_error *error) {
    const cli_rows all = rows_of_state(run, rows);
    const cli_checkpoint *c = &run->checkpoint;
    for (uint64_t done = c->begun; done < c->steps; done += c->every) {
        STN_TRY(execute_team(run, CLI_SHOW_NEVER, done == c->begun, error));
        STN_TRY(cli_checkpoint_write(c, done + c->every, &all, &run->state, error));
    }
    return STN_OK;
}

/* Runs the command as one of mpirun's processes, or with checkpoints. */
static stn_status run_by_rows(const cli_system_run_settings *s, system_run *run, stn_error *error) {
    stn_plan_options options;
    STN_TRY(cli_ranks_open(s->devices, s->device, s->report, &run->team, error));
    stn_status status = prepare_rows(s, run, error);
    if (status == STN_OK) status = cli_plan_options(s->device, &options, error);
    if (status == STN_OK && s->checkpoint && !stn_team_rank(run->team))
        status = look_for_checkpoint(s, run, &options, error);
    STN_TRY(team_agree(run->team, status, 0, "a job", &run->checkpoint.begun, sizeof run->checkpoint.begun, error));
    STN_TRY(make_team_plan(run, &options, error));
    cli_rows rows = {.team = run->team, .axis = run->job.rank - run->problem.rank};
    rows.whole = (stn_array){.rank = run->job.rank, .dtype = run->job.problem.dtype};
    memcpy(rows.whole.extent, run->job.extent, (size_t)run->job.rank * sizeof *run->job.extent);
    status = cli_rows_of_plan(&rows, run->team_plan, error);
    if (status == STN_OK) status = read_rows(s, run, &rows, error);
    STN_TRY(team_agree(run->team, status, 0, "its rows", NULL, 0, error));
    STN_TRY(s->checkpoint ? run_with_checkpoints(run, &rows, error) : execute_team(run, s->show, true, error));
    STN_TRY(write_rows(s, run, &rows, error));
    cli_checkpoint_remove(&run->checkpoint, run->team, s->files->out || s->system->keep[0]);
    return print_summary(run, s->report, s->files, error);
}

stn_status cli_run_system(const cli_system_run_settings *settings, stn_error *error) {
    system_run *run = calloc(1, sizeof *run);
    if (!run) return stn_fail_memory(error, "a system's run", sizeof *run);
    const bool by_rows = settings->checkpoint || cli_ranks_launched();
    const stn_status status = by_rows ? run_by_rows(settings, run, error) : run_here(settings, run, error);
    if (status != STN_OK && by_rows && run->team) cli_ranks_choose_part(run->team);
    clear(run);
    return status;
}
