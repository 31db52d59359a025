/* File formats by file extension, and advice on how to convert the formats that are not
 * supported. */
#ifndef STN_IO_FILE_FORMAT_H
#define STN_IO_FILE_FORMAT_H
#include <stdbool.h>

#include "stentor.h"

typedef enum stn_file_format { STN_FILE_NPY, STN_FILE_PNG, STN_FILE_RAW } stn_file_format;

/* The format of an output by its extension: .npy, .png, .raw or .bin; names without an extension,
 * "-" and devices are .npy. Other extensions are an error, whose message gives the Python code that
 * makes such a file from a .npy. */
stn_status stn_file_format_of(const char *option, const char *path, stn_file_format *format, stn_error *error);
/* The same for a picture: .png, or no extension. */
stn_status stn_file_check_picture(const char *option, const char *path, stn_error *error);

bool stn_file_extension_is(const char *path, const char *extension);

/* Is this input, by its first bytes or its name, of a known format that is not supported? */
bool stn_file_is_unsupported(const char *path, const void *bytes, size_t size);
/* Fails with a message that gives the Python code to convert it. bytes may be NULL. */
stn_status stn_file_fail_unsupported(const char *path, const void *bytes, size_t size, stn_error *error);
#endif
