/* Parses JSON files; out-of-memory is told apart from invalid JSON. */
#ifndef STN_IO_JSON_H
#define STN_IO_JSON_H
#include <jansson.h>
#include <stddef.h>

#include "stentor.h"

/* Parses a text into *root, which the caller releases with json_decref. name: the file's; form: the
 * expected syntax, for the error message. Duplicate keys in an object are an error. */
stn_status stn_json_parse(const char *name, const char *bytes, size_t size, const char *form, json_t **root,
                          stn_error *error);
#endif
