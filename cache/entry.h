/* One cache entry: a compiled kernel with its source and metadata. FORMAT.md specifies its bytes,
 * which are the same on disk and in a pack. */
#ifndef STN_CACHE_ENTRY_H
#define STN_CACHE_ENTRY_H
#include "cache/format.h"
#include "cache/key.h"

typedef struct stn_entry {
    char *metadata; /* text of "label: value" lines: what the kernel was made from */
    char *params;   /* the rendered params.cuh */
    char *ptx;
    size_t ptx_size; /* without the NUL that follows it in memory */
    void *cubin;     /* NULL when there is only PTX */
    size_t cubin_size;
    /* Key of the same inputs without the compiler; all zero: the entry's own key. */
    stn_key source;
} stn_entry; /* owns its members */
void stn_entry_clear(stn_entry *entry);
/* Copies the value of the metadata's line "label: value", cut to size; "?" and false if there is
 * none. */
bool stn_entry_field(const stn_entry *entry, const char *label, char *value, size_t size);

/* *image is freed with free(). NULL members count as empty. */
stn_status stn_entry_encode(const stn_key *key, const stn_entry *entry, unsigned char **image, size_t *size,
                            stn_error *error);

/* Checks magic, version, sizes, checksum, and texts without NUL, and copies the members. The error
 * message is a clause without the entry's name ("its checksum is wrong"), which the caller
 * completes. *key is set to the key that the entry contains. */
stn_status stn_entry_decode(const unsigned char *image, size_t size, stn_key *key, stn_entry *entry, stn_error *error);

/* The checksum of an image (stored in bytes 112 to 143). size >= STN_ENTRY_HEADER. */
void stn_entry_checksum(const unsigned char *image, size_t size, unsigned char sum[32]);

/* The source key: packs and searches without a compiler use it. */
const stn_key *stn_entry_source(const stn_key *key, const stn_entry *entry);
#endif
