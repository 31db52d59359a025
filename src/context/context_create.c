/* Creating and destroying a context: its options, the choice of the device, and its parts. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "base/versioned_struct.h"
#include "context/context.h"
#include "context/kernel.h"
#include "context/search_cache.h"

/* ---- options --------------------------------------------------------------------------------- */

static stn_status read_options(const stn_context_options *given, stn_context_options *options, stn_error *error) {
    STN_TRY(stn_read_versioned_struct(&stn_layout_context_options, given, options, error));
    if (options->device < STN_DEVICE_HOST)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "there is no device %d: use STN_DEVICE_AUTO, STN_DEVICE_HOST or STN_DEVICE_CUDA(n)",
                        options->device);
    if (options->threads < 0)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%d threads were asked for: use 0 for all, or a number",
                        options->threads);
    if (options->arch && options->device == STN_DEVICE_HOST)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "the arch %s is given, but the device is the host: leave one of them out", options->arch);
    if (!options->pack_data != !options->pack_size)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "a pack in memory needs both pack_data and pack_size");
    return STN_OK;
}

/* ---- device ---------------------------------------------------------------------------------- */

/* With an empty cache, the first plan will compile kernels. So NVRTC is opened and warmed up, which
 * takes some hundredths of a second, while the driver sets up the device, which takes longer. */
static void *warm(void *user) {
    stn_context *context = user;
    stn_compiler *compiler;
    if (stn_context_compiler(context, &compiler, NULL) == STN_OK) stn_compiler_warm(compiler);
    return NULL;
}

/* GPU `ordinal`, or with -1 the first that opens. */
static stn_status open_gpu(stn_context *context, int ordinal, stn_error *error) {
    STN_TRY(stn_driver_open(&context->logger, &context->driver, error));
    int first = ordinal < 0 ? 0 : ordinal, count = stn_driver_device_count(context->driver);
    pthread_t warming;
    const bool warms = stn_cache_is_empty(context->cache) && !stn_thread_start(&warming, warm, context);
    stn_status status = stn_device_open(context->driver, first, &context->device, error);
    /* The error of the first device is kept. */
    for (int i = 1; ordinal < 0 && status != STN_OK && i < count; i++)
        status = stn_device_open(context->driver, i, &context->device, NULL);
    if (warms) pthread_join(warming, NULL);
    if (status == STN_OK)
        stn_device_describe(context->device, &context->machine);
    else {
        stn_driver_close(context->driver);
        context->driver = NULL;
    }
    return status;
}

static stn_status choose_device(stn_context *context, const stn_context_options *options, stn_error *error) {
    if (options->arch) {
        if (!stn_machine_for_arch(options->arch, &context->machine))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "\"%.40s\" is no GPU architecture: write it as sm_80, sm_90, sm_100", options->arch);
        if (context->machine.sm >= STN_OLDEST_SM) return STN_OK;
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "\"%.40s\" is older than sm_%d, the oldest architecture that kernels are written for",
                        options->arch, STN_OLDEST_SM);
    }
    if (options->device > STN_DEVICE_AUTO) return open_gpu(context, options->device - STN_DEVICE_CUDA(0), error);
    if (options->device == STN_DEVICE_AUTO) {
        stn_error why = {0};
        if (open_gpu(context, -1, &why) == STN_OK) return STN_OK;
        snprintf(context->no_device, sizeof context->no_device, "%s", why.message);
        stn_log(&context->logger, STN_LOG_INFO, "running on the host: %s", why.message);
    }
    stn_machine_of_host(context->threads, &context->machine);
    return STN_OK;
}

/* ---- creation and destruction ---------------------------------------------------------------- */

static void hash_templates(stn_context *context) {
    stn_key_builder builder;
    if (!context->templates.from_disk) {
        memcpy(context->templates_key.bytes, stn_embedded_templates_key, sizeof context->templates_key.bytes);
        return;
    }
    stn_key_begin(&builder);
    for (size_t i = 0; i < context->templates.count; i++) {
        const stn_template *item = &context->templates.list[i];
        stn_key_add_text(&builder, "template", item->name);
        stn_key_add(&builder, "text", item->text, item->size);
    }
    stn_key_finish(&builder, &context->templates_key);
}

static stn_status open_parts(stn_context *context, const stn_context_options *options, stn_error *error) {
    const stn_cache_options cache = {.dir = options->cache_dir,
                                     .shared = options->cache_shared != 0,
                                     .packs = options->packs,
                                     .trust = options->trust && *options->trust ? options->trust : NULL,
                                     .pack_data = options->pack_data,
                                     .pack_size = options->pack_size,
                                     .logger = &context->logger};
    STN_TRY(stn_cache_open(&cache, &context->cache, error));
    const double begin = stn_clock_seconds();
    STN_TRY(choose_device(context, options, error));
    context->machine.searches = stn_search_cache_create();
    context->start_seconds = stn_clock_seconds() - begin;
    STN_TRY(stn_templates_load(&context->templates, error));
    hash_templates(context);
    stn_context_recall_bandwidth(context);
    return STN_OK;
}

stn_status stn_context_create(const stn_context_options *given, stn_context **context, stn_error *error) {
    if (!context)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_context_create needs a place for the context");
    *context = NULL;
    stn_context_options options;
    STN_TRY(read_options(given, &options, error));
    stn_context *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "a context", sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->tuning, NULL);
    stn_kernel_memory_open(&made->kernels);
    made->logger = (stn_logger){options.log, options.log_user};
    made->threads = options.threads;
    stn_status status = open_parts(made, &options, error);
    if (status != STN_OK) {
        stn_context_destroy(made);
        return status;
    }
    const double before = stn_device_seconds(made->device);
    /* The bandwidth is measured once per GPU and driver, so only if the result can be stored. If
     * the GPU has no memory for the measurement, the assumed bandwidth stays. */
    if (made->cache->folder.path) (void)stn_context_measure_bandwidth(made, NULL);
    made->driver_seconds = stn_device_seconds(made->device) - before;
    *context = made;
    return STN_OK;
}

void stn_context_destroy(stn_context *context) {
    if (!context) return;
    stn_kernel_memory_close(&context->kernels); /* unloads modules: before the device */
    stn_cache_close(context->cache);
    stn_compiler_close(context->compiler);
    stn_cufft_close(context->cufft);
    stn_cublas_close(context->cublas); /* before the device that its handle uses */
    stn_device_close(context->device);
    stn_driver_close(context->driver);
    stn_pool_destroy(context->pool);
    stn_search_cache_destroy(context->machine.searches);
    stn_templates_free(&context->templates);
    stn_wisdom_clear(&context->wisdom);
    pthread_mutex_destroy(&context->tuning);
    pthread_mutex_destroy(&context->lock);
    free(context);
}
