/* See output_path.h: resolution of output paths through symbolic links. */
#include "io/output_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"

#define MAX_LINKS 40 /* the kernel's limit */

static void clear_path(stn_output_path *place) {
    free(place->path);
    *place = (stn_output_path){NULL, -1};
}

/* Splits a path before its last component. The folder of a bare name is ".". */
static const char *split(char *name, const char **folder) {
    char *slash = strrchr(name, '/');
    *folder = !slash ? "." : slash == name ? "/" : name;
    if (slash) *slash = '\0';
    return slash ? slash + 1 : name;
}

/* The descriptor number if the path is an open file of this process (/proc/self/fd/N), else -1. */
static int stream_of(const char *folder, const char *base) {
    char files[PATH_MAX], *end;
    if (!realpath("/proc/self/fd", files) || strcmp(folder, files) != 0) return -1;
    long number = strtol(base, &end, 10);
    return *base && !*end && number >= 0 && number <= INT_MAX ? (int)number : -1;
}

/* Follows one link: resolves `name`, and stores the target of a symbolic link in next[]; next[0] is
 * 0 at the end. */
static stn_status follow(const char *given, const char *name, stn_output_path *place, char next[PATH_MAX],
                         stn_error *error) {
    char copy[PATH_MAX], real[PATH_MAX], whole[2 * PATH_MAX], target[PATH_MAX];
    const char *folder;
    snprintf(copy, sizeof copy, "%s", name);
    const char *base = split(copy, &folder);
    if (!*base || !strcmp(base, ".") || !strcmp(base, ".."))
        return stn_fail(error, STN_ERROR_IO, "cannot write '%s': that names a folder; name a file in it", given);
    if (!realpath(folder, real))
        return stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s in folder '%s'; name a place that can be written",
                        given, strerror(errno), folder);
    next[0] = '\0';
    place->stream = stream_of(real, base);
    if (place->stream >= 0) return STN_OK;
    const char *slash = real[1] ? "/" : "";
    snprintf(whole, sizeof whole, "%s%s%s", real, slash, base);
    ssize_t length = readlink(whole, target, sizeof target - 1);
    if (length < 0) { /* not a link, or it does not exist */
        place->path = strdup(whole);
        return place->path ? STN_OK : stn_fail_memory(error, "a file name", strlen(whole));
    }
    target[length] = '\0';
    int size = snprintf(next, PATH_MAX, "%s%s%s", target[0] == '/' ? "" : real, target[0] == '/' ? "" : slash, target);
    return size < PATH_MAX ? STN_OK
                           : stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s", given, strerror(ENAMETOOLONG));
}

stn_status stn_output_path_resolve(const char *name, stn_output_path *place, stn_error *error) {
    char at[PATH_MAX], next[PATH_MAX];
    *place = (stn_output_path){NULL, -1};
    if (!name || !*name) return stn_fail(error, STN_ERROR_IO, "an output needs a file name: this one is empty");
    if (strlen(name) >= sizeof at)
        return stn_fail(error, STN_ERROR_IO, "cannot write '%.60s...': %s", name, strerror(ENAMETOOLONG));
    memcpy(at, name, strlen(name) + 1);
    for (int links = 0; links <= MAX_LINKS; links++) {
        STN_TRY(follow(name, at, place, next, error));
        if (!next[0]) return STN_OK;
        memcpy(at, next, sizeof at);
    }
    return stn_fail(error, STN_ERROR_IO, "cannot write '%s': %s", name, strerror(ELOOP));
}

/* Compares folders by inode, since mounts may give one folder several paths, and the names in
 * them. */
static bool same_paths(const char *a, const char *b) {
    char copies[2][PATH_MAX];
    struct stat folders[2];
    const char *paths[2] = {a, b}, *bases[2];
    for (int i = 0; i < 2; i++) {
        const char *folder;
        if (strlen(paths[i]) >= PATH_MAX) return false;
        memcpy(copies[i], paths[i], strlen(paths[i]) + 1);
        bases[i] = split(copies[i], &folder);
        if (stat(folder, &folders[i]) != 0) return false;
    }
    return !strcmp(bases[0], bases[1]) && folders[0].st_dev == folders[1].st_dev &&
           folders[0].st_ino == folders[1].st_ino;
}

bool stn_output_path_same(const char *a, const char *b) {
    stn_output_path places[2];
    struct stat there[2];
    bool same = false, is_there[2];
    stn_status first = stn_output_path_resolve(a, &places[0], NULL),
               second = stn_output_path_resolve(b, &places[1], NULL);
    if (first == STN_OK && second == STN_OK) {
        for (int i = 0; i < 2; i++)
            is_there[i] = (places[i].path ? stat(places[i].path, &there[i]) : fstat(places[i].stream, &there[i])) == 0;
        same = places[0].path && places[1].path && same_paths(places[0].path, places[1].path);
        /* a stream or device, which is written directly, is the same under any of its names */
        bool streams = !places[0].path || !places[1].path;
        if (is_there[0] && is_there[1] && (streams || !S_ISREG(there[0].st_mode)))
            same = same || (there[0].st_dev == there[1].st_dev && there[0].st_ino == there[1].st_ino);
    }
    clear_path(&places[0]);
    clear_path(&places[1]);
    return same;
}

const char *stn_output_path_obstacle(const char *path, const struct stat *there) {
    char copy[PATH_MAX];
    const char *folder;
    struct stat around;
#ifdef STATX_ATTR_MOUNT_ROOT
    struct statx more;
    if (statx(AT_FDCWD, path, 0, 0, &more) == 0) {
        if (more.stx_attributes & STATX_ATTR_MOUNT_ROOT) return "it is a mount point";
        if (more.stx_attributes & (STATX_ATTR_APPEND | STATX_ATTR_IMMUTABLE)) return "its attributes keep it from that";
    }
#endif
    if (strlen(path) >= sizeof copy) return NULL;
    memcpy(copy, path, strlen(path) + 1);
    split(copy, &folder);
    uid_t we = geteuid();
    bool sticky = stat(folder, &around) == 0 && (around.st_mode & S_ISVTX);
    if (sticky && we != 0 && there->st_uid != we && around.st_uid != we)
        return "it is another user's, in a folder where each may replace only what is theirs";
    return NULL;
}
