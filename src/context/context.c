/* Accessors of the context, and the libraries that it opens on first use. */
#include "context/context.h"

#include "base/error.h"

int stn_context_is_device(const stn_context *context) { return context && context->machine.is_device; }

#define STANDARD_THREADS 16 /* typical of a workstation */

void stn_context_machine_copy(const stn_context *context, bool standard, stn_machine *machine) {
    *machine = context->machine;
    if (!standard || machine->is_device) return;
    stn_machine_of_host(STANDARD_THREADS, machine);
    machine->searches = context->machine.searches;
}

void stn_context_cache_stats(stn_context *context, stn_cache_stats *stats) {
    if (!stats) return;
    *stats = (stn_cache_stats){0};
    if (context) stn_cache_stats_get(context->cache, stats);
}

/* Opens context->member on first use and copies it to *library. If `open` returns the status
 * `absent`, there is no such library: its error is kept in `why_not`, and later calls do not try
 * again. Other failures, such as a lack of memory, may be temporary: the next call tries again. */
#define OPEN_ONCE(library, member, why_not, absent, open)                                                              \
    stn_error why = {0};                                                                                               \
    pthread_mutex_lock(&context->lock);                                                                                \
    if (context->member || context->why_not.status)                                                                    \
        why = context->why_not;                                                                                        \
    else if ((open) == (absent))                                                                                       \
        context->why_not = why;                                                                                        \
    *(library) = context->member;                                                                                      \
    pthread_mutex_unlock(&context->lock);                                                                              \
    return *(library) ? STN_OK : stn_fail(error, why.status, "%s", why.message)

stn_status stn_context_compiler(stn_context *context, stn_compiler **compiler, stn_error *error) {
    OPEN_ONCE(compiler, compiler, no_compiler, STN_ERROR_NO_COMPILER,
              stn_compiler_open(&context->logger, &context->compiler, &why));
}

stn_status stn_context_cufft(stn_context *context, stn_cufft **cufft, stn_error *error) {
    OPEN_ONCE(cufft, cufft, no_cufft, STN_ERROR_UNSUPPORTED, stn_cufft_open(&context->logger, &context->cufft, &why));
}

stn_status stn_context_cublas(stn_context *context, stn_cublas **cublas, stn_error *error) {
    OPEN_ONCE(cublas, cublas, no_cublas, STN_ERROR_UNSUPPORTED,
              stn_cublas_open(&context->logger, context->device, &context->cublas, &why));
}

const char *stn_context_compiler_identity(stn_context *context) {
    pthread_mutex_lock(&context->lock);
    if (!context->looked && !context->compiler && !stn_compiler_locate(&context->located))
        context->located.identity[0] = '\0';
    context->looked = true;
    const char *identity = context->compiler             ? stn_compiler_identity(context->compiler)
                           : context->no_compiler.status ? ""
                                                         : context->located.identity;
    pthread_mutex_unlock(&context->lock);
    return identity;
}

stn_status stn_context_pool(stn_context *context, stn_pool **pool, stn_error *error) {
    stn_status status = STN_OK;
    /* An existing pool is read without the lock: in a forked child the lock stays held forever if
     * another thread of the parent held it at the fork. */
    *pool = context->pool;
    if (*pool) return STN_OK;
    pthread_mutex_lock(&context->lock);
    *pool = context->pool;
    if (!*pool) status = stn_pool_create(context->threads, pool, error);
    context->pool = *pool;
    pthread_mutex_unlock(&context->lock);
    return status;
}
