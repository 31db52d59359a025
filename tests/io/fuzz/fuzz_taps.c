/* Fuzzing of the JSON parser of taps: any bytes give an error message or taps that
 * stn_stencil_create accepts or refuses with a message. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/taps_file.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s does not hold\n", what);
    abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    const char *folder = getenv("STENTOR_FUZZ_SEEDS");
    static const char *const texts[] = {
        "[{\"offset\": [0], \"weight\": 1}]",
        "[{\"offset\": [0, -1], \"weight\": 0.25}, {\"offset\": [1, 0], \"weight\": -3e-2}]",
        "[{\"weight\": 1, \"offset\": [1, 2, 3]}]", "[{\"offset\": [], \"weight\": 1}]"};
    for (size_t i = 0; folder && i < sizeof texts / sizeof *texts; i++) {
        char path[512];
        snprintf(path, sizeof path, "%s/taps-%zu", folder, i);
        FILE *file = fopen(path, "wb");
        check(file != NULL, "a seed can be written");
        fputs(texts[i], file);
        fclose(file);
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
        check(!taps && strstr(error.message, "fuzz.json") != NULL, "a refusal names the file and gives no taps");
        return 0;
    }
    check(rank >= 1 && rank <= STN_MAX_RANK && count >= 1 && count <= STN_MAX_TAPS, "rank and count");
    if (stn_stencil_create(rank, count, taps, &stencil, &error) == STN_OK)
        check(stn_stencil_tap_count(stencil) == count, "every tap is kept");
    else
        check(error.status == STN_ERROR_INVALID_ARGUMENT && *error.message, "a refusal says why");
    stn_stencil_destroy(stencil);
    free(taps);
    return 0;
}
