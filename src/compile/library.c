/* The search for CUDA's libraries. */
#include "compile/library.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const stn_library_spec stn_library_nvrtc = {
    "NVRTC", "STENTOR_NVRTC_PATH", "libnvrtc.so", "{cu13,cuda_nvrtc}/lib", {"libnvrtc.so.13", "libnvrtc.so.12", NULL}};
const stn_library_spec stn_library_cufft = {
    "cuFFT", "STENTOR_CUFFT_PATH", "libcufft.so", "{cu13,cufft}/lib", {"libcufft.so.12", "libcufft.so.11", NULL}};
const stn_library_spec stn_library_cublas = {
    "cuBLAS", "STENTOR_CUBLAS_PATH", "libcublas.so", "{cu13,cublas}/lib", {"libcublas.so.13", "libcublas.so.12", NULL}};

typedef struct search {
    const stn_library_spec *spec;
    stn_library_visit visit;
    void *user;
} search;

static int newest_first(const void *a, const void *b) { return strverscmp(*(char *const *)b, *(char *const *)a); }

/* How many of the first paths lie in the same folder. */
static size_t same_folder(char *const *paths, size_t count) {
    size_t same = 1, length = (size_t)(strrchr(paths[0], '/') - paths[0]) + 1;
    while (same < count && !strncmp(paths[0], paths[same], length) && !strchr(paths[same] + length, '/')) same++;
    return same;
}

/* Every STEM.VERSION in the folders that a pattern names: folders in the pattern's order, the newest file first. */
static bool in_folders(const search *s, const char *pattern) {
    char files[PATH_MAX];
    if (snprintf(files, sizeof files, "%s/%s.[0-9]*", pattern, s->spec->stem) >= (int)sizeof files) return false;
    glob_t found;
    if (glob(files, GLOB_BRACE, NULL, &found)) return false;
    bool done = false;
    for (size_t i = 0, end; i < found.gl_pathc && !done; i = end) {
        end = i + same_folder(found.gl_pathv + i, found.gl_pathc - i);
        qsort(found.gl_pathv + i, end - i, sizeof *found.gl_pathv, newest_first);
        for (size_t j = i; j < end && !done; j++) done = s->visit(s->user, found.gl_pathv[j]);
    }
    globfree(&found);
    return done;
}

/* The same below a folder that a variable names; an empty variable names none. */
static bool below(const search *s, const char *folder, const char *pattern) {
    char whole[PATH_MAX];
    if (!folder || !*folder || snprintf(whole, sizeof whole, "%s/%s", folder, pattern) >= (int)sizeof whole)
        return false;
    return in_folders(s, whole);
}

static bool in_variable(const search *s, const char *value) {
    struct stat info;
    if (!stat(value, &info) && S_ISDIR(info.st_mode)) return in_folders(s, value);
    return s->visit(s->user, value);
}

static bool already_loaded(const search *s) {
    bool done = false;
    for (const char *const *soname = s->spec->sonames; *soname && !done; soname++) {
        void *library = dlopen(*soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
        struct link_map *map = NULL;
        if (!library) continue;
        if (!dlinfo(library, RTLD_DI_LINKMAP, &map) && map && *map->l_name) done = s->visit(s->user, map->l_name);
        dlclose(library);
    }
    return done;
}

/* The folder above bin/ of the python3 that the user would start. */
static bool python_prefix(char prefix[PATH_MAX]) {
    const char *path = getenv("PATH");
    while (path && *path) {
        int length = (int)strcspn(path, ":");
        char file[PATH_MAX];
        if (length && snprintf(file, sizeof file, "%.*s/python3", length, path) < (int)sizeof file &&
            !access(file, X_OK)) {
            snprintf(prefix, PATH_MAX, "%.*s/..", length, path);
            return true;
        }
        path += length + (path[length] == ':');
    }
    return false;
}

static bool in_wheels(const search *s) {
    char pattern[256], prefix[PATH_MAX];
    snprintf(pattern, sizeof pattern, "lib/python3*/{site,dist}-packages/nvidia/%s", s->spec->wheels);
    if (below(s, getenv("VIRTUAL_ENV"), pattern) || below(s, getenv("CONDA_PREFIX"), pattern) ||
        below(s, getenv("CONDA_PREFIX"), "{lib,targets/*-linux/lib}"))
        return true;
    if (python_prefix(prefix) && below(s, prefix, pattern)) return true;
    const char *home = getenv("HOME");
    if (home && *home) {
        snprintf(prefix, sizeof prefix, "%s/.local", home);
        if (below(s, prefix, pattern)) return true;
    }
    return below(s, "/usr/local", pattern) || below(s, "/usr", pattern);
}

static bool on_loader_path(const search *s) {
    for (const char *path = getenv("LD_LIBRARY_PATH"); path && *path;) {
        int length = (int)strcspn(path, ":");
        char folder[PATH_MAX];
        if (length && snprintf(folder, sizeof folder, "%.*s", length, path) < (int)sizeof folder &&
            in_folders(s, folder))
            return true;
        path += length + (path[length] == ':');
    }
    return in_folders(s, "{/usr/local/lib,/lib/*-linux-gnu,/usr/lib/*-linux-gnu,/lib64,/usr/lib64,/usr/lib}");
}

static bool in_toolkits(const search *s) {
    const char *const parts = "{lib64,lib,targets/*-linux/lib}";
    return below(s, getenv("CUDA_HOME"), parts) || below(s, getenv("CUDA_PATH"), parts) ||
           below(s, "/usr/local/cuda", parts) || below(s, "/usr/local/cuda-*", parts) || below(s, "/opt/cuda", parts);
}

bool stn_library_search(const stn_library_spec *spec, stn_library_visit visit, void *user) {
    const search s = {spec, visit, user};
    const char *chosen = getenv(spec->variable);
    if (chosen && *chosen) return in_variable(&s, chosen);
    if (already_loaded(&s) || in_wheels(&s) || on_loader_path(&s) || in_toolkits(&s)) return true;
    for (const char *const *soname = spec->sonames; *soname; soname++)
        if (visit(user, *soname)) return true;
    return false;
}

void stn_library_advice(const stn_library_spec *spec, stn_text *text) {
    const char *chosen = getenv(spec->variable);
    if (chosen && *chosen) {
        stn_text_printf(text,
                        "looked only at \"%s\", which %s names: point it at a %s.VERSION file or its folder, or "
                        "unset it",
                        chosen, spec->variable, spec->stem);
        return;
    }
    char package[64];
    snprintf(package, sizeof package, "nvidia-%s%s", strcmp(spec->name, "NVRTC") ? "" : "cuda-", spec->stem + 3);
    package[strlen(package) - 3] = '\0'; /* without ".so" */
    stn_text_printf(text,
                    "looked at the libraries already loaded, pip's nvidia folders, the loader's path and the toolkits "
                    "in $CUDA_HOME and /usr/local/cuda: `pip install %s`, install your distribution's CUDA toolkit, or "
                    "point %s at %s.VERSION",
                    package, spec->variable, spec->stem);
}
