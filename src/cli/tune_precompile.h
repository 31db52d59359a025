/* Background compilation for `stentor tune --problems`: a thread compiles the kernels of the next
 * problems into the cache folder while earlier ones are measured. Its own context does not use the
 * GPU. */
#ifndef STN_CLI_TUNE_PRECOMPILE_H
#define STN_CLI_TUNE_PRECOMPILE_H
#include "cli/problem_list.h"
#include "cli/shared_options.h"
#include "tune/tuner.h"

typedef struct cli_tune_precompile cli_tune_precompile;

/* problems: in the order of measurement; all arguments are borrowed until the end. NULL: nothing is
 * compiled ahead, for lack of a cache folder, a GPU, or memory. */
cli_tune_precompile *cli_tune_precompile_begin(const cli_listed_problem *const *problems, size_t count,
                                               stn_context *context, const cli_device_settings *device,
                                               const stn_plan_options *options, const tune_request *order);
/* Waits until the kernels of problem i are compiled. If `ahead` is NULL, this and the next function
 * do nothing. */
void cli_tune_precompile_wait(cli_tune_precompile *ahead, size_t i);
/* Ends the thread; may wait for the problem being compiled. */
void cli_tune_precompile_end(cli_tune_precompile *ahead);
#endif
