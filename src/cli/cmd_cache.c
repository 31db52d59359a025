/* stentor cache: lists, checks and trims the kernels and measured times stored on disk. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/sanitize.h"
#include "cache/cache.h"
#include "cache/format.h"
#include "cli/command.h"
#include "cli/command_output.h"
#include "cli/shared_options.h"

typedef struct cache_settings {
    cli_report_settings report;
    const char *dir;
    uint64_t max_bytes, max_files, spare_hours;
    bool shared;
} cache_settings;

static const cli_option cache_options[] = {
    {"--cache-dir", "DIR", CLI_TEXT, offsetof(cache_settings, dir),
     "the folder (default $STENTOR_CACHE_DIR, $XDG_CACHE_HOME/stentor,\n~/.cache/stentor)"},
    {"--shared", NULL, CLI_FLAG, offsetof(cache_settings, shared),
     "accept a folder that others own or may write, or a symlink"},
    {"--max-bytes", "N", CLI_COUNT, offsetof(cache_settings, max_bytes), "gc: size limit in bytes (default 2^30)"},
    {"--max-files", "N", CLI_COUNT, offsetof(cache_settings, max_files), "gc: limit of files (default 16384)"},
    {"--spare-hours", "H", CLI_COUNT, offsetof(cache_settings, spare_hours),
     "gc: keep everything used in the last H hours (default 24)"},
};

/* The output of `list` so far. */
typedef struct listing {
    bool json;
    stn_text text;
    uint64_t count, bytes;
} listing;

static void json_item(const stn_cache_item *item, bool whole, stn_text *text) {
    static const char *const labels[] = {"kernel", "arch", "library", "compiler", "options"};
    char hex[65];
    stn_key_hex(&item->key, hex);
    stn_json_comma(text);
    stn_text_printf(text, "{\"key\":\"%s\",\"bytes\":%llu,\"used\":%lld", hex, (unsigned long long)item->bytes,
                    (long long)item->used);
    stn_json_key(text, "fault"), stn_json_string(text, item->fault);
    for (size_t i = 0; item->entry && i < sizeof labels / sizeof *labels; i++) {
        char value[400];
        stn_json_key(text, labels[i]);
        stn_json_string(text, stn_entry_field(item->entry, labels[i], value, sizeof value) ? value : NULL);
    }
    if (item->entry)
        stn_text_printf(text, ",\"ptx_bytes\":%zu,\"cubin_bytes\":%zu", item->entry->ptx_size, item->entry->cubin_size);
    if (item->entry && whole) stn_json_key(text, "params"), stn_json_string(text, item->entry->params);
    stn_text_printf(text, "}");
}

static bool list_one(void *user, const stn_cache_item *item) {
    listing *all = user;
    char hex[65], bytes[32], used[32] = "?", kernel[64], arch[16];
    const time_t when = item->used;
    struct tm local;
    all->count++;
    all->bytes += item->bytes;
    if (all->json) {
        json_item(item, false, &all->text);
        return true;
    }
    stn_key_hex(&item->key, hex);
    cli_format_bytes(item->bytes, bytes, sizeof bytes);
    if (localtime_r(&when, &local)) strftime(used, sizeof used, "%Y-%m-%d %H:%M", &local);
    stn_text_printf(&all->text, "%.16s  %10s  %s  ", hex, bytes, used);
    if (item->entry) {
        (void)stn_entry_field(item->entry, "kernel", kernel, sizeof kernel);
        (void)stn_entry_field(item->entry, "arch", arch, sizeof arch);
        stn_text_printf(&all->text, "%-8s %s\n", arch, kernel);
    } else
        stn_text_printf(&all->text, "%s: %s\n", item->damaged ? "damaged" : "not read", item->fault);
    return true;
}

static stn_status print_text(stn_text *text, const cache_settings *settings, stn_error *error) {
    char *data;
    STN_TRY(stn_text_take(text, &data, error));
    stn_text_sanitize(data);
    if (!settings->report.quiet) fputs(data, stdout);
    stn_text_free(data);
    return STN_OK;
}

static stn_status list(stn_cache *cache, const cache_settings *settings, stn_error *error) {
    listing all = {.json = settings->report.json, .text = STN_TEXT_EMPTY};
    char bytes[32];
    if (all.json) stn_text_printf(&all.text, "[");
    stn_status status = stn_cache_each(cache, list_one, &all, error);
    cli_format_bytes(all.bytes, bytes, sizeof bytes);
    if (all.json)
        stn_text_printf(&all.text, "]\n");
    else
        stn_text_printf(&all.text, "%llu kernels, %s, in %s\n", (unsigned long long)all.count, bytes,
                        status == STN_OK ? cache->folder.path : "");
    if (status == STN_OK) status = print_text(&all.text, settings, error);
    stn_text_clear(&all.text);
    return status;
}

static stn_status show(stn_cache *cache, const cache_settings *settings, const char *prefix, stn_error *error) {
    stn_cache_item item = {0};
    stn_entry entry;
    char hex[65];
    STN_TRY(stn_cache_resolve(cache, prefix, &item.key, error));
    stn_key_hex(&item.key, hex);
    if (!stn_cache_find(cache, &item.key, &entry))
        return stn_fail(error, STN_ERROR_FORMAT,
                        "what is stored as %.16s could not be read; where it was damaged it is removed", hex);
    stn_text text = STN_TEXT_EMPTY;
    item.entry = &entry;
    item.bytes = STN_ENTRY_HEADER + strlen(entry.metadata) + strlen(entry.params) + entry.ptx_size + entry.cubin_size;
    item.used = time(NULL);
    if (settings->report.json) {
        json_item(&item, true, &text);
        stn_text_printf(&text, "\n");
    } else
        stn_text_printf(&text, "key: %s\n%sPTX: %zu bytes\ncubin: %zu bytes\n\n%s", hex, entry.metadata, entry.ptx_size,
                        entry.cubin_size, entry.params);
    stn_status status = print_text(&text, settings, error);
    stn_text_clear(&text);
    stn_entry_clear(&entry);
    return status;
}

static void print_totals(const cache_settings *settings, const stn_cache_collection *sweep) {
    char kept[32], removed[32];
    cli_format_bytes(sweep->bytes, kept, sizeof kept);
    cli_format_bytes(sweep->removed_bytes, removed, sizeof removed);
    if (settings->report.json)
        printf(
            "{\"files\":%llu,\"measured\":%llu,\"bytes\":%llu,\"removed_files\":%llu,\"removed_bytes\":%llu,"
            "\"damaged\":%llu,\"left\":%llu}\n",
            (unsigned long long)sweep->files, (unsigned long long)sweep->measured, (unsigned long long)sweep->bytes,
            (unsigned long long)sweep->removed_files, (unsigned long long)sweep->removed_bytes,
            (unsigned long long)sweep->damaged, (unsigned long long)sweep->left);
    else if (!settings->report.quiet) {
        printf("kept     %llu kernels, %llu measured problems, %s\n", (unsigned long long)sweep->files,
               (unsigned long long)sweep->measured, kept);
        printf("removed  %llu files, %s", (unsigned long long)sweep->removed_files, removed);
        if (sweep->damaged) printf(", %llu of them damaged", (unsigned long long)sweep->damaged);
        printf("\n");
    }
}

static stn_status print_path(stn_cache *cache, const cache_settings *settings, stn_error *error) {
    const char *dir = cache->folder.path, *problem = stn_cache_dir_problem(cache);
    if (!dir)
        return stn_fail(error, STN_ERROR_IO, "there is no cache folder: %s",
                        problem ? problem : "kernels are kept in memory only");
    stn_text text = STN_TEXT_EMPTY;
    if (settings->report.json) {
        stn_json_string(&text, dir);
        stn_text_printf(&text, "\n");
    } else
        stn_text_printf(&text, "%s\n", dir);
    return print_text(&text, settings, error);
}

static stn_status dispatch(stn_cache *cache, const cache_settings *settings, const char **positionals,
                           stn_error *error) {
    stn_cache_collection sweep = {0};
    const char *what = positionals[0];
    if (strcmp(what, "show") && positionals[1])
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "'%s' is one argument too many: see 'stentor cache --help'",
                        positionals[1]);
    if (!strcmp(what, "list")) return list(cache, settings, error);
    if (!strcmp(what, "path")) return print_path(cache, settings, error);
    if (!strcmp(what, "show")) {
        if (positionals[1]) return show(cache, settings, positionals[1], error);
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "cache show needs the KEY of a kernel, which 'stentor cache list' prints");
    }
    if (!strcmp(what, "verify"))
        STN_TRY(stn_cache_verify(cache, &sweep, error));
    else if (!strcmp(what, "clear"))
        STN_TRY(stn_cache_clear(cache, &sweep, error));
    else if (!strcmp(what, "gc"))
        STN_TRY(stn_cache_gc(cache, (int64_t)settings->spare_hours * 3600, &sweep, error));
    else
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "there is no 'cache %s': give list, show, verify, gc, clear or path", what);
    print_totals(settings, &sweep);
    if (!sweep.left) return STN_OK;
    return stn_fail(error, STN_ERROR_IO,
                    "%llu of what is stored could not be read or removed and is left, as the warnings above say: make "
                    "it readable or remove it by hand",
                    (unsigned long long)sweep.left);
}

stn_status cmd_cache(int argc, char **argv, stn_error *error) {
    cache_settings settings = {.spare_hours = 24};
    const char *positionals[3] = {NULL};
    cli_group groups[] = {CLI_GROUP("Cache", cache_options, &settings), CLI_REPORT_GROUP(&settings.report)};
    cli_usage usage = {.command = "cache",
                       .summary = "list, check and trim the kernels and measured times stored on disk",
                       .synopsis = "list|show|verify|gc|clear|path [KEY] [options]",
                       .notes =
                           "  list      all stored kernels: key, size, last use, architecture, template\n"
                           "  show KEY  the source of a kernel; the first digits of its key suffice\n"
                           "  verify    read all files and remove damaged ones; reports those it cannot remove\n"
                           "  gc        remove the least recently used files until the limits hold\n"
                           "  clear     remove all kernels and measured times\n"
                           "  path      print the folder\n",
                       .groups = groups,
                       .group_count = sizeof groups / sizeof *groups,
                       .positionals = positionals,
                       .positionals_max = 2,
                       .positionals_min = 1};
    bool help;
    STN_TRY(cli_parse(&usage, argc, argv, &help, error));
    if (help) return STN_OK;
    if (settings.spare_hours > 1000000)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--spare-hours must be 0 to 1000000");
    stn_logger logger = cli_logger(&settings.report);
    stn_cache_options options = {.dir = settings.dir,
                                 .shared = settings.shared,
                                 .logger = &logger,
                                 .max_bytes = settings.max_bytes,
                                 .max_files = settings.max_files};
    stn_cache *cache;
    STN_TRY(stn_cache_open(&options, &cache, error));
    stn_status status = dispatch(cache, &settings, positionals, error);
    stn_cache_close(cache);
    return status;
}
