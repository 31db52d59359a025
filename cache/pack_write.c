/* Builds packs: collects entries in memory sorted by source key, then writes header, index and
 * entries. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cache/pack.h"

typedef struct piece {
    stn_key source;
    unsigned char *image;
    size_t size;
} piece;

struct stn_pack_writer {
    pthread_mutex_t lock;
    piece *pieces; /* sorted by source key */
    size_t count;
    stn_error failed; /* of the first kernel that could not be added; status STN_OK: none */
};

stn_status stn_pack_writer_create(stn_pack_writer **writer, stn_error *error) {
    stn_pack_writer *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "a pack", sizeof *made);
    pthread_mutex_init(&made->lock, NULL);
    *writer = made;
    return STN_OK;
}

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
    stn_status status = stn_entry_encode(key, entry, &added.image, &added.size, &why);
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
        *data = bytes;
        *size = total;
    }
    pthread_mutex_unlock(&writer->lock);
    return status;
}
