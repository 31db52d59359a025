/* stentor doctor: what was found on this machine, and what is missing. */
#include <stdio.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/settings.h"
#include "context/context.h"

stn_status cmd_doctor(int argc, char **argv, stn_error *error) {
    cli_device_settings device = {0};
    cli_report_settings report = {0};
    cli_group groups[] = {CLI_DEVICE_GROUP(&device), CLI_REPORT_GROUP(&report)};
    cli_usage usage = {.command = "doctor",
                       .summary = "show what was found on this machine, what is missing, and how to get it",
                       .synopsis = "[options]",
                       .notes =
                           "A GPU's copy bandwidth is measured and remembered in the cache folder: later plans are "
                           "chosen by it.\n",
                       .groups = groups,
                       .group_count = sizeof groups / sizeof *groups};
    bool help;
    STN_TRY(cli_parse(&usage, argc, argv, &help, error));
    if (help) return STN_OK;
    stn_context *context = NULL;
    char *text = NULL;
    STN_TRY(cli_open_context(&device, &report, &context, error));
    stn_error why;
    if (stn_context_measure(context, &why) != STN_OK) /* a GPU that cannot even copy: all the more to be told about */
        fprintf(stderr, "stentor: the copy bandwidth could not be measured: %s\n", why.message);
    stn_status status = stn_context_describe(context, report.json ? STN_JSON : STN_TEXT, &text, error);
    if (status == STN_OK && !report.quiet) printf("%s%s", text, report.json ? "\n" : "");
    stn_text_free(text);
    stn_context_destroy(context);
    return status;
}
