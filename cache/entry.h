/* The bytes of one entry, as FORMAT.md lays them out: the same on disk and inside a pack. */
#ifndef STN_CACHE_ENTRY_H
#define STN_CACHE_ENTRY_H
#include "cache/cache.h"

#define STN_ENTRY_VERSION 1u
#define STN_ENTRY_HEADER 144u
#define STN_ENTRY_MAX ((size_t)1 << 28) /* bytes of a whole entry; more is refused before memory is asked for */

static inline void stn_put32(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (8 * i));
}
static inline void stn_put64(unsigned char *at, uint64_t value) {
    for (int i = 0; i < 8; i++) at[i] = (unsigned char)(value >> (8 * i));
}
static inline uint32_t stn_get32(const unsigned char *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}
static inline uint64_t stn_get64(const unsigned char *at) { return stn_get32(at) | (uint64_t)stn_get32(at + 4) << 32; }

/* *image is freed with free(). NULL members count as empty. */
stn_status stn_entry_encode(const stn_key *key, const stn_entry *entry, unsigned char **image, size_t *size,
                            stn_error *error);

/* Checks everything (magic, version, sizes, checksum, texts without NUL) and copies the members out. The error is a
 * clause to put behind a name ("its checksum is wrong"). key gets the entry's own key. */
stn_status stn_entry_decode(const unsigned char *image, size_t size, stn_key *key, stn_entry *entry, stn_error *error);

/* The checksum that a well-formed image would carry (bytes 112 to 143 hold it). size >= STN_ENTRY_HEADER. */
void stn_entry_checksum(const unsigned char *image, size_t size, unsigned char sum[32]);

/* The key by which packs and compiler-less searches know the entry. */
const stn_key *stn_entry_source(const stn_key *key, const stn_entry *entry);
#endif
