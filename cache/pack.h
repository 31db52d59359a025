/* The bytes of a pack, as FORMAT.md lays them out. */
#ifndef STN_CACHE_PACK_H
#define STN_CACHE_PACK_H
#include "cache/entry.h"

#define STN_PACK_VERSION 1u
#define STN_PACK_HEADER 64u
#define STN_PACK_ROW 48u /* of the index: source key, offset, size */
#define STN_PACK_MAGIC "STNPACK\n"

enum { STN_PACK_AT_VERSION = 8, STN_PACK_AT_FLAGS = 12, STN_PACK_AT_COUNT = 16, STN_PACK_AT_SIZE = 24 };
enum { STN_PACK_AT_SUM = 32, STN_PACK_ROW_OFFSET = 32, STN_PACK_ROW_SIZE = 40 };

/* The checksum of header (its first 32 bytes) and index. */
void stn_pack_checksum(const unsigned char *header, const unsigned char *index, size_t index_size,
                       unsigned char sum[32]);
#endif
