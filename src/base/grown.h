/* Structs that may grow: a caller's may be of an older layout than the library's. */
#ifndef STN_BASE_GROWN_H
#define STN_BASE_GROWN_H
#include "stentor.h"

/* Copies a caller's struct, whose first member is its struct_size (0: as large as ours), into `into` of `size` bytes;
 * members that the caller did not know become 0, as all do when `given` is NULL. `name` is for the message when the
 * caller's is the larger one. */
stn_status stn_read_grown(const char *name, const void *given, void *into, size_t size, stn_error *error);
#endif
