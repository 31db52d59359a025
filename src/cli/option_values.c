/* See option_values.h: parsers of sizes, types and devices. */
#include "cli/option_values.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cli/option_parser.h"

stn_status cli_fail_option(const char *option, const char *value, const stn_error *why, stn_error *error) {
    return stn_fail(error, why->status, "%s %.60s: %s", option, value, why->message);
}

stn_status cli_parse_size(const char *option, const char *text, size_t extent[STN_ARRAY_RANK], int *rank,
                          stn_error *error) {
    const char *at = text;
    for (*rank = 0;;) {
        char part[32];
        size_t length = strcspn(at, "x,");
        uint64_t points = 0;
        snprintf(part, sizeof part, "%.*s", (int)(length < 31 ? length : 31), at);
        if (length > 31 || !cli_parse_count(part, &points) || points == 0)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "%s %.60s: '%s' is not a number of points from 1 up: write 64x80 or 64,80", option, text,
                            part);
        if (*rank == STN_ARRAY_RANK)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "%s %.60s: a grid has up to 3 axes, and one in front for a batch", option, text);
        extent[(*rank)++] = points;
        if (!at[length]) return STN_OK;
        at += length + 1;
    }
}

stn_status cli_parse_dtype(const char *text, stn_dtype *dtype, stn_error *error) {
    stn_error why = {0};
    stn_status status = stn_dtype_parse(text, dtype, &why);
    return status == STN_OK ? status : cli_fail_option("--dtype", text, &why, error);
}

stn_status cli_parse_raw(const char *shape, const char *dtype, bool complex_too, stn_raw *raw, stn_error *error) {
    static const struct {
        const char *names[3];
        char kind;
        int item, per;
    } types[] = {
        {{"f64", "float64", "double"}, 'f', 8, 1},  {{"f32", "float32", "single"}, 'f', 4, 1},
        {{"f16", "float16", "half"}, 'f', 2, 1},    {{"u8", "uint8", "bool"}, 'u', 1, 1},
        {{"i8", "int8", "int8"}, 'i', 1, 1},        {{"u16", "uint16", "uint16"}, 'u', 2, 1},
        {{"i16", "int16", "int16"}, 'i', 2, 1},     {{"u32", "uint32", "uint32"}, 'u', 4, 1},
        {{"i32", "int32", "int32"}, 'i', 4, 1},     {{"u64", "uint64", "uint64"}, 'u', 8, 1},
        {{"i64", "int64", "int64"}, 'i', 8, 1},     {{"c64", "complex64", "c8"}, 'f', 4, 2},
        {{"c128", "complex128", "c16"}, 'f', 8, 2},
    };
    *raw = (stn_raw){0};
    STN_TRY(cli_parse_size("--shape", shape, raw->extent, &raw->rank, error));
    for (size_t i = 0; dtype && i < sizeof types / sizeof *types; i++)
        for (size_t k = 0; k < 3; k++)
            if (!strcmp(dtype, types[i].names[k]) && (types[i].per == 1 || complex_too)) {
                raw->kind = types[i].kind, raw->item = types[i].item, raw->per = types[i].per;
                return STN_OK;
            }
    return stn_fail(
        error, STN_ERROR_INVALID_ARGUMENT,
        "--shape %.60s says that the file is raw numbers, and --dtype %.40s does not say of which type: give "
        "float64, float32, float16, or whole numbers as uint8 or int16%s",
        shape, dtype ? dtype : "is missing and", complex_too ? ", or complex64 or complex128" : "");
}

stn_status cli_parse_device(const char *text, int *device, stn_error *error) {
    uint64_t index = 0;
    *device = STN_DEVICE_AUTO;
    if (!text || !strcmp(text, "auto")) return STN_OK;
    if (!strcmp(text, "host") || !strcmp(text, "cpu"))
        *device = STN_DEVICE_HOST;
    else if (!strcmp(text, "cuda") || !strcmp(text, "gpu"))
        *device = STN_DEVICE_CUDA(0);
    else if ((!strncmp(text, "cuda:", 5) || !strncmp(text, "gpu:", 4)) &&
             cli_parse_count(strchr(text, ':') + 1, &index) && index < 1024)
        *device = STN_DEVICE_CUDA((int)index);
    else
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--device %.60s is unknown: give auto, host (or cpu), cuda (or gpu), or cuda:n", text);
    return STN_OK;
}

stn_status cli_parse_tuning_mode(const char *text, int *mode, stn_error *error) {
    static const char *const names[] = {"auto", "estimate", "measure", "patient", "online", "wisdom-only"};
    for (*mode = 0; *mode < (int)(sizeof names / sizeof *names); ++*mode)
        if (!strcmp(text, names[*mode])) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "--mode %.60s is unknown: give auto, estimate, measure, patient, online or wisdom-only", text);
}
