/* See versioned_struct.h: the known layouts, and the copy into the newest one. */
#include "base/versioned_struct.h"

#include <stddef.h>
#include <string.h>

#include "base/error.h"

/* The layouts of release 0.2.0, the first one with a tag. */
#define LAYOUT(name) const stn_layout stn_layout_##name = {"stn_" #name, {sizeof(stn_##name)}}
LAYOUT(spectral_conv);
LAYOUT(context_options);
LAYOUT(plan_options);
LAYOUT(execution);
LAYOUT(system_problem);
LAYOUT(system_arrays);
/* These structs have gained a member since release 0.2.0. */
const stn_layout stn_layout_problem = {"stn_problem", {offsetof(stn_problem, normalized), sizeof(stn_problem)}};
const stn_layout stn_layout_transform = {"stn_transform", {offsetof(stn_transform, orthogonal), sizeof(stn_transform)}};
const stn_layout stn_layout_box_filter = {"stn_box_filter", {offsetof(stn_box_filter, next), sizeof(stn_box_filter)}};

stn_status stn_read_versioned_struct(const stn_layout *layout, const void *given, void *into, stn_error *error) {
    size_t size = layout->sizes[0], newest = size, released = 0;
    if (given) memcpy(&size, given, sizeof size);
    if (!size) size = layout->sizes[0];
    for (size_t i = 0; i < sizeof layout->sizes / sizeof *layout->sizes && layout->sizes[i]; i++) {
        newest = layout->sizes[i];
        if (size == newest) released = size;
    }
    if (size > newest)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "%s.struct_size is %zu but this library knows only %zu bytes: use a library as new as the "
                        "header, or the struct's _INIT",
                        layout->name, size, newest);
    if (!released)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "%s.struct_size is %zu, which is its size in no release: use the struct's _INIT", layout->name,
                        size);
    memset(into, 0, newest);
    if (given) memcpy(into, given, size);
    return STN_OK;
}
