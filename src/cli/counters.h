/* The cache's counters, and sizes, as the commands show them. */
#ifndef STN_CLI_COUNTERS_H
#define STN_CLI_COUNTERS_H
#include "base/text.h"

/* One JSON object: {"memory_hits": ..., ...}. */
void cli_json_counters(const stn_cache_stats *stats, stn_text *text);

/* "1.2 MB" */
void cli_format_bytes(uint64_t bytes, char *text, size_t size);
#endif
