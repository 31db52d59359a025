/* Fuzzes wisdom: any bytes are refused with a message, or accepted, and then are the same when
 * written and read again. Random bytes never have a right checksum, so each input is tried as it
 * is, with its checksum repaired, and as the body of a file. */
#include <sodium/crypto_hash_sha256.h>

#include "cache/wisdom.h"
#include "fuzz.h"
#include "tune/time_record.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
static const char one_entry[] = "entry: " HEX " " HEX
                                "\n"
                                "problem: 2D 64 x 64, f64\ndevice: NVIDIA H200, driver 13000\n"
                                "candidate: direct 0.5 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 -20\n"
                                "candidate: lowrank wrong 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

/* The bytes with a first line and a right last line; the caller frees them. */
static char *framed(const char *body, size_t size, bool head, size_t *whole) {
    static const char first[] = "stentor wisdom 3\n";
    const size_t before = head ? sizeof first - 1 : 0;
    stn_key sum;
    char hex[65], *text = malloc(before + size + 100);
    FUZZ_CHECK(text);
    memcpy(text, first, before);
    if (size) memcpy(text + before, body, size);
    crypto_hash_sha256(sum.bytes, (const unsigned char *)text, before + size);
    stn_key_hex(&sum, hex);
    *whole = before + size + (size_t)sprintf(text + before + size, "sha256 %s\n", hex);
    return text;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    size_t size;
    char *text = framed(one_entry, sizeof one_entry - 1, true, &size);
    fuzz_seed("whole", text, size);
    free(text);
    fuzz_seed("body", one_entry, sizeof one_entry - 1);
    return 0;
}

static void try_text(const char *text, size_t size) {
    static tune_records records;
    stn_wisdom wisdom, again;
    stn_text printed = STN_TEXT_EMPTY;
    stn_error error = {0};
    size_t known;
    if (stn_wisdom_parse(text, size, &wisdom, &error) != STN_OK) {
        FUZZ_CHECK(error.status == STN_ERROR_FORMAT && *error.message && !wisdom.count && !wisdom.entry);
        return;
    }
    for (size_t i = 0; i < wisdom.count; i++) tune_records_parse(wisdom.entry[i], wisdom.entry[i + 1], &records);
    FUZZ_CHECK(stn_wisdom_join(&wisdom, &wisdom, &printed, &known, &error) == STN_OK && known == wisdom.count);
    FUZZ_CHECK(stn_wisdom_parse(printed.data, printed.size, &again, &error) == STN_OK && again.count == wisdom.count);
    stn_text_clear(&printed);
    FUZZ_CHECK(stn_wisdom_join(&again, &wisdom, &printed, &known, &error) == STN_OK && known == wisdom.count);
    FUZZ_CHECK(!strcmp(printed.data, again.text)); /* Known entries add nothing. */
    stn_text_clear(&printed);
    stn_wisdom_clear(&wisdom);
    stn_wisdom_clear(&again);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    enum { LAST_LINE = 72 };
    const char *bytes = (const char *)data;
    size_t whole;
    char *text = malloc(size ? size : 1); /* its end is guarded */
    FUZZ_CHECK(text);
    if (size) memcpy(text, data, size);
    try_text(text, size);
    free(text);
    text = framed(bytes, size > LAST_LINE ? size - LAST_LINE : 0, false, &whole);
    try_text(text, whole);
    free(text);
    text = framed(bytes, size, true, &whole);
    try_text(text, whole);
    free(text);
    return 0;
}
