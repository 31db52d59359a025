/* .npy files: round trips, every type, and malformed headers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../expect.h"
#include "base/half.h"
#include "files.h"
#include "io/input.h"

TestSuite(npy, .init = files_enter, .fini = files_leave);

/* Writes a file of format version `major` with this header text (a newline is added) and
 * payload. */
static void put_npy(const char *name, int major, const char *header, const void *payload, size_t size) {
    unsigned char bytes[4096];
    size_t length = strlen(header) + 1, prefix = major == 1 ? 10 : 12;
    memcpy(bytes, "\x93NUMPY", 6);
    bytes[6] = (unsigned char)major;
    bytes[7] = 0;
    for (size_t i = 8; i < prefix; i++) bytes[i] = (unsigned char)(length >> 8 * (i - 8));
    memcpy(bytes + prefix, header, length - 1);
    bytes[prefix + length - 1] = '\n';
    cr_assert_lt(prefix + length + size, sizeof bytes);
    if (size) memcpy(bytes + prefix + length, payload, size);
    file_put(name, bytes, prefix + length + size);
}

Test(npy, round_trips_every_dtype_and_rank) {
    size_t extent[] = {3, 2, 5, 4};
    for (int dtype = STN_F64; dtype <= STN_F16; dtype++)
        for (int rank = 1; rank <= 4; rank++) {
            stn_array a = {0}, b = {0};
            cr_assert_eq(stn_array_make(rank, extent, (stn_dtype)dtype, &a, NULL), STN_OK);
            for (size_t i = 0; i < a.count; i++) stn_array_set(&a, i, (double)i * 0.25 - 3);
            OK(stn_npy_write("a.npy", &a, &error));
            OK(stn_input_read("a.npy", NULL, false, NULL, &b, &error));
            cr_assert_eq(b.dtype, a.dtype);
            cr_assert_eq(b.rank, rank);
            for (int axis = 0; axis < rank; axis++) cr_assert_eq(b.extent[axis], extent[axis]);
            for (size_t i = 0; i < a.count; i++) cr_assert_eq(stn_array_get(&b, i), (double)i * 0.25 - 3);
            stn_array_clear(&a);
            stn_array_clear(&b);
        }
    cr_assert_eq(files_count(), 1, "a temporary file was left behind");
}

Test(npy, values_start_at_a_multiple_of_64_bytes) {
    size_t extent[] = {7}, size;
    stn_array a = {0};
    stn_array_make(1, extent, STN_F64, &a, NULL);
    stn_npy_write("a.npy", &a, NULL);
    unsigned char *bytes = file_get("a.npy", &size);
    cr_assert_eq((size - 56) % 64, 0);
    cr_assert_eq(bytes[size - 57], '\n');
    free(bytes);
    stn_array_clear(&a);
}

Test(npy, reads_all_number_types_in_both_byte_orders) {
    static const struct {
        const char *descr;
        unsigned char bytes[8];
        size_t item;
        double value;
        stn_dtype dtype;
    } cases[] = {
        {"<f8", {0, 0, 0, 0, 0, 0, 0xf8, 0xbf}, 8, -1.5, STN_F64},
        {">f8", {0xbf, 0xf8}, 8, -1.5, STN_F64},
        {"<f4", {0, 0, 0xc0, 0xbf}, 4, -1.5, STN_F32},
        {">f4", {0xbf, 0xc0}, 4, -1.5, STN_F32},
        {"<f2", {0, 0xbe}, 2, -1.5, STN_F16},
        {">f2", {0xbe, 0}, 2, -1.5, STN_F16},
        {"|i1", {0xfe}, 1, -2, STN_F64},
        {"|u1", {0xfe}, 1, 254, STN_F64},
        {"|b1", {1}, 1, 1, STN_F64},
        {"<i2", {0xfe, 0xff}, 2, -2, STN_F64},
        {">i2", {0xff, 0xfe}, 2, -2, STN_F64},
        {">u2", {0x01, 0x02}, 2, 258, STN_F64},
        {"<i4", {0xfe, 0xff, 0xff, 0xff}, 4, -2, STN_F64},
        {">u4", {0, 0, 1, 2}, 4, 258, STN_F64},
        {">i8", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe}, 8, -2, STN_F64},
        {"<u8", {2, 1}, 8, 258, STN_F64},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int major = 1; major <= 3; major++) {
            char header[128];
            stn_array a = {0};
            snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1,), }", cases[i].descr);
            put_npy("t.npy", major, header, cases[i].bytes, cases[i].item);
            cr_assert_eq(stn_input_read("t.npy", NULL, false, NULL, &a, &error), STN_OK, "%s: %s", cases[i].descr,
                         error.message);
            cr_assert_eq(a.dtype, cases[i].dtype, "%s", cases[i].descr);
            cr_assert_eq(stn_array_get(&a, 0), cases[i].value, "%s", cases[i].descr);
            stn_array_clear(&a);
        }
}

Test(npy, fortran_order_is_transposed) {
    float stored[24];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++) stored[i + 2 * (j + 3 * k)] = (float)(100 * i + 10 * j + k);
    put_npy("t.npy", 1, "{\"shape\": (2, 3, 4), \"fortran_order\": True, \"descr\": \"<f4\"}", stored, sizeof stored);
    stn_array a = {0};
    cr_assert_eq(stn_input_read("t.npy", NULL, false, NULL, &a, NULL), STN_OK);
    for (size_t i = 0; i < 2; i++)
        for (size_t j = 0; j < 3; j++)
            for (size_t k = 0; k < 4; k++)
                cr_assert_eq(stn_array_get(&a, (i * 3 + j) * 4 + k), (double)(100 * i + 10 * j + k));
    stn_array_clear(&a);
}

Test(npy, converts_to_the_wanted_dtype_and_refuses_what_does_not_fit) {
    double values[] = {1.0 / 3, 70000, -INFINITY};
    stn_dtype f32 = STN_F32, f16 = STN_F16;
    stn_array a = {0};
    put_npy("t.npy", 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", values, sizeof values);
    cr_assert_eq(stn_input_read("t.npy", NULL, false, &f32, &a, NULL), STN_OK);
    cr_assert_eq(stn_array_get(&a, 0), (double)(1.0f / 3));
    cr_assert_eq(stn_array_nonfinite(&a), 1);
    stn_array_clear(&a);
    REFUSED(stn_input_read("t.npy", NULL, false, &f16, &a, &error), "70000");
    cr_assert_null(a.data);
}

Test(npy, every_truncation_is_refused) {
    size_t extent[] = {3, 4}, size;
    stn_array a = {0}, b = {0};
    stn_array_make(2, extent, STN_F32, &a, NULL);
    stn_npy_write("a.npy", &a, NULL);
    unsigned char *bytes = file_get("a.npy", &size);
    for (size_t cut = 0; cut < size; cut++) {
        file_put("cut.npy", bytes, cut);
        cr_assert_eq(stn_input_read("cut.npy", NULL, false, NULL, &b, &error), STN_ERROR_FORMAT, "cut at %zu", cut);
        cr_assert_not_null(strstr(error.message, "cut.npy"));
        cr_assert_null(b.data);
    }
    bytes[size] = 0;
    file_put("long.npy", bytes, size + 1);
    cr_assert_eq(stn_input_read("long.npy", NULL, false, NULL, &b, NULL), STN_ERROR_FORMAT, "trailing bytes");
    free(bytes);
    stn_array_clear(&a);
}

Test(npy, hostile_headers_are_refused_with_a_reason) {
    static const struct {
        const char *header, *says;
        stn_status status;
    } cases[] = {
        {"", "not a dictionary", STN_ERROR_FORMAT},
        {"{}", "lacks", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False}", "lacks", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }", "negative", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999,), }", "64 bits", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", "64 bits", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), }", "memory", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }", "cut off", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1.5,), }", "tuple", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (5), }", "tuple", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': [5], }", "tuple", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (5", "tuple", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,2,3,4,5), }", "more than 4", STN_ERROR_FORMAT},
        {"{'descr': '<c16', 'fortran_order': False, 'shape': (1,), }", "<c16", STN_ERROR_FORMAT},
        {"{'descr': '<f1', 'fortran_order': False, 'shape': (1,), }", "<f1", STN_ERROR_FORMAT},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "|O", STN_ERROR_FORMAT},
        {"{'descr': '', 'fortran_order': False, 'shape': (1,), }", "type ''", STN_ERROR_FORMAT},
        {"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", "fields", STN_ERROR_FORMAT},
        {"{'descr': '<f8", "short string", STN_ERROR_FORMAT},
        {"{'descr': 8, 'fortran_order': False, 'shape': (1,), }", "short string", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': 0, 'shape': (1,), }", "True nor False", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,), }", "twice", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': 1}", "besides", STN_ERROR_FORMAT},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (1,), } x", "after", STN_ERROR_FORMAT},
        {"{'descr' '<f8', 'fortran_order': False, 'shape': (1,), }", "without a value", STN_ERROR_FORMAT},
        {"{'descr': '<f8' 'fortran_order': False, 'shape': (1,), }", "comma", STN_ERROR_FORMAT},
        {"__import__('os').system('true')", "not a dictionary", STN_ERROR_FORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_array a = {0};
        put_npy("t.npy", 1, cases[i].header, "12345678", 8);
        cr_expect_eq(stn_input_read("t.npy", NULL, false, NULL, &a, &error), cases[i].status, "%s", cases[i].header);
        cr_expect_not_null(strstr(error.message, cases[i].says), "%s: %s", cases[i].header, error.message);
        cr_expect_null(a.data);
    }
}

Test(npy, wrong_files_are_refused) {
    stn_array a = {0};
    unsigned char huge[] = "\x93NUMPY\x02\x00\xff\xff\xff\xff{}";
    file_put("huge.npy", huge, sizeof huge - 1);
    FAILS(stn_input_read("huge.npy", NULL, false, NULL, &a, &error), STN_ERROR_FORMAT, "65536");
    put_npy("v9.npy", 9, "{}", "", 0);
    cr_assert_eq(stn_input_read("v9.npy", NULL, false, NULL, &a, &error), STN_ERROR_FORMAT);
    file_put("text.npy", "not numpy at all", 16);
    cr_assert_eq(stn_input_read("text.npy", NULL, false, NULL, &a, &error), STN_ERROR_FORMAT);
    cr_assert_eq(stn_input_read("absent.npy", NULL, false, NULL, &a, &error), STN_ERROR_IO);
    cr_assert_eq(stn_input_read(".", NULL, false, NULL, &a, &error), STN_ERROR_IO);
    cr_assert_null(a.data);
}

/* Bit flips in a valid header give either a consistent header or an error (to be run under
 * ASan). */
Test(npy, flipped_bytes_never_break_the_parser) {
    size_t extent[] = {3, 4}, size;
    stn_array a = {0};
    stn_array_make(2, extent, STN_F32, &a, NULL);
    stn_npy_write("a.npy", &a, NULL);
    unsigned char *bytes = file_get("a.npy", &size);
    uint32_t state = 12345;
    int refused = 0;
    for (int trial = 0; trial < 20000; trial++) {
        /* a separate block, so that ASan detects reads past its end */
        unsigned char *copy = malloc(size);
        memcpy(copy, bytes, size);
        for (int flips = 0; flips < 1 + trial % 3; flips++) {
            state = state * 1664525u + 1013904223u;
            copy[(state >> 8) % 100] = (unsigned char)(state >> 24);
        }
        stn_npy_header header;
        if (stn_npy_parse("flipped", copy, size, &header, NULL) != STN_OK)
            refused++;
        else
            cr_assert(header.rank <= STN_ARRAY_RANK && header.offset <= size);
        free(copy);
    }
    cr_assert_gt(refused, 1000);
    free(bytes);
    stn_array_clear(&a);
}
