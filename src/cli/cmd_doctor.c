/* stentor doctor: reports what was found on this machine, and what is missing. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "context/context.h"
#include "team/mpi.h"

/* With several GPUs, prints each one's name and the bandwidth at which the first reads its
 * memory. */
static stn_status print_gpus(const cli_device_settings *device, const cli_report_settings *report,
                             const stn_context *context, stn_error *error) {
    const int count = context->driver ? stn_driver_device_count(context->driver) : 0;
    stn_context_options options;
    if (count < 2) return STN_OK;
    STN_TRY(cli_context_options(device, report, &options, error));
    for (int i = 1; i < count; i++) {
        stn_team *team = NULL;
        stn_error why;
        if (stn_team_create(&options, 2, (int[]){STN_DEVICE_CUDA(0), STN_DEVICE_CUDA(i)}, &team, &why) == STN_OK)
            printf("GPU %-9d %s, GPU 0 reads its memory at %.4g GB/s: --devices 0,%d\n", i,
                   stn_team_context(team, 1)->machine.name, 1e-9 * stn_team_link_bandwidth(team), i);
        else
            printf("GPU %-9d cannot be used: %s\n", i, why.message);
        stn_team_destroy(team);
    }
    return STN_OK;
}

/* The context's words, and MPI's, which no context has. */
static void print_findings(const char *text, bool json) {
    char path[512], version[512];
    stn_text words = STN_TEXT_EMPTY;
    const bool found = stn_mpi_find(path, sizeof path, version, sizeof version);
    if (!json) {
        printf("%s", text);
        if (found)
            printf("MPI          %s: %s\n", version, path);
        else
            printf("MPI          not found: %s\n", stn_mpi_advice());
        return;
    }
    stn_text_append(&words, text, strlen(text) - 1); /* without the last brace */
    stn_json_key(&words, "mpi"), stn_text_printf(&words, "{");
    stn_json_key(&words, "path"), stn_json_string(&words, found ? path : NULL);
    stn_json_key(&words, "version"), stn_json_string(&words, found ? version : NULL);
    stn_json_key(&words, "problem"), stn_json_string(&words, found ? NULL : stn_mpi_advice());
    printf("%.*s}}\n", (int)words.size, words.data ? words.data : "");
    stn_text_clear(&words);
}

stn_status cmd_doctor(int argc, char **argv, stn_error *error) {
    cli_device_settings device = {0};
    cli_report_settings report = {0};
    cli_group groups[] = {CLI_DEVICE_GROUP(&device), CLI_REPORT_GROUP(&report)};
    cli_usage usage = {
        .command = "doctor",
        .summary = "report what was found on this machine, what is missing, and how to get it",
        .synopsis = "[options]",
        .notes = "The GPU's copy bandwidth is measured and stored in the cache folder; plans depend on it.\n",
        .groups = groups,
        .group_count = sizeof groups / sizeof *groups};
    bool help;
    STN_TRY(cli_parse(&usage, argc, argv, &help, error));
    if (help) return STN_OK;
    stn_context *context = NULL;
    char *text = NULL;
    STN_TRY(cli_open_context(&device, &report, &context, error));
    stn_error why;
    if (stn_context_measure(context, &why) != STN_OK) /* report a GPU that cannot copy, too */
        fprintf(stderr, "stentor: the copy bandwidth could not be measured: %s\n", why.message);
    stn_status status = stn_context_describe(context, report.json ? STN_JSON : STN_TEXT, &text, error);
    if (status == STN_OK && !report.quiet) print_findings(text, report.json);
    if (status == STN_OK && !report.quiet && !report.json) status = print_gpus(&device, &report, context, error);
    stn_text_free(text);
    stn_context_destroy(context);
    return status;
}
