/* stentor wisdom: exports, imports, merges, lists and forgets measured times. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sanitize.h"
#include "base/text.h"
#include "cache/wisdom.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "context/context.h"
#include "io/output.h"

typedef struct wisdom_settings {
    cli_device_settings device;
    cli_report_settings report;
    const char *out;
    bool all;
} wisdom_settings;

static const cli_option wisdom_options[] = {
    {"--cache-dir", "DIR", CLI_TEXT, offsetof(wisdom_settings, device.cache_dir),
     "the folder (default $STENTOR_CACHE_DIR, $XDG_CACHE_HOME/stentor,\n~/.cache/stentor)"},
    {"--cache-shared", NULL, CLI_FLAG, offsetof(wisdom_settings, device.cache_shared),
     "accept a folder that others own or may write, or a symlink"},
    {"--out", "FILE", CLI_TEXT, offsetof(wisdom_settings, out), "export, merge: write here (default: standard output)"},
    {"--all", NULL, CLI_FLAG, offsetof(wisdom_settings, all), "forget: all measurements"},
};

/* Checks that a file's text is wisdom, so that an error names the file. */
static stn_status check_text(const char *path, const char *text, size_t size, stn_error *error) {
    stn_wisdom wisdom;
    stn_error why = {0};
    stn_status status = stn_wisdom_parse(text, size, &wisdom, &why);
    stn_wisdom_clear(&wisdom);
    return status == STN_OK ? STN_OK : stn_fail(error, status, "'%s': %s", path, why.message);
}

/* On failure *text may be set; the caller frees it. */
static stn_status read_file(const char *path, char **text, size_t *size, stn_error *error) {
    FILE *file = fopen(path, "rbe");
    stn_text read = STN_TEXT_EMPTY;
    char part[4096];
    size_t got;
    if (!file) return stn_fail(error, STN_ERROR_IO, "'%s' cannot be opened: %s", path, strerror(errno));
    while ((got = fread(part, 1, sizeof part, file)) > 0 && read.size <= STN_WISDOM_BYTES)
        stn_text_append(&read, part, got);
    const bool bad = ferror(file) != 0;
    const int why = errno;
    fclose(file);
    *size = read.size;
    if (bad) {
        stn_text_clear(&read);
        return stn_fail(error, STN_ERROR_IO, "'%s' cannot be read: %s", path, strerror(why));
    }
    STN_TRY(stn_text_take(&read, text, error));
    return check_text(path, *text, *size, error);
}

static stn_status write_text(const wisdom_settings *settings, const char *text, stn_error *error) {
    if (settings->out) return stn_output_write(settings->out, text, strlen(text), error);
    fputs(text, stdout);
    return STN_OK;
}

static stn_status export(stn_context *context, const wisdom_settings *settings, stn_error *error) {
    char *text;
    STN_TRY(stn_wisdom_export(context, &text, error));
    stn_status status = write_text(settings, text, error);
    stn_text_free(text);
    return status;
}

static stn_status import(stn_context *context, const wisdom_settings *settings, const char *path, stn_error *error) {
    char *text = NULL, *report = NULL;
    size_t size;
    stn_status status = read_file(path, &text, &size, error);
    if (status == STN_OK) status = stn_wisdom_import(context, text, size, &report, error);
    stn_text_free(text);
    if (report) stn_text_sanitize(report);
    if (status == STN_OK && !settings->report.quiet) fputs(report, stdout);
    stn_text_free(report);
    return status;
}

static stn_status merge(const wisdom_settings *settings, const char *const *positionals, stn_error *error) {
    char *text[2] = {NULL}, *merged = NULL;
    size_t size[2];
    stn_status status = STN_OK;
    for (int i = 0; i < 2; i++) STN_TRY_GOTO(status, read_file(positionals[i], &text[i], &size[i], error), done);
    STN_TRY_GOTO(status, stn_wisdom_merge(text[0], size[0], text[1], size[1], &merged, error), done);
    status = write_text(settings, merged, error);
done:
    for (int i = 0; i < 2; i++) stn_text_free(text[i]);
    stn_text_free(merged);
    return status;
}

/* Prints an entry: the problem's key, number of candidates, device, problem. */
static void list_one(const char *entry, const char *end, bool json, stn_text *text) {
    const char *problem, *device, *key = stn_wisdom_problem(entry);
    const int problem_size = (int)stn_wisdom_line(entry, end, "problem: ", &problem),
              device_size = (int)stn_wisdom_line(entry, end, "device: ", &device);
    size_t candidates = 0;
    for (const char *at = entry; (at = strstr(at, "\ncandidate: ")) && at < end; at++) candidates++;
    if (!json) {
        stn_text_printf(text, "%.16s  %3zu candidates, %.*s, %.*s\n", key, candidates, device_size, device,
                        problem_size, problem);
        return;
    }
    char *lines = strndup(entry, (size_t)(end - entry));
    stn_json_comma(text);
    stn_text_printf(text, "{\"key\":\"%.64s\",\"candidates\":%zu", key, candidates);
    stn_json_key(text, "measured"), stn_json_string(text, lines);
    stn_text_printf(text, "}");
    text->failed |= !lines;
    free(lines);
}

static stn_status list(stn_context *context, const wisdom_settings *settings, stn_error *error) {
    stn_text text = STN_TEXT_EMPTY;
    stn_wisdom wisdom;
    struct stat seen;
    char *data;
    const bool json = settings->report.json;
    STN_TRY(stn_wisdom_read(&context->cache->folder, &wisdom, &seen, error));
    if (json) stn_text_printf(&text, "[");
    for (size_t i = 0; i < wisdom.count; i++) list_one(wisdom.entry[i], wisdom.entry[i + 1], json, &text);
    if (json) stn_text_printf(&text, "]\n");
    stn_wisdom_clear(&wisdom);
    STN_TRY(stn_text_take(&text, &data, error));
    if (!settings->report.quiet) fputs(data, stdout);
    stn_text_free(data);
    return STN_OK;
}

static stn_status forget(stn_context *context, const wisdom_settings *settings, const char *key, stn_error *error) {
    if (settings->all == (key != NULL))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "wisdom forget needs a KEY, which 'stentor wisdom list' prints, or --all");
    return stn_wisdom_forget(context, key, error);
}

static stn_status dispatch(stn_context *context, const wisdom_settings *settings, const char *const *positionals,
                           stn_error *error) {
    static const struct {
        const char *name;
        int least, most; /* arguments after the name */
    } commands[] = {{"export", 0, 0}, {"list", 0, 0}, {"import", 1, 1}, {"merge", 2, 2}, {"forget", 0, 1}};
    const int given = positionals[1] ? positionals[2] ? 2 : 1 : 0;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strcmp(positionals[0], commands[i].name) != 0) continue;
        if (given < commands[i].least || given > commands[i].most)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "'wisdom %s' takes %d files or keys but got %d",
                            positionals[0], commands[i].most, given);
        if (settings->report.json && i != 1)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "'wisdom %s' has nothing to say in JSON: leave --json out", positionals[0]);
        return i == 0   ? export(context, settings, error)
               : i == 1 ? list(context, settings, error)
               : i == 2 ? import(context, settings, positionals[1], error)
               : i == 3 ? merge(settings, positionals + 1, error)
                        : forget(context, settings, positionals[1], error);
    }
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "there is no 'wisdom %s': give export, import, merge, list or forget", positionals[0]);
}

stn_status cmd_wisdom(int argc, char **argv, stn_error *error) {
    wisdom_settings settings = {.device.device = "host"}; /* works on files: no GPU is opened */
    const char *positionals[4] = {NULL};
    cli_group groups[] = {CLI_GROUP("Wisdom", wisdom_options, &settings), CLI_REPORT_GROUP(&settings.report)};
    cli_usage usage = {.command = "wisdom",
                       .summary = "measured times of candidates, as a text that can be copied between machines",
                       .synopsis = "export|import FILE|merge FILE FILE|list|forget KEY [options]",
                       .notes =
                           "  export    all measurements of this folder as one text\n"
                           "  import    adds the entries of such a text; reports skipped entries and why\n"
                           "  merge     merges two such texts\n"
                           "  list      all measured problems\n"
                           "  forget    deletes an entry, by the first digits of its key, or --all\n",
                       .groups = groups,
                       .group_count = sizeof groups / sizeof *groups,
                       .positionals = positionals,
                       .positionals_max = 3,
                       .positionals_min = 1};
    bool help;
    stn_context *context;
    STN_TRY(cli_parse(&usage, argc, argv, &help, error));
    if (help) return STN_OK;
    STN_TRY(cli_open_context(&settings.device, &settings.report, &context, error));
    stn_status status = dispatch(context, &settings, positionals, error);
    stn_context_destroy(context);
    return status;
}
