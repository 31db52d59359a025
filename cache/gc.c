/* The folder as a whole: listing, checking, least-recently-used removal, clearing. Only files that bear the cache's
 * names are touched. */
#include "cache/gc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

enum { TEMP_SECONDS = 3600, SPARE_SECONDS = 24 * 3600 };

typedef enum file_kind { FILE_ENTRY, FILE_TEMP, FILE_PARAMS, FILE_ALIAS, FILE_OTHER } file_kind;

typedef struct file {
    char sub[3];
    char name[STN_DISK_NAME + 16];
    file_kind kind;
    uint64_t bytes;
    int64_t used;
} file;

typedef struct files {
    file *list;
    size_t count, capacity;
} files;

static file_kind kind_of(const char *name) {
    if (!strncmp(name, STN_DISK_TEMP, strlen(STN_DISK_TEMP))) return FILE_TEMP;
    if (strspn(name, "0123456789abcdef") != STN_DISK_NAME - 1) return FILE_OTHER;
    const char *suffix = name + STN_DISK_NAME - 1;
    if (!*suffix) return FILE_ENTRY;
    if (!strcmp(suffix, STN_DISK_PARAMS)) return FILE_PARAMS;
    return strcmp(suffix, STN_DISK_ALIAS) ? FILE_OTHER : FILE_ALIAS;
}

static bool add_file(files *all, const char *sub, const char *name, const struct stat *status) {
    if (all->count == all->capacity) {
        size_t capacity = all->capacity ? 2 * all->capacity : 256;
        file *grown = realloc(all->list, capacity * sizeof *grown);
        if (!grown) return false;
        all->list = grown;
        all->capacity = capacity;
    }
    file *added = &all->list[all->count++];
    *added = (file){.kind = kind_of(name), .bytes = (uint64_t)status->st_size, .used = status->st_mtime};
    memcpy(added->sub, sub, 3);
    snprintf(added->name, sizeof added->name, "%s", name);
    return true;
}

/* Adds what one subfolder holds; takes the descriptor. False: no memory. */
static bool scan_sub(files *all, int sub, const char *sub_name) {
    DIR *folder = fdopendir(sub);
    if (!folder) {
        close(sub);
        return errno != ENOMEM;
    }
    bool good = true;
    for (struct dirent *item; good && (item = readdir(folder));) {
        struct stat status;
        if (kind_of(item->d_name) == FILE_OTHER || strlen(item->d_name) >= sizeof all->list->name) continue;
        if (fstatat(dirfd(folder), item->d_name, &status, AT_SYMLINK_NOFOLLOW) || S_ISDIR(status.st_mode)) continue;
        good = add_file(all, sub_name, item->d_name, &status);
    }
    closedir(folder);
    return good;
}

static int by_name(const void *a, const void *b) {
    const file *x = a, *y = b;
    int order = strcmp(x->sub, y->sub);
    return order ? order : strcmp(x->name, y->name);
}

static int by_use(const void *a, const void *b) {
    const file *x = a, *y = b;
    return x->used < y->used ? -1 : x->used > y->used ? 1 : by_name(a, b);
}

/* Everything in the folder that is the cache's. *root is open (or -1 when there is no folder yet: nothing is listed).
 */
static stn_status scan(stn_disk *disk, int *root, files *all, stn_error *error) {
    *all = (files){0};
    *root = -1;
    if (!disk->folder.path)
        return stn_fail(error, STN_ERROR_IO, "there is no cache folder: %s",
                        *disk->folder.problem ? disk->folder.problem : "the cache is in memory only");
    *root = stn_folder_open(&disk->folder, false);
    if (*root < 0 && errno == ENOENT) return STN_OK;
    if (*root < 0) return stn_fail(error, STN_ERROR_IO, "%s", disk->folder.problem);
    for (int i = 0; i < 256; i++) {
        char name[3];
        snprintf(name, sizeof name, "%02x", i);
        int sub = stn_folder_open_sub(&disk->folder, *root, name, false);
        if (sub < 0 || scan_sub(all, sub, name)) continue;
        free(all->list);
        close(*root);
        *root = -1;
        return stn_fail_memory(error, "the list of stored kernels", (all->count + 1) * sizeof(file));
    }
    if (all->count) qsort(all->list, all->count, sizeof(file), by_name);
    return STN_OK;
}

static void done(int root, files *all) {
    free(all->list);
    if (root >= 0) close(root);
}

static void key_of(const file *entry, stn_key *key) {
    char hex[65];
    memcpy(hex, entry->sub, 2);
    memcpy(hex + 2, entry->name, STN_DISK_NAME);
    (void)stn_key_parse(hex, key); /* kind_of saw only hex digits */
}

stn_status stn_disk_keys(stn_disk *disk, void (*visit)(void *user, const stn_key *key), void *user, stn_error *error) {
    files all;
    int root;
    STN_TRY(scan(disk, &root, &all, error));
    for (size_t i = 0; i < all.count; i++) {
        if (all.list[i].kind != FILE_ENTRY) continue;
        stn_key key;
        key_of(&all.list[i], &key);
        visit(user, &key);
    }
    done(root, &all);
    return STN_OK;
}

stn_status stn_disk_each(stn_disk *disk, stn_cache_visit visit, void *user, stn_error *error) {
    files all;
    int root;
    STN_TRY(scan(disk, &root, &all, error));
    bool more = true;
    for (size_t i = 0; i < all.count && more; i++) {
        if (all.list[i].kind != FILE_ENTRY) continue;
        int sub = stn_folder_open_sub(&disk->folder, root, all.list[i].sub, false);
        if (sub < 0) continue;
        stn_cache_item item = {.bytes = all.list[i].bytes, .used = all.list[i].used};
        stn_entry entry = {0};
        stn_error why = {0};
        struct stat status;
        key_of(&all.list[i], &item.key);
        stn_status result = stn_disk_read(disk, sub, all.list[i].name, &item.key, &entry, &status, &why, false);
        if (result == STN_OK)
            item.entry = &entry;
        else
            item.fault = why.message;
        if (result != STN_ERROR_IO || faccessat(sub, all.list[i].name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
            more = visit(user, &item);
        stn_entry_clear(&entry);
        close(sub);
    }
    done(root, &all);
    return STN_OK;
}

static bool remove_file(stn_disk *disk, int root, const file *which, stn_cache_sweep *sweep) {
    int sub = stn_folder_open_sub(&disk->folder, root, which->sub, false);
    bool gone = sub >= 0 && !unlinkat(sub, which->name, 0);
    if (gone) {
        sweep->removed_files++;
        sweep->removed_bytes += which->bytes;
    }
    if (sub >= 0) close(sub);
    return gone;
}

static bool has_entry(const files *all, const char *sub, const char *name) {
    file wanted = {.kind = FILE_ENTRY};
    memcpy(wanted.sub, sub, 2);
    memcpy(wanted.name, name, STN_DISK_NAME - 1);
    return bsearch(&wanted, all->list, all->count, sizeof(file), by_name) != NULL;
}

/* True if an alias names an entry that is there. */
static bool alias_serves(stn_disk *disk, int root, const files *all, const file *alias) {
    char target[STN_DISK_NAME + 2];
    int sub = stn_folder_open_sub(&disk->folder, root, alias->sub, false);
    ssize_t size = sub < 0 ? -1 : readlinkat(sub, alias->name, target, sizeof target);
    if (sub >= 0) close(sub);
    return size == 64 && has_entry(all, target, target + 2);
}

/* Old temporaries (of writers that were killed), sources and aliases whose entry is gone; call with the list by name.
 */
static void remove_leftovers(stn_disk *disk, int root, files *all, int64_t now, stn_cache_sweep *sweep) {
    for (size_t i = 0; i < all->count; i++) {
        const file *each = &all->list[i];
        bool old = now - each->used > TEMP_SECONDS;
        if ((each->kind == FILE_TEMP && old) ||
            (each->kind == FILE_PARAMS && old && !has_entry(all, each->sub, each->name)) ||
            (each->kind == FILE_ALIAS && old && !alias_serves(disk, root, all, each)))
            (void)remove_file(disk, root, each, sweep);
    }
}

stn_status stn_disk_gc(stn_disk *disk, int64_t spare_seconds, stn_cache_sweep *sweep, stn_error *error) {
    files all;
    int root;
    *sweep = (stn_cache_sweep){0};
    if (spare_seconds < 0) spare_seconds = SPARE_SECONDS;
    STN_TRY(scan(disk, &root, &all, error));
    int64_t now = time(NULL);
    remove_leftovers(disk, root, &all, now, sweep);
    for (size_t i = 0; i < all.count; i++)
        if (all.list[i].kind == FILE_ENTRY) {
            sweep->files++;
            sweep->bytes += all.list[i].bytes;
        }
    if (all.count) qsort(all.list, all.count, sizeof(file), by_use);
    for (size_t i = 0; i < all.count; i++) {
        const file *each = &all.list[i];
        if (each->kind != FILE_ENTRY) continue;
        if (sweep->files <= disk->max_files && sweep->bytes <= disk->max_bytes) break;
        if (now - each->used < spare_seconds) break; /* those that follow were used later still */
        if (!remove_file(disk, root, each, sweep)) continue;
        sweep->files--;
        sweep->bytes -= each->bytes;
    }
    done(root, &all);
    return STN_OK;
}

stn_status stn_disk_clear(stn_disk *disk, stn_cache_sweep *sweep, stn_error *error) {
    files all;
    int root;
    *sweep = (stn_cache_sweep){0};
    STN_TRY(scan(disk, &root, &all, error));
    for (size_t i = 0; i < all.count; i++)
        if (!remove_file(disk, root, &all.list[i], sweep) && all.list[i].kind == FILE_ENTRY) {
            sweep->files++;
            sweep->bytes += all.list[i].bytes;
        }
    done(root, &all);
    return STN_OK;
}

typedef struct verifying {
    stn_disk *disk;
    stn_cache_sweep *sweep;
} verifying;

static bool verify_one(void *user, const stn_cache_item *item) {
    verifying *run = user;
    if (item->fault && stn_disk_remove(run->disk, &item->key)) {
        run->sweep->damaged++;
        run->sweep->removed_files++;
        run->sweep->removed_bytes += item->bytes;
    } else {
        run->sweep->files++;
        run->sweep->bytes += item->bytes;
    }
    return true;
}

stn_status stn_disk_verify(stn_disk *disk, stn_cache_sweep *sweep, stn_error *error) {
    *sweep = (stn_cache_sweep){0};
    return stn_disk_each(disk, verify_one, &(verifying){disk, sweep}, error);
}

void stn_disk_sweep(stn_disk *disk) {
    stn_cache_sweep sweep;
    stn_error error;
    if (stn_disk_gc(disk, -1, &sweep, &error) == STN_OK && sweep.removed_files)
        stn_log(disk->folder.logger, STN_LOG_DEBUG, "%llu files (%llu bytes) were removed from the cache folder %s",
                (unsigned long long)sweep.removed_files, (unsigned long long)sweep.removed_bytes, disk->folder.path);
}
