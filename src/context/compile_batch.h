/* A compile batch: the kernels that a plan lacks, compiled at once on several threads.
 *
 * A strategy's `prepare` asks for one kernel after the other, and NVRTC takes 0.1 to 2 seconds for
 * each one that is not in the cache. So a plan that lacks kernels is prepared twice:
 *
 *     begin     the calling thread's requests for kernels are recorded from now on
 *     prepare   a stored kernel is loaded; a missing one is added to the batch, and a placeholder
 *               without a module is returned in its place
 *     end
 *     try       compiles all kernels of the batch in parallel
 *     prepare   once more: all kernels are in the cache now
 *
 * A plan all of whose kernels are stored is prepared once. */
#ifndef STN_CONTEXT_COMPILE_BATCH_H
#define STN_CONTEXT_COMPILE_BATCH_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "stentor.h"

typedef struct stn_compile_batch stn_compile_batch;

enum { STN_COMPILE_BATCH_MAX = 64 }; /* kernels in a batch */

/* Records the kernels of this context that the calling thread asks for and that are stored nowhere,
 * until the batch is ended. NULL when out of memory: then each kernel is compiled when it is asked
 * for. */
stn_compile_batch *stn_compile_batch_begin(stn_context *context);
/* Does the calling thread record a batch that already lacks a kernel? Then the plan that it
 * prepares is discarded, and tables need not be computed for it. */
bool stn_compile_batch_misses(stn_context *context);
/* Stops recording; returns the number of missing kernels. NULL: 0. */
size_t stn_compile_batch_end(stn_compile_batch *batch);
/* The number of missing kernels so far. */
size_t stn_compile_batch_count(const stn_compile_batch *batch);
/* Predicted seconds of compiling the batch on this machine, by context/compile_cost.h. */
double stn_compile_batch_seconds(const stn_compile_batch *batch);
/* Compiles all kernels of the batch into the cache, until one fails, whose error is returned, or
 * another thread cancels the batch. Any thread may call it. A kernel that does not compile fails
 * again when the plan is prepared. */
stn_status stn_compile_batch_try(stn_compile_batch *batch, stn_error *error);
/* NULL is fine. */
void stn_compile_batch_cancel(stn_compile_batch *batch);
/* Frees the batch and its placeholders, which no plan may still use. NULL is fine. */
void stn_compile_batch_free(stn_compile_batch *batch);

/* The same for several batches together, each distinct kernel once. Any batch may be NULL. */
void stn_compile_batches_run(stn_context *context, stn_compile_batch *const *batches, size_t count);
/* Did a kernel of the batch fail to compile? Then *error says why. */
bool stn_compile_batch_failed(const stn_compile_batch *batch, stn_error *error);

/* A background compile: another thread runs stn_compile_batch_try on the batch, which it owns. A
 * thread that asks for one of its kernels meanwhile waits for that kernel. */
typedef struct stn_background_compile stn_background_compile;
/* NULL when no thread could be started; the batch then still belongs to the caller. */
stn_background_compile *stn_compile_batch_start(stn_compile_batch *batch);
/* Waits for the end of the compile, and gives the batch back; NULL is fine. */
stn_compile_batch *stn_background_compile_wait(stn_background_compile *background);
/* Cancels the batch, waits for the thread to end, and frees the batch. NULL is fine. */
void stn_background_compile_end(stn_background_compile *background);

/* ---- for kernel.c, which fills the batch ----------------------------------------------------- */

typedef struct stn_missing_kernel {
    char *name, *params; /* owned by the placeholder */
    void *placeholder;
} stn_missing_kernel;

/* How the kernels of a batch are compiled, and their placeholders freed. */
typedef struct stn_compile_batch_calls {
    stn_status (*compile)(stn_context *context, const char *name, const char *params, const atomic_bool *cancel,
                          stn_error *error);
    void (*free_placeholder)(void *placeholder);
} stn_compile_batch_calls;

/* The batch that the calling thread records on this context; NULL: none. */
stn_compile_batch *stn_compile_batch_current(stn_context *context);
/* The placeholder of a kernel that is in the batch; NULL: it is not. */
void *stn_compile_batch_find(const stn_compile_batch *batch, const char *name, const char *params);
/* Adds a kernel. False where the batch is full. */
bool stn_compile_batch_add(stn_compile_batch *batch, const stn_missing_kernel *kernel,
                           const stn_compile_batch_calls *calls);
#endif
