/* Atomic writing: temporary file, write, fsync, rename. A reader sees the whole file or none. */
#include "cache/atomic_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

enum { TOUCH_SECONDS = 60 }; /* The time of last use is updated if it is older than this. */

static bool write_all(int fd, const void *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t put = write(fd, (const char *)bytes + done, size - done);
        if (put < 0 && errno != EINTR) return false;
        if (put > 0) done += (size_t)put;
    }
    return true;
}

/* Writes a temporary file in the folder `dir` and renames it. On failure errno has the reason and
 * nothing is left behind. */
static bool put(int dir, const char *name, mode_t mode, const void *bytes, size_t size, bool sync) {
    uint64_t random;
    char temp[sizeof STN_TEMP + 16];
    if (getrandom(&random, sizeof random, 0) != sizeof random) return false;
    snprintf(temp, sizeof temp, STN_TEMP "%016llx", (unsigned long long)random);
    int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    bool good = fd >= 0 && write_all(fd, bytes, size) && (!sync || !fsync(fd));
    int why = errno;
    /* NFS reports a full disk only when the file is closed. */
    const bool closed = fd >= 0 && !close(fd);
    if (good && (!closed || renameat(dir, temp, dir, name))) {
        good = false;
        why = errno;
    }
    if (!good && fd >= 0) (void)unlinkat(dir, temp, 0);
    errno = why;
    return good;
}

bool stn_file_store(stn_folder *folder, const char *sub, const char *name, const void *bytes, size_t size, bool sync) {
    bool good = false;
    /* Another process may remove the folder after it is made: try again. */
    for (int attempt = 0; attempt < 3 && !good; attempt++) {
        const int dir = stn_folder_open_at(folder, sub, true);
        good = dir >= 0 && put(dir, name, folder->shared ? 0666 : 0600, bytes, size, sync);
        /* Makes the rename durable; some file systems cannot sync a folder. */
        if (good && sync) (void)fsync(dir);
        stn_folder_close(dir);
        if (!good && errno != ENOENT) break;
    }
    return good;
}

/* errno 0: the file is shorter than its size said. */
static bool read_all(int fd, char *bytes, size_t size) {
    for (size_t done = 0; done < size;) {
        const ssize_t got = read(fd, bytes + done, size - done);
        if (got == 0) errno = 0;
        if (got == 0 || (got < 0 && errno != EINTR)) return false;
        if (got > 0) done += (size_t)got;
    }
    bytes[size] = '\0';
    return true;
}

static stn_status read_opened(const stn_folder *folder, int fd, size_t least, size_t most, char **bytes,
                              struct stat *status, stn_error *error) {
    const char *distrust;
    if (fstat(fd, status)) return stn_fail(error, STN_ERROR_IO, "it cannot be examined: %s", strerror(errno));
    if (!S_ISREG(status->st_mode)) return stn_fail(error, STN_ERROR_FORMAT, "it is not a plain file");
    if ((distrust = stn_folder_distrust(folder, status))) return stn_fail(error, STN_ERROR_FORMAT, "it %s", distrust);
    if ((uint64_t)status->st_size < least || (uint64_t)status->st_size > most)
        return stn_fail(error, STN_ERROR_FORMAT, "its size of %lld bytes is impossible", (long long)status->st_size);
    char *read = malloc((size_t)status->st_size + 1);
    if (!read) return stn_fail_memory(error, "it", (size_t)status->st_size);
    if (read_all(fd, read, (size_t)status->st_size)) {
        *bytes = read;
        return STN_OK;
    }
    const int why = errno;
    free(read);
    return why ? stn_fail(error, STN_ERROR_IO, "it cannot be read: %s", strerror(why))
               : stn_fail(error, STN_ERROR_FORMAT, "it is cut short");
}

stn_status stn_file_read(const stn_folder *folder, int dir, const char *name, size_t least, size_t most, bool use,
                         char **bytes, struct stat *status, stn_error *error) {
    /* O_NONBLOCK: a FIFO under this name must not block. */
    const int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 && errno == ELOOP && !fstatat(dir, name, status, AT_SYMLINK_NOFOLLOW))
        return stn_fail(error, STN_ERROR_FORMAT, "it is a symlink");
    if (fd < 0) {
        const int why = errno;
        (void)stn_fail(error, STN_ERROR_IO, "it cannot be opened: %s", strerror(why));
        errno = why;
        return STN_ERROR_IO;
    }
    const stn_status result = read_opened(folder, fd, least, most, bytes, status, error);
    /* Collection reads this time as the last use: with relatime, access times are a day late. */
    if (result == STN_OK && use && time(NULL) - status->st_mtime > TOUCH_SECONDS) (void)futimens(fd, NULL);
    close(fd);
    errno = 0;
    return result;
}

bool stn_file_remove(int dir, const char *name) {
    if (!unlinkat(dir, name, 0)) return true;
    bool folder = errno == EISDIR || errno == EPERM; /* EISDIR on Linux, EPERM by POSIX */
    return folder && !unlinkat(dir, name, AT_REMOVEDIR);
}

bool stn_file_remove_seen(int dir, const char *name, const struct stat *seen) {
    struct stat now;
    if (fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW)) return false;
    if (now.st_ino == seen->st_ino && now.st_dev == seen->st_dev) return stn_file_remove(dir, name);
    errno = ESTALE;
    return false;
}
