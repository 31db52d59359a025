/* Accessors of the context, and the libraries that it opens on first use. */
#include "context/context.h"

#include "base/error.h"

int stn_context_is_device(const stn_context *context) { return context && context->machine.is_device; }
const stn_machine *stn_context_machine(const stn_context *context) { return &context->machine; }

#define STANDARD_THREADS 16 /* typical of a workstation */

void stn_context_machine_copy(const stn_context *context, bool standard, stn_machine *machine) {
    *machine = context->machine;
    if (!standard || machine->is_device) return;
    stn_machine_of_host(STANDARD_THREADS, machine);
    machine->found = context->machine.found;
}

void stn_context_cache_stats(stn_context *context, stn_cache_stats *stats) {
    if (!stats) return;
    *stats = (stn_cache_stats){0};
    if (context) stn_cache_stats_get(context->cache, stats);
}

stn_status stn_context_compiler(stn_context *context, stn_compiler **compiler, stn_error *error) {
    stn_error why = {0};
    pthread_mutex_lock(&context->lock);
    if (!context->compiler && !context->no_compiler.status) {
        stn_status status = stn_compiler_open(&context->logger, &context->compiler, &why);
        /* A lack of memory may be temporary. */
        if (status == STN_ERROR_NO_COMPILER) context->no_compiler = why;
    } else
        why = context->no_compiler;
    *compiler = context->compiler;
    pthread_mutex_unlock(&context->lock);
    return *compiler ? STN_OK : stn_fail(error, why.status, "%s", why.message);
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

stn_status stn_context_cufft(stn_context *context, stn_cufft **cufft, stn_error *error) {
    stn_error why = {0};
    pthread_mutex_lock(&context->lock);
    if (!context->cufft && !context->no_cufft.status) {
        stn_status status = stn_cufft_open(&context->logger, &context->cufft, &why);
        if (status == STN_ERROR_UNSUPPORTED) context->no_cufft = why;
    } else
        why = context->no_cufft;
    *cufft = context->cufft;
    pthread_mutex_unlock(&context->lock);
    return *cufft ? STN_OK : stn_fail(error, why.status, "%s", why.message);
}

stn_status stn_context_cublas(stn_context *context, stn_cublas **cublas, stn_error *error) {
    stn_error why = {0};
    pthread_mutex_lock(&context->lock);
    if (!context->cublas && !context->no_cublas.status) {
        stn_status status = stn_cublas_open(&context->logger, context->device, &context->cublas, &why);
        if (status == STN_ERROR_UNSUPPORTED) context->no_cublas = why;
    } else
        why = context->no_cublas;
    *cublas = context->cublas;
    pthread_mutex_unlock(&context->lock);
    return *cublas ? STN_OK : stn_fail(error, why.status, "%s", why.message);
}

stn_status stn_context_pool(stn_context *context, stn_pool **pool, stn_error *error) {
    stn_status status = STN_OK;
    /* Without the lock, which is held forever in a child that was forked under it. */
    *pool = context->pool;
    if (*pool) return STN_OK;
    pthread_mutex_lock(&context->lock);
    *pool = context->pool;
    if (!*pool) status = stn_pool_create(context->threads, pool, error);
    context->pool = *pool;
    pthread_mutex_unlock(&context->lock);
    return status;
}
