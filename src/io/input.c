/* See input.h. Values are converted in blocks, so that a file needs little memory besides its
 * array. */
#include "io/input.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/half.h"
#include "io/file_format.h"
#include "io/grey_png.h"

/* An open file, positioned at its first value; a PNG's pixels are decoded in memory instead. */
typedef struct stn_input {
    int fd;                /* -1: none */
    unsigned char *pixels; /* owned; NULL: the values come from fd */
    size_t taken;          /* bytes of the pixels already read */
} stn_input;

#define BLOCK 65536 /* values converted at a time */
static const double largest[] = {
    [STN_F64] = 1.7976931348623157e308, [STN_F32] = 3.4028234663852886e38, [STN_F16] = 65504.0};

/* Is this an integer of the file beyond 2^53 that `value` only approximates? */
static bool is_rounded(const stn_npy_header *header, const unsigned char *at, double value) {
    unsigned char b[8];
    uint64_t whole;
    if (header->kind == 'f' || header->item != 8 || fabs(value) < 0x1p53) return false;
    for (int i = 0; i < 8; i++) b[i] = at[header->swap ? 7 - i : i];
    memcpy(&whole, b, sizeof whole);
    if (header->kind == 'i') return value >= 0x1p63 || (int64_t)value != (int64_t)whole;
    return value >= 0x1p64 || (uint64_t)value != whole;
}

/* One value of the file as a double; integers beyond 2^53 are rounded. */
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

/* The index in C order of value number `index` of a file in Fortran order. */
static size_t c_order_index(const stn_npy_header *header, size_t index) {
    size_t stride[STN_ARRAY_RANK], at = 0;
    stride[header->rank - 1] = 1;
    for (int axis = header->rank - 1; axis > 0; axis--) stride[axis - 1] = stride[axis] * header->extent[axis];
    for (int axis = 0; axis < header->rank; axis++) {
        at += index % header->extent[axis] * stride[axis];
        index /= header->extent[axis];
    }
    return at;
}

/* The same for a number: a complex value is two numbers. */
static size_t number_index(const stn_npy_header *header, size_t index) {
    if (!header->fortran || header->rank < 2) return index;
    size_t per = (size_t)header->per;
    return c_order_index(header, index / per) * per + index % per;
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

static stn_status read_values(stn_input *in, const char *path, void *bytes, size_t size, stn_error *error) {
    if (!in->pixels) return read_all(in->fd, path, bytes, size, error);
    memcpy(bytes, in->pixels + in->taken, size);
    in->taken += size;
    return STN_OK;
}

static void input_close(stn_input *in) {
    if (in->fd >= 0) close(in->fd);
    free(in->pixels);
    *in = (stn_input){.fd = -1};
}

/* ---- opening --------------------------------------------------------------------------------- */

static stn_status copy_stream(int from, int to, stn_error *error) {
    char block[65536];
    for (;;) {
        ssize_t got = read(from, block, sizeof block);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return stn_fail(error, STN_ERROR_IO, "cannot read the standard input: %s", strerror(errno));
        if (got == 0) return STN_OK;
        for (ssize_t done = 0; done < got;) {
            ssize_t put = write(to, block + done, (size_t)(got - done));
            if (put < 0 && errno != EINTR)
                return stn_fail(error, STN_ERROR_IO, "cannot keep the standard input: %s", strerror(errno));
            if (put > 0) done += put;
        }
    }
}

/* Opens the standard input at its start. A pipe can be read only once and inputs are opened twice,
 * so it is copied to memory. For the command only, which is one process with one standard input. */
static stn_status open_standard_input(int *fd, stn_error *error) {
    static int copy = -1;
    char name[64];
    if (copy < 0) {
        if (isatty(STDIN_FILENO))
            return stn_fail(error, STN_ERROR_IO,
                            "'-' is the standard input, which is a terminal here: pipe a file into it");
        int made = memfd_create("stentor-input", MFD_CLOEXEC);
        if (made < 0) return stn_fail(error, STN_ERROR_IO, "cannot keep the standard input: %s", strerror(errno));
        stn_status status = copy_stream(STDIN_FILENO, made, error);
        if (status != STN_OK) {
            close(made);
            return status;
        }
        copy = made;
    }
    snprintf(name, sizeof name, "/proc/self/fd/%d", copy);
    *fd = open(name, O_RDONLY | O_CLOEXEC); /* a descriptor with a file position of its own */
    return *fd >= 0 ? STN_OK : stn_fail(error, STN_ERROR_IO, "cannot read the standard input: %s", strerror(errno));
}

static stn_status open_regular(const char *path, int *fd, size_t *size, stn_error *error) {
    struct stat about;
    if (!strcmp(path, "-"))
        STN_TRY(open_standard_input(fd, error));
    else
        /* a pipe without a writer must not block */
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0) return stn_fail(error, STN_ERROR_IO, "cannot open '%s': %s", path, strerror(errno));
    if (fstat(*fd, &about) != 0) return stn_fail(error, STN_ERROR_IO, "cannot read '%s': %s", path, strerror(errno));
    if (S_ISDIR(about.st_mode) && stn_file_extension_is(path, "zarr"))
        return stn_file_fail_unsupported(path, NULL, 0, error);
    if (!S_ISREG(about.st_mode))
        return stn_fail(error, STN_ERROR_IO, "cannot read '%s': it is not a regular file", path);
    *size = (size_t)about.st_size;
    return STN_OK;
}

static stn_status check_size(const char *path, const stn_npy_header *header, const stn_raw *raw, size_t size,
                             stn_error *error) {
    const size_t expected = header->offset + header->count * (size_t)(header->per * header->item);
    if (size == expected) return STN_OK;
    if (raw)
        return stn_fail(error, STN_ERROR_FORMAT,
                        "'%s' has %zu bytes, but %zu values of %d bytes as --shape and --dtype say are %zu", path, size,
                        header->count, header->per * header->item, expected);
    return stn_fail(error, STN_ERROR_FORMAT,
                    "'%s' has %zu bytes where its header promises %zu: it is %s; write it again with numpy.save", path,
                    size, expected, size < expected ? "cut off" : "followed by something else");
}

/* Reads the header, and with `pixels_too` the pixels, of the PNG in fd. */
static stn_status open_png(stn_input *in, const char *path, size_t size, bool pixels_too, stn_npy_header *header,
                           stn_error *error) {
    if (size > STN_PNG_MAX_BYTES)
        return stn_fail(error, STN_ERROR_FORMAT,
                        "'%s' has %zu bytes, more than the %zu of a PNG that is read: use .npy", path, size,
                        (size_t)STN_PNG_MAX_BYTES);
    unsigned char *bytes = malloc(size ? size : 1);
    if (!bytes) return stn_fail_memory(error, "a PNG", size);
    stn_status status = lseek(in->fd, 0, SEEK_SET) == 0 ? read_all(in->fd, path, bytes, size, error)
                                                        : stn_fail(error, STN_ERROR_IO, "cannot read '%s' again", path);
    if (status == STN_OK) status = stn_png_decode(path, bytes, size, header, pixels_too ? &in->pixels : NULL, error);
    free(bytes);
    return status;
}

static stn_status header_of_raw(const char *name, const stn_raw *raw, stn_npy_header *header, stn_error *error) {
    static const uint16_t one = 1;
    size_t bytes;
    *header = (stn_npy_header){.kind = raw->kind, .item = raw->item, .per = raw->per, .rank = raw->rank, .count = 1};
    header->swap = *(const unsigned char *)&one != 1; /* raw files are little-endian */
    memcpy(header->extent, raw->extent, sizeof raw->extent);
    for (int axis = 0; axis < raw->rank; axis++)
        if (__builtin_mul_overflow(header->count, raw->extent[axis], &header->count)) header->count = SIZE_MAX;
    if (__builtin_mul_overflow(header->count, (size_t)(raw->item * raw->per), &bytes) || bytes > PTRDIFF_MAX)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--shape of '%s' multiplies to more bytes than memory can address", name);
    return STN_OK;
}

/* Opens a file, reads its header and stops at its first value. `values`: they will be read. */
static stn_status input_open(const char *path, const stn_raw *raw, bool complex_too, bool values, stn_input *in,
                             stn_npy_header *header, stn_error *error) {
    stn_status status = STN_OK;
    unsigned char *start = NULL;
    size_t file_size = 0;
    *in = (stn_input){.fd = -1};
    STN_TRY_GOTO(status, open_regular(path, &in->fd, &file_size, error), done);
    const size_t most = STN_NPY_HEADER_MAX + 12, size = file_size < most ? file_size : most;
    start = malloc(size ? size : 1);
    if (!start) {
        status = stn_fail_memory(error, "the header", size);
        goto done;
    }
    STN_TRY_GOTO(status, read_all(in->fd, path, start, size, error), done);
    if (raw)
        STN_TRY_GOTO(status, header_of_raw(path, raw, header, error), done);
    else if (stn_png_is(start, size)) {
        status = open_png(in, path, file_size, values, header, error);
        goto done;
    } else if (!stn_npy_is(start, size) && stn_file_is_unsupported(path, start, size)) {
        status = stn_file_fail_unsupported(path, start, size, error);
        goto done;
    } else
        STN_TRY_GOTO(status,
                     complex_too ? stn_npy_parse_any(path, start, size, header, error)
                                 : stn_npy_parse(path, start, size, header, error),
                     done);
    STN_TRY_GOTO(status, check_size(path, header, raw, file_size, error), done);
    if (lseek(in->fd, (off_t)header->offset, SEEK_SET) < 0)
        status = stn_fail(error, STN_ERROR_IO, "cannot read '%s': %s", path, strerror(errno));
done:
    free(start);
    if (status != STN_OK) input_close(in);
    return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* The next `count` numbers, which become those of the array from number `first` on. */
static stn_status convert_values(stn_input *in, const char *path, const stn_npy_header *header, size_t first,
                                 size_t count, stn_array *array, stn_error *error) {
    unsigned char *block = calloc(BLOCK, 8);
    if (!block) return stn_fail_memory(error, "a read buffer", (size_t)BLOCK * 8);
    stn_status status = STN_OK;
    double limit = largest[array->dtype];
    for (size_t done = 0; done < count;) {
        size_t now = count - done < BLOCK ? count - done : BLOCK;
        STN_TRY_GOTO(status, read_values(in, path, block, now * (size_t)header->item, error), done);
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
            stn_array_set(array, number_index(header, first + done + i), value);
        }
        done += now;
    }
done:
    free(block);
    return status;
}

static bool is_as_stored(const stn_npy_header *header, stn_dtype want) {
    return header->kind == 'f' && (size_t)header->item == stn_dtype_size(want) && !header->swap && !header->fortran;
}

stn_status stn_input_header(const char *path, const stn_raw *raw, bool complex_too, stn_npy_header *header,
                            stn_error *error) {
    stn_input in;
    STN_TRY(input_open(path, raw, complex_too, false, &in, header, error));
    input_close(&in);
    return STN_OK;
}

stn_status stn_input_read(const char *path, const stn_raw *raw, bool complex_too, const stn_dtype *dtype,
                          stn_array *array, stn_error *error) {
    stn_npy_header header = {0};
    stn_array result = {0};
    stn_input in;
    STN_TRY(input_open(path, raw, complex_too, true, &in, &header, error));
    stn_dtype want = dtype ? *dtype : stn_npy_dtype(&header);
    stn_status status = header.per == 2 ? stn_array_make_complex(header.rank, header.extent, want, &result, error)
                                        : stn_array_make(header.rank, header.extent, want, &result, error);
    if (status == STN_OK) {
        const size_t count = header.count * (size_t)header.per;
        status = is_as_stored(&header, want) ? read_values(&in, path, result.data, count * (size_t)header.item, error)
                                             : convert_values(&in, path, &header, 0, count, &result, error);
    }
    input_close(&in);
    if (status != STN_OK) {
        stn_array_clear(&result);
        return status;
    }
    *array = result;
    return STN_OK;
}

/* The numbers from number `from` of the file on, into the array from number `to` on. */
static stn_status read_run(stn_input *in, const char *path, const stn_npy_header *header, size_t from, size_t count,
                           size_t to, stn_array *array, stn_error *error) {
    const size_t item = (size_t)header->item;
    in->taken = from * item;
    if (!in->pixels && lseek(in->fd, (off_t)(header->offset + from * item), SEEK_SET) < 0)
        return stn_fail(error, STN_ERROR_IO, "cannot read '%s': %s", path, strerror(errno));
    if (!is_as_stored(header, array->dtype)) return convert_values(in, path, header, to, count, array, error);
    return read_values(in, path, (char *)array->data + to * item, count * item, error);
}

stn_status stn_input_read_rows(const char *path, const stn_raw *raw, bool complex_too, stn_dtype dtype, int axis,
                               size_t first, size_t rows, stn_array *array, stn_error *error) {
    stn_npy_header header = {0};
    stn_array result = {0};
    stn_input in;
    STN_TRY(input_open(path, raw, complex_too, true, &in, &header, error));
    size_t extent[STN_ARRAY_RANK], outer = 1, inner = 1;
    memcpy(extent, header.extent, sizeof extent);
    for (int i = 0; i < axis && i < header.rank; i++) outer *= extent[i];
    for (int i = axis + 1; i < header.rank; i++) inner *= extent[i];
    stn_status status = STN_OK;
    if (header.fortran && header.rank > 1)
        status = stn_fail(error, STN_ERROR_FORMAT,
                          "'%s' is in Fortran order, of which rows do not lie together: write it again with "
                          "numpy.save(..., numpy.ascontiguousarray(x))",
                          path);
    else if (axis >= header.rank || first > extent[axis] || rows > extent[axis] - first)
        status = stn_fail(error, STN_ERROR_IO, "'%s' changed while it was read: is another program writing it?", path);
    if (status == STN_OK) {
        const size_t all = extent[axis];
        extent[axis] = rows;
        inner *= (size_t)header.per;
        status = header.per == 2 ? stn_array_make_complex(header.rank, extent, dtype, &result, error)
                                 : stn_array_make(header.rank, extent, dtype, &result, error);
        for (size_t i = 0; i < outer && status == STN_OK; i++)
            status =
                read_run(&in, path, &header, (i * all + first) * inner, rows * inner, i * rows * inner, &result, error);
    }
    input_close(&in);
    if (status == STN_OK)
        *array = result;
    else
        stn_array_clear(&result);
    return status;
}
