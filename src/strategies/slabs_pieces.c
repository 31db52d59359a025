/* Which points slabs_tile.cu steps; see slabs_tile.h. */
#include "base/arith.h"
#include "strategies/slabs_chain.h"
#include "strategies/slabs_tile.h"

bool slabs_tile_has_pieces(const stn_task *task, int fused, bool rims, int axis) {
    slabs_tile_piece pieces[SLABS_TILE_PIECES];
    size_t count = slabs_tile_pieces(task, fused, rims, pieces);
    for (size_t i = 0; i < count; i++)
        if (pieces[i].axis == axis) return true;
    return false;
}

/* Cuts the rims off a margin, those of one axis after the other. */
static size_t cut_rims(const stn_task *task, int fused, slabs_tile_piece margin, slabs_tile_piece *pieces) {
    int64_t low[3], high[3];
    size_t count = 0;
    slabs_chain_middle(task, fused, low, high);
    for (int k = 0; k < 3; k++) {
        slabs_tile_piece rim = margin;
        if (k == margin.axis) continue;
        rim.end[k] = low[k];
        if (rim.low[k] < rim.end[k]) pieces[count++] = rim;
        rim.low[k] = high[k], rim.end[k] = margin.end[k];
        if (rim.low[k] < rim.end[k]) pieces[count++] = rim;
        margin.low[k] = stn_max(low[k], margin.low[k]), margin.end[k] = stn_min(high[k], margin.end[k]);
    }
    return count;
}

/* Margins of slower axes take the corners, so along those the others have the interior's points only. */
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
        if (rims)
            count += cut_rims(task, fused, margin, pieces + count);
        else
            pieces[count++] = margin;
    }
    return count;
}
