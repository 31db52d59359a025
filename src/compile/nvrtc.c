/* Opens NVRTC: search, version check, preloading of its builtins library. */
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compile/compile_internal.h"

static bool resolve(stn_nvrtc_functions *call, void *library, const char **missing) {
    static const char *const names[] = {
#define STN_NVRTC_NAME(name, arguments) #name,
        STN_NVRTC_FUNCTION_LIST(STN_NVRTC_NAME)
#undef STN_NVRTC_NAME
            "nvrtcGetErrorString"};
    static const char *const optional[] = {"nvrtcSetFlowCallback"};
    const size_t count = sizeof names / sizeof *names;
    _Static_assert(sizeof *call == sizeof names + sizeof optional, "the table is an array of pointers");
    const char *lacking;
    (void)stn_library_resolve(library, optional, 1, &call->nvrtcSetFlowCallback, &lacking);
    return stn_library_resolve(library, names, count, call, missing);
}

static int ascending(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static bool read_archs(stn_compiler *compiler, bool *no_memory) {
    int count = 0;
    if (compiler->call.nvrtcGetNumSupportedArchs(&count) || count < 1) return false;
    compiler->archs = calloc((size_t)count, sizeof *compiler->archs);
    *no_memory = !compiler->archs;
    if (*no_memory || compiler->call.nvrtcGetSupportedArchs(compiler->archs)) return false;
    compiler->arch_count = count;
    qsort(compiler->archs, (size_t)count, sizeof *compiler->archs, ascending);
    return true;
}

/* NVRTC opens its builtins library by bare name at the first compile and has no RUNPATH, so an
 * NVRTC that was opened by its path only finds them if they are already loaded. */
static void preload_builtins(const stn_compiler *compiler) {
    char real[PATH_MAX];
    const char *const from[] = {compiler->path, realpath(compiler->path, real)};
    for (size_t i = 0; i < 2; i++) {
        const char *slash = from[i] ? strrchr(from[i], '/') : NULL;
        char file[PATH_MAX];
        if (!slash || snprintf(file, sizeof file, "%.*s/libnvrtc-builtins.so.%d.%d", (int)(slash - from[i]), from[i],
                               compiler->major, compiler->minor) >= (int)sizeof file)
            continue;
        void *library = stn_library_may_open(file) ? dlopen(file, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) : NULL;
        if (!library) continue;
        dlclose(library);
        return;
    }
}

/* The path of an opened library from the loader, else the name that was asked for. */
static char *path_of(void *library, const char *asked) {
    struct link_map *map = NULL;
    bool known = !dlinfo(library, RTLD_DI_LINKMAP, &map) && map && *map->l_name;
    return strdup(known ? map->l_name : asked);
}

/* Fills the compiler from the library at `path`; if it is unusable, appends the reason and leaves
 * the compiler empty. */
static bool try_library(stn_compiler *compiler, const char *path, stn_text *reasons, bool *no_memory) {
    void *library = stn_library_open(path, reasons);
    const char *missing = NULL;
    if (!library) return false;
    bool works = resolve(&compiler->call, library, &missing);
    if (!works)
        stn_text_printf(reasons, "%s lacks %s and is no NVRTC of 12.0 or later; ", path, missing);
    else if (compiler->call.nvrtcVersion(&compiler->major, &compiler->minor) || compiler->major < STN_OLDEST_NVRTC) {
        stn_text_printf(reasons, "%s is NVRTC %d.%d and 12.0 is needed; ", path, compiler->major, compiler->minor);
        works = false;
    } else if (!read_archs(compiler, no_memory)) {
        stn_text_printf(reasons, "%s does not list the chips that it supports; ", path);
        works = false;
    } else
        works = !(*no_memory = !(compiler->path = path_of(library, path)));
    if (works)
        preload_builtins(compiler);
    else {
        free(compiler->archs);
        compiler->archs = NULL;
    }
    dlclose(library);
    return works;
}

typedef struct opening {
    stn_compiler *compiler;
    stn_text reasons;
    bool no_memory;
} opening;

static bool try_to_open(void *user, const char *path) {
    opening *o = user;
    /* out of memory: stop the search */
    return try_library(o->compiler, path, &o->reasons, &o->no_memory) || o->no_memory;
}

stn_status stn_compiler_open(const stn_logger *logger, stn_compiler **compiler, stn_error *error) {
    *compiler = NULL;
    stn_compiler *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "the compiler", sizeof *made);
    made->logger = logger;
    opening o = {made, STN_TEXT_EMPTY, false};
    bool found = stn_library_search(&stn_library_nvrtc, try_to_open, &o);
    if (!found || o.no_memory) {
        stn_status status = found ? stn_fail_memory(error, "the compiler", sizeof *made)
                                  : stn_library_fail(&stn_library_nvrtc, &o.reasons, STN_ERROR_NO_COMPILER, error);
        stn_text_clear(&o.reasons);
        stn_compiler_close(made);
        return status;
    }
    if (o.reasons.size) stn_log(logger, STN_LOG_INFO, "while looking for NVRTC: %s", o.reasons.data);
    stn_text_clear(&o.reasons);
    char build[128];
    if (!stn_library_build(made->path, build, sizeof build)) snprintf(build, sizeof build, "unknown build");
    snprintf(made->identity, sizeof made->identity, "nvrtc %s", build);
    snprintf(made->version, sizeof made->version, "%d.%d", made->major, made->minor);
    stn_log(logger, STN_LOG_DEBUG, "opened NVRTC %s: %s, %s", made->version, made->path, made->identity);
    *compiler = made;
    return STN_OK;
}

void stn_compiler_close(stn_compiler *compiler) {
    if (!compiler) return;
    free(compiler->archs);
    free(compiler->path);
    free(compiler);
}

static bool take_place(void *user, const char *path) {
    stn_compiler_location *place = user;
    char build[128];
    if (!strchr(path, '/') || strlen(path) >= sizeof place->path || !stn_library_build(path, build, sizeof build))
        return false;
    strcpy(place->path, path);
    snprintf(place->identity, sizeof place->identity, "nvrtc %s", build);
    return true;
}

bool stn_compiler_locate(stn_compiler_location *place) {
    return stn_library_search(&stn_library_nvrtc, take_place, place);
}

const char *stn_compiler_identity(const stn_compiler *compiler) { return compiler->identity; }
const char *stn_compiler_version(const stn_compiler *compiler) { return compiler->version; }
const char *stn_compiler_path(const stn_compiler *compiler) { return compiler->path; }
int stn_compiler_newest_sm(const stn_compiler *compiler) { return compiler->archs[compiler->arch_count - 1]; }
bool stn_compiler_knows(const stn_compiler *compiler, int sm) {
    return bsearch(&sm, compiler->archs, (size_t)compiler->arch_count, sizeof sm, ascending) != NULL;
}
