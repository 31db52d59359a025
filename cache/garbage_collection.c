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

/* Lists one subfolder; takes over the descriptor. False: out of memory. A folder under an entry's
 * name is listed too, so that it is reported. */
static bool scan_sub(files *all, int sub, const char *sub_name) {
    DIR *folder = fdopendir(sub);
    if (!folder) {
        int why = errno;
        close(sub);
        all->hidden++;
        return why != ENOMEM;
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

/* Lists all files of the cache. *root is opened, or -1 if there is no folder yet (nothing is
 * listed). */
static stn_status scan(stn_cache *cache, int *root, files *all, stn_error *error) {
    *all = (files){0};
    *root = -1;
    if (!cache->folder.path)
        return stn_fail(error, STN_ERROR_IO, "there is no cache folder: %s",
                        *cache->folder.problem ? cache->folder.problem : "the cache is in memory only");
    *root = stn_folder_open(&cache->folder, false);
    if (*root < 0 && errno == ENOENT) return STN_OK;
    if (*root < 0) return stn_fail(error, STN_ERROR_IO, "%s", cache->folder.problem);
    for (int i = 0; i < 256; i++) {
        char name[3];
        snprintf(name, sizeof name, "%02x", i);
        int sub = stn_folder_open_sub(&cache->folder, *root, name, false);
        all->hidden += sub < 0 && errno != ENOENT;
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
    memcpy(hex + 2, entry->name, STN_FILE_NAME);
    (void)stn_key_parse(hex, key); /* kind_of accepted only hex digits. */
}

stn_status stn_cache_resolve(stn_cache *cache, const char *prefix, stn_key *key, stn_error *error) {
    const size_t digits = strlen(prefix);
    files all;
    int root;
    size_t found = 0;
    if (digits < 4 || digits > 64 || strspn(prefix, "0123456789abcdefABCDEF") != digits)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "\"%s\" is no key: give the first 4 to 64 hex digits that `stentor cache list` shows", prefix);
    STN_TRY(scan(cache, &root, &all, error));
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
    done(root, &all);
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
    if (sub >= 0) close(sub);
    item.damaged = status == STN_ERROR_FORMAT;
    item.entry = status == STN_OK ? &entry : NULL;
    item.fault = status == STN_OK ? NULL : why.message;
    const bool more = gone || visit(user, &item);
    stn_entry_clear(&entry);
    return more;
}

static void visit_all(stn_cache *cache, int root, const files *all, stn_cache_visit visit, void *user) {
    bool more = true;
    for (size_t i = 0; i < all->count && more; i++)
        if (all->list[i].kind == FILE_ENTRY) more = visit_one(cache, root, &all->list[i], visit, user);
}

stn_status stn_cache_each(stn_cache *cache, stn_cache_visit visit, void *user, stn_error *error) {
    files all;
    int root;
    STN_TRY(scan(cache, &root, &all, error));
    visit_all(cache, root, &all, visit, user);
    done(root, &all);
    return STN_OK;
}

/* A file that cannot be removed is counted, and named to the logger at this level. */
static bool remove_file(stn_cache *cache, int root, const file *which, stn_log_level level,
                        stn_cache_collection *counts) {
    int sub = stn_folder_open_sub(&cache->folder, root, which->sub, false);
    bool gone = sub >= 0 && stn_file_remove(sub, which->name);
    const int why = errno;
    if (sub >= 0) close(sub);
    if (gone)
        counts->removed_files++, counts->removed_bytes += which->bytes;
    else if (why != ENOENT) {
        counts->left++;
        stn_log(cache->folder.logger, level, "%s/%s/%s is left: it cannot be removed (%s)", cache->folder.path,
                which->sub, which->name, strerror(why));
    }
    return gone;
}

static stn_status collect(stn_cache *cache, int64_t spare_seconds, stn_log_level level, stn_cache_collection *counts,
                          stn_error *error) {
    files all;
    int root;
    *counts = (stn_cache_collection){0};
    if (spare_seconds < 0) spare_seconds = SPARE_SECONDS;
    STN_TRY(scan(cache, &root, &all, error));
    counts->left = all.hidden;
    int64_t now = time(NULL);
    for (size_t i = 0; i < all.count; i++)
        if (all.list[i].kind == FILE_ENTRY)
            counts->files++, counts->bytes += all.list[i].bytes;
        else if (now - all.list[i].used > TEMP_SECONDS) /* of a killed writer */
            (void)remove_file(cache, root, &all.list[i], level, counts);
    if (all.count) qsort(all.list, all.count, sizeof(file), by_use);
    for (size_t i = 0; i < all.count; i++) {
        const file *each = &all.list[i];
        if (each->kind != FILE_ENTRY) continue;
        if (counts->files <= cache->max_files && counts->bytes <= cache->max_bytes) break;
        if (now - each->used < spare_seconds) break; /* All following ones were used later. */
        if (remove_file(cache, root, each, level, counts)) counts->files--, counts->bytes -= each->bytes;
    }
    done(root, &all);
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
        const int why = errno;
        if (sub >= 0) close(sub);
        if (gone) {
            stn_cache_add(v->cache, &v->cache->stats.rejected, 1);
            v->counts->damaged++, v->counts->removed_files++, v->counts->removed_bytes += item->bytes;
        }
        if (gone || why == ENOENT) return true;
        left_because = why == ESTALE ? NULL : strerror(why); /* NULL: a new file has replaced it */
    }
    if (item->fault && left_because) {
        stn_log(folder->logger, STN_LOG_WARNING, "%s/%s/%s is left: %s (%s)", folder->path, sub_name, name, item->fault,
                left_because);
        v->counts->left++;
    }
    v->counts->files++, v->counts->bytes += item->bytes;
    return true;
}

/* Keeps all measurements: stn_wisdom_update, called with it, only moves a damaged file aside. */
static stn_status keep(void *user, stn_wisdom *before, stn_text *after, stn_error *error) {
    (void)user;
    return stn_wisdom_join(before, &(stn_wisdom){0}, after, NULL, error);
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
    if (status == STN_ERROR_FORMAT && stn_wisdom_update(folder, keep, NULL, &why) == STN_OK) {
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
    int root;
    *counts = (stn_cache_collection){0};
    STN_TRY(scan(cache, &root, &all, error));
    counts->left = all.hidden;
    visit_all(cache, root, &all, verify_one, &(verifying){cache, counts});
    done(root, &all);
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
    int root;
    *counts = (stn_cache_collection){0};
    STN_TRY(scan(cache, &root, &all, error));
    counts->left = all.hidden;
    for (size_t i = 0; i < all.count; i++)
        if (!remove_file(cache, root, &all.list[i], STN_LOG_WARNING, counts) && all.list[i].kind == FILE_ENTRY)
            counts->files++, counts->bytes += all.list[i].bytes;
    done(root, &all);
    return stn_wisdom_remove(&cache->folder, error);
}

void stn_cache_collect(stn_cache *cache) {
    stn_cache_collection counts;
    stn_error error;
    if (collect(cache, -1, STN_LOG_DEBUG, &counts, &error) == STN_OK && counts.removed_files)
        stn_log(cache->folder.logger, STN_LOG_DEBUG, "%llu files (%llu bytes) were removed from the cache folder %s",
                (unsigned long long)counts.removed_files, (unsigned long long)counts.removed_bytes, cache->folder.path);
}
