/* Cache keys: SHA-256 over labelled, length-prefixed fields. */
#include "cache/key.h"

#include <sodium/crypto_hash_sha256.h>
#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cache/format.h"

struct stn_key_builder {
    crypto_hash_sha256_state state;
};

static void add_size(stn_key_builder *builder, size_t size) {
    unsigned char bytes[8];
    stn_put64(bytes, size);
    crypto_hash_sha256_update(&builder->state, bytes, sizeof bytes);
}

stn_status stn_key_begin(stn_key_builder **builder, stn_error *error) {
    stn_key_builder *made = malloc(sizeof *made);
    if (!made) return stn_fail_memory(error, "a cache key", sizeof *made);
    crypto_hash_sha256_init(&made->state);
    unsigned char version[16];
    stn_put32(version, STN_ENTRY_VERSION);
    stn_put32(version + 4, STN_VERSION_MAJOR);
    stn_put32(version + 8, STN_VERSION_MINOR);
    stn_put32(version + 12, STN_VERSION_PATCH);
    stn_key_add(made, "format and library version", version, sizeof version);
    *builder = made;
    return STN_OK;
}

void stn_key_add(stn_key_builder *builder, const char *label, const void *bytes, size_t size) {
    size_t label_size = strlen(label);
    add_size(builder, label_size);
    crypto_hash_sha256_update(&builder->state, (const unsigned char *)label, label_size);
    add_size(builder, size);
    if (size) crypto_hash_sha256_update(&builder->state, bytes, size);
}

void stn_key_add_text(stn_key_builder *builder, const char *label, const char *text) {
    stn_key_add(builder, label, text, strlen(text));
}

void stn_key_finish(stn_key_builder *builder, stn_key *key) {
    if (builder && key) crypto_hash_sha256_final(&builder->state, key->bytes);
    free(builder);
}

void stn_key_hex(const stn_key *key, char hex[65]) { sodium_bin2hex(hex, 65, key->bytes, sizeof key->bytes); }

bool stn_key_parse(const char *hex, stn_key *key) {
    size_t made;
    return strlen(hex) == 64 && !sodium_hex2bin(key->bytes, sizeof key->bytes, hex, 64, NULL, &made, NULL) &&
           made == sizeof key->bytes;
}
