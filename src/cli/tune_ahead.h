/* Kernels of a list's problems, compiled by a thread while those of the problems before are
 * measured: into the cache folder, by a context of its own, so that the GPU sees nothing of it. */
#ifndef STN_CLI_TUNE_AHEAD_H
#define STN_CLI_TUNE_AHEAD_H
#include "cli/problem_list.h"
#include "cli/settings.h"
#include "tune/tuner.h"

typedef struct cli_tune_ahead cli_tune_ahead;

/* problems: in the order in which they are measured; all borrowed until the end. NULL: nothing is
 * compiled ahead, as there is no folder to keep it in, no GPU, or no memory. */
cli_tune_ahead *cli_tune_ahead_begin(const cli_listed_problem *const *problems, size_t count, stn_context *context,
                                     const cli_device_settings *device, const stn_plan_options *options,
                                     const tune_order *order);
/* Until the kernels of problem number i are there. NULL is fine, as it is below. */
void cli_tune_ahead_wait(cli_tune_ahead *ahead, size_t i);
/* May wait for the problem that is under way. */
void cli_tune_ahead_end(cli_tune_ahead *ahead);
#endif
