/* Notes as files. They are advice: whatever is wrong with one, it is removed and the run goes on without it. */
#include "cache/notes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium/crypto_hash_sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "cache/file.h"

#define HEAD "stentor tuned 1\nsha256 "
#define TEMP ".tmp-"
enum { HEAD_SIZE = sizeof HEAD - 1 + 64 + 1, TOUCH_SECONDS = 60, TEMP_SECONDS = 3600, SPARE_SECONDS = 24 * 3600 };

/* ---- one file ---------------------------------------------------------------------------------------------------- */

/* The checksum is over the key too: a note under another key's name is damaged. */
static void checksum(const stn_key *key, const char *text, size_t size, char hex[65]) {
    stn_key sum;
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, key->bytes, sizeof key->bytes);
    crypto_hash_sha256_update(&state, (const unsigned char *)text, size);
    crypto_hash_sha256_final(&state, sum.bytes);
    stn_key_hex(&sum, hex);
}

static int open_folder(stn_folder *folder, bool create) {
    int root = stn_folder_open(folder, create);
    if (root < 0) return -1;
    int notes = stn_folder_open_sub(folder, root, STN_NOTES_FOLDER, create);
    int why = errno;
    close(root);
    errno = why;
    return notes;
}

bool stn_notes_any(const stn_folder *folder) {
    char path[PATH_MAX];
    if (!folder->path) return false;
    int size = snprintf(path, sizeof path, "%s/%s", folder->path, STN_NOTES_FOLDER);
    return size < (int)sizeof path && !access(path, F_OK);
}

/* The whole file into image[STN_NOTE_MAX + 1]; the size, or -1. */
static ssize_t read_whole(int file, char *image) {
    size_t done = 0;
    while (done <= STN_NOTE_MAX) {
        ssize_t got = read(file, image + done, STN_NOTE_MAX + 1 - done);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

/* NULL with a copy of the text, or what is wrong with the image. */
static const char *decode(const stn_key *key, const char *image, size_t size, char **text) {
    char hex[65];
    if (size > STN_NOTE_MAX) return "it is too long";
    if (size < HEAD_SIZE || memcmp(image, HEAD, sizeof HEAD - 1))
        return "its first lines are not those of this version";
    checksum(key, image + HEAD_SIZE, size - HEAD_SIZE, hex);
    if (memcmp(image + sizeof HEAD - 1, hex, 64) || image[HEAD_SIZE - 1] != '\n') return "its checksum is wrong";
    if (memchr(image + HEAD_SIZE, '\0', size - HEAD_SIZE)) return "it is not a text";
    *text = strndup(image + HEAD_SIZE, size - HEAD_SIZE);
    return *text ? NULL : "there is no memory for it";
}

/* NULL with *text, "" where there is no such file, or what is wrong with it. */
static const char *read_note(const stn_folder *folder, int notes, const char *name, const stn_key *key, bool use,
                             char **text) {
    struct stat status;
    const char *fault;
    *text = NULL;
    int file = openat(notes, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return errno == ELOOP ? "it is a symlink" : "";
    char *image = malloc(STN_NOTE_MAX + 1);
    ssize_t size = 0;
    if (!image || fstat(file, &status))
        fault = "";
    else if (!S_ISREG(status.st_mode))
        fault = "it is not a plain file";
    else if (stn_folder_distrust(folder, &status))
        fault = "others own it or may write it";
    else if ((size = read_whole(file, image)) < 0)
        fault = "";
    else
        fault = decode(key, image, (size_t)size, text);
    if (!fault && use && time(NULL) - status.st_mtime > TOUCH_SECONDS) (void)futimens(file, NULL);
    free(image);
    close(file);
    return fault;
}

bool stn_notes_find(stn_folder *folder, const stn_key *key, char **text) {
    char name[65];
    *text = NULL;
    int notes = open_folder(folder, false);
    if (notes < 0) return false;
    stn_key_hex(key, name);
    const char *fault = read_note(folder, notes, name, key, true, text);
    if (fault && *fault) {
        stn_log(folder->logger, STN_LOG_INFO, "the measured times in %s/%s/%s are removed: %s", folder->path,
                STN_NOTES_FOLDER, name, fault);
        (void)unlinkat(notes, name, 0);
    }
    close(notes);
    return !fault;
}

bool stn_notes_remove(stn_folder *folder, const stn_key *key) {
    char name[65];
    int notes = open_folder(folder, false);
    if (notes < 0) return false;
    stn_key_hex(key, name);
    bool gone = !unlinkat(notes, name, 0);
    close(notes);
    return gone;
}

/* One attempt; errno ENOENT: the folder vanished meanwhile. */
static bool put(stn_folder *folder, const char *name, const char *image, size_t size) {
    int notes = open_folder(folder, true);
    if (notes < 0) return false;
    bool good = stn_file_put(notes, TEMP, name, folder->shared ? 0666 : 0600, image, size, true);
    int why = errno;
    close(notes);
    errno = why;
    return good;
}

void stn_notes_store(stn_folder *folder, const stn_key *key, const char *text) {
    char name[65], sum[65], *image = NULL;
    if (!folder->path || strlen(text) > STN_NOTE_MAX - HEAD_SIZE) return;
    checksum(key, text, strlen(text), sum);
    stn_key_hex(key, name);
    int size = asprintf(&image, "%s%s\n%s", HEAD, sum, text);
    if (size < 0) return;
    bool good = false;
    for (int attempt = 0; attempt < 3 && !good; attempt++) {
        good = put(folder, name, image, (size_t)size);
        if (!good && errno != ENOENT) break;
    }
    free(image);
    stn_cache_sweep sweep = {0};
    if (good)
        (void)stn_notes_sweep(folder, STN_NOTES_OLD, STN_NOTES_MOST, 0, &sweep, NULL);
    else
        stn_folder_warn(folder, "measured times are not remembered, as the cache folder %s cannot be written: %s",
                        folder->path, strerror(errno));
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

typedef struct note {
    char name[65];
    stn_key key;
    uint64_t bytes;
    int64_t used;
} note;
typedef struct list {
    note *notes;
    size_t count, capacity;
} list;

static bool add(list *all, const char *name, const stn_key *key, const struct stat *status) {
    if (all->count == all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : 64;
        note *grown = realloc(all->notes, capacity * sizeof *grown);
        if (!grown) return false;
        all->notes = grown;
        all->capacity = capacity;
    }
    note *added = &all->notes[all->count++];
    *added = (note){.key = *key, .bytes = (uint64_t)status->st_size, .used = status->st_mtime};
    snprintf(added->name, sizeof added->name, "%.64s", name);
    return true;
}

static int by_name(const void *a, const void *b) { return strcmp(((const note *)a)->name, ((const note *)b)->name); }
static int by_use(const void *a, const void *b) {
    const note *x = a, *y = b;
    return x->used < y->used ? -1 : x->used > y->used ? 1 : by_name(a, b);
}

static void drop_old_temporary(int notes, const char *name) {
    struct stat status;
    if (!strncmp(name, TEMP, strlen(TEMP)) && !fstatat(notes, name, &status, AT_SYMLINK_NOFOLLOW) &&
        time(NULL) - status.st_mtime > TEMP_SECONDS)
        (void)unlinkat(notes, name, 0);
}

/* Files that bear a key's name. *notes is open, or -1 where there is no folder. */
static stn_status scan(stn_folder *folder, bool clean, int *notes, list *all, stn_error *error) {
    *all = (list){0};
    *notes = open_folder(folder, false);
    if (*notes < 0) return STN_OK;
    int copy = fcntl(*notes, F_DUPFD_CLOEXEC, 0);
    DIR *items = copy < 0 ? NULL : fdopendir(copy);
    if (!items) {
        if (copy >= 0) close(copy);
        close(*notes);
        *notes = -1;
        return STN_OK;
    }
    bool good = true;
    rewinddir(items);
    for (struct dirent *item; good && (item = readdir(items));) {
        struct stat status;
        stn_key key;
        if (clean) drop_old_temporary(*notes, item->d_name);
        if (!stn_key_parse(item->d_name, &key) || fstatat(*notes, item->d_name, &status, AT_SYMLINK_NOFOLLOW) ||
            S_ISDIR(status.st_mode))
            continue;
        good = add(all, item->d_name, &key, &status);
    }
    closedir(items);
    if (all->count) qsort(all->notes, all->count, sizeof *all->notes, by_name);
    if (good) return STN_OK;
    free(all->notes);
    close(*notes);
    return stn_fail_memory(error, "the list of measured times", (all->count + 1) * sizeof(note));
}

stn_status stn_notes_each(stn_folder *folder, stn_notes_visit visit, void *user, stn_error *error) {
    list all;
    int notes;
    STN_TRY(scan(folder, false, &notes, &all, error));
    bool more = true;
    for (size_t i = 0; i < all.count && more; i++) {
        char *text;
        const note *each = &all.notes[i];
        const char *fault = read_note(folder, notes, each->name, &each->key, false, &text);
        if (fault && !*fault) continue; /* gone meanwhile */
        more = visit(user, &(stn_note_item){each->key, each->bytes, each->used, text, fault});
        free(text);
    }
    free(all.notes);
    if (notes >= 0) close(notes);
    return STN_OK;
}

static bool is_damaged(const stn_folder *folder, int notes, const note *each) {
    char *text;
    const char *fault = read_note(folder, notes, each->name, &each->key, false, &text);
    free(text);
    return fault && *fault;
}

stn_status stn_notes_sweep(stn_folder *folder, stn_notes_purge what, size_t most, int64_t spare_seconds,
                           stn_cache_sweep *sweep, stn_error *error) {
    list all;
    int notes;
    if (spare_seconds < 0) spare_seconds = SPARE_SECONDS;
    STN_TRY(scan(folder, what == STN_NOTES_OLD, &notes, &all, error));
    if (all.count) qsort(all.notes, all.count, sizeof *all.notes, by_use);
    size_t left = all.count;
    int64_t now = time(NULL);
    for (size_t i = 0; i < all.count; i++) {
        const note *each = &all.notes[i];
        bool damaged = what == STN_NOTES_DAMAGED && is_damaged(folder, notes, each);
        bool old = what == STN_NOTES_OLD && left > most && now - each->used >= spare_seconds;
        bool gone = (damaged || old || what == STN_NOTES_ALL) && !unlinkat(notes, each->name, 0);
        left -= gone;
        sweep->removed_files += gone;
        sweep->removed_bytes += gone ? each->bytes : 0;
        sweep->damaged += gone && damaged;
        sweep->notes += !gone;
        sweep->bytes += gone ? 0 : each->bytes;
    }
    free(all.notes);
    if (notes >= 0) close(notes);
    return STN_OK;
}
