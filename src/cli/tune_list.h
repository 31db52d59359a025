/* stentor tune --problems: measures a list of problems in one process. */
#ifndef STN_CLI_TUNE_LIST_H
#define STN_CLI_TUNE_LIST_H
#include "cli/shared_options.h"

typedef struct cli_tune_list {
    const char *problems; /* a file in the format of problem_list.h */
    double limit;         /* seconds after which no further problem is started; 0: no limit */
    double within;        /* see tune_request */
    /* afterwards, measure and print each problem again by STN_MODE_MEASURE, without known times */
    bool again;
} cli_tune_list;

/* Prints each problem as soon as it is measured: a line, or with --json an object on a line, with
 * the plan's description, "label", "again", "estimated" (the choice of STN_MODE_ESTIMATE),
 * "waited_seconds" (for kernels) and "measuring_seconds". Problems are visited in an order that
 * spreads over the list, so that a time limit leaves gaps instead of omitting its end. A problem
 * that cannot be measured is printed and is not an error. */
stn_status cli_tune_list_run(const cli_tune_list *order, const cli_device_settings *device,
                             const cli_report_settings *report, stn_error *error);
#endif
