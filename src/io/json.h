/* JSON of files, with want of memory told apart from text that is none. */
#ifndef STN_IO_JSON_H
#define STN_IO_JSON_H
#include <jansson.h>
#include <stddef.h>

#include "stentor.h"

/* The value of a text, which the caller releases by json_decref. name: the file's; form: what to
 * write instead, for the error. Objects with one key twice are refused. */
stn_status stn_json_parse(const char *name, const char *bytes, size_t size, const char *form, json_t **root,
                          stn_error *error);
#endif
