/* What several commands show alike: the cache's counters, sizes, the head and the end of a plan's
 * JSON. */
#ifndef STN_CLI_REPORT_H
#define STN_CLI_REPORT_H
#include "base/text.h"
#include "cli/settings.h"

/* One JSON object: {"memory_hits": ..., ...}. */
void cli_json_counters(const stn_cache_stats *stats, stn_text *text);

/* What the JSON of run and fft begins and ends with: {"strategy": ..., "device", "extents", "dtype"
 * - "cache", "plan"}, printed and freed at the end. */
void cli_json_begin(stn_text *text, const stn_plan *plan, bool on_device, int rank, const size_t *extent,
                    stn_dtype dtype);
stn_status cli_json_print(stn_text *text, stn_context *context, const stn_plan *plan, stn_error *error);

/* "1.2 MB" */
void cli_format_bytes(uint64_t bytes, char *text, size_t size);

/* Where the result goes to the standard output (--out -), all that is printed goes to stderr
 * instead. Call before anything is. */
stn_status cli_reserve_stdout(const char *out, stn_error *error);
/* Writes a result that is no grid, and says of a PNG how many values it could not hold. */
stn_status cli_result_write(const char *path, const stn_array *array, const cli_report_settings *report,
                            stn_error *error);
void cli_warn_changed(const char *path, size_t changed, const cli_report_settings *report);
#endif
