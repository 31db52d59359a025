/* The header of a .npy file: magic, version, length, and a Python literal such as
 *     {'descr': '<f8', 'fortran_order': False, 'shape': (344, 403), }
 * read by a small recursive-descent parser that trusts nothing. */
#include <string.h>

#include "base/error.h"
#include "io/npy.h"

typedef struct scanner {
    const char *name; /* the file's name, for messages */
    const char *at, *end;
    stn_error *error;
    bool complex_too;
} scanner;

#define PREFIX_V1 10 /* magic, major, minor, 16-bit length */
#define PREFIX_V2 12 /* the same with a 32-bit length */

static stn_status damaged(const scanner *s, const char *what) {
    return stn_fail(s->error, STN_ERROR_FORMAT, "'%s' is not a usable .npy file: %s; write it again with numpy.save",
                    s->name, what);
}

static void skip_space(scanner *s) {
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r')) s->at++;
}

/* Consumes character c, after white space, if it is next. */
static bool take(scanner *s, char c) {
    skip_space(s);
    if (s->at == s->end || *s->at != c) return false;
    s->at++;
    return true;
}

static bool take_word(scanner *s, const char *word) {
    size_t size = strlen(word);
    skip_space(s);
    if ((size_t)(s->end - s->at) < size || memcmp(s->at, word, size) != 0) return false;
    s->at += size;
    return true;
}

/* Consumes a quoted string without escapes, of at most `most` - 1 characters. */
static bool take_string(scanner *s, char *text, size_t most) {
    skip_space(s);
    if (s->at == s->end || (*s->at != '\'' && *s->at != '"')) return false;
    char quote = *s->at++;
    size_t size = 0;
    while (s->at < s->end && *s->at != quote) {
        if (*s->at == '\\' || size + 1 >= most) return false;
        text[size++] = *s->at++;
    }
    if (s->at == s->end) return false;
    s->at++;
    text[size] = '\0';
    return true;
}

/* Parses descr: byte order, kind, item size. */
static stn_status read_descr(scanner *s, stn_npy_header *header) {
    char text[16] = "";
    skip_space(s);
    if (s->at < s->end && *s->at == '[')
        return stn_fail(s->error, STN_ERROR_FORMAT,
                        "'%s' holds records with several fields: save one field as a plain array of numbers", s->name);
    if (!take_string(s, text, sizeof text)) return damaged(s, "its 'descr' is not a short string");
    static const uint16_t one = 1;
    bool little = *(const unsigned char *)&one == 1;
    char order = text[0];
    bool pairs = s->complex_too && (!strcmp(text + 1, "c8") || !strcmp(text + 1, "c16"));
    if (!strchr("<>=|", order) || (strlen(text) != 3 && !pairs)) order = '\0';
    header->kind = order ? pairs ? 'f' : text[1] : '?';
    header->item = order ? pairs ? strlen(text) == 4 ? 8 : 4 : text[2] - '0' : 0;
    header->per = pairs ? 2 : 1;
    header->swap = (order == '<' && !little) || (order == '>' && little);
    bool float_type = header->kind == 'f' && (header->item == 2 || header->item == 4 || header->item == 8);
    bool whole_type = (header->kind == 'i' || header->kind == 'u') &&
                      (header->item == 1 || header->item == 2 || header->item == 4 || header->item == 8);
    bool bool_type = header->kind == 'b' && header->item == 1;
    if (float_type || whole_type || bool_type) return STN_OK;
    return stn_fail(s->error, STN_ERROR_FORMAT,
                    "'%s' holds values of type '%s': convert them to float64, float32, float16 or whole numbers of 8 "
                    "to 64 bits",
                    s->name, text);
}

/* Parses one extent: decimal digits, and the optional L of Python 2. */
static stn_status read_extent(scanner *s, size_t *extent) {
    skip_space(s);
    if (s->at < s->end && *s->at == '-') return damaged(s, "its shape has a negative extent");
    if (s->at == s->end || *s->at < '0' || *s->at > '9') return damaged(s, "its shape is not a tuple of whole numbers");
    *extent = 0;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9') {
        if (__builtin_mul_overflow(*extent, (size_t)10, extent) ||
            __builtin_add_overflow(*extent, (size_t)(*s->at - '0'), extent))
            return damaged(s, "its shape has an extent past 64 bits");
        s->at++;
    }
    if (s->at < s->end && *s->at == 'L') s->at++;
    return STN_OK;
}

static stn_status read_shape(scanner *s, stn_npy_header *header) {
    if (!take(s, '(')) return damaged(s, "its 'shape' is not a tuple");
    header->rank = 0;
    while (!take(s, ')')) {
        size_t extent = 0;
        STN_TRY(read_extent(s, &extent));
        if (header->rank == STN_ARRAY_RANK)
            return stn_fail(s->error, STN_ERROR_FORMAT,
                            "'%s' has more than %d axes: a grid has 1 to 3, and one in front for a batch", s->name,
                            STN_ARRAY_RANK);
        header->extent[header->rank++] = extent;
        if (!take(s, ',')) {
            if (!take(s, ')') || header->rank == 1) return damaged(s, "its 'shape' is not a tuple");
            break;
        }
    }
    return STN_OK;
}

static stn_status read_dictionary(scanner *s, stn_npy_header *header) {
    enum { DESCR = 1, ORDER = 2, SHAPE = 4 };
    unsigned seen = 0;
    if (!take(s, '{')) return damaged(s, "its header is not a dictionary");
    while (!take(s, '}')) {
        char key[16];
        if (!take_string(s, key, sizeof key)) return damaged(s, "its header has a key that is not a short string");
        if (!take(s, ':')) return damaged(s, "its header has a key without a value");
        unsigned which = !strcmp(key, "descr")           ? DESCR
                         : !strcmp(key, "fortran_order") ? ORDER
                         : !strcmp(key, "shape")         ? SHAPE
                                                         : 0;
        if (!which) return damaged(s, "its header has a key besides descr, fortran_order and shape");
        if (seen & which) return damaged(s, "its header has a key twice");
        seen |= which;
        if (which == DESCR) STN_TRY(read_descr(s, header));
        if (which == SHAPE) STN_TRY(read_shape(s, header));
        if (which == ORDER) {
            header->fortran = take_word(s, "True");
            if (!header->fortran && !take_word(s, "False"))
                return damaged(s, "its 'fortran_order' is neither True nor False");
        }
        if (!take(s, ',')) {
            if (!take(s, '}')) return damaged(s, "its header is cut off or has no comma where one belongs");
            break;
        }
    }
    if (seen != (DESCR | ORDER | SHAPE)) return damaged(s, "its header lacks descr, fortran_order or shape");
    skip_space(s);
    if (s->at < s->end && *s->at == '#') /* a comment, as Python has them */
        while (s->at < s->end && *s->at != '\n') s->at++;
    skip_space(s);
    return s->at == s->end ? STN_OK : damaged(s, "its header has more text after the dictionary");
}

static stn_status parse(const char *name, const void *bytes, size_t size, bool complex_too, stn_npy_header *header,
                        stn_error *error) {
    const unsigned char *b = bytes;
    scanner s = {.name = name, .error = error, .complex_too = complex_too};
    memset(header, 0, sizeof *header);
    size_t compare = size < 6 ? size : 6;
    if (size == 0) return damaged(&s, "it is empty");
    if (memcmp(b, STN_NPY_MAGIC, compare) != 0) return damaged(&s, "it does not start with NumPy's magic bytes");
    if (size < PREFIX_V1) return damaged(&s, "it is cut off in its first 10 bytes");
    int major = b[6], minor = b[7];
    if (major < 1 || major > 3 || minor != 0)
        return stn_fail(error, STN_ERROR_FORMAT, "'%s' has .npy format %d.%d: 1.0, 2.0 and 3.0 can be read", name,
                        major, minor);
    size_t prefix = major == 1 ? PREFIX_V1 : PREFIX_V2;
    if (size < prefix) return damaged(&s, "it is cut off in its first 12 bytes");
    size_t length = (size_t)b[8] | (size_t)b[9] << 8;
    if (major > 1) length |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    if (length > STN_NPY_HEADER_MAX) return damaged(&s, "its header claims to be longer than 65536 bytes");
    if (size - prefix < length) return damaged(&s, "it is cut off inside its header");
    s.at = (const char *)b + prefix;
    s.end = s.at + length;
    STN_TRY(read_dictionary(&s, header));
    header->offset = prefix + length;
    header->count = 1;
    for (int axis = 0; axis < header->rank; axis++)
        if (__builtin_mul_overflow(header->count, header->extent[axis], &header->count))
            return damaged(&s, "its extents multiply to more than 64 bits hold");
    size_t total;
    if (__builtin_mul_overflow(header->count, (size_t)(header->item * header->per), &total) ||
        __builtin_add_overflow(total, header->offset, &total) || total > PTRDIFF_MAX)
        return damaged(&s, "its extents multiply to more bytes than memory can address");
    return STN_OK;
}

bool stn_npy_is(const void *bytes, size_t size) { return size >= 6 && memcmp(bytes, STN_NPY_MAGIC, 6) == 0; }

stn_status stn_npy_parse(const char *name, const void *bytes, size_t size, stn_npy_header *header, stn_error *error) {
    return parse(name, bytes, size, false, header, error);
}

stn_status stn_npy_parse_any(const char *name, const void *bytes, size_t size, stn_npy_header *header,
                             stn_error *error) {
    return parse(name, bytes, size, true, header, error);
}
