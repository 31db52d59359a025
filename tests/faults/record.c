/* An LD_PRELOAD library that records what a program does to the files of a folder, so that
 * power_loss.py can replay it.
 *
 *     STENTOR_RECORD_UNDER   the folder, an absolute path; other files are not recorded
 *     STENTOR_RECORD_FILE    to which the records are appended, one a line, fields parted by tabs:
 *
 *     create INODE MODE PATH      rename FROM TO       mkdir MODE PATH
 *     write INODE OFFSET HEX      unlink PATH          rmdir PATH
 *     sync INODE                  symlink PATH TARGET  syncdir PATH
 *
 * A call and its record are made under one lock, so that records are in the order of the calls. */
#undef _FILE_OFFSET_BITS /* Both names of each function are defined here. */
#undef _FORTIFY_SOURCE   /* It makes some of these functions inline. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char under[PATH_MAX];
static int records = -1;

__attribute__((constructor)) static void begin(void) {
    const char *folder = getenv("STENTOR_RECORD_UNDER"), *file = getenv("STENTOR_RECORD_FILE");
    unsetenv("LD_PRELOAD"); /* Child processes are not recorded. */
    if (!folder || !file) return;
    snprintf(under, sizeof under, "%s/", folder);
    records = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* The absolute path of a name in an open folder; false if it is not recorded. */
static bool path_of(int folder, const char *name, char path[2 * PATH_MAX]) {
    char link[64], base[PATH_MAX] = "";
    if (records < 0) return false;
    if (*name == '/')
        snprintf(path, 2 * PATH_MAX, "%s", name);
    else {
        if (folder == AT_FDCWD)
            snprintf(link, sizeof link, "/proc/self/cwd");
        else
            snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
        const ssize_t size = readlink(link, base, sizeof base - 1);
        base[size < 0 ? 0 : size] = '\0';
        snprintf(path, 2 * PATH_MAX, "%s%s%s", base, *name ? "/" : "", name);
    }
    const size_t size = strlen(under);
    return !strncmp(path, under, size) || (strlen(path) + 1 == size && !strncmp(path, under, size - 1));
}

static void put(const char *format, ...) {
    char text[4 * PATH_MAX + 64];
    va_list values;
    va_start(values, format);
    const int size = vsnprintf(text, sizeof text, format, values);
    va_end(values);
    (void)!syscall(SYS_write, records, text, (size_t)size);
}

/* The inode of an open file of the folder, 0 for others. */
static unsigned long long inode_of(int fd, bool *is_folder, char path[2 * PATH_MAX]) {
    struct stat about;
    char link[64], name[PATH_MAX];
    if (records < 0 || fstat(fd, &about)) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t size = readlink(link, name, sizeof name - 1);
    if (size < 0) return 0;
    name[size] = '\0';
    *is_folder = S_ISDIR(about.st_mode);
    return path_of(AT_FDCWD, name, path) ? (unsigned long long)about.st_ino : 0;
}

static int open_recorded(int folder, const char *name, int flags, int mode) {
    char path[2 * PATH_MAX];
    struct stat about;
    pthread_mutex_lock(&lock);
    const bool recorded =
        (flags & O_CREAT) && path_of(folder, name, path) && faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW);
    const int fd = (int)syscall(SYS_openat, folder, name, flags, mode);
    const int why = errno;
    if (recorded && fd >= 0 && !fstat(fd, &about))
        put("create\t%llu\t%o\t%s\n", (unsigned long long)about.st_ino, about.st_mode & 07777, path);
    pthread_mutex_unlock(&lock);
    errno = why;
    return fd;
}

#define OPEN(function, folder, ...)                                                                                    \
    EXPORT int function(__VA_ARGS__, ...) {                                                                            \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;                                        \
        va_end(more);                                                                                                  \
        return open_recorded(folder, name, flags, mode);                                                               \
    }
OPEN(open, AT_FDCWD, const char *name, int flags)
OPEN(open64, AT_FDCWD, const char *name, int flags)
OPEN(openat, folder, int folder, const char *name, int flags)
OPEN(openat64, folder, int folder, const char *name, int flags)

EXPORT ssize_t write(int fd, const void *bytes, size_t size) {
    char path[2 * PATH_MAX];
    bool is_folder;
    pthread_mutex_lock(&lock);
    const unsigned long long inode = inode_of(fd, &is_folder, path);
    const off_t at = inode ? lseek(fd, 0, SEEK_CUR) : 0;
    const ssize_t done = syscall(SYS_write, fd, bytes, size);
    const int why = errno;
    if (inode && done > 0) {
        char *hex = malloc(2 * (size_t)done + 1);
        for (ssize_t i = 0; hex && i < done; i++) sprintf(hex + 2 * i, "%02x", ((const unsigned char *)bytes)[i]);
        put("write\t%llu\t%lld\t", inode, (long long)at);
        if (hex) (void)!syscall(SYS_write, records, hex, 2 * (size_t)done);
        put("\n");
        free(hex);
    }
    pthread_mutex_unlock(&lock);
    errno = why;
    return done;
}

EXPORT int fsync(int fd) {
    char path[2 * PATH_MAX];
    bool is_folder;
    pthread_mutex_lock(&lock);
    const unsigned long long inode = inode_of(fd, &is_folder, path);
    const int status = (int)syscall(SYS_fsync, fd), why = errno;
    if (inode && !status && is_folder) put("syncdir\t%s\n", path);
    if (inode && !status && !is_folder) put("sync\t%llu\n", inode);
    pthread_mutex_unlock(&lock);
    errno = why;
    return status;
}

EXPORT int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    char first[2 * PATH_MAX], second[2 * PATH_MAX];
    pthread_mutex_lock(&lock);
    const bool recorded = path_of(from_folder, from, first) && path_of(to_folder, to, second);
    const int status = (int)syscall(SYS_renameat, from_folder, from, to_folder, to), why = errno;
    if (recorded && !status) put("rename\t%s\t%s\n", first, second);
    pthread_mutex_unlock(&lock);
    errno = why;
    return status;
}

EXPORT int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

EXPORT int unlinkat(int folder, const char *name, int flags) {
    char path[2 * PATH_MAX];
    pthread_mutex_lock(&lock);
    const bool recorded = path_of(folder, name, path);
    const int status = (int)syscall(SYS_unlinkat, folder, name, flags), why = errno;
    if (recorded && !status) put("%s\t%s\n", flags & AT_REMOVEDIR ? "rmdir" : "unlink", path);
    pthread_mutex_unlock(&lock);
    errno = why;
    return status;
}

EXPORT int unlink(const char *name) { return unlinkat(AT_FDCWD, name, 0); }

EXPORT int mkdirat(int folder, const char *name, mode_t mode) {
    char path[2 * PATH_MAX];
    pthread_mutex_lock(&lock);
    const bool recorded = path_of(folder, name, path);
    const int status = (int)syscall(SYS_mkdirat, folder, name, mode), why = errno;
    if (recorded && !status) put("mkdir\t%o\t%s\n", (unsigned)mode, path);
    pthread_mutex_unlock(&lock);
    errno = why;
    return status;
}

EXPORT int mkdir(const char *name, mode_t mode) { return mkdirat(AT_FDCWD, name, mode); }

EXPORT int symlinkat(const char *target, int folder, const char *name) {
    char path[2 * PATH_MAX];
    pthread_mutex_lock(&lock);
    const bool recorded = path_of(folder, name, path);
    const int status = (int)syscall(SYS_symlinkat, target, folder, name), why = errno;
    if (recorded && !status) put("symlink\t%s\t%s\n", path, target);
    pthread_mutex_unlock(&lock);
    errno = why;
    return status;
}
