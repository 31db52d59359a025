/* See kernel_load.h. */
#include "context/kernel_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/error.h"
#include "context/context.h"

/* The key of the cubin that the driver makes of an entry's PTX: the PTX's inputs, the driver, and
 * the architecture of the device. */
static stn_status translation_key(const stn_context *context, const stn_entry *from, stn_key *key, stn_error *error) {
    stn_key_builder *builder;
    char driver[16];
    STN_TRY(stn_key_begin(&builder, error));
    snprintf(driver, sizeof driver, "%d", stn_driver_version(context->driver));
    stn_key_add(builder, "translation of", from->source.bytes, sizeof from->source.bytes);
    stn_key_add_text(builder, "made by", from->metadata ? from->metadata : "");
    stn_key_add_text(builder, "driver", driver);
    stn_key_add_text(builder, "arch", context->machine.arch);
    stn_key_finish(builder, key);
    return STN_OK;
}

static void store_translation(stn_context *context, const stn_kernel *kernel, const stn_entry *from, const stn_key *key,
                              stn_entry *translated) {
    stn_text text = STN_TEXT_EMPTY;
    char arch[16];
    int version = stn_driver_version(context->driver);
    (void)stn_entry_field(from, "arch", arch, sizeof arch);
    stn_text_printf(&text, "kernel: %s\narch: %s\nlibrary: stentor %s\ncompiler: driver, CUDA %d.%d, from PTX for %s\n",
                    kernel->name, context->machine.arch, stn_version(), version / 1000, version % 1000 / 10, arch);
    translated->params = strdup(kernel->params);
    if (stn_text_take(&text, &translated->metadata, NULL) == STN_OK && translated->params)
        stn_cache_store(context->cache, key, translated);
}

/* The driver's compiler takes as long as NVRTC, so its cubin is stored too. Where that fails, the
 * driver loads the PTX directly, and says why if it cannot. */
static stn_status load_ptx(stn_context *context, const stn_entry *from, stn_kernel *kernel, stn_error *error) {
    stn_device *device = context->device;
    stn_entry kept = {0};
    stn_key key;
    STN_TRY(translation_key(context, from, &key, error));
    if (stn_cache_find(context->cache, &key, &kept) != STN_CACHE_NONE) {
        bool loaded = kept.cubin && stn_module_load(device, kept.cubin, kernel->name, &kernel->module, NULL) == STN_OK;
        stn_entry_clear(&kept);
        if (loaded) return STN_OK;
        stn_cache_reject(context->cache, &key);
    }
    if (stn_device_translate(device, kernel->ptx, &kept.cubin, &kept.cubin_size, NULL) == STN_OK &&
        stn_module_load(device, kept.cubin, kernel->name, &kernel->module, NULL) == STN_OK)
        store_translation(context, kernel, from, &key, &kept);
    stn_entry_clear(&kept);
    return kernel->module ? STN_OK : stn_module_load(device, kernel->ptx, kernel->name, &kernel->module, error);
}

/* Loads the cubin; where there is none or the driver refuses it, the PTX. */
stn_status stn_kernel_load(stn_context *context, const stn_entry *from, stn_kernel *kernel, stn_error *error) {
    stn_device *device = context->device;
    if (!device) return STN_OK; /* the GPU is not present */
    double begin = stn_clock_seconds();
    stn_status status = STN_ERROR_DRIVER;
    if (kernel->cubin) status = stn_module_load(device, kernel->cubin, kernel->name, &kernel->module, error);
    if (status == STN_ERROR_DRIVER && kernel->ptx) status = load_ptx(context, from, kernel, error);
    stn_cache_count(context->cache, 0, stn_clock_seconds() - begin, false);
    return status;
}

int64_t stn_kernel_resident(const stn_kernel *kernel, int multiprocessors, int threads, size_t shared) {
    if (!kernel->module) return 1;
    return multiprocessors * stn_max(stn_module_occupancy(kernel->module, threads, shared), 1);
}

/* Keeps the parts of an entry that stn_kernel_load_deferred needs. */
stn_status stn_kernel_defer_load(const stn_entry *entry, stn_kernel *kernel, stn_error *error) {
    stn_entry *kept = kernel->unloaded = calloc(1, sizeof *kept);
    if (!kept || (entry->metadata && !(kept->metadata = strdup(entry->metadata))))
        return stn_fail_memory(error, "a kernel", sizeof *kept);
    kept->source = entry->source;
    return STN_OK;
}

/* Under the context's lock, since several threads may ask for the same kernel. */
stn_status stn_kernel_load_deferred(stn_context *context, stn_kernel *kernel, stn_error *error) {
    stn_status status = STN_OK;
    pthread_mutex_lock(&context->lock);
    if (kernel->unloaded && (status = stn_kernel_load(context, kernel->unloaded, kernel, error)) == STN_OK) {
        stn_entry_clear(kernel->unloaded);
        free(kernel->unloaded);
        kernel->unloaded = NULL;
    }
    pthread_mutex_unlock(&context->lock);
    return status;
}
