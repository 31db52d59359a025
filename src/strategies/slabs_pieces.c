/* Which points slabs_tile.cu steps; see slabs_tile.h. */
#include "strategies/slabs_tile.h"

static bool has_faces(const stn_task *task, int axis) {
    return stn_slabs_has_face(task, axis, 0) || stn_slabs_has_face(task, axis, 1);
}

bool slabs_tile_has_pieces(const stn_task *task, bool rims, int axis) {
    bool crossed = false; /* by margins of faster axes */
    for (int k = axis + 1; k < 3; k++) crossed = crossed || has_faces(task, k);
    return has_faces(task, axis) && (crossed || !rims);
}

/* Those of slower axes take the corners, so along them a margin has the interior's points only. */
size_t slabs_tile_pieces(const stn_task *task, int fused, bool rims, slabs_tile_piece pieces[SLABS_TILE_PIECES]) {
    int64_t low[3], high[3];
    size_t count = 0;
    stn_slabs_interior(task, fused, low, high);
    for (int i = 0; i < 6; i++) {
        slabs_tile_piece margin = {.axis = i / 2, .side = i % 2};
        if (!stn_slabs_has_face(task, margin.axis, margin.side)) continue;
        for (int k = 0; k < 3; k++) {
            margin.low[k] = k < margin.axis ? low[k] : 0;
            margin.end[k] = k < margin.axis ? high[k] : task->n[k];
            if (k == margin.axis && margin.side) margin.low[k] = high[k];
            if (k == margin.axis && !margin.side) margin.end[k] = low[k];
        }
        if (!rims) pieces[count++] = margin;
        for (int k = margin.axis + 1; k < 3 && rims; k++) { /* the rims of one axis after the other, and what is left */
            slabs_tile_piece rim = margin;
            rim.end[k] = low[k];
            if (low[k] > 0) pieces[count++] = rim;
            rim.end[k] = task->n[k], rim.low[k] = high[k];
            if (high[k] < task->n[k]) pieces[count++] = rim;
            margin.low[k] = low[k], margin.end[k] = high[k];
        }
    }
    return count;
}
