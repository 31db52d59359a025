/* What a file's name says of its form, and how the forms that are not served become ones that
 * are. */
#ifndef STN_IO_ENDING_H
#define STN_IO_ENDING_H
#include <stdbool.h>

#include "stentor.h"

typedef enum stn_file_form { STN_FILE_NPY, STN_FILE_PNG, STN_FILE_RAW } stn_file_form;

/* The form of an output by its name's ending: .npy, .png, .raw or .bin; a name without one, "-" and
 * a device are .npy. Other endings are refused with the line of Python that makes such a file of an
 * .npy. */
stn_status stn_ending_form(const char *option, const char *path, stn_file_form *form, stn_error *error);
/* The same of a picture: .png, or no ending. */
stn_status stn_ending_picture(const char *option, const char *path, stn_error *error);

bool stn_ending_is(const char *path, const char *ending);

/* Is this input, by its first bytes or its name, of a form that is known and not read? */
bool stn_ending_is_known(const char *path, const void *bytes, size_t size);
/* Refuses it, with the line that converts it. bytes may be NULL. */
stn_status stn_ending_refuse_input(const char *path, const void *bytes, size_t size, stn_error *error);
#endif
