/* Options shared by several commands, and the objects made from them: stencil, problem, grid,
 * context. */
#ifndef STN_CLI_SHARED_OPTIONS_H
#define STN_CLI_SHARED_OPTIONS_H
#include "base/log.h"
#include "cli/option_parser.h"
#include "io/input.h"

typedef struct cli_problem_settings { /* as given; NULL: not given */
    const char *in, *size, *taps, *stencil, *boundary, *dtype, *tolerance, *accuracy, *source;
    const char *shape; /* extents of a raw file */
    /* scipy's keyword for boundaries, or how to choose a strategy: cli_resolve_mode */
    const char *mode;
    uint64_t steps, random, every;
} cli_problem_settings;

typedef struct cli_device_settings {
    const char *device, *strategy, *cache_dir, *packs[CLI_LIST_MAX + 1];
    const char *arch; /* only with cli_arch_options */
    uint64_t threads;
    const char *trust; /* NULL: packs need no signature */
    bool cache_shared;
    bool tune, deterministic, cold; /* these and the next two: only with cli_tune_options */
    const char *mode, *time_limit;
    bool first_result; /* not an option: stn_plan_options.first_result */
} cli_device_settings;

typedef struct cli_report_settings {
    bool json, quiet, verbose;
} cli_report_settings;

extern const cli_option cli_problem_options[14], cli_device_options[7], cli_arch_options[1], cli_tune_options[5],
    cli_report_options[3];
#define CLI_PROBLEM_GROUP(settings) CLI_GROUP("Problem", cli_problem_options, settings)
#define CLI_DEVICE_GROUP(settings) CLI_GROUP("Where and how", cli_device_options, settings)
#define CLI_TUNE_GROUP(settings) CLI_GROUP("Measuring", cli_tune_options, settings)
#define CLI_ARCH_GROUP(settings) CLI_GROUP("For a GPU that is not here", cli_arch_options, settings)
#define CLI_REPORT_GROUP(settings) CLI_GROUP("Report", cli_report_options, settings)

/* The problem of a command; all members are owned. Zeroed: empty. */
typedef struct cli_job {
    stn_stencil *stencil;
    stn_problem problem; /* validated; dense strides */
    int rank;            /* axes of the grid: those of the stencil, plus one for a batch */
    size_t extent[STN_ARRAY_RANK];
    size_t points;      /* product of the extents */
    uint64_t snapshots; /* states in the result; 1 without --every */
    /* bits per pixel of a PNG result: 8 if the input has 8-bit values, else 16 */
    int bits;
    bool host_only; /* see stn_task_needs_host */
    bool is_raw;    /* the grid's file has no header: `raw` describes its content */
    stn_raw raw;
} cli_job;

/* --mode means either boundaries, as in scipy.ndimage, or how to choose a strategy: moves its value
 * to `boundary` or to device->mode. Boundaries stay in `mode` too, so that errors name the typed
 * option. device NULL: --mode means boundaries. */
stn_status cli_resolve_mode(cli_problem_settings *problem, cli_device_settings *device, stn_error *error);

/* --tolerance and --accuracy. */
stn_status cli_read_accuracy(const cli_problem_settings *settings, double *tolerance, int *accuracy, stn_error *error);
/* Makes stencil, extents (from --size or the header of --in), dtype, boundaries, steps and
 * snapshots, and reads the header of --source. Reads no grid. */
stn_status cli_job_make(const cli_problem_settings *settings, cli_job *job, stn_error *error);
void cli_job_clear(cli_job *job);

/* Reads the grid, or generates uniform random numbers in [0, 1) from --random's seed. *grid is the
 * caller's. */
stn_status cli_job_grid(const cli_problem_settings *settings, const cli_job *job, stn_array *grid, stn_error *error);
/* Reads the constant source of --source in the grid's dtype; left empty if there is none. *source
 * is the caller's. */
stn_status cli_job_source(const cli_problem_settings *settings, const cli_job *job, stn_array *source,
                          stn_error *error);

/* The device settings for this job: problems that GPUs do not support run on the host unless a
 * device was named. */
cli_device_settings cli_device_of(const cli_device_settings *settings, const cli_job *job);

/* Makes context options, which borrow from the settings. */
stn_status cli_context_options(const cli_device_settings *settings, const cli_report_settings *report,
                               stn_context_options *options, stn_error *error);
/* Opens a context. Log messages go to stderr: warnings; with --verbose all, with --quiet none.
 * report must outlive the context. */
stn_status cli_open_context(const cli_device_settings *settings, const cli_report_settings *report,
                            stn_context **context, stn_error *error);

/* Makes plan options: strategy, mode, time limit. The strategy's name is borrowed. */
stn_status cli_plan_options(const cli_device_settings *settings, stn_plan_options *options, stn_error *error);

/* A logger that prints to stderr likewise. report must outlive it. */
stn_logger cli_logger(const cli_report_settings *report);

/* Random number `index` of the sequence of `seed`, in [0, 1); numbers are independent of each
 * other. */
double cli_random_unit(uint64_t seed, uint64_t index);

/* Formats, for example, "344 x 403". */
void cli_format_extents(const cli_job *job, char *text, size_t size);
/* The boundaries in the syntax of --boundary, one part for each axis. */
void cli_format_boundary(const cli_job *job, char *text, size_t size);
#endif
