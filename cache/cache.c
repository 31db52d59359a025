/* The cache: searches packs, then the disk, and counts hits and misses; see cache.h. */
#include "cache/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cache/signature.h"

enum { DEFAULT_FILES = 16384, DEFAULT_WAIT_MS = 30000, STORES_PER_COLLECTION = 64 };
#define DEFAULT_BYTES ((uint64_t)1 << 30)

typedef struct opened_pack {
    stn_pack *pack;
    atomic_bool *skipped; /* per entry: skip it, because it is damaged or could not be loaded */
} opened_pack;

/* The caller's value, else a whole number above 0 from the environment, else the default. */
static uint64_t limit(uint64_t wanted, const char *variable, uint64_t otherwise) {
    const char *text = secure_getenv(variable);
    char *end = NULL;
    unsigned long long value = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (wanted) return wanted;
    return value && !*end ? value : otherwise;
}

/* ---- opening --------------------------------------------------------------------------------- */

static stn_status add_pack(stn_cache *cache, stn_pack *pack, stn_error *error) {
    opened_pack *added = &cache->packs[cache->npacks];
    size_t count = stn_pack_count(pack);
    added->skipped = calloc(count ? count : 1, sizeof *added->skipped);
    if (!added->skipped) {
        stn_pack_close(pack);
        return stn_fail_memory(error, "a pack of kernels", count);
    }
    added->pack = pack;
    cache->npacks++;
    return STN_OK;
}

static stn_status open_packs(stn_cache *cache, const stn_cache_options *options, stn_error *error) {
    size_t count = 0;
    char key[STN_PUBLIC_KEY_TEXT];
    if (options->trust) STN_TRY(stn_signature_read_key(options->trust, key, error));
    while (options->packs && options->packs[count]) count++;
    cache->packs = calloc(count + 1, sizeof *cache->packs);
    if (!cache->packs) return stn_fail_memory(error, "packs of kernels", count);
    for (size_t i = 0; i <= count; i++) {
        stn_pack *pack;
        if (i < count && options->trust)
            STN_TRY(stn_pack_open_signed(options->packs[i], key, &pack, error));
        else if (i < count)
            STN_TRY(stn_pack_open(options->packs[i], &pack, error));
        else if (options->pack_data)
            STN_TRY(stn_pack_open_memory(options->pack_data, options->pack_size, &pack, error));
        else
            break;
        STN_TRY(add_pack(cache, pack, error));
    }
    return STN_OK;
}

/* Detects, and warns of, an existing but unusable folder at once. */
static void check_folder(stn_folder *folder) {
    int fd = stn_folder_open(folder, false);
    if (fd >= 0)
        close(fd);
    else if (errno != ENOENT)
        stn_folder_clear(folder);
}

stn_status stn_cache_open(const stn_cache_options *options, stn_cache **cache, stn_error *error) {
    static const stn_cache_options defaults;
    if (!options) options = &defaults;
    stn_cache *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "the kernel cache", sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    made->logger = options->logger;
    made->disk.max_bytes = limit(options->max_bytes, "STENTOR_CACHE_MAX_BYTES", DEFAULT_BYTES);
    made->disk.max_files = limit(options->max_files, "STENTOR_CACHE_MAX_FILES", DEFAULT_FILES);
    made->lock_wait_ms = options->lock_wait_ms ? options->lock_wait_ms : DEFAULT_WAIT_MS;
    stn_status status = open_packs(made, options, error);
    if (status == STN_OK)
        status = stn_folder_init(&made->disk.folder, options->dir, options->shared, options->logger, error);
    if (status != STN_OK) {
        stn_cache_close(made);
        return status;
    }
    check_folder(&made->disk.folder);
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
    stn_folder_clear(&cache->disk.folder);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}

bool stn_cache_is_empty(stn_cache *cache) {
    if (cache->npacks || !cache->disk.folder.path) return false;
    const int root = stn_folder_open(&cache->disk.folder, false);
    if (root < 0) return errno == ENOENT;
    const bool empty = faccessat(root, STN_LOCK_NAME, F_OK, AT_SYMLINK_NOFOLLOW) != 0;
    close(root);
    return empty;
}

stn_folder *stn_cache_folder(stn_cache *cache) { return &cache->disk.folder; }

const char *stn_cache_dir(const stn_cache *cache) { return cache->disk.folder.path; }

const char *stn_cache_dir_problem(const stn_cache *cache) {
    return atomic_load(&cache->disk.folder.has_problem) ? cache->disk.folder.problem : NULL;
}

/* ---- finding and storing --------------------------------------------------------------------- */

static void add(stn_cache *cache, uint64_t *counter, uint64_t by) {
    pthread_mutex_lock(&cache->lock);
    *counter += by;
    pthread_mutex_unlock(&cache->lock);
}

static void skip_entry(stn_cache *cache, opened_pack *in, size_t index) {
    if (!atomic_exchange(&in->skipped[index], true)) add(cache, &cache->stats.rejected, 1);
}

static void record(stn_cache *cache, const stn_key *key, const stn_entry *entry) {
    if (!cache->record) return;
    stn_error why = {0};
    if (stn_pack_add(cache->record, key, entry, &why) != STN_OK)
        stn_log(cache->logger, STN_LOG_WARNING, "a kernel is missing from the pack: %s", why.message);
}

bool stn_cache_find_pack(stn_cache *cache, const stn_key *source, stn_entry *entry) {
    for (size_t i = 0; i < cache->npacks; i++) {
        opened_pack *in = &cache->packs[i];
        size_t index;
        if (!stn_pack_find(in->pack, source, &index) || atomic_load(&in->skipped[index])) continue;
        stn_error why = {0};
        stn_key key;
        const stn_status status = stn_pack_read(in->pack, index, &key, entry, &why);
        if (status == STN_OK) {
            add(cache, &cache->stats.pack_hits, 1);
            add(cache, &cache->stats.bytes_read, stn_pack_entry_bytes(in->pack, index));
            record(cache, &key, entry);
            return true;
        }
        stn_log(cache->logger, STN_LOG_WARNING, "%s; it is skipped", why.message);
        /* Out of memory may be temporary. */
        if (status == STN_ERROR_FORMAT) skip_entry(cache, in, index);
    }
    return false;
}

/* Counts and records a hit on the disk. */
static bool note_disk_hit(stn_cache *cache, bool found, const stn_key *key, const stn_entry *entry) {
    if (!found) return false;
    add(cache, &cache->stats.disk_hits, 1);
    record(cache, key, entry);
    return true;
}

bool stn_cache_find(stn_cache *cache, const stn_key *key, stn_entry *entry) {
    return note_disk_hit(cache, stn_disk_find(&cache->disk, key, entry), key, entry);
}

bool stn_cache_find_source(stn_cache *cache, const stn_key *source, stn_key *key, stn_entry *entry) {
    return note_disk_hit(cache, stn_disk_find_source(&cache->disk, source, key, entry), key, entry);
}

void stn_cache_store(stn_cache *cache, const stn_key *key, const stn_entry *entry) {
    record(cache, key, entry);
    if (stn_disk_store(&cache->disk, key, entry) && atomic_fetch_add(&cache->stores, 1) % STORES_PER_COLLECTION == 0)
        stn_disk_collect(&cache->disk);
}

void stn_cache_reject(stn_cache *cache, const stn_key *key) {
    for (size_t i = 0; i < cache->npacks; i++) {
        size_t index;
        if (!stn_pack_find(cache->packs[i].pack, key, &index) || atomic_load(&cache->packs[i].skipped[index])) continue;
        /* The entry came from the first pack that has it. */
        skip_entry(cache, &cache->packs[i], index);
        return;
    }
    (void)stn_disk_remove(&cache->disk, key);
}

void stn_cache_record(stn_cache *cache, stn_pack_writer *writer) { cache->record = writer; }

int stn_cache_lock_key(stn_cache *cache, const stn_key *key) {
    return stn_folder_lock(&cache->disk.folder, cache->lock_wait_ms, key);
}

/* ---- counters -------------------------------------------------------------------------------- */

void stn_cache_stats_get(stn_cache *cache, stn_cache_stats *stats) {
    pthread_mutex_lock(&cache->lock);
    *stats = cache->stats;
    pthread_mutex_unlock(&cache->lock);
    stats->rejected += atomic_load(&cache->disk.rejected);
    stats->bytes_read += atomic_load(&cache->disk.bytes_read);
    stats->bytes_written += atomic_load(&cache->disk.bytes_written);
}

void stn_cache_count(stn_cache *cache, double compile_seconds, double load_seconds, bool memory_hit) {
    pthread_mutex_lock(&cache->lock);
    cache->stats.compile_seconds += compile_seconds;
    cache->stats.load_seconds += load_seconds;
    if (compile_seconds > 0) cache->stats.misses++;
    if (memory_hit) cache->stats.memory_hits++;
    pthread_mutex_unlock(&cache->lock);
}
