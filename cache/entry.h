/* One entry: what is kept of a kernel, and its bytes as FORMAT.md lays them out, the same on disk
 * and inside a pack. */
#ifndef STN_CACHE_ENTRY_H
#define STN_CACHE_ENTRY_H
#include "cache/format.h"
#include "cache/key.h"

typedef struct stn_entry {
    char *metadata; /* readable text, "label: value" lines: what it was made from */
    char *params;   /* the rendered params.cuh */
    char *ptx;
    size_t ptx_size; /* without the NUL that follows it in memory */
    void *cubin;     /* NULL when there is only PTX */
    size_t cubin_size;
    stn_key source; /* the key of the same inputs without the compiler; all zero: the entry's own key */
} stn_entry;        /* owns its members */
void stn_entry_clear(stn_entry *entry);
/* The metadata's line "label: value", cut to size; "?" and false when there is none. */
bool stn_entry_field(const stn_entry *entry, const char *label, char *value, size_t size);

/* *image is freed with free(). NULL members count as empty. */
stn_status stn_entry_encode(const stn_key *key, const stn_entry *entry, unsigned char **image, size_t *size,
                            stn_error *error);

/* Checks everything (magic, version, sizes, checksum, texts without NUL) and copies the members
 * out. The error is a clause to put behind a name ("its checksum is wrong"). key gets the entry's
 * own key. */
stn_status stn_entry_decode(const unsigned char *image, size_t size, stn_key *key, stn_entry *entry, stn_error *error);

/* The checksum that a well-formed image would carry (bytes 112 to 143 hold it). size >=
 * STN_ENTRY_HEADER. */
void stn_entry_checksum(const unsigned char *image, size_t size, unsigned char sum[32]);

/* The key by which packs and compiler-less searches know the entry. */
const stn_key *stn_entry_source(const stn_key *key, const stn_entry *entry);
#endif
