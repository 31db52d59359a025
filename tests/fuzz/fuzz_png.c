/* Fuzzing of the PNG reader: any bytes give an error message or as many pixels as the header
 * says. */
#include "fuzz.h"
#include "io/grey_png.h"

/* Seeds: PNG files written here, of both depths, and truncated copies. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    const char *folder = getenv("STENTOR_FUZZ_SEEDS");
    for (int i = 0; folder && i < 4; i++) {
        char path[512];
        size_t changed;
        stn_array array = {0};
        stn_output output = {0};
        snprintf(path, sizeof path, "%s/png-%d", folder, i);
        FUZZ_CHECK(stn_array_make(2, (size_t[]){3, 1 + 7 * (size_t)i}, STN_F32, &array, NULL) == STN_OK);
        for (size_t k = 0; k < array.count; k++) stn_array_set(&array, k, (double)(k * 37 % 256));
        FUZZ_CHECK(stn_png_prepare(path, &array, i % 2 ? 16 : 8, &changed, &output, NULL) == STN_OK && !changed);
        FUZZ_CHECK(stn_output_commit(&output, NULL) == STN_OK);
        stn_array_clear(&array);
    }
    return 0;
}

/* A chunk's checksum, since random changes would otherwise never pass beyond it. */
static unsigned checksum(const unsigned char *bytes, size_t size) {
    unsigned sum = 0xffffffffu;
    for (size_t i = 0; i < size; i++) {
        sum ^= bytes[i];
        for (int bit = 0; bit < 8; bit++) sum = sum >> 1 ^ (sum & 1 ? 0xedb88320u : 0);
    }
    return ~sum;
}

static void mend_checksums(unsigned char *bytes, size_t size) {
    for (size_t at = 8; size >= 12 && at <= size - 12;) {
        size_t length =
            (size_t)bytes[at] << 24 | (size_t)bytes[at + 1] << 16 | (size_t)bytes[at + 2] << 8 | bytes[at + 3];
        if (length > size - at - 12) return;
        unsigned sum = checksum(bytes + at + 4, length + 4);
        for (int i = 0; i < 4; i++) bytes[at + 8 + length + (size_t)i] = (unsigned char)(sum >> (24 - 8 * i));
        at += length + 12;
    }
}

static void try_decode(const unsigned char *data, size_t size) {
    stn_npy_header header, again;
    stn_error error = {0};
    unsigned char *pixels = NULL;
    stn_status status = stn_png_decode("fuzz.png", data, size, &again, NULL, NULL);
    if (stn_png_decode("fuzz.png", data, size, &header, &pixels, &error) != STN_OK) {
        FUZZ_CHECK(!pixels && error.status != STN_ERROR_INTERNAL);
        FUZZ_CHECK(strstr(error.message, "fuzz.png") || error.status == STN_ERROR_OUT_OF_MEMORY);
        return;
    }
    FUZZ_CHECK(status == STN_OK && again.count == header.count && again.item == header.item);
    FUZZ_CHECK(header.kind == 'u' && header.rank == 2 && (header.item == 1 || header.item == 2));
    FUZZ_CHECK(header.extent[0] * header.extent[1] == header.count && header.count > 0);
    unsigned sum = 0;
    /* reads all pixels */
    for (size_t i = 0; i < header.count * (size_t)header.item; i++) sum += pixels[i];
    free(pixels);
    (void)sum;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    unsigned char *copy = malloc(size ? size : 1);
    try_decode(data, size);
    if (copy) {
        memcpy(copy, data, size);
        mend_checksums(copy, size);
        try_decode(copy, size);
    }
    free(copy);
    return 0;
}
