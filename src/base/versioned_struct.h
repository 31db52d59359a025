/* Versioned public structs: a caller may have been compiled with an older release's struct, which
 * has fewer members. */
#ifndef STN_BASE_VERSIONED_STRUCT_H
#define STN_BASE_VERSIONED_STRUCT_H
#include "stentor.h"

/* The sizeof of a struct in each release that changed it, oldest first, terminated by 0. When a
 * member is appended after a release, that release's size stays in the list as a number, before
 * sizeof. */
typedef struct stn_layout {
    const char *name;
    size_t sizes[8];
} stn_layout;

extern const stn_layout stn_layout_problem, stn_layout_transform, stn_layout_spectral_conv, stn_layout_context_options,
    stn_layout_plan_options, stn_layout_execution, stn_layout_system_problem, stn_layout_system_arrays,
    stn_layout_box_filter;

/* Copies a caller's struct into `into`, which has the newest layout. The first member of `given` is
 * its struct_size (0: the layout of the first release). Members that the caller's release did not
 * have become 0; all members do when `given` is NULL. A size that no release had is refused. */
stn_status stn_read_versioned_struct(const stn_layout *layout, const void *given, void *into, stn_error *error);
#endif
