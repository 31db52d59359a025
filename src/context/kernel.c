/* From a template and its parameters to a loaded kernel.
 *
 * A kernel has two keys (cache/FORMAT.md): the source key leaves out the compiler, the full key
 * includes its identity. The identity is read from NVRTC's file, so that neither key waits for
 * NVRTC to start, which takes tens of milliseconds. The kernel is looked for in
 *
 *     memory  by the source key
 *     packs   by the source key; the last pack is a part of the library
 *     disk    by the full key
 *
 * and else compiled, under a lock of its key, after looking on the disk again. Without a working
 * NVRTC, the disk is searched by the source key, for an entry of any compiler, and then packs for
 * entries of older architectures, whose PTX the driver translates. An entry that the driver refuses
 * is rejected, and the search goes on. */
#include "context/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/error.h"
#include "context/context.h"

typedef struct request {
    stn_context *context;
    const char *name, *params;
    stn_key source;           /* the source key */
    double seconds;           /* of compiling; 0: it was stored */
    stn_compile_batch *batch; /* records the kernel if it is missing; NULL: it is compiled now */
    stn_kernel *placeholder;  /* of a kernel that the batch recorded; returned in its place */
    bool only_compile;        /* the kernel is loaded later */
    const atomic_bool *cancel;
} request;

/* ---- keys ------------------------------------------------------------------------------------ */

/* The full key; compiler NULL: the source key. */
static void make_key(const request *want, int sm, const char *compiler, stn_key *key) {
    stn_key_builder builder;
    char arch[16];
    stn_key_begin(&builder);
    stn_key_add_text(&builder, "kernel", want->name);
    stn_key_add(&builder, "templates", want->context->templates_key.bytes, sizeof want->context->templates_key.bytes);
    stn_key_add_text(&builder, "params", want->params);
    for (size_t i = 0; i < stn_compile_option_count; i++) stn_key_add_text(&builder, "option", stn_compile_options[i]);
    snprintf(arch, sizeof arch, "sm_%d", sm);
    stn_key_add_text(&builder, "arch", arch);
    stn_key_add_text(&builder, "made", "PTX, and cubin where the compiler knows the arch");
    if (compiler) stn_key_add_text(&builder, "compiler", compiler);
    stn_key_finish(&builder, key);
    /* Kernels of all compilers lie in one subfolder of the cache. */
    if (compiler) key->bytes[0] = want->source.bytes[0];
}

/* An entry's metadata. compiler: "NVRTC 13.0, BUILD". */
static void print_metadata(stn_text *text, const char *name, const char *arch, const char *compiler) {
    stn_text_printf(text, "kernel: %s\narch: %s\nlibrary: stentor %s\ncompiler: %s\noptions:", name, arch,
                    stn_version(), compiler);
    for (size_t i = 0; i < stn_compile_option_count; i++) stn_text_printf(text, " %s", stn_compile_options[i]);
    stn_text_append(text, "\n", 2);
}

stn_status stn_kernel_verify(const stn_context *context, const stn_key *key, const stn_entry *entry, stn_error *error) {
    char name[128], arch[16], compiler[256];
    stn_key made;
    stn_text text = STN_TEXT_EMPTY;
    int sm = 0;
    (void)stn_entry_field(entry, "kernel", name, sizeof name);
    (void)stn_entry_field(entry, "arch", arch, sizeof arch);
    (void)stn_entry_field(entry, "compiler", compiler, sizeof compiler);
    print_metadata(&text, name, arch, compiler);
    const bool failed = text.failed, same = !failed && !strcmp(text.data, entry->metadata);
    stn_text_clear(&text);
    if (failed) return stn_fail_memory(error, "the metadata of a kernel", sizeof compiler);
    if (!same || sscanf(arch, "sm_%d", &sm) != 1)
        return stn_fail(error, STN_ERROR_FORMAT,
                        "its metadata (kernel %.60s) are not as this library's version and options make them: build it "
                        "anew",
                        name);
    request want = {.context = (stn_context *)(uintptr_t)context, .name = name, .params = entry->params};
    make_key(&want, sm, NULL, &want.source);
    if (memcmp(&want.source, stn_entry_source(key, entry), sizeof made))
        return stn_fail(
            error, STN_ERROR_FORMAT,
            "its kernel (%.60s), arch (%.16s) and parameters are not those of its key: they were changed, or other "
            "templates made it; build it anew",
            name, arch);
    const char *identity = strstr(compiler, ", ");
    make_key(&want, sm, identity ? identity + 2 : "", &made);
    if (!memcmp(&made, key, sizeof made)) return STN_OK;
    return stn_fail(error, STN_ERROR_FORMAT,
                    "its compiler (%.100s) is not that of its key: it was changed; build it anew", compiler);
}

/* ---- from an entry to a kernel --------------------------------------------------------------- */

/* Loads the cubin; where there is none or the driver refuses it, the PTX, whose machine code the
 * driver keeps in a cache of its own. Does nothing without a present GPU. */
static stn_status load(stn_context *context, stn_kernel *kernel, stn_error *error) {
    stn_device *device = context->device;
    if (!device) return STN_OK;
    const double begin = stn_clock_seconds();
    stn_status status = STN_ERROR_DRIVER;
    if (kernel->cubin) status = stn_module_load(device, kernel->cubin, kernel->name, &kernel->module, error);
    if (status == STN_ERROR_DRIVER && kernel->ptx)
        status = stn_module_load(device, kernel->ptx, kernel->name, &kernel->module, error);
    stn_cache_count(context->cache, 0, stn_clock_seconds() - begin, false);
    return status;
}

/* A kernel without code; NULL when out of memory. */
static stn_kernel *new_kernel(const request *want) {
    stn_kernel *made = calloc(1, sizeof *made);
    if (made && (made->name = strdup(want->name)) && (made->params = strdup(want->params))) return made;
    stn_kernel_free(made);
    return NULL;
}

static bool is_made(const stn_kernel *kernel) { return kernel->ptx || kernel->cubin; }

/* Gives the code of an entry to the kernel, unless the kernel cannot be loaded, and clears the
 * entry. */
static stn_status use_entry(const request *want, stn_entry *entry, stn_kernel *kernel, stn_error *error) {
    kernel->ptx = entry->ptx;
    kernel->cubin = entry->cubin, kernel->cubin_size = entry->cubin_size;
    kernel->seconds = want->seconds;
    entry->ptx = NULL, entry->cubin = NULL;
    stn_entry_clear(entry);
    stn_status status = is_made(kernel) ? STN_OK : stn_fail(error, STN_ERROR_DRIVER, "a stored kernel is empty");
    if (status == STN_OK && !want->only_compile) status = load(want->context, kernel, error);
    if (status == STN_OK) return STN_OK;
    free(kernel->ptx), free(kernel->cubin);
    kernel->ptx = NULL, kernel->cubin = NULL;
    return status;
}

/* As use_entry, if an entry was found. An entry that the driver refuses is rejected. Without a
 * usable entry the kernel stays without code, and the result is STN_OK: only a lack of memory or of
 * a working device is a failure. */
static stn_status use_found(const request *want, bool found, const stn_key *key, stn_entry *entry, stn_kernel *kernel,
                            stn_error *error) {
    if (!found) return STN_OK;
    stn_error why = {0};
    stn_status status = use_entry(want, entry, kernel, &why);
    if (status == STN_OK) return STN_OK;
    if (status != STN_ERROR_DRIVER) return stn_fail(error, status, "%s", why.message);
    const bool warns = stn_cache_reject(want->context->cache, key);
    stn_log(&want->context->logger, warns ? STN_LOG_WARNING : STN_LOG_INFO, "a stored kernel (%s) is dropped: %s",
            want->name, why.message);
    return STN_OK;
}

/* ---- compiling ------------------------------------------------------------------------------- */

/* All headers, with the rendered params.cuh in place of the default one. */
static stn_template *headers_for(const request *want, size_t *count) {
    const stn_templates *templates = &want->context->templates;
    stn_template *headers = calloc(templates->count + 1, sizeof *headers);
    *count = 0;
    if (!headers) return NULL;
    for (size_t i = 0; i < templates->count; i++) {
        const stn_template *item = &templates->list[i];
        size_t length = strlen(item->name);
        if (length > 4 && !strcmp(item->name + length - 4, ".cuh") && strcmp(item->name, "params.cuh"))
            headers[(*count)++] = *item;
    }
    headers[(*count)++] = (stn_template){"params.cuh", want->params, strlen(want->params)};
    return headers;
}

static stn_status describe_entry(const request *want, const stn_compiler *compiler, stn_entry *entry,
                                 stn_error *error) {
    stn_text text = STN_TEXT_EMPTY;
    char made_by[256];
    snprintf(made_by, sizeof made_by, "NVRTC %s, %s", stn_compiler_version(compiler), stn_compiler_identity(compiler));
    print_metadata(&text, want->name, want->context->machine.arch, made_by);
    STN_TRY(stn_text_take(&text, &entry->metadata, error));
    entry->params = strdup(want->params);
    return entry->params ? STN_OK : stn_fail_memory(error, "a kernel's parameters", strlen(want->params));
}

static bool is_cancelled(const request *want) { return want->cancel && atomic_load(want->cancel); }

/* Compiles the kernel and stores it, unless that is cancelled; the caller clears the entry. */
static stn_status compile(request *want, stn_compiler *compiler, const stn_key *key, stn_entry *entry,
                          stn_error *error) {
    stn_context *context = want->context;
    const stn_template *source = stn_templates_kernel(&context->templates, want->name);
    if (!source)
        return stn_fail(error, STN_ERROR_INTERNAL, "there is no kernel template %s.cu: please report this", want->name);
    stn_compile_request job = {.name = source->name,
                               .source = source->text,
                               .options = stn_compile_options,
                               .option_count = stn_compile_option_count,
                               .sm = context->machine.sm,
                               .cancel = want->cancel};
    stn_template *headers = headers_for(want, &job.header_count);
    if (!headers) return stn_fail_memory(error, "a list of headers", context->templates.count * sizeof *headers);
    job.headers = headers;
    stn_compile_output output;
    stn_status status = stn_compile(compiler, &job, &output, error);
    free(headers);
    if (status != STN_OK) return is_cancelled(want) ? STN_OK : status;
    stn_cache_count(context->cache, output.seconds, 0, false);
    want->seconds = output.seconds;
    *entry = (stn_entry){.ptx = output.ptx,
                         .ptx_size = output.ptx_size,
                         .cubin = output.cubin,
                         .cubin_size = output.cubin_size,
                         .source = want->source};
    status = describe_entry(want, compiler, entry, error);
    if (status == STN_OK)
        stn_cache_store(context->cache, key, entry);
    else
        stn_entry_clear(entry);
    return status;
}

/* One process at a time compiles a kernel; a process that waited for the lock finds it stored. */
static stn_status compile_once(request *want, stn_compiler *compiler, stn_kernel *kernel, stn_error *error) {
    stn_key key;
    stn_entry entry = {0};
    make_key(want, want->context->machine.sm, stn_compiler_identity(compiler), &key);
    const int lock = stn_cache_lock_key(want->context->cache, &key);
    bool found = stn_cache_find(want->context->cache, &key, &entry);
    stn_status status = use_found(want, found, &key, &entry, kernel, error);
    if (status == STN_OK && !is_made(kernel) && !is_cancelled(want))
        status = compile(want, compiler, &key, &entry, error);
    stn_folder_close(lock);
    if (status == STN_OK && entry.metadata) status = use_entry(want, &entry, kernel, error);
    return status;
}

/* ---- the search ------------------------------------------------------------------------------ */

/* Without a compiler: entries of any compiler on the disk, then entries of packs for older
 * architectures. */
static stn_status find_without_compiler(const request *want, stn_kernel *kernel, stn_error *error) {
    static const int older[] = {120, 110, 103, 100, 90, 89, 87, 86, 80, 75};
    stn_cache *cache = want->context->cache;
    stn_entry entry = {0};
    stn_key newest;
    bool found = stn_cache_find_source(cache, &want->source, &newest, &entry);
    STN_TRY(use_found(want, found, &newest, &entry, kernel, error));
    for (size_t i = 0; i < sizeof older / sizeof *older && !is_made(kernel); i++) {
        stn_key key;
        if (older[i] >= want->context->machine.sm) continue;
        make_key(want, older[i], NULL, &key);
        found = stn_cache_find_pack(cache, &key, &entry);
        STN_TRY(use_found(want, found, &key, &entry, kernel, error));
    }
    return STN_OK;
}

static stn_status find_stored(const request *want, stn_kernel *kernel, stn_error *error) {
    stn_cache *cache = want->context->cache;
    stn_entry entry = {0};
    bool found = stn_cache_find_pack(cache, &want->source, &entry);
    STN_TRY(use_found(want, found, &want->source, &entry, kernel, error));
    const char *identity = stn_context_compiler_identity(want->context);
    if (is_made(kernel) || !*identity) return STN_OK;
    stn_key key;
    make_key(want, want->context->machine.sm, identity, &key);
    found = stn_cache_find(cache, &key, &entry);
    return use_found(want, found, &key, &entry, kernel, error);
}

/* Adds the kernel to the batch, if there is one; true where a placeholder takes its place. When out
 * of memory, or where the batch is full, the kernel is compiled now. */
static bool add_missing(request *want) {
    stn_compile_batch *batch = want->batch;
    for (size_t i = 0; batch && i < batch->count && !want->placeholder; i++)
        if (!strcmp(batch->missing[i]->name, want->name) && !strcmp(batch->missing[i]->params, want->params))
            want->placeholder = batch->missing[i];
    if (!batch || want->placeholder || batch->count == STN_COMPILE_BATCH_MAX) return want->placeholder;
    want->placeholder = new_kernel(want);
    if (want->placeholder) batch->missing[batch->count++] = want->placeholder;
    return want->placeholder;
}

/* Leaves the kernel without code where it is only recorded in the batch, or compiling is
 * cancelled. */
static stn_status make(request *want, stn_kernel *kernel, stn_error *error) {
    stn_compiler *compiler;
    stn_error missing = {0};
    STN_TRY(find_stored(want, kernel, error));
    if (is_made(kernel)) return STN_OK;
    /* If there is a compiler, the thread that compiles the batch opens it. */
    if (*stn_context_compiler_identity(want->context) && add_missing(want)) return STN_OK;
    stn_status status = stn_context_compiler(want->context, &compiler, &missing);
    if (status == STN_OK) return add_missing(want) ? STN_OK : compile_once(want, compiler, kernel, error);
    if (status == STN_ERROR_NO_COMPILER) STN_TRY(find_without_compiler(want, kernel, error));
    return is_made(kernel) ? STN_OK : stn_fail(error, status, "%s", missing.message);
}

/* *kernel is NULL where it is only recorded in the batch, or making it is cancelled. */
static stn_status get(request *want, stn_kernel **kernel, bool *hit, stn_error *error) {
    stn_kernel_memory *memory = &want->context->kernels;
    stn_status status = STN_OK;
    stn_kernel *mine = new_kernel(want);
    *kernel = NULL;
    if (!mine) return stn_fail_memory(error, "a kernel", sizeof *mine);
    make_key(want, want->context->machine.sm, NULL, &want->source);
    mine->key = want->source;
    /* Recording a batch does not wait for another thread that compiles the kernel. */
    stn_kernel_found found = stn_kernel_memory_find(memory, mine, !want->batch, kernel);
    if (found == STN_KERNEL_PENDING && !add_missing(want)) found = stn_kernel_memory_find(memory, mine, true, kernel);
    *hit = found == STN_KERNEL_READY;
    if (found == STN_KERNEL_ABSENT) {
        status = make(want, mine, error);
        *kernel = status == STN_OK && is_made(mine) ? mine : NULL;
        stn_kernel_memory_end(memory, mine, *kernel);
    }
    if (*kernel != mine) stn_kernel_free(mine);
    return status;
}

stn_status stn_kernel_compile(stn_context *context, const stn_kernel *missing, const atomic_bool *cancel,
                              stn_error *error) {
    request want = {
        .context = context, .name = missing->name, .params = missing->params, .only_compile = true, .cancel = cancel};
    stn_kernel *kernel;
    bool hit;
    STN_TRY(get(&want, &kernel, &hit, error));
    if (!kernel) return stn_fail(error, STN_ERROR_INTERNAL, "the compile of the kernel was cancelled");
    /* The next stn_kernel_get of the kernel is then not counted as a hit, since the kernel was
     * compiled for it. */
    if (!hit) kernel->precompiled = true;
    stn_kernel_memory_release(&context->kernels, kernel);
    return STN_OK;
}

/* ---- sets ------------------------------------------------------------------------------------ */

/* Kernels that no plan holds stay loaded for later plans. When there are MAX_KEPT of them, the
 * least recently released are unloaded until MIN_KEPT remain. Unloading waits for all work on the
 * GPU, so it is done for many kernels at once. In an endurance test each plan added 0.26 MB of
 * memory, so MAX_KEPT kernels take about 67 MB; MIN_KEPT are enough for three full compile
 * batches. */
enum { MAX_KEPT = 256, MIN_KEPT = 192 };

/* Adds the kernel to the set, which takes over the caller's hold; a second hold of a kernel that is
 * listed is released. Without memory for the list, the kernel stays loaded until the context is
 * destroyed. */
static void hold(stn_kernel_set *set, stn_kernel *kernel) {
    for (size_t i = 0; i < set->count; i++)
        if (set->list[i] == kernel) {
            stn_kernel_memory_release(&set->context->kernels, kernel);
            return;
        }
    stn_kernel **list = realloc(set->list, (set->count + 1) * sizeof *list);
    if (!list) return;
    set->list = list;
    set->list[set->count++] = kernel;
}

void stn_kernel_set_clear(stn_kernel_set *set) {
    for (size_t i = 0; i < set->count; i++) stn_kernel_memory_release(&set->context->kernels, set->list[i]);
    free(set->list);
    set->list = NULL, set->count = 0;
}

/* ---- public ---------------------------------------------------------------------------------- */

stn_status stn_kernel_get(stn_kernel_set *set, const char *name, const char *params, stn_kernel **kernel,
                          stn_error *error) {
    stn_context *context = set->context;
    *kernel = NULL;
    if (!context->machine.is_device)
        return stn_fail(error, STN_ERROR_INTERNAL, "the kernel %s was asked for on the host: please report this", name);
    request want = {.context = context, .name = name, .params = params, .batch = set->batch};
    stn_kernel *found;
    bool hit;
    STN_TRY(get(&want, &found, &hit, error));
    *kernel = want.placeholder; /* takes the place of a kernel that is missing */
    if (!found) return STN_OK;
    hold(set, found);
    stn_status status = STN_OK;
    /* A kernel that was compiled ahead is not loaded yet, and several threads may ask for it. */
    pthread_mutex_lock(&context->lock);
    if (!found->module) status = load(context, found, error);
    pthread_mutex_unlock(&context->lock);
    if (status != STN_OK) return status;
    *kernel = found;
    if (hit && !atomic_exchange(&found->precompiled, false))
        stn_cache_count(context->cache, 0, 0, true);
    else if (context->kernels.unheld >= MAX_KEPT && stn_context_wait(context, NULL) == STN_OK)
        /* During a stream capture neither this wait nor loading a kernel is allowed. */
        stn_kernel_memory_trim(&context->kernels, MIN_KEPT);
    return STN_OK;
}

int64_t stn_kernel_resident(const stn_kernel *kernel, int multiprocessors, int threads, size_t shared) {
    if (!kernel->module) return 1;
    return multiprocessors * stn_max(stn_module_occupancy(kernel->module, threads, shared), 1);
}

stn_status stn_kernel_make(stn_kernel_set *set, const char *name, stn_text *params, size_t shared, stn_kernel **kernel,
                           stn_error *error) {
    char *text;
    stn_kernel *found = NULL;
    stn_params_int(params, "EXPECTED_SHARED", (int64_t)shared);
    STN_TRY(stn_text_take(params, &text, error));
    stn_status status = stn_kernel_get(set, name, text, &found, error);
    stn_text_free(text);
    if (status == STN_OK && found && found->module && shared)
        status = stn_module_allow_shared(found->module, shared, error);
    if (status == STN_OK) *kernel = found;
    return status;
}
