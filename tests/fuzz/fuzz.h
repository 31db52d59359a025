/* Shared by the fuzz targets. Run as TARGET CORPUS_FOLDER; with STENTOR_FUZZ_SEEDS=FOLDER a target
 * first writes its seeds there (for example into the corpus folder). */
#ifndef STN_TESTS_CACHE_FUZZ_H
#define STN_TESTS_CACHE_FUZZ_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

/* A statement that must hold for every input. */
#define FUZZ_CHECK(condition)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);                              \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static inline void fuzz_seed(const char *name, const void *bytes, size_t size) {
    const char *folder = getenv("STENTOR_FUZZ_SEEDS");
    char path[512];
    if (!folder) return;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    FUZZ_CHECK(file && fwrite(bytes, 1, size, file) == size && !fclose(file));
}
#endif
