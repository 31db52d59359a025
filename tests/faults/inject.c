/* An LD_PRELOAD library that fails selected calls of a program.
 *
 *     STENTOR_FAULT_CALL     the function: malloc, calloc, realloc, mmap, open, read, write, fsync,
 *                            rename, pthread_create, dlopen
 *     STENTOR_FAULT_AT       the first call that fails, from 1 on; 0: none
 *     STENTOR_FAULT_ALWAYS   if set, all later calls fail too
 *     STENTOR_FAULT_WITHIN   count only calls from objects with this text in their file name
 *     STENTOR_FAULT_COUNT    file for the number of calls, written when the program ends
 *
 * Calls inside the C library, for example in fwrite, cannot be replaced; the outer function is. */
#undef _FILE_OFFSET_BITS /* Both names of each function are defined here. */
#undef _FORTIFY_SOURCE   /* It makes some of these functions inline. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static atomic_long calls;
static long fails_at;
static bool always, ready;
static char kind[32], within[64], count_file[4096];

static void copy_setting(const char *name, char *text, size_t size) {
    const char *value = getenv(name);
    if (value) snprintf(text, size, "%s", value);
}

__attribute__((constructor)) static void begin(void) {
    const char *at = getenv("STENTOR_FAULT_AT");
    copy_setting("STENTOR_FAULT_CALL", kind, sizeof kind);
    copy_setting("STENTOR_FAULT_WITHIN", within, sizeof within);
    copy_setting("STENTOR_FAULT_COUNT", count_file, sizeof count_file);
    fails_at = at ? atol(at) : 0;
    always = getenv("STENTOR_FAULT_ALWAYS") != NULL;
    unsetenv("LD_PRELOAD"); /* Calls of child processes do not fail. */
    ready = true;
}

__attribute__((destructor)) static void end(void) {
    char text[32];
    if (!count_file[0]) return;
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, count_file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int size = snprintf(text, sizeof text, "%ld\n", (long)calls);
    if (fd >= 0) (void)!syscall(SYS_write, fd, text, (size_t)size);
    if (fd >= 0) (void)syscall(SYS_close, fd);
}

/* Must this call from `caller` fail? */
static bool fails(const char *call, const void *caller) {
    Dl_info where;
    if (!ready || strcmp(call, kind) != 0) return false;
    if (within[0] && (!dladdr(caller, &where) || !where.dli_fname || !strstr(where.dli_fname, within))) return false;
    const long number = atomic_fetch_add(&calls, 1) + 1;
    return fails_at && (number == fails_at || (always && number > fails_at));
}

#define FAILS(call) fails(call, __builtin_return_address(0))
#define FAIL(number, result)                                                                                           \
    do {                                                                                                               \
        errno = number;                                                                                                \
        return result;                                                                                                 \
    } while (0)
/* The original function. */
#define REAL(type, name) ((type)(size_t)dlsym(RTLD_NEXT, name))

/* ---- memory ---------------------------------------------------------------------------------- */

EXPORT void *malloc(size_t size) {
    if (FAILS("malloc")) FAIL(ENOMEM, NULL);
    return __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size) {
    if (FAILS("calloc")) FAIL(ENOMEM, NULL);
    return __libc_calloc(count, size);
}

EXPORT void *realloc(void *old, size_t size) {
    if (FAILS("realloc")) FAIL(ENOMEM, NULL);
    return __libc_realloc(old, size);
}

EXPORT void *mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    if (FAILS("mmap")) FAIL(ENOMEM, MAP_FAILED);
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

EXPORT void *mmap64(void *address, size_t size, int protection, int flags, int fd, off_t offset) {
    if (FAILS("mmap")) FAIL(ENOMEM, MAP_FAILED);
    return (void *)syscall(SYS_mmap, address, size, protection, flags, fd, offset);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int open_at(int folder, const char *name, int flags, va_list more) {
    const int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, int) : 0;
    return (int)syscall(SYS_openat, folder, name, flags, mode);
}

#define OPEN(function, folder, ...)                                                                                    \
    EXPORT int function(__VA_ARGS__, ...) {                                                                            \
        if (FAILS("open")) FAIL(EMFILE, -1);                                                                           \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        const int fd = open_at(folder, name, flags, more);                                                             \
        va_end(more);                                                                                                  \
        return fd;                                                                                                     \
    }
OPEN(open, AT_FDCWD, const char *name, int flags)
OPEN(open64, AT_FDCWD, const char *name, int flags)
OPEN(openat, folder, int folder, const char *name, int flags)
OPEN(openat64, folder, int folder, const char *name, int flags)

EXPORT FILE *fopen(const char *name, const char *mode) {
    if (FAILS("open")) FAIL(EMFILE, NULL);
    return REAL(FILE * (*)(const char *, const char *), "fopen")(name, mode);
}

EXPORT FILE *fopen64(const char *name, const char *mode) {
    if (FAILS("open")) FAIL(EMFILE, NULL);
    return REAL(FILE * (*)(const char *, const char *), "fopen64")(name, mode);
}

EXPORT ssize_t read(int fd, void *bytes, size_t size) {
    if (FAILS("read")) FAIL(EIO, -1);
    return syscall(SYS_read, fd, bytes, size);
}

EXPORT ssize_t pread(int fd, void *bytes, size_t size, off_t offset) {
    if (FAILS("read")) FAIL(EIO, -1);
    return syscall(SYS_pread64, fd, bytes, size, offset);
}

EXPORT ssize_t pread64(int fd, void *bytes, size_t size, off_t offset) {
    if (FAILS("read")) FAIL(EIO, -1);
    return syscall(SYS_pread64, fd, bytes, size, offset);
}

EXPORT size_t fread(void *bytes, size_t size, size_t count, FILE *file) {
    if (FAILS("read")) {
        file->_flags |= 0x20; /* glibc's _IO_ERR_SEEN, which ferror tests */
        FAIL(EIO, 0);
    }
    return REAL(size_t(*)(void *, size_t, size_t, FILE *), "fread")(bytes, size, count, file);
}

EXPORT ssize_t write(int fd, const void *bytes, size_t size) {
    if (FAILS("write")) FAIL(ENOSPC, -1);
    return syscall(SYS_write, fd, bytes, size);
}

EXPORT size_t fwrite(const void *bytes, size_t size, size_t count, FILE *file) {
    if (file != stderr && FAILS("write")) {
        file->_flags |= 0x20;
        FAIL(ENOSPC, 0);
    }
    return REAL(size_t(*)(const void *, size_t, size_t, FILE *), "fwrite")(bytes, size, count, file);
}

EXPORT int fflush(FILE *file) {
    if (file && file != stderr && FAILS("write")) {
        file->_flags |= 0x20;
        FAIL(ENOSPC, EOF);
    }
    return REAL(int (*)(FILE *), "fflush")(file);
}

EXPORT int fsync(int fd) {
    if (FAILS("fsync")) FAIL(EIO, -1);
    return (int)syscall(SYS_fsync, fd);
}

EXPORT int rename(const char *from, const char *to) {
    if (FAILS("rename")) FAIL(EIO, -1);
    return (int)syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
}

EXPORT int renameat(int from_folder, const char *from, int to_folder, const char *to) {
    if (FAILS("rename")) FAIL(EIO, -1);
    return (int)syscall(SYS_renameat, from_folder, from, to_folder, to);
}

/* ---- threads and libraries ------------------------------------------------------------------- */

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*body)(void *), void *user) {
    if (FAILS("pthread_create")) return EAGAIN;
    return REAL(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *), "pthread_create")(thread, how,
                                                                                                           body, user);
}

EXPORT void *dlopen(const char *name, int flags) {
    if (FAILS("dlopen")) return NULL;
    return REAL(void *(*)(const char *, int), "dlopen")(name, flags);
}
