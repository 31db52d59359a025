/* Stencils from files: a dense, centred .npy array of odd extents, or JSON [{"offset": [0, 1],
 * "weight": 0.25}, ...]. */
#ifndef STN_IO_TAPS_FILE_H
#define STN_IO_TAPS_FILE_H
#include "stentor.h"

/* Reads either format, told apart by the first bytes. *stencil is the caller's:
 * stn_stencil_destroy. */
stn_status stn_taps_read(const char *path, stn_stencil **stencil, stn_error *error);

/* Parses the JSON format; any bytes are safe. name is for messages. *taps is freed with free(). */
stn_status stn_taps_parse_json(const char *name, const char *bytes, size_t size, int *rank, size_t *count,
                               stn_tap **taps, stn_error *error);
#endif
