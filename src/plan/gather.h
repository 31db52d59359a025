/* Kernels of one plan, compiled at once. Preparing a plan asks for one kernel after the other, and each that is stored nowhere takes
 * NVRTC a tenth of a second to two. So a plan is prepared twice where any is missing:
 *
 *     gather: prepare with what is stored; what is missing is listed, a stand-in without a module takes its place
 *     compile all that is listed, each on a thread of its own
 *     prepare again: all are in memory
 *
 * In a hurry: each is compiled without much optimising, in a half to a seventh of the time, for a kernel that is several times slower. A
 * kernel that is stored as it should be serves there too.
 *
 * A plan all of whose kernels are stored is prepared once. Between begin and end only the calling thread gathers. The room
 * `context` has these functions. */
#ifndef STN_PLAN_GATHER_H
#define STN_PLAN_GATHER_H
#include <stdbool.h>
#include <stddef.h>

#include "stentor.h"

typedef struct stn_gather stn_gather;

/* Is no kernel stored at all yet, in any process's folder or a pack? */
bool stn_gather_finds_none(const stn_context *context);
/* The calling thread's next kernels of this context; NULL where there is no memory: then they are compiled as they come. */
stn_gather *stn_gather_begin(stn_context *context);
/* Only to learn what is missing: tables can wait. As soon as compiling it takes longer than that, and in a hurry longer than that, kernels
 * are refused, so that whoever prepares gives up. */
void stn_gather_limit(stn_gather *gather, double seconds, double hurried);
/* Does compiling what is listed take longer than both? */
bool stn_gather_exceeds(const stn_gather *gather);
/* Does the calling thread gather, and something is missing already, or it only looks? Then the plan that it prepares is thrown away:
 * tables can wait. */
bool stn_gather_misses(stn_context *context);
/* The thread compiles again; how many kernels are missing. NULL: none. */
size_t stn_gather_end(stn_gather *gather);
/* Seconds that compiling them will take on this machine, by context/compile_cost.h; INFINITY in a hurry where the compiler knows none. */
double stn_gather_seconds(const stn_gather *gather, bool hurried);
/* The keys of a kernel that was missing: by these it is found without asking for it. */
typedef struct stn_missing {
    unsigned char source[32], key[32];
    bool any; /* false: none was */
} stn_missing;
/* Of the first that is missing. */
stn_missing stn_gather_first(const stn_gather *gather);
/* Is it stored by now? */
bool stn_missing_stored(stn_context *context, const stn_missing *missing);
/* Of what is gathered next, a kernel that was compiled in a hurry serves where it is stored. No compiler is opened for it. */
void stn_gather_stored_hurry(stn_gather *gather);
/* From now on in a hurry; false where the compiler knows none. */
bool stn_gather_hurry(stn_gather *gather);
/* What was gathered is compiled: the thread's next kernels come from there, and what is missing then is compiled as it comes. Until
 * stn_gather_end. Only what was compiled in a hurry needs this. */
void stn_gather_again(stn_gather *gather);
/* Compiles and loads them; may be called from another thread than began. What fails will fail again, with its story, when the
 * plan is prepared. */
void stn_gather_compile(stn_gather *gather);
/* Only compiles them, until it is done, one fails (the error is its), or another thread cancels: the device sees nothing of it. */
stn_status stn_gather_compile_apart(stn_gather *gather, stn_error *error);
void stn_gather_cancel(stn_gather *gather);
/* Another thread compiles them, and the gather is its own; NULL where there is none, and the gather is still the caller's. What asks for a kernel
 * meanwhile waits for it. It begins after so many seconds, less than one. */
typedef struct stn_ahead stn_ahead;
stn_ahead *stn_gather_compile_ahead(stn_gather *gather, double wait);
/* Where it has not begun, it never will. NULL is fine. */
void stn_ahead_skip(stn_ahead *ahead);
/* Nobody waits for them any more; the same, and all is over. NULL is fine. */
void stn_ahead_cancel(stn_ahead *ahead);
void stn_ahead_end(stn_ahead *ahead);
/* It ends, and the gather is the caller's again. */
void stn_ahead_stop(stn_ahead *ahead);
/* Stand-ins go: no plan may have any of them. NULL is fine. */
void stn_gather_free(stn_gather *gather);
#endif
