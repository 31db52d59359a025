/* Describing a context: the device, the driver and the libraries that were found, and how to get
 * those that are missing. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "compile/library.h"
#include "context/context.h"

/* What both formats report, and the context does not store. */
typedef struct finding {
    char driver[32];
    const stn_compiler *nvrtc; /* NULL: see nvrtc_problem */
    stn_error nvrtc_problem;
    char cufft[PATH_MAX], cublas[PATH_MAX]; /* paths; "" where it was not found */
} finding;

/* Accepts a path to a file of the right kind without opening it, since opening cuBLAS takes a
 * second. A name without a path is opened by the loader. */
static bool take_library(void *user, const char *path) {
    char build[160];
    void *opened = NULL;
    bool file = strchr(path, '/') != NULL;
    bool good =
        file ? stn_library_build(path, build, sizeof build) : (opened = dlopen(path, RTLD_LAZY | RTLD_LOCAL)) != NULL;
    if (opened) dlclose(opened);
    if (good) snprintf(user, PATH_MAX, "%s", path);
    return good;
}

static void look(stn_context *context, finding *f) {
    stn_compiler *nvrtc;
    memset(f, 0, sizeof *f);
    if (context->driver) {
        int version = stn_driver_version(context->driver);
        snprintf(f->driver, sizeof f->driver, "%d.%d", version / 1000, version % 1000 / 10);
    }
    if (stn_context_compiler(context, &nvrtc, &f->nvrtc_problem) == STN_OK) f->nvrtc = nvrtc;
    (void)stn_library_search(&stn_library_cufft, take_library, f->cufft);
    (void)stn_library_search(&stn_library_cublas, take_library, f->cublas);
}

/* ---- text ------------------------------------------------------------------------------------ */

static void text_size(stn_text *text, const char *name, size_t bytes) {
    if (bytes >= (size_t)10 << 30)
        stn_text_printf(text, "             %s %.0f GiB\n", name, (double)bytes / 0x1p30);
    else if (bytes)
        stn_text_printf(text, "             %s %.1f MiB\n", name, (double)bytes / 0x1p20);
}

static void text_device(const stn_context *context, stn_text *text) {
    const stn_machine *machine = &context->machine;
    if (!machine->is_device)
        stn_text_printf(text, "device       host: %s, %d threads\n", machine->name, machine->threads);
    else
        stn_text_printf(text, "device       %s%s: %s, %d multiprocessors\n", machine->arch,
                        machine->present ? "" : " (not here; nothing can run)", machine->name,
                        machine->multiprocessors);
    text_size(text, "memory", machine->memory_bytes);
    text_size(text, "L2 cache", machine->l2_bytes);
    stn_text_printf(text, "             copies %.0f GB/s, read and write (%s)\n", machine->copy_bandwidth / 1e9,
                    machine->measured ? "measured" : "assumed");
    if (*context->no_device) stn_text_printf(text, "             no GPU: %s\n", context->no_device);
}

static void text_library(const stn_library_spec *spec, const char *path, stn_text *text) {
    stn_text_printf(text, "%-12s ", spec->name);
    if (*path)
        stn_text_printf(text, "%s\n", path);
    else {
        stn_text_printf(text, "not found: ");
        stn_library_advice(spec, text);
        stn_text_printf(text, "\n");
    }
}

static void write_text(const stn_context *context, const finding *f, stn_text *text) {
    stn_text_printf(text, "stentor      %s\n", stn_version());
    text_device(context, text);
    if (context->driver)
        stn_text_printf(text, "driver       CUDA %s, %d GPU(s): %s\n", f->driver,
                        stn_driver_device_count(context->driver), stn_driver_path(context->driver));
    else
        stn_text_printf(text, "driver       not open\n");
    if (f->nvrtc)
        stn_text_printf(text, "NVRTC        %s, up to sm_%d: %s\n", stn_compiler_version(f->nvrtc),
                        stn_compiler_newest_sm(f->nvrtc), stn_compiler_path(f->nvrtc));
    else
        stn_text_printf(text, "NVRTC        not found: %s\n", f->nvrtc_problem.message);
    text_library(&stn_library_cufft, f->cufft, text);
    text_library(&stn_library_cublas, f->cublas, text);
    const char *folder = context->cache->folder.path, *problem = stn_cache_dir_problem(context->cache);
    stn_text_printf(text, "cache        %s\n", folder ? folder : "in memory only");
    if (problem) stn_text_printf(text, "             %s\n", problem);
    stn_text_printf(text, "needed       a GPU of sm_%d, a driver of CUDA %d.0 and NVRTC %d.0, each or newer\n",
                    STN_OLDEST_SM, STN_OLDEST_DRIVER / 1000, STN_OLDEST_NVRTC);
    if (context->templates.from_disk) stn_text_printf(text, "templates    from $STENTOR_TEMPLATE_DIR\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* An empty text is null. */
static void json_text(stn_text *text, const char *key, const char *value) {
    stn_json_text(text, key, value && *value ? value : NULL);
}

static void json_device(const stn_context *context, stn_text *text) {
    const stn_machine *machine = &context->machine;
    stn_json_open(text, "device", "{");
    json_text(text, "kind", context->device ? "cuda" : machine->is_device ? "absent" : "host");
    json_text(text, "name", machine->name);
    json_text(text, "arch", machine->arch);
    if (context->device) json_text(text, "uuid", stn_device_uuid(context->device));
    stn_json_value(text, machine->is_device ? "multiprocessors" : "threads",
                   machine->is_device ? machine->multiprocessors : machine->threads);
    stn_json_value(text, "memory_bytes", (double)machine->memory_bytes);
    stn_json_value(text, "l2_bytes", (double)machine->l2_bytes);
    stn_json_value(text, "copy_bandwidth", machine->copy_bandwidth);
    stn_json_flag(text, "copy_bandwidth_measured", machine->measured);
    stn_text_printf(text, "}");
    json_text(text, "no_device", context->no_device);
}

static void json_library(const stn_library_spec *spec, const char *key, const char *path, stn_text *text) {
    stn_text advice = STN_TEXT_EMPTY;
    if (!*path) stn_library_advice(spec, &advice);
    stn_json_open(text, key, "{");
    json_text(text, "path", path);
    json_text(text, "problem", advice.data);
    stn_text_printf(text, "}");
    stn_text_clear(&advice);
}

static void json_compiler(const finding *f, stn_text *text) {
    stn_json_open(text, "nvrtc", "{");
    json_text(text, "path", f->nvrtc ? stn_compiler_path(f->nvrtc) : NULL);
    json_text(text, "version", f->nvrtc ? stn_compiler_version(f->nvrtc) : NULL);
    json_text(text, "identity", f->nvrtc ? stn_compiler_identity(f->nvrtc) : NULL);
    if (f->nvrtc) stn_json_value(text, "newest_sm", stn_compiler_newest_sm(f->nvrtc));
    json_text(text, "problem", f->nvrtc ? NULL : f->nvrtc_problem.message);
    stn_text_printf(text, "}");
}

static void write_json(const stn_context *context, const finding *f, stn_text *text) {
    stn_text_printf(text, "{");
    json_text(text, "version", stn_version());
    json_device(context, text);
    stn_json_key(text, "driver");
    if (context->driver) {
        stn_text_printf(text, "{");
        json_text(text, "version", f->driver);
        json_text(text, "path", stn_driver_path(context->driver));
        stn_json_value(text, "devices", stn_driver_device_count(context->driver));
        stn_text_printf(text, "}");
    } else
        stn_json_string(text, NULL);
    json_compiler(f, text);
    stn_json_open(text, "needed", "{");
    stn_json_value(text, "sm", STN_OLDEST_SM);
    stn_json_value(text, "driver", STN_OLDEST_DRIVER);
    stn_json_value(text, "nvrtc", STN_OLDEST_NVRTC);
    stn_text_printf(text, "}");
    json_library(&stn_library_cufft, "cufft", f->cufft, text);
    json_library(&stn_library_cublas, "cublas", f->cublas, text);
    stn_json_open(text, "cache", "{");
    json_text(text, "dir", context->cache->folder.path);
    json_text(text, "problem", stn_cache_dir_problem(context->cache));
    stn_text_printf(text, "}");
    json_text(text, "templates", context->templates.from_disk ? "folder" : "embedded");
    stn_text_printf(text, "}");
}

stn_status stn_describe_check(const char *needs, const void *what, stn_format format, char **result, stn_error *error) {
    if (!what || !result) return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s and a place for the text", needs);
    *result = NULL;
    if (format == STN_TEXT || format == STN_JSON) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the format %d is neither STN_TEXT nor STN_JSON", (int)format);
}

stn_status stn_context_describe(stn_context *context, stn_format format, char **result, stn_error *error) {
    finding f;
    stn_text text = STN_TEXT_EMPTY;
    STN_TRY(stn_describe_check("stn_context_describe needs a context", context, format, result, error));
    look(context, &f);
    if (format == STN_JSON)
        write_json(context, &f, &text);
    else
        write_text(context, &f, &text);
    return stn_text_take(&text, result, error);
}
