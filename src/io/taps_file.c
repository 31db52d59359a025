/* See taps_file.h: stencils from .npy and JSON files. */
#include "io/taps_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "io/input.h"
#include "io/json.h"

#define MAX_BYTES (16u << 20) /* largest JSON file: 35937 taps of well over 100 characters */
static const char *const form = "write [{\"offset\": [0, 1], \"weight\": 0.25}, ...]";

/* Reads tap number `index`; *rank is 0 until the first tap sets it. */
static stn_status read_tap(const char *name, size_t index, const json_t *item, int *rank, stn_tap *tap,
                           stn_error *error) {
    const json_t *offset = json_object_get(item, "offset"), *weight = json_object_get(item, "weight");
    if (!json_is_array(offset) || !json_is_number(weight) || json_object_size(item) != 2)
        return stn_fail(error, STN_ERROR_FORMAT,
                        "'%s': tap %zu is not an object of an \"offset\" list and a \"weight\" number: %s", name, index,
                        form);
    size_t size = json_array_size(offset);
    if (size < 1 || size > STN_MAX_RANK)
        return stn_fail(error, STN_ERROR_FORMAT, "'%s': tap %zu has an offset of %zu numbers: give 1, 2 or 3", name,
                        index, size);
    if (*rank && (size_t)*rank != size)
        return stn_fail(error, STN_ERROR_FORMAT,
                        "'%s': tap %zu has an offset of %zu numbers, the ones before have %d: give all the same", name,
                        index, size, *rank);
    *rank = (int)size;
    memset(tap, 0, sizeof *tap);
    for (size_t axis = 0; axis < size; axis++) {
        const json_t *along = json_array_get(offset, axis);
        if (!json_is_integer(along))
            return stn_fail(error, STN_ERROR_FORMAT, "'%s': tap %zu has an offset that is not a whole number: %s", name,
                            index, form);
        tap->offset[axis] = json_integer_value(along);
    }
    tap->weight = json_number_value(weight);
    return STN_OK;
}

stn_status stn_taps_parse_json(const char *name, const char *bytes, size_t size, int *rank, size_t *count,
                               stn_tap **taps, stn_error *error) {
    json_t *root;
    stn_tap *list = NULL;
    stn_status status = STN_OK;
    int seen_rank = 0;
    STN_TRY(stn_json_parse(name, bytes, size, form, &root, error));
    size_t n = json_array_size(root); /* 0 if it is not an array */
    if (n == 0 || n > STN_MAX_TAPS) {
        status = stn_fail(error, STN_ERROR_FORMAT, "'%s' is not a list of 1 to %d taps: %s", name, STN_MAX_TAPS, form);
        goto done;
    }
    list = calloc(n, sizeof *list);
    if (!list) {
        status = stn_fail_memory(error, "the taps", n * sizeof *list);
        goto done;
    }
    for (size_t i = 0; i < n; i++)
        STN_TRY_GOTO(status, read_tap(name, i, json_array_get(root, i), &seen_rank, &list[i], error), done);
    *rank = seen_rank;
    *count = n;
    *taps = list;
    list = NULL;
done:
    free(list);
    json_decref(root);
    return status;
}

static stn_status read_dense(const char *path, stn_stencil **stencil, stn_error *error) {
    stn_array array = {0};
    stn_dtype dtype = STN_F64;
    STN_TRY(stn_input_read(path, NULL, false, &dtype, &array, error));
    stn_status status;
    if (array.rank < 1 || array.rank > STN_MAX_RANK)
        status = stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "'%s' has %d axes: dense taps have 1, 2 or 3", path,
                          array.rank);
    else
        status = stn_stencil_create_dense(array.rank, array.extent, array.data, stencil, error);
    stn_array_clear(&array);
    return status;
}

stn_status stn_taps_read(const char *path, stn_stencil **stencil, stn_error *error) {
    char magic[6], *text = NULL;
    stn_tap *taps = NULL;
    stn_status status = STN_OK;
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return stn_fail(error, STN_ERROR_IO, "cannot read '%s': it is not a regular file", path);
    FILE *file = fopen(path, "rbe");
    if (!file) return stn_fail(error, STN_ERROR_IO, "cannot open '%s': %s", path, strerror(errno));
    size_t size = fread(magic, 1, sizeof magic, file);
    if (size == sizeof magic && memcmp(magic, STN_NPY_MAGIC, sizeof magic) == 0) {
        fclose(file);
        return read_dense(path, stencil, error);
    }
    text = malloc(MAX_BYTES + 1);
    if (!text) {
        status = stn_fail_memory(error, "the taps' file", MAX_BYTES + 1);
        goto done;
    }
    memcpy(text, magic, size);
    size += fread(text + size, 1, MAX_BYTES + 1 - size, file);
    if (ferror(file)) {
        status = stn_fail(error, STN_ERROR_IO, "cannot read '%s': %s", path, strerror(errno));
        goto done;
    }
    if (size > MAX_BYTES) {
        status = stn_fail(error, STN_ERROR_FORMAT, "'%s' is larger than any list of taps: %s", path, form);
        goto done;
    }
    int rank = 0;
    size_t count = 0;
    STN_TRY_GOTO(status, stn_taps_parse_json(path, text, size, &rank, &count, &taps, error), done);
    status = stn_stencil_create(rank, count, taps, stencil, error);
done:
    free(taps);
    free(text);
    fclose(file);
    return status;
}
