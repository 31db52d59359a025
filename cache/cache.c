/* The cache: entries in packs, entries as files in its folder, and counts of hits and misses; see
 * cache.h. A failure of the folder never ends the run: at worst a kernel is compiled again. */
#include "cache/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium/core.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cache/atomic_file.h"
#include "cache/signature.h"
#include "render/render.h"

enum { DEFAULT_FILES = 16384, DEFAULT_WAIT_MS = 30000, STORES_PER_COLLECTION = 64 };
#define DEFAULT_BYTES ((uint64_t)1 << 30)

typedef struct opened_pack {
    stn_pack *pack;
    atomic_bool *skipped; /* per entry: skip it, because it is damaged or could not be loaded */
} opened_pack;

/* The caller's value, else a whole number above 0 from the environment, else the default. */
static uint64_t limit(uint64_t wanted, const char *variable, uint64_t otherwise, const stn_logger *logger) {
    const char *text = secure_getenv(variable);
    char *end = NULL;
    unsigned long long value = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (wanted) return wanted;
    if (text && *text && !(value && !*end))
        stn_log(logger, STN_LOG_WARNING, "%s is \"%.40s\", which is no whole number above 0: the limit is %llu",
                variable, text, (unsigned long long)otherwise);
    return value && !*end ? value : otherwise;
}

/* ---- opening --------------------------------------------------------------------------------- */

static stn_status open_packs(stn_cache *cache, const stn_cache_options *options, stn_error *error) {
    size_t count = 0;
    char key[STN_PUBLIC_KEY_TEXT];
    if (options->trust) STN_TRY(stn_signature_read_key(options->trust, key, error));
    while (options->packs && options->packs[count]) count++;
    cache->packs = calloc(count + 2, sizeof *cache->packs);
    if (!cache->packs) return stn_fail_memory(error, "packs of kernels", count);
    for (size_t i = 0; i < count + 2; i++) {
        opened_pack *added = &cache->packs[cache->npacks];
        if (i < count && options->trust)
            STN_TRY(stn_pack_open_signed(options->packs[i], key, &added->pack, error));
        else if (i < count)
            STN_TRY(stn_pack_open(options->packs[i], &added->pack, error));
        else if (i == count && options->pack_data)
            STN_TRY(stn_pack_open_memory(options->pack_data, options->pack_size, &added->pack, error));
        else if (i > count && stn_embedded_pack_size)
            STN_TRY(stn_pack_open_memory(stn_embedded_pack, stn_embedded_pack_size, &added->pack, error));
        else
            continue;
        cache->npacks++;
        cache->has_embedded = i > count;
        added->skipped = calloc(stn_pack_count(added->pack) + 1, sizeof *added->skipped);
        if (!added->skipped) return stn_fail_memory(error, "a pack of kernels", stn_pack_count(added->pack));
    }
    return STN_OK;
}

stn_status stn_cache_open(const stn_cache_options *options, stn_cache **cache, stn_error *error) {
    static const stn_cache_options defaults;
    if (!options) options = &defaults;
    stn_cache *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "the kernel cache", sizeof *made);
    (void)!sodium_init(); /* selects this CPU's instructions for checksums, for nothing else */
    pthread_mutex_init(&made->lock, NULL);
    made->logger = options->logger;
    made->max_bytes = limit(options->max_bytes, "STENTOR_CACHE_MAX_BYTES", DEFAULT_BYTES, made->logger);
    made->max_files = limit(options->max_files, "STENTOR_CACHE_MAX_FILES", DEFAULT_FILES, made->logger);
    made->lock_wait_ms = options->lock_wait_ms ? options->lock_wait_ms : DEFAULT_WAIT_MS;
    stn_status status = open_packs(made, options, error);
    if (status == STN_OK)
        status = stn_folder_init(&made->folder, options->dir, options->shared, options->logger, error);
    if (status != STN_OK) {
        stn_cache_close(made);
        return status;
    }
    /* Warns of an existing but unusable folder at once. */
    const int root = stn_folder_open(&made->folder, false);
    if (root < 0 && errno != ENOENT) stn_folder_clear(&made->folder);
    stn_folder_close(root);
    *cache = made;
    return STN_OK;
}

void stn_cache_close(stn_cache *cache) {
    if (!cache) return;
    for (size_t i = 0; i < cache->npacks; i++) {
        stn_pack_close(cache->packs[i].pack);
        free(cache->packs[i].skipped);
    }
    free(cache->packs);
    stn_folder_clear(&cache->folder);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* The number of packs without the embedded one, which is the last. */
static size_t given_packs(const stn_cache *cache) { return cache->npacks - cache->has_embedded; }

bool stn_cache_is_empty(stn_cache *cache) {
    if (given_packs(cache) || !cache->folder.path) return false;
    const int root = stn_folder_open(&cache->folder, false);
    if (root < 0) return errno == ENOENT;
    const bool empty = faccessat(root, STN_LOCK_NAME, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    close(root);
    return empty;
}

const char *stn_cache_dir_problem(const stn_cache *cache) {
    return atomic_load(&cache->folder.has_problem) ? cache->folder.problem : NULL;
}

/* ---- packs ----------------------------------------------------------------------------------- */

static void skip_entry(stn_cache *cache, opened_pack *in, size_t index) {
    if (!atomic_exchange(&in->skipped[index], true)) stn_cache_add(cache, &cache->stats.rejected, 1);
}

static void record(stn_cache *cache, const stn_key *key, const stn_entry *entry) {
    if (!cache->record) return;
    stn_error why = {0};
    if (stn_pack_add(cache->record, key, entry, &why) != STN_OK)
        stn_log(cache->logger, STN_LOG_WARNING, "a kernel is missing from the pack: %s", why.message);
}

bool stn_cache_find_pack(stn_cache *cache, const stn_key *source, stn_entry *entry) {
    for (size_t i = 0; i < (cache->record ? given_packs(cache) : cache->npacks); i++) {
        opened_pack *in = &cache->packs[i];
        size_t index;
        if (!stn_pack_find(in->pack, source, &index) || atomic_load(&in->skipped[index])) continue;
        stn_error why = {0};
        stn_key key;
        const stn_status status = stn_pack_read(in->pack, index, &key, entry, &why);
        if (status == STN_OK) {
            stn_cache_add(cache, &cache->stats.pack_hits, 1);
            stn_cache_add(cache, &cache->stats.bytes_read, stn_pack_entry_bytes(in->pack, index));
            record(cache, &key, entry);
            return true;
        }
        stn_log(cache->logger, STN_LOG_WARNING, "%s; it is skipped", why.message);
        /* Out of memory may be temporary. */
        if (status == STN_ERROR_FORMAT) skip_entry(cache, in, index);
    }
    return false;
}

/* ---- the folder ------------------------------------------------------------------------------ */

bool stn_cache_find(stn_cache *cache, const stn_key *key, stn_entry *entry) {
    char sub_name[3], name[STN_FILE_NAME];
    stn_cache_file_name(key, sub_name, name);
    const int sub = stn_folder_open_at(&cache->folder, sub_name, false);
    stn_status result = STN_ERROR_IO;
    if (sub >= 0) {
        struct stat status;
        stn_error why = {0};
        result = stn_cache_read_file(cache, sub, name, key, entry, &status, &why, true);
        if (result == STN_OK) {
            stn_cache_add(cache, &cache->stats.disk_hits, 1);
            stn_cache_add(cache, &cache->stats.bytes_read, (uint64_t)status.st_size);
            record(cache, key, entry);
        } else if (result == STN_ERROR_FORMAT) {
            stn_log(cache->folder.logger, STN_LOG_INFO, "the stored kernel %s/%s/%s is removed and compiled again: %s",
                    cache->folder.path, sub_name, name, why.message);
            stn_cache_add(cache, &cache->stats.rejected, 1);
            (void)stn_file_remove_seen(sub, name, &status);
        }
        close(sub);
    }
    return result == STN_OK;
}

/* Whether this file's header contains the source key. The header may be damaged: the checksum of
 * the entry is verified when the entry is read. */
static bool is_of_source(int sub, const char *name, const stn_key *source, struct stat *status) {
    unsigned char header[STN_ENTRY_HEADER];
    const int file = openat(sub, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return false;
    const bool read = !fstat(file, status) && pread(file, header, sizeof header, 0) == (ssize_t)sizeof header;
    close(file);
    return read && !memcmp(header + STN_ENTRY_AT_SOURCE, source, sizeof *source);
}

bool stn_cache_find_source(stn_cache *cache, const stn_key *source, stn_key *key, stn_entry *entry) {
    char sub_name[3], name[STN_FILE_NAME], hex[65];
    int64_t newest = INT64_MIN;
    stn_cache_file_name(source, sub_name, name);
    const int sub = stn_folder_open_at(&cache->folder, sub_name, false);
    DIR *items = sub < 0 ? NULL : fdopendir(sub);
    if (sub >= 0 && !items) close(sub);
    for (const struct dirent *item; items && (item = readdir(items));) {
        struct stat status;
        stn_key own;
        snprintf(hex, sizeof hex, "%s%.62s", sub_name, item->d_name);
        if (strlen(item->d_name) != STN_FILE_NAME - 1 || !stn_key_parse(hex, &own) ||
            !is_of_source(sub, item->d_name, source, &status) || status.st_mtime < newest)
            continue;
        newest = status.st_mtime;
        *key = own;
    }
    if (items) closedir(items);
    return newest > INT64_MIN && stn_cache_find(cache, key, entry);
}

static void warn_not_stored(stn_cache *cache, const stn_key *key, int why) {
    char sub_name[3], name[STN_FILE_NAME];
    stn_cache_file_name(key, sub_name, name);
    if (why == EISDIR)
        stn_folder_warn(&cache->folder,
                        "a kernel is kept in memory only, as a folder that is not empty lies in its place: remove "
                        "%s/%s/%s",
                        cache->folder.path, sub_name, name);
    else
        stn_folder_warn(&cache->folder,
                        "kernels are kept in memory only, as the cache folder %s cannot be written: %s; make room or "
                        "name another (option cache_dir, STENTOR_CACHE_DIR)",
                        cache->folder.path, strerror(why));
}

void stn_cache_store(stn_cache *cache, const stn_key *key, const stn_entry *entry) {
    record(cache, key, entry);
    if (!cache->folder.path) return;
    unsigned char *image = NULL;
    size_t size = 0;
    stn_error why = {0};
    if (stn_entry_encode(key, entry, &image, &size, &why) != STN_OK) {
        stn_folder_warn(&cache->folder, "a kernel is kept in memory only: %s", why.message);
        return;
    }
    char sub_name[3], name[STN_FILE_NAME];
    stn_cache_file_name(key, sub_name, name);
    if (stn_file_store(&cache->folder, sub_name, name, image, size, true)) {
        stn_cache_add(cache, &cache->stats.bytes_written, size);
        if (atomic_fetch_add(&cache->stores, 1) % STORES_PER_COLLECTION == 0) stn_cache_collect(cache);
    } else
        warn_not_stored(cache, key, errno);
    free(image);
}

bool stn_cache_reject(stn_cache *cache, const stn_key *key) {
    for (size_t i = 0; i < cache->npacks; i++) {
        size_t index;
        if (!stn_pack_find(cache->packs[i].pack, key, &index) || atomic_load(&cache->packs[i].skipped[index])) continue;
        /* The entry came from the first pack that has it. */
        skip_entry(cache, &cache->packs[i], index);
        return i < given_packs(cache);
    }
    char sub_name[3], name[STN_FILE_NAME];
    stn_cache_file_name(key, sub_name, name);
    const int sub = stn_folder_open_at(&cache->folder, sub_name, false);
    if (sub >= 0 && stn_file_remove(sub, name)) stn_cache_add(cache, &cache->stats.rejected, 1);
    stn_folder_close(sub);
    return true;
}

void stn_cache_record(stn_cache *cache, stn_pack_writer *writer) { cache->record = writer; }

int stn_cache_lock_key(stn_cache *cache, const stn_key *key) {
    return stn_folder_lock(&cache->folder, cache->lock_wait_ms, key);
}

/* ---- counters -------------------------------------------------------------------------------- */

void stn_cache_stats_get(stn_cache *cache, stn_cache_stats *stats) {
    pthread_mutex_lock(&cache->lock);
    *stats = cache->stats;
    pthread_mutex_unlock(&cache->lock);
}

void stn_cache_count(stn_cache *cache, double compile_seconds, double load_seconds, bool memory_hit) {
    pthread_mutex_lock(&cache->lock);
    cache->stats.compile_seconds += compile_seconds;
    cache->stats.load_seconds += load_seconds;
    if (compile_seconds > 0) cache->stats.misses++;
    if (memory_hit) cache->stats.memory_hits++;
    pthread_mutex_unlock(&cache->lock);
}
