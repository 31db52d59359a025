/* A picture of an elevation map before and after a run, side by side: hill-shaded, coloured relief,
 * as PNG. */
#ifndef STN_IO_RELIEF_H
#define STN_IO_RELIEF_H
#include "io/array.h"
#include "io/output.h"

/* A map reduced to at most STN_PANEL_MAX_SIDE points along each side. */
#define STN_PANEL_MAX_SIDE 1200
typedef struct stn_panel {
    size_t height, width;
    float *z; /* owned, C order */
} stn_panel;

/* The map in the last two axes of `array`, of rank 2 to 4: the middle slice of a 3D grid, the first
 * grid of a batch (`batched`: axis 0 is the batch). Large maps are averaged over square blocks.
 * Freed by stn_panel_clear. */
stn_status stn_panel_make(const stn_array *array, int batched, stn_panel *panel, stn_error *error);
void stn_panel_clear(stn_panel *panel);

/* Writes both panels, of one size, into one PNG, each with a caption (the lower-case letters of
 * "before after steps", digits). The light comes from the north-west; colours and vertical
 * exaggeration are those of `before` in both, so that they can be compared. The file appears with
 * stn_output_commit. */
stn_status stn_relief_prepare(const char *path, const stn_panel *before, const stn_panel *after,
                              const char *before_caption, const char *after_caption, stn_output *output,
                              stn_error *error);
#endif
