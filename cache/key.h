/* Cache keys: SHA-256 over labelled, length-prefixed fields of the inputs, never of the PTX. */
#ifndef STN_CACHE_KEY_H
#define STN_CACHE_KEY_H
#include <sodium/crypto_hash_sha256.h>
#include <stdbool.h>
#include <stddef.h>

#include "stentor.h"

typedef struct stn_key {
    unsigned char bytes[32];
} stn_key;
typedef struct stn_key_builder {
    crypto_hash_sha256_state state;
} stn_key_builder;
/* Each field is a label and bytes, hashed with both lengths, so that no two lists of fields collide
 * by concatenation. The first field of every key has the versions of the format and the library. */
void stn_key_begin(stn_key_builder *builder);
void stn_key_add(stn_key_builder *builder, const char *label, const void *bytes, size_t size);
void stn_key_add_text(stn_key_builder *builder, const char *label, const char *text);
void stn_key_finish(stn_key_builder *builder, stn_key *key);
void stn_key_hex(const stn_key *key, char hex[65]);
bool stn_key_parse(const char *hex, stn_key *key); /* 64 digits of either case, nothing else */
#endif
