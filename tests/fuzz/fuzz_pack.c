/* Fuzzes packs: any bytes are refused, or are a pack whose entries, packed again, give the same
 * bytes. Each input is tried as it is, with the index's checksum repaired, and with the entries'
 * checksums repaired too. */
#include "cache/pack.h"
#include "seed_entries.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    for (unsigned count = 0; count < 4; count++) {
        stn_pack_writer *writer;
        void *data;
        size_t size;
        char name[16];
        FUZZ_CHECK(stn_pack_writer_create(&writer, NULL) == STN_OK);
        for (unsigned i = 0; i < count; i++) {
            stn_key key;
            stn_entry entry = fuzz_entry(i, &key);
            FUZZ_CHECK(stn_pack_add(writer, &key, &entry, NULL) == STN_OK);
        }
        FUZZ_CHECK(stn_pack_finish(writer, &data, &size, NULL) == STN_OK);
        snprintf(name, sizeof name, "pack-%u", count);
        fuzz_seed(name, data, size);
        free(data);
        stn_pack_writer_destroy(writer);
    }
    return 0;
}

static void expect_same(const stn_pack *pack, const unsigned char *data, size_t size) {
    stn_pack_writer *writer;
    void *again;
    size_t again_size;
    FUZZ_CHECK(stn_pack_writer_create(&writer, NULL) == STN_OK);
    FUZZ_CHECK(stn_pack_add_pack(writer, pack, NULL) == STN_OK);
    FUZZ_CHECK(stn_pack_finish(writer, &again, &again_size, NULL) == STN_OK);
    FUZZ_CHECK(again_size == size && !memcmp(again, data, size));
    free(again);
    stn_pack_writer_destroy(writer);
}

static void try_pack(const unsigned char *data, size_t size) {
    stn_pack *pack = NULL;
    stn_error error = {0};
    if (stn_pack_open_memory(data, size, &pack, &error) != STN_OK) {
        FUZZ_CHECK(error.status == STN_ERROR_FORMAT && *error.message && !pack);
        return;
    }
    /* A damaged entry leaves the others readable. */
    for (size_t i = 0; i < stn_pack_count(pack); i++) {
        stn_entry entry = {0};
        stn_key key;
        if (stn_pack_read(pack, i, &key, &entry, &error) != STN_OK) continue;
        size_t index;
        FUZZ_CHECK(stn_pack_find(pack, &entry.source, &index) && index == i);
        stn_entry_clear(&entry);
    }
    if (stn_pack_verify(pack, &error) == STN_OK) expect_same(pack, data, size);
    stn_pack_close(pack);
}

static void repair_entries(unsigned char *data, size_t size, size_t count) {
    for (size_t i = 0; i < count; i++) {
        unsigned char *row = data + STN_PACK_HEADER + i * STN_PACK_ROW;
        uint64_t offset = stn_get64(row + STN_PACK_ROW_OFFSET), bytes = stn_get64(row + STN_PACK_ROW_SIZE);
        if (offset > size || bytes > size - offset || bytes < STN_ENTRY_HEADER) continue;
        if (offset < STN_PACK_HEADER + count * STN_PACK_ROW) continue;
        memcpy(data + offset + 48, row, 32);
        stn_entry_checksum(data + offset, (size_t)bytes, data + offset + 112);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    try_pack(data, size);
    if (size < STN_PACK_HEADER) return 0;
    unsigned char *repaired = malloc(size);
    FUZZ_CHECK(repaired);
    memcpy(repaired, data, size);
    stn_put64(repaired + STN_PACK_AT_SIZE, size);
    size_t most = (size - STN_PACK_HEADER) / STN_PACK_ROW;
    uint64_t count = stn_get64(repaired + STN_PACK_AT_COUNT);
    size_t rows = count > most ? most : (size_t)count;
    stn_pack_checksum(repaired, repaired + STN_PACK_HEADER, rows * STN_PACK_ROW, repaired + STN_PACK_AT_SUM);
    try_pack(repaired, size);
    repair_entries(repaired, size, rows);
    try_pack(repaired, size);
    free(repaired);
    return 0;
}
