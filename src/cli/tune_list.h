/* stentor tune over a list of problems, in one process: for seeds, and for benches. */
#ifndef STN_CLI_TUNE_LIST_H
#define STN_CLI_TUNE_LIST_H
#include "cli/settings.h"

typedef struct cli_tune_list {
    const char *problems; /* a file of problem_list.h's form */
    const char *seeds;    /* the fastest of each problem go there; NULL: nowhere */
    double limit;         /* seconds, after which no further problem begins; 0: none */
    double within;        /* tune_order's */
    bool again;           /* then by MEASURE, which knows nothing of what was measured: told as one more */
} cli_tune_list;

/* Tells of each problem as soon as it is measured: a line, or with --json an object on a line of
 * its own: what the plan tells, and "label", "again", "estimated" (what ESTIMATE would choose),
 * "waited_seconds" (for kernels) and "measuring_seconds". Problems come in an order that spreads
 * over the list, so that a limit leaves gaps rather than an end. A problem that cannot be measured
 * is told, and is no error. */
stn_status cli_tune_list_run(const cli_tune_list *order, const cli_device_settings *device,
                             const cli_report_settings *report, stn_error *error);
#endif
