/* Output that several commands share: cache counters, sizes, the first and last members of their
 * JSON. */
#ifndef STN_CLI_COMMAND_OUTPUT_H
#define STN_CLI_COMMAND_OUTPUT_H
#include "base/text.h"
#include "cli/shared_options.h"

/* One JSON object: {"memory_hits": ..., ...}. */
void cli_json_counters(const stn_cache_stats *stats, stn_text *text);

/* The first members of a command's JSON ("strategy", "device", "extents", "dtype") and the last
 * ones ("cache", "plan"). cli_json_print also prints and frees the text. */
void cli_json_begin(stn_text *text, const stn_plan *plan, bool on_device, int rank, const size_t *extent,
                    stn_dtype dtype);
stn_status cli_json_print(stn_text *text, stn_context *context, const stn_plan *plan, stn_error *error);

/* Formats, for example, "1.2 MB". */
void cli_format_bytes(uint64_t bytes, char *text, size_t size);

/* If the result goes to the standard output (--out -), sends all other output to stderr. Call
 * before anything is printed. */
stn_status cli_reserve_stdout(const char *out, stn_error *error);
/* Writes a result, and warns of values out of a PNG's range. */
stn_status cli_result_write(const char *path, const stn_array *array, const cli_report_settings *report,
                            stn_error *error);
/* Warns on stderr, unless --quiet, of values of the result that are NaN or infinite. */
void cli_warn_nonfinite(size_t nonfinite, size_t values, const cli_report_settings *report);
/* Sorts the times and returns their median. count: at least 1. */
double cli_median(double *seconds, size_t count);
void cli_warn_changed(const char *path, size_t changed, const cli_report_settings *report);
#endif
