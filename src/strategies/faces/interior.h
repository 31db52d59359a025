/* The points of a grid that f fused steps compute correctly by themselves, and the sides that need
 * a margin. */
#ifndef STN_STRATEGIES_FACES_INTERIOR_H
#define STN_STRATEGIES_FACES_INTERIOR_H
#include "problem/task.h"

/* The box of points that f fused steps compute correctly by themselves: low[axis] <= index <
 * high[axis], 0 and n along axes that wrap or that no tap leaves. Returns false if the box is
 * empty, so that fusing f steps is useless. Needs no stn_faces: for estimates and candidates. */
bool stn_faces_interior(const stn_task *task, int fused, int64_t low[3], int64_t high[3]);
/* Whether this side needs a margin. */
bool stn_faces_has_face(const stn_task *task, int axis, int side);
#endif
