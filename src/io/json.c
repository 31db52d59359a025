/* See json.h: JSON parsing with Jansson. */
#include "io/json.h"

#include <errno.h>

#include "base/error.h"

/* Jansson reports most failed allocations as syntax errors; errno tells them apart. */
stn_status stn_json_parse(const char *name, const char *bytes, size_t size, const char *form, json_t **root,
                          stn_error *error) {
    json_error_t where = {0};
    errno = 0;
    *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &where);
    if (*root) return STN_OK;
    if (errno == ENOMEM) return stn_fail_memory(error, "the text of a JSON file", size);
    return stn_fail(error, STN_ERROR_FORMAT, "'%s' is not valid JSON (line %d: %s): %s", name, where.line, where.text,
                    form);
}
