/* Fuzzing of the .npy header parser: any bytes give an error message or a consistent header. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/npy.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(int holds, const char *what) {
    if (holds) return;
    fprintf(stderr, "%s does not hold\n", what);
    abort();
}

/* Seeds: headers as numpy.save writes them, in each format version and for a few shapes. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    const char *folder = getenv("STENTOR_FUZZ_SEEDS");
    static const char *const texts[] = {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
                                        "{'descr': '>f2', 'fortran_order': True, 'shape': (344, 403), }",
                                        "{'descr': '|u1', 'fortran_order': False, 'shape': (), }",
                                        "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1, 2, 3, 4), }",
                                        "{'descr': '<c16', 'fortran_order': False, 'shape': (5, 4), }"};
    for (size_t i = 0; folder && i < 15; i++) {
        char path[512], prefix[12] = "\x93NUMPY";
        size_t length = strlen(texts[i % 5]), version = 1 + i / 5;
        prefix[6] = (char)version;
        prefix[8] = (char)length;
        snprintf(path, sizeof path, "%s/npy-%zu", folder, i);
        FILE *file = fopen(path, "wb");
        check(file != NULL, "a seed can be written");
        fwrite(prefix, 1, version == 1 ? 10 : 12, file);
        fwrite(texts[i % 5], 1, length, file);
        fclose(file);
    }
    return 0;
}

static void try_parse(const unsigned char *data, size_t size, bool any) {
    stn_npy_header header;
    stn_error error = {0};
    stn_status status = any ? stn_npy_parse_any("fuzz.npy", data, size, &header, &error)
                            : stn_npy_parse("fuzz.npy", data, size, &header, &error);
    if (status != STN_OK) {
        check(status == STN_ERROR_FORMAT, "the status");
        check(strstr(error.message, "fuzz.npy") != NULL, "the sentence names the file");
        return;
    }
    check(header.rank >= 0 && header.rank <= STN_ARRAY_RANK, "rank");
    check(header.offset >= 10 && header.offset <= size, "offset");
    check(header.item == 1 || header.item == 2 || header.item == 4 || header.item == 8, "item");
    check(header.per == 1 || (any && header.per == 2 && header.item >= 4), "numbers a value");
    size_t count = 1;
    for (int axis = 0; axis < header.rank; axis++)
        check(!__builtin_mul_overflow(count, header.extent[axis], &count), "the product of extents");
    check(count == header.count && !__builtin_mul_overflow(count, (size_t)(header.item * header.per), &count), "count");
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    try_parse(data, size, false);
    try_parse(data, size, true);
    return 0;
}
