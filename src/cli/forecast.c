/* See forecast.h: the growth of a run by its symbol, and its predicted duration. */
#include "cli/forecast.h"

#include <math.h>
#include <stdio.h>

#include "problem/stencil.h"

#define SAID_FROM 60.0 /* seconds: shorter runs are not announced */

cli_forecast cli_forecast_of(const cli_job *job) {
    cli_forecast f = {0};
    stn_task task;
    if (stn_task_make(&job->problem, &task, NULL) == STN_OK) {
        f.growth = stn_task_growth(&task);
        stn_task_clear(&task);
    } else /* the invalid problem is reported later */
        f.growth.symbol = f.growth.step = f.growth.lasting = stn_stencil_max_symbol(job->stencil);
    f.max_symbol = f.growth.symbol;
    f.log10_growth = (double)job->problem.steps * log10(f.max_symbol);
    if (stn_growth_is_transient(&f.growth)) f.log10_growth = stn_growth_peak(&f.growth, (double)job->problem.steps);
    f.stable = stn_symbol_stable(f.max_symbol, job->problem.steps);
    return f;
}

/* If |K| exceeds 1 by too little to show in seven digits, the growth of the run is printed
 * instead. */
void cli_forecast_print(const cli_forecast *f, char *text, size_t size) {
    double above = f->max_symbol - 1;
    if (!f->stable)
        snprintf(text, size, "max |K| = %.7g: unstable, grows by up to 10^%.4g%s", f->max_symbol, f->log10_growth,
                 stn_growth_is_transient(&f->growth) ? " until it leaves through the sides" : "");
    else if (above > 1e-12) /* rounded weights of sum 1 stay below this */
        snprintf(text, size, "max |K| = 1 + %.2g: grows by up to %.2g%% in these steps", above,
                 100 * (pow(10, f->log10_growth) - 1));
    else
        snprintf(text, size, "max |K| = %.7g: stable", f->max_symbol);
}

static double largest_finite(const stn_array *grid) {
    double largest = 0;
    for (size_t i = 0; i < stn_array_numbers(grid); i++) {
        double value = fabs(stn_array_get(grid, i));
        if (isfinite(value) && value > largest) largest = value;
    }
    return largest;
}

void cli_warn_growth(const cli_forecast *f, const cli_job *job, const stn_array *grid,
                     const cli_report_settings *report) {
    if (report->quiet || f->stable) return;
    double step = stn_growth_overflow(&f->growth, job->problem.dtype, largest_finite(grid));
    char when[64] = "";
    if (step <= (double)job->problem.steps)
        snprintf(when, sizeof when, "; %s may overflow from step %.0f on", stn_dtype_name(job->problem.dtype), step);
    fprintf(stderr,
            "stentor: warning: max |symbol| is %.7g, above 1: this stencil grows %s, by up to 10^%.4g in %llu "
            "step%s%s\n",
            f->max_symbol, stn_growth_is_transient(&f->growth) ? "until it leaves through the sides" : "without bound",
            f->log10_growth, (unsigned long long)job->problem.steps, job->problem.steps == 1 ? "" : "s", when);
}

void cli_warn_rounded(const stn_array *array, const char *path, const cli_report_settings *report) {
    if (report->quiet || !array->rounded) return;
    fprintf(stderr,
            "stentor: warning: %zu of %zu whole numbers of '%s' are above 2^53, where f64 cannot represent every "
            "integer: they were rounded\n",
            array->rounded, array->count, path);
}

void cli_print_duration(double seconds, const cli_report_settings *report) {
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{365.25 * 86400, "years"}, {86400, "days"}, {3600, "hours"}, {60, "minutes"}};
    if (report->quiet || !(seconds >= SAID_FROM)) return;
    size_t unit = 0;
    while (unit < sizeof units / sizeof *units - 1 && seconds < 2 * units[unit].seconds) unit++;
    fprintf(stderr, "stentor: info: this will take about %.3g %s by estimate\n", seconds / units[unit].seconds,
            units[unit].name);
}
