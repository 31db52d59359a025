/* See counters.h. */
#include "cli/counters.h"

#include <stdio.h>

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

void cli_format_bytes(uint64_t bytes, char *text, size_t size) {
    if (bytes < 10000)
        snprintf(text, size, "%llu B", (unsigned long long)bytes);
    else if (bytes < 10000000)
        snprintf(text, size, "%.1f kB", (double)bytes / 1e3);
    else
        snprintf(text, size, "%.1f MB", (double)bytes / 1e6);
}
