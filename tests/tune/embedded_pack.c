/* Replaces the pack in the library by one that a test makes at run time. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

unsigned char stn_embedded_pack[1 << 23];
size_t stn_embedded_pack_size;

void set_embedded_pack(const void *pack, size_t size); /* for test_first_result.c */
void set_embedded_pack(const void *pack, size_t size) {
    assert(size <= sizeof stn_embedded_pack);
    memcpy(stn_embedded_pack, pack, size);
    stn_embedded_pack_size = size;
}
