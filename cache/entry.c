/* Encodes and decodes entries. Nothing in an image is used before its checksum is verified. */
#include "cache/entry.h"

#include <sodium/crypto_generichash_blake2b.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum { AT_VERSION = 8, AT_FLAGS = 12, AT_KEY = 16, AT_SIZES = 80, AT_SUM = 112, PARTS = 4 };
static const unsigned char magic[8] = "STNKERN\n";

void stn_entry_clear(stn_entry *entry) {
    free(entry->metadata);
    free(entry->params);
    free(entry->ptx);
    free(entry->cubin);
    *entry = (stn_entry){0};
}

const stn_key *stn_entry_source(const stn_key *key, const stn_entry *entry) {
    static const stn_key none;
    return memcmp(&entry->source, &none, sizeof none) ? &entry->source : key;
}

void stn_entry_checksum(const unsigned char *image, size_t size, unsigned char sum[32]) {
    crypto_generichash_blake2b_state state;
    (void)crypto_generichash_blake2b_init(&state, NULL, 0, 32);
    (void)crypto_generichash_blake2b_update(&state, image, AT_SUM);
    (void)crypto_generichash_blake2b_update(&state, image + STN_ENTRY_HEADER, size - STN_ENTRY_HEADER);
    (void)crypto_generichash_blake2b_final(&state, sum, 32);
}

stn_status stn_entry_encode(const stn_key *key, const stn_entry *entry, unsigned char **image, size_t *size,
                            stn_error *error) {
    const void *part[PARTS] = {entry->metadata, entry->params, entry->ptx, entry->cubin};
    size_t length[PARTS] = {entry->metadata ? strlen(entry->metadata) : 0, entry->params ? strlen(entry->params) : 0,
                            entry->ptx ? entry->ptx_size : 0, entry->cubin ? entry->cubin_size : 0};
    size_t total = STN_ENTRY_HEADER;
    for (int i = 0; i < PARTS; i++) {
        if (length[i] > STN_ENTRY_MAX - total)
            return stn_fail(error, STN_ERROR_FORMAT, "a kernel of more than %zu bytes is not kept", STN_ENTRY_MAX);
        total += length[i];
    }
    unsigned char *bytes = calloc(1, total);
    if (!bytes) return stn_fail_memory(error, "a cache entry", total);
    memcpy(bytes, magic, sizeof magic);
    stn_put32(bytes + AT_VERSION, STN_ENTRY_VERSION);
    memcpy(bytes + AT_KEY, key, sizeof *key);
    memcpy(bytes + STN_ENTRY_AT_SOURCE, stn_entry_source(key, entry), sizeof *key);
    unsigned char *at = bytes + STN_ENTRY_HEADER;
    for (int i = 0; i < PARTS; i++) {
        stn_put64(bytes + AT_SIZES + 8 * i, length[i]);
        if (length[i]) memcpy(at, part[i], length[i]);
        at += length[i];
    }
    stn_entry_checksum(bytes, total, bytes + AT_SUM);
    *image = bytes;
    *size = total;
    return STN_OK;
}

/* Checks an image: header and parts must fill it exactly. Returns the sizes of the four parts. */
static stn_status check(const unsigned char *image, size_t size, size_t length[PARTS], stn_error *error) {
    if (size < AT_FLAGS || memcmp(image, magic, sizeof magic))
        return stn_fail(error, STN_ERROR_FORMAT, "it is not a stored kernel");
    uint32_t version = stn_get32(image + AT_VERSION);
    if (version != STN_ENTRY_VERSION)
        return stn_fail(error, STN_ERROR_FORMAT, "its format version is %u and this library reads version %u",
                        (unsigned)version, STN_ENTRY_VERSION);
    if (size < STN_ENTRY_HEADER || size > STN_ENTRY_MAX)
        return stn_fail(error, STN_ERROR_FORMAT, "its size of %zu bytes is impossible", size);
    if (stn_get32(image + AT_FLAGS)) return stn_fail(error, STN_ERROR_FORMAT, "its flags are not 0");
    size_t left = size - STN_ENTRY_HEADER;
    for (int i = 0; i < PARTS; i++) {
        uint64_t part = stn_get64(image + AT_SIZES + 8 * i);
        if (part > left) return stn_fail(error, STN_ERROR_FORMAT, "it is cut short");
        length[i] = (size_t)part;
        left -= length[i];
    }
    if (left) return stn_fail(error, STN_ERROR_FORMAT, "%zu bytes too many follow it", left);
    unsigned char sum[32];
    stn_entry_checksum(image, size, sum);
    if (memcmp(sum, image + AT_SUM, sizeof sum)) return stn_fail(error, STN_ERROR_FORMAT, "its checksum is wrong");
    return STN_OK;
}

/* Copies with a NUL appended; *failed is sticky. */
static void *copy(const unsigned char *from, size_t size, bool *failed) {
    char *made = malloc(size + 1);
    if (!made) {
        *failed = true;
        return NULL;
    }
    memcpy(made, from, size);
    made[size] = '\0';
    return made;
}

stn_status stn_entry_decode(const unsigned char *image, size_t size, stn_key *key, stn_entry *entry, stn_error *error) {
    size_t length[PARTS];
    STN_TRY(check(image, size, length, error));
    const unsigned char *metadata = image + STN_ENTRY_HEADER, *params = metadata + length[0];
    const unsigned char *ptx = params + length[1], *cubin = ptx + length[2];
    if (memchr(metadata, 0, length[0] + length[1] + length[2]))
        return stn_fail(error, STN_ERROR_FORMAT, "its text holds a NUL byte");
    static const stn_key none;
    if (!memcmp(image + STN_ENTRY_AT_SOURCE, &none, sizeof none))
        return stn_fail(error, STN_ERROR_FORMAT, "its source key is empty");
    bool failed = false;
    stn_entry made = {.ptx_size = length[2], .cubin_size = length[3]};
    memcpy(&made.source, image + STN_ENTRY_AT_SOURCE, sizeof made.source);
    made.metadata = copy(metadata, length[0], &failed);
    made.params = copy(params, length[1], &failed);
    if (length[2]) made.ptx = copy(ptx, length[2], &failed);
    if (length[3]) made.cubin = copy(cubin, length[3], &failed);
    if (failed) {
        stn_entry_clear(&made);
        return stn_fail_memory(error, "a stored kernel", size);
    }
    memcpy(key, image + AT_KEY, sizeof *key);
    *entry = made;
    return STN_OK;
}

bool stn_entry_field(const stn_entry *entry, const char *label, char *value, size_t size) {
    size_t label_size = strlen(label);
    for (const char *line = entry->metadata; line && *line; line += *line == '\n') {
        size_t length = strcspn(line, "\n");
        if (length > label_size + 1 && !memcmp(line, label, label_size) && !memcmp(line + label_size, ": ", 2)) {
            snprintf(value, size, "%.*s", (int)(length - label_size - 2), line + label_size + 2);
            return true;
        }
        line += length;
    }
    snprintf(value, size, "?");
    return false;
}
