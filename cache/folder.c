/* Finds, checks and opens the cache's folder, and locks its keys. Kernels that another user could
 * have written are never run. */
#include "cache/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "cache/format.h"

static const char *environment(const char *name) {
    const char *value = secure_getenv(name);
    return value && *value ? value : NULL;
}

/* The path "base/rest", made absolute so that a later chdir does not move the cache; NULL if out of
 * memory. */
static char *join(const char *base, const char *rest) {
    char *path = NULL, *here = NULL;
    if (*base != '/' && !(here = getcwd(NULL, 0))) return NULL;
    int size = asprintf(&path, "%s%s%s%s", here ? here : "", here ? "/" : "", base, rest);
    free(here);
    return size < 0 ? NULL : path;
}

stn_status stn_folder_init(stn_folder *folder, const char *dir, bool shared, const stn_logger *logger,
                           stn_error *error) {
    folder->shared = shared;
    folder->logger = logger;
    const char *base = dir && *dir ? dir : NULL, *rest = "";
    if (!base) base = environment("STENTOR_CACHE_DIR");
    if (!base && (base = environment("XDG_CACHE_HOME"))) {
        rest = "/stentor";
        if (*base != '/') base = NULL; /* By the XDG specification relative paths are ignored. */
    }
    if (!base && (base = environment("HOME"))) rest = "/.cache/stentor";
    if (!base) {
        stn_folder_warn(folder,
                        "kernels are kept in memory only, as neither STENTOR_CACHE_DIR nor XDG_CACHE_HOME nor "
                        "HOME is set");
        return STN_OK;
    }
    if (!strcmp(base, ":memory:")) return STN_OK;
    folder->path = join(base, rest);
    if (!folder->path) return stn_fail_memory(error, "the cache folder's path", strlen(base));
    return STN_OK;
}

void stn_folder_clear(stn_folder *folder) {
    free(folder->path);
    folder->path = NULL;
}

void stn_folder_warn(stn_folder *folder, const char *format, ...) {
    if (atomic_exchange(&folder->warned, true)) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(folder->problem, sizeof folder->problem, format, arguments);
    va_end(arguments);
    atomic_store(&folder->has_problem, true);
    stn_log(folder->logger, STN_LOG_WARNING, "%s", folder->problem);
}

const char *stn_folder_distrust(const stn_folder *folder, const struct stat *status) {
    if (folder->shared) return NULL;
    if (status->st_uid != geteuid()) return "is not owned by this user";
    if (status->st_mode & (S_IWGRP | S_IWOTH)) return "may be written by other users";
    return NULL;
}

/* Makes the folder and its parents, for this user only. On failure errno is that of the first part
 * that failed. */
static int make_path(const stn_folder *folder) {
    char *path = strdup(folder->path);
    if (!path) return -1;
    mode_t mode = folder->shared ? 0777 : 0700; /* With `shared` the user's umask decides. */
    int why = 0;
    bool last = false, made = false;
    for (char *slash = path + 1; !last; slash++) {
        slash = strchrnul(slash, '/');
        last = !*slash;
        *slash = '\0';
        made = !mkdir(path, mode) || errno == EEXIST;
        /* Perhaps a parent that exists but is not writable: continue. */
        if (!made && !why) why = errno;
        *slash = last ? '\0' : '/';
    }
    free(path);
    errno = why;
    return made ? 0 : -1;
}

/* Checks owner and mode of an opened folder; closes it if it is not trusted. */
static int check_trusted(stn_folder *folder, int fd, const char *name) {
    struct stat status;
    const char *why = fstat(fd, &status) ? strerror(errno) : stn_folder_distrust(folder, &status);
    if (!why) return fd;
    stn_folder_warn(folder,
                    "kernels are kept in memory only, as the cache folder %s%s%s %s: give it to this user alone (chmod "
                    "go-w), name another (option cache_dir, STENTOR_CACHE_DIR), or accept it (option cache_shared)",
                    folder->path, *name ? "/" : "", name, why);
    close(fd);
    errno = EPERM;
    return -1;
}

static int flags(const stn_folder *folder) {
    return O_RDONLY | O_DIRECTORY | O_CLOEXEC | (folder->shared ? 0 : O_NOFOLLOW);
}

/* Warns of a folder that cannot be opened. */
static int refuse(stn_folder *folder, const char *name, int why) {
    /* For a symlink, O_NOFOLLOW with O_DIRECTORY gives ENOTDIR on some systems, ELOOP on others. */
    const char *reason = why == ENOTDIR || why == ELOOP ? "is a symlink or no folder" : strerror(why);
    stn_folder_warn(folder,
                    "kernels are kept in memory only, as the cache folder %s%s%s cannot be used: %s; name another with "
                    "STENTOR_CACHE_DIR",
                    folder->path, *name ? "/" : "", name, reason);
    errno = EPERM;
    return -1;
}

void stn_folder_close(int descriptor) {
    const int why = errno;
    if (descriptor >= 0) close(descriptor);
    errno = why;
}

int stn_folder_open(stn_folder *folder, bool create) {
    if (!folder->path) {
        errno = ENOENT;
        return -1;
    }
    int fd = open(folder->path, flags(folder));
    if (fd < 0 && errno == ENOENT) {
        if (!create) return -1;
        if (make_path(folder)) return refuse(folder, "", errno);
        fd = open(folder->path, flags(folder));
    }
    return fd < 0 ? refuse(folder, "", errno) : check_trusted(folder, fd, "");
}

int stn_folder_open_sub(stn_folder *folder, int root, const char *name, bool create) {
    int fd = openat(root, name, flags(folder));
    if (fd < 0 && errno == ENOENT) {
        if (!create) return -1;
        /* The folder itself may be removed meanwhile: with errno ENOENT the caller tries again. */
        if (mkdirat(root, name, folder->shared ? 0777 : 0700) && errno != EEXIST)
            return errno == ENOENT ? -1 : refuse(folder, name, errno);
        fd = openat(root, name, flags(folder));
        if (fd < 0 && errno == ENOENT) return -1;
    }
    return fd < 0 ? refuse(folder, name, errno) : check_trusted(folder, fd, name);
}

int stn_folder_open_at(stn_folder *folder, const char *sub, bool create) {
    const int root = stn_folder_open(folder, create);
    if (root < 0 || !sub) return root;
    const int fd = stn_folder_open_sub(folder, root, sub, create);
    stn_folder_close(root);
    return fd;
}

/* ---- locks -------------------------------------------------------------------------------------
 * One lock per key between processes: a one-byte range of one lock file, at the offset that the key
 * gives. The kernel releases it when the holder dies. The file is never removed, so that two
 * processes cannot lock different files. The lock belongs to the open file description, so that
 * threads exclude each other as well. */

static int open_lock(stn_folder *folder) {
    int root = stn_folder_open(folder, true);
    if (root < 0) return -1;
    int fd = openat(root, STN_LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                    folder->shared ? 0666 : 0600);
    stn_folder_close(root);
    return fd;
}

/* True if the open file is still the one under the lock's name. */
static bool is_current(stn_folder *folder, int fd) {
    struct stat held, named;
    const int root = stn_folder_open(folder, false);
    const bool same = root >= 0 && !fstat(fd, &held) && !fstatat(root, STN_LOCK_NAME, &named, AT_SYMLINK_NOFOLLOW) &&
                      held.st_ino == named.st_ino && held.st_dev == named.st_dev;
    stn_folder_close(root);
    return same;
}

/* True once held; false if locking is not supported or the time is up. */
static bool wait_for(int fd, const stn_key *key, double deadline) {
    /* Two keys with the same first 62 bits share a lock, which does no harm. */
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    range.l_start = (off_t)(stn_get64(key->bytes) >> 2);
    for (long pause = 500000; fcntl(fd, F_OFD_SETLK, &range); pause = pause < 8000000 ? pause * 2 : pause) {
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) return false;
        if (stn_clock_seconds() >= deadline) return false;
        nanosleep(&(struct timespec){.tv_nsec = pause}, NULL);
    }
    return true;
}

int stn_folder_lock(stn_folder *folder, unsigned wait_ms, const stn_key *key) {
    const double deadline = stn_clock_seconds() + 1e-3 * wait_ms;
    /* If the folder was removed or moved and made again meanwhile, others lock another file: try
     * again. */
    for (int attempt = 0; attempt < 3; attempt++) {
        const int lock = open_lock(folder);
        if (lock < 0) return -1;
        const bool held = wait_for(lock, key, deadline);
        if (held && is_current(folder, lock)) return lock;
        stn_folder_close(lock);
        if (!held) return -1;
    }
    errno = EAGAIN;
    return -1;
}
