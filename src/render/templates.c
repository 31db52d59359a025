/* The set of templates: embedded, or read from a folder. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "render/render.h"

#define LARGEST_TEMPLATE (16u << 20)

/* A generated source replaces these two weak definitions if it is linked. This file does not use
 * them: a compiler may assume that a constant has the value that it sees. */
__attribute__((weak)) const unsigned char stn_embedded_pack[1] = {0};
__attribute__((weak)) const size_t stn_embedded_pack_size = 0;

static bool is_template(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && name[0] != '.' && (!strcmp(dot, ".cu") || !strcmp(dot, ".cuh"));
}

static stn_status read_file(const char *path, stn_template *item, stn_error *error) {
    char *text = NULL;
    FILE *file = fopen(path, "rb");
    struct stat info;
    if (!file || fstat(fileno(file), &info) || info.st_size > (off_t)LARGEST_TEMPLATE) {
        int code = file ? EFBIG : errno;
        if (file) fclose(file);
        return stn_fail(error, STN_ERROR_IO, "the template %s (in $STENTOR_TEMPLATE_DIR) could not be read: %s", path,
                        strerror(code));
    }
    size_t size = (size_t)info.st_size;
    stn_status status = STN_OK;
    if (!(text = malloc(size + 1)))
        status = stn_fail_memory(error, "a template", size + 1);
    else if (fread(text, 1, size, file) != size)
        status =
            stn_fail(error, STN_ERROR_IO, "the template %s (in $STENTOR_TEMPLATE_DIR) changed while it was read", path);
    fclose(file);
    if (status != STN_OK) {
        free(text);
        return status;
    }
    text[size] = '\0';
    item->text = text;
    item->size = size;
    return STN_OK;
}

static stn_status add(stn_templates *set, const char *folder, const char *name, stn_error *error) {
    stn_template *resized = realloc(set->list, (set->count + 1) * sizeof *resized);
    if (!resized) return stn_fail_memory(error, "the list of templates", (set->count + 1) * sizeof *resized);
    set->list = resized;
    stn_template *item = &set->list[set->count];
    *item = (stn_template){strdup(name), NULL, 0};
    if (!item->name) return stn_fail_memory(error, "a template's name", strlen(name) + 1);
    set->count++;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return read_file(path, item, error);
}

/* Reads the templates in folder/prefix, and in its subfolders one level down. */
static stn_status walk(stn_templates *set, const char *folder, const char *prefix, stn_error *error) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", folder, prefix);
    DIR *entries = opendir(path);
    if (!entries)
        return stn_fail(error, STN_ERROR_IO, "STENTOR_TEMPLATE_DIR names %s, which could not be opened: %s", path,
                        strerror(errno));
    stn_status status = STN_OK;
    for (struct dirent *entry; status == STN_OK && (entry = readdir(entries));) {
        char name[512];
        struct stat info;
        snprintf(name, sizeof name, "%s%s", prefix, entry->d_name);
        if (entry->d_name[0] == '.' || fstatat(dirfd(entries), entry->d_name, &info, 0)) continue;
        if (S_ISREG(info.st_mode) && is_template(entry->d_name))
            status = add(set, folder, name, error);
        else if (S_ISDIR(info.st_mode) && !*prefix) {
            strcat(name, "/"); /* d_name has at most 255 bytes */
            status = walk(set, folder, name, error);
        }
    }
    closedir(entries);
    return status;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const stn_template *)a)->name, ((const stn_template *)b)->name);
}

static stn_status load_folder(stn_templates *set, const char *folder, stn_error *error) {
    set->from_disk = true;
    STN_TRY(walk(set, folder, "", error));
    /* Sorted, so that the order of the folder's entries does not change a kernel's key. */
    if (set->count) qsort(set->list, set->count, sizeof *set->list, by_name);
    for (size_t i = 0; i < stn_embedded_template_count; i++)
        if (!stn_templates_find(set, stn_embedded_templates[i].name))
            return stn_fail(error, STN_ERROR_IO,
                            "STENTOR_TEMPLATE_DIR names %s, where the template %s is missing: copy all of "
                            "kernel_templates there or unset the variable",
                            folder, stn_embedded_templates[i].name);
    return STN_OK;
}

static stn_status load_embedded(stn_templates *set, stn_error *error) {
    size_t bytes = stn_embedded_template_count * sizeof *set->list;
    if (!(set->list = malloc(bytes))) return stn_fail_memory(error, "the list of templates", bytes);
    memcpy(set->list, stn_embedded_templates, bytes);
    set->count = stn_embedded_template_count;
    return STN_OK;
}

stn_status stn_templates_load(stn_templates *templates, stn_error *error) {
    *templates = (stn_templates){NULL, 0, false};
    const char *folder = secure_getenv("STENTOR_TEMPLATE_DIR");
    stn_status status = folder && *folder ? load_folder(templates, folder, error) : load_embedded(templates, error);
    if (status != STN_OK) stn_templates_free(templates);
    return status;
}

const stn_template *stn_templates_find(const stn_templates *templates, const char *name) {
    for (size_t i = 0; i < templates->count; i++)
        if (!strcmp(templates->list[i].name, name)) return &templates->list[i];
    return NULL;
}

/* Kernels lie in the folders of their strategies; their names are unique without the folder. */
const stn_template *stn_templates_kernel(const stn_templates *templates, const char *kernel) {
    const size_t length = strlen(kernel);
    for (size_t i = 0; i < templates->count; i++) {
        const char *slash = strrchr(templates->list[i].name, '/');
        const char *file = slash ? slash + 1 : templates->list[i].name;
        if (!strncmp(file, kernel, length) && !strcmp(file + length, ".cu")) return &templates->list[i];
    }
    return NULL;
}

void stn_templates_free(stn_templates *templates) {
    for (size_t i = 0; templates->from_disk && i < templates->count; i++) {
        free((char *)templates->list[i].name);
        free((char *)templates->list[i].text);
    }
    free(templates->list);
    *templates = (stn_templates){NULL, 0, false};
}
