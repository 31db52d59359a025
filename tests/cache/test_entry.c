/* Entries: every change of a byte and every truncation is detected. */
#include <stdlib.h>

#include "../expect.h"
#include "cache/entry.h"
#include "helpers.h"

static unsigned char *image_of(unsigned number, size_t cubin, size_t *size) {
    stn_key key = key_of_number(number);
    stn_entry entry = entry_of_number(number, cubin);
    unsigned char *image;
    cr_assert_eq(stn_entry_encode(&key, &entry, &image, size, NULL), STN_OK);
    stn_entry_clear(&entry);
    return image;
}

static bool decodes(const unsigned char *image, size_t size) {
    stn_key key;
    stn_entry entry = {0};
    /* An exact allocation, so that a sanitizer sees a read past the end. */
    unsigned char *exact = malloc(size ? size : 1);
    memcpy(exact, image, size);
    bool good = stn_entry_decode(exact, size, &key, &entry, &error) == STN_OK;
    if (!good) cr_assert(error.status == STN_ERROR_FORMAT && *error.message);
    if (!good) cr_assert(!entry.metadata && !entry.cubin);
    stn_entry_clear(&entry);
    free(exact);
    return good;
}

Test(entry, round_trips) {
    size_t size;
    unsigned char *image = image_of(3, 100, &size);
    stn_key key, wanted = key_of_number(3);
    stn_entry entry;
    cr_assert_eq(stn_entry_decode(image, size, &key, &entry, NULL), STN_OK);
    cr_assert(!memcmp(&key, &wanted, sizeof key));
    cr_assert(!memcmp(&entry.source, &wanted, sizeof key), "no source key: its own");
    cr_assert(entry_is_of_number(&entry, 3));
    cr_assert_eq(entry.cubin_size, 100);
    stn_entry_clear(&entry);
    free(image);
}

Test(entry, may_lack_any_member) {
    stn_key key = key_of_number(1), own;
    stn_entry none = {0}, back;
    none.source = key_of_number(2);
    unsigned char *image;
    size_t size;
    cr_assert_eq(stn_entry_encode(&key, &none, &image, &size, NULL), STN_OK);
    cr_assert_eq(size, STN_ENTRY_HEADER);
    cr_assert_eq(stn_entry_decode(image, size, &own, &back, NULL), STN_OK);
    cr_assert_str_eq(back.metadata, "");
    cr_assert_str_eq(back.params, "");
    cr_assert_null(back.ptx);
    cr_assert_null(back.cubin);
    cr_assert(!memcmp(&back.source, &none.source, sizeof key));
    stn_entry_clear(&back);
    free(image);
}

Test(entry, detects_every_changed_byte_truncation_and_growth) {
    size_t size;
    unsigned char *image = image_of(5, 40, &size);
    expect_only_whole(image, size, decodes, true);
    free(image);
}

/* Malicious headers with a right checksum. */
Test(entry, hostile_sizes_are_refused) {
    size_t size;
    unsigned char *image = image_of(8, 40, &size);
    const uint64_t lies[] = {
        0, 1, size, size - STN_ENTRY_HEADER + 1, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 40, (uint64_t)1 << 63};
    for (int part = 0; part < 4; part++)
        for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
            unsigned char *at = image + 80 + 8 * part;
            uint64_t kept = stn_get64(at);
            stn_put64(at, lies[i]);
            stn_entry_checksum(image, size, image + 112);
            cr_assert_not(decodes(image, size), "part %d of size %llu", part, (unsigned long long)lies[i]);
            stn_put64(at, kept);
        }
    stn_entry_checksum(image, size, image + 112);
    cr_assert(decodes(image, size));
    uint64_t metadata = stn_get64(image + 80), params = stn_get64(image + 88);
    stn_put64(image + 80, metadata + params + 1); /* sizes whose sum overflows to the right one */
    stn_put64(image + 88, UINT64_MAX);
    stn_entry_checksum(image, size, image + 112);
    cr_assert_not(decodes(image, size), "sizes that wrap around");
    stn_put64(image + 80, metadata);
    stn_put64(image + 88, params);
    const uint64_t inside[] = {3, metadata, metadata + params, metadata + params + stn_get64(image + 96) - 1};
    /* In the metadata, the parameters, and at both ends of the PTX. */
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        const unsigned char kept = image[STN_ENTRY_HEADER + inside[i]];
        image[STN_ENTRY_HEADER + inside[i]] = 0;
        stn_entry_checksum(image, size, image + 112);
        cr_assert_not(decodes(image, size), "a NUL at %d", (int)inside[i]);
        image[STN_ENTRY_HEADER + inside[i]] = kept;
    }
    free(image);
}

Test(entry, a_future_version_is_named) {
    size_t size;
    unsigned char *image = image_of(9, 4, &size);
    stn_put32(image + 8, 7);
    stn_entry_checksum(image, size, image + 112);
    stn_key key;
    stn_entry entry;
    FAILS(stn_entry_decode(image, size, &key, &entry, &error), STN_ERROR_FORMAT, "version is 7");
    free(image);
}

Test(entry, a_too_large_kernel_is_not_stored) {
    stn_key key = key_of_number(1);
    stn_entry entry = entry_of_number(1, 4);
    entry.cubin_size = STN_ENTRY_MAX; /* refused before it is read */
    unsigned char *image = NULL;
    size_t size;
    cr_assert_eq(stn_entry_encode(&key, &entry, &image, &size, NULL), STN_ERROR_FORMAT);
    cr_assert_null(image);
    entry.cubin_size = 4;
    stn_entry_clear(&entry);
}

Test(entry, metadata_fields_are_found_by_label) {
    stn_entry entry = {.metadata = "arch: sm_90\nkernel: direct: march\nempty: \nlast: end"};
    char value[16];
    cr_assert(stn_entry_field(&entry, "arch", value, sizeof value));
    cr_assert_str_eq(value, "sm_90");
    cr_assert(stn_entry_field(&entry, "kernel", value, sizeof value));
    cr_assert_str_eq(value, "direct: march");
    cr_assert(stn_entry_field(&entry, "empty", value, sizeof value));
    cr_assert_str_eq(value, "");
    cr_assert(stn_entry_field(&entry, "last", value, 3));
    cr_assert_str_eq(value, "en");
    cr_assert_not(stn_entry_field(&entry, "kern", value, sizeof value));
    cr_assert_str_eq(value, "?");
    entry.metadata = NULL;
    cr_assert_not(stn_entry_field(&entry, "arch", value, sizeof value));
}
