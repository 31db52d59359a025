/* Constants of FORMAT.md: versions, sizes, offsets; little-endian integers. */
#ifndef STN_CACHE_FORMAT_H
#define STN_CACHE_FORMAT_H
#include <stddef.h>
#include <stdint.h>

#define STN_ENTRY_VERSION 2u
#define STN_ENTRY_HEADER 144u
#define STN_ENTRY_AT_SOURCE 48u
/* Largest entry in bytes; more is refused before memory is allocated. */
#define STN_ENTRY_MAX ((size_t)1 << 28)

#define STN_PACK_VERSION 1u
#define STN_PACK_HEADER 64u
#define STN_PACK_ROW 48u /* of the index: source key, offset, size */
#define STN_PACK_MAGIC "STNPACK\n"

enum { STN_PACK_AT_VERSION = 8, STN_PACK_AT_FLAGS = 12, STN_PACK_AT_COUNT = 16, STN_PACK_AT_SIZE = 24 };
enum { STN_PACK_AT_SUM = 32, STN_PACK_ROW_OFFSET = 32, STN_PACK_ROW_SIZE = 40 };

/* Little-endian. */
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
#endif
