/* A pack: many entries in one read-only file; FORMAT.md specifies its bytes. */
#ifndef STN_CACHE_PACK_H
#define STN_CACHE_PACK_H
#include "cache/entry.h"

typedef struct stn_pack stn_pack; /* immutable once open: any thread may read */
/* Checks header and index; entries are checked when they are read, so that a big pack opens
 * quickly. */
stn_status stn_pack_open(const char *path, stn_pack **pack, stn_error *error);
/* `data` is borrowed for the pack's life. */
stn_status stn_pack_open_memory(const void *data, size_t size, stn_pack **pack, stn_error *error);
/* The same; the pack frees `data`, also if it cannot be opened. `name` is for messages. */
stn_status stn_pack_open_owned(const char *name, void *data, size_t size, stn_pack **pack, stn_error *error);
void stn_pack_close(stn_pack *pack); /* NULL has no effect */
const char *stn_pack_name(const stn_pack *pack);
size_t stn_pack_count(const stn_pack *pack);
/* Searches by the source key; false if there is none. */
bool stn_pack_find(const stn_pack *pack, const stn_key *source, size_t *index);
/* Reads and checks one entry; key (may be NULL) gets the entry's own key, which includes the
 * compiler. STN_ERROR_FORMAT if it is damaged. */
stn_status stn_pack_read(const stn_pack *pack, size_t index, stn_key *key, stn_entry *entry, stn_error *error);
uint64_t stn_pack_entry_bytes(const stn_pack *pack, size_t index);
/* Checks every entry; the error names the first damaged one. */
stn_status stn_pack_verify(const stn_pack *pack, stn_error *error);

typedef struct stn_pack_writer stn_pack_writer; /* thread-safe */
stn_status stn_pack_writer_create(stn_pack_writer **writer, stn_error *error);
/* Kernels that are added from now on lose their PTX where they have a cubin, unless they are for
 * the architecture `sm` (90: sm_90), whose PTX serves newer GPUs that have no cubin. */
void stn_pack_writer_keep_ptx(stn_pack_writer *writer, int sm);
void stn_pack_writer_destroy(stn_pack_writer *writer); /* NULL has no effect */
/* Copies the entry. If the source key is there already, the first entry stays (as packs are
 * searched in order). */
stn_status stn_pack_add(stn_pack_writer *writer, const stn_key *key, const stn_entry *entry, stn_error *error);
/* Adds all entries of another pack, checked. */
stn_status stn_pack_add_pack(stn_pack_writer *writer, const stn_pack *pack, stn_error *error);
size_t stn_pack_writer_count(stn_pack_writer *writer);
/* Builds the pack's bytes, independent of the order of additions. Fails if adding any entry failed,
 * so that no pack lacks a kernel. *data is freed with free(). */
stn_status stn_pack_finish(stn_pack_writer *writer, void **data, size_t *size, stn_error *error);

/* The checksum over the first 32 bytes of the header and the index. */
void stn_pack_checksum(const unsigned char *header, const unsigned char *index, size_t index_size,
                       unsigned char sum[32]);
#endif
