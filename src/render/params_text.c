/* Writes the text of params.cuh: one line per parameter. */
#include <limits.h>
#include <string.h>

#include "render/render.h"

void stn_params_begin(stn_text *params) { stn_text_printf(params, "#pragma once\n"); }

void stn_params_int(stn_text *params, const char *name, int64_t value) {
    const char *type = value >= INT_MIN && value <= INT_MAX ? "int" : "long long";
    if (value == INT64_MIN) /* C++ has no literal for it */
        stn_text_printf(params, "constexpr %s %s = %lld - 1;\n", type, name, (long long)(value + 1));
    else
        stn_text_printf(params, "constexpr %s %s = %lld;\n", type, name, (long long)value);
}

void stn_params_type(stn_text *params, const char *name, const char *type) {
    stn_text_printf(params, "using %s = %s;\n", name, type);
}

void stn_params_store(stn_text *params, const char *name, stn_dtype dtype) {
    static const char *const store[] = {"double", "float", "unsigned short"}; /* by stn_dtype */
    stn_params_type(params, name, store[dtype]);
}

void stn_params_element(stn_text *params, const char *name, stn_element element) {
    static const char *const types[] = {[STN_ELEMENT_F64] = "double",
                                        [STN_ELEMENT_F32] = "float",
                                        [STN_ELEMENT_F16] = "unsigned short",
                                        [STN_ELEMENT_BF16] = "struct bfloat_t",
                                        [STN_ELEMENT_I8] = "signed char",
                                        [STN_ELEMENT_U8] = "unsigned char",
                                        [STN_ELEMENT_I16] = "short",
                                        [STN_ELEMENT_U16] = "struct u16_t",
                                        [STN_ELEMENT_I32] = "int",
                                        [STN_ELEMENT_U32] = "unsigned",
                                        [STN_ELEMENT_I64] = "long long",
                                        [STN_ELEMENT_U64] = "unsigned long long",
                                        [STN_ELEMENT_BOOL] = "struct bool_t"};
    stn_params_type(params, name, types[element]);
}

void stn_params_begin_for(stn_text *params, stn_dtype dtype) {
    stn_params_begin(params);
    stn_params_store(params, "STORE", dtype);
    stn_params_type(params, "REAL", dtype == STN_F64 ? "double" : "float");
}

void stn_params_ints(stn_text *params, const char *name, const int *values, size_t n) {
    stn_text_printf(params, "constexpr int %s[%zu] = {", name, n);
    for (size_t i = 0; i < n; i++) stn_text_printf(params, i ? ", %d" : "%d", values[i]);
    stn_text_printf(params, "};\n");
}

void stn_params_axis(stn_text *params, int axis, const int reach[2], const stn_boundary sides[2]) {
    const char name = "ZYX"[axis];
    for (int side = 0; side < 2; side++) {
        const char *which = side ? "HIGH" : "LOW";
        stn_text_printf(params, "constexpr int %c_%s = %d;\n", name, which, reach[side]);
        stn_text_printf(params, "constexpr int %c_SIDE_%s = %d;\n", name, which, (int)sides[side].kind);
    }
}

size_t stn_put_real(stn_dtype dtype, double value, void *to) {
    float narrow = (float)value;
    bool wide = dtype == STN_F64;
    memcpy(to, wide ? (void *)&value : (void *)&narrow, wide ? sizeof value : sizeof narrow);
    return wide ? sizeof value : sizeof narrow;
}
