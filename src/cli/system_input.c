/* See system_input.h: matching of NAME=VALUE options to a system's arrays, and reading of their
 * files. */
#include "cli/system_input.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"

/* ---- names ----------------------------------------------------------------------------------- */

void cli_system_array_name(const stn_system *system, int i, char name[CLI_ARRAY_NAME]) {
    int field = 0;
    while (i >= system->fields[field].levels) i -= system->fields[field++].levels;
    snprintf(name, CLI_ARRAY_NAME, i > 1 ? "%s.prev%d" : i ? "%s.prev" : "%s", system->fields[field].name, i);
}

/* VALUE of "NAME=VALUE" if NAME is `name`, else NULL. */
static const char *value_of(const char *given, const char *name) {
    const size_t size = strlen(name);
    return strncmp(given, name, size) == 0 && given[size] == '=' ? given + size + 1 : NULL;
}

const char *cli_system_given(const char *const *list, const char *name) {
    for (; *list; list++)
        if (value_of(*list, name)) return value_of(*list, name);
    return NULL;
}

/* Checks that each NAME exists in the system and is given only once. */
static stn_status check_names(const cli_system_input *input, const char *option, const char *const *list,
                              bool coefficients, stn_error *error) {
    for (int k = 0; list[k]; k++) {
        char name[CLI_ARRAY_NAME];
        bool known = false;
        const int count = coefficients ? input->system->ncoefficients : input->count;
        for (int i = 0; i < count && !known; i++) {
            if (!coefficients) cli_system_array_name(input->system, i, name);
            known = value_of(list[k], coefficients ? input->system->coefficients[i].name : name) != NULL;
        }
        if (!known)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s '%.80s' names no %s of the system: write NAME=%s",
                            option, list[k], coefficients ? "coefficient" : "field",
                            coefficients ? "FILE or NAME=NUMBER" : "FILE");
        for (int other = 0; other < k; other++)
            if (!strncmp(list[k], list[other], strcspn(list[k], "=") + 1))
                return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s '%.80s' is given twice", option, list[k]);
    }
    return STN_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

static stn_status read_text(const char *path, stn_system **system, stn_error *error) {
    char *text = malloc(STN_SYSTEM_MAX_TEXT + 2);
    stn_error why = {STN_OK, ""};
    if (!text) return stn_fail_memory(error, "a system's text", STN_SYSTEM_MAX_TEXT + 2);
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(text, 1, STN_SYSTEM_MAX_TEXT + 1, file) : 0;
    stn_status status = STN_OK;
    if (!file || ferror(file))
        status = stn_fail(error, STN_ERROR_IO, "cannot read '%.200s': name the file of a system's text", path);
    if (file) (void)fclose(file);
    text[size] = 0;
    if (status == STN_OK) status = stn_system_parse(text, system, &why);
    if (why.status != STN_OK) status = stn_fail(error, why.status, "'%.200s': %s", path, why.message);
    free(text);
    return status;
}

static bool same_extents(const stn_array *a, int rank, const size_t *extent) {
    return a->rank == rank && memcmp(a->extent, extent, (size_t)rank * sizeof *extent) == 0;
}

const char *cli_system_field_path(const cli_system_settings *given, const stn_system *system, int i) {
    char name[CLI_ARRAY_NAME];
    cli_system_array_name(system, i, name);
    const char *path = cli_system_given(given->fields, name);
    if (path || !strchr(name, '.')) return path;
    *strchr(name, '.') = 0;
    return cli_system_given(given->fields, name);
}

/* dtype NULL: that of the file. */
static stn_status read_array(const char *path, bool headers_only, const stn_dtype *dtype, stn_array *array,
                             stn_error *error) {
    stn_npy_header header = {0};
    if (!headers_only) return stn_input_read(path, NULL, false, dtype, array, error);
    STN_TRY(stn_input_header(path, NULL, false, &header, error));
    *array = (stn_array){.rank = header.rank, .count = header.count, .dtype = dtype ? *dtype : stn_npy_dtype(&header)};
    memcpy(array->extent, header.extent, sizeof array->extent);
    return STN_OK;
}

static stn_status read_fields(cli_system_input *input, const cli_system_settings *given, const char *type,
                              bool headers_only, stn_error *error) {
    int i = 0;
    stn_dtype dtype = STN_F64;
    if (type) STN_TRY(stn_dtype_parse(type, &dtype, error));
    for (int f = 0; f < input->system->nfields; f++)
        for (int level = 0; level < input->system->fields[f].levels; level++, i++) {
            char name[CLI_ARRAY_NAME];
            cli_system_array_name(input->system, i, name);
            const char *path = cli_system_field_path(given, input->system, i);
            if (!path)
                return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the field %s is not given: add --field %s=FILE.npy",
                                input->system->fields[f].name, input->system->fields[f].name);
            const bool by_file = !i && !type;
            STN_TRY(read_array(path, headers_only, by_file ? NULL : &dtype, &input->fields[i], error));
            if (by_file) dtype = input->fields[0].dtype;
            if (!same_extents(&input->fields[i], input->fields[0].rank, input->fields[0].extent))
                return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                                "--field %s has other extents than the first field: all fields have the same", name);
        }
    return STN_OK;
}

static stn_status read_coefficients(cli_system_input *input, const cli_system_settings *given, bool headers_only,
                                    stn_error *error) {
    for (int i = 0; i < input->system->ncoefficients; i++) {
        const stn_system_variable *c = &input->system->coefficients[i];
        const char *value = cli_system_given(given->coefficients, c->name);
        stn_array *array = &input->coefficients[i];
        input->is_number[i] = 1;
        input->low[i] = input->high[i] = c->value;
        if (!value && !c->has_value)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "the coefficient %s is not given: add --coefficient %s=FILE.npy, or a number", c->name,
                            c->name);
        if (!value || stn_number_parse(value, strlen(value), &input->low[i])) {
            input->high[i] = input->low[i];
            continue;
        }
        input->is_number[i] = 0;
        STN_TRY(read_array(value, headers_only, &input->fields[0].dtype, array, error));
        input->low[i] = input->high[i] = NAN;
        if (headers_only) continue;
        input->low[i] = INFINITY, input->high[i] = -INFINITY;
        for (size_t k = 0; k < array->count; k++) {
            input->low[i] = fmin(input->low[i], stn_array_get(array, k));
            input->high[i] = fmax(input->high[i], stn_array_get(array, k));
        }
    }
    return STN_OK;
}

stn_status cli_system_read(const cli_system_settings *given, const char *dtype, bool headers_only,
                           cli_system_input *input, stn_error *error) {
    STN_TRY(read_text(given->text, &input->system, error));
    for (int f = 0; f < input->system->nfields; f++) input->count += input->system->fields[f].levels;
    STN_TRY(check_names(input, "--field", given->fields, false, error));
    STN_TRY(check_names(input, "--keep", given->keep, false, error));
    STN_TRY(check_names(input, "--coefficient", given->coefficients, true, error));
    STN_TRY(read_fields(input, given, dtype, headers_only, error));
    return read_coefficients(input, given, headers_only, error);
}

void cli_system_input_clear(cli_system_input *input) {
    for (int i = 0; i < STN_SYSTEM_MAX_ARRAYS; i++) stn_array_clear(&input->fields[i]);
    for (int i = 0; i < STN_SYSTEM_MAX_COEFFICIENTS; i++) stn_array_clear(&input->coefficients[i]);
    stn_system_destroy(input->system);
}
