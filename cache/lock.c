/* One lock per key between processes: a one-byte range of one lock file, at the offset that the key
 * gives. The kernel releases it when the holder dies. The file is never removed, so that two
 * processes cannot lock different files. The lock belongs to the open file description, so that
 * threads exclude each other as well. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "cache/folder.h"
#include "cache/format.h"

static int open_lock(stn_folder *folder) {
    int root = stn_folder_open(folder, true);
    if (root < 0) return -1;
    int fd = openat(root, STN_LOCK_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK,
                    folder->shared ? 0666 : 0600);
    close(root);
    return fd;
}

/* True if the open file is still the one under the lock's name. */
static bool is_current(stn_folder *folder, int fd) {
    struct stat held, named;
    const int root = stn_folder_open(folder, false);
    const bool same = root >= 0 && !fstat(fd, &held) && !fstatat(root, STN_LOCK_NAME, &named, AT_SYMLINK_NOFOLLOW) &&
                      held.st_ino == named.st_ino && held.st_dev == named.st_dev;
    if (root >= 0) close(root);
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
    int why = EAGAIN;
    /* If the folder was removed or moved and made again meanwhile, others lock another file: try
     * again. */
    for (int attempt = 0; attempt < 3; attempt++) {
        const int lock = open_lock(folder);
        if (lock < 0) return -1;
        const bool held = wait_for(lock, key, deadline);
        why = held ? EAGAIN : errno;
        if (held && is_current(folder, lock)) return lock;
        close(lock);
        if (!held) break;
    }
    errno = why;
    return -1;
}

void stn_cache_unlock(int lock) {
    if (lock >= 0) close(lock);
}
