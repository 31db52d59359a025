/* A compile batch: the kernels that a plan lacks, compiled at once on several threads.
 *
 * A strategy's `prepare` asks for one kernel after the other, and NVRTC takes 0.1 to 2 seconds for
 * each one that is not in the cache. So a plan that lacks kernels is prepared twice:
 *
 *     prepare   with the batch in the plan's set of kernels: a stored kernel is loaded; a missing
 *               one is added to the batch, and a placeholder without a module takes its place
 *     try       compiles all kernels of the batch in parallel
 *     prepare   once more, without the batch: all kernels are in the cache now
 *
 * A plan all of whose kernels are stored is prepared once. */
#ifndef STN_CONTEXT_COMPILE_BATCH_H
#define STN_CONTEXT_COMPILE_BATCH_H
#include "context/kernel.h"

/* NULL when out of memory: then each kernel is compiled when it is asked for. */
stn_compile_batch *stn_compile_batch_create(stn_context *context);
/* Frees the batch and its placeholders, which no plan may still use. NULL has no effect. */
void stn_compile_batch_free(stn_compile_batch *batch);
/* The number of threads that compile: the context's threads where they are set, or else the
 * processors that this process may use. */
int stn_compile_threads(const stn_context *context);
/* Predicted seconds of compiling the batch on this machine. */
double stn_compile_batch_seconds(const stn_compile_batch *batch);
/* Compiles all kernels of the batch into the cache, until one fails, whose error is returned, or
 * another thread cancels the batch. Any thread may call it. A kernel that does not compile fails
 * again when the plan is prepared. */
stn_status stn_compile_batch_try(stn_compile_batch *batch, stn_error *error);
/* The same for several batches together; a kernel that several of them lack is compiled once. Any
 * batch may be NULL. */
void stn_compile_batches_run(stn_context *context, stn_compile_batch *const *batches, size_t count);
/* The result of a batch that was compiled: STN_OK, or the error of the kernel that failed. */
stn_status stn_compile_batch_result(const stn_compile_batch *batch, stn_error *error);
/* NULL has no effect. */
void stn_compile_batch_cancel(stn_compile_batch *batch);

/* Another thread calls stn_compile_batch_try for one batch after the other, and then sets
 * batch->finished. Batches, of which any may be NULL, are borrowed. A thread that asks for one of
 * the kernels meanwhile waits for that kernel. */
typedef struct stn_background_compile stn_background_compile;
/* NULL when no thread could be started. */
stn_background_compile *stn_background_compile_start(stn_compile_batch *const *batches, size_t count);
/* Waits for the thread to end, after cancelling all batches if `cancel` is set. NULL has no
 * effect. */
void stn_background_compile_end(stn_background_compile *background, bool cancel);
#endif
