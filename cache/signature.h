/* Detached signatures of packs: Ed25519ph (RFC 8032) of a whole pack, by libsodium. FORMAT.md
 * specifies the texts of keys and signatures. */
#ifndef STN_CACHE_SIGNATURE_H
#define STN_CACHE_SIGNATURE_H
#include "base/text.h"
#include "cache/pack.h"

enum { STN_PUBLIC_KEY_TEXT = 64 + 1 }; /* hex digits and a terminator */
#define STN_SIGNATURE_SUFFIX ".sig"

/* Makes a pair of keys; *secret is the text of the secret one. */
stn_status stn_signature_make_keys(stn_text *secret, char public_key[STN_PUBLIC_KEY_TEXT], stn_error *error);
/* A trusted key as 64 hex digits: `given` itself, or the beginning of the file that it names. */
stn_status stn_signature_read_key(const char *given, char public_key[STN_PUBLIC_KEY_TEXT], stn_error *error);
/* Appends the signature of `bytes`, as a text, by the secret key in `file`. */
stn_status stn_signature_make(const char *file, const void *bytes, size_t size, stn_text *text, stn_error *error);

/* Opens a pack whose signature, PATH.sig, is by this key. The pack is held in memory, so that a
 * later change of the file has no effect. STN_ERROR_FORMAT: it is not signed by the key. */
stn_status stn_pack_open_signed(const char *path, const char *public_key, stn_pack **pack, stn_error *error);
/* Reads a whole file of any owner; *bytes is freed with free(). */
stn_status stn_signature_read_file(const char *path, char **bytes, size_t *size, stn_error *error);
#endif
