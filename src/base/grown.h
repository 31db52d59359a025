/* Versioned structs: a caller's may have the layout of an older release than the library. */
#ifndef STN_BASE_GROWN_H
#define STN_BASE_GROWN_H
#include "stentor.h"

/* The sizes that a struct had in each release which changed it, oldest first, 0 after the last one.
 * When a member is appended after a release, the size of that release stays in the list as a
 * number, before sizeof. */
typedef struct stn_layout {
    const char *name;
    size_t sizes[8];
} stn_layout;

extern const stn_layout stn_layout_problem, stn_layout_transform, stn_layout_spectral_conv, stn_layout_context_options,
    stn_layout_plan_options, stn_layout_execution, stn_layout_system_problem, stn_layout_system_arrays;

/* Copies a caller's struct, whose first member is its struct_size (0: the layout of the first
 * release), into `into`, which has the newest layout; members that the caller's release did not
 * have become 0, as all do when `given` is NULL. A size that no release had is refused. */
stn_status stn_read_grown(const stn_layout *layout, const void *given, void *into, stn_error *error);
#endif
