/* Which points faces_tile.cu steps; see tile.h. */
#include "base/arith.h"
#include "strategies/faces/chain/chain.h"
#include "strategies/faces/tile/tile.h"

static void add(faces_tile_pieces *pieces, const faces_tile_piece *piece) {
    pieces->at[pieces->count++] = *piece;
    pieces->tiled[piece->axis] = 1;
}

/* Cuts the rims off a margin, those of one axis after the other. */
static void cut_rims(const stn_task *task, int fused, faces_tile_piece margin, faces_tile_pieces *pieces) {
    int64_t low[3], high[3];
    faces_chain_middle(task, fused, low, high);
    for (int k = 0; k < 3; k++) {
        faces_tile_piece rim = margin;
        if (k == margin.axis) continue;
        rim.end[k] = low[k];
        if (rim.low[k] < rim.end[k]) add(pieces, &rim);
        rim.low[k] = high[k], rim.end[k] = margin.end[k];
        if (rim.low[k] < rim.end[k]) add(pieces, &rim);
        margin.low[k] = stn_max(low[k], margin.low[k]), margin.end[k] = stn_min(high[k], margin.end[k]);
    }
}

/* Margins of slower axes take the corners, so along those the others have the interior's points only. */
faces_tile_pieces faces_tile_cut(const stn_task *task, int fused, bool rims) {
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
        if (rims)
            cut_rims(task, fused, margin, &pieces);
        else
            add(&pieces, &margin);
    }
    return pieces;
}
