/* stentor fft: reads an array, transforms some of its axes, writes the result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/command_output.h"
#include "cli/fft_job.h"
#include "cli/fft_team.h"
#include "cli/forecast.h"
#include "cli/progress.h"
#include "cli/rank_run.h"
#include "io/result.h"
#include "problem/transform.h"

#define AT(member) offsetof(fft_settings, member)
static const cli_option fft_options[] = {
    {"--in", "FILE", CLI_TEXT, AT(in),
     "the array, .npy or grey .png (- is the standard input): real or\ncomplex (c8, c16), of 1 to 4 axes"},
    {"--shape", "NxN", CLI_TEXT, AT(shape),
     "--in is a raw file: little-endian numbers without a header, C order, of\nthis shape and of --dtype, which may "
     "also be uint8 or complex64"},
    {"--size", "NxN", CLI_TEXT, AT(size), "instead of --in: the extents of an array of random numbers"},
    {"--random", "SEED", CLI_COUNT, AT(random), "with --size: seed of the random numbers (default 0)"},
    {"--out", "FILE", CLI_TEXT, AT(out), "the result: .npy, .raw, or - for the standard output"},
    {"--axes", "A[,A...]", CLI_TEXT, AT(axes),
     "the axes to transform, up to 3; -1 is the last (default all). --real\nhalves the last one named"},
    {"--inverse", NULL, CLI_FLAG, AT(inverse), "the inverse transform: exp(+2 pi i j k / n)"},
    {"--real", NULL, CLI_FLAG, AT(real),
     "real input, half spectrum as output (n/2 + 1 along the last axis);\nwith --inverse: the inverse of that"},
    {"--points", "N", CLI_COUNT, AT(points),
     "with --real --inverse: real numbers along the last axis (default\n2 (m - 1), an even number)"},
    {"--norm", "NAME", CLI_TEXT, AT(norm),
     "which direction divides by the number of points: backward (the inverse,\ndefault), forward, ortho (both by its "
     "root), none"},
    {"--dtype", "f64|f32|f16", CLI_TEXT, AT(dtype),
     "dtype of the computation and the output (default: the file's; f32 for\n--size)"},
    {"--f16-sums", NULL, CLI_FLAG, AT(f16_sums), "with f16: sums in f16 too, where a strategy can"},
    {"--pairs", NULL, CLI_FLAG, AT(pairs),
     "the file's last axis, of length 2, holds real and imaginary part: the\nformat of complex f16, for which .npy has "
     "no type"},
    {"--devices", "N,N", CLI_TEXT, AT(devices),
     "several GPUs of this machine, such as 0,1, for one array; the reported\ntime then includes copies to and from "
     "them"},
    {"--repeat", "N", CLI_COUNT, AT(repeat), "run N times and report the median time (default 1)"},
    {"--explain", NULL, CLI_FLAG, AT(explain),
     "only list the strategies that apply, their costs, and why others do not\napply"},
};
#undef AT

/* The plan, and its arrays in the context's memory. */
typedef struct fft_run {
    stn_context *context;
    stn_plan *plan;
    void *in, *out;
    size_t in_bytes, out_bytes;
    double seconds;
} fft_run;

static size_t bytes_of(const stn_array *array) { return stn_array_numbers(array) * stn_dtype_size(array->dtype); }

static stn_status execute(fft_run *run, uint64_t repeat, const stn_array *in, stn_array *out, stn_error *error) {
    double *seconds = calloc(repeat, sizeof *seconds);
    if (!seconds) return stn_fail_memory(error, "the times", repeat * sizeof *seconds);
    stn_status status;
    run->in_bytes = bytes_of(in);
    run->out_bytes = bytes_of(out);
    STN_TRY_GOTO(status, stn_memory_alloc(run->context, run->in_bytes, &run->in, error), done);
    STN_TRY_GOTO(status, stn_memory_alloc(run->context, run->out_bytes, &run->out, error), done);
    STN_TRY_GOTO(status, stn_memory_upload(run->context, run->in, in->data, run->in_bytes, error), done);
    for (uint64_t i = 0; i < repeat; i++) {
        double start = stn_clock_seconds();
        STN_TRY_GOTO(status, stn_plan_execute(run->plan, run->in, run->out, NULL, error), done);
        STN_TRY_GOTO(status, stn_synchronize(run->context, NULL, error), done);
        seconds[i] = stn_clock_seconds() - start;
    }
    run->seconds = cli_median(seconds, repeat);
    status = stn_memory_download(run->context, out->data, run->out, run->out_bytes, error);
done:
    free(seconds);
    return status;
}

static void run_clear(fft_run *run) {
    stn_plan_destroy(run->plan);
    if (run->in) stn_memory_free(run->context, run->in);
    if (run->out) stn_memory_free(run->context, run->out);
    stn_context_destroy(run->context);
}

/* ---- report ---------------------------------------------------------------------------------- */

static bool writes_pairs(const fft_job *job) { return job->out_complex && job->transform.dtype == STN_F16; }

static void print_text(const fft_settings *settings, const fft_job *job, const fft_run *run) {
    stn_fft fft;
    stn_text description = STN_TEXT_EMPTY;
    if (stn_fft_make(&job->transform, &fft, NULL) != STN_OK) return;
    stn_fft_print(&fft, &description);
    printf("strategy   %s, on the %s\n", stn_plan_strategy(run->plan),
           stn_context_is_device(run->context) ? "GPU" : "host");
    printf("transform  %s\n", description.data ? description.data : "");
    printf("time       %.4g s", run->seconds);
    if (settings->repeat > 1) printf(" (median of %llu)", (unsigned long long)settings->repeat);
    printf("\nspeed      %.4g GB/s for one read and one write\n", 1e-9 * stn_fft_bytes(&fft) / run->seconds);
    if (settings->out)
        printf("wrote      %s%s\n", settings->out,
               writes_pairs(job) ? " (complex f16 as pairs of f2: read them back with --pairs)" : "");
    else
        printf("kept       nothing: name a file with --out to keep the result\n");
    stn_text_clear(&description);
}

static stn_status print_json(const fft_settings *settings, const fft_job *job, const fft_run *run, size_t nonfinite,
                             stn_error *error) {
    stn_text text = STN_TEXT_EMPTY;
    cli_json_begin(&text, run->plan, stn_context_is_device(run->context), job->rank, job->out_extent,
                   job->transform.dtype);
    stn_json_key(&text, "complex"), stn_text_printf(&text, "%s", job->out_complex ? "true" : "false");
    stn_json_key(&text, "pairs"), stn_text_printf(&text, "%s", writes_pairs(job) ? "true" : "false");
    stn_json_key(&text, "repeat"), stn_text_printf(&text, "%llu", (unsigned long long)settings->repeat);
    stn_json_key(&text, "seconds"), stn_json_number(&text, run->seconds);
    stn_json_key(&text, "nonfinite"), stn_text_printf(&text, "%zu", nonfinite);
    stn_json_key(&text, "out"), stn_json_string(&text, settings->out);
    return cli_json_print(&text, run->context, run->plan, error);
}

static stn_status report(const fft_settings *settings, const fft_job *job, const fft_run *run, const stn_array *out,
                         stn_error *error) {
    size_t nonfinite = stn_array_nonfinite(out);
    if (settings->report.quiet && !settings->report.json) return STN_OK;
    if (!settings->report.quiet && nonfinite)
        fprintf(stderr, "stentor: warning: %zu of %zu numbers of the result are NaN or infinite%s\n", nonfinite,
                stn_array_numbers(out),
                job->transform.dtype == STN_F16 ? ": past the range of f16, try --norm ortho or forward" : "");
    if (settings->report.json) return print_json(settings, job, run, nonfinite, error);
    print_text(settings, job, run);
    return STN_OK;
}

/* ---- the command ----------------------------------------------------------------------------- */

static stn_status make_plan(const fft_settings *settings, const fft_job *job, fft_run *run, stn_error *error) {
    stn_plan_options options;
    STN_TRY(cli_plan_options(&settings->device, &options, error));
    options.estimate_only = settings->explain;
    STN_TRY(cli_open_context(&settings->device, &settings->report, &run->context, error));
    return stn_plan_create_fft(run->context, &job->transform, &options, &run->plan, error);
}

static stn_status explain(const fft_settings *settings, const fft_run *run, stn_error *error) {
    char *text = NULL;
    STN_TRY(stn_plan_describe(run->plan, settings->report.json ? STN_JSON : STN_TEXT, &text, error));
    if (!settings->report.quiet) printf("%s%s", text, settings->report.json ? "\n" : "");
    stn_text_free(text);
    return STN_OK;
}

static stn_status transform(const fft_settings *settings, stn_error *error) {
    fft_job job;
    fft_run run = {0};
    stn_array in = {0}, out = {0};
    stn_status status;
    if (settings->repeat < 1 || settings->repeat > 1000000)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--repeat must be 1 to 1000000");
    if (settings->device.arch && !settings->explain)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--arch names a GPU that is not here, on which nothing can be run: add --explain, or leave it "
                        "out");
    STN_TRY(fft_job_make(settings, &job, error));
    if (settings->out && !settings->explain)
        STN_TRY(stn_result_check("--out", settings->out, job.rank, job.out_complex, error));
    STN_TRY_GOTO(status, make_plan(settings, &job, &run, error), done);
    if (settings->explain) {
        status = explain(settings, &run, error);
        goto done;
    }
    STN_TRY_GOTO(status, fft_job_input(settings, &job, &in, error), done);
    cli_warn_rounded(&in, settings->in, &settings->report);
    cli_print_duration(stn_plan_predicted_seconds(run.plan) * (double)settings->repeat, &settings->report);
    STN_TRY_GOTO(status, fft_job_output(&job, &out, error), done);
    STN_TRY_GOTO(status, execute(&run, settings->repeat, &in, &out, error), done);
    STN_TRY_GOTO(status, fft_job_restore_axes(&job, &out, error), done);
    if (settings->out) STN_TRY_GOTO(status, cli_result_write(settings->out, &out, &settings->report, error), done);
    status = report(settings, &job, &run, &out, error);
done:
    run_clear(&run);
    stn_array_clear(&in);
    stn_array_clear(&out);
    return status;
}

stn_status cmd_fft(int argc, char **argv, stn_error *error) {
    fft_settings settings = {.repeat = 1};
    cli_group groups[] = {CLI_GROUP("Transform", fft_options, &settings), CLI_ARCH_GROUP(&settings.device),
                          CLI_DEVICE_GROUP(&settings.device), CLI_TUNE_GROUP(&settings.device),
                          CLI_REPORT_GROUP(&settings.report)};
    cli_usage usage = {.command = "fft",
                       .summary = "transform a grid: Fourier transforms of up to three axes",
                       .synopsis = "--in FILE.npy --out FILE.npy [--axes A,A] [--inverse] [options]",
                       .notes =
                           "As numpy.fft: fft, ifft, fft2, fftn, and with --real rfft, irfft, rfftn, irfftn.\n"
                           "The output appears only after success; what was there before is kept until then.\n",
                       .groups = groups,
                       .group_count = sizeof groups / sizeof *groups};
    bool help;
    STN_TRY(cli_parse(&usage, argc, argv, &help, error));
    if (help) return STN_OK;
    STN_TRY(cli_reserve_stdout(settings.out, error));
    return settings.devices || cli_ranks_launched() ? fft_team(&settings, error) : transform(&settings, error);
}
