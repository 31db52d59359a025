/* The element types: sizes, names, parsing. */
#include <string.h>

#include "base/error.h"

static const struct {
    const char *name, *spellings[2]; /* the printed name; the names in NumPy and C */
    size_t size;
} dtypes[] = {[STN_F64] = {"f64", {"float64", "double"}, 8},
              [STN_F32] = {"f32", {"float32", "single"}, 4},
              [STN_F16] = {"f16", {"float16", "half"}, 2}};

#define DTYPES (sizeof dtypes / sizeof dtypes[0])

size_t stn_dtype_size(stn_dtype dtype) { return (size_t)dtype < DTYPES ? dtypes[dtype].size : 0; }

const char *stn_dtype_name(stn_dtype dtype) { return (size_t)dtype < DTYPES ? dtypes[dtype].name : "unknown"; }

static const struct {
    const char *name;
    size_t size;
} elements[] = {[STN_ELEMENT_F64] = {"f64", 8},   [STN_ELEMENT_F32] = {"f32", 4}, [STN_ELEMENT_F16] = {"f16", 2},
                [STN_ELEMENT_BF16] = {"bf16", 2}, [STN_ELEMENT_I8] = {"i8", 1},   [STN_ELEMENT_U8] = {"u8", 1},
                [STN_ELEMENT_I16] = {"i16", 2},   [STN_ELEMENT_U16] = {"u16", 2}, [STN_ELEMENT_I32] = {"i32", 4},
                [STN_ELEMENT_U32] = {"u32", 4},   [STN_ELEMENT_I64] = {"i64", 8}, [STN_ELEMENT_U64] = {"u64", 8},
                [STN_ELEMENT_BOOL] = {"bool", 1}};

#define ELEMENTS (sizeof elements / sizeof elements[0])

size_t stn_element_size(stn_element element) { return (size_t)element < ELEMENTS ? elements[element].size : 0; }

const char *stn_element_name(stn_element element) {
    return stn_element_size(element) ? elements[element].name : "unknown";
}

stn_status stn_dtype_parse(const char *name, stn_dtype *dtype, stn_error *error) {
    if (!name || !dtype)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the dtype's %s is NULL: pass %s", name ? "place" : "name",
                        name ? "a stn_dtype *" : "f64, f32 or f16");
    for (size_t i = 0; i < DTYPES; i++) {
        if (strcmp(name, dtypes[i].name) != 0 && strcmp(name, dtypes[i].spellings[0]) != 0 &&
            strcmp(name, dtypes[i].spellings[1]) != 0)
            continue;
        *dtype = (stn_dtype)i;
        return STN_OK;
    }
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "the dtype \"%.60s\" is unknown: use f64, f32 or f16 (float64, float32, float16)", name);
}
