/* See shared_options.h: the shared option tables, and the job and context made from them. */
#include "cli/shared_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "cli/option_values.h"
#include "io/input.h"
#include "io/taps_file.h"
#include "problem/task.h"

#define AT(member) offsetof(cli_problem_settings, member)
const cli_option cli_problem_options[14] = {
    {"--in", "FILE", CLI_TEXT, AT(in),
     "the grid, .npy or grey .png (- is the standard input): one axis for\neach axis of the stencil, plus a first axis "
     "for a batch of grids"},
    {"--shape", "NxN", CLI_TEXT, AT(shape),
     "--in is a raw file: little-endian numbers without a header, C order, of\nthis shape and of --dtype, which may "
     "also be uint8, int16, ..."},
    {"--size", "NxN", CLI_TEXT, AT(size), "instead of --in: the extents of a grid of random numbers; also N,N"},
    {"--random", "SEED", CLI_COUNT, AT(random), "with --size: seed of the random numbers (default 0)"},
    {"--stencil", "NAME[:k=v]", CLI_TEXT, AT(stencil),
     "heat-1d, heat-2d, heat-3d (alpha=), 1d5p, 1d7p, box-2d9p, box-2d49p,\nbox-3d27p, star-2d13p, laplace-1d, -2d, "
     "-3d (order=2..16),\ngaussian-1d, -2d, -3d (sigma=, truncate=)"},
    {"--taps", "FILE", CLI_TEXT, AT(taps),
     "instead of --stencil: dense weights of odd extents, centred (.npy),\nor JSON [{\"offset\": [0, 1], \"weight\": "
     "0.25}, ...]"},
    {"--boundary", "B[,B...]", CLI_TEXT, AT(boundary),
     "one rule for all axes or one for each, LOW:HIGH for the two sides of an\naxis: wrap, constant[=v], nearest, "
     "reflect, mirror, fixed (default wrap)"},
    {"--mode", "B[,B...]", CLI_TEXT, AT(mode),
     "scipy.ndimage's name of --boundary; or how to choose a strategy, see\nMeasuring"},
    {"--steps", "N", CLI_COUNT, AT(steps), "time steps (default 1)"},
    {"--every", "K", CLI_COUNT, AT(every),
     "keep a snapshot after each K steps (a divisor of --steps): the result\nis a stack of steps / K grids, or with "
     "--checkpoint the last grid alone"},
    {"--source", "FILE.npy", CLI_TEXT, AT(source),
     "a constant source of the grid's size, added at each step except at\npoints that a fixed side freezes"},
    {"--dtype", "f64|f32|f16", CLI_TEXT, AT(dtype),
     "dtype of the computation, also spelled float32 etc. (default: the\nfile's; f64 for integers and for --size)"},
    {"--tolerance", "X", CLI_TEXT, AT(tolerance),
     "allowed relative L2 error (default 0: rounding of the dtype only);\nfrom 5e-4 on, f32 may use TF32"},
    {"--accuracy", "global|local", CLI_TEXT, AT(accuracy),
     "local: errors are relative to the values that reach a point, and NaN\nspreads only as far as taps reach: each "
     "step is computed from the\nprevious one (default global: relative to the grid's largest value)"},
};
#undef AT
#define AT(member) offsetof(cli_device_settings, member)
const cli_option cli_device_options[7] = {
    {"--device", "auto|host|cuda[:n]", CLI_TEXT, AT(device),
     "where to compute (default auto: a GPU if there is one); cpu and gpu\nmean host and cuda"},
    {"--strategy", "NAME", CLI_TEXT, AT(strategy), "auto (the cheapest by estimate), host, direct, ... (default auto)"},
    {"--threads", "N", CLI_COUNT, AT(threads), "host threads (default: all that this process may use)"},
    {"--cache-dir", "DIR", CLI_TEXT, AT(cache_dir),
     "folder of stored kernels; \":memory:\" for none (default\n$STENTOR_CACHE_DIR, $XDG_CACHE_HOME/stentor, "
     "~/.cache/stentor)"},
    {"--cache-shared", NULL, CLI_FLAG, AT(cache_shared),
     "accept a cache folder that others own or may write, or a symlink"},
    {"--pack", "FILE", CLI_LIST, AT(packs), "file of compiled kernels, searched first; may be repeated"},
    {"--trust", "KEY", CLI_TEXT, AT(trust),
     "use packs only if signed by this public key (64 hex digits, or a file of\nthem): 'stentor pack sign'"},
};
const cli_option cli_tune_options[5] = {
    {"--tune", NULL, CLI_FLAG, AT(tune),
     "measure the likely candidates first (seconds), use the fastest, and\nstore the times in the cache folder for "
     "later runs: --mode measure"},
    {"--mode", "MODE", CLI_TEXT, AT(mode),
     "auto (default), estimate, measure, patient (all candidates), online\n(candidates are tried in the run itself), "
     "wisdom-only (stored\nmeasurements, or an error)"},
    {"--time-limit", "SECONDS", CLI_TEXT, AT(time_limit), "limit of measuring (default 10; patient: none)"},
    {"--cold", NULL, CLI_FLAG, AT(cold), "measure with a cold L2 cache, as if other work ran in between"},
    {"--deterministic", NULL, CLI_FLAG, AT(deterministic), "choose by estimate alone, without measurements"},
};
const cli_option cli_arch_options[1] = {
    {"--arch", "sm_90", CLI_TEXT, AT(arch), "plan and compile for this architecture instead of a device"},
};
#undef AT
#define AT(member) offsetof(cli_report_settings, member)
const cli_option cli_report_options[3] = {
    {"--json", NULL, CLI_FLAG, AT(json), "one JSON object on the standard output"},
    {"--quiet", NULL, CLI_FLAG, AT(quiet), "print errors only"},
    {"--verbose", NULL, CLI_FLAG, AT(verbose), "print all log messages of the library to stderr"},
};
#undef AT

static stn_status load_stencil(const cli_problem_settings *settings, stn_stencil **stencil, stn_error *error) {
    if (!settings->taps == !settings->stencil)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s: give either --stencil NAME or --taps FILE",
                        settings->taps ? "--stencil and --taps exclude each other" : "no stencil is named");
    if (settings->taps) return stn_taps_read(settings->taps, stencil, error);
    stn_error why = {0};
    stn_status status = stn_stencil_parse(settings->stencil, stencil, &why);
    return status == STN_OK ? status : cli_fail_option("--stencil", settings->stencil, &why, error);
}

/* Parses --boundary, or --mode if it names boundaries. */
static stn_status parse_boundary(const cli_problem_settings *settings, cli_job *job, stn_error *error) {
    stn_error why = {0};
    stn_status status =
        stn_boundary_parse_axes(settings->boundary, stn_stencil_rank(job->stencil), job->problem.boundary, &why);
    return status == STN_OK
               ? status
               : cli_fail_option(settings->mode ? "--mode" : "--boundary", settings->boundary, &why, error);
}

static const stn_raw *raw_of(const cli_job *job) { return job->is_raw ? &job->raw : NULL; }

/* Extents and dtype from --size or the file's header; --dtype takes precedence. */
static stn_status find_grid(const cli_problem_settings *settings, cli_job *job, stn_error *error) {
    if (!settings->in == !settings->size)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s: give either --in FILE or --size NxN",
                        settings->in ? "--in and --size exclude each other" : "no grid is given");
    job->problem.dtype = STN_F64;
    job->bits = 16;
    if (settings->shape && settings->size)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--shape describes a raw file given by --in, and --size a random grid: leave one out");
    if (settings->shape) STN_TRY(cli_parse_raw(settings->shape, settings->dtype, false, &job->raw, error));
    job->is_raw = settings->shape != NULL;
    if (settings->size)
        STN_TRY(cli_parse_size("--size", settings->size, job->extent, &job->rank, error));
    else {
        stn_npy_header header;
        STN_TRY(stn_input_header(settings->in, raw_of(job), false, &header, error));
        job->rank = header.rank;
        memcpy(job->extent, header.extent, sizeof job->extent);
        job->problem.dtype = stn_npy_dtype(&header);
        if (header.item == 1) job->bits = 8;
    }
    job->points = 1;
    for (int axis = 0; axis < job->rank; axis++)
        if (__builtin_mul_overflow(job->points, job->extent[axis], &job->points))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--size %s: more points than 64 bits count",
                            settings->size);
    return settings->dtype && !job->is_raw ? cli_parse_dtype(settings->dtype, &job->problem.dtype, error) : STN_OK;
}

/* Splits the grid's axes into the problem's batch and extents. */
static stn_status fit_grid(const cli_problem_settings *settings, cli_job *job, stn_error *error) {
    int rank = stn_stencil_rank(job->stencil), batched = job->rank - rank;
    if (batched != 0 && batched != 1)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the stencil has %d ax%s but %s has %d: give a grid of %d, or of %d for a batch", rank,
                        rank == 1 ? "is" : "es", settings->in ? settings->in : "--size", job->rank, rank, rank + 1);
    if (batched && job->extent[0] == 0)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "'%s' holds a batch of no grids", settings->in);
    job->problem.batch = batched ? job->extent[0] : 1;
    for (int axis = 0; axis < rank; axis++) job->problem.extent[axis] = job->extent[axis + batched];
    return STN_OK;
}

/* every = steps gives a stack of one snapshot. */
static stn_status fit_snapshots(const cli_problem_settings *settings, cli_job *job, stn_error *error) {
    job->snapshots = 1;
    if (!settings->every) return STN_OK;
    if (settings->steps % settings->every)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--every %llu does not divide --steps %llu: give one of its divisors",
                        (unsigned long long)settings->every, (unsigned long long)settings->steps);
    job->problem.every = settings->every;
    job->snapshots = settings->steps / settings->every;
    return STN_OK;
}

static stn_status fit_source(const cli_problem_settings *settings, cli_job *job, stn_error *error) {
    stn_npy_header header;
    if (!settings->source) return STN_OK;
    STN_TRY(stn_input_header(settings->source, NULL, false, &header, error));
    if (header.rank != job->rank || memcmp(header.extent, job->extent, sizeof job->extent)) {
        char grid[128], source[128];
        cli_job of_source = {.rank = header.rank};
        memcpy(of_source.extent, header.extent, sizeof of_source.extent);
        cli_format_extents(job, grid, sizeof grid);
        cli_format_extents(&of_source, source, sizeof source);
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the source '%s' is %s but the grid is %s: give a value for each of the grid's points",
                        settings->source, header.rank ? source : "a single number", grid);
    }
    job->problem.has_source = 1;
    return STN_OK;
}

stn_status cli_read_accuracy(const cli_problem_settings *settings, double *tolerance, int *accuracy, stn_error *error) {
    if (settings->tolerance && !stn_number_parse(settings->tolerance, strlen(settings->tolerance), tolerance))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--tolerance %s: that is no number", settings->tolerance);
    *accuracy = settings->accuracy && !strcmp(settings->accuracy, "local");
    if (settings->accuracy && !*accuracy && strcmp(settings->accuracy, "global") != 0)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--accuracy %.40s is unknown: give global or local",
                        settings->accuracy);
    return STN_OK;
}

stn_status cli_job_make(const cli_problem_settings *settings, cli_job *job, stn_error *error) {
    memset(job, 0, sizeof *job);
    job->problem = (stn_problem)STN_PROBLEM_INIT;
    stn_status status;
    stn_task task;
    if (settings->steps == 0)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--steps 0 would do nothing: give 1 or more");
    STN_TRY(cli_read_accuracy(settings, &job->problem.tolerance, &job->problem.accuracy, error));
    STN_TRY_GOTO(status, load_stencil(settings, &job->stencil, error), fail);
    STN_TRY_GOTO(status, find_grid(settings, job, error), fail);
    STN_TRY_GOTO(status, fit_grid(settings, job, error), fail);
    STN_TRY_GOTO(status, fit_snapshots(settings, job, error), fail);
    STN_TRY_GOTO(status, fit_source(settings, job, error), fail);
    if (settings->boundary) STN_TRY_GOTO(status, parse_boundary(settings, job, error), fail);
    job->problem.stencil = job->stencil;
    job->problem.steps = settings->steps;
    STN_TRY_GOTO(status, stn_task_make(&job->problem, &task, error), fail);
    job->host_only = stn_task_needs_host(&task);
    stn_task_clear(&task);
    return STN_OK;
fail:
    cli_job_clear(job);
    return status;
}

void cli_job_clear(cli_job *job) {
    stn_stencil_destroy(job->stencil);
    memset(job, 0, sizeof *job);
}

/* splitmix64 */
double cli_random_unit(uint64_t seed, uint64_t index) {
    uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Reads a file whose header was read before, and checks that its extents are still the job's. */
static stn_status read_grid(const char *path, const stn_raw *raw, const cli_job *job, stn_array *grid,
                            stn_error *error) {
    STN_TRY(stn_input_read(path, raw, false, &job->problem.dtype, grid, error));
    if (grid->rank == job->rank && !memcmp(grid->extent, job->extent, sizeof job->extent)) return STN_OK;
    stn_array_clear(grid);
    return stn_fail(error, STN_ERROR_IO, "'%s' changed while it was read: is another program writing it?", path);
}

stn_status cli_job_grid(const cli_problem_settings *settings, const cli_job *job, stn_array *grid, stn_error *error) {
    if (settings->in) return read_grid(settings->in, raw_of(job), job, grid, error);
    STN_TRY(stn_array_make(job->rank, job->extent, job->problem.dtype, grid, error));
    for (size_t i = 0; i < grid->count; i++) stn_array_set(grid, i, cli_random_unit(settings->random, i));
    return STN_OK;
}

stn_status cli_job_source(const cli_problem_settings *settings, const cli_job *job, stn_array *source,
                          stn_error *error) {
    return settings->source ? read_grid(settings->source, NULL, job, source, error) : STN_OK;
}

stn_status cli_resolve_mode(cli_problem_settings *problem, cli_device_settings *device, stn_error *error) {
    int ignored;
    const char *word = problem->mode;
    if (!word) return STN_OK;
    if (device && cli_parse_tuning_mode(word, &ignored, NULL) == STN_OK) {
        device->mode = word;
        problem->mode = NULL;
        return STN_OK;
    }
    if (problem->boundary)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--boundary %.40s and --mode %.40s both name the grid's boundaries: leave one out",
                        problem->boundary, word);
    problem->boundary = word;
    return STN_OK;
}

stn_status cli_plan_options(const cli_device_settings *settings, stn_plan_options *options, stn_error *error) {
    *options = (stn_plan_options)STN_PLAN_OPTIONS_INIT;
    options->strategy = settings->strategy;
    options->tune = settings->tune;
    options->deterministic = settings->deterministic;
    options->first_result = settings->first_result;
    options->tune_cold = settings->cold;
    if (settings->mode) STN_TRY(cli_parse_tuning_mode(settings->mode, &options->mode, error));
    const char *limit = settings->time_limit;
    if (limit && (!stn_number_parse(limit, strlen(limit), &options->tune_seconds) || !(options->tune_seconds > 0)))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--time-limit %s: give seconds, more than 0", limit);
    return STN_OK;
}

cli_device_settings cli_device_of(const cli_device_settings *settings, const cli_job *job) {
    cli_device_settings chosen = *settings;
    if (job->host_only && !chosen.device && !chosen.arch) chosen.device = "host";
    return chosen;
}

static void print_log(void *user, stn_log_level level, const char *message) {
    static const char *const names[] = {"debug", "info", "warning", "error"};
    const cli_report_settings *report = user;
    if (report->quiet || (level < STN_LOG_WARNING && !report->verbose)) return;
    fprintf(stderr, "stentor: %s: %s\n", names[level], message);
}

stn_logger cli_logger(const cli_report_settings *report) { return (stn_logger){print_log, (void *)(uintptr_t)report}; }

stn_status cli_context_options(const cli_device_settings *settings, const cli_report_settings *report,
                               stn_context_options *options, stn_error *error) {
    *options = (stn_context_options)STN_CONTEXT_OPTIONS_INIT;
    STN_TRY(cli_parse_device(settings->device, &options->device, error));
    if (settings->threads > 4096)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--threads %llu: give up to 4096",
                        (unsigned long long)settings->threads);
    if (settings->arch && settings->device)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--arch and --device exclude each other: --arch is for a GPU that is not here");
    /* --strategy host must not fail because a GPU is present */
    if (settings->strategy && !strncmp(settings->strategy, "host", 4) && options->device == STN_DEVICE_AUTO)
        options->device = STN_DEVICE_HOST;
    options->threads = (int)settings->threads;
    options->cache_dir = settings->cache_dir;
    options->packs = settings->packs[0] ? settings->packs : NULL;
    options->trust = settings->trust;
    options->arch = settings->arch;
    options->cache_shared = settings->cache_shared;
    stn_logger logger = cli_logger(report);
    options->log = logger.fn;
    options->log_user = logger.user;
    return STN_OK;
}

stn_status cli_open_context(const cli_device_settings *settings, const cli_report_settings *report,
                            stn_context **context, stn_error *error) {
    stn_context_options options;
    STN_TRY(cli_context_options(settings, report, &options, error));
    const stn_status status = stn_context_create(&options, context, error);
    if (status != STN_ERROR_NO_DEVICE) return status;
    const stn_error why = *error;
    return stn_fail(error, status, "%s (--device host computes without a GPU)", why.message);
}

void cli_format_extents(const cli_job *job, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (int axis = 0; axis < job->rank && used < size; axis++)
        used += (size_t)snprintf(text + used, size - used, axis ? " x %zu" : "%zu", job->extent[axis]);
}

static void format_side(const stn_boundary *side, char *text, size_t size) {
    char number[STN_NUMBER_SIZE];
    stn_number_format(side->value, number);
    bool value = side->kind == STN_CONSTANT && side->value != 0;
    snprintf(text, size, "%s%s%s", stn_boundary_name(side->kind), value ? "=" : "", value ? number : "");
}

void cli_format_boundary(const cli_job *job, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (int axis = 0; axis < stn_stencil_rank(job->stencil) && used < size; axis++) {
        char low[64], high[64];
        format_side(&job->problem.boundary[axis][0], low, sizeof low);
        format_side(&job->problem.boundary[axis][1], high, sizeof high);
        bool same = !strcmp(low, high);
        used += (size_t)snprintf(text + used, size - used, "%s%s%s%s", axis ? "," : "", low, same ? "" : ":",
                                 same ? "" : high);
    }
}
