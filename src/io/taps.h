/* Taps from a file: a dense .npy of odd extents, centred, or JSON [{"offset": [0, 1], "weight":
 * 0.25}, ...]. */
#ifndef STN_IO_TAPS_H
#define STN_IO_TAPS_H
#include "stentor.h"

/* Reads either kind, told apart by the first bytes. *stencil is the caller's:
 * stn_stencil_destroy. */
stn_status stn_taps_read(const char *path, stn_stencil **stencil, stn_error *error);

/* The JSON kind, from memory. name is used in messages; any bytes are safe. *taps is freed with
 * free(). */
stn_status stn_taps_parse_json(const char *name, const char *bytes, size_t size, int *rank, size_t *count,
                               stn_tap **taps, stn_error *error);
#endif
