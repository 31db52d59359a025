/* See command_output.h: output shared by several commands. */
#include "cli/command_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "io/result.h"

static void count(stn_text *text, const char *key, uint64_t value) {
    stn_json_key(text, key);
    stn_text_printf(text, "%llu", (unsigned long long)value);
}

void cli_json_counters(const stn_cache_stats *stats, stn_text *text) {
    stn_text_printf(text, "{");
    count(text, "memory_hits", stats->memory_hits);
    count(text, "pack_hits", stats->pack_hits);
    count(text, "disk_hits", stats->disk_hits);
    count(text, "misses", stats->misses);
    count(text, "rejected", stats->rejected);
    count(text, "bytes_read", stats->bytes_read);
    count(text, "bytes_written", stats->bytes_written);
    stn_json_key(text, "compile_seconds"), stn_json_number(text, stats->compile_seconds);
    stn_json_key(text, "load_seconds"), stn_json_number(text, stats->load_seconds);
    stn_text_printf(text, "}");
}

void cli_json_begin(stn_text *text, const stn_plan *plan, bool on_device, int rank, const size_t *extent,
                    stn_dtype dtype) {
    stn_text_printf(text, "{");
    stn_json_key(text, "strategy"), stn_json_string(text, stn_plan_strategy(plan));
    stn_json_key(text, "device"), stn_json_string(text, on_device ? "cuda" : "host");
    stn_json_key(text, "extents"), stn_text_printf(text, "[");
    for (int axis = 0; axis < rank; axis++) stn_json_comma(text), stn_text_printf(text, "%zu", extent[axis]);
    stn_text_printf(text, "]");
    stn_json_key(text, "dtype"), stn_json_string(text, stn_dtype_name(dtype));
}

stn_status cli_json_print(stn_text *text, stn_context *context, const stn_plan *plan, stn_error *error) {
    stn_cache_stats stats;
    char *described = NULL, *data = NULL;
    stn_status status = stn_plan_describe(plan, STN_JSON, &described, error);
    if (status != STN_OK) {
        stn_text_clear(text);
        return status;
    }
    stn_context_cache_stats(context, &stats);
    stn_json_key(text, "cache"), cli_json_counters(&stats, text);
    stn_json_key(text, "plan"), stn_text_printf(text, "%s", described);
    stn_text_printf(text, "}\n");
    stn_text_free(described);
    STN_TRY(stn_text_take(text, &data, error));
    fputs(data, stdout);
    stn_text_free(data);
    return STN_OK;
}

void cli_format_bytes(uint64_t bytes, char *text, size_t size) {
    if (bytes < 10000)
        snprintf(text, size, "%llu B", (unsigned long long)bytes);
    else if (bytes < 10000000)
        snprintf(text, size, "%.1f kB", (double)bytes / 1e3);
    else
        snprintf(text, size, "%.1f MB", (double)bytes / 1e6);
}

stn_status cli_reserve_stdout(const char *out, stn_error *error) {
    return out && !strcmp(out, "-") ? stn_output_reserve_stdout(error) : STN_OK;
}

void cli_warn_changed(const char *path, size_t changed, const cli_report_settings *report) {
    if (!changed || report->quiet) return;
    fprintf(stderr, "stentor: warning: %zu values were past the range of the PNG '%s' and became its nearest value\n",
            changed, path);
}

stn_status cli_result_write(const char *path, const stn_array *array, const cli_report_settings *report,
                            stn_error *error) {
    stn_output output = {0};
    size_t changed = 0;
    STN_TRY(stn_result_prepare(path, array, 16, &changed, &output, error));
    STN_TRY(stn_output_commit(&output, error));
    cli_warn_changed(path, changed, report);
    return STN_OK;
}

void cli_warn_nonfinite(size_t nonfinite, size_t values, const cli_report_settings *report) {
    if (nonfinite && !report->quiet)
        fprintf(stderr, "stentor: warning: %zu of %zu values of the result are NaN or infinite\n", nonfinite, values);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cli_median(double *seconds, size_t count) {
    qsort(seconds, count, sizeof *seconds, by_value);
    return 0.5 * (seconds[(count - 1) / 2] + seconds[count / 2]);
}
