/* stentor doctor: reports what was found on this machine, and what is missing. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/shared_options.h"
#include "context/context.h"
#include "team/mpi.h"
#include "team/nccl.h"
#include "team/team.h"

/* One of the GPUs other than the first: its name, the bandwidth at which the first reads its
 * memory, and the seconds of an exchange of halos that are too short for the bandwidth to
 * matter. */
static void print_gpu(const stn_team *team, int number, const stn_error *why, stn_text *json) {
    const char *const name = team ? stn_team_context(team, 1)->machine.name : NULL;
    if (!json && team)
        printf("GPU %-9d %s, GPU 0 reads its memory at %.4g GB/s, an exchange takes %.3g us: --devices 0,%d\n", number,
               name, 1e-9 * team->link_bandwidth, 1e6 * team->latency, number);
    else if (!json)
        printf("GPU %-9d cannot be used: %s\n", number, why->message);
    if (!json) return;
    stn_text_append(json, number > 1 ? ", {" : "{", number > 1 ? 3 : 1);
    stn_json_key(json, "number"), stn_text_printf(json, "%d", number);
    stn_json_key(json, "name"), stn_json_string(json, name);
    stn_json_key(json, "link_bandwidth"), stn_json_number(json, team ? team->link_bandwidth : 0);
    stn_json_key(json, "exchange_seconds"), stn_json_number(json, team ? team->latency : 0);
    stn_json_key(json, "problem"), stn_json_string(json, team ? NULL : why->message);
    stn_text_append(json, "}", 1);
}

/* The GPUs other than the first, as text, or as members of a JSON array. */
static stn_status print_gpus(const cli_device_settings *device, const cli_report_settings *report,
                             const stn_context *context, stn_text *json, stn_error *error) {
    const int count = context->driver ? stn_driver_device_count(context->driver) : 0;
    stn_context_options options;
    if (count < 2) return STN_OK;
    STN_TRY(cli_context_options(device, report, &options, error));
    for (int i = 1; i < count; i++) {
        stn_team *team = NULL;
        stn_error why;
        (void)stn_team_create(&options, 2, (int[]){STN_DEVICE_CUDA(0), STN_DEVICE_CUDA(i)}, &team, &why);
        print_gpu(team, i, &why, json);
        stn_team_destroy(team);
    }
    return STN_OK;
}

/* NCCL, as a line of text or as a member of a JSON object. */
static void print_nccl(stn_text *json) {
    char path[512] = "", version[32] = "";
    int number = 0;
    stn_error why;
    const bool found = team_nccl_find(path, sizeof path, &number, &why) == STN_OK;
    if (found) snprintf(version, sizeof version, "%d.%d.%d", number / 10000, number / 100 % 100, number % 100);
    if (!json) {
        printf("NCCL         %s%s%s\n", found ? version : why.message, found ? ": " : "", path);
        return;
    }
    stn_json_key(json, "nccl"), stn_text_printf(json, "{");
    stn_json_key(json, "path"), stn_json_string(json, found ? path : NULL);
    stn_json_key(json, "version"), stn_json_string(json, found ? version : NULL);
    stn_json_key(json, "problem"), stn_json_string(json, found ? NULL : why.message);
    stn_text_printf(json, "}");
}

/* The context's words, and those of other GPUs, of MPI and of NCCL, which no context has. gpus:
 * members of a JSON array. */
static void print_findings(const char *text, bool json, const stn_text *gpus) {
    char path[512], version[512];
    stn_text words = STN_TEXT_EMPTY;
    const bool found = stn_mpi_find(path, sizeof path, version, sizeof version);
    if (!json) {
        printf("%s", text);
        if (found)
            printf("MPI          %s: %s\n", version, path);
        else
            printf("MPI          not found: %s\n", stn_mpi_advice());
        print_nccl(NULL);
        return;
    }
    stn_text_append(&words, text, strlen(text) - 1); /* without the last brace */
    stn_json_key(&words, "other_gpus"), stn_text_printf(&words, "[%s]", gpus->data ? gpus->data : "");
    stn_json_key(&words, "mpi"), stn_text_printf(&words, "{");
    stn_json_key(&words, "path"), stn_json_string(&words, found ? path : NULL);
    stn_json_key(&words, "version"), stn_json_string(&words, found ? version : NULL);
    stn_json_key(&words, "problem"), stn_json_string(&words, found ? NULL : stn_mpi_advice());
    stn_text_append(&words, "}", 1);
    print_nccl(&words);
    printf("%.*s}\n", (int)words.size, words.data ? words.data : "");
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
    /* Reports a GPU that cannot copy, too. */
    if (stn_context_measure_bandwidth(context, &why) != STN_OK)
        fprintf(stderr, "stentor: the copy bandwidth could not be measured: %s\n", why.message);
    stn_status status = stn_context_describe(context, report.json ? STN_JSON : STN_TEXT, &text, error);
    stn_text gpus = STN_TEXT_EMPTY;
    if (status == STN_OK && !report.quiet && report.json) status = print_gpus(&device, &report, context, &gpus, error);
    if (status == STN_OK && !report.quiet) print_findings(text, report.json, &gpus);
    if (status == STN_OK && !report.quiet && !report.json) status = print_gpus(&device, &report, context, NULL, error);
    stn_text_clear(&gpus);
    stn_text_free(text);
    stn_context_destroy(context);
    return status;
}
