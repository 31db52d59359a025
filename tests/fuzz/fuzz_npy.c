/* Fuzzing of the .npy header parser: any bytes give an error message or a consistent header. */
#include "fuzz.h"
#include "io/npy.h"

/* Seeds: headers as numpy.save writes them, in each format version and for a few shapes. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    static const char *const texts[] = {"{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
                                        "{'descr': '>f2', 'fortran_order': True, 'shape': (344, 403), }",
                                        "{'descr': '|u1', 'fortran_order': False, 'shape': (), }",
                                        "{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1, 2, 3, 4), }",
                                        "{'descr': '<c16', 'fortran_order': False, 'shape': (5, 4), }"};
    for (size_t i = 0; i < 15; i++) {
        char name[32], seed[256] = "\x93NUMPY";
        const size_t length = strlen(texts[i % 5]), version = 1 + i / 5, before = version == 1 ? 10 : 12;
        seed[6] = (char)version;
        seed[8] = (char)length;
        memcpy(seed + before, texts[i % 5], length);
        snprintf(name, sizeof name, "npy-%zu", i);
        fuzz_seed(name, seed, before + length);
    }
    return 0;
}

static void try_parse(const unsigned char *data, size_t size, bool any) {
    stn_npy_header header;
    stn_error error = {0};
    stn_status status = any ? stn_npy_parse_any("fuzz.npy", data, size, &header, &error)
                            : stn_npy_parse("fuzz.npy", data, size, &header, &error);
    if (status != STN_OK) {
        FUZZ_CHECK(status == STN_ERROR_FORMAT);
        FUZZ_CHECK(strstr(error.message, "fuzz.npy") != NULL);
        return;
    }
    FUZZ_CHECK(header.rank >= 0 && header.rank <= STN_ARRAY_RANK);
    FUZZ_CHECK(header.offset >= 10 && header.offset <= size);
    FUZZ_CHECK(header.item == 1 || header.item == 2 || header.item == 4 || header.item == 8);
    FUZZ_CHECK(header.per == 1 || (any && header.per == 2 && header.item >= 4));
    size_t count = 1;
    for (int axis = 0; axis < header.rank; axis++)
        FUZZ_CHECK(!__builtin_mul_overflow(count, header.extent[axis], &count));
    FUZZ_CHECK(count == header.count && !__builtin_mul_overflow(count, (size_t)(header.item * header.per), &count));
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    try_parse(data, size, false);
    try_parse(data, size, true);
    return 0;
}
