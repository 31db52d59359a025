/* Fuzzes entries: any bytes are refused, or are an entry that encodes to the same bytes. Random
 * bytes never have a right checksum, so each input is tried as it is and with its checksum
 * repaired. */
#include "cache/entry.h"
#include "seed_entries.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    for (unsigned i = 0; i < 4; i++) {
        stn_key key;
        stn_entry entry = fuzz_entry(i, &key);
        unsigned char *image;
        size_t size;
        char name[16];
        FUZZ_CHECK(stn_entry_encode(&key, &entry, &image, &size, NULL) == STN_OK);
        snprintf(name, sizeof name, "entry-%u", i);
        fuzz_seed(name, image, size);
        free(image);
    }
    return 0;
}

static void try_image(const unsigned char *image, size_t size) {
    stn_key key;
    stn_entry entry = {0};
    stn_error error = {0};
    if (stn_entry_decode(image, size, &key, &entry, &error) != STN_OK) {
        FUZZ_CHECK(error.status == STN_ERROR_FORMAT && *error.message && !entry.metadata);
        return;
    }
    unsigned char *again;
    size_t again_size;
    char value[32];
    (void)stn_entry_field(&entry, "arch", value, sizeof value);
    FUZZ_CHECK(stn_entry_encode(&key, &entry, &again, &again_size, &error) == STN_OK);
    FUZZ_CHECK(again_size == size && !memcmp(again, image, size));
    free(again);
    stn_entry_clear(&entry);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    try_image(data, size);
    if (size < STN_ENTRY_HEADER) return 0;
    unsigned char *repaired = malloc(size);
    FUZZ_CHECK(repaired);
    memcpy(repaired, data, size);
    stn_entry_checksum(repaired, size, repaired + 112);
    try_image(repaired, size);
    free(repaired);
    return 0;
}
