/* Cache keys: SHA-256 over labelled, length-prefixed fields. */
#include "cache/key.h"

#include <sodium/utils.h>
#include <string.h>

#include "cache/format.h"

static void add_size(stn_key_builder *builder, size_t size) {
    unsigned char bytes[8];
    stn_put64(bytes, size);
    crypto_hash_sha256_update(&builder->state, bytes, sizeof bytes);
}

void stn_key_begin(stn_key_builder *builder) {
    crypto_hash_sha256_init(&builder->state);
    unsigned char version[16];
    stn_put32(version, STN_ENTRY_VERSION);
    stn_put32(version + 4, STN_VERSION_MAJOR);
    stn_put32(version + 8, STN_VERSION_MINOR);
    stn_put32(version + 12, STN_VERSION_PATCH);
    stn_key_add(builder, "format and library version", version, sizeof version);
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

void stn_key_finish(stn_key_builder *builder, stn_key *key) { crypto_hash_sha256_final(&builder->state, key->bytes); }

void stn_key_hex(const stn_key *key, char hex[65]) { sodium_bin2hex(hex, 65, key->bytes, sizeof key->bytes); }

bool stn_key_parse(const char *hex, stn_key *key) {
    size_t made;
    return strlen(hex) == 64 && !sodium_hex2bin(key->bytes, sizeof key->bytes, hex, 64, NULL, &made, NULL) &&
           made == sizeof key->bytes;
}
