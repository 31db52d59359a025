/* Reads and builds packs. Header and index are checked when a pack is opened, each entry when it is
 * read. Files are read with pread, not mapped: if a mapped file is truncated, an access kills the
 * process, while a read only finds a wrong checksum. */
#include "cache/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sodium/crypto_hash_sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

struct stn_pack {
    char *name;
    int fd;                    /* -1: in memory */
    const unsigned char *data; /* borrowed, or `owned`; NULL: in a file */
    void *owned;
    uint64_t size;
    /* owned, checked copy: later changes of the file cannot misdirect reads */
    unsigned char *index;
    size_t count;
};

void stn_pack_checksum(const unsigned char *header, const unsigned char *index, size_t index_size,
                       unsigned char sum[32]) {
    crypto_hash_sha256_state state;
    crypto_hash_sha256_init(&state);
    crypto_hash_sha256_update(&state, header, STN_PACK_AT_SUM);
    if (index_size) crypto_hash_sha256_update(&state, index, index_size);
    crypto_hash_sha256_final(&state, sum);
}

/* Reads `size` bytes at `offset`, or fails. */
static stn_status read_at(const stn_pack *pack, uint64_t offset, void *bytes, size_t size, stn_error *error) {
    const bool inside = offset <= pack->size && size <= pack->size - offset;
    if (inside && pack->data) memcpy(bytes, pack->data + offset, size);
    for (size_t done = 0; inside && !pack->data && done < size;) {
        ssize_t got = pread(pack->fd, (char *)bytes + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0)
            return stn_fail(error, STN_ERROR_IO, "the pack %s cannot be read: %s", pack->name, strerror(errno));
        if (got == 0) return stn_fail(error, STN_ERROR_FORMAT, "the pack %s is cut short", pack->name);
        done += (size_t)got;
    }
    return inside ? STN_OK : stn_fail(error, STN_ERROR_FORMAT, "the pack %s is cut short", pack->name);
}

static const unsigned char *row_at(const stn_pack *pack, size_t i) { return pack->index + i * STN_PACK_ROW; }

/* Checks that rows are sorted by key without duplicates, and that entries follow the index without
 * gaps up to the end of the pack. */
static stn_status check_rows(const stn_pack *pack, stn_error *error) {
    uint64_t next = STN_PACK_HEADER + (uint64_t)pack->count * STN_PACK_ROW;
    for (size_t i = 0; i < pack->count; i++) {
        const unsigned char *row = row_at(pack, i);
        uint64_t offset = stn_get64(row + STN_PACK_ROW_OFFSET), size = stn_get64(row + STN_PACK_ROW_SIZE);
        if (i && memcmp(row - STN_PACK_ROW, row, 32) >= 0)
            return stn_fail(error, STN_ERROR_FORMAT, "the pack %s is damaged: row %zu of its index is out of order",
                            pack->name, i);
        if (offset != next || size < STN_ENTRY_HEADER || size > STN_ENTRY_MAX || size > pack->size - offset)
            return stn_fail(error, STN_ERROR_FORMAT,
                            "the pack %s is damaged: row %zu of its index has a wrong offset or size", pack->name, i);
        next = offset + size;
    }
    if (next != pack->size)
        return stn_fail(error, STN_ERROR_FORMAT, "the pack %s is damaged: %llu bytes follow its last entry", pack->name,
                        (unsigned long long)(pack->size - next));
    return STN_OK;
}

static stn_status read_index(stn_pack *pack, stn_error *error) {
    unsigned char header[STN_PACK_HEADER], sum[32];
    if (pack->size >= 12) STN_TRY(read_at(pack, 0, header, 12, error));
    if (pack->size < 12 || memcmp(header, STN_PACK_MAGIC, 8))
        return stn_fail(error, STN_ERROR_FORMAT, "%s is not a pack of kernels: make one with `stentor pack build`",
                        pack->name);
    uint32_t version = stn_get32(header + STN_PACK_AT_VERSION);
    if (version != STN_PACK_VERSION)
        return stn_fail(error, STN_ERROR_FORMAT,
                        "the pack %s has format version %u and this library reads version %u: build it anew with this "
                        "version's `stentor pack build`",
                        pack->name, (unsigned)version, STN_PACK_VERSION);
    STN_TRY(read_at(pack, 0, header, sizeof header, error));
    uint64_t count = stn_get64(header + STN_PACK_AT_COUNT);
    if (stn_get32(header + STN_PACK_AT_FLAGS) || stn_get64(header + STN_PACK_AT_SIZE) != pack->size ||
        count > (pack->size - STN_PACK_HEADER) / STN_PACK_ROW)
        return stn_fail(error, STN_ERROR_FORMAT,
                        "the pack %s is damaged: its header does not fit its size of %llu bytes", pack->name,
                        (unsigned long long)pack->size);
    pack->count = (size_t)count;
    size_t size = pack->count * STN_PACK_ROW;
    pack->index = malloc(size ? size : 1);
    if (!pack->index) return stn_fail_memory(error, "a pack's index", size);
    STN_TRY(read_at(pack, STN_PACK_HEADER, pack->index, size, error));
    stn_pack_checksum(header, pack->index, size, sum);
    if (memcmp(sum, header + STN_PACK_AT_SUM, sizeof sum))
        return stn_fail(error, STN_ERROR_FORMAT, "the pack %s is damaged: the checksum of its index is wrong",
                        pack->name);
    return check_rows(pack, error);
}

/* Takes over the file and `owned`, also on failure. */
static stn_status open_parts(const char *name, int fd, const void *data, void *owned, uint64_t size, stn_pack **pack,
                             stn_error *error) {
    stn_pack *made = malloc(sizeof *made);
    if (!made) {
        if (fd >= 0) close(fd);
        free(owned);
        return stn_fail_memory(error, "a pack of kernels", sizeof *made);
    }
    *made = (stn_pack){.name = strdup(name), .fd = fd, .data = data, .owned = owned, .size = size};
    const stn_status status =
        made->name ? read_index(made, error) : stn_fail_memory(error, "a pack of kernels", strlen(name));
    if (status == STN_OK)
        *pack = made;
    else
        stn_pack_close(made);
    return status;
}

stn_status stn_pack_open(const char *path, stn_pack **pack, stn_error *error) {
    struct stat seen;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool known = fd >= 0 && !fstat(fd, &seen);
    if (known && S_ISREG(seen.st_mode)) return open_parts(path, fd, NULL, NULL, (uint64_t)seen.st_size, pack, error);
    const stn_status status =
        known ? stn_fail(error, STN_ERROR_IO, "the pack %s is not a plain file", path)
              : stn_fail(error, STN_ERROR_IO, "the pack %s cannot be opened: %s", path, strerror(errno));
    if (fd >= 0) close(fd);
    return status;
}

stn_status stn_pack_open_memory(const void *data, size_t size, stn_pack **pack, stn_error *error) {
    return open_parts("in memory", -1, data, NULL, size, pack, error);
}

stn_status stn_pack_open_owned(const char *name, void *data, size_t size, stn_pack **pack, stn_error *error) {
    return open_parts(name, -1, data, data, size, pack, error);
}

void stn_pack_close(stn_pack *pack) {
    if (!pack) return;
    if (pack->fd >= 0) close(pack->fd);
    free(pack->index);
    free(pack->name);
    free(pack->owned);
    free(pack);
}

const char *stn_pack_name(const stn_pack *pack) { return pack->name; }

size_t stn_pack_count(const stn_pack *pack) { return pack->count; }

uint64_t stn_pack_entry_bytes(const stn_pack *pack, size_t index) {
    return stn_get64(row_at(pack, index) + STN_PACK_ROW_SIZE);
}

static int by_key(const void *key, const void *row) { return memcmp(key, row, sizeof(stn_key)); }

bool stn_pack_find(const stn_pack *pack, const stn_key *source, size_t *index) {
    const unsigned char *row = bsearch(source, pack->index, pack->count, STN_PACK_ROW, by_key);
    if (row) *index = (size_t)(row - pack->index) / STN_PACK_ROW;
    return row;
}

stn_status stn_pack_read(const stn_pack *pack, size_t index, stn_key *key, stn_entry *entry, stn_error *error) {
    const unsigned char *row = row_at(pack, index);
    uint64_t offset = stn_get64(row + STN_PACK_ROW_OFFSET);
    size_t size = (size_t)stn_pack_entry_bytes(pack, index);
    unsigned char *image = malloc(size);
    if (!image) return stn_fail_memory(error, "a kernel of a pack", size);
    stn_error why = {0};
    stn_key own;
    stn_status result = read_at(pack, offset, image, size, &why);
    if (result == STN_OK) result = stn_entry_decode(image, size, &own, entry, &why);
    free(image);
    if (result == STN_OK && memcmp(stn_entry_source(&own, entry), row, 32)) {
        stn_entry_clear(entry);
        result = stn_fail(&why, STN_ERROR_FORMAT, "it is the entry of another key");
    }
    if (result != STN_OK)
        return stn_fail(error, result, "entry %zu of the pack %s%s: %s", index, pack->name,
                        result == STN_ERROR_FORMAT ? " is damaged" : "", why.message);
    if (key) *key = own;
    return STN_OK;
}

stn_status stn_pack_verify(const stn_pack *pack, stn_error *error) {
    for (size_t i = 0; i < pack->count; i++) {
        stn_entry entry;
        STN_TRY(stn_pack_read(pack, i, NULL, &entry, error));
        stn_entry_clear(&entry);
    }
    return STN_OK;
}

/* ---- building: entries are collected in memory, sorted by source key ------------------------- */

typedef struct piece {
    stn_key source;
    unsigned char *image;
    size_t size;
} piece;

struct stn_pack_writer {
    pthread_mutex_t lock;
    piece *pieces; /* sorted by source key */
    size_t count;
    int ptx_sm;       /* kernels with cubins for other architectures lose their PTX; 0: none does */
    stn_error failed; /* of the first kernel that could not be added; status STN_OK: none */
};

stn_status stn_pack_writer_create(stn_pack_writer **writer, stn_error *error) {
    stn_pack_writer *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "a pack", sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    *writer = made;
    return STN_OK;
}

void stn_pack_writer_keep_ptx(stn_pack_writer *writer, int sm) { writer->ptx_sm = sm; }

void stn_pack_writer_destroy(stn_pack_writer *writer) {
    if (!writer) return;
    for (size_t i = 0; i < writer->count; i++) free(writer->pieces[i].image);
    free(writer->pieces);
    pthread_mutex_destroy(&writer->lock);
    free(writer);
}

/* Takes over the image. Call locked. */
static stn_status insert(stn_pack_writer *writer, const piece *added, stn_error *error) {
    size_t at = writer->count;
    int order = 1;
    while (at > 0 && (order = memcmp(&writer->pieces[at - 1].source, &added->source, sizeof added->source)) > 0) at--;
    if (!order) { /* the first entry stays */
        free(added->image);
        return STN_OK;
    }
    piece *resized = realloc(writer->pieces, (writer->count + 1) * sizeof *resized);
    if (!resized) {
        free(added->image);
        return stn_fail_memory(error, "a pack", added->size);
    }
    writer->pieces = resized;
    memmove(writer->pieces + at + 1, writer->pieces + at, (writer->count - at) * sizeof(piece));
    writer->pieces[at] = *added;
    writer->count++;
    return STN_OK;
}

stn_status stn_pack_add(stn_pack_writer *writer, const stn_key *key, const stn_entry *entry, stn_error *error) {
    stn_error why = {0};
    piece added = {.source = *stn_entry_source(key, entry)};
    stn_entry lean = *entry;
    char arch[16];
    int sm = 0;
    (void)stn_entry_field(entry, "arch", arch, sizeof arch);
    if (entry->cubin && writer->ptx_sm && sscanf(arch, "sm_%d", &sm) == 1 && sm != writer->ptx_sm) lean.ptx_size = 0;
    stn_status status = stn_entry_encode(key, &lean, &added.image, &added.size, &why);
    pthread_mutex_lock(&writer->lock);
    if (status == STN_OK) status = insert(writer, &added, &why);
    /* A pack that lacks a kernel must not be finished. */
    if (status != STN_OK && !writer->failed.status) writer->failed = why;
    pthread_mutex_unlock(&writer->lock);
    return status == STN_OK ? STN_OK : stn_fail(error, status, "%s", why.message);
}

stn_status stn_pack_add_pack(stn_pack_writer *writer, const stn_pack *pack, stn_error *error) {
    for (size_t i = 0; i < stn_pack_count(pack); i++) {
        stn_key key;
        stn_entry entry;
        STN_TRY(stn_pack_read(pack, i, &key, &entry, error));
        stn_status status = stn_pack_add(writer, &key, &entry, error);
        stn_entry_clear(&entry);
        if (status != STN_OK) return status;
    }
    return STN_OK;
}

size_t stn_pack_writer_count(stn_pack_writer *writer) {
    pthread_mutex_lock(&writer->lock);
    size_t count = writer->count;
    pthread_mutex_unlock(&writer->lock);
    return count;
}

/* Writes header, index and entries into `bytes`. */
static void lay_out(const stn_pack_writer *writer, unsigned char *bytes, size_t size) {
    size_t index_size = writer->count * STN_PACK_ROW;
    uint64_t offset = STN_PACK_HEADER + index_size;
    memcpy(bytes, STN_PACK_MAGIC, 8);
    stn_put32(bytes + STN_PACK_AT_VERSION, STN_PACK_VERSION);
    stn_put32(bytes + STN_PACK_AT_FLAGS, 0);
    stn_put64(bytes + STN_PACK_AT_COUNT, writer->count);
    stn_put64(bytes + STN_PACK_AT_SIZE, size);
    unsigned char *row = bytes + STN_PACK_HEADER;
    for (size_t i = 0; i < writer->count; i++, row += STN_PACK_ROW) {
        const piece *each = &writer->pieces[i];
        memcpy(row, each->source.bytes, sizeof each->source.bytes);
        stn_put64(row + STN_PACK_ROW_OFFSET, offset);
        stn_put64(row + STN_PACK_ROW_SIZE, each->size);
        memcpy(bytes + offset, each->image, each->size);
        offset += each->size;
    }
    stn_pack_checksum(bytes, bytes + STN_PACK_HEADER, index_size, bytes + STN_PACK_AT_SUM);
}

stn_status stn_pack_finish(stn_pack_writer *writer, void **data, size_t *size, stn_error *error) {
    stn_status status = STN_OK;
    unsigned char *bytes = NULL;
    pthread_mutex_lock(&writer->lock);
    size_t total = STN_PACK_HEADER + writer->count * STN_PACK_ROW;
    for (size_t i = 0; i < writer->count; i++) total += writer->pieces[i].size;
    if (writer->failed.status)
        status = stn_fail(error, writer->failed.status, "the pack lacks a kernel: %s", writer->failed.message);
    else if (!(bytes = malloc(total)))
        status = stn_fail_memory(error, "a pack", total);
    else {
        lay_out(writer, bytes, total);
        *data = bytes, *size = total;
    }
    pthread_mutex_unlock(&writer->lock);
    return status;
}
