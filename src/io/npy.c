/* .npy files, in and out. Values are converted a block at a time, so a file needs little memory besides its array. */
#include "io/npy.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/half.h"

#define BLOCK 65536 /* values converted at a time */
static const double largest[] = {
    [STN_F64] = 1.7976931348623157e308, [STN_F32] = 3.4028234663852886e38, [STN_F16] = 65504.0};

/* Whole numbers past 2^53 that `value` is not, which it stands for. */
static bool is_rounded(const stn_npy_header *header, const unsigned char *at, double value) {
    unsigned char b[8];
    uint64_t whole;
    if (header->kind == 'f' || header->item != 8 || fabs(value) < 0x1p53) return false;
    for (int i = 0; i < 8; i++) b[i] = at[header->swap ? 7 - i : i];
    memcpy(&whole, b, sizeof whole);
    if (header->kind == 'i') return value >= 0x1p63 || (int64_t)value != (int64_t)whole;
    return value >= 0x1p64 || (uint64_t)value != whole;
}

/* One value of the file as a double; whole numbers past 2^53 round. */
static double decode(const stn_npy_header *header, const unsigned char *at) {
    unsigned char b[8] = {0};
    for (int i = 0; i < header->item; i++) b[i] = at[header->swap ? header->item - 1 - i : i];
#define STN_AS(type)                                                                                                   \
    do {                                                                                                               \
        type value;                                                                                                    \
        memcpy(&value, b, sizeof value);                                                                               \
        return (double)value;                                                                                          \
    } while (0)
    switch (header->kind) {
        case 'f':
            if (header->item == 8) STN_AS(double);
            if (header->item == 4) STN_AS(float);
            uint16_t half;
            memcpy(&half, b, sizeof half);
            return stn_half_to_float(half);
        case 'i':
            if (header->item == 8) STN_AS(int64_t);
            if (header->item == 4) STN_AS(int32_t);
            if (header->item == 2) STN_AS(int16_t);
            STN_AS(int8_t);
        default:
            if (header->item == 8) STN_AS(uint64_t);
            if (header->item == 4) STN_AS(uint32_t);
            if (header->item == 2) STN_AS(uint16_t);
            STN_AS(uint8_t);
    }
#undef STN_AS
}

stn_dtype stn_npy_dtype(const stn_npy_header *header) {
    if (header->kind == 'f') return header->item == 8 ? STN_F64 : header->item == 4 ? STN_F32 : STN_F16;
    return STN_F64; /* whole numbers, as NumPy and SciPy compute with them */
}

/* The place in C order of the value that is `index` in the file. */
static size_t value_place(const stn_npy_header *header, size_t index) {
    size_t stride[STN_ARRAY_RANK], at = 0;
    stride[header->rank - 1] = 1;
    for (int axis = header->rank - 1; axis > 0; axis--) stride[axis - 1] = stride[axis] * header->extent[axis];
    for (int axis = 0; axis < header->rank; axis++) {
        at += index % header->extent[axis] * stride[axis];
        index /= header->extent[axis];
    }
    return at;
}

/* The same of a number. */
static size_t place(const stn_npy_header *header, size_t index) {
    if (!header->fortran || header->rank < 2) return index;
    size_t per = (size_t)header->per;
    return value_place(header, index / per) * per + index % per;
}

/* Reads exactly `size` bytes; a short file is an error. */
static stn_status read_all(int fd, const char *path, void *bytes, size_t size, stn_error *error) {
    for (char *at = bytes; size;) {
        ssize_t got = read(fd, at, size < (1u << 30) ? size : (1u << 30));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return stn_fail(error, STN_ERROR_IO, "cannot read '%s': %s", path, strerror(errno));
        if (got == 0)
            return stn_fail(error, STN_ERROR_FORMAT, "'%s' ended while it was read: is another program writing it?",
                            path);
        at += got;
        size -= (size_t)got;
    }
    return STN_OK;
}

static stn_status open_header(const char *path, bool complex_too, int *out, stn_npy_header *header, stn_error *error) {
    stn_status status = STN_OK;
    unsigned char *start = NULL;
    struct stat about;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer must not hang us */
    if (fd < 0) return stn_fail(error, STN_ERROR_IO, "cannot open '%s': %s", path, strerror(errno));
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode)) {
        status = stn_fail(error, STN_ERROR_IO, "cannot read '%s': it is not a regular file", path);
        goto fail;
    }
    size_t file_size = (size_t)about.st_size, most = STN_NPY_HEADER_MAX + 12;
    size_t size = file_size < most ? file_size : most;
    start = malloc(size ? size : 1);
    if (!start) {
        status = stn_fail_memory(error, "the header", size);
        goto fail;
    }
    STN_TRY_GOTO(status, read_all(fd, path, start, size, error), fail);
    STN_TRY_GOTO(status,
                 complex_too ? stn_npy_parse_any(path, start, size, header, error)
                             : stn_npy_parse(path, start, size, header, error),
                 fail);
    size_t expected = header->offset + header->count * (size_t)(header->per * header->item);
    if (file_size != expected) {
        status = stn_fail(error, STN_ERROR_FORMAT,
                          "'%s' has %zu bytes where its header promises %zu: it is %s; write it again with numpy.save",
                          path, file_size, expected, file_size < expected ? "cut off" : "followed by something else");
        goto fail;
    }
    if (lseek(fd, (off_t)header->offset, SEEK_SET) < 0) {
        status = stn_fail(error, STN_ERROR_IO, "cannot read '%s': %s", path, strerror(errno));
        goto fail;
    }
    free(start);
    *out = fd;
    return STN_OK;
fail:
    free(start);
    close(fd);
    return status;
}

static stn_status convert_values(int fd, const char *path, const stn_npy_header *header, stn_array *array,
                                 stn_error *error) {
    unsigned char *block = calloc(BLOCK, 8);
    if (!block) return stn_fail_memory(error, "a read buffer", (size_t)BLOCK * 8);
    stn_status status = STN_OK;
    double limit = largest[array->dtype];
    size_t count = header->count * (size_t)header->per;
    for (size_t done = 0; done < count;) {
        size_t now = count - done < BLOCK ? count - done : BLOCK;
        STN_TRY_GOTO(status, read_all(fd, path, block, now * (size_t)header->item, error), done);
        for (size_t i = 0; i < now; i++) {
            const unsigned char *at = block + i * (size_t)header->item;
            double value = decode(header, at);
            array->rounded += is_rounded(header, at, value);
            if (isfinite(value) && fabs(value) > limit) {
                status = stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                                  "'%s' holds %g, which is past the range of %s: choose a wider --dtype", path, value,
                                  stn_dtype_name(array->dtype));
                goto done;
            }
            stn_array_set(array, place(header, done + i), value);
        }
        done += now;
    }
done:
    free(block);
    return status;
}

static stn_status read_header(const char *path, bool complex_too, stn_npy_header *header, stn_error *error) {
    int fd = -1;
    STN_TRY(open_header(path, complex_too, &fd, header, error));
    close(fd);
    return STN_OK;
}

static stn_status read_file(const char *path, bool complex_too, const stn_dtype *dtype, stn_array *array,
                            stn_error *error) {
    stn_npy_header header;
    stn_array result = {0};
    int fd = -1;
    STN_TRY(open_header(path, complex_too, &fd, &header, error));
    stn_dtype want = dtype ? *dtype : stn_npy_dtype(&header);
    stn_status status = header.per == 2 ? stn_array_make_complex(header.rank, header.extent, want, &result, error)
                                        : stn_array_make(header.rank, header.extent, want, &result, error);
    if (status == STN_OK) {
        bool as_stored =
            header.kind == 'f' && (size_t)header.item == stn_dtype_size(want) && !header.swap && !header.fortran;
        status = as_stored ? read_all(fd, path, result.data, header.count * (size_t)(header.per * header.item), error)
                           : convert_values(fd, path, &header, &result, error);
    }
    close(fd);
    if (status != STN_OK) {
        stn_array_clear(&result);
        return status;
    }
    *array = result;
    return STN_OK;
}

stn_status stn_npy_read_header(const char *path, stn_npy_header *header, stn_error *error) {
    return read_header(path, false, header, error);
}
stn_status stn_npy_read_header_any(const char *path, stn_npy_header *header, stn_error *error) {
    return read_header(path, true, header, error);
}
stn_status stn_npy_read(const char *path, const stn_dtype *dtype, stn_array *array, stn_error *error) {
    return read_file(path, false, dtype, array, error);
}
stn_status stn_npy_read_any(const char *path, const stn_dtype *dtype, stn_array *array, stn_error *error) {
    return read_file(path, true, dtype, array, error);
}

/* The whole preamble, padded so that values start at a multiple of 64 bytes; returns its size. */
static size_t make_preamble(const stn_array *array, unsigned char *bytes, size_t most) {
    char shape[128] = "", text[256];
    for (int axis = 0; axis < array->rank; axis++) {
        size_t used = strlen(shape);
        snprintf(shape + used, sizeof shape - used, axis && array->rank > 1 ? ", %zu" : "%zu", array->extent[axis]);
    }
    static const char *const types[] = {[STN_F64] = "<f8", [STN_F32] = "<f4", [STN_F16] = "<f2"};
    static const char *const pairs[] = {[STN_F64] = "<c16", [STN_F32] = "<c8", [STN_F16] = "<f2"};
    bool pair_axis = array->is_complex && array->dtype == STN_F16;
    const char *after = pair_axis ? array->rank ? ", 2" : "2," : array->rank == 1 ? "," : "";
    int size = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%s%s), }",
                        (array->is_complex ? pairs : types)[array->dtype], shape, after);
    size_t total = (10 + (size_t)size + 1 + 63) / 64 * 64, length = total - 10;
    if (total > most) return 0;
    memcpy(bytes, STN_NPY_MAGIC "\x01\x00", 8);
    bytes[8] = (unsigned char)(length & 255);
    bytes[9] = (unsigned char)(length >> 8);
    memset(bytes + 10, ' ', length);
    memcpy(bytes + 10, text, (size_t)size);
    bytes[total - 1] = '\n';
    return total;
}

stn_status stn_npy_prepare(const char *path, const stn_array *array, stn_output *output, stn_error *error) {
    unsigned char preamble[512];
    size_t item = stn_dtype_size(array->dtype), count = stn_array_numbers(array);
    size_t size = make_preamble(array, preamble, sizeof preamble);
    STN_TRY(stn_output_open(path, output, error));
    /* the machines that this runs on are little-endian: x86-64, aarch64 */
    if (!size || fwrite(preamble, 1, size, output->file) != size ||
        fwrite(array->data, item, count, output->file) != count) {
        return stn_output_fail(output, errno, error);
    }
    return stn_output_finish(output, error);
}

stn_status stn_npy_write(const char *path, const stn_array *array, stn_error *error) {
    stn_output output;
    STN_TRY(stn_npy_prepare(path, array, &output, error));
    return stn_output_commit(&output, error);
}
