/* The boxes of points that faces_tile.cu steps. */
#include "strategies/faces/tile/faces_tile.h"

/* Margins of slower axes include the corners; along those axes the other margins cover the interior
 * only. */
faces_tile_pieces faces_tile_cut(const stn_task *task, int fused) {
    faces_tile_pieces pieces = {0};
    int64_t low[3], high[3];
    stn_faces_interior(task, fused, low, high);
    for (int i = 0; i < 6; i++) {
        faces_tile_piece margin = {.axis = i / 2, .side = i % 2};
        if (!stn_faces_has_face(task, margin.axis, margin.side)) continue;
        for (int k = 0; k < 3; k++) {
            margin.low[k] = k < margin.axis ? low[k] : 0;
            margin.end[k] = k < margin.axis ? high[k] : task->n[k];
            if (k == margin.axis && margin.side) margin.low[k] = high[k];
            if (k == margin.axis && !margin.side) margin.end[k] = low[k];
        }
        pieces.at[pieces.count++] = margin;
        pieces.tiled[margin.axis] = 1;
    }
    return pieces;
}
