/* Kernels of one plan, compiled at once. Preparing a plan asks for one kernel after the other, and
 * each that is stored nowhere takes NVRTC a tenth of a second to two. So a plan is prepared twice
 * where any is missing:
 *
 *     gather: prepare with what is stored; what is missing is listed, a stand-in without a module takes its place
 *     compile all that is listed, each on a thread of its own
 *     prepare again: all are in memory
 *
 * A plan all of whose kernels are stored is prepared once. Between begin and end only the calling
 * thread gathers. The room `context` has these functions. */
#ifndef STN_PLAN_GATHER_H
#define STN_PLAN_GATHER_H
#include <stdbool.h>
#include <stddef.h>

#include "stentor.h"

typedef struct stn_gather stn_gather;

/* The calling thread's next kernels of this context; NULL where there is no memory: then they are
 * compiled as they come. */
stn_gather *stn_gather_begin(stn_context *context);
/* Does the calling thread gather, and is something missing already? Then the plan that it prepares
 * is thrown away: tables can wait. */
bool stn_gather_misses(stn_context *context);
/* The thread compiles again; how many kernels are missing. NULL: none. */
size_t stn_gather_end(stn_gather *gather);
/* Predicted seconds of compiling them on this machine, by context/compile_cost.h. */
double stn_gather_seconds(const stn_gather *gather);
/* Compiles and loads them; may be called from another thread than began. What fails will fail
 * again, with its story, when the plan is prepared. */
void stn_gather_compile(stn_gather *gather);
/* Only compiles them, until it is done, one fails (the error is its), or another thread cancels:
 * the device sees nothing of it. */
stn_status stn_gather_compile_apart(stn_gather *gather, stn_error *error);
void stn_gather_cancel(stn_gather *gather);
/* Another thread compiles them, and the gather is its own; NULL where there is none, and the gather
 * is still the caller's. Whoever asks for a kernel meanwhile waits for it. */
typedef struct stn_ahead stn_ahead;
stn_ahead *stn_gather_compile_ahead(stn_gather *gather);
/* Waits until all are compiled or one has failed, and frees the gather. NULL is fine. */
void stn_ahead_wait(stn_ahead *ahead);
/* Cancels what is not compiled yet, waits for the thread to end, and frees the gather. NULL is
 * fine. */
void stn_ahead_end(stn_ahead *ahead);
/* Cancels likewise, and the gather is the caller's again. */
void stn_ahead_stop(stn_ahead *ahead);
/* Stand-ins go: no plan may have any of them. NULL is fine. */
void stn_gather_free(stn_gather *gather);
#endif
