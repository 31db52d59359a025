/* The files of the cache's folder: names, reading, listing, checking, removal of least recently
 * used entries, clearing. Only files with the cache's names are touched. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "cache/atomic_file.h"
#include "cache/cache.h"
#include "cache/wisdom.h"

enum { TEMP_SECONDS = 3600, SPARE_SECONDS = 24 * 3600 };

typedef enum file_kind { FILE_ENTRY, FILE_TEMP, FILE_OTHER } file_kind;

typedef struct file {
    char sub[3];
    char name[STN_FILE_NAME + 16];
    file_kind kind;
    uint64_t bytes;
    int64_t used;
} file;

typedef struct files {
    int root; /* the opened folder; -1: there is none */
    file *list;
    size_t count;
    size_t hidden; /* subfolders that exist but cannot be read (stn_folder_open_sub warns) */
} files;

void stn_cache_file_name(const stn_key *key, char sub[3], char name[STN_FILE_NAME]) {
    char hex[65];
    stn_key_hex(key, hex);
    memcpy(sub, hex, 2);
    sub[2] = '\0';
    memcpy(name, hex + 2, STN_FILE_NAME);
}

stn_status stn_cache_read_file(const stn_cache *cache, int sub, const char *name, const stn_key *key, stn_entry *entry,
                               struct stat *status, stn_error *error, bool use) {
    char *image;
    stn_key own;
    STN_TRY(stn_file_read(&cache->folder, sub, name, STN_ENTRY_HEADER, STN_ENTRY_MAX, use, &image, status, error));
    stn_status result = stn_entry_decode((const unsigned char *)image, (size_t)status->st_size, &own, entry, error);
    free(image);
    if (result != STN_OK || !memcmp(&own, key, sizeof own)) return result;
    stn_entry_clear(entry);
    return stn_fail(error, STN_ERROR_FORMAT, "it is the entry of another key");
}

static file_kind kind_of(const char *name) {
    if (!strncmp(name, STN_TEMP, strlen(STN_TEMP))) return FILE_TEMP;
    if (strspn(name, "0123456789abcdef") != STN_FILE_NAME - 1) return FILE_OTHER;
    return name[STN_FILE_NAME - 1] ? FILE_OTHER : FILE_ENTRY;
}

static bool add_file(files *all, const char *sub, const char *name, const struct stat *status) {
    file *resized = realloc(all->list, (all->count + 1) * sizeof *resized);
    if (!resized) return false;
    all->list = resized;
    file *added = &all->list[all->count++];
    *added = (file){.kind = kind_of(name), .bytes = (uint64_t)status->st_size, .used = status->st_mtime};
    memcpy(added->sub, sub, 3);
    snprintf(added->name, sizeof added->name, "%s", name);
    return true;
}

static void finish(files *all) {
    free(all->list);
    stn_folder_close(all->root);
}

/* Lists one subfolder; takes over the descriptor. False: out of memory. A folder under an entry's
 * name is listed too, so that it is reported. */
static bool scan_sub(files *all, int sub, const char *sub_name) {
    DIR *folder = fdopendir(sub);
    if (!folder) {
        stn_folder_close(sub);
        all->hidden++;
        return errno != ENOMEM;
    }
    bool good = true;
    for (struct dirent *item; good && (item = readdir(folder));) {
        struct stat status;
        file_kind kind = kind_of(item->d_name);
        if (kind == FILE_OTHER || strlen(item->d_name) >= sizeof all->list->name) continue;
        if (fstatat(dirfd(folder), item->d_name, &status, AT_SYMLINK_NOFOLLOW)) continue;
        if (kind == FILE_ENTRY || !S_ISDIR(status.st_mode)) good = add_file(all, sub_name, item->d_name, &status);
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

/* Lists all files of the cache, none if there is no folder yet. Clears *counts (may be NULL), and
 * adds the subfolders that cannot be read. */
static stn_status scan(stn_cache *cache, files *all, stn_cache_collection *counts, stn_error *error) {
    *all = (files){.root = -1};
    if (counts) *counts = (stn_cache_collection){0};
    if (!cache->folder.path)
        return stn_fail(error, STN_ERROR_IO, "there is no cache folder: %s",
                        *cache->folder.problem ? cache->folder.problem : "the cache is in memory only");
    all->root = stn_folder_open(&cache->folder, false);
    if (all->root < 0 && errno == ENOENT) return STN_OK;
    if (all->root < 0) return stn_fail(error, STN_ERROR_IO, "%s", cache->folder.problem);
    for (int i = 0; i < 256; i++) {
        char name[3];
        snprintf(name, sizeof name, "%02x", i);
        int sub = stn_folder_open_sub(&cache->folder, all->root, name, false);
        all->hidden += sub < 0 && errno != ENOENT;
        if (sub < 0 || scan_sub(all, sub, name)) continue;
        finish(all);
        return stn_fail_memory(error, "the list of stored kernels", (all->count + 1) * sizeof(file));
    }
    if (all->count) qsort(all->list, all->count, sizeof(file), by_name);
    if (counts) counts->left = all->hidden;
    return STN_OK;
}

static void key_of(const file *entry, stn_key *key) {
    char hex[65];
    memcpy(hex, entry->sub, 2);
    memcpy(hex + 2, entry->name, STN_FILE_NAME);
    (void)stn_key_parse(hex, key); /* kind_of accepted only hex digits. */
}

stn_status stn_cache_resolve(stn_cache *cache, const char *prefix, stn_key *key, stn_error *error) {
    const size_t digits = strlen(prefix);
    files all;
    size_t found = 0;
    if (digits < 4 || digits > 64 || strspn(prefix, "0123456789abcdefABCDEF") != digits)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "\"%s\" is no key: give the first 4 to 64 hex digits that `stentor cache list` shows", prefix);
    STN_TRY(scan(cache, &all, NULL, error));
    for (size_t i = 0; i < all.count; i++) {
        char hex[65];
        stn_key own;
        if (all.list[i].kind != FILE_ENTRY) continue;
        key_of(&all.list[i], &own);
        stn_key_hex(&own, hex);
        if (strncasecmp(hex, prefix, digits) != 0) continue;
        *key = own;
        found++;
    }
    finish(&all);
    if (found == 1) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%zu stored kernels have a key that starts with %s: %s", found,
                    prefix, found ? "give more digits" : "`stentor cache list` shows the keys");
}

/* Reads one entry of an opened folder and visits it, unless its file no longer exists. */
static bool visit_one(stn_cache *cache, int root, const file *each, stn_cache_visit visit, void *user) {
    stn_entry entry = {0};
    stn_error why = {0};
    stn_cache_item item = {.bytes = each->bytes, .used = each->used};
    const int sub = stn_folder_open_sub(&cache->folder, root, each->sub, false);
    if (sub < 0 && errno == ENOENT) return true;
    key_of(each, &item.key);
    const stn_status status =
        sub < 0 ? stn_fail(&why, STN_ERROR_IO, "its folder cannot be opened")
                : stn_cache_read_file(cache, sub, each->name, &item.key, &entry, &item.seen, &why, false);
    const bool gone = sub >= 0 && status == STN_ERROR_IO && faccessat(sub, each->name, F_OK, AT_SYMLINK_NOFOLLOW);
    stn_folder_close(sub);
    item.damaged = status == STN_ERROR_FORMAT;
    item.entry = status == STN_OK ? &entry : NULL;
    item.fault = status == STN_OK ? NULL : why.message;
    const bool more = gone || visit(user, &item);
    stn_entry_clear(&entry);
    return more;
}

static void visit_all(stn_cache *cache, const files *all, stn_cache_visit visit, void *user) {
    bool more = true;
    for (size_t i = 0; i < all->count && more; i++)
        if (all->list[i].kind == FILE_ENTRY) more = visit_one(cache, all->root, &all->list[i], visit, user);
}

stn_status stn_cache_each(stn_cache *cache, stn_cache_visit visit, void *user, stn_error *error) {
    files all;
    STN_TRY(scan(cache, &all, NULL, error));
    visit_all(cache, &all, visit, user);
    finish(&all);
    return STN_OK;
}

/* A file that cannot be removed is counted, and named to the logger at this level. */
static bool remove_file(stn_cache *cache, int root, const file *which, stn_log_level level,
                        stn_cache_collection *counts) {
    int sub = stn_folder_open_sub(&cache->folder, root, which->sub, false);
    bool gone = sub >= 0 && stn_file_remove(sub, which->name);
    stn_folder_close(sub);
    if (gone)
        counts->removed_files++, counts->removed_bytes += which->bytes;
    else if (errno != ENOENT) {
        counts->left++;
        stn_log(cache->folder.logger, level, "%s/%s/%s is left: it cannot be removed (%s)", cache->folder.path,
                which->sub, which->name, strerror(errno));
    }
    return gone;
}

static stn_status collect(stn_cache *cache, int64_t spare_seconds, stn_log_level level, stn_cache_collection *counts,
                          stn_error *error) {
    files all;
    if (spare_seconds < 0) spare_seconds = SPARE_SECONDS;
    STN_TRY(scan(cache, &all, counts, error));
    int64_t now = time(NULL);
    for (size_t i = 0; i < all.count; i++)
        if (all.list[i].kind == FILE_ENTRY)
            counts->files++, counts->bytes += all.list[i].bytes;
        else if (now - all.list[i].used > TEMP_SECONDS) /* of a killed writer */
            (void)remove_file(cache, all.root, &all.list[i], level, counts);
    if (all.count) qsort(all.list, all.count, sizeof(file), by_use);
    for (size_t i = 0; i < all.count; i++) {
        const file *each = &all.list[i];
        if (each->kind != FILE_ENTRY) continue;
        if (counts->files <= cache->max_files && counts->bytes <= cache->max_bytes) break;
        if (now - each->used < spare_seconds) break; /* All following ones were used later. */
        if (remove_file(cache, all.root, each, level, counts)) counts->files--, counts->bytes -= each->bytes;
    }
    finish(&all);
    return STN_OK;
}

typedef struct verifying {
    stn_cache *cache;
    stn_cache_collection *counts;
} verifying;

/* Logs and removes a damaged entry; logs and keeps one that cannot be read or removed. */
static bool verify_one(void *user, const stn_cache_item *item) {
    const verifying *v = user;
    stn_folder *folder = &v->cache->folder;
    const char *left_because = "an unreadable entry may be intact";
    char sub_name[3], name[STN_FILE_NAME];
    stn_cache_file_name(&item->key, sub_name, name);
    if (item->damaged) {
        stn_log(folder->logger, STN_LOG_INFO, "the stored kernel %s/%s/%s is removed: %s", folder->path, sub_name, name,
                item->fault);
        const int sub = stn_folder_open_at(folder, sub_name, false);
        const bool gone = sub >= 0 && stn_file_remove_seen(sub, name, &item->seen);
        stn_folder_close(sub);
        if (gone) {
            stn_cache_add(v->cache, &v->cache->stats.rejected, 1);
            v->counts->damaged++, v->counts->removed_files++, v->counts->removed_bytes += item->bytes;
        }
        if (gone || errno == ENOENT) return true;
        left_because = errno == ESTALE ? NULL : strerror(errno); /* NULL: a new file replaced it */
    }
    if (item->fault && left_because) {
        stn_log(folder->logger, STN_LOG_WARNING, "%s/%s/%s is left: %s (%s)", folder->path, sub_name, name, item->fault,
                left_because);
        v->counts->left++;
    }
    v->counts->files++, v->counts->bytes += item->bytes;
    return true;
}

/* Adds the folder's wisdom to the counts. verify: a damaged file is moved aside, an unreadable one
 * is logged. */
static void count_wisdom(stn_folder *folder, bool verify, stn_cache_collection *counts) {
    stn_wisdom wisdom;
    struct stat seen;
    stn_error why = {0};
    stn_status status = stn_wisdom_read(folder, &wisdom, &seen, &why);
    counts->measured = wisdom.count;
    counts->bytes += (uint64_t)seen.st_size;
    stn_wisdom_clear(&wisdom);
    if (!verify || status == STN_OK) return;
    if (status == STN_ERROR_FORMAT && stn_wisdom_update(folder, NULL, NULL, &why) == STN_OK) {
        counts->damaged++, counts->removed_files++;
        counts->removed_bytes += (uint64_t)seen.st_size;
        counts->bytes -= (uint64_t)seen.st_size;
    } else {
        stn_log(folder->logger, STN_LOG_WARNING, "%s; it is left", why.message);
        counts->left++;
    }
}

stn_status stn_cache_verify(stn_cache *cache, stn_cache_collection *counts, stn_error *error) {
    files all;
    STN_TRY(scan(cache, &all, counts, error));
    visit_all(cache, &all, verify_one, &(verifying){cache, counts});
    finish(&all);
    count_wisdom(&cache->folder, true, counts);
    return STN_OK;
}

stn_status stn_cache_gc(stn_cache *cache, int64_t spare_seconds, stn_cache_collection *counts, stn_error *error) {
    STN_TRY(collect(cache, spare_seconds, STN_LOG_WARNING, counts, error));
    count_wisdom(&cache->folder, false, counts);
    return STN_OK;
}

stn_status stn_cache_clear(stn_cache *cache, stn_cache_collection *counts, stn_error *error) {
    files all;
    STN_TRY(scan(cache, &all, counts, error));
    for (size_t i = 0; i < all.count; i++)
        if (!remove_file(cache, all.root, &all.list[i], STN_LOG_WARNING, counts) && all.list[i].kind == FILE_ENTRY)
            counts->files++, counts->bytes += all.list[i].bytes;
    finish(&all);
    return stn_wisdom_remove(&cache->folder, error);
}

void stn_cache_collect(stn_cache *cache) {
    stn_cache_collection counts;
    stn_error error;
    if (collect(cache, -1, STN_LOG_DEBUG, &counts, &error) == STN_OK && counts.removed_files)
        stn_log(cache->folder.logger, STN_LOG_DEBUG, "%llu files (%llu bytes) were removed from the cache folder %s",
                (unsigned long long)counts.removed_files, (unsigned long long)counts.removed_bytes, cache->folder.path);
}
