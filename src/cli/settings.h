/* The options that several commands share, and what becomes of them: a stencil, a problem, a grid,
 * a context. */
#ifndef STN_CLI_SETTINGS_H
#define STN_CLI_SETTINGS_H
#include "base/log.h"
#include "cli/options.h"
#include "io/input.h"

typedef struct cli_problem_settings { /* as given; NULL: not given */
    const char *in, *size, *taps, *stencil, *boundary, *dtype, *tolerance, *accuracy, *source;
    const char *shape; /* of a raw file */
    const char *mode;  /* boundaries by scipy's keyword, or a way to choose: cli_settle_mode */
    uint64_t steps, random, every;
} cli_problem_settings;

typedef struct cli_device_settings {
    const char *device, *strategy, *cache_dir, *packs[CLI_LIST_MOST + 1];
    const char *arch; /* only where cli_arch_options are offered */
    uint64_t threads;
    bool cache_shared;
    bool tune, deterministic, cold; /* only where cli_tune_options are offered, as the next two */
    const char *mode, *time_limit;
    bool first_result; /* no option: the first result as soon as possible (stn_plan_options) */
} cli_device_settings;

typedef struct cli_report_settings {
    bool json, quiet, verbose;
} cli_report_settings;

extern const cli_option cli_problem_options[14], cli_device_options[6], cli_arch_options[1], cli_tune_options[5],
    cli_report_options[3];
#define CLI_PROBLEM_GROUP(settings) CLI_GROUP("Problem", cli_problem_options, settings)
#define CLI_DEVICE_GROUP(settings) CLI_GROUP("Where and how", cli_device_options, settings)
#define CLI_TUNE_GROUP(settings) CLI_GROUP("Measuring", cli_tune_options, settings)
#define CLI_ARCH_GROUP(settings) CLI_GROUP("For a GPU that is not here", cli_arch_options, settings)
#define CLI_REPORT_GROUP(settings) CLI_GROUP("Report", cli_report_options, settings)

/* What a command computes; all of it owned. Zero is empty. */
typedef struct cli_job {
    stn_stencil *stencil;
    stn_problem problem; /* valid: stn_problem_validate has agreed; dense strides */
    int rank;            /* of the grid: the stencil's, one more with a batch in front */
    size_t extent[STN_ARRAY_RANK];
    size_t points;      /* product of the extents */
    uint64_t snapshots; /* states in the result; 1 without --every */
    int bits;           /* of a PNG of the result: 8 where the grid's file has 8 bits a value, else 16 */
    bool host_alone;    /* taps reach further than an axis is long, which GPUs do not serve */
    bool is_raw;        /* the grid's file has no header: `raw` says what it holds */
    stn_raw raw;
} cli_job;

/* --mode names either boundaries, as in scipy.ndimage, or a way to choose a strategy: moves it to where it belongs. Boundaries
 * stay in `mode` too, so that errors name the option that was typed. device NULL: boundaries
 * alone. */
stn_status cli_settle_mode(cli_problem_settings *problem, cli_device_settings *device, stn_error *error);

/* Stencil, extents (from --size or the header of --in), dtype, boundaries, steps, snapshots; the
 * header of --source. Reads no grid. */
/* --tolerance and --accuracy. */
stn_status cli_read_accuracy(const cli_problem_settings *settings, double *tolerance, int *accuracy, stn_error *error);
stn_status cli_job_make(const cli_problem_settings *settings, cli_job *job, stn_error *error);
void cli_job_clear(cli_job *job);

/* The grid itself: the file, or uniform random numbers in [0, 1) from --random's seed. *grid is the
 * caller's. */
stn_status cli_job_grid(const cli_problem_settings *settings, const cli_job *job, stn_array *grid, stn_error *error);
/* The constant source of --source, in the grid's dtype; left empty where there is none. *source is
 * the caller's. */
stn_status cli_job_source(const cli_problem_settings *settings, const cli_job *job, stn_array *source,
                          stn_error *error);

/* Where to compute: as the options say, but on the host what GPUs do not serve, unless one was
 * asked for. */
cli_device_settings cli_device_of(const cli_device_settings *settings, const cli_job *job);

/* What a context is made with. What it points to is borrowed. */
stn_status cli_context_options(const cli_device_settings *settings, const cli_report_settings *report,
                               stn_context_options *options, stn_error *error);
/* Opens a context as the options say. Log messages go to stderr: warnings, or with --verbose all,
 * or with --quiet none. report must outlive the context. */
stn_status cli_open_context(const cli_device_settings *settings, const cli_report_settings *report,
                            stn_context **context, stn_error *error);

/* Strategy, mode and time limit. The strategy's name is borrowed. */
stn_status cli_plan_options(const cli_device_settings *settings, stn_plan_options *options, stn_error *error);

/* Messages to stderr in the same way. report must outlive the logger. */
stn_logger cli_logger(const cli_report_settings *report);

/* The index'th of seed's numbers, in [0, 1): any one of them without those before. */
double cli_random_unit(uint64_t seed, uint64_t index);

/* "344 x 403" */
void cli_format_extents(const cli_job *job, char *text, size_t size);
/* The boundaries as --boundary would say them, one part an axis. */
void cli_format_boundary(const cli_job *job, char *text, size_t size);
#endif
