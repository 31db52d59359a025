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

#define TEMP ".tmp-"
enum { TOUCH_SECONDS = 60, TEMP_SECONDS = 3600, SPARE_SECONDS = 24 * 3600 };

const stn_notes stn_notes_tuned = {"tuned", "stentor tuned 1\nsha256 ", "measured times", 1024, true};

/* Bytes before the text: the head, the checksum, the end of its line. */
static size_t head_size(const stn_notes *of) { return strlen(of->head) + 64 + 1; }

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

static int open_folder(stn_folder *folder, const stn_notes *of, bool create) {
    int root = stn_folder_open(folder, create);
    if (root < 0) return -1;
    int notes = stn_folder_open_sub(folder, root, of->folder, create);
    int why = errno;
    close(root);
    errno = why;
    return notes;
}

bool stn_notes_any(const stn_folder *folder, const stn_notes *of) {
    char path[PATH_MAX];
    if (!folder->path) return false;
    int size = snprintf(path, sizeof path, "%s/%s", folder->path, of->folder);
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

typedef enum note_state { NOTE_GOOD, NOTE_ABSENT, NOTE_UNREAD, NOTE_DAMAGED } note_state;

/* What was found under a note's name. */
typedef struct finding {
    note_state state;
    const char *fault;  /* of what is unread or damaged, else NULL */
    char *text;         /* of a good one; freed with free() */
    struct stat status; /* of a damaged one */
} finding;

static note_state conclude(finding *f, note_state state, const char *fault) {
    f->fault = fault;
    return f->state = state;
}

static note_state decode(const stn_notes *of, const stn_key *key, const char *image, size_t size, finding *f) {
    char hex[65];
    const size_t head = head_size(of);
    if (size > STN_NOTE_MAX) return conclude(f, NOTE_DAMAGED, "it is too long");
    if (size < head || memcmp(image, of->head, strlen(of->head)))
        return conclude(f, NOTE_DAMAGED, "its first lines are not those of this version");
    checksum(key, image + head, size - head, hex);
    if (memcmp(image + strlen(of->head), hex, 64) || image[head - 1] != '\n')
        return conclude(f, NOTE_DAMAGED, "its checksum is wrong");
    if (memchr(image + head, '\0', size - head)) return conclude(f, NOTE_DAMAGED, "it is not a text");
    f->text = strndup(image + head, size - head);
    return f->text ? NOTE_GOOD : conclude(f, NOTE_UNREAD, "there is no memory for it");
}

/* An opened note into the image's STN_NOTE_MAX + 1 bytes (NULL: there was no memory for them). */
static note_state examine(const stn_folder *folder, const stn_notes *of, int file, const stn_key *key, char *image,
                          finding *f) {
    ssize_t size;
    if (!image) return conclude(f, NOTE_UNREAD, "there is no memory for it");
    if (fstat(file, &f->status)) return conclude(f, NOTE_UNREAD, "it cannot be examined");
    if (!S_ISREG(f->status.st_mode)) return conclude(f, NOTE_DAMAGED, "it is not a plain file");
    if (stn_folder_distrust(folder, &f->status)) return conclude(f, NOTE_DAMAGED, "others own it or may write it");
    if ((size = read_whole(file, image)) < 0) return conclude(f, NOTE_UNREAD, "it cannot be read");
    return decode(of, key, image, (size_t)size, f);
}

static void read_note(const stn_folder *folder, const stn_notes *of, int notes, const char *name, const stn_key *key,
                      bool use, finding *f) {
    *f = (finding){.state = NOTE_GOOD};
    int file = openat(notes, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        if (errno == ELOOP && !fstatat(notes, name, &f->status, AT_SYMLINK_NOFOLLOW))
            (void)conclude(f, NOTE_DAMAGED, "it is a symlink");
        else
            (void)conclude(f, errno == ENOENT ? NOTE_ABSENT : NOTE_UNREAD,
                           errno == ENOENT ? NULL : "it cannot be opened");
        return;
    }
    char *image = malloc(STN_NOTE_MAX + 1);
    (void)examine(folder, of, file, key, image, f);
    if (f->state == NOTE_GOOD && use && time(NULL) - f->status.st_mtime > TOUCH_SECONDS) (void)futimens(file, NULL);
    free(image);
    close(file);
}

bool stn_notes_find(stn_folder *folder, const stn_notes *of, const stn_key *key, char **text) {
    char name[65];
    *text = NULL;
    int notes = open_folder(folder, of, false);
    if (notes < 0) return false;
    stn_key_hex(key, name);
    finding f;
    read_note(folder, of, notes, name, key, true, &f);
    if (f.state == NOTE_DAMAGED) {
        stn_log(folder->logger, STN_LOG_INFO, "the %s in %s/%s/%s is removed: %s", of->what, folder->path, of->folder,
                name, f.fault);
        (void)stn_file_remove_seen(notes, name, &f.status);
    }
    close(notes);
    *text = f.text;
    return f.state == NOTE_GOOD;
}

bool stn_notes_remove(stn_folder *folder, const stn_notes *of, const stn_key *key) {
    char name[65];
    int notes = open_folder(folder, of, false);
    if (notes < 0) return false;
    stn_key_hex(key, name);
    bool gone = stn_file_remove(notes, name);
    close(notes);
    return gone;
}

/* One attempt; errno ENOENT: the folder vanished meanwhile. */
static bool put(stn_folder *folder, const stn_notes *of, const char *name, const char *image, size_t size) {
    int notes = open_folder(folder, of, true);
    if (notes < 0) return false;
    bool good = stn_file_put(notes, TEMP, name, folder->shared ? 0666 : 0600, image, size, of->sync);
    int why = errno;
    close(notes);
    errno = why;
    return good;
}

void stn_notes_store(stn_folder *folder, const stn_notes *of, const stn_key *key, const char *text) {
    char name[65], sum[65], *image = NULL;
    if (!folder->path || strlen(text) > STN_NOTE_MAX - head_size(of)) return;
    checksum(key, text, strlen(text), sum);
    stn_key_hex(key, name);
    int size = asprintf(&image, "%s%s\n%s", of->head, sum, text);
    if (size < 0) return;
    bool good = false;
    for (int attempt = 0; attempt < 3 && !good; attempt++) {
        good = put(folder, of, name, image, (size_t)size);
        if (!good && errno != ENOENT) break;
    }
    free(image);
    stn_cache_sweep sweep = {0};
    if (good)
        (void)stn_notes_sweep(folder, of, STN_NOTES_OLD, of->most, 0, &sweep, NULL);
    else
        stn_folder_warn(folder, "%s: not remembered, as the cache folder %s cannot be written: %s", of->what,
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
    bool hidden; /* the folder is there but could not be looked into */
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

/* What bears a key's name, a folder too. *notes is open, or -1 where nothing can be listed. */
static stn_status scan(stn_folder *folder, const stn_notes *of, bool clean, int *notes, list *all, stn_error *error) {
    *all = (list){0};
    *notes = open_folder(folder, of, false);
    if (*notes < 0) {
        all->hidden = folder->path && errno != ENOENT;
        return STN_OK;
    }
    int copy = fcntl(*notes, F_DUPFD_CLOEXEC, 0);
    DIR *items = copy < 0 ? NULL : fdopendir(copy);
    if (!items) {
        if (copy >= 0) close(copy);
        close(*notes);
        *notes = -1;
        all->hidden = true;
        return STN_OK;
    }
    bool good = true;
    rewinddir(items);
    for (struct dirent *item; good && (item = readdir(items));) {
        struct stat status;
        stn_key key;
        if (clean) drop_old_temporary(*notes, item->d_name);
        if (!stn_key_parse(item->d_name, &key) || fstatat(*notes, item->d_name, &status, AT_SYMLINK_NOFOLLOW)) continue;
        good = add(all, item->d_name, &key, &status);
    }
    closedir(items);
    if (all->count) qsort(all->notes, all->count, sizeof *all->notes, by_name);
    if (good) return STN_OK;
    free(all->notes);
    close(*notes);
    return stn_fail_memory(error, "the list of measured times", (all->count + 1) * sizeof(note));
}

stn_status stn_notes_each(stn_folder *folder, const stn_notes *of, stn_notes_visit visit, void *user,
                          stn_error *error) {
    list all;
    int notes;
    STN_TRY(scan(folder, of, false, &notes, &all, error));
    bool more = true;
    for (size_t i = 0; i < all.count && more; i++) {
        const note *each = &all.notes[i];
        finding f;
        read_note(folder, of, notes, each->name, &each->key, false, &f);
        const stn_note_item item = {.key = each->key,
                                    .bytes = each->bytes,
                                    .used = each->used,
                                    .text = f.text,
                                    .fault = f.fault,
                                    .damaged = f.state == NOTE_DAMAGED};
        if (f.state != NOTE_ABSENT) more = visit(user, &item);
        free(f.text);
    }
    free(all.notes);
    if (notes >= 0) close(notes);
    return STN_OK;
}

/* True if it was damaged and is gone; what cannot be read, or not be removed, is named and left. */
static bool remove_damaged(const stn_folder *folder, const stn_notes *of, int notes, const note *each,
                           stn_cache_sweep *sweep) {
    finding f;
    read_note(folder, of, notes, each->name, &each->key, false, &f);
    free(f.text);
    if (f.state == NOTE_GOOD || f.state == NOTE_ABSENT) return false;
    if (f.state == NOTE_DAMAGED) {
        stn_log(folder->logger, STN_LOG_INFO, "the %s in %s/%s/%s is removed: %s", of->what, folder->path, of->folder,
                each->name, f.fault);
        if (stn_file_remove_seen(notes, each->name, &f.status)) return true;
        if (errno == ESTALE || errno == ENOENT) return false;
    }
    stn_log(folder->logger, STN_LOG_WARNING, "%s/%s/%s is left: %s", folder->path, of->folder, each->name, f.fault);
    sweep->left++;
    return false;
}

stn_status stn_notes_sweep(stn_folder *folder, const stn_notes *of, stn_notes_purge what, size_t most,
                           int64_t spare_seconds, stn_cache_sweep *sweep, stn_error *error) {
    list all;
    int notes;
    if (spare_seconds < 0) spare_seconds = SPARE_SECONDS;
    STN_TRY(scan(folder, of, what == STN_NOTES_OLD, &notes, &all, error));
    if (all.count) qsort(all.notes, all.count, sizeof *all.notes, by_use);
    if (all.hidden && what == STN_NOTES_DAMAGED) {
        stn_log(folder->logger, STN_LOG_WARNING, "%s/%s is left: it cannot be looked into", folder->path, of->folder);
        sweep->left++;
    }
    size_t left = all.count;
    int64_t now = time(NULL);
    for (size_t i = 0; i < all.count; i++) {
        const note *each = &all.notes[i];
        bool damaged = what == STN_NOTES_DAMAGED && remove_damaged(folder, of, notes, each, sweep);
        bool old = what == STN_NOTES_OLD && left > most && now - each->used >= spare_seconds;
        bool gone = damaged || ((old || what == STN_NOTES_ALL) && stn_file_remove(notes, each->name));
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
