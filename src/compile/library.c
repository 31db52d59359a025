/* Searches for CUDA's libraries; see library.h. */
#include "compile/library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

const stn_library_spec stn_library_nvrtc = {"NVRTC",
                                            "STENTOR_NVRTC_PATH",
                                            "libnvrtc.so",
                                            {"cu13", "cuda_nvrtc", NULL},
                                            {"libnvrtc.so.14", "libnvrtc.so.13", "libnvrtc.so.12", NULL}};
const stn_library_spec stn_library_cufft = {"cuFFT",
                                            "STENTOR_CUFFT_PATH",
                                            "libcufft.so",
                                            {"cu13", "cufft", NULL},
                                            {"libcufft.so.13", "libcufft.so.12", "libcufft.so.11", NULL}};
const stn_library_spec stn_library_cublas = {"cuBLAS",
                                             "STENTOR_CUBLAS_PATH",
                                             "libcublas.so",
                                             {"cu13", "cublas", NULL},
                                             {"libcublas.so.14", "libcublas.so.13", "libcublas.so.12", NULL}};
const stn_library_spec stn_library_nccl = {
    "NCCL", "STENTOR_NCCL_PATH", "libnccl.so", {"nccl", NULL}, {"libnccl.so.2", NULL}};

#if defined(__aarch64__)
#define DEBIAN_FOLDER "/usr/lib/aarch64-linux-gnu"
#define TOOLKIT_TARGET "targets/sbsa-linux/lib"
#else
#define DEBIAN_FOLDER "/usr/lib/x86_64-linux-gnu"
#define TOOLKIT_TARGET "targets/x86_64-linux/lib"
#endif

typedef struct search {
    const stn_library_spec *spec;
    stn_library_visit visit;
    void *user;
} search;

/* Joins two parts of a path; false if the path is too long or the first part is missing or
 * empty. */
static bool join(char path[PATH_MAX], const char *folder, const char *name) {
    return folder && *folder && snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX;
}

/* Tries the library's known names, newest first. Tests single files instead of reading the folder,
 * since a distribution's folder holds thousands of files. */
static bool in_folder(const search *s, const char *folder) {
    char path[PATH_MAX];
    for (const char *const *soname = s->spec->sonames; *soname; soname++)
        if (join(path, folder, *soname) && !access(path, R_OK) && s->visit(s->user, path)) return true;
    return false;
}

static bool below(const search *s, const char *folder, const char *name) {
    char path[PATH_MAX];
    return join(path, folder, name) && in_folder(s, path);
}

/* Tries a folder's entries whose names begin with `prefix`, the newest version first. It does not
 * use glob(), which in glibc 2.36 frees memory twice when memory runs out. */
static bool in_entries(const search *s, const char *folder, const char *prefix,
                       bool (*look)(const search *s, const char *path)) {
    char last[NAME_MAX + 1] = "", next[NAME_MAX + 1], path[PATH_MAX];
    for (;; memcpy(last, next, sizeof last)) {
        DIR *items = opendir(folder);
        *next = '\0';
        for (const struct dirent *item; items && (item = readdir(items));) {
            const char *name = item->d_name;
            if (!strncmp(name, prefix, strlen(prefix)) && strverscmp(name, next) > 0 &&
                (!*last || strverscmp(name, last) < 0))
                snprintf(next, sizeof next, "%s", name);
        }
        if (items) closedir(items);
        if (!*next) return false;
        if (join(path, folder, next) && look(s, path)) return true;
    }
}

static bool visit_version(const search *s, const char *path) {
    const char *version = strrchr(path, '/') + 1 + strlen(s->spec->stem) + 1;
    return *version >= '0' && *version <= '9' && s->visit(s->user, path);
}

/* Tries the file that the environment variable names, or all versions in the folder that it
 * names. */
static bool in_variable(const search *s, const char *value) {
    struct stat info;
    char prefix[64];
    if (stat(value, &info) || !S_ISDIR(info.st_mode)) return s->visit(s->user, value);
    snprintf(prefix, sizeof prefix, "%s.", s->spec->stem);
    return in_entries(s, value, prefix, visit_version);
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

/* ---- pip's wheels: PREFIX/lib/python3.x/site-packages/nvidia/WHEEL/lib ----------------------- */

static bool in_packages(const search *s, const char *python) {
    static const char *const kinds[] = {"site-packages/nvidia", "dist-packages/nvidia"};
    char nvidia[PATH_MAX], wheel[PATH_MAX];
    for (int kind = 0; kind < 2; kind++) {
        if (!join(nvidia, python, kinds[kind]) || access(nvidia, X_OK)) continue;
        for (const char *const *name = s->spec->wheels; *name; name++)
            if (join(wheel, nvidia, *name) && below(s, wheel, "lib")) return true;
    }
    return false;
}

static bool in_prefix(const search *s, const char *prefix) {
    char folder[PATH_MAX];
    return join(folder, prefix, "lib") && in_entries(s, folder, "python3", in_packages);
}

/* The next folder of a list with colons; false at its end. */
static bool next_folder(const char **list, char folder[PATH_MAX]) {
    while (*list && **list) {
        int length = (int)strcspn(*list, ":");
        bool fits = length && snprintf(folder, PATH_MAX, "%.*s", length, *list) < PATH_MAX;
        *list += length + ((*list)[length] == ':');
        if (fits) return true;
    }
    return false;
}

/* Tries the prefix of the first python3 in $PATH. */
static bool of_python_on_path(const search *s) {
    char folder[PATH_MAX], file[PATH_MAX];
    for (const char *list = secure_getenv("PATH"); next_folder(&list, folder);)
        if (join(file, folder, "python3") && !access(file, X_OK)) return join(file, folder, "..") && in_prefix(s, file);
    return false;
}

static bool in_wheels(const search *s) {
    char user[PATH_MAX];
    const char *conda = secure_getenv("CONDA_PREFIX");
    return in_prefix(s, secure_getenv("VIRTUAL_ENV")) || in_prefix(s, conda) || below(s, conda, "lib") ||
           below(s, conda, TOOLKIT_TARGET) || of_python_on_path(s) ||
           (join(user, secure_getenv("HOME"), ".local") && in_prefix(s, user)) || in_prefix(s, "/usr/local") ||
           in_prefix(s, "/usr");
}

/* ---- the loader's path and toolkits ---------------------------------------------------------- */

static bool on_loader_path(const search *s) {
    static const char *const usual[] = {"/usr/local/lib", DEBIAN_FOLDER, "/usr/lib64", "/usr/lib"};
    char folder[PATH_MAX];
    for (const char *list = secure_getenv("LD_LIBRARY_PATH"); next_folder(&list, folder);)
        if (in_folder(s, folder)) return true;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (in_folder(s, usual[i])) return true;
    return false;
}

static bool in_toolkit(const search *s, const char *root) {
    return below(s, root, "lib64") || below(s, root, "lib") || below(s, root, TOOLKIT_TARGET);
}

static bool in_toolkits(const search *s) {
    return in_toolkit(s, secure_getenv("CUDA_HOME")) || in_toolkit(s, secure_getenv("CUDA_PATH")) ||
           in_toolkit(s, "/usr/local/cuda") || in_entries(s, "/usr/local", "cuda-", in_toolkit) ||
           in_toolkit(s, "/opt/cuda");
}

bool stn_library_search(const stn_library_spec *spec, stn_library_visit visit, void *user) {
    const search s = {spec, visit, user};
    const char *chosen = secure_getenv(spec->variable);
    if (chosen && *chosen) return in_variable(&s, chosen);
    if (already_loaded(&s) || in_wheels(&s) || on_loader_path(&s) || in_toolkits(&s)) return true;
    for (const char *const *soname = spec->sonames; *soname; soname++)
        if (visit(user, *soname)) return true;
    return false;
}

bool stn_library_may_open(const char *path) {
    struct stat info;
    return !strchr(path, '/') || stat(path, &info) || S_ISREG(info.st_mode);
}

void *stn_library_open(const char *path, stn_text *reasons) {
    if (!stn_library_may_open(path)) {
        stn_text_printf(reasons, "%s is no file; ", path);
        return NULL;
    }
    /* Never unloaded: it has global state, and opening it again is slow. */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library) return library;
    const char *why = dlerror();
    if (strchr(path, '/')) stn_text_printf(reasons, "%s could not be opened (%s); ", path, why ? why : "unknown");
    return NULL;
}

bool stn_library_resolve(void *library, const char *const *names, size_t count, void *table, const char **missing) {
    for (size_t i = 0; i < count; i++) {
        void *function = dlsym(library, names[i]);
        *missing = names[i];
        if (!function) return false;
        memcpy((char *)table + i * sizeof function, &function, sizeof function);
    }
    return true;
}

stn_status stn_library_fail(const stn_library_spec *spec, const stn_text *reasons, stn_status status,
                            stn_error *error) {
    stn_text advice = STN_TEXT_EMPTY;
    stn_library_advice(spec, &advice);
    status = stn_fail(error, status, "no usable %s: %.400s%s", spec->name, reasons->data ? reasons->data : "",
                      advice.data ? advice.data : "");
    stn_text_clear(&advice);
    return status;
}

void stn_library_advice(const stn_library_spec *spec, stn_text *text) {
    const char *chosen = secure_getenv(spec->variable);
    if (chosen && *chosen) {
        stn_text_printf(text,
                        "looked only at \"%s\", which %s names: point it at a %s.VERSION file or its folder, or "
                        "unset it",
                        chosen, spec->variable, spec->stem);
        return;
    }
    char package[64];
    snprintf(package, sizeof package, "nvidia-%s%s", strcmp(spec->name, "NVRTC") ? "" : "cuda-", spec->stem + 3);
    /* Cuts off ".so". The name of NCCL's package ends with the CUDA version. */
    snprintf(package + strlen(package) - 3, sizeof "-cu13", "%s", strcmp(spec->name, "NCCL") ? "" : "-cu13");
    stn_text_printf(text,
                    "looked at the libraries already loaded, pip's nvidia folders, the loader's path and the toolkits "
                    "in $CUDA_HOME and /usr/local/cuda: `pip install %s`, install your distribution's CUDA toolkit, or "
                    "point %s at %s.VERSION",
                    package, spec->variable, spec->stem);
}
