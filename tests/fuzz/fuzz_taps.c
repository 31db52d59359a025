/* Fuzzing of the JSON parser of taps: any bytes give an error message or taps that
 * stn_stencil_create accepts or refuses with a message. */
#include "fuzz.h"
#include "io/taps_file.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    static const char *const texts[] = {
        "[{\"offset\": [0], \"weight\": 1}]",
        "[{\"offset\": [0, -1], \"weight\": 0.25}, {\"offset\": [1, 0], \"weight\": -3e-2}]",
        "[{\"weight\": 1, \"offset\": [1, 2, 3]}]", "[{\"offset\": [], \"weight\": 1}]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char name[32];
        snprintf(name, sizeof name, "taps-%zu", i);
        fuzz_seed(name, texts[i], strlen(texts[i]));
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    stn_error error = {0};
    stn_tap *taps = NULL;
    stn_stencil *stencil = NULL;
    int rank = 0;
    size_t count = 0;
    if (stn_taps_parse_json("fuzz.json", (const char *)data, size, &rank, &count, &taps, &error) != STN_OK) {
        FUZZ_CHECK(!taps && strstr(error.message, "fuzz.json") != NULL);
        return 0;
    }
    FUZZ_CHECK(rank >= 1 && rank <= STN_MAX_RANK && count >= 1 && count <= STN_MAX_TAPS);
    if (stn_stencil_create(rank, count, taps, &stencil, &error) == STN_OK)
        FUZZ_CHECK(stn_stencil_tap_count(stencil) == count);
    else
        FUZZ_CHECK(error.status == STN_ERROR_INVALID_ARGUMENT && *error.message);
    stn_stencil_destroy(stencil);
    free(taps);
    return 0;
}
