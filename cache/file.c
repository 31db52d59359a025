/* temp, write, fsync, rename: a reader sees all of a file or nothing, whenever the writer dies. */
#include "cache/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

static char *temp_name(const char *prefix) {
    uint64_t random;
    char *name;
    if (getrandom(&random, sizeof random, 0) != sizeof random) return NULL;
    return asprintf(&name, "%s%016llx", prefix, (unsigned long long)random) < 0 ? NULL : name;
}

static bool write_all(int fd, const void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t put = write(fd, (const char *)bytes + done, size - done);
        if (put < 0 && errno != EINTR) return false;
        if (put > 0) done += (size_t)put;
    }
    return true;
}

bool stn_file_put(int dir, const char *prefix, const char *name, mode_t mode, const void *bytes, size_t size,
                  bool sync) {
    char *temp = temp_name(prefix);
    if (!temp) return false;
    int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    bool good = fd >= 0 && write_all(fd, bytes, size) && (!sync || !fsync(fd));
    int why = errno;
    if (fd >= 0 && close(fd) && good) { /* NFS tells a full disk only now */
        good = false;
        why = errno;
    }
    if (good && renameat(dir, temp, dir, name)) {
        good = false;
        why = errno;
    }
    if (!good && fd >= 0) (void)unlinkat(dir, temp, 0);
    free(temp);
    errno = why;
    return good;
}

bool stn_file_link(int dir, const char *prefix, const char *name, const char *target) {
    char *temp = temp_name(prefix);
    if (!temp) return false;
    bool made = !symlinkat(target, dir, temp), good = made && !renameat(dir, temp, dir, name);
    int why = errno;
    if (made && !good) (void)unlinkat(dir, temp, 0);
    free(temp);
    errno = why;
    return good;
}

bool stn_file_remove(int dir, const char *name) {
    if (!unlinkat(dir, name, 0)) return true;
    bool folder = errno == EISDIR || errno == EPERM; /* Linux says EISDIR, POSIX EPERM */
    return folder && !unlinkat(dir, name, AT_REMOVEDIR);
}

bool stn_file_remove_seen(int dir, const char *name, const struct stat *seen) {
    struct stat now;
    if (fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW)) return false;
    if (now.st_ino == seen->st_ino && now.st_dev == seen->st_dev) return stn_file_remove(dir, name);
    errno = ESTALE;
    return false;
}
