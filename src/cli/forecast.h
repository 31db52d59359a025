/* Warnings before a run: unbounded growth, long duration, a rounded input. */
#ifndef STN_CLI_FORECAST_H
#define STN_CLI_FORECAST_H
#include "cli/shared_options.h"
#include "problem/growth.h"

typedef struct cli_forecast {
    stn_growth growth;
    double max_symbol, log10_growth; /* upper bound over all steps */
    bool stable;
} cli_forecast;

cli_forecast cli_forecast_of(const cli_job *job);
/* Formats, for example, "max |K| = 1: stable". */
void cli_forecast_print(const cli_forecast *forecast, char *text, size_t size);

/* Prints to stderr, unless --quiet. The largest value of `grid` is the magnitude that growth starts
 * from. */
void cli_warn_growth(const cli_forecast *forecast, const cli_job *job, const stn_array *grid,
                     const cli_report_settings *report);
void cli_warn_rounded(const stn_array *array, const char *path, const cli_report_settings *report);
/* Prints a predicted duration of a minute or more. */
void cli_print_duration(double seconds, const cli_report_settings *report);
#endif
