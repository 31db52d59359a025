/* What is said of a run before it begins: that it grows without bound, that it takes long, that its
 * input was rounded. */
#ifndef STN_CLI_FORECAST_H
#define STN_CLI_FORECAST_H
#include "cli/settings.h"
#include "problem/growth.h"

typedef struct cli_forecast {
    stn_growth growth;
    double max_symbol, log10_growth; /* over all steps, at most */
    bool stable;
} cli_forecast;

cli_forecast cli_forecast_of(const cli_job *job);
/* "max |K| = 1: stable" */
void cli_forecast_print(const cli_forecast *forecast, char *text, size_t size);

/* On stderr, unless --quiet. `grid` tells the size of numbers from which growth starts. */
void cli_warn_growth(const cli_forecast *forecast, const cli_job *job, const stn_array *grid,
                     const cli_report_settings *report);
void cli_warn_rounded(const stn_array *array, const char *path, const cli_report_settings *report);
/* Of what takes a minute or more by prediction. */
void cli_say_duration(double seconds, const cli_report_settings *report);
#endif
